"""Smoothed derivatives of a step, and flags where there is no exact one."""

import numpy as np
import pytest
from variational_differences import CONE, H, ball, built, compare, derivative, jointed, thrown

import stickslip as ss
from stickslip.gradients.variational import variational_derivative
from stickslip.schemes.variational import VariationalBodies
from stickslip.solvers import registry
from stickslip.solvers.step_point import StepInteriorPoint
from stickslip.state import ModelError

BOX = ss.Cuboid((0.2, 0.3, 0.4))


@pytest.mark.parametrize("contact", ["cone", "pyramid", "impact"])
@pytest.mark.parametrize("kappa", [1e-3, 1e-6])
def test_smoothed_derivatives_are_those_of_the_central_path(contact, kappa):
    world = thrown(BOX, 2, mu=0.4, mu_roll=0.01, mu_spin=0.01)
    found = compare(world, scheme=VariationalBodies(contact=contact), kappa=kappa, share=1e-5)
    assert found.kappa == kappa
    assert f"kappa {kappa:g}" in repr(found)


def test_smoothed_joints():
    world = jointed("cylindrical", friction=0.05, turn_friction=0.01, limits=(-0.01, 0.2))
    compare(world, steps=3, kappa=1e-4, share=1e-5)


@pytest.mark.parametrize("contact", ["cone", "pyramid"])
def test_smoothed_derivatives_become_exact(contact):
    world = thrown(BOX, 1, mu=0.4)
    scheme = VariationalBodies(contact=contact)
    exact = derivative(world, scheme=scheme)
    errors = []
    for kappa in (1e-4, 1e-6, 1e-9):
        smoothed = derivative(world, scheme=scheme, kappa=kappa)
        assert smoothed.exists
        errors.append(np.abs(smoothed.jacobian("v", "v") - exact.jacobian("v", "v")).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-4


def test_a_force_below_friction_moves_nothing_but_smoothed_it_does():
    """A ball held by friction: no exact derivative of its way by the push, a smoothed one at once."""
    how = {"density": 1000.0, "position": (0, 0, 0.1)}
    world = built(("box", ss.Cuboid((0.2, 0.2, 0.2)), how), mu=0.5).build()
    exact, smoothed = derivative(world, steps=1), derivative(world, steps=1, kappa=1e-3)
    push = np.zeros((2, 6))
    push[1, 0] = 1.0
    assert abs(exact.jvp(wrench=push)["v"][6]) < 1e-9
    assert smoothed.jvp(wrench=push)["v"][6] > 1e-5


def test_a_box_that_stands_has_impulses_that_are_not_unique():
    how = {"density": 1000.0, "position": (0, 0, 0.2), "velocity": (1.0, 0.3, 0.0)}
    world = built(("box", BOX, how)).build()
    found = derivative(world, steps=2)
    assert not found.unique
    assert not found.exists  # it slides aslant: the stress of its corners turns with it
    assert any("depend on them" in note for note in found.notes)
    assert any("not unique" in note for note in found.notes)
    # of least norm: equal corners change alike
    change = found.jvp(gravity=(0.0, 0.0, 1.0))["r"][:, 0]
    assert change.shape == (4,)
    assert abs(change.sum() + world.mass[1] * H) < 1e-9


def test_touching_without_pressing_is_a_kink():
    still = ss.WorldBuilder(gravity=(0.0, 0.0, 0.0))
    still.body("floor", ss.Plane(), fixed=True)
    still.body("ball <i>", ss.Sphere(0.2), position=(0, 0, 0.2))
    found = derivative(still.build())
    assert not found.exists
    assert "'ball <i>'" in found.notes[0]
    assert "touches without pressing" in found.notes[0]
    assert np.isfinite(found.jacobian("v", "q")).all()


def test_about_to_slip_is_a_kink():
    """A ball that comes to roll with all the friction it can have: friction takes 2/7 of its speed."""
    mu, speed = 0.02, 0.01
    world = ball((speed, 0.0, 0.5 * H * 9.81 - 2.0 / 7.0 * speed / mu), mu=mu)
    found = derivative(world)
    assert not found.exists
    assert "about to slip" in found.notes[0]
    assert np.isfinite(found.jacobian("q", "v")).all()


def test_what_is_held_twice_and_pulled_apart_says_so():
    """A rod on the ground whose ends both resist rolling cannot follow a tilt."""
    how = {"density": 1000.0, "position": (0, 0, 0.1), "quaternion": (np.sqrt(0.5), np.sqrt(0.5), 0, 0)}
    world = built(("rod", ss.Capsule(0.1, 0.3), how), mu=0.5, mu_roll=0.05).build()
    found = derivative(world, steps=1)
    assert not found.exists
    assert any("pulled apart" in note for note in found.notes)
    assert np.isfinite(found.jacobian("v", "q")).all()


def test_only_a_solver_with_a_central_path_smooths():
    world = ball()
    state, memory = world.start, CONE.begin(world, world.start, H)
    with pytest.raises(ModelError, match="central path"):
        variational_derivative(
            CONE, world, state, memory, H, registry.make("nsgs", tolerance=1e-8), kappa=1e-3
        )


def test_unknown_names_and_shapes_are_refused():
    found = derivative(ball())
    with pytest.raises(ModelError, match="no derivative by 'colour'"):
        found.jvp(colour=[1.0])
    with pytest.raises(ModelError, match="no derivative of 'colour'"):
        found.jacobian("colour", "q")
    with pytest.raises(ModelError, match="q has shape"):
        found.jvp(q=[1.0])


def heavy_on_light():
    """A ball of 100 kg beside the top of one of 10 g: too much for the interior point alone."""
    light = ("light", ss.Sphere(0.1), {"mass": 1e-2, "position": (0, 0, 0.1)})
    heavy = ("heavy", ss.Sphere(0.1), {"mass": 1e2, "position": (0.02, 0, 0.2991)})
    return built(light, heavy, mu=0.5).build()


@pytest.mark.parametrize("kappa", [0.0, 1e-9])
def test_a_step_that_missed_its_tolerance_has_no_derivative(kappa):
    few = StepInteriorPoint(tolerance=1e-10, max_iterations=3)
    found = ss.differentiate(heavy_on_light(), h=H, scheme="variational", solver=few, kappa=kappa)
    assert not found.step.ok
    assert not found.exists
    assert "missed its tolerance" in found.notes[0]


@pytest.mark.parametrize("scheme", ["variational", "moreau-jean-semi-explicit"])
@pytest.mark.parametrize("name", ["nothing", "floor", "ball"])
def test_inputs_and_results_without_numbers(scheme, name):
    b = ss.WorldBuilder()
    if name != "nothing":
        b.body("floor", ss.Plane(), fixed=True)
    if name == "ball":
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 1))
    found = ss.differentiate(b.build(), h=H, scheme=scheme)
    assert 0 in {int(np.prod(shape)) for shape in found.by.values()}
    changes = found.jvp(**{key: np.ones(shape) for key, shape in found.by.items()})
    weights = found.vjp(**{key: np.ones(shape) for key, shape in found.of.items()})
    assert {key: value.shape for key, value in changes.items()} == dict(found.of)
    assert {key: value.shape for key, value in weights.items()} == dict(found.by)
    for of, rows in found.of.items():
        for by, columns in found.by.items():
            assert found.jacobian(of, by).shape == (int(np.prod(rows)), int(np.prod(columns)))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"h": "long"}, "h is 'long'"),
        ({"h": np.array([H])}, "h is array"),
        ({"h": np.inf}, "positive and finite"),
        ({"kappa": "much"}, "kappa is 'much'"),
        ({"kappa": np.inf}, "kappa is inf; it must be a number of at least 0"),
        ({"memory": 5}, "memory is int"),
        ({"memory": {}}, "no 'h'"),
        ({"state": "start"}, "state is str"),
    ],
)
def test_what_is_not_a_step_is_refused(wrong, words):
    with pytest.raises(ModelError, match=words):
        ss.differentiate(ball(), **{"h": H, "scheme": "variational", **wrong})
