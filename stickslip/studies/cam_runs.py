"""The runs of the cam study: time-stepping and event-driven, sections, a sweep over the speed; figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.problem.checks import Array
from stickslip.scenes import cam
from stickslip.scenes.measures import impacts
from stickslip.scenes.scenario import Scenario
from stickslip.schemes import registry as schemes
from stickslip.simulation.loop import simulate
from stickslip.simulation.trajectory import Trajectory
from stickslip.solvers import registry as solvers
from stickslip.systems.system import NonsmoothSystem

SPEEDS = (358.0, 660.0, 700.0)
"""Of the notes [1/min]."""
SLOW = 0.01
"""Approach below which an impact is not drawn: grazing, and resting contact [m/s]."""
TOLERANCE = 1e-10


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
    sweep_h: float = 2e-4
    """Step of the diagram [s]."""
    sweep_turns: int = 20
    """Turns drawn at each speed of the diagram."""


QUICK = Plan(5e-4, 0.6, 18, 16, 6, tuple(np.linspace(300.0, 800.0, 6)), 1e-3, 4)
"""A small part, in seconds."""


@dataclass(frozen=True, eq=False)
class Run:
    """One run, in absolute place and velocity."""

    speed: cam.Speed
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
        left out: those that share a record with others, and those slower than `SLOW`.

        The approach is r / (m (1 + e)) of the record that holds the impact.
        """
        t, r = self.t, np.asarray(self.trajectory.r)[:, 0]
        times = self.impacts
        record = np.searchsorted(t, times - 1e-12)
        alone = np.array([np.count_nonzero(record == k) == 1 for k in record], bool)
        approach = r[np.minimum(record, t.size - 1)] / (cam.MASS * (1.0 + cam.E))
        keep = alone & (approach > SLOW)
        angle = np.mod(self.speed.z[0] * times + self.speed.z[1], 2.0 * np.pi)
        return times[keep], angle[keep], approach[keep], int(np.count_nonzero(~keep))


def run(scheme: str, h: float, until: float, rpm: float, **parameters: float | str) -> Run:
    """The follower at `rpm` by one scheme."""
    scenario = cam.cam(rpm=rpm, h=h, until=until, **parameters)  # type: ignore[arg-type]
    options = scenario.options if scheme == scenario.scheme else {}
    trajectory = carried(scenario, scheme, options)
    speed = cam.Speed(np.asarray(trajectory.z[0]))
    u, v = cam.absolute(trajectory, speed, str(parameters.get("form", "rheonomous")))
    return Run(speed, scheme, trajectory, np.asarray(u), np.asarray(v))


def carried(scenario: Scenario, scheme: str, options: dict[str, float]) -> Trajectory:
    """A scene by a scheme, with the house's solver."""
    system = scenario.system
    assert isinstance(system, NonsmoothSystem)
    return simulate(
        system, until=scenario.until, h=scenario.h, scheme=schemes.make(scheme, **options),
        solver=solvers.make("auto", tolerance=TOLERANCE), solver_name="auto", tolerance=TOLERANCE,
    )  # fmt: skip


def stepped(plan: Plan, rpm: float, until: float | None = None, **parameters: float | str) -> Run:
    """By time-stepping."""
    return run("moreau-jean", plan.h, plan.until if until is None else until, rpm, **parameters)


def driven(plan: Plan, rpm: float, until: float | None = None, **parameters: float | str) -> Run:
    """By the event-driven scheme, recorded `samples` times a turn, the beginning of each turn among them."""
    h = 60.0 / rpm / plan.samples
    whole = round((plan.until if until is None else until) / h)
    return run("event-driven", h, whole * h, rpm, **parameters)


