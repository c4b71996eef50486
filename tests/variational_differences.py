"""Comparison of derivatives of the variational scheme with finite differences, and worlds for it."""

from dataclasses import replace

import numpy as np

import stickslip as ss
from stickslip.detection.detector import Detector
from stickslip.gradients.variational import variational_derivative
from stickslip.kernels.bodies import motion
from stickslip.mechanics.parameters import Parameters
from stickslip.rotations import rates
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.variational import VariationalBodies
from stickslip.solvers import registry
from stickslip.solvers.step_point import StepInteriorPoint
from stickslip.state import State

H = 0.01
SOLVER = registry.make("newton-ac", tolerance=1e-13)
"""Solver of successive linearisations, which is more accurate than an interior point."""
PATH = StepInteriorPoint(tolerance=1e-12)
CONE = VariationalBodies()
SCALE = {
    "q": 3e-5, "v": 1e-3, "h": 1e-3 * H, "h_before": 1e-3 * H, "approach": 1e-3, "joint_approach": 1e-3,
    "gravity": 1e-2, "mass": 1e-3, "inertia": 1e-3, "mu": 1e-3, "mu_roll": 2e-5, "mu_spin": 2e-5, "e": 1e-3,
    "size": 3e-5, "place": 3e-5, "effort": 1e-2, "wrench": 1e-2,
}  # fmt: skip
"""Lengths of the differences by input; relative for masses and inertias."""


def solver_of(scheme, kappa=0.0):
    """Return the solver for steps of this scheme."""
    return SOLVER if scheme.contact == "cone" and not kappa else replace(PATH, kappa=kappa)


def state_after(world, steps=0, scheme=CONE):
    """Return state and memory after `steps` steps from the start."""
    solver = solver_of(scheme)
    prepared, state = PreparedWorld(world), world.start
    memory = scheme.begin(prepared, state, H)
    for _ in range(steps):
        step = scheme.step(prepared, state, memory, H, solver)
        state, memory = step.state, step.memory
    return state, memory


def derivative(world, steps=0, scheme=CONE, kappa=0.0):
    state, memory = state_after(world, steps, scheme)
    solver = PATH if kappa else solver_of(scheme)
    return variational_derivative(scheme, world, state, memory, H, solver, kappa=kappa)


def moved(world, state, memory, h, name, change):
    """Return world, state, memory and h with one input changed."""
    if name == "q":
        q = np.empty((len(world.names), 7))
        motion.move_along(state.q.reshape(-1, 7).copy(), change.reshape(-1, 6), 1.0, q)
        state = State(state.t, q.reshape(-1), state.v)
    elif name == "v":
        state = State(state.t, state.q, state.v + change)
    elif name == "h":
        h = h + float(change[0])
    elif name in ("h_before", "approach", "joint_approach"):
        key = "h" if name == "h_before" else name
        memory = memory | {key: memory[key] + change}
    else:
        parameters = Parameters.of(world)
        world = parameters.with_(**{name: getattr(parameters, name) + change}).applied(world)
    return world, state, memory, h


def change_of(after, before):
    """Return the differences of the results of two steps; those of q are displacements."""
    a, b = after.state.q.reshape(-1, 7), before.state.q.reshape(-1, 7)
    p, r = a[:, 3:], b[:, 3:]
    turned = 4.0 * np.einsum("nij,ni->nj", rates(0.5 * (p + r)), p - r)
    q = np.concatenate([a[:, :3] - b[:, :3], turned], axis=1).reshape(-1)
    memory = {name: _less(after.memory[name], before.memory[name]) for name in ("approach", "joint_approach")}
    return {"q": q, "v": after.state.v - before.state.v, "r": _less(after.r, before.r), **memory}


def _less(a, b):
    return a - b if a.shape == b.shape else np.full(max(a.size, b.size) + 1, np.nan)


def directions(world, shapes, rng, names):
    """Yield a random direction for each nonempty input that can change in both directions."""
    parameters = Parameters.of(world)
    moves = world.row >= 0
    for name in names:
        direction = SCALE[name] * rng.normal(size=shapes[name])
        if name in ("mass", "inertia"):
            size = parameters.mass
            if name == "inertia":
                size = np.trace(world.inertia, axis1=1, axis2=2)[:, None] / 3.0
            direction = direction * size
        if name == "wrench":
            direction[~moves] = 0.0
        value = getattr(parameters, name, None)
        both = value is None or name not in ("mu_roll", "mu_spin", "e") or (value > 0.0).all()
        if direction.size and both and not (name == "h_before" and not shapes["approach"]):
            yield name, direction


