"""Chains and a robot: rods on joints, rings in contact, and a quadruped of a trunk and twelve links on hinges
with motors, whose feet are spheres."""

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
from stickslip.scenes.measures import momentum, reactions, weight, zero
from stickslip.scenes.parameters import checked
from stickslip.scenes.scenario import GRAVITY, Fact, Scenario, against, over_time, scene
from stickslip.scenes.views import side_view
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array

KINDS = {"ball": 3, "hinge": 5}
"""Kinds of joints of a chain, and the number of impulses of each."""
SLENDER = 0.1
"""Radius of a rod over its length [-]."""


@checked
def chain(
    *, bodies: int = 20, kind: str = "ball", length: float = 1.0, swing: float = 0.02, until: float = 0.0,
    h: float = 0.0,
) -> Scenario:  # fmt: skip
    """A hanging chain of rods swings in its slowest mode.

    bodies: number of rods [-], >= 1.
    kind: of the joints, "ball" or "hinge".
    length: of the whole chain [m], > 0.
    swing: initial displacement of the free end, over the length [-], in (0, 0.1].
    until: end [s], >= 0; 0 means two periods.
    h: time step [s], >= 0; 0 means 2e-3 s, or half the stability limit of the fastest mode if that is less.

    Modes and periods are those of small motions of the rods; for many rods the slowest frequency tends to
    ω = 1.2024 √(g / length), half the first root of Bessel's J0 (Bernoulli 1732). The force of the top joint
    is the weight plus the rate of the momentum.
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
        """Return the force of the top joint on the chain in every step [N], shape (n - 1, 3)."""
        impulses = trajectory.joint_r.reshape(-1, rows * n)[:, :3]
        return np.asarray(impulses / trajectory.h[1:, None])

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        crossings, _ = measures.turning_points(trajectory.t, trajectory.t, tip(trajectory)[:, 0])
        expected = period * (0.25 + 0.5 * np.arange(crossings.size))
        late = crossings - expected
        moving = measures.momentum(trajectory)
        impulse = (trajectory.h[1:, None] * pull(trajectory)).sum(axis=0) - (moving[-1] - moving[0])
        drop = weight * length * swing**2  # the energy of the swing
        order = (h * omega) ** 2 + swing**2
        means = [
            Fact("mean force of the top joint [N], the weight", float(impulse[2] / trajectory.t[-1]), weight,
                 1e-6 * weight),
            Fact("its mean horizontal force [N], zero", float(np.hypot(*impulse[:2]) / trajectory.t[-1]), 0.0,
                 1e-6 * weight),
        ]  # fmt: skip
        yield Fact("half periods [-], of the slowest mode", crossings.size,
                   math.floor(trajectory.t[-1] / (0.5 * period) + 0.5), 0)  # fmt: skip
        yield zero("error of the times at x = 0 against small motions [s], of second order in step and swing",
                   late, order * trajectory.t[-1])  # fmt: skip
        yield from means if len(trajectory) == trajectory.steps + 1 else ()
        yield zero("largest opening of a joint over the length of a rod [-]", trajectory.opening / rod, 1e-6)
        yield zero("energy that joints dissipate, over that of the swing [-], of second order in the step",
                   (trajectory.energy - trajectory.energy[0]) / drop, (h * omega) ** 2)  # fmt: skip
        yield measures.balance_fact(trajectory, weight * length)

    def figure(trajectory: Trajectory) -> Figure:
        t, force = trajectory.t, pull(trajectory)
        views = [int(np.argmin(np.abs(t - part * period))) for part in (0.0, 0.125, 0.25, 0.375, 0.5)]
        return Figure(f"A chain of {n} rods on {kind} joints, period {period:.4g} s", [
            Panel("From the side", "x [m]", "z [m]",
                  [Curve(f"{t[k]:.2g} s", *_line(trajectory, k, rod)) for k in views]),
            over_time("Free end", "x [m]", t,
                      {"run": tip(trajectory)[:, 0],
                       "small motion": (swing * length * np.cos(omega * t), "--")}),
            over_time("Force of the top joint over the weight", "[-]", t[1:],
                      {"vertical": force[:, 2] / weight, "horizontal": force[:, 0] / weight}, level=1.0),
            over_time("Joints", "largest opening [m]", t, {"run": trajectory.opening}),
        ])  # fmt: skip

    return scene("chain", "Rods joined end to end swing with the period of their slowest mode.",
                 builder.build(), until, h, facts, figure)  # fmt: skip


def _modes(n: int, rod: float, shape: Shape) -> tuple[float, float, Array]:
    """Return the slowest and fastest frequency [rad/s] of n hanging rods of equal mass, and the angles (n,)
    of the slowest mode.

    x_k = Σ_{j<k} l φ_j + l φ_k / 2. Per mass of a rod the kinetic energy is ½ Σ ẋ_k² + J φ̇_k², the potential
    energy ½ Σ g l (n - j - ½) φ_j² with j from 0. Joints are linearised at the middle of the step, which is
    stable up to h = 2 / ω.
    """
    moment = float(shape.inertia[0, 0]) / shape.volume
    reach = rod * (np.tri(n, k=-1) + 0.5 * np.eye(n))
    stiffness = np.diag(GRAVITY * rod * (n - np.arange(n) - 0.5))
    squares, modes = eigh(stiffness, reach.T @ reach + moment * np.eye(n))
    return math.sqrt(squares[0]), math.sqrt(squares[-1]), np.asarray(modes[:, 0])


def _line(trajectory: Trajectory, k: int, rod: float) -> tuple[Array, Array]:
    """Return x and z of the ends of the rods at record k [m], shape (n + 1,) each."""
    q = trajectory.q[k].reshape(-1, 7)
    half = turned(q[:, 3:], np.array([0.0, 0.0, 0.5 * rod]))
    ends = np.vstack([q[:1, :3] + half[:1], q[:, :3] - half])
    return ends[:, 0], ends[:, 2]


@checked
def ring_chain(
    *, bodies: int = 6, mu: float = 0.3, mu_roll: float = 0.0, mu_spin: float = 0.0, size: float = 0.04,
    push: float = 0.0, until: float = 1.0, h: float = 1e-3,
) -> Scenario:  # fmt: skip
    """A hanging chain of rings that are connected by contact alone.

    bodies: number of rings below the fixed one [-], >= 1.
    mu: friction between rings [-], >= 0.
    size: inner height of a ring [m], > 0.
    push: initial velocity along x of the lowest ring; it decreases linearly to 0 at the fixed ring [m/s].

    A ring consists of four round bars; every second ring is rotated by a right angle, and its upper bar lies
    across the lower bar of the ring above. Each ring carries those below, and nothing moves.
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
        yield zero("largest displacement of a ring, over the size [-], zero", (x - x[0]) / size, 1e-5)
        yield zero("fastest ring at the end [m/s], within the solver's tolerance",
                   measures.speed(trajectory)[-1], measures.stillness(trajectory))  # fmt: skip
        yield Fact("force on the fixed ring [N], the weight of all rings", pulls[0], n * weight,
                   1e-6 * n * weight)  # fmt: skip
        yield zero("forces between rings minus the weight below [of all], zero",
                   (pulls - weight * np.arange(n, 0.0, -1.0)) / (n * weight), 1e-6)  # fmt: skip
        yield measures.overlap_fact(trajectory, size)
        yield measures.balance_fact(trajectory, n * weight * size)

    def figure(trajectory: Trajectory) -> Figure:
        t = trajectory.t
        last = trajectory.body(f"ring {n}").centre
        numbers = np.arange(1.0, n + 1.0)
        return Figure(f"{n} rings hang from each other, mu = {mu:g}", [
            Panel("From the side", "x [m]", "z [m]", side_view(trajectory, [float(t[-1])])),
            over_time("Last ring", "displacement [m]", t,
                      {axis: last[:, k] - last[0, k] for k, axis in enumerate("xyz")}),
            against("Forces between rings", "ring [-]", "force from above over its weight [-]", numbers,
                    {"at the end": (measures.carried_forces(trajectory, below)[-1] / weight, "o"),
                     "rings from it down": (n + 1.0 - numbers, "--")}),
            over_time("Certificate", "natural_scaled [-]", t[1:],
                      {"residual": trajectory.natural_scaled[1:]}),
        ])  # fmt: skip

    return scene("ring-chain", "Rings hang from each other by contact alone.", builder.build(), until, h,
                 facts, figure)  # fmt: skip


