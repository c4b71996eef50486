"""Small worlds with differentiable steps: shapes on planes, pairs of spheres, every joint, every force."""

import numpy as np

import stickslip as ss
from stickslip.mechanics.parameters import Parameters
from stickslip.rotations import matrices
from stickslip.solvers import registry
from stickslip.state import State

SOLVER = registry.make("auto", tolerance=1e-13)
NOTHING = {"joint_id": np.zeros(0), "joint_size": np.zeros(0), "joint_r": np.zeros(0), "reserve": np.zeros(1)}
"""Memory of a first step, also for overlapping bodies."""


def turned(p, rotation):
    """Return quaternion p rotated by the small rotation vector `rotation` in the frame of the body."""
    w = np.concatenate([[1.0], 0.5 * np.asarray(rotation)])
    a, b = p, w / np.linalg.norm(w)
    out = np.array(
        [
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        ]
    )
    return out / np.linalg.norm(out)


def displaced(q, change):
    """Return q of bodies moved by displacements, 6 numbers for each body."""
    out = np.array(q, float).reshape(-1, 7)
    for body, d in zip(out, np.reshape(change, (-1, 6)), strict=True):
        body[:3] += d[:3]
        body[3:] = turned(body[3:], d[3:])
    return out.reshape(-1)


def displacement(q, other):
    """Return the displacements from q to `other`, which is close."""
    out = []
    for a, b in zip(np.reshape(q, (-1, 7)), np.reshape(other, (-1, 7)), strict=True):
        w = a[3] * b[4:] - b[3] * a[4:] - np.cross(a[4:], b[4:])
        scalar = a[3:] @ b[3:]
        out.append(np.concatenate([b[:3] - a[:3], 2.0 * w / scalar]))
    return np.concatenate(out)


def moved_inputs(world, state, h, name, change):
    """Return world, state and h with the input `name` changed by `change`."""
    if name == "q":
        return world, State(state.t, displaced(state.q, change), state.v), h
    if name == "v":
        return world, State(state.t, state.q, state.v + change), h
    if name == "h":
        return world, state, h + float(np.ravel(change)[0])
    parameters = Parameters.of(world)
    value = getattr(parameters, name)
    return parameters.with_(**{name: value + np.reshape(change, value.shape)}).applied(world), state, h


def random_turn(rng, most=3.0):
    axis = rng.normal(size=3)
    return ss.rotation(axis, rng.uniform(0, most))


STEPS = {
    "q": 1e-6, "v": 1e-6, "h": 1e-8, "gravity": 1e-3, "mu": 1e-6, "mu_roll": 1e-7, "mu_spin": 1e-7, "e": 1e-6,
    "size": 1e-7, "place": 1e-7, "effort": 1e-3, "wrench": 1e-3,
}  # fmt: skip
"""Lengths of central differences, about the cube root of the rounding of the inputs."""


def random_way(world, name, shape, rng):
    """Return a random change of an input for central differences, such that the world remains valid."""
    parameters = Parameters.of(world)
    dynamic = (world.mass > 0.0).astype(float)
    change = rng.normal(size=shape)
    if name in ("mass", "inertia"):
        return 1e-5 * change * np.abs(getattr(parameters, name))
    if name == "wrench":
        change *= dynamic[:, None]
    if name in ("mu_roll", "mu_spin", "e"):
        change *= getattr(parameters, name) > 0.0  # absent parts of the law have no derivative
    return STEPS[name] * change


def differences(step, world, state, h, name, change):
    """Return half the differences of q, v, r between the changes `change` and `-change` of an input.

    step: function of world, state and h that returns a Step.
    """
    after, before = (step(*moved_inputs(world, state, h, name, side * change)) for side in (1.0, -1.0))
    middle = step(world, state, h).state.q
    assert np.array_equal(after.contacts.id, before.contacts.id)
    return {
        "q": 0.5 * (displacement(middle, after.state.q) - displacement(middle, before.state.q)),
        "v": 0.5 * (after.state.v - before.state.v),
        "r": 0.5 * (after.r - before.r),
    }


def disagreement(computed, expected, size=1.0):
    """Return the largest relative difference by name; size: scale of the allowed rounding errors."""
    errors = {}
    for name, value in expected.items():
        largest = max(np.abs(value).max(initial=0.0), np.abs(computed[name]).max(initial=0.0))
        slack = 3e-14 * size
        errors[name] = max(np.abs(computed[name] - value).max(initial=0.0) - slack, 0.0) / max(
            largest, 1e-300
        )
    return errors


