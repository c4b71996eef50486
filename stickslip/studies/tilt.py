"""The tilt at which structures of blocks fall: by bisection of runs, beside limit analysis.

A structure is placed at rest and let go. If forces in Coulomb's cones hold it, rest is a solution of every
step's problem; if none do, it moves off, the faster the farther the angle is beyond the critical one: a few
steps tell. Rest need not be the only solution: with friction there may be others in which joints slip, and a
solver may find either. So two angles are looked for. Up to the first, rest is a solution: where the convex
relaxation is at rest, so is Coulomb's law, and that answer passes the judge of the exact law (`RestFirst`).
Up to the second the structure stands when the solver is left to itself.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stickslip.exhibits import Column, Curve, Figure, Panel, Table
from stickslip.mechanics.world import World
from stickslip.problem.solution import AnyProblem, Solution
from stickslip.scenes.measures import drift, speed
from stickslip.scenes.scenario import GRAVITY
from stickslip.scenes.views import side_view
from stickslip.schemes.step import Solver
from stickslip.simulation.loop import simulate
from stickslip.simulation.trajectory import Trajectory
from stickslip.solvers import registry as solvers
from stickslip.studies.study import Parts, Progress, Study
from stickslip.studies.tilt_models import Structure, bracket, semicircle, thinnest_arch, tower, wall

NAME = "tilt"
SUMMARY = "The tilt at which boxes, towers, walls and arches fall, beside limit analysis."

MILANKOVITCH = 0.1075
"""Least t / R of a semicircular arch with radial joints anywhere (Milankovitch 1907)."""
TOLERANCE = 1e-8
"""Of the solver [-]."""
MOVED = 3e-5
"""Least share of the speed of free fall that counts as falling [-]: far above what the solver's tolerance
leaves of a structure at rest, and, as a body moves off at about g times the angle past the critical one,
about the error in radian that it makes."""


@dataclass(frozen=True)
class Plan:
    """How much is done."""

    h: float = 1e-3
    """Time step [s]."""
    first: int = 1
    """Steps after which it is known whether rest is a solution."""
    steps: int = 20
    """Steps after which a structure that is let go stands or not."""
    width: float = 0.01
    """Of the bracket in which bisection ends [deg]."""
    long: float = 0.5
    """How long the runs beside the critical angle are [s]."""
    below: float = 0.25
    """How far below it the one is [deg]."""
    above: float = 3.0
    """How far above it the other is, so that the fall is seen [deg]."""
    stones: tuple[int, ...] = (5, 7, 9, 11, 15, 21, 31, 63, 127)
    """Of the arches whose least thickness limit analysis finds."""
    thicknesses: tuple[float, ...] = (0.12, 0.15, 0.2, 0.25, 0.3)
    """t / R of the arches that are tilted for the figure."""


QUICK = Plan(width=0.1, long=0.05, stones=(5, 11, 31), thicknesses=(0.2,))


@dataclass(frozen=True, eq=False)
class Found:
    """A critical tilt of a structure."""

    structure: Structure
    low: float
    """Largest angle at which it stood [deg]."""
    high: float
    """Least at which it fell [deg]."""
    tried: list[tuple[float, float]]
    """Angles [deg] and the speeds reached, over that of free fall [-]."""
    missed: int
    """Steps that missed the solver's tolerance, in all runs."""

    @property
    def angle(self) -> float:
        """The middle of the two [deg]."""
        return 0.5 * (self.low + self.high)


class RestFirst:
    """Gives the answer of the convex relaxation where that is one of the exact law too, as it is at rest."""

    def __init__(self) -> None:
        self.tolerance = TOLERANCE
        self._relaxed = solvers.make("ipm", tolerance=TOLERANCE, law="relaxed", algorithm="nt-f")
        self._exact = left_to_itself()

    def solve(self, problem: AnyProblem, *, guess: ArrayLike | None = None) -> Solution:
        """The certified answer."""
        found: Solution = self._relaxed.solve(problem, guess=guess)
        return found if found.ok else self._exact.solve(problem, guess=guess)


