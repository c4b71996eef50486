"""Derivatives of a step of the variational scheme beside central differences of whole steps."""

import numpy as np
import pytest
from variational_differences import CONE, PATH, SOLVER, H, ball, built, compare, jointed, state_after, thrown

import stickslip as ss
from stickslip import scenes
from stickslip.gradients.variational import variational_derivative
from stickslip.kernels.derivatives.laws import OPEN, SLIP, STICK
from stickslip.schemes.variational import VariationalBodies

BOX, ROD, BALL = ss.Cuboid((0.2, 0.3, 0.4)), ss.Capsule(0.1, 0.3), ss.Sphere(0.15)


def states(found):
    return found._linear.state


def test_free_flight():
    b = built(("box", BOX, {"velocity": (1, 2, 3), "spin": (3, -2, 5)}), ground=None)
    found = compare(b.build(), steps=1)
    assert found.exists
    assert found.unique
    assert not found.notes


@pytest.mark.parametrize(
    ("world", "steps", "does"),
    [
        (ball(), 0, STICK),
        (ball((2.0, 0.5, -0.1), (0, 0, 3)), 0, SLIP),
        (ball((0.3, 0.1, 0.5)), 0, OPEN),
        (ball((1.0, 0.5, -2.0), (0.2, 3, 3), mu_roll=0.01, mu_spin=0.02), 0, STICK),
        (ball((3.0, 0.5, -0.2), (0.2, 3, 3), mu_roll=0.001, mu_spin=0.001), 1, SLIP),
        (ball((1.0, 0.5, -1.0), (0.2, 3, 3), e=0.5), 0, STICK),
        (ball((1.0, 0.5, -1.0), (0.2, 3, 3), e=0.5), 1, STICK),
        (ball((4.0, 0.5, -1.0), (0.2, 3, 3), e=0.5), 1, SLIP),
    ],
)
def test_balls(world, steps, does):
    found = compare(world, steps)
    assert found.exists
    assert states(found)[0, 1 if does != OPEN else 0] == does


@pytest.mark.parametrize(("shape", "seed"), [(BOX, 1), (BOX, 3), (ROD, 2), (BALL, 2)])
def test_thrown_bodies(shape, seed):
    material = {
        "mu": 0.2 + 0.2 * seed,
        "e": 0.4,
        "mu_roll": 0.004 * (seed - 1),
        "mu_spin": 0.003 * (seed - 1),
    }
    world = thrown(shape, seed, **material)
    assert states(compare(world, seed=seed))[:, 0].max() == STICK  # it strikes
    found = compare(world, steps=1, seed=seed)  # it bounces
    assert found.by["approach"] == (1,)
    assert np.abs(found.jacobian("v", "approach")).max() > 0.3


def test_pairs_of_balls():
    how = {"density": 1000.0, "position": (0, 0, 0.2), "velocity": (0.5, 0.2, -0.1), "spin": (1, 2, 0.5)}
    high = 0.2 + np.sqrt(0.09 - 0.01 - 0.0225) + 1e-4
    top = {"density": 500.0, "position": (0.1, 0.15, high), "velocity": (-0.5, 0.2, -1), "spin": (1, -2, 0.5)}
    b = built(("a", ss.Sphere(0.2), how), ("b", ss.Sphere(0.1), top), e=0.3, mu_roll=0.002, mu_spin=0.003)
    world = b.build()
    for steps in (0, 1):
        assert len(compare(world, steps).step.contacts) == 2


def test_on_a_belt_that_turns_and_speeds_up():
    b = ss.WorldBuilder()
    b.material("default", mu=0.4)
    b.body("belt", ss.Plane(), motion=lambda t: ((1 + t, 0.2, 0.3 * t), (0.1, 0.2 * t, 0.3)))
    how = {"position": (0.1, 0.2, 0.1001), "velocity": (0.2, 0.1, -0.2), "spin": (1, 2, 3)}
    b.body("ball", ss.Sphere(0.1), density=1000.0, **how)
    compare(b.build(), steps=1)


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("fixed", {}),
        ("ball", {}),
        ("hinge", {"friction": 0.05}),
        ("hinge", {"friction": 50.0}),
        ("slider", {"friction": 0.05}),
        ("cylindrical", {"friction": 0.05, "turn_friction": 0.01}),
        ("distance", {"second_point": (0.3, 0.15, 0.35)}),
        ("distance", {"second_point": (0.3, 0.15, 0.35), "limits": (0.1, 0.275)}),
    ],
)
def test_joints(kind, how):
    assert compare(jointed(kind, **how), steps=6).exists


