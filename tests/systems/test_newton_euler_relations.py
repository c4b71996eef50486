"""Contacts and joints of Newton-Euler bodies: rows against differences of y, and known geometry."""

import numpy as np
import pytest

from stickslip import rotations as qs
from stickslip.laws import Equality, NewtonImpact
from stickslip.state import ModelError
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.newton_euler import NewtonEuler
from stickslip.systems.newton_euler_joints import (
    BallJoint,
    DistanceJoint,
    FixedJoint,
    HingeJoint,
    SliderJoint,
)
from stickslip.systems.newton_euler_relations import BodyContact, PointOnPlane, SpherePlane, SphereSphere
from stickslip.systems.relations import MechanicalOutput
from stickslip.systems.system import Interaction, NonsmoothSystem

RNG = np.random.default_rng(17)
NONE = np.zeros(0)
LAWS = {
    1: NewtonImpact(),
    3: NewtonImpact(mu=0.3),
    4: NewtonImpact(mu=0.3, mu_spin=0.01),
    5: NewtonImpact(mu=0.3, mu_roll=0.01),
    6: NewtonImpact(mu=0.3, mu_roll=0.01, mu_spin=0.01),
}


def pose():
    p = RNG.normal(size=4)
    return np.concatenate([RNG.normal(size=3), p / np.linalg.norm(p)])


def tied(relation, law, bodies=1):
    names = [f"body {i}" for i in range(bodies)]
    made = [NewtonEuler(n, mass=1.0, inertia=[1.0, 2.0, 3.0], q0=pose()) for n in names]
    system = NonsmoothSystem(made, [Interaction("tie", names, relation, law)])
    return system, system.interaction["tie"].mechanical


def differenced(system, tie, q):
    """Rows of y by differences along q̇ = T(q) v."""
    step, lam = 1e-6, np.zeros(tie.m)
    T = tie.to.kinematics(q)
    ends = [[tie.y(0.0, q + s * step * one, lam, NONE) for one in T.T] for s in (1.0, -1.0)]
    return (np.array(ends[0]) - np.array(ends[1])).T / (2.0 * step)


JOINTS = {
    "ball": (BallJoint([0.3, -0.2, 0.5]), 3),
    "fixed": (FixedJoint([0.1, 0.2, 0.3]), 6),
    "hinge": (HingeJoint([0.3, 0.1, 0.0], [1.0, 2.0, -1.0]), 5),
    "slider": (SliderJoint([0.0, 1.0, 1.0], [0.2, 0.0, 0.1]), 5),
    "distance": (DistanceJoint([0.4, 0.0, 0.2], [-1.0, 0.5, 0.3]), 1),
}


@pytest.mark.parametrize("bodies", [1, 2])
@pytest.mark.parametrize("name", JOINTS)
def test_joints_start_closed_and_their_rows_are_derivatives(name, bodies):
    relation, size = JOINTS[name]
    system, tie = tied(relation, Equality(size), bodies)
    lam = np.zeros(size)
    assert isinstance(tie, MechanicalOutput)
    assert tie.y(0.0, system.q0, lam, NONE) == pytest.approx(np.zeros(size), abs=1e-14)
    for q in (system.q0, np.concatenate([pose() for _ in range(bodies)])):
        rows = tie.rows(0.0, q, lam, NONE)
        assert rows == pytest.approx(differenced(system, tie, q), abs=1e-8)
        assert tie.dy_dq(0.0, q, lam, NONE) @ tie.to.kinematics(q) == pytest.approx(rows, abs=1e-12)
        assert system.check_jacobians(0.0, q, np.zeros(6 * bodies)) < 1e-8


@pytest.mark.parametrize("name", JOINTS)
def test_joints_do_not_feel_a_common_rigid_motion(name):
    relation, size = JOINTS[name]
    system, tie = tied(relation, Equality(size), 2)
    turn, shift, q = qs.about([1.0, 2.0, 3.0], 0.8), np.array([0.1, 0.2, 0.3]), system.q0
    moved = []
    for part in (q[:7], q[7:]):
        moved += [*(shift + qs.matrices(turn) @ part[:3]), *qs.product(turn, part[3:])]
    assert tie.y(0.0, np.array(moved), np.zeros(size), NONE) == pytest.approx(np.zeros(size), abs=1e-14)


