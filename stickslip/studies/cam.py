"""The cam follower of the Siconos Developer's Notes 2017, chapter 14: time-stepping against event-driven.

The parameters are those of section 14.0.2. The notes do not give the cam's profile (docs/cam.md), so the
figures are of the same kind as the printed ones but do not have the same curves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from stickslip.exhibits import Cell, Column, Curve, Figure, Panel, Table
from stickslip.problem.checks import Array
from stickslip.scenes import cam
from stickslip.scenes.measures import impacts
from stickslip.schemes import registry as schemes
from stickslip.simulation.loop import simulate
from stickslip.simulation.trajectory import Trajectory
from stickslip.solvers import registry as solvers
from stickslip.studies.bifurcation import Bifurcation, bifurcation
from stickslip.studies.study import Parts, Progress, Study
from stickslip.systems.system import NonsmoothSystem

NAME = "cam"
SUMMARY = "The cam follower: time-stepping against event-driven, attractors, bifurcations."

NEAR = 0.01
"""Distance above which two runs count as separated [m]; heuristic."""
NUDGE = 1e-6
"""Difference of the initial positions of runs that are compared [m]."""
SPEEDS = (358.0, 660.0, 700.0)
"""Speeds of the notes [1/min]."""
TOLERANCE = 1e-10
"""Tolerance of the solver [-]."""
NAMES = {"moreau-jean": "time-stepping", "event-driven": "event-driven"}
"""Names of the schemes in tables and figures."""
SHOWN = 1.5
"""Duration of the series in figures [s]."""


@dataclass(frozen=True)
class Plan:
    """Durations and resolutions of the runs."""

    h: float = cam.STEP
    """Step of time-stepping [s]."""
    until: float = cam.UNTIL
    """Duration of the series [s]."""
    samples: int = 72
    """Records of an event-driven run per turn; flow and events do not depend on it."""
    turns: int = 150
    """Turns of the attractor."""
    skipped: int = 20
    """Turns dropped before the attractor and the diagram."""
    sweep: tuple[float, ...] = field(default_factory=lambda: tuple(np.linspace(300.0, 800.0, 101)))
    """Speeds of the diagram [1/min]."""
    sweep_steps: int = 600
    """Steps of the diagram per turn."""
    sweep_turns: int = 20
    """Turns drawn at each speed of the diagram."""


QUICK = Plan(5e-4, 0.6, 18, 16, 6, tuple(np.linspace(300.0, 800.0, 6)), 120, 4)
"""Plan of a small part that takes seconds."""


@dataclass(frozen=True, eq=False)
class Run:
    """A run with absolute positions and velocities of the follower."""

    speed: cam.Turning
    scheme: str
    trajectory: Trajectory
    u: Array
    """Position of the follower [m], shape (n,)."""
    v: Array
    """Velocity of the follower [m/s], shape (n,)."""

    @property
    def t(self) -> Array:
        """Times of the records [s], shape (n,)."""
        return np.asarray(self.trajectory.t)

    @property
    def impacts(self) -> Array:
        """Times of the impacts [s], shape (impacts,)."""
        return impacts(self.trajectory, "cam")

    def sections(self) -> tuple[Array, Array]:
        """Return position and velocity at the beginning of every turn [m], [m/s], shape (turns,)."""
        times = np.arange(self.speed.period, self.t[-1] + 1e-9, self.speed.period)
        return np.interp(times, self.t, self.u), np.interp(times, self.t, self.v)

    def hits(self) -> tuple[Array, Array, Array, int]:
        """Return times [s], angles of the cam [rad] and approach velocities [m/s] of the impacts, and the
        number of impacts left out, see `cam.hits`."""
        times, approach, omitted = cam.hits(self.trajectory, cam.MASS, cam.E)
        return times, np.mod(self.speed.z[0] * times + self.speed.z[1], 2.0 * np.pi), approach, omitted


def follow(scheme: str, h: float, until: float, rpm: float, **parameters: float | str) -> Run:
    """Return a run of the follower at `rpm` by one scheme, with the default solver."""
    scene = cam.cam(rpm=rpm, h=h, until=until, **parameters)  # type: ignore[arg-type]
    assert isinstance(scene.system, NonsmoothSystem)
    options = scene.options if scheme == scene.scheme else {}
    trajectory = simulate(
        scene.system, until=scene.until, h=scene.h, scheme=schemes.make(scheme, **options),
        solver=solvers.make("auto", tolerance=TOLERANCE), solver_name="auto", tolerance=TOLERANCE,
    )  # fmt: skip
    speed = cam.Turning(np.asarray(trajectory.z[0]))
    u, v = cam.absolute(trajectory, speed, str(parameters.get("form", "rheonomous")))
    return Run(speed, scheme, trajectory, np.asarray(u), np.asarray(v))


def run_by(scheme: str, plan: Plan, rpm: float, until: float | None = None, **parameters: float | str) -> Run:
    """Return a run by time-stepping, or by the event-driven scheme with `samples` records per turn, including
    the beginning of each turn."""
    until = plan.until if until is None else until
    if scheme == "moreau-jean":
        return follow(scheme, plan.h, until, rpm, **parameters)
    h = 60.0 / rpm / plan.samples
    return follow(scheme, h, round(until / h) * h, rpm, **parameters)


def sweep(plan: Plan, progress: Progress | None = None) -> Bifurcation:
    """Return gaps at the beginnings of turns and approach velocities over the speeds of the diagram; every
    speed starts from the end of the previous one."""
    scene = cam.cam()
    return bifurcation(
        lambda rpm: cam.cam(rpm=rpm).system, plan.sweep, period=lambda rpm: 60.0 / rpm, observe=scene.observe,
        transient=plan.skipped, samples=plan.sweep_turns, steps=plan.sweep_steps,
        scheme=schemes.make(scene.scheme, **scene.options), name="speed [1/min]", progress=progress,
    )  # fmt: skip


def periodicity(run: Run, skipped: int, most: int = 8) -> int:
    """Return the number of turns after which the motion repeats, or 0 if there is none up to `most`: sections
    that many turns apart differ by less than a hundredth of the range of u, in all turns after `skipped`."""
    u, _ = run.sections()
    u = u[min(skipped, u.size // 2) :]
    small = 0.01 * float(np.ptp(run.u[run.u.size // 2 :]))
    for p in range(1, min(most, u.size - 2) + 1):
        if float(np.abs(u[p:] - u[:-p]).max()) < small:
            return p
    return 0


Runs = Mapping[tuple[float, str], Run]
"""Runs by speed [1/min] and scheme."""


def series(runs: Runs) -> Figure:
    """Return the series of both schemes and of the cam at the three speeds (figure 14.2 of the notes)."""
    panels = []
    for rpm in SPEEDS:
        pairs = ((runs[rpm, "moreau-jean"], "-"), (runs[rpm, "event-driven"], "--"))
        shown = [(run, run.t <= SHOWN, style) for run, style in pairs]
        curves = [Curve(NAMES[run.scheme], run.t[part], run.u[part], style) for run, part, style in shown]
        run, part, _ = shown[0]
        curves.append(Curve("cam", run.t[part], run.speed.place(run.t[part]), ":"))
        panels.append(Panel(f"{rpm:g} rpm", "t [s]", "u [m]", curves))
    return Figure("Cam follower: time-stepping and event-driven together", panels, across=3)


def states(runs: Runs) -> Figure:
    """Return the state space at 358 and 700 rpm, with a panel for each scheme (figure 14.3 of the notes)."""
    panels = []
    for rpm in (SPEEDS[0], SPEEDS[2]):
        for scheme in ("event-driven", "moreau-jean"):
            name, run = NAMES[scheme], runs[rpm, scheme]
            panels.append(Panel(f"{rpm:g} rpm, {name}", "u [m]", "v [m/s]", [Curve(name, run.u, run.v)]))
    return Figure("Cam follower: state space", panels)


def attractors(late: dict[str, Run], skipped: int) -> Figure:
    """Return impact map and stroboscopic map of both schemes (figure 14.4 of the notes)."""
    hits, sections = [], []
    for scheme, run in late.items():
        name, (times, angle, approach, _), (u, v) = NAMES[scheme], run.hits(), run.sections()
        after = times > skipped * run.speed.period
        points = Curve(name, angle[after], approach[after], "o")
        hits.append(Panel(f"Impact map, {name}", "angle of the cam [rad]", "approach [m/s]", [points]))
        points = Curve(name, u[skipped:], v[skipped:], "o")
        sections.append(Panel(f"Stroboscopic map, {name}", "u [m]", "v [m/s]", [points]))
    return Figure(f"Cam follower at {SPEEDS[1]:g} rpm: attractors", [*hits, *sections])


def run(quick: bool = False, progress: Progress | None = None) -> Study:
    """Run the study; `quick` takes a much shorter and coarser plan."""
    plan = QUICK if quick else Plan()
    report = Parts(progress, 3 * len(SPEEDS) + 3 + len(plan.sweep))
    # 1. Series of both schemes, and nudged event-driven ones.
    runs: dict[tuple[float, str], Run] = {}
    nudged: dict[float, Run] = {}
    for rpm in SPEEDS:
        for scheme, name in NAMES.items():
            report(f"{rpm:g} rpm, {name}")
            runs[rpm, scheme] = run_by(scheme, plan, rpm)
        report(f"{rpm:g} rpm, event-driven, started {NUDGE:g} m higher")
        nudged[rpm] = run_by("event-driven", plan, rpm, gap0=cam.GAP + NUDGE)
    # 2. Translated form, attractors, and bifurcation diagram.
    report("translated form")
    end = min(plan.until, 1.0)
    forms = {scheme: run_by(scheme, plan, SPEEDS[0], end, form="translated") for scheme in NAMES}
    late = {}
    for scheme in ("event-driven", "moreau-jean"):
        report(f"attractor at {SPEEDS[1]:g} rpm, {NAMES[scheme]}")
        late[scheme] = run_by(scheme, plan, SPEEDS[1], (plan.turns + plan.skipped) * 60.0 / SPEEDS[1])
    diagram = sweep(plan, lambda what, done, total: report(f"diagram, {what}") if done < total else None)
    report.end()
    return Study(
        NAME,
        [_agreement(runs, plan), _forms(runs, forms), _motions(runs, nudged, late, plan)],
        {
            "series": series(runs),
            "states": states(runs),
            "attractors": attractors(late, plan.skipped),
            "bifurcations": diagram.figure("Cam follower: bifurcations over the speed"),
        },
        {
            "diagram": [
                [rpm, *(numbers[k].tolist() for numbers in diagram.observed.values())]
                for k, rpm in enumerate(diagram.values.tolist())
            ]
        },
    )


def _agreement(runs: Runs, plan: Plan) -> Table:
    """Return the table of differences between the schemes, and of errors of their times of impact."""
    rows: list[list[Cell]] = []
    for rpm in SPEEDS:
        a, b = runs[rpm, "moreau-jean"], runs[rpm, "event-driven"]
        exact = np.array(cam.exact_impacts(b.speed, cam.E, (cam.GAP, cam.RATE), 10, float(b.t[-1])))
        n = min(exact.size, a.impacts.size, b.impacts.size)
        errors = [float(np.abs(run.impacts[:n] - exact[:n]).max(initial=0.0)) for run in (a, b)]
        distance = np.abs(np.interp(b.t, a.t, a.u) - b.u)
        beyond = np.flatnonzero(distance > NEAR)
        end = float(b.t[beyond[0]]) if beyond.size else float(min(a.t[-1], b.t[-1]))
        rows.append([rpm, n, *errors, float(distance[b.t < min(0.5, end)].max()), end, not beyond.size])
    return Table(
        f"Time-stepping (h = {plan.h:g} s) against event-driven",
        [
            "speed [1/min]", "impacts compared", Column("error of times, time-stepping [s]", ".1e"),
            Column("event-driven [s]", ".1e"), Column("distance, first 0.5 s [m]", ".1e"),
            f"within {NEAR:g} m until [s]", "to the end",
        ],
        rows,
        "Errors of times are against the exact flow between impacts. In chaotic motions two runs separate for"
        " any accuracy; their attractors agree.",
    )  # fmt: skip


def _forms(runs: Runs, forms: dict[str, Run]) -> Table:
    """Return the table of differences between the two forms of the equations."""
    pairs = [(scheme, runs[SPEEDS[0], scheme], other) for scheme, other in forms.items()]
    cut = [(scheme, run, other, min(run.t.size, other.t.size)) for scheme, run, other in pairs]
    return Table.of(
        f"Rheonomous, u >= c(t), against translated, û = u - c(t) >= 0, at {SPEEDS[0]:g} rpm",
        cut,
        ("scheme", lambda scheme, run, other, n: NAMES[scheme]),
        ("compared until [s]", lambda scheme, run, other, n: run.t[n - 1]),
        ("largest distance [m]", ".1e", lambda _, run, other, n: np.abs(run.u[:n] - other.u[:n]).max()),
        note="In time-stepping the cam is a constraint at the ends of steps in one form and a force in the"
        " other: the difference is of order h.",
    )


def _motions(runs: Runs, nudged: dict[float, Run], late: dict[str, Run], plan: Plan) -> Table:
    """Return the table of periodicity, impacts per turn and sensitivity of each motion."""
    rows: list[list[Cell]] = []
    for (rpm, scheme), run in runs.items():
        long, skipped = run, run.sections()[0].size // 2
        if rpm == SPEEDS[1]:
            long, skipped = late[scheme], plan.skipped
        begin, period = skipped * long.speed.period, periodicity(long, skipped)
        times, _, _, omitted = long.hits()
        rate = float((times > begin).sum() / (long.t[-1] / long.speed.period - skipped))
        distance: Cell = None
        if scheme == "event-driven":
            last = run.t > run.t[-1] - run.speed.period
            distance = float(np.abs(run.u - nudged[rpm].u)[last].max())
        width = float(np.ptp(long.u[long.t > begin]))
        rows.append([rpm, NAMES[scheme], str(period or "none up to 8"), rate, omitted, width, distance])
    return Table(
        "Motions",
        [
            "speed [1/min]", "scheme", "period [turns]", Column("impacts per turn", ".3g"),
            "impacts not counted", Column("range of u [m]", ".3g"),
            Column(f"final distance of runs, initially {NUDGE:g} m [m]", ".1e"),
        ],
        rows,
        "Period: sections that many turns apart differ by less than a hundredth of the range in the"
        f" second half of {plan.until:g} s ({plan.turns} turns at {SPEEDS[1]:g} rpm). Not counted: those that"
        f" share a record, or approach slower than {cam.SLOW:g} m/s.",
    )  # fmt: skip
