"""One step as data, whatever it is a step of."""

from dataclasses import fields

import numpy as np
import pytest

import stickslip as ss
from stickslip.schemes.body_step import BodyPart
from stickslip.schemes.step import InteractionPart, first_state
from stickslip.solvers import registry

SOLVER = registry.make("auto", tolerance=1e-9)


def step_of_a_system():
    ball = ss.Lagrangian("ball", M=2.0, q0=0.0, F_ext=-6.0)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact())
    system, scheme = ss.NonsmoothSystem([ball], [floor]), ss.schemes.MoreauJean()
    state = first_state(system)
    return scheme.step(system, state, scheme.begin(system, state, 0.1), 0.1, SOLVER)


def step_of_a_world():
    b = ss.WorldBuilder(gravity=(0, 0, -3.0))
    b.body("floor", ss.Plane(), fixed=True)
    b.body("ball", ss.Sphere(0.1), position=(0, 0, 0.1), mass=2.0)
    world, scheme = b.build(), ss.schemes.SemiExplicitMoreauJean()
    return scheme.step(world, world.start, scheme.begin(world, world.start, 0.1), 0.1, SOLVER)


STEPS = [(step_of_a_system, "interactions", InteractionPart), (step_of_a_world, "bodies", BodyPart)]


@pytest.mark.parametrize(("make", "name", "kind"), STEPS)
def test_what_a_part_has_is_read_from_the_step(make, name, kind):
    step = make()
    part = getattr(step, name)
    assert type(step) is ss.schemes.Step
    assert isinstance(part, kind)
    for one in fields(kind):
        assert getattr(step, one.name) is getattr(part, one.name)
    assert step.ok
    np.testing.assert_allclose(step.r.reshape(-1)[0], 2.0 * 3.0 * 0.1, rtol=1e-9)  # the weight over the step


def test_a_step_has_no_attributes_of_the_other_kind():
    with pytest.raises(AttributeError, match="a step of a world has no forecast"):
        _ = step_of_a_world().forecast
    with pytest.raises(AttributeError, match="a step of a system of equations has no contacts"):
        _ = step_of_a_system().contacts