def test_a_hinge_turns_and_a_slider_slides():
    q0 = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    body = NewtonEuler("body", mass=1.0, inertia=[1, 1, 1], q0=q0)
    hinge = Interaction("hinge", "body", HingeJoint([0, 0, 0], [0, 0, 1]), Equality(5))
    slide = Interaction("slide", "body", SliderJoint([1, 0, 0]), Equality(5))
    system = NonsmoothSystem([body], [hinge, slide])
    turned = np.array([0.0, 0.0, 0.0, *qs.about([0, 0, 1], 2.0)])
    slid = np.array([1.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    for name, free, stuck in (("hinge", turned, slid), ("slide", slid, turned)):
        one = system.interaction[name].mechanical
        assert one.y(0.0, free, np.zeros(5), NONE) == pytest.approx(np.zeros(5), abs=1e-14)
        assert np.abs(one.y(0.0, stuck, np.zeros(5), NONE)).max() > 0.5


def test_an_orientation_does_not_mind_the_sign_of_a_quaternion():
    system, tie = tied(FixedJoint(), Equality(6))
    other = system.q0.copy()
    other[3:] *= -1.0
    assert tie.y(0.0, other, np.zeros(6), NONE) == pytest.approx(np.zeros(6), abs=1e-14)
    small = qs.product(system.q0[3:], qs.about([1.0, 0.0, 0.0], 1e-4))
    y = tie.y(0.0, np.concatenate([system.q0[:3], small]), np.zeros(6), NONE)
    assert y[3:] == pytest.approx([1e-4, 0.0, 0.0], abs=1e-12)


CONTACTS = {
    "point": (PointOnPlane([0.5, 0.4, -0.3], [0.0, 1.0, 2.0], 0.1), 1),
    "sphere": (SpherePlane(0.2, center=[0.1, 0.0, 0.0]), 1),
    "sphere on a fixed one": (SphereSphere(0.3, 0.5, center_second=[5.0, 0.0, 0.0]), 1),
    "two spheres": (SphereSphere(0.3, 0.5, [0.1, 0.0, 0.2], [0.0, -0.2, 0.0]), 2),
}


@pytest.mark.parametrize("size", LAWS)
@pytest.mark.parametrize("name", CONTACTS)
def test_the_normal_row_is_the_derivative_of_the_gap(name, size):
    relation, bodies = CONTACTS[name]
    system, tie = tied(relation, LAWS[size], bodies)
    q = np.concatenate([pose() for _ in range(bodies)])
    rows = tie.rows(0.0, q, np.zeros(size), NONE)
    assert rows.shape == (size, 6 * bodies)
    assert rows[0] == pytest.approx(differenced(system, tie, q)[0], abs=1e-8)
    assert tie.dy_dq(0.0, q, np.zeros(size), NONE) @ tie.to.kinematics(q) == pytest.approx(rows, abs=1e-12)
    assert system.check_jacobians(0.0, q, np.zeros(6 * bodies)) < 1e-8


def test_a_rolling_ball_does_not_slip():
    """Speed R w along x with spin w about y: the contact point rests; the rolling velocity is the spin."""
    _, tie = tied(SpherePlane(0.5), LAWS[5])
    q = pose()
    w = 3.0
    spin = np.array([0.0, w, 0.0])
    v = np.concatenate([[0.5 * w, 0.0, 0.0], qs.matrices(q[3:]).T @ spin])
    u = tie.rows(0.0, q, np.zeros(5), NONE) @ v
    assert u[:3] == pytest.approx(np.zeros(3), abs=1e-14)
    assert np.linalg.norm(u[3:]) == pytest.approx(w)
    assert tie.y(0.0, q, np.zeros(5), NONE) == pytest.approx([q[2] - 0.5, 0.0, 0.0, 0.0, 0.0])


def test_forces_of_a_contact_are_opposite_and_make_no_moment_between_the_bodies():
    _, tie = tied(SphereSphere(0.3, 0.5), LAWS[3], 2)
    q = np.concatenate([pose(), pose()])
    touch = tie.touch(0.0, q, NONE)
    q[7:10] += touch.gap * touch.normal  # brought into contact
    p = tie.forces(0.0, q, np.array([1.0, 0.2, -0.3]), NONE)
    assert p[:3] == pytest.approx(-p[6:9])
    moments = [np.cross(q[i : i + 3], p[j : j + 3]) for i, j in ((0, 0), (7, 6))]
    spins = [qs.matrices(q[i : i + 4]) @ p[j : j + 3] for i, j in ((3, 3), (10, 9))]
    assert sum(moments) + sum(spins) == pytest.approx(np.zeros(3), abs=1e-12)


def conveyor(**changes):
    given = {
        "gap": lambda q: q[2] - 0.1,
        "normal": [0.0, 0.0, 1.0],
        "point": lambda q: [q[0], q[1], q[2] - 0.1],
        "surface_velocity": lambda t: [t, 0.0, 0.0],
    }
    return BodyContact(**{**given, **changes})


def test_a_contact_of_ones_own_on_a_conveyor():
    system, tie = tied(conveyor(), LAWS[3])
    _, ready = tied(SpherePlane(0.1), LAWS[3])
    q = pose()
    assert tie.rows(0.0, q, np.zeros(3), NONE) == pytest.approx(ready.rows(0.0, q, np.zeros(3), NONE))
    with_belt = np.array([2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    u = tie.rows(2.0, q, np.zeros(3), NONE) @ with_belt + tie.drift(2.0, q, np.zeros(3), NONE)
    assert u == pytest.approx(np.zeros(3), abs=1e-14)
    assert system.check_jacobians(0.0) < 1e-8
    assert tied(conveyor(surface_velocity=[0.0, 0.0, 1.0]), LAWS[1])[1].drift(
        0.0, q, np.zeros(1), NONE
    ).tolist() == [-1.0]


def test_a_normal_that_is_not_the_gaps_is_found_on_request():
    system, _ = tied(conveyor(normal=[0.0, 1.0, 0.0]), LAWS[1])
    with pytest.raises(ModelError, match="interaction 'tie': at t = 0 s, the row of component 0"):
        system.check_jacobians(0.0)


@pytest.mark.parametrize(
    ("relation", "law", "bodies", "words"),
    [
        (BallJoint([0, 0, 0]), Equality(1), 1, r"BallJoint has 3 components, but its law .* has 1"),
        (SpherePlane(0.1), NewtonImpact(mu=0.1, dimension=2), 1, "has 1 or 3 or 4 or 5 or 6 components"),
        (SpherePlane(-0.1), LAWS[1], 1, "radius is -0.1; it must be positive"),
        (SpherePlane(0.1, normal=[0, 0, 0]), LAWS[1], 1, "normal is zero"),
        (SpherePlane(0.1), LAWS[1], 2, "contact with a fixed plane takes one body"),
        (HingeJoint([0, 0, 0], [0, 0, 0]), Equality(5), 1, "axis is zero"),
        (DistanceJoint([1, 0, 0], [1, 0, 0]), Equality(1), 1, "two different points"),
        (conveyor(normal=[0.0, 0.0, 2.0]), LAWS[1], 1, "normal is not a unit vector"),
        (conveyor(gap=lambda t: t, surface_velocity=None), LAWS[1], 1, "surface_velocity is missing"),
        (conveyor(point=lambda q: q), LAWS[1], 1, r"point has shape \(7,\), expected \(3,\)"),
        (BallJoint([0, 0]), Equality(3), 1, "point has 2 entries, expected 3"),
    ],
)
def test_bad_input_is_named(relation, law, bodies, words):
    with pytest.raises(ModelError, match=f"interaction 'tie': .*{words}|interaction 'tie': {words}"):
        tied(relation, law, bodies)


def test_other_systems_are_refused():
    body = Lagrangian("body", M=1.0, q0=np.zeros(7))
    for relation, law in ((BallJoint([0, 0, 0]), Equality(3)), (SpherePlane(0.1), LAWS[1])):
        with pytest.raises(ModelError, match="one or two Newton-Euler bodies"):
            NonsmoothSystem([body], [Interaction("tie", "body", relation, law)])


def test_spheres_with_one_centre_are_refused():
    body = NewtonEuler("body", mass=1.0, inertia=[1, 1, 1])
    with pytest.raises(ModelError, match="interaction 'tie': at t = 0 s, the centres of the two spheres"):
        NonsmoothSystem([body], [Interaction("tie", "body", SphereSphere(0.1, 0.1), LAWS[1])])