def tumbling(seed, mu_spin=0.003):
    """Return a box, balls, a compound and a capsule that strike a tilted floor, and balls that collide."""
    rng = np.random.default_rng(seed)
    b = ss.WorldBuilder()
    b.material("hard", mu=0.3, e=0.5)
    b.material("soft", mu=0.6, mu_roll=0.002, mu_spin=mu_spin, e=0.3)
    b.material("floor", mu=0.3, mu_roll=0.002, mu_spin=mu_spin, e=0.6)
    tilt = ss.rotation((0, 1, 0), 0.1)
    b.body("floor", ss.Plane(), fixed=True, quaternion=tilt, material="floor")
    R = matrices(tilt)
    turn, size = random_turn(rng), np.array([0.2, 0.3, 0.25])
    low = 0.5 * (np.abs(R[:, 2] @ matrices(turn)) * size).sum()

    def put(x, y, height):
        return R @ np.array([x, y, height])

    def thrown(speed, wide=0.3):
        return {"velocity": wide * rng.normal(size=3) - [0, 0, speed], "spin": 3 * wide * rng.normal(size=3)}

    b.body("box", ss.Cuboid(tuple(size)), position=put(0, 0, low + 0.002), quaternion=turn, material="hard",
           **thrown(2.0, 0.5))  # fmt: skip
    b.body("low", ss.Sphere(0.1), position=put(1, 0, 0.1005), material="soft", **thrown(0.5))
    b.body("high", ss.Sphere(0.12), position=put(1, 0.05, 0.1 + 0.215), material="soft", **thrown(2.0, 0.2))
    b.body("slow", ss.Sphere(0.1), position=put(2, 0, 0.1002), velocity=(0.002, 0, -0.3), material="soft")
    b.body("spun", ss.Sphere(0.1), position=put(3, 0, 0.1002), velocity=(0, 3, -0.2), spin=(9, -7, 30),
           material="soft")  # fmt: skip
    lying = ss.rotation((0, 1, 0), np.pi / 2 + 0.3)
    low = 0.05 + 0.15 * abs(R[:, 2] @ matrices(lying)[:, 2])
    b.body("capsule", ss.Capsule(0.05, 0.3), position=put(-1, 0, low + 0.001), material="hard",
           quaternion=lying, **thrown(1.5, 0.1))  # fmt: skip
    turn = ss.rotation((0.3, 1, 0.1), 0.4)
    up = R[:, 2] @ matrices(turn)
    low = max(0.05 - 0.1 * up[0], 0.1 * up[0] + 0.05 * np.abs(up).sum())
    pair = ss.shapes.Compound((ss.Sphere(0.05), (0.1, 0, 0)), (ss.Cuboid((0.1, 0.1, 0.1)), (-0.1, 0, 0)))
    b.body("compound", pair, position=put(-2, 0, low + 0.001), material="hard", quaternion=turn,
           **thrown(1.5, 0.2))  # fmt: skip
    return b.build()


def control(position, velocity, t):
    return np.sin(t) - 3.0 * position - velocity


def wind(t, x, p, v, spin):
    return [x[0] * v[1], p[1] * t, spin[2] * p[0]]


def jointed(kind, seed=0):
    """Return two thrown bodies with a joint of some kind, active stops, friction, and every force."""
    rng = np.random.default_rng(seed)
    b = ss.WorldBuilder()
    for k, name in enumerate(("one", "two")):
        b.body(
            name, ss.Cuboid((0.2, 0.3, 0.25)), position=(0, 0.4 * k, 0.1 * k), quaternion=random_turn(rng),
            velocity=rng.normal(size=3), spin=rng.normal(size=3),
        )  # fmt: skip
    options = {}
    if kind in ("hinge", "slider", "cylindrical"):
        options = {"axis": (0.3, 1, 0.2), "limits": (-1e-4, 1e-4), "friction": 0.3, "e": 0.4}
    if kind == "cylindrical":
        options |= {"turn_limits": (-1e-4, 1e-4), "turn_friction": 0.2}
    if kind in ("distance", "rope"):
        options = {"second_point": (0.1, 0.5, 0.1)}
    if kind == "rope":
        options |= {"limits": (0.3, np.linalg.norm([0.1, 0.3, 0.05])), "e": 0.4}
    b.joint("joint", "distance" if kind == "rope" else kind, "one", "two", point=(0, 0.2, 0.05), **options)
    b.joint("hung", "ball", "two", None, point=(0, 0.6, 0.3))
    b.force(
        ss.forces.Spring(
            "spring", "one", "two", stiffness=30.0, length=0.2, damping=0.2, first_point=(0, 0.1, 0)
        )
    )
    b.force(ss.forces.Spring("soft", "one", stiffness=5.0, length=0.0, second_point=(1, 1, 1)))
    b.force(ss.forces.Damper("drag", "one", "two", linear=0.4, angular=0.3, point=(0, 0.1, 0.1)))
    b.force(ss.forces.Damper("air", "two", linear=0.1, angular=0.2))
    if kind not in ("fixed", "ball"):
        b.force(ss.forces.Actuator("motor", "joint", 2.0))
        b.force(ss.forces.Actuator("control", "joint", control))
    if kind == "cylindrical":
        b.force(ss.forces.Actuator("turn", "joint", 1.5, turn=True))
        b.force(
            ss.forces.Actuator("hold", "joint", lambda position, velocity: -position - velocity, turn=True)
        )
    push = {"moment": (0.1, 0.2, 0.3), "point": (0.1, 0, 0.2)}
    b.force(ss.forces.BodyForce("wind", "one", force=wind, **push))
    return b.build()


def linked(count):
    """Return a chain of balls above a floor that some of them touch, with springs, dampers and motors."""
    rng = np.random.default_rng(7)
    b = ss.WorldBuilder()
    b.material("default", mu=0.4, e=0.2)
    b.body("floor", ss.Plane(), fixed=True)
    for i in range(count):
        name, place = f"ball {i}", (0.3 * i, 0.02 * i, 0.1003 + 0.1 * (i % 2))
        b.body(name, ss.Sphere(0.1), position=place, velocity=0.3 * rng.normal(size=3) - [0, 0, 0.6],
               spin=rng.normal(size=3))  # fmt: skip
        if i:
            b.joint(
                f"hinge {i}", "hinge", name, f"ball {i - 1}", point=(0.3 * i - 0.15, 0, 0.15), axis=(0, 1, 0)
            )
            b.force(ss.forces.Actuator(f"motor {i}", f"hinge {i}", 0.5 - 0.1 * i))
            b.force(ss.forces.Damper(f"drag {i}", name, f"ball {i - 1}", linear=0.2, angular=0.1))
        if i > 1:
            b.force(ss.forces.Spring(f"spring {i}", name, f"ball {i - 2}", stiffness=20.0, length=0.5))
    return b.build()
