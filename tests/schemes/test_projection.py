"""Position projection onto unilateral and bilateral constraints, unit quaternions included."""

import numpy as np
import pytest
from mechanical_runs import steps

from stickslip.laws import Equality, NewtonImpact
from stickslip.schemes.moreau_jean import MoreauJean
from stickslip.schemes.projection import project
from stickslip.solvers import registry
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import Scleronomous
from stickslip.systems.newton_euler import NewtonEuler
from stickslip.systems.newton_euler_joints import BallJoint
from stickslip.systems.newton_euler_relations import PointOnPlane
from stickslip.systems.system import Interaction, NonsmoothSystem

G = 9.81
SOLVER = registry.make("auto", tolerance=1e-10)


def pendulum():
    rod = Scleronomous(lambda q: [q @ q - 1.0], lambda q: 2.0 * q[None])
    return NonsmoothSystem(
        [Lagrangian("mass", M=1.0, q0=[1.0, 0.0], F_ext=[0.0, -G])],
        [Interaction("rod", "mass", rod, Equality())],
    )


@pytest.mark.parametrize("how", ["direct", "velocity", "combined"])
def test_a_pendulum_in_two_coordinates_keeps_its_length(how):
    run = steps(pendulum(), until=1.0, h=5e-3, scheme=MoreauJean(projection=how))
    assert max(abs(step.y[0]) for step in run) < 1e-10
    assert all(0.0 < step.measures["projection [m]"] < 1e-3 for step in run[1:])
    free = steps(pendulum(), until=1.0, h=5e-3, scheme=MoreauJean())
    assert abs(free[-1].y[0]) > 1e-2
    assert not free[-1].measures


@pytest.mark.parametrize("how", ["direct", "velocity", "combined"])
def test_a_ball_never_ends_a_step_inside_the_floor(how):
    floor = Interaction("floor", "ball", Scleronomous(lambda q: q), NewtonImpact(e=0.5))
    system = NonsmoothSystem([Lagrangian("ball", M=1.0, q0=1.0, F_ext=-G)], [floor])
    run = steps(system, until=2.0, h=1e-2, scheme=MoreauJean(projection=how))
    assert min(step.y[0] for step in run) > -1e-9
    assert min(step.y[0] for step in steps(system, until=2.0, h=1e-2, scheme=MoreauJean())) < -1e-3
    assert run[-1].state.q[0] == pytest.approx(0.0, abs=G * 1e-4)
    assert all(step.ok for step in run)


def test_combined_projection_makes_contacts_active_that_had_to_be_pushed_back():
    """The step that would end inside the floor is done again with the contact active: it bounces at once."""
    floor = Interaction("floor", "ball", Scleronomous(lambda q: q), NewtonImpact(e=0.5))
    system = NonsmoothSystem([Lagrangian("ball", M=1.0, q0=1.0, F_ext=-G)], [floor])
    run = steps(system, until=0.6, h=1e-2, scheme=MoreauJean(projection="combined"))
    first = next(step for step in run if step.active[0])
    before = run[run.index(first) - 1]
    assert first.u[0] == pytest.approx(-0.5 * before.u[0], rel=1e-9)
    for step in run:
        inside = step.y[0] < 1e-12 and not step.active[0]
        assert not inside


def corner_body():
    """A body whose corner touches a plane and whose centre hangs on a ball joint, both violated."""
    return NonsmoothSystem(
        [NewtonEuler("body", mass=2.0, inertia=np.diag([1.0, 2.0, 2.5]), q0=[0.0, 0.0, 1.0])],
        [
            Interaction("corner", "body", PointOnPlane([0.3, 0.2, -0.5], offset=0.5), NewtonImpact(mu=0.3)),
            Interaction("joint", "body", BallJoint([0.0, 0.0, 1.0]), Equality(3)),
        ],
    )


@pytest.mark.parametrize("how", ["direct", "velocity"])
def test_constraints_and_the_unit_quaternion_hold_together(how):
    system = corner_body()
    p = np.array([1.0, 0.05, -0.1, 0.02])
    q = np.concatenate([[0.01, -0.02, 0.97], p / np.linalg.norm(p)])
    if how == "direct":
        q[3:] *= 1.01
    found = project(system, 0.0, q, np.zeros(0), {}, how, 1e-10, SOLVER)
    assert found.violation <= 1e-10
    assert np.linalg.norm(found.q[3:]) == pytest.approx(1.0, abs=1e-10)
    corner, joint = (
        one.mechanical.y(0.0, found.q, np.zeros(one.law.size), np.zeros(0)) for one in system.interactions
    )
    assert corner[0] >= -1e-10
    np.testing.assert_allclose(joint, 0.0, atol=1e-10)
    assert found.size == pytest.approx(np.abs(found.q - q).max())
    assert found.size < 0.2


def test_the_direct_projection_is_the_nearest_point_of_linear_constraints():
    """y = C q + e with some of them slack: the same as least distance, by its multipliers."""
    C = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]])
    tie = Interaction("tie", "mass", Scleronomous(lambda q: C @ q - [1.0, -4.0], C), NewtonImpact(contacts=2))
    system = NonsmoothSystem([Lagrangian("mass", M=np.diag([1.0, 50.0, 3.0]), q0=np.zeros(3))], [tie])
    found = project(system, 0.0, np.zeros(3), np.zeros(0), {}, "direct", 1e-12, SOLVER)
    np.testing.assert_allclose(found.q, C[0] / 5.0, atol=1e-9)
    assert found.pushed["tie"].tolist() == [0]