def left_to_itself() -> Solver:
    """The solver as `stickslip.simulate` has it."""
    return solvers.make("auto", tolerance=TOLERANCE)


def can_stand(structure: Structure, plan: Plan) -> Found:
    """The angle up to which rest is a solution."""
    return _bisected(structure, plan, plan.first, RestFirst())


def let_go(structure: Structure, plan: Plan) -> Found:
    """The angle up to which it stands when the solver is left to itself."""
    return _bisected(structure, plan, plan.steps, left_to_itself())


def rolled(world: World, h: float, until: float, solver: Solver) -> Trajectory:
    """The world let go; steps that miss their tolerance are counted."""
    return simulate(
        world, until=until, h=h, solver=solver, solver_name="auto", tolerance=TOLERANCE, on_failure="accept"
    )


def _bisected(structure: Structure, plan: Plan, steps: int, solver: Solver) -> Found:
    """What moves in most steps of the second half of a run falls: friction lets it slip, or jam, for one."""
    tried: list[tuple[float, float]] = []
    missed = 0

    def falls(angle: float) -> bool:
        nonlocal missed
        trajectory = rolled(structure.world(angle), plan.h, steps * plan.h, solver)
        missed += trajectory.missed
        late = slice(1 + steps // 2, None)
        share = float(np.median(speed(trajectory)[late] / (GRAVITY * trajectory.t[late])))
        tried.append((angle, share))
        return share > MOVED

    low, high = bracket(falls, 0.0, 60.0, plan.width)
    return Found(structure, low, high, sorted(tried), missed)


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
    tell = Parts(progress, 2 * len(tilted) + 2 + len(arches) + 1)
    found, free = [], []
    for one in tilted:
        tell(f"{one.name}: can it stand")
        found.append(can_stand(one, plan))
        tell(f"{one.name}: let go")
        free.append(let_go(one, plan))
    longer = {}
    for kind in ("arch", "wall"):
        each = next(f for f in free if f.structure.name.startswith(kind))
        tell(f"{each.structure.name}, beside its critical tilt")
        longer[each.structure.name] = [
            (angle, rolled(each.structure.world(angle), plan.h, plan.long, left_to_itself()))
            for angle in (each.low - plan.below, each.high + plan.above)
        ]
    curve = []
    for one in arches:
        tell(one.name)
        curve.append(can_stand(one, plan))
    tell("thinnest arches")
    thin = [(n, thinnest_arch(n, 1.0), thinnest_arch(n, 0.5)) for n in plan.stones]
    tell.end()
    thinnest = Table(
        "Least thickness of a semicircular arch on level ground, limit analysis",
        ["stones", Column("t / R, mu = 1", ".5f"), Column("t / R, mu = 0.5", ".5f"),
         Column("less than with joints anywhere", ".5f")],
        [[n, smooth, rough, MILANKOVITCH - smooth] for n, smooth, rough in thin],
        f"Hinges open only where there are joints: fewer stones stand with less, many with {MILANKOVITCH}"
        " (Milankovitch 1907). Stones are wedges with flat inner and outer faces.",
    )  # fmt: skip
    panels = [
        Panel(f"{name}: {angle:.4g}°", "x [m]", "z [m]", side_view(run, [0.0, 0.5 * run.t[-1], run.t[-1]]))
        for name, pair in longer.items()
        for angle, run in pair
    ]
    views = Figure("Below and above the critical tilt", panels)
    return Study(
        NAME,
        [_angles(found, free, plan), _beside(longer), thinnest],
        {"speeds": _speeds(found, free), "arches": _arches(curve), "beside": views},
        {
            "rest is a solution": {one.structure.name: one.tried for one in found},
            "let go": {one.structure.name: one.tried for one in free},
        },
    )


def _angles(found: list[Found], free: list[Found], plan: Plan) -> Table:
    angle = ".5g"
    return Table.of(
        "Tilt at which a structure falls",
        zip(found, free, strict=True),
        ("structure", lambda one, _: one.structure.name),
        ("stands up to [deg]", angle, lambda one, _: one.angle),
        ("± [deg]", ".1g", lambda one, _: 0.5 * (one.high - one.low)),
        ("limit analysis [deg]", angle, lambda one, _: one.structure.limit),
        ("difference [deg]", ".1e", lambda one, _: one.angle - one.structure.limit),
        ("closed form [deg]", angle, lambda one, _: one.structure.closed_form or math.nan),
        ("let go, stands up to [deg]", angle, lambda _, other: other.angle),
        ("steps missed", lambda one, other: one.missed + other.missed),
        note="Stands: rest is a solution of the exact problem, certified by the judge. Limit analysis:"
        " largest tilt at which forces in equilibrium exist (static theorem, linear program, in a plane)."
        f" Let go: the solver is left to itself, {plan.steps} steps of {plan.h:g} s; falling is to be faster"
        f" than {MOVED:g} of free fall in most of the second half. Where joints can slip, Coulomb's law has"
        " solutions beside rest, and what can stand may fall.",
    )


def _beside(longer: dict[str, list[tuple[float, Trajectory]]]) -> Table:
    return Table.of(
        "Runs below and above the tilt found",
        [
            (name, angle, expected, run)
            for name, pair in longer.items()
            for (angle, run), expected in zip(pair, ("stands", "falls"), strict=True)
        ],
        ("structure", lambda name, angle, it, run: name),
        ("tilt [deg]", ".5g", lambda name, angle, it, run: angle),
        ("it", lambda name, angle, it, run: it),
        ("until [s]", lambda name, angle, it, run: run.t[-1]),
        ("farthest way [m]", ".1e", lambda name, angle, it, run: drift(run)[-1]),
        ("fastest [m/s]", ".1e", lambda name, angle, it, run: speed(run)[-1]),
        ("deepest overlap [m]", ".1e", lambda name, angle, it, run: run.penetration.max()),
        ("largest correction [m]", ".1e", lambda name, angle, it, run: run.correction.max()),
        ("lifted [J]", ".1e", lambda name, angle, it, run: run.lifted[-1]),
        ("steps missed", lambda name, angle, it, run: run.missed),
    )


def _speeds(found: list[Found], free: list[Found]) -> Figure:
    panels = []
    for one, other in zip(found, free, strict=True):
        (angle, share), (angle_free, share_free) = np.array(one.tried).T, np.array(other.tried).T
        panels.append(
            Panel(
                one.structure.name, "tilt [deg]", "speed [of free fall]",
                [
                    Curve("rest first", angle, np.maximum(share, 1e-12), "o"),
                    Curve("let go", angle_free, np.maximum(share_free, 1e-12), "x"),
                    Curve("limit analysis", np.full(2, one.structure.limit), np.array([1e-12, 1.0]), "--"),
                ],
                log_y=True, level=MOVED,
            )
        )  # fmt: skip
    return Figure("Speed after a few steps from rest", panels, across=3)


def _arches(curve: list[Found]) -> Figure:
    fine = np.linspace(0.106, 0.32, 80)
    panels = [
        Panel(
            "Arch of 11 stones, mu = 0.7", "t / R [-]", "critical tilt [deg]",
            [
                Curve("limit analysis", fine, np.array([semicircle(11, float(x), 0.7).limit for x in fine])),
                Curve(
                    "bisection of runs",
                    np.array([one.structure.thickness for one in curve]),
                    np.array([one.angle for one in curve]), "o",
                ),
            ],
        )
    ]  # fmt: skip
    return Figure("Critical tilt of arches", panels, across=1)
