"""Derivatives of steps in which all pairs of shapes strike each other, beside differences of steps."""

import numpy as np
import pytest
from pair_worlds import ENDLESS, SHAPES, about_to_touch
from step_worlds import differences
from variational_differences import compare

import stickslip as ss
from stickslip.gradients.moreau_jean import moreau_jean_derivative
from stickslip.schemes.bodies import SemiExplicitMoreauJean
from stickslip.schemes.variational import VariationalBodies
from stickslip.solvers import registry

PAIRS = [
    (a, b) for k, a in enumerate(SHAPES) for b in list(SHAPES)[k:] if not (a in ENDLESS and b in ENDLESS)
]  # fmt: skip
TOLD = ("take over", "beside where detection found them", "about to take part", "touches without impulse")
"""What notes say of poses that have no derivative."""


@pytest.mark.parametrize(("upper", "lower"), PAIRS)
def test_variational_steps(upper, lower):
    seed = 1 if (upper, lower) == ("capsule", "cylinder") else 2  # tangents lead to the answer
    found = compare(
        about_to_touch(upper, lower, seed),
        of=("q", "v"),
        names=("q", "v", "mu", "mass", "size", "place", "h"),
    )
    assert found.exists, found.notes
    assert found.step.r[:, 0].max() > 0.0


@pytest.mark.parametrize("e", [0.0, 0.5])
@pytest.mark.parametrize(("upper", "lower"), PAIRS)
def test_steps_of_moreau_jean(upper, lower, e):
    """Steps of random poses are what their derivatives say, to what differences tell, or notes say why not.

    Hulls are in single precision in detection, and in double precision in derivatives.
    """
    scheme, solver, exact = (
        SemiExplicitMoreauJean(correction=False), registry.make("auto", tolerance=1e-12), 0,
    )  # fmt: skip
    for seed in range(6):
        world = about_to_touch(upper, lower, seed, 1e-5 if seed % 2 else 1e-3, e=e)
        nothing = scheme.begin(world, world.start, 0.01)
        found = moreau_jean_derivative(scheme, world, world.start, nothing, 0.01, solver)
        if not found.exists:
            assert all(any(words in note for words in TOLD) for note in found.notes), found.notes
            continue
        exact += bool(found.step.r.any())
        for name in ("q", "v", "mu", "size"):
            way = 2e-6 * np.random.default_rng(seed).normal(size=found.by[name])
            told = found.jvp(**{name: way})
            near, far = (
                differences(
                    lambda world, state, h, memory=nothing: scheme.step(world, state, memory, h, solver),
                    world, world.start, 0.01, name, side * way,
                )
                for side in (1.0, 2.0)
            )  # fmt: skip
            for key in ("q", "v"):
                expected = (8.0 * near[key] - far[key]) / 6.0
                size = np.abs(expected).max()
                off = np.abs(told[key] - expected).max()
                assert off < 1e-6 * size + 1e-12, (seed, name, key)
    assert exact >= 3


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


@pytest.mark.parametrize(("upper", "lower", "seed"), [("cylinder", "hull", 12), ("ellipsoid", "hull", 3)])
def test_the_narrow_phase_adds_no_contacts_of_its_own(upper, lower, seed):
    """Where shapes end a step at a gap of 0, its closest points have no normal; steps beside each other have
    the same contact."""
    world, scheme = about_to_touch(upper, lower, seed), VariationalBodies()
    solver, way = registry.make("newton-ac", tolerance=1e-13), np.random.default_rng(seed).normal(size=12)
    nothing, start = scheme.begin(world, world.start, 0.01), world.start
    told = []
    for eps in (0.0, 1e-7, -1e-7, 1e-6, -1e-6):
        state = ss.State(start.t, start.q, start.v + eps * way)
        told.append(scheme.step(world, state, nothing, 0.01, solver))
    assert {tuple(step.contacts.id) for step in told} == {tuple(told[0].contacts.id)}
    assert max(np.abs(step.state.v - told[0].state.v).max() for step in told) < 1e-4
