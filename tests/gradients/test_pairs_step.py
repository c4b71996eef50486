"""Derivatives of steps in which all pairs of shapes strike each other, beside differences of steps."""

import numpy as np
import pytest
from pair_worlds import about_to_touch
from step_worlds import differences
from variational_differences import compare

import stickslip as ss
from stickslip.gradients.moreau_jean import moreau_jean_derivative
from stickslip.schemes.bodies import SemiExplicitMoreauJean
from stickslip.solvers import registry

PAIRS = [
    ("box", "box"), ("capsule", "box"), ("cylinder", "box"), ("ellipsoid", "box"), ("hull", "hull"),
    ("box", "field"), ("ellipsoid", "field"), ("cylinder", "plane"), ("ellipsoid", "plane"),
    ("hull", "plane"), ("cylinder", "cylinder"), ("ellipsoid", "cylinder"), ("ball", "box"),
    ("capsule", "capsule"),
]  # fmt: skip


@pytest.mark.parametrize(("upper", "lower"), PAIRS)
def test_variational_steps(upper, lower):
    found = compare(
        about_to_touch(upper, lower, 2), of=("q", "v"), names=("q", "v", "mu", "mass", "size", "place", "h")
    )
    assert found.exists, found.notes
    assert found.step.r[:, 0].max() > 0.0


@pytest.mark.parametrize(("upper", "lower"), [p for p in PAIRS if p != ("box", "box")])
def test_steps_of_moreau_jean(upper, lower):
    """Their contacts are MuJoCo's, which has normals that it searches for to 3e-6: differences are coarse."""
    world, scheme = about_to_touch(upper, lower, 1), SemiExplicitMoreauJean(correction=False)
    solver, nothing = registry.make("auto", tolerance=1e-12), scheme.begin(world, world.start, 0.01)
    found = moreau_jean_derivative(scheme, world, world.start, nothing, 0.01, solver)
    assert found.exists, found.notes
    assert found.step.r[:, 0].max() > 0.0
    rng = np.random.default_rng(1)
    for name in ("q", "v", "mu", "size"):
        way = 3e-4 * rng.normal(size=found.by[name])
        told = found.jvp(**{name: way})
        expected = differences(
            lambda world, state, h: scheme.step(world, state, nothing, h, solver), world, world.start, 0.01,
            name, way,
        )  # fmt: skip
        for key in ("q", "v"):
            size = np.abs(expected[key]).max()
            assert np.abs(told[key] - expected[key]).max() < 0.02 * size + 1e-9, (name, key)


def test_boxes_under_moreau_jean_are_exact_or_say_that_they_are_not():
    """Corners in faces are MuJoCo's to rounding; edges that do not touch yet are beside where they are."""
    scheme, solver, exact = (
        SemiExplicitMoreauJean(correction=False), registry.make("auto", tolerance=1e-12), 0,
    )  # fmt: skip
    for seed in range(8):
        world = about_to_touch("box", "box", seed, 1e-5)
        nothing = scheme.begin(world, world.start, 0.01)
        found = moreau_jean_derivative(scheme, world, world.start, nothing, 0.01, solver)
        assert found.step.r[:, 0].max() > 0.0
        if not found.exists:
            assert "take over" in found.notes[0] or "beside where detection found them" in found.notes[0]
            continue
        exact += 1
        for name in ("q", "v", "size"):
            way = 3e-5 * np.random.default_rng(1).normal(size=found.by[name])
            told = found.jvp(**{name: way})
            expected = differences(
                lambda world, state, h, memory=nothing: scheme.step(world, state, memory, h, solver), world,
                world.start, 0.01, name, way,
            )  # fmt: skip
            for key in ("q", "v"):
                size = np.abs(expected[key]).max()
                assert np.abs(told[key] - expected[key]).max() < 1e-6 * size, (seed, name, key)
    assert exact >= 5


def test_features_that_take_over_are_told():
    """A box of the size of that below it: corners on corners."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    b.body("lower", ss.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.1))
    b.body("upper", ss.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.3))
    found = ss.differentiate(b.build(), h=0.01, scheme="variational", solver="ipm-step")
    assert not found.exists
    assert any("other faces or edges take over" in note for note in found.notes)


def test_a_box_within_a_face_has_no_borders():
    b = ss.WorldBuilder()
    b.body("table", ss.Cuboid((1.0, 1.0, 0.2)), fixed=True)
    b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.2), velocity=(0.0, 0.0, -1.0))
    found = ss.differentiate(b.build(), h=0.01, scheme="variational", solver="ipm-step")
    assert not any("take over" in note for note in found.notes)
    assert found.jacobian("v", "wrench")[8, 8] == pytest.approx(0.0, abs=1e-8)
