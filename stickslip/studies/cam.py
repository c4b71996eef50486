"""The cam follower of the Siconos Developer's Notes 2017, chapter 14: time-stepping beside event-driven.

The parameters are those of section 14.0.2; the cam's profile, which the notes leave out, is ours
(docs/cam.md), so that the figures are of the same kind as the printed ones, and not the same curves.
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
SUMMARY = "The cam follower: time-stepping beside event-driven, attractors, bifurcations."

NEAR = 0.01
"""Two runs are together while their places differ by less [m]."""
NUDGE = 1e-6
"""How far apart two starts are whose runs are compared [m]."""
SPEEDS = (358.0, 660.0, 700.0)
"""Of the notes [1/min]."""
TOLERANCE = 1e-10
NAMES = {"moreau-jean": "time-stepping", "event-driven": "event-driven"}
SHOWN = 1.5
"""How much of the series is drawn [s]."""


@dataclass(frozen=True)
class Plan:
    """How long and how finely."""

    h: float = cam.STEP
    """Step of time-stepping [s]."""
    until: float = cam.UNTIL
    """How long the series last [s]."""
    samples: int = 72
    """Records of an event-driven run in each turn; its flow and its events do not depend on it."""
    turns: int = 150
    """Turns of the attractor."""
    skipped: int = 20
    """Turns before the attractor and the diagram are drawn."""
    sweep: tuple[float, ...] = field(default_factory=lambda: tuple(np.linspace(300.0, 800.0, 101)))
    """Speeds of the diagram [1/min]."""
    sweep_steps: int = 600
    """Steps of the diagram in each turn."""
    sweep_turns: int = 20
    """Turns drawn at each speed of the diagram."""


QUICK = Plan(5e-4, 0.6, 18, 16, 6, tuple(np.linspace(300.0, 800.0, 6)), 120, 4)
"""A small part, in seconds."""


@dataclass(frozen=True, eq=False)
class Run:
    """One run, in absolute place and velocity."""

    speed: cam.Turning
    scheme: str
    trajectory: Trajectory
    u: Array
    """Place of the follower [m], shape (n,)."""
    v: Array
    """Its velocity [m/s], shape (n,)."""

    @property
    def t(self) -> Array:
        """Times of the records [s], shape (n,)."""
        return np.asarray(self.trajectory.t)

    @property
    def impacts(self) -> Array:
        """Times of the impacts [s], shape (impacts,)."""
        return impacts(self.trajectory, "cam")

    def sections(self) -> tuple[Array, Array]:
        """Place and velocity at the beginning of every turn [m], [m/s], shape (turns,)."""
        times = np.arange(self.speed.period, self.t[-1] + 1e-9, self.speed.period)
        return np.interp(times, self.t, self.u), np.interp(times, self.t, self.v)

    def hits(self) -> tuple[Array, Array, Array, int]:
        """Times [s], angles of the cam [rad] and approach velocities [m/s] of the impacts, and how many were
        left out, see `cam.hits`."""
        times, approach, left = cam.hits(self.trajectory, cam.MASS, cam.E)
        return times, np.mod(self.speed.z[0] * times + self.speed.z[1], 2.0 * np.pi), approach, left


def follow(scheme: str, h: float, until: float, rpm: float, **parameters: float | str) -> Run:
    """The follower at `rpm` by one scheme, with the house's solver."""
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
    """By time-stepping, or by the event-driven scheme, which is recorded `samples` times a turn, the
    beginning of each turn among them."""
    until = plan.until if until is None else until
    if scheme == "moreau-jean":
        return follow(scheme, plan.h, until, rpm, **parameters)
    h = 60.0 / rpm / plan.samples
    return follow(scheme, h, round(until / h) * h, rpm, **parameters)


def sweep(plan: Plan, progress: Progress | None = None) -> Bifurcation:
    """Gaps at the beginnings of turns and approach velocities over the speeds of the diagram; every speed
    starts where the one before ended."""
    made = cam.cam()
    return bifurcation(
        lambda rpm: cam.cam(rpm=rpm).system, plan.sweep, period=lambda rpm: 60.0 / rpm, observe=made.observe,
        transient=plan.skipped, samples=plan.sweep_turns, steps=plan.sweep_steps,
        scheme=schemes.make(made.scheme, **made.options), name="speed [1/min]", progress=progress,
    )  # fmt: skip