def compare(world, steps=0, scheme=CONE, kappa=0.0, seed=0, of=("q", "v", "r"), names=None, share=1e-6):
    """Compare every derivative along a random direction with a central difference of fourth order of whole
    steps, and check the transpose; return the derivative."""
    rng = np.random.default_rng(seed)
    state, memory = state_after(world, steps, scheme)
    exact, solver = PATH if kappa else solver_of(scheme), solver_of(scheme, kappa)
    computed = variational_derivative(scheme, world, state, memory, H, exact, kappa=kappa)
    of = tuple(of) if kappa else (*of, "approach", "joint_approach")
    for name, direction in directions(world, computed.by, rng, names or tuple(computed.by)):
        if name == "h_before" and not memory["h"][0]:
            continue
        ends = []
        for side in (1.0, -1.0, 2.0, -2.0):
            w, s, m, h = moved(world, state, memory, H, name, side * direction)
            ends.append(scheme.step(w, s, m, h, solver))
        near, far = change_of(ends[0], ends[1]), change_of(ends[2], ends[3])
        change = computed.jvp(**{name: direction})
        for result in of:
            if change[result].shape != near[result].shape or near[result].shape != far[result].shape:
                continue  # at rest rounding decides about active contacts
            expected = (8.0 * near[result] - far[result]) / 12.0
            error = np.abs(change[result] - expected).max(initial=0.0)
            size = np.abs(expected).max(initial=0.0)
            assert error <= share * size + 1e-10, f"{result} by {name}: {error:.2e} of {size:.2e}"
    check_transpose(computed, rng)
    return computed


def check_transpose(computed, rng):
    """Assert that the scalar products of forward and backward derivatives are equal."""
    tangents = {name: SCALE[name] * rng.normal(size=shape) for name, shape in computed.by.items()}
    weights = {name: rng.normal(size=shape) for name, shape in computed.of.items()}
    changes, gradient = computed.jvp(**tangents), computed.vjp(**weights)
    one = sum(float((changes[name] * weights[name]).sum()) for name in computed.of)
    other = sum(float((gradient[name] * tangents[name]).sum()) for name in computed.by)
    size = sum(float(np.abs(changes[name] * weights[name]).sum()) for name in computed.of)
    assert abs(one - other) <= 1e-10 * max(size, 1e-6)


def built(*bodies, ground=(1.0, 0.0, 0.0, 0.0), **material):
    """Return a builder with a plane and bodies (name, shape, placement)."""
    b = ss.WorldBuilder()
    b.material("default", **{"mu": 0.3, **material})
    if ground is not None:
        b.body("ground", ss.Plane(), fixed=True, quaternion=ground)
    for name, shape, how in bodies:
        b.body(name, shape, **how)
    return b


def ball(velocity=(0.0, 0.0, -1.0), spin=(0.0, 0.0, 0.0), height=0.0, **material):
    """Return a ball at `height` above the ground."""
    how = {"mass": 1.3, "position": (0, 0, 0.2 + height), "velocity": velocity, "spin": spin}
    return built(("ball", ss.Sphere(0.2), how), **material).build()


def thrown(shape, seed, **material):
    """Return a body in a random pose whose lowest point strikes a tilted ground in the next step."""
    rng = np.random.default_rng(seed)
    turn, tilt = rng.normal(size=4), 0.1 * rng.normal(size=4) + [1.0, 0.0, 0.0, 0.0]
    ground = tilt / np.linalg.norm(tilt)
    how = {"quaternion": turn / np.linalg.norm(turn), "spin": 2.0 * rng.normal(size=3)}
    far = built(("body", shape, {**how, "position": (0, 0, 2.0)}), ground=ground, **material).build()
    gap = float(min(c.gap.min() for c in [Detector(far).find(far.start.q, 3.0)]))
    normal = ss.rotations.matrices(ground)[:, 2]
    place = np.array([0.0, 0.0, 2.0]) - (gap - 1e-4) * normal
    velocity = rng.normal(size=3) - 1.5 * normal
    return built(
        ("body", shape, {**how, "position": place, "velocity": velocity}), ground=ground, **material
    ).build()


def jointed(kind, **how):
    """Return two boxes with a joint between them, one of them also fixed at a point."""
    b = built(ground=None)
    b.body("a", ss.Cuboid((0.2, 0.3, 0.4)), density=1000.0)
    b.body("b", ss.Cuboid((0.2, 0.1, 0.2)), density=1000.0, position=(0.3, 0.1, 0.4))
    b.joint("hung", "ball", "a", None, point=(-0.1, 0, -0.2))
    place = {"point": (0.1, 0.05, 0.2)} | (
        {"axis": (0.2, 1, 0.3)} if kind not in ("fixed", "ball", "distance") else {}
    )
    b.joint("joint", kind, "a", "b", **(place | how))
    return b.build()