GAITS = ("stand", "trot", "hold")
"""Control of the motors: hold the initial angles, move legs in diagonal pairs, or apply constant moments that
balance the weight."""
LEGS = {"front left": (1, 1), "front right": (1, -1), "hind left": (-1, 1), "hind right": (-1, -1)}
"""Position of each leg: signs of x (ahead) and y (left)."""
TRUNK = (0.4, 0.2, 0.08)
"""Size of the trunk along x, y and z [m]."""
LINK, BEND, FOOT, OUT = 0.2, 0.6, 0.02, 0.05
"""Length of thighs and shins [m], their initial angle from the vertical [rad], radius of the feet [m], and
distance of thighs from the trunk along y [m]."""
MASS = {"trunk": 6.0, "hip": 0.5, "thigh": 0.8, "shin": 0.25}
"""Masses of the bodies [kg]."""
STIFFNESS, DAMPING = 60.0, 0.6
"""Gains of motors that follow angles [N m/rad, N m s]; heuristic."""
STRIDE, LIFT, PERIOD = 0.15, 0.35, 0.4
"""Amplitude of the thighs and flexion of lifted legs in a trot [rad], and its period [s]."""


@checked
def quadruped(
    *, gait: str = "stand", mu: float = 0.8, e: float = 0.0, until: float = 0.8, h: float = 2e-3
) -> Scenario:  # fmt: skip
    """A quadruped of 13 bodies and 12 motors stands, trots, or is held by constant moments.

    gait: "stand", "trot" or "hold".
    mu: friction of the feet on the ground [-], >= 0.
    e: restitution of the feet on the ground [-], in [0, 1].

    A trunk with four legs of hip, thigh and shin; the axes of the hips are along the trunk, those of thighs
    and knees across it. Motors follow their angles by proportional and derivative control; with "hold" their
    moments are constant, and runs can be differentiated with respect to them. Over any time the impulse of
    the ground is weight times time plus the change of the momentum.
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
        # Gaps and joints hold at the end of a step, or at its middle with a position correction.
        loose, deep = (1e-6, 1e-8) if trajectory.scheme == "variational-bodies" else (2e-3, 1e-4)
        yield Fact("lowest height of the trunk over the initial one [-], it does not fall",
                   min(float(trunk[:, 2].min()) / height, lowest), lowest, 0.0)  # fmt: skip
        yield Fact("largest opening of a joint over the length of a link [-]",
                   float(trajectory.opening.max()) / LINK, 0.0, loose)  # fmt: skip
        yield Fact("deepest overlap with the ground [m]", trajectory.penetration.max(), 0.0, deep)
        if len(trajectory) == trajectory.steps + 1:  # impulses of every step add up
            claim = "impulse of the ground minus weight and momentum [N s], at most of one step"
            yield zero(claim, missing, load * h)
        if gait != "trot":
            claim = "displacement of the trunk along y [m], zero by symmetry"
            yield zero(claim, trunk[:, 1], 1e-6)

    def figure(trajectory: Trajectory) -> Figure:
        t, trunk = trajectory.t, trajectory.body("trunk").centre
        feet = {leg: _foot(trajectory, leg) for leg in LEGS}
        forces = {leg: trajectory.forces_on(f"{leg} shin")[1:, 2] / weight(trajectory) for leg in LEGS}
        return Figure(f"A quadruped: {gait}", [
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
    """Add hip, thigh and shin of a leg with their hinges and motors."""
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
    for joint, first, second, point, axis in joints:
        builder.joint(f"{leg} {joint}", "hinge", first, second, point=point, axis=axis)
        effort = _effort(joint, ahead, left, gait)
        builder.force(Actuator(f"{leg} {joint} motor", joint=f"{leg} {joint}", effort=effort))


def _effort(joint: str, ahead: int, left: int, gait: str) -> Any:
    """Return the moment of a motor [N m]: a constant, or a function of time, angle and rate."""
    load = 0.25 * GRAVITY * sum(MASS[part] * (1 if part == "trunk" else 4) for part in MASS)
    lean = LINK * math.sin(BEND)
    below = GRAVITY * (0.5 * MASS["thigh"] + 0.5 * MASS["shin"])
    # Moments that balance the weight, with the foot under the hinge of the thigh.
    rest = {
        "hip": -left * OUT * (load - GRAVITY * (0.5 * MASS["hip"] + MASS["thigh"] + MASS["shin"])),
        "thigh": lean * below,
        "knee": lean * (load - 0.5 * GRAVITY * MASS["shin"]),
    }[joint]
    if gait == "hold":
        return rest
    phase = 0.0 if ahead == left else math.pi
    goal = _goal(joint, phase) if gait == "trot" else None

    def effort(t: float, position: float, velocity: float) -> float:
        target = 0.0 if goal is None else goal(t)
        return rest + STIFFNESS * (target - position) - DAMPING * velocity

    return effort


def _goal(joint: str, phase: float) -> Callable[[float], float]:
    """Return the angle that a motor follows in a trot, a function of time [rad]; diagonals lift in turn."""

    def goal(t: float) -> float:
        turn = 2.0 * math.pi * t / PERIOD + phase
        lifted = max(math.sin(turn), 0.0) ** 2
        if joint == "thigh":
            return STRIDE * math.cos(turn) * min(t / PERIOD, 1.0) + LIFT * lifted
        return -2.0 * LIFT * lifted if joint == "knee" else 0.0

    return goal


def _foot(trajectory: Trajectory, leg: str) -> Array:
    """Return the centre of a foot over time [m], shape (n, 3)."""
    body = trajectory.body(f"{leg} shin")
    return np.asarray(body.position - turned(body.quaternion, np.array([0.0, 0.0, 0.5 * LINK])))