def periodicity(run: Run, skipped: int, most: int = 8) -> int:
    """In how many turns the motion repeats, 0 if in no number up to `most`: sections that many turns apart
    differ by less than a hundredth of the range of u, over all turns after `skipped`."""
    u, _ = run.sections()
    u = u[min(skipped, u.size // 2) :]
    small = 0.01 * float(np.ptp(run.u[run.u.size // 2 :]))
    for p in range(1, min(most, u.size - 2) + 1):
        if float(np.abs(u[p:] - u[:-p]).max()) < small:
            return p
    return 0


Runs = Mapping[tuple[float, str], Run]
"""By speed [1/min] and scheme."""


def series(runs: Runs) -> Figure:
    """Both schemes over time at the three speeds, beside the cam (figure 14.2 of the notes)."""
    panels = []
    for rpm in SPEEDS:
        pairs = ((runs[rpm, "moreau-jean"], "-"), (runs[rpm, "event-driven"], "--"))
        shown = [(one, one.t <= SHOWN, style) for one, style in pairs]
        curves = [Curve(NAMES[one.scheme], one.t[part], one.u[part], style) for one, part, style in shown]
        one, part, _ = shown[0]
        curves.append(Curve("cam", one.t[part], one.speed.place(one.t[part]), ":"))
        panels.append(Panel(f"{rpm:g} rpm", "t [s]", "u [m]", curves))
    return Figure("Cam follower: time-stepping and event-driven together", panels, across=3)


def states(runs: Runs) -> Figure:
    """State space at 358 and 700 rpm, event-driven and time-stepping apart (figure 14.3 of the notes)."""
    panels = []
    for rpm in (SPEEDS[0], SPEEDS[2]):
        for scheme in ("event-driven", "moreau-jean"):
            name, one = NAMES[scheme], runs[rpm, scheme]
            panels.append(Panel(f"{rpm:g} rpm, {name}", "u [m]", "v [m/s]", [Curve(name, one.u, one.v)]))
    return Figure("Cam follower: state space", panels)


def attractors(late: dict[str, Run], skipped: int) -> Figure:
    """Impact map and stroboscopic map, event-driven and time-stepping (figure 14.4 of the notes)."""
    hits, sections = [], []
    for scheme, one in late.items():
        name, (times, angle, approach, _), (u, v) = NAMES[scheme], one.hits(), one.sections()
        after = times > skipped * one.speed.period
        points = Curve(name, angle[after], approach[after], "o")
        hits.append(Panel(f"Impact map, {name}", "angle of the cam [rad]", "approach [m/s]", [points]))
        points = Curve(name, u[skipped:], v[skipped:], "o")
        sections.append(Panel(f"Stroboscopic map, {name}", "u [m]", "v [m/s]", [points]))
    return Figure(f"Cam follower at {SPEEDS[1]:g} rpm: attractors", [*hits, *sections])


def run(quick: bool = False, progress: Progress | None = None) -> Study:
    """Everything; `quick` is shorter and coarser by far."""
    plan = QUICK if quick else Plan()
    tell = Parts(progress, 3 * len(SPEEDS) + 3 + len(plan.sweep))
    runs: dict[tuple[float, str], Run] = {}
    nudged: dict[float, Run] = {}
    for rpm in SPEEDS:
        for scheme, name in NAMES.items():
            tell(f"{rpm:g} rpm, {name}")
            runs[rpm, scheme] = run_by(scheme, plan, rpm)
        tell(f"{rpm:g} rpm, event-driven, started {NUDGE:g} m higher")
        nudged[rpm] = run_by("event-driven", plan, rpm, gap0=cam.GAP + NUDGE)
    tell("translated form")
    end = min(plan.until, 1.0)
    forms = {scheme: run_by(scheme, plan, SPEEDS[0], end, form="translated") for scheme in NAMES}
    late = {}
    for scheme in ("event-driven", "moreau-jean"):
        tell(f"attractor at {SPEEDS[1]:g} rpm, {NAMES[scheme]}")
        late[scheme] = run_by(scheme, plan, SPEEDS[1], (plan.turns + plan.skipped) * 60.0 / SPEEDS[1])
    found = sweep(plan, lambda what, done, total: tell(f"diagram, {what}") if done < total else None)
    tell.end()
    return Study(
        NAME,
        [_agreement(runs, plan), _forms(runs, forms), _motions(runs, nudged, late, plan)],
        {
            "series": series(runs),
            "states": states(runs),
            "attractors": attractors(late, plan.skipped),
            "bifurcations": found.figure("Cam follower: bifurcations over the speed"),
        },
        {
            "diagram": [
                [rpm, *(numbers[k].tolist() for numbers in found.observed.values())]
                for k, rpm in enumerate(found.values.tolist())
            ]
        },
    )


def _agreement(runs: Runs, plan: Plan) -> Table:
    rows: list[list[Cell]] = []
    for rpm in SPEEDS:
        a, b = runs[rpm, "moreau-jean"], runs[rpm, "event-driven"]
        exact = np.array(cam.exact_impacts(b.speed, cam.E, (cam.GAP, cam.RATE), 10, float(b.t[-1])))
        n = min(exact.size, a.impacts.size, b.impacts.size)
        late = [float(np.abs(one.impacts[:n] - exact[:n]).max(initial=0.0)) for one in (a, b)]
        apart = np.abs(np.interp(b.t, a.t, a.u) - b.u)
        beyond = np.flatnonzero(apart > NEAR)
        part = float(b.t[beyond[0]]) if beyond.size else float(min(a.t[-1], b.t[-1]))
        rows.append([rpm, n, *late, float(apart[b.t < min(0.5, part)].max()), part, not beyond.size])
    return Table(
        f"Time-stepping (h = {plan.h:g} s) beside event-driven",
        [
            "speed [1/min]", "impacts compared", Column("their times, time-stepping [s]", ".1e"),
            Column("event-driven [s]", ".1e"), Column("places apart, first 0.5 s [m]", ".1e"),
            f"together ({NEAR:g} m) until [s]", "to the end",
        ],
        rows,
        "Times: largest distance from those of the exact flow between impacts. Chaos takes two runs apart"
        " whatever their accuracy; what then agrees are the attractors.",
    )  # fmt: skip


def _forms(runs: Runs, forms: dict[str, Run]) -> Table:
    pairs = [(scheme, runs[SPEEDS[0], scheme], other) for scheme, other in forms.items()]
    cut = [(scheme, own, other, min(own.t.size, other.t.size)) for scheme, own, other in pairs]
    return Table.of(
        f"Rheonomous, u >= c(t), beside translated, û = u - c(t) >= 0, at {SPEEDS[0]:g} rpm",
        cut,
        ("scheme", lambda scheme, own, other, n: NAMES[scheme]),
        ("compared until [s]", lambda scheme, own, other, n: own.t[n - 1]),
        ("places apart, at most [m]", ".1e", lambda _, own, other, n: np.abs(own.u[:n] - other.u[:n]).max()),
        note="Time-stepping sees the cam at the ends of its steps in the one form and as a force in the"
        " other: the difference is of order h.",
    )


def _motions(runs: Runs, nudged: dict[float, Run], late: dict[str, Run], plan: Plan) -> Table:
    rows: list[list[Cell]] = []
    for (rpm, scheme), one in runs.items():
        long, skipped = one, one.sections()[0].size // 2
        if rpm == SPEEDS[1]:
            long, skipped = late[scheme], plan.skipped
        begin, period = skipped * long.speed.period, periodicity(long, skipped)
        times, _, _, left = long.hits()
        rate = float((times > begin).sum() / (long.t[-1] / long.speed.period - skipped))
        apart: Cell = None
        if scheme == "event-driven":
            last = one.t > one.t[-1] - one.speed.period
            apart = float(np.abs(one.u - nudged[rpm].u)[last].max())
        width = float(np.ptp(long.u[long.t > begin]))
        rows.append([rpm, NAMES[scheme], str(period or "in none up to 8"), rate, left, width, apart])
    return Table(
        "Motions",
        [
            "speed [1/min]", "scheme", "repeats in turns", Column("impacts per turn", ".3g"),
            "impacts not counted", Column("range of u [m]", ".3g"),
            Column(f"apart at the end, started {NUDGE:g} m apart [m]", ".1e"),
        ],
        rows,
        "Repeats: sections that many turns apart differ by less than a hundredth of the range, over the"
        f" second half of {plan.until:g} s ({plan.turns} turns at {SPEEDS[1]:g} rpm). Not counted: those that"
        f" share a record, or approach slower than {cam.SLOW:g} m/s.",
    )  # fmt: skip
