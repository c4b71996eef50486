"""A robot on four legs: a trunk and twelve links on hinges, each with a motor, and balls for feet."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.compounds import Compound
from stickslip.mechanics.forces import Actuator
from stickslip.mechanics.shapes import Capsule, Cuboid, Plane, Sphere
from stickslip.mechanics.turns import rotation
from stickslip.names import alternatives
from stickslip.scenes.measures import GRAVITY, momentum, none, reactions, weight
from stickslip.scenes.parameters import checked
from stickslip.scenes.scenario import Fact, Scenario, over_time, scene
from stickslip.simulation.world_trajectory import WorldTrajectory, rotated
from stickslip.state import Array

GAITS = ("stand", "trot", "hold")
"""What the motors do: hold the angles of the start, move legs in diagonal pairs, or give constant moments
that balance the weight."""
LEGS = {"front left": (1, 1), "front right": (1, -1), "hind left": (-1, 1), "hind right": (-1, -1)}
"""Forwards and to the left."""
TRUNK = (0.4, 0.2, 0.08)
"""[m]."""
LINK, BEND, FOOT, OUT = 0.2, 0.6, 0.02, 0.05
"""Length of thighs and shins [m], how far they lean [rad], radius of the feet [m], and how far the hips
stand out [m]."""
MASS = {"trunk": 6.0, "hip": 0.5, "thigh": 0.8, "shin": 0.25}
"""[kg]."""
STIFFNESS, DAMPING = 60.0, 0.6
"""Of the motors that follow angles [N m/rad, N m s]."""
STRIDE, LIFT, PERIOD = 0.15, 0.35, 0.4
"""Of a trot: swing of the thighs and bend of the knees [rad], and its time [s]."""


@checked
def quadruped(
    *, gait: str = "stand", mu: float = 0.8, e: float = 0.0, until: float = 0.8, h: float = 2e-3
) -> Scenario:  # fmt: skip
    """A robot of 13 bodies and 12 motors stands, trots, or is held by constant moments.

    gait: "stand", "trot" or "hold".
    mu: friction of the feet on the ground [-], >= 0.
    e: restitution of the feet on the ground [-], in [0, 1].

    A trunk on four legs of hip, thigh and shin; hips turn about the length of the trunk, thighs and knees
    across it. Motors follow their angles like springs with dampers; with "hold" their moments are constant
    and are inputs one may differentiate by. Over any time the ground gives the weight times it, and what the
    momentum changes by.
    """
    if gait not in GAITS:
        raise ValueError(f"gait is {gait!r}; {alternatives(gait, GAITS, 'it must be one of')}")
    builder = WorldBuilder()
    builder.material("default", mu=mu, e=e)
    builder.body("ground", Plane(), fixed=True, group="ground")
    height = FOOT + 2.0 * LINK * math.cos(BEND)
    builder.body("trunk", Cuboid(TRUNK), mass=MASS["trunk"], position=(0.0, 0.0, height), group="robot")
    for leg, (ahead, left) in LEGS.items():
        _leg(builder, leg, ahead, left, height, gait)
    builder.apart_groups("robot", "robot")

    def facts(trajectory: WorldTrajectory) -> Iterator[Fact]:
        load, moving = weight(trajectory), momentum(trajectory)
        push = (trajectory.h[1:, None] * reactions(trajectory)[1:]).sum(axis=0)
        missing = push - (moving[-1] - moving[0]) - [0.0, 0.0, load * trajectory.t[-1]]
        trunk = trajectory.body("trunk").centre
        lowest = 0.8 if gait == "trot" else 0.95
        # gaps and joints of the end of a step, or of its middle and corrected
        loose, deep = (1e-6, 1e-8) if trajectory.scheme == "variational-bodies" else (2e-3, 1e-4)
        yield Fact("lowest place of the trunk over that of the start [-], it does not fall",
                   min(float(trunk[:, 2].min()) / height, lowest), lowest, 0.0)  # fmt: skip
        yield Fact("largest opening of a joint over the length of a link [-]",
                   float(trajectory.opening.max()) / LINK, 0.0, loose)  # fmt: skip
        yield Fact("deepest overlap with the ground [m]", trajectory.penetration.max(), 0.0, deep)
        if len(trajectory) == trajectory.steps + 1:  # impulses of every step add up
            claim = "impulse of the ground less weight and momentum [N s], of at most one step"
            yield none(claim, missing, load * h)
        if gait != "trot":
            claim = "way of the trunk to the side [m], by symmetry none"
            yield none(claim, trunk[:, 1], 1e-6)

    def figure(trajectory: WorldTrajectory) -> Figure:
        t, trunk = trajectory.t, trajectory.body("trunk").centre
        feet = {leg: _foot(trajectory, leg) for leg in LEGS}
        forces = {leg: trajectory.forces_on(f"{leg} shin")[1:, 2] / weight(trajectory) for leg in LEGS}
        return Figure(f"A robot on four legs: {gait}", [
            over_time("Trunk", "height [m]", t, {"centre": trunk[:, 2]}),
            over_time("Feet", "height above the ground [m]", t,
                      {leg: foot[:, 2] - FOOT for leg, foot in feet.items()}),
            over_time("Forces of the ground", "over the weight [-]", t[1:], forces),
            Panel("From the side", "x [m]", "z [m]",
                  [Curve("trunk", trunk[:, 0], trunk[:, 2]),
                   *(Curve(leg, foot[:, 0], foot[:, 2]) for leg, foot in feet.items())]),
        ])  # fmt: skip

    return scene("quadruped", "A robot of 13 bodies stands or trots on four feet.", builder.build(), until, h,
                 facts, figure, ("variational-bodies", "moreau-jean-bodies"))  # fmt: skip


def _leg(builder: WorldBuilder, leg: str, ahead: int, left: int, height: float, gait: str) -> None:
    """Hip, thigh and shin of a leg, their hinges and motors."""
    hip = np.array([0.5 * ahead * TRUNK[0], 0.5 * left * TRUNK[1], height])
    root = hip + np.array([0.0, left * OUT, 0.0])
    lean, rise = LINK * math.sin(BEND), LINK * math.cos(BEND)
    knee = root + np.array([-lean, 0.0, -rise])
    foot = knee + np.array([lean, 0.0, -rise])
    thin = Capsule(0.015, LINK - 0.08)
    shin = Compound((thin, (0.0, 0.0, 0.02)), (Sphere(FOOT), (0.0, 0.0, -0.5 * LINK)))
    across, along = (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)
    builder.body(f"{leg} hip", Sphere(0.04), mass=MASS["hip"], position=0.5 * (hip + root), group="robot")
    builder.body(
        f"{leg} thigh", Capsule(0.02, LINK - 0.06), mass=MASS["thigh"], position=0.5 * (root + knee),
        quaternion=rotation(across, BEND), group="robot",
    )  # fmt: skip
    builder.body(
        f"{leg} shin", shin, mass=MASS["shin"], position=0.5 * (knee + foot),
        quaternion=rotation(across, -BEND), group="robot",
    )  # fmt: skip
    joints = (
        ("hip", f"{leg} hip", "trunk", hip, along),
        ("thigh", f"{leg} thigh", f"{leg} hip", root, across),
        ("knee", f"{leg} shin", f"{leg} thigh", knee, across),
    )
    for what, first, second, point, axis in joints:
        builder.joint(f"{leg} {what}", "hinge", first, second, point=point, axis=axis)
        effort = _effort(what, ahead, left, gait)
        builder.force(Actuator(f"{leg} {what} motor", joint=f"{leg} {what}", effort=effort))


def _effort(what: str, ahead: int, left: int, gait: str) -> Any:
    """The moment of a motor [N m]: constant, or a function of time, angle and rate."""
    carried = 0.25 * GRAVITY * sum(MASS[part] * (1 if part == "trunk" else 4) for part in MASS)
    lean = LINK * math.sin(BEND)
    below = GRAVITY * (0.5 * MASS["thigh"] + 0.5 * MASS["shin"])
    # what balances the weight, with the foot under the thigh's hinge
    rest = {
        "hip": -left * OUT * (carried - GRAVITY * (0.5 * MASS["hip"] + MASS["thigh"] + MASS["shin"])),
        "thigh": lean * below,
        "knee": lean * (carried - 0.5 * GRAVITY * MASS["shin"]),
    }[what]
    if gait == "hold":
        return rest
    phase = 0.0 if ahead == left else math.pi
    goal = _goal(what, phase) if gait == "trot" else None

    def effort(t: float, position: float, velocity: float) -> float:
        wanted = 0.0 if goal is None else goal(t)
        return rest + STIFFNESS * (wanted - position) - DAMPING * velocity

    return effort


def _goal(what: str, phase: float) -> Callable[[float], float]:
    """The angle that a motor follows in a trot [rad]: legs lift one diagonal after the other."""

    def goal(t: float) -> float:
        turn = 2.0 * math.pi * t / PERIOD + phase
        lifted = max(math.sin(turn), 0.0) ** 2
        if what == "thigh":
            return STRIDE * math.cos(turn) * min(t / PERIOD, 1.0) + LIFT * lifted
        return -2.0 * LIFT * lifted if what == "knee" else 0.0

    return goal


def _foot(trajectory: WorldTrajectory, leg: str) -> Array:
    """Centre of a foot over time [m], shape (n, 3)."""
    body = trajectory.body(f"{leg} shin")
    return np.asarray(body.position - rotated(body.quaternion, np.array([0.0, 0.0, 0.5 * LINK])))
