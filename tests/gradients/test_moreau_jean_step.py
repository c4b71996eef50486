"""The derivative of a step of Moreau-Jean against central differences of steps."""

import numpy as np
import pytest
from step_worlds import (
    NOTHING,
    SOLVER,
    STEPS,
    differences,
    disagreement,
    jointed,
    linked,
    random_way,
    tumbling,
)

import stickslip as ss
from stickslip.gradients.moreau_jean import moreau_jean_derivative
from stickslip.rotations import matrices
from stickslip.schemes.bodies import SemiExplicitMoreauJean
from stickslip.state import State

H = 0.01
NAMES = (*STEPS, "mass", "inertia")


def made(scheme, world, state, memory, h=H):
    return scheme.step(world, state, memory, h, SOLVER)


def compare(scheme, world, state, memory=NOTHING, names=NAMES, seed=0, unique=True):
    """Directional derivatives, and their transpose, against differences."""
    derivative = moreau_jean_derivative(scheme, world, state, memory, H, SOLVER)
    assert derivative.exists, derivative.notes
    assert derivative.unique == unique, derivative.notes
    rng = np.random.default_rng(seed)
    weights = {name: rng.normal(size=shape) for name, shape in derivative.of.items()}
    gradient = derivative.vjp(**weights)
    moved = 0
    for name in names:
        shape = derivative.by[name]
        if not np.prod(shape):
            continue
        way = random_way(world, name, shape, rng)
        found = derivative.jvp(**{name: way})
        expected = differences(
            lambda world, state, h: made(scheme, world, state, memory, h), world, state, H, name, way
        )
        for key, off in disagreement(found, expected, 10.0).items():
            if unique or key != "r":
                assert off < 1e-6, (name, key, off)
        pushed = sum(float((weights[key] * found[key]).sum()) for key in found)
        size = sum(float(np.abs(weights[key] * found[key]).sum()) for key in found)
        assert float((gradient[name] * way).sum()) == pytest.approx(
            pushed, rel=1e-11, abs=1e-12 * size + 1e-17
        )
        moved += any(np.abs(value).max(initial=0.0) > 0.0 for value in found.values())
    return derivative, moved


@pytest.mark.parametrize(("seed", "theta"), [(0, 0.5), (1, 0.7), (2, 0.5)])
def test_impacts_of_all_shapes(seed, theta):
    """Newton's restitution: boxes, balls, capsules and compounds on a plane, a pair of balls."""
    world = tumbling(seed)
    derivative, moved = compare(
        SemiExplicitMoreauJean(theta=theta, correction=False), world, world.start, seed=seed
    )
    assert {tuple(pair) for pair in derivative.step.contacts.body} >= {(0, 1), (0, 5), (0, 6), (0, 7), (2, 3)}
    assert moved == len(NAMES) - 1  # all but actuators, which there are none of


def test_poisson():
    """Both phases, where impulses are unique."""
    world = tumbling(2)
    scheme = SemiExplicitMoreauJean(impact="poisson", correction=False)
    derivative, moved = compare(scheme, world, world.start)
    assert len(derivative.step.solves) == 2
    assert moved == len(NAMES) - 1


def test_impact_in_parts():
    """Newton's law in four parts: they are chained, forwards and backwards."""
    world = tumbling(2)
    scheme = SemiExplicitMoreauJean(parts=4, correction=False)
    derivative, moved = compare(scheme, world, world.start)
    assert len(derivative.step.solves) == 4
    assert moved == len(NAMES) - 1


@pytest.mark.parametrize("kind", ["fixed", "ball", "hinge", "slider", "cylindrical", "distance", "rope"])
def test_joints_and_forces(kind):
    """Every joint with its stops and friction, springs, dampers, actuators and users' forces."""
    world = jointed(kind)
    scheme = SemiExplicitMoreauJean(correction=False, theta=0.6 if kind == "slider" else 0.5)
    names = ("q", "v", "h", "gravity", "mass", "inertia", "effort", "wrench")
    derivative, _ = compare(scheme, world, world.start, names=names)
    if kind in ("hinge", "slider", "cylindrical", "rope"):
        assert (derivative.step.memory["joint_id"] % 3 > 0).any()  # a stop has a part in the step


def test_many_bodies():
    """Bodies that are changed together are told apart: rows, forces and motors that share bodies."""
    world = linked(6)
    derivative, _ = compare(SemiExplicitMoreauJean(correction=False), world, world.start)
    assert len(derivative.step.contacts) == 3
    columns = derivative.forward({"q": np.eye(42)})
    for of, rows in columns.items():
        weights = np.eye(rows.shape[0])
        assert (
            np.abs(derivative.backward({of: weights}, ("q",))["q"].T - rows).max()
            < 1e-10 * np.abs(rows).max()
        )