def sweep(plan: Plan) -> Iterator[tuple[float, Array, Array]]:
    """For each speed of the diagram: itself, gaps at the beginnings of turns [m], approach velocities [m/s].

    Every speed starts where the one before ended.
    """
    gap0, rate0 = cam.GAP, cam.RATE
    for rpm in plan.sweep:
        turns = plan.skipped + plan.sweep_turns
        period = 60.0 / rpm
        h = period / round(period / plan.sweep_h)
        one = run("moreau-jean", h, turns * period, rpm, gap0=gap0, rate0=rate0)
        gaps = one.sections()[0] - one.speed.place(np.zeros(1))
        times, _, approach, _ = one.hits()
        late = times > plan.skipped * period
        gap0 = max(0.0, float(one.u[-1] - one.speed.place(one.t[-1:])[0]))
        rate0 = float(one.v[-1] - one.speed.velocity(one.t[-1:])[0])
        yield rpm, gaps[plan.skipped :], approach[late]


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
NAMES = {"moreau-jean": "time-stepping", "event-driven": "event-driven"}
SHOWN = 1.5
"""How much of the series is drawn [s]."""


def series(runs: Runs) -> Figure:
    """Both schemes over time at the three speeds, beside the cam (figure 14.2 of the notes)."""
    panels = []
    for rpm in SPEEDS:
        curves = []
        for scheme, style in (("moreau-jean", "-"), ("event-driven", "--")):
            one = runs[rpm, scheme]
            part = one.t <= SHOWN
            curves.append(Curve(NAMES[scheme], one.t[part], one.u[part], style))
        stepped = runs[rpm, "moreau-jean"]
        part = stepped.t <= SHOWN
        curves.append(Curve("cam", stepped.t[part], stepped.speed.place(stepped.t[part]), ":"))
        panels.append(Panel(f"{rpm:g} rpm", "t [s]", "u [m]", curves))
    return Figure("Cam follower: time-stepping and event-driven together", panels, across=3)


def states(runs: Runs) -> Figure:
    """State space at 358 and 700 rpm, event-driven and time-stepping apart (figure 14.3 of the notes)."""
    panels = []
    for rpm in (SPEEDS[0], SPEEDS[2]):
        for scheme in ("event-driven", "moreau-jean"):
            one = runs[rpm, scheme]
            panels.append(
                Panel(
                    f"{rpm:g} rpm, {NAMES[scheme]}", "u [m]", "v [m/s]", [Curve(NAMES[scheme], one.u, one.v)]
                )
            )
    return Figure("Cam follower: state space", panels)


def attractors(driven: Run, stepped: Run, skipped: int) -> Figure:
    """Impact map and stroboscopic map, event-driven and time-stepping (figure 14.4 of the notes)."""
    panels = []
    for one in (driven, stepped):
        times, angle, approach, _ = one.hits()
        late = times > skipped * one.speed.period
        panels.append(
            Panel(
                f"Impact map, {NAMES[one.scheme]}", "angle of the cam [rad]", "approach [m/s]",
                [Curve(NAMES[one.scheme], angle[late], approach[late], "o")],
            )
        )  # fmt: skip
    for one in (driven, stepped):
        u, v = one.sections()
        panels.append(
            Panel(
                f"Stroboscopic map, {NAMES[one.scheme]}", "u [m]", "v [m/s]",
                [Curve(NAMES[one.scheme], u[skipped:], v[skipped:], "o")],
            )
        )  # fmt: skip
    return Figure(f"Cam follower at {SPEEDS[1]:g} rpm: attractors", panels)


def diagram(found: Sequence[tuple[float, Array, Array]]) -> Figure:
    """Gaps at the beginnings of turns and approach velocities against the speed."""

    def points(values: Sequence[Array]) -> Curve:
        x = [np.full(one.size, row[0]) for one, row in zip(values, found, strict=True)]
        return Curve("time-stepping", np.concatenate(x), np.concatenate(values), "o")

    return Figure(
        "Cam follower: bifurcations over the speed",
        [
            Panel(
                "At the beginning of each turn",
                "speed [1/min]",
                "u - c [m]",
                [points([gaps for _, gaps, _ in found])],
            ),
            Panel(
                "Impacts", "speed [1/min]", "approach [m/s]", [points([approach for _, _, approach in found])]
            ),
        ],
    )
