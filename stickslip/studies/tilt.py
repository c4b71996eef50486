"""The tilt at which structures of blocks fall: by bisection of runs, beside limit analysis."""

import math

import numpy as np

from stickslip.exhibits import Cell, Column, Curve, Figure, Panel, Table
from stickslip.scenes.block_views import side_view
from stickslip.scenes.rest import drift, speed
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.studies.study import Parts, Progress, Study
from stickslip.studies.tilt_models import Structure, semicircle, thinnest_arch, tower, wall
from stickslip.studies.tilt_runs import MOVED, QUICK, Found, Plan, can_stand, left_to_itself, let_go, rolled

NAME = "tilt"
SUMMARY = "The tilt at which boxes, towers, walls and arches fall, beside limit analysis."

MILANKOVITCH = 0.1075
"""Least t / R of a semicircular arch with radial joints anywhere (Milankovitch 1907)."""


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
    return Study(
        NAME,
        [_angles(found, free, plan), _beside(longer), _thinnest(thin)],
        {"speeds": _speeds(found, free), "arches": _arches(curve), "beside": _runs(longer)},
        {
            "rest is a solution": {one.structure.name: one.tried for one in found},
            "let go": {one.structure.name: one.tried for one in free},
        },
    )


def _angles(found: list[Found], free: list[Found], plan: Plan) -> Table:
    rows: list[list[Cell]] = []
    for one, other in zip(found, free, strict=True):
        limit, known = one.structure.limit, one.structure.closed_form
        rows.append(
            [
                one.structure.name, one.angle, 0.5 * (one.high - one.low), limit, one.angle - limit,
                math.nan if known is None else known, other.angle, one.missed + other.missed,
            ]
        )  # fmt: skip
    angle = ".5g"
    return Table(
        "Tilt at which a structure falls",
        [
            "structure", Column("stands up to [deg]", angle), Column("± [deg]", ".1g"),
            Column("limit analysis [deg]", angle), Column("difference [deg]", ".1e"),
            Column("closed form [deg]", angle), Column("let go, stands up to [deg]", angle), "steps missed",
        ],
        rows,
        "Stands: rest is a solution of the exact problem, certified by the judge. Limit analysis: largest"
        " tilt at which forces in equilibrium exist (static theorem, linear program, in a plane). Let go:"
        f" the solver is left to itself, {plan.steps} steps of {plan.h:g} s; falling is to be faster than"
        f" {MOVED:g} of free fall in most of the second half. Where joints can slip, Coulomb's law has"
        " solutions beside rest, and what can stand may fall.",
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
        "Runs below and above the tilt found",
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
                    np.array([float(one.structure.name.split("t/R = ")[1].split(",")[0]) for one in curve]),
                    np.array([one.angle for one in curve]), "o",
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
    return Figure("Below and above the critical tilt", panels)
