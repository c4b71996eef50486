"""The tilt at which structures of blocks fall: by bisection of runs, beside closed forms and limit analysis.

A structure is placed at rest on tilted ground and let go. If forces within Coulomb's cones hold it, rest is a
solution of every step's problem; if none do, it moves off, the faster the farther the angle is beyond the
critical one. So a few steps tell. Rest need not be the only solution: with friction a solver may find one in
which a joint slips for a moment. What has come to rest again stands all the same, so that a structure falls
if in all steps of the second half of the run a body is faster than `MOVED` of what it would be in free fall.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stickslip.exhibits import Cell, Column, Curve, Figure, Panel, Table
from stickslip.mechanics.world import World
from stickslip.scenes.block_views import side_view
from stickslip.scenes.measures import GRAVITY
from stickslip.scenes.rest import drift, speed
from stickslip.schemes.quick import Quick
from stickslip.simulation.world_loop import simulate_world
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.solvers import registry as solvers
from stickslip.studies.study import Progress, Study
from stickslip.studies.tilt_models import Structure, semicircle, thinnest_arch, tower, wall

NAME = "tilt"
SUMMARY = "The tilt at which boxes, towers, walls and arches fall, beside limit analysis."

TOLERANCE = 1e-8
"""Of the solver [-]."""
MOVED = 3e-5
"""Least share of the speed of free fall that counts as falling [-]: far above what the solver's tolerance
leaves of a structure at rest, and, a body moving off at about g times the angle past the critical one, the
error in radian that it makes."""
MILANKOVITCH = 0.1075
"""Least t / R of a semicircular arch with radial joints anywhere (Milankovitch 1907; Cochetti et al. 2011)."""


@dataclass(frozen=True)
class Plan:
    """How much is done."""

    h: float = 1e-3
    """Time step [s]."""
    steps: int = 20
    """After which a structure stands or not."""
    width: float = 0.01
    """Of the bracket in which bisection ends [deg]."""
    long: float = 1.0
    """How long the runs beside the critical angle are [s]."""
    beside: float = 0.25
    """How far from it [deg]."""
    stones: tuple[int, ...] = (5, 7, 9, 11, 15, 21, 31, 63, 127)
    """Of the arches whose least thickness limit analysis finds."""
    thicknesses: tuple[float, ...] = (0.12, 0.15, 0.2, 0.25, 0.3)
    """t / R of the arches that are tilted for the figure."""


QUICK = Plan(width=0.1, long=0.1, stones=(5, 11, 31), thicknesses=(0.2,))


@dataclass(frozen=True, eq=False)
class Found:
    """The critical tilt of a structure."""

    structure: Structure
    low: float
    """Largest angle at which it stood [deg]."""
    high: float
    """Least at which it fell [deg]."""
    tried: list[tuple[float, float]]
    """Angles [deg] and the speeds reached, over that of free fall [-]."""
    missed: int
    """Steps that missed the solver's tolerance, in all runs."""


def structures(quick: bool) -> list[Structure]:
    """What the table has."""
    few = [
        tower("cube, mu = 0.5", [(1.0, 1.0)], 0.5),
        tower("box three times as high as wide, mu = 0.5", [(1.0, 3.0)], 0.5),
        tower("tower of 5 cubes, mu = 0.5", [(1.0, 1.0)] * 5, 0.5),
        wall(4, 3, 0.6),
        semicircle(7, 0.2, 0.7),
    ]
    if quick:
        return few
    return [*few, wall(6, 4, 0.4), wall(6, 4, 0.6), wall(6, 4, 0.8), semicircle(11, 0.15, 0.7),
            semicircle(11, 0.2, 0.7), semicircle(11, 0.2, 0.5)]  # fmt: skip


def run(quick: bool = False, progress: Progress | None = None) -> Study:
    """Everything; `quick` has fewer structures and wider brackets."""
    plan = QUICK if quick else Plan()
    tilted = structures(quick)
    arches = [semicircle(11, each, 0.7) for each in plan.thicknesses]
    total, done = len(tilted) + 2 + len(arches) + 1, 0

    def tell(what: str) -> None:
        nonlocal done
        if progress is not None:
            progress(what, done, total)
        done += 1

    found = []
    for one in tilted:
        tell(one.name)
        found.append(bisected(one, plan))
    longer = {}
    for each in [found[-1], next(f for f in reversed(found) if f.structure.name.startswith("wall"))]:
        tell(f"{each.structure.name}, beside its critical tilt")
        longer[each.structure.name] = [
            (angle, rolled(each.structure.world(angle), plan.h, plan.long))
            for angle in (each.low - plan.beside, each.high + plan.beside)
        ]
    curve = []
    for one in arches:
        tell(one.name)
        curve.append(bisected(one, plan))
    tell("thinnest arches")
    thin = [(n, thinnest_arch(n, 1.0), thinnest_arch(n, 0.5)) for n in plan.stones]
    if progress is not None:
        progress("done", total, total)
    return Study(
        NAME,
        [_angles(found, plan), _beside(longer), _thinnest(thin)],
        {"speeds": _speeds(found), "arches": _arches(curve), "beside": _runs(longer)},
        {"tried": {one.structure.name: one.tried for one in found}},
    )