def test_stops_that_are_struck_and_bounce():
    b = built(ground=None)
    b.body("a", ss.Cuboid((0.1, 0.2, 0.15)), density=1000.0)
    b.body("b", ss.Cuboid((0.1, 0.2, 0.15)), density=1000.0, position=(0.3, 0, 0), spin=(0, -20.0, 0),
           velocity=(-2, 0, 0))  # fmt: skip
    b.joint("hung", "ball", "a", None, point=(0, 0, 0.2))
    stops = {"turn_limits": (-0.05, 1.0), "limits": (-0.02, 0.3), "friction": 5.0, "turn_friction": 0.1}
    b.joint("sleeve", "cylindrical", "b", "a", point=(0.15, 0, 0), axis=(0, 1, 0), e=0.5, **stops)
    world = b.build()
    assert compare(world).of["joint_approach"] == (1,)
    assert compare(world, steps=1).by["joint_approach"] == (1,)


def test_springs_dampers_motors_and_written_forces():
    rolls = {"density": 1000.0, "position": (0, 0, 0.1), "velocity": (1, 0, -0.2)}
    b = built(("a", ss.Sphere(0.1), rolls), mu=0.4)
    b.body("b", ss.Cuboid((0.1, 0.2, 0.15)), density=1000.0, position=(0.5, 0.1, 0.6), spin=(1, 2, 3))
    b.apart("a", "b")
    b.force(
        ss.forces.Spring(
            "s", "a", "b", stiffness=300.0, damping=3.0, length=0.3, first_point=(0.02, 0.03, 0.12)
        )
    )
    b.force(ss.forces.Damper("d", "b", "a", linear=2.0, angular=0.1, point=(0.5, 0.15, 0.6)))
    b.force(
        ss.forces.BodyForce("f", "b", force=lambda x, v: (3 * np.sin(x[0]), v[1] ** 2, 1.0),
                     moment=lambda p, spin: 0.1 * spin + p[1:])
    )  # fmt: skip
    b.joint("h", "hinge", "b", None, point=(0.5, 0.1, 0.7), axis=(0.1, 1, 0.2))
    b.force(
        ss.forces.Actuator("m", "h", effort=lambda position, velocity: 2 * np.sin(position) - 0.3 * velocity)
    )
    b.force(ss.forces.Actuator("n", "h", effort=0.7))
    found = compare(b.build(), steps=3)
    assert found.by["effort"] == (1,)


def test_a_quadruped_whole():
    scene = scenes.make("quadruped", gait="hold")
    found = compare(scene.system, steps=2)
    whole, rng = {by: found.jacobian("v", by) for by in ("q", "v", "effort")}, np.random.default_rng(0)
    for by, matrix in whole.items():
        way = rng.normal(size=found.by[by])
        assert np.abs(matrix @ way - found.jvp(**{by: way})["v"]).max() < 1e-10 * np.abs(matrix).max()
        weight = rng.normal(size=found.of["v"])
        assert np.abs(weight @ matrix - found.vjp(by=(by,), v=weight)[by]).max() < 1e-9 * np.abs(matrix).max()


@pytest.mark.parametrize(
    "velocity", [(2.0, 0.5, -0.3), (-0.5, 2.0, -0.3), (0.05, 0.02, -0.3), (0.62, 0.6, -0.3)]
)
@pytest.mark.parametrize("contact", ["pyramid", "impact"])
def test_other_contact_models(contact, velocity):
    """Facets: at a corner, sticking, and along an edge, where both velocities stay alike."""
    how = {"density": 1000.0, "position": (0, 0, 0.15), "velocity": velocity, "spin": (0, 0, 4)}
    world = built(("ball", BALL, how), mu=0.4).build()
    assert compare(world, scheme=VariationalBodies(contact=contact)).exists


