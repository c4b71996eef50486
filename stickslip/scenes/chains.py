"""Bodies on joints: rods joined end to end, rings that hold each other by contact alone, and a robot on four
legs, a trunk and twelve links on hinges, each with a motor, and balls for feet."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import eigh

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.compounds import Compound
from stickslip.mechanics.forces import Actuator
from stickslip.mechanics.given import rotation
from stickslip.mechanics.shapes import Capsule, Cuboid, Plane, Shape, Sphere
from stickslip.names import alternatives
from stickslip.rotations import turned
from stickslip.scenes import measures
from stickslip.scenes.measures import momentum, none, reactions, weight
from stickslip.scenes.parameters import checked
from stickslip.scenes.scenario import GRAVITY, Fact, Scenario, against, over_time, scene
from stickslip.scenes.views import side_view
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array

KINDS = {"ball": 3, "hinge": 5}
"""Joints of a chain, and the impulses that each has."""
SLENDER = 0.1
"""Radius of a rod over its length [-]."""


@checked
def chain(
    *, bodies: int = 20, kind: str = "ball", length: float = 1.0, swing: float = 0.02, until: float = 0.0,
    h: float = 0.0,
) -> Scenario:  # fmt: skip
    """A chain of rods hangs and swings in its slowest mode.

    bodies: how many rods [-], >= 1.
    kind: of the joints, "ball" or "hinge".
    length: of the whole chain [m], > 0.
    swing: way of its end at the start, over the length [-], in (0, 0.1].
    until: end [s], >= 0; 0 is two periods.
    h: time step [s], >= 0; 0 is 2e-3 s, or half of what the fastest mode lets be where that is less.

    Modes and periods are those of the small motions of so many rods; with many of them the slowest goes to
    ω = 1.2024 √(g / length), half the first root of Bessel's J0 (Bernoulli 1732). The top joint carries the
    weight and what the chain needs to move.
    """
    n = bodies
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; {alternatives(kind, KINDS, 'it must be one of')}")
    rod = length / n
    shape = Capsule(SLENDER * rod, (1.0 - 2.0 * SLENDER) * rod)
    omega, fastest, angles = _modes(n, rod, shape)
    mass = 1.0 / n
    angles *= swing * n / angles.sum()
    period = 2.0 * math.pi / omega
    until = until or 2.0 * period
    h = h or min(2e-3, 1.0 / fastest)
    builder = WorldBuilder()
    end = np.zeros(3)
    for k, angle in enumerate(angles):
        along = np.array([math.sin(angle), 0.0, -math.cos(angle)])
        turn = rotation((0.0, -1.0, 0.0), angle)
        builder.body(f"rod {k + 1}", shape, mass=mass, position=end + 0.5 * rod * along, quaternion=turn)
        builder.joint(
            f"joint {k + 1}", kind, f"rod {k + 1}", f"rod {k}" if k else None, point=end,
            axis=(0.0, 1.0, 0.0) if kind == "hinge" else None,
        )  # fmt: skip
        end = end + rod * along
    builder.apart_groups("default", "default")
    rows, weight, last = KINDS[kind], n * mass * GRAVITY, f"rod {n}"

    def tip(trajectory: Trajectory) -> Array:
        body = trajectory.body(last)
        return np.asarray(body.centre + turned(body.quaternion, np.array([0.0, 0.0, -0.5 * rod])))

    def pull(trajectory: Trajectory) -> Array:
        """Of the top joint on the chain, in every step [N], shape (n - 1, 3)."""
        impulses = trajectory.joint_r.reshape(-1, rows * n)[:, :3]
        return np.asarray(impulses / trajectory.h[1:, None])

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        crossings, _ = measures.turning_points(trajectory.t, trajectory.t, tip(trajectory)[:, 0])
        expected = period * (0.25 + 0.5 * np.arange(crossings.size))
        late = crossings - expected
        moving = measures.momentum(trajectory)
        carried = (trajectory.h[1:, None] * pull(trajectory)).sum(axis=0) - (moving[-1] - moving[0])
        drop = weight * length * swing**2  # the energy of the swing
        order = (h * omega) ** 2 + swing**2
        means = [
            Fact("mean force of the top joint [N], the weight", float(carried[2] / trajectory.t[-1]), weight,
                 1e-6 * weight),
            Fact("its mean pull to the side [N], none", float(np.hypot(*carried[:2]) / trajectory.t[-1]), 0.0,
                 1e-6 * weight),
        ]  # fmt: skip
        yield Fact("half swings [-], of the slowest mode", crossings.size,
                   math.floor(trajectory.t[-1] / (0.5 * period) + 0.5), 0)  # fmt: skip
        yield none("passages through the middle less those of the small motion [s], of second order in step"
                   " and swing", late, order * trajectory.t[-1])  # fmt: skip
        yield from means if len(trajectory) == trajectory.steps + 1 else ()
        yield none("largest opening of a joint over the length of a rod [-]", trajectory.opening / rod, 1e-6)
        yield none("energy that joints take, over that of the swing [-], of second order in the step",
                   (trajectory.energy - trajectory.energy[0]) / drop, (h * omega) ** 2)  # fmt: skip
        yield measures.balance_fact(trajectory, weight * length)

    def figure(trajectory: Trajectory) -> Figure:
        t, force = trajectory.t, pull(trajectory)
        views = [int(np.argmin(np.abs(t - part * period))) for part in (0.0, 0.125, 0.25, 0.375, 0.5)]
        return Figure(f"A chain of {n} rods on {kind} joints, period {period:.4g} s", [
            Panel("From the side", "x [m]", "z [m]",
                  [Curve(f"{t[k]:.2g} s", *_line(trajectory, k, rod)) for k in views]),
            over_time("Its end", "x [m]", t,
                      {"run": tip(trajectory)[:, 0],
                       "small motion": (swing * length * np.cos(omega * t), "--")}),
            over_time("Force of the top joint over the weight", "[-]", t[1:],
                      {"up": force[:, 2] / weight, "to the side": force[:, 0] / weight}, level=1.0),
            over_time("Joints", "largest opening [m]", t, {"run": trajectory.opening}),
        ])  # fmt: skip

    return scene("chain", "Rods joined end to end swing with the period of their slowest mode.",
                 builder.build(), until, h, facts, figure)  # fmt: skip


def _modes(n: int, rod: float, shape: Shape) -> tuple[float, float, Array]:
    """Slowest and fastest frequency [rad/s] of n hanging rods of one mass, and angles (n,) of the slowest.

    x_k = Σ_{j<k} l φ_j + l φ_k / 2. Per mass of a rod: kinetic ½ Σ ẋ_k² + J φ̇_k², potential
    ½ Σ g l (n - j - ½) φ_j² with j from 0. Rows of joints are at the middle of the step, which is stable up
    to h = 2 / ω.
    """
    moment = float(shape.inertia[0, 0]) / shape.volume
    reach = rod * (np.tri(n, k=-1) + 0.5 * np.eye(n))
    stiffness = np.diag(GRAVITY * rod * (n - np.arange(n) - 0.5))
    squares, modes = eigh(stiffness, reach.T @ reach + moment * np.eye(n))
    return math.sqrt(squares[0]), math.sqrt(squares[-1]), np.asarray(modes[:, 0])


def _line(trajectory: Trajectory, k: int, rod: float) -> tuple[Array, Array]:
    """The rods from end to end at record k, in the plane of x and z [m], shape (n + 1,) each."""
    q = trajectory.q[k].reshape(-1, 7)
    half = turned(q[:, 3:], np.array([0.0, 0.0, 0.5 * rod]))
    ends = np.vstack([q[:1, :3] + half[:1], q[:, :3] - half])
    return ends[:, 0], ends[:, 2]


@checked
def ring_chain(
    *, bodies: int = 6, mu: float = 0.3, mu_roll: float = 0.0, mu_spin: float = 0.0, size: float = 0.04,
    push: float = 0.0, until: float = 1.0, h: float = 1e-3,
) -> Scenario:  # fmt: skip
    """Rings hang from each other by contact alone.

    bodies: how many rings below the fixed one [-], >= 1.
    mu: friction of rings on each other [-], >= 0.
    size: inner height of a ring [m], > 0.
    push: speed of the lowest ring to the side, along x, at the start; it grows with the depth [m/s].

    A ring is four round bars; every other is turned by a right angle, and its upper bar lies across the lower
    bar of the one above. Ring k of n carries those below it, and nothing moves.
    """
    n = bodies
    thick = 0.1 * size
    across, along = 0.5 * size, size + 2.0 * thick
    lying = rotation((0.0, 1.0, 0.0), 0.5 * math.pi)
    ring = Compound(
        (Capsule(thick, along), (-0.5 * across, 0.0, 0.0)),
        (Capsule(thick, along), (0.5 * across, 0.0, 0.0)),
        (Capsule(thick, across), (0.0, 0.0, -0.5 * along), lying),
        (Capsule(thick, across), (0.0, 0.0, 0.5 * along), lying),
    )
    builder = WorldBuilder()
    builder.material("default", mu=mu, mu_roll=mu_roll, mu_spin=mu_spin)
    pitch = along - 2.0 * thick
    for k in range(n + 1):
        turn = rotation((0.0, 0.0, 1.0), 0.5 * math.pi * (k % 2))
        builder.body(
            f"ring {k}", ring, position=(0.0, 0.0, -k * pitch), quaternion=turn, fixed=k == 0, density=7800.0,
            velocity=(push * k / n, 0.0, 0.0),
        )  # fmt: skip
    weight = 7800.0 * ring.volume * GRAVITY

    below = [[f"ring {k}"] for k in range(1, n + 1)]

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        if push:
            yield from measures.shaken_facts(trajectory)
            return
        x = trajectory.q.reshape(len(trajectory), n + 1, 7)[:, :, :3]
        pulls = measures.carried_forces(trajectory, below)[-1]
        yield none("farthest that a ring went, over the size [-], not at all", (x - x[0]) / size, 1e-5)
        yield none("fastest ring at the end [m/s], what the solver's tolerance leaves",
                   measures.speed(trajectory)[-1], measures.stillness(trajectory))  # fmt: skip
        yield Fact("force on the fixed ring [N], the weight of all", pulls[0], n * weight,
                   1e-6 * n * weight)  # fmt: skip
        yield none("forces between rings less the weight of those below [of all], none",
                   (pulls - weight * np.arange(n, 0.0, -1.0)) / (n * weight), 1e-6)  # fmt: skip
        yield measures.overlap_fact(trajectory, size)
        yield measures.balance_fact(trajectory, n * weight * size)

    def figure(trajectory: Trajectory) -> Figure:
        t = trajectory.t
        last = trajectory.body(f"ring {n}").centre
        gaps = np.arange(1.0, n + 1.0)
        return Figure(f"{n} rings hang from each other, mu = {mu:g}", [
            Panel("From the side", "x [m]", "z [m]", side_view(trajectory, [float(t[-1])])),
            over_time("Last ring", "way from its place [m]", t,
                      {axis: last[:, k] - last[0, k] for k, axis in enumerate("xyz")}),
            against("What each ring hangs by", "ring [-]", "force from above over its weight [-]", gaps,
                    {"at the end": (measures.carried_forces(trajectory, below)[-1] / weight, "o"),
                     "those below and itself": (n + 1.0 - gaps, "--")}),
            over_time("Certificate", "natural_scaled [-]", t[1:],
                      {"residual": trajectory.natural_scaled[1:]}),
        ])  # fmt: skip

    return scene("ring-chain", "Rings hang from each other by contact alone.", builder.build(), until, h,
                 facts, figure)  # fmt: skip


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

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
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

    def figure(trajectory: Trajectory) -> Figure:
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
                 facts, figure, ("variational-bodies", "moreau-jean-semi-explicit"))  # fmt: skip


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


def _foot(trajectory: Trajectory, leg: str) -> Array:
    """Centre of a foot over time [m], shape (n, 3)."""
    body = trajectory.body(f"{leg} shin")
    return np.asarray(body.position - turned(body.quaternion, np.array([0.0, 0.0, 0.5 * LINK])))
