"""Critical tilt of structures of blocks: bisection of runs against limit analysis.

A structure is released from rest. If forces in Coulomb's cones hold it, rest is a solution of the problem of
every step; otherwise it accelerates, the more the farther the angle is above the critical one, which a few
steps show. Rest may not be the only solution: with friction there may be others in which joints slip, and a
solver may find either. Therefore the study determines two angles. Up to the first, rest is a solution: if the
convex relaxation is at rest, so is Coulomb's law, and the judge certifies that answer for the exact law
(`RestFirst`). Up to the second, the structure stands with the default solver.
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
SUMMARY = "The tilt at which boxes, towers, walls and arches fall, against limit analysis."

MILANKOVITCH = 0.1075
"""Least t / R of a semicircular arch with radial joints anywhere (Milankovitch 1907)."""
TOLERANCE = 1e-8
"""Tolerance of the solver [-]."""
MOVED = 3e-5
"""Speed over that of free fall above which a structure falls [-]; heuristic.

It is far above the speeds that the solver's tolerance allows at rest. As a body accelerates at about g times
the angle above the critical one, it is about the error of that angle [rad].
"""


@dataclass(frozen=True)
class Plan:
    """Number of runs and their durations."""

    h: float = 1e-3
    """Time step [s]."""
    first: int = 1
    """Number of steps of runs that test whether rest is a solution."""
    steps: int = 20
    """Number of steps of runs with the default solver."""
    width: float = 0.01
    """Width of the bracket at the end of bisection [deg]."""
    long: float = 0.5
    """Duration of the runs below and above the critical angle [s]."""
    below: float = 0.25
    """Difference of the run below from the critical angle [deg]."""
    above: float = 3.0
    """Difference of the run above from the critical angle, large enough to show the fall [deg]."""
    stones: tuple[int, ...] = (5, 7, 9, 11, 15, 21, 31, 63, 127)
    """Numbers of stones of the arches whose least thickness is computed by limit analysis."""
    thicknesses: tuple[float, ...] = (0.12, 0.15, 0.2, 0.25, 0.3)
    """t / R of the arches that are tilted for the figure."""


QUICK = Plan(width=0.1, long=0.05, stones=(5, 11, 31), thicknesses=(0.2,))
"""Plan of a small part that takes seconds."""


@dataclass(frozen=True, eq=False)
class Found:
    """A critical tilt of a structure."""

    structure: Structure
    """The structure."""
    low: float
    """Largest angle at which it stood [deg]."""
    high: float
    """Least angle at which it fell [deg]."""
    tried: list[tuple[float, float]]
    """Angles [deg], and speeds reached over that of free fall [-]."""
    missed: int
    """Number of steps that missed the solver's tolerance, in all runs."""

    @property
    def angle(self) -> float:
        """Middle of the bracket [deg]."""
        return 0.5 * (self.low + self.high)


class RestFirst:
    """Solver that returns the answer of the convex relaxation if it also solves the exact law, as at rest."""

    def __init__(self) -> None:
        self.tolerance = TOLERANCE
        self._relaxed = solvers.make("ipm", tolerance=TOLERANCE, law="relaxed", algorithm="nt-f")
        self._exact = default_solver()

    def solve(self, problem: AnyProblem, *, guess: ArrayLike | None = None) -> Solution:
        """Return the solution of the relaxation if it is certified, else that of the default solver."""
        relaxed: Solution = self._relaxed.solve(problem, guess=guess)
        return relaxed if relaxed.ok else self._exact.solve(problem, guess=guess)


def default_solver() -> Solver:
    """Return the default solver of `stickslip.simulate`."""
    return solvers.make("auto", tolerance=TOLERANCE)


def can_stand(structure: Structure, plan: Plan) -> Found:
    """Return the critical tilt up to which rest is a solution."""
    return _bisected(structure, plan, plan.first, RestFirst())


def let_go(structure: Structure, plan: Plan) -> Found:
    """Return the critical tilt up to which the structure stands with the default solver."""
    return _bisected(structure, plan, plan.steps, default_solver())