def run(scheme, world, steps):
    memory, state = scheme.begin(world, world.start, H), world.start
    for _ in range(steps):
        step = made(scheme, world, state, memory)
        memory, state = step.memory, step.state
    return state, memory


def test_later_steps_and_sliding():
    """A ball that rolls and a capsule that slides, from the state and the memory of a run."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    b.body("ball", ss.Sphere(0.1), position=(0, 0, 0.1), velocity=(2, 0.3, 0), spin=(1, 2, 3))
    lying = ss.rotation((0, 1, 0), np.pi / 2)
    b.body("capsule", ss.Capsule(0.05, 0.3), position=(1, 0, 0.05), quaternion=lying,
           velocity=(2, 1, 0), spin=(0, 0, 2))  # fmt: skip
    world = b.build()
    scheme = SemiExplicitMoreauJean(correction=False)
    compare(scheme, world, *run(scheme, world, 3))


def test_impulses_that_are_not_unique():
    """A box that stands on a slope: four corners hold it, velocities are unique, impulses are not."""
    tilt = ss.rotation((0, 1, 0), 0.2)
    b = ss.WorldBuilder()
    b.body("slope", ss.Plane(), fixed=True, quaternion=tilt)
    b.body("box", ss.Cuboid((0.2, 0.3, 0.1)), position=matrices(tilt) @ [0.1, 0, 0.05], quaternion=tilt)
    world = b.build()
    scheme = SemiExplicitMoreauJean(correction=False)
    derivative, _ = compare(
        scheme, world, *run(scheme, world, 1), names=("v", "gravity", "wrench"), unique=False
    )
    assert derivative.mismatch(gravity=(0.1, 0.2, 0.3)) < 1e-9
    assert np.abs(derivative.jacobian("v", "v")[6:, 6:]).max() < 1e-9  # it stands, whatever it had


def test_kinematic_plane():
    """A plate that moves and turns as prescribed: steps depend on t + h, on its place and its velocity."""
    b = ss.WorldBuilder()
    motion = lambda t: ((0.1 * np.cos(t), 0.0, 0.2 * np.sin(3 * t)), (0.01, 0.02 * t, 0.3))  # noqa: E731
    b.body("plate", ss.Plane(), motion=motion, quaternion=ss.rotation((0, 1, 0), 0.05))
    b.body("ball", ss.Sphere(0.1), position=(1, 0, 0.0505), velocity=(1, 0, -1), spin=(1, 2, 3))
    world = b.build()
    state = State(0.4, world.start.q, world.start.v)
    names = ("q", "v", "h", "mu", "size", "place", "gravity")
    compare(SemiExplicitMoreauJean(correction=False, theta=0.8), world, state, names=names)


def test_free_flight_has_no_problem():
    world = tumbling(0)
    q = world.start.q.reshape(-1, 7).copy()
    q[1:, 2] += 5.0 * np.arange(1, len(q))
    state = State(0.0, q.reshape(-1), world.start.v)
    derivative, _ = compare(SemiExplicitMoreauJean(correction=False), world, state)
    assert derivative.of["r"] == (0, 6)
    assert not derivative.step.solves


def test_parts_of_many_directions_are_those_of_all(monkeypatch):
    """A bound on memory changes nothing."""
    world = tumbling(1)
    scheme = SemiExplicitMoreauJean(correction=False)
    derivative = moreau_jean_derivative(scheme, world, world.start, NOTHING, H, SOLVER)
    whole = derivative.jacobian("v", "q")
    gradient = derivative.vjp(by=("place", "q", "mu"), v=np.ones(whole.shape[0]))
    monkeypatch.setattr("stickslip.gradients.world_step.ENTRIES", 20_000)
    assert np.abs(derivative.jacobian("v", "q") - whole).max() < 1e-12 * np.abs(whole).max()
    for name, value in derivative.vjp(by=("place", "q", "mu"), v=np.ones(whole.shape[0])).items():
        assert np.abs(value - gradient[name]).max() < 1e-12 * np.abs(gradient[name]).max(), name


def test_smoothed_derivatives_go_to_the_exact_one():
    world = tumbling(0)
    scheme = SemiExplicitMoreauJean(correction=False)

    def jacobian(kappa):
        return moreau_jean_derivative(scheme, world, world.start, NOTHING, H, SOLVER, kappa=kappa).jacobian(
            "v", "v"
        )

    exact = jacobian(0.0)
    off = [np.abs(jacobian(kappa) - exact).max() for kappa in (1e-4, 1e-6, 1e-8)]
    assert off[0] > 2.0 * off[1] > 4.0 * off[2]
    assert off[2] < 1e-2 * np.abs(exact).max()