def test_many_rows_go_through_a_sparse_factor(monkeypatch):
    """The same derivative by the dense complement and by a sparse LU of the whole."""
    scene = scenes.make("chain", bodies=5, kind="hinge")
    state, memory = state_after(scene.system, 3)
    args = CONE, scene.system, state, memory, H, SOLVER
    dense = variational_derivative(*args)
    monkeypatch.setattr("stickslip.gradients.variational_laws.FEW", 3)
    monkeypatch.setattr("stickslip.gradients.world_step.DENSE", 3)
    monkeypatch.setattr("stickslip.gradients.solution_factor.DENSE", 3)
    many = variational_derivative(*args)
    rng = np.random.default_rng(0)
    for by in ("q", "v", "h", "mass", "inertia", "wrench"):
        way = rng.normal(size=dense.by[by])
        one, other = dense.jvp(**{by: way}), many.jvp(**{by: way})
        for of in ("q", "v"):
            assert np.abs(one[of] - other[of]).max() < 1e-9 * np.abs(one[of]).max()
    weights = {"q": rng.normal(size=dense.of["q"]), "v": rng.normal(size=dense.of["v"])}
    for by, one in dense.vjp(**weights).items():
        assert np.allclose(
            one, many.vjp(by=(by,), **weights)[by], rtol=1e-8, atol=1e-9 * np.abs(one).max(initial=1.0)
        )


def test_solvers_give_the_same_derivative():
    world = thrown(BOX, 1, mu=0.4)
    state, memory = world.start, CONE.begin(world, world.start, H)
    args = world, state, memory, H
    one = variational_derivative(CONE, *args, SOLVER)
    other = variational_derivative(CONE, *args, PATH)
    for by in ("q", "v", "mu"):
        found, expected = one.jacobian("v", by), other.jacobian("v", by)
        assert np.abs(found - expected).max() < 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("velocity", "spin", "why"),
    [
        ((0, 0, 0), 0.0, ""),
        ((1, 0.4, 0), 0.0, "changes of velocities depend on them"),
        ((1, 0.4, 0), 6.0, "nor are velocities unique"),
    ],
)
def test_velocities_that_are_not_unique_have_no_derivative(velocity, spin, why):
    """Loads of four corners may shift: at rest that changes nothing; where all slide alike, nothing until the
    box is turned a little; where they slide in different directions it turns the box."""
    how = {"mass": 1.0, "position": (0, 0, 0.05), "velocity": velocity, "spin": (0, 0, spin)}
    world = built(("box", ss.Cuboid((0.3, 0.2, 0.1)), how)).build()
    found = ss.differentiate(world, h=H, scheme="variational")
    assert not found.unique
    assert found.exists == (not why)
    assert not why or any(why in note for note in found.notes)


@pytest.mark.parametrize("scheme", ["moreau-jean-semi-explicit", "variational"])
def test_a_memory_that_is_none_is_refused(scheme):
    world = ball()
    memory = dict(ss.differentiate(world, h=H, scheme=scheme).step.memory)
    name = "reserve" if scheme == "moreau-jean-semi-explicit" else "potential"
    for bad, words in (
        (3, "memory is int"), ({}, "memory has no"), (memory | {name: [1.0]}, f"{name} is list"),
        (memory | {name: memory[name] * np.nan}, f"{name} is not finite"),
    ):  # fmt: skip
        with pytest.raises(ss.ModelError, match=words):
            ss.differentiate(world, h=H, scheme=scheme, memory=bad)
    with pytest.raises(ss.ModelError, match=r"state\.q is list"):
        ss.differentiate(world, ss.State(0.0, list(world.start.q), world.start.v), h=H, scheme=scheme)
    with pytest.raises(ss.ModelError, match="expected numbers"):
        ss.differentiate(world, h=H, scheme=scheme).jvp(h=1j)