def released(world: World, h: float, until: float, solver: Solver) -> Trajectory:
    """Return the run of a world; steps that miss their tolerance are counted."""
    return simulate(
        world, until=until, h=h, solver=solver, solver_name="auto", tolerance=TOLERANCE, on_failure="accept"
    )


def _bisected(structure: Structure, plan: Plan, steps: int, solver: Solver) -> Found:
    """Return the critical tilt by bisection of runs over so many steps.

    A structure falls if the median speed over the second half of a run exceeds `MOVED`: single steps may slip
    or jam.
    """
    tried: list[tuple[float, float]] = []
    missed = 0

    def falls(angle: float) -> bool:
        nonlocal missed
        trajectory = released(structure.world(angle), plan.h, steps * plan.h, solver)
        missed += trajectory.missed
        late = slice(1 + steps // 2, None)
        share = float(np.median(speed(trajectory)[late] / (GRAVITY * trajectory.t[late])))
        tried.append((angle, share))
        return share > MOVED

    low, high = bracket(falls, 0.0, 60.0, plan.width)
    return Found(structure, low, high, sorted(tried), missed)


def structures(quick: bool) -> list[Structure]:
    """Return the structures of the table."""
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
    """Run the study; `quick` has fewer structures and wider brackets."""
    plan = QUICK if quick else Plan()
    tilted = structures(quick)
    arches = [semicircle(11, each, 0.7) for each in plan.thicknesses]
    report = Parts(progress, 2 * len(tilted) + 2 + len(arches) + 1)
    # 1. Critical tilts: rest as a solution, and the default solver.
    at_rest, free = [], []
    for structure in tilted:
        report(f"{structure.name}: rest as a solution")
        at_rest.append(can_stand(structure, plan))
        report(f"{structure.name}: default solver")
        free.append(let_go(structure, plan))
    # 2. Longer runs below and above the critical tilt.
    longer = {}
    for kind in ("arch", "wall"):
        each = next(f for f in free if f.structure.name.startswith(kind))
        report(f"{each.structure.name}, near its critical tilt")
        longer[each.structure.name] = [
            (angle, released(each.structure.world(angle), plan.h, plan.long, default_solver()))
            for angle in (each.low - plan.below, each.high + plan.above)
        ]
    # 3. Arches of several thicknesses, and the thinnest ones.
    curve = []
    for structure in arches:
        report(structure.name)
        curve.append(can_stand(structure, plan))
    report("thinnest arches")
    thin = [(n, thinnest_arch(n, 1.0), thinnest_arch(n, 0.5)) for n in plan.stones]
    report.end()
    thinnest = Table(
        "Least thickness of a semicircular arch on level ground, limit analysis",
        ["stones", Column("t / R, mu = 1", ".5f"), Column("t / R, mu = 0.5", ".5f"),
         Column("less than with joints anywhere", ".5f")],
        [[n, smooth, rough, MILANKOVITCH - smooth] for n, smooth, rough in thin],
        "Hinges open only at joints: arches of few stones stand with a smaller thickness, those of many with"
        f" {MILANKOVITCH} (Milankovitch 1907). Stones are wedges with flat inner and outer faces.",
    )  # fmt: skip
    panels = [
        Panel(f"{name}: {angle:.4g}°", "x [m]", "z [m]", side_view(run, [0.0, 0.5 * run.t[-1], run.t[-1]]))
        for name, pair in longer.items()
        for angle, run in pair
    ]
    views = Figure("Below and above the critical tilt", panels)
    return Study(
        NAME,
        [_angles(at_rest, free, plan), _near(longer), thinnest],
        {"speeds": _speeds(at_rest, free), "arches": _arches(curve), "beside": views},
        {
            "rest is a solution": {each.structure.name: each.tried for each in at_rest},
            "let go": {each.structure.name: each.tried for each in free},
        },
    )


def _angles(at_rest: list[Found], free: list[Found], plan: Plan) -> Table:
    """Return the table of critical tilts by runs, limit analysis and closed forms."""
    angle = ".5g"
    return Table.of(
        "Tilt at which a structure falls",
        zip(at_rest, free, strict=True),
        ("structure", lambda rest, _: rest.structure.name),
        ("stands up to [deg]", angle, lambda rest, _: rest.angle),
        ("± [deg]", ".1g", lambda rest, _: 0.5 * (rest.high - rest.low)),
        ("limit analysis [deg]", angle, lambda rest, _: rest.structure.limit),
        ("difference [deg]", ".1e", lambda rest, _: rest.angle - rest.structure.limit),
        ("closed form [deg]", angle, lambda rest, _: rest.structure.closed_form or math.nan),
        ("default solver, stands up to [deg]", angle, lambda _, free: free.angle),
        ("steps missed", lambda rest, free: rest.missed + free.missed),
        note="Stands: rest is a solution of the exact problem, certified by the judge. Limit analysis:"
        " largest tilt for which forces in equilibrium exist (static theorem, linear program, in a plane)."
        f" Default solver: {plan.steps} steps of {plan.h:g} s; a structure falls if it is faster than"
        f" {MOVED:g} of free fall in most of the second half. If joints can slip, Coulomb's law has other"
        " solutions than rest, and a structure that can stand may fall.",
    )


def _near(longer: dict[str, list[tuple[float, Trajectory]]]) -> Table:
    """Return the table of the longer runs below and above the critical tilt."""
    return Table.of(
        "Runs below and above the critical tilt",
        [
            (name, angle, expected, run)
            for name, pair in longer.items()
            for (angle, run), expected in zip(pair, ("stands", "falls"), strict=True)
        ],
        ("structure", lambda name, angle, expected, run: name),
        ("tilt [deg]", ".5g", lambda name, angle, expected, run: angle),
        ("expected", lambda name, angle, expected, run: expected),
        ("until [s]", lambda name, angle, expected, run: run.t[-1]),
        ("largest displacement [m]", ".1e", lambda name, angle, expected, run: drift(run)[-1]),
        ("fastest [m/s]", ".1e", lambda name, angle, expected, run: speed(run)[-1]),
        ("deepest overlap [m]", ".1e", lambda name, angle, expected, run: run.penetration.max()),
        ("largest correction [m]", ".1e", lambda name, angle, expected, run: run.correction.max()),
        ("lifted [J]", ".1e", lambda name, angle, expected, run: run.lifted[-1]),
        ("steps missed", lambda name, angle, expected, run: run.missed),
    )


def _speeds(at_rest: list[Found], free: list[Found]) -> Figure:
    """Return the figure of speeds over the tilt, a panel for each structure."""
    panels = []
    for rest, other in zip(at_rest, free, strict=True):
        (angle, share), (angle_free, share_free) = np.array(rest.tried).T, np.array(other.tried).T
        panels.append(
            Panel(
                rest.structure.name, "tilt [deg]", "speed [of free fall]",
                [
                    Curve("rest first", angle, np.maximum(share, 1e-12), "o"),
                    Curve("default solver", angle_free, np.maximum(share_free, 1e-12), "x"),
                    Curve("limit analysis", np.full(2, rest.structure.limit), np.array([1e-12, 1.0]), "--"),
                ],
                log_y=True, level=MOVED,
            )
        )  # fmt: skip
    return Figure("Speed after a few steps from rest", panels, across=3)


def _arches(curve: list[Found]) -> Figure:
    """Return the figure of the critical tilt over the thickness of arches."""
    fine = np.linspace(0.106, 0.32, 80)
    panels = [
        Panel(
            "Arch of 11 stones, mu = 0.7", "t / R [-]", "critical tilt [deg]",
            [
                Curve("limit analysis", fine, np.array([semicircle(11, float(x), 0.7).limit for x in fine])),
                Curve(
                    "bisection of runs",
                    np.array([each.structure.thickness for each in curve]),
                    np.array([each.angle for each in curve]), "o",
                ),
            ],
        )
    ]  # fmt: skip
    return Figure("Critical tilt of arches", panels, across=1)