def bisected(structure: Structure, plan: Plan) -> Found:
    """The bracket of the angle at which the structure falls."""
    tried: list[tuple[float, float]] = []
    missed = 0

    def falls(angle: float) -> bool:
        nonlocal missed
        trajectory = rolled(structure.world(angle), plan.h, plan.steps * plan.h)
        missed += trajectory.missed
        late = slice(1 + len(trajectory) // 2, None)
        share = float((speed(trajectory)[late] / (GRAVITY * trajectory.t[late])).min())
        tried.append((angle, share))
        return share > MOVED

    low, high = bracket(falls, 0.0, 60.0, plan.width)
    return Found(structure, low, high, sorted(tried), missed)


def bracket(falls: Callable[[float], bool], low: float, high: float, width: float) -> tuple[float, float]:
    """Two angles no farther apart than `width`, at the lower of which it stands and at the other it falls;
    NaN where that is so of neither end of the range."""
    if falls(low) or not falls(high):
        return float("nan"), float("nan")
    while high - low > width:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if falls(middle) else (middle, high)
    return low, high


def rolled(world: World, h: float, until: float) -> WorldTrajectory:
    """The world let go; steps that miss their tolerance are counted."""
    solver = Quick(solvers.make("auto", tolerance=TOLERANCE), TOLERANCE)
    return simulate_world(
        world, until=until, h=h, solver=solver, solver_name="auto", tolerance=TOLERANCE, on_failure="accept"
    )


def _angles(found: list[Found], plan: Plan) -> Table:
    rows: list[list[Cell]] = []
    for one in found:
        middle, limit = 0.5 * (one.low + one.high), one.structure.limit
        known = one.structure.closed_form
        rows.append(
            [
                one.structure.name, middle, 0.5 * (one.high - one.low), limit,
                known if known is None else float(known), middle - limit, one.missed,
            ]
        )  # fmt: skip
    angle = ".5g"
    return Table(
        "Tilt at which a structure falls",
        [
            "structure", Column("found [deg]", angle), Column("± [deg]", ".1g"),
            Column("limit analysis [deg]", angle), Column("closed form [deg]", angle),
            Column("found - limit analysis [deg]", ".1e"), "steps missed",
        ],
        rows,
        f"Let go at rest, {plan.steps} steps of {plan.h:g} s: it falls if in all of the second half something"
        f" is faster than {MOVED:g} of free fall. Limit analysis: largest tilt at which forces in equilibrium exist (static theorem, linear"
        " program). With Coulomb's law it bounds the true angle from above.",
    )  # fmt: skip


def _beside(longer: dict[str, list[tuple[float, WorldTrajectory]]]) -> Table:
    rows: list[list[Cell]] = []
    for name, pair in longer.items():
        for (angle, trajectory), expected in zip(pair, ("stands", "falls"), strict=True):
            rows.append(
                [
                    name, angle, expected, float(trajectory.t[-1]), float(drift(trajectory)[-1]),
                    float(speed(trajectory)[-1]), float(trajectory.penetration.max()),
                    float(trajectory.correction.max()), float(trajectory.lifted[-1]), trajectory.missed,
                ]
            )  # fmt: skip
    return Table(
        "Runs a little below and above the tilt found",
        [
            "structure", Column("tilt [deg]", ".5g"), "it", "until [s]", Column("farthest way [m]", ".1e"),
            Column("fastest [m/s]", ".1e"), Column("deepest overlap [m]", ".1e"),
            Column("largest correction [m]", ".1e"), Column("lifted [J]", ".1e"), "steps missed",
        ],
        rows,
    )  # fmt: skip


def _thinnest(thin: list[tuple[int, float, float]]) -> Table:
    return Table(
        "Least thickness of a semicircular arch on level ground, limit analysis",
        ["stones", Column("t / R, mu = 1", ".5f"), Column("t / R, mu = 0.5", ".5f"),
         Column("less than with joints anywhere", ".5f")],
        [[n, free, rough, MILANKOVITCH - free] for n, free, rough in thin],
        f"Hinges open only where there are joints: fewer stones stand with less, many with {MILANKOVITCH}"
        " (Milankovitch 1907). Stones are wedges with flat inner and outer faces.",
    )  # fmt: skip


def _speeds(found: list[Found]) -> Figure:
    panels = []
    for one in found:
        angle, share = np.array(one.tried).T
        beyond = np.maximum(share, 1e-9)
        panels.append(
            Panel(
                one.structure.name, "tilt [deg]", "speed [of free fall]",
                [
                    Curve("runs", angle, beyond, "o"),
                    Curve("limit analysis", np.full(2, one.structure.limit), np.array([1e-9, 1.0]), "--"),
                ],
                log_y=True, level=MOVED,
            )
        )  # fmt: skip
    return Figure("Speed after a few steps from rest", panels, across=3)


def _arches(curve: list[Found]) -> Figure:
    fine = np.linspace(0.106, 0.32, 60)
    panels = [
        Panel(
            "Arch of 11 stones, mu = 0.7", "t / R [-]", "critical tilt [deg]",
            [
                Curve("limit analysis", fine, np.array([semicircle(11, float(x), 0.7).limit for x in fine])),
                Curve(
                    "bisection of runs",
                    np.array([float(one.structure.name.split("t/R = ")[1].split(",")[0]) for one in curve]),
                    np.array([0.5 * (one.low + one.high) for one in curve]), "o",
                ),
            ],
        )
    ]  # fmt: skip
    return Figure("Critical tilt of arches", panels, across=1)


def _runs(longer: dict[str, list[tuple[float, WorldTrajectory]]]) -> Figure:
    panels = []
    for name, pair in longer.items():
        for angle, trajectory in pair:
            end = float(trajectory.t[-1])
            panels.append(
                Panel(f"{name}: {angle:.4g}°", "x [m]", "z [m]", side_view(trajectory, [0.0, 0.5 * end, end]))
            )
    return Figure("A little below and above the critical tilt", panels)
