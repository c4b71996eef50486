"""Euler's equations in the inertial frame: the same motion as in the body's, and momentum to rounding."""

import numpy as np
import pytest

import stickslip as ss
from stickslip import rotations as qs
from stickslip.systems.derivatives import differences
from stickslip.systems.newton_euler import NewtonEuler

INERTIA = np.array([[2.0, 0.1, 0.0], [0.1, 3.0, -0.2], [0.0, -0.2, 4.0]])
TILTED = np.array([0.2, -0.1, 0.3, 0.5, -0.1, 0.7, 0.4])
SPIN = np.array([0.3, 2.0, -0.4])
NONE = np.zeros(0)


def pair(spin=SPIN, q0=TILTED, **given):
    """The same body in both frames; spin: in the body's [rad/s]."""
    q0 = np.array(q0, float)
    q0[3:] /= np.linalg.norm(q0[3:])
    R = qs.matrices(q0[3:])
    own = NewtonEuler("body", mass=1.5, inertia=INERTIA, q0=q0, v0=[0.1, 0.2, 0.3, *spin], **given)
    outer = NewtonEuler(
        "body", mass=1.5, inertia=INERTIA, q0=q0, v0=[0.1, 0.2, 0.3, *R @ spin], frame="inertial", **given
    )
    return own, outer


def momentum(run):
    """Spatial angular momentum at every record [N m s]."""
    R = qs.matrices(run.q[:, 3:7])
    return np.einsum("kij,kj->ki", R @ INERTIA @ np.swapaxes(R, 1, 2), run.v[:, 3:6])


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"moment": [0.3, -0.2, 0.5]},
        {"moment": [0.3, -0.2, 0.5], "moment_frame": "inertial"},
        {"force": [1.0, 2.0, 3.0], "force_frame": "body"},
    ],
    ids=str,
)
def test_both_frames_state_the_same_motion(given):
    """v = (ẋ, Ω) and (ẋ, RΩ) have the same q̇, energy, and accelerations Ω̇ = R'ω̇."""
    own, outer = pair(**given)
    q = own.start.q
    R = qs.matrices(q[3:])
    S = np.block([[np.eye(3), np.zeros((3, 3))], [np.zeros((3, 3)), R.T]])
    v, V = own.start.v, outer.start.v
    assert pytest.approx(v) == S @ V
    assert outer.kinematics(q) @ V == pytest.approx(own.kinematics(q) @ v)
    assert V @ outer.mass(0.0, q, NONE) @ V == pytest.approx(v @ own.mass(0.0, q, NONE) @ v)
    accelerations = [
        np.linalg.solve(one.mass(0.0, q, NONE), one.force(0.0, q, u, NONE))
        for one, u in ((own, v), (outer, V))
    ]
    assert S @ accelerations[1] == pytest.approx(accelerations[0])
    assert outer.force_dv(0.0, q, V, NONE) == pytest.approx(differences(outer.force, 2, 6)(0.0, q, V, NONE))


@pytest.mark.parametrize("variant", ["nearly-implicit", "complete"])
def test_a_free_body_keeps_its_spatial_momentum_to_rounding(variant):
    _, outer = pair()
    scheme = ss.schemes.MoreauJean(variant=variant, newton_tolerance=1e-14)
    run = ss.simulate(ss.NonsmoothSystem([outer]), until=2.0, h=0.02, scheme=scheme)
    L = momentum(run)
    assert np.abs(L - L[0]).max() < 1e-12 * np.linalg.norm(L[0])
    assert np.abs(run.v[:, 3:6] - run.v[0, 3:6]).max() > 0.5  # it tumbles


def test_a_constant_moment_gives_its_impulse_exactly():
    moment = np.array([0.3, -0.2, 0.5])
    _, outer = pair(moment=moment, moment_frame="inertial")
    run = ss.simulate(
        ss.NonsmoothSystem([outer]), until=1.0, h=0.02, scheme=ss.schemes.MoreauJean(newton_tolerance=1e-14)
    )
    L = momentum(run)
    np.testing.assert_allclose(L - L[0], run.t[:, None] * moment, atol=1e-12 * np.linalg.norm(L[0]))


def test_runs_of_both_frames_meet_at_the_order_of_the_scheme():
    own, outer = pair(moment=lambda t: [0.3, np.sin(t), 0.1])
    exact = ss.simulate(ss.NonsmoothSystem([own]), until=0.5, h=0.05, scheme="event-driven")
    other = ss.simulate(ss.NonsmoothSystem([outer]), until=0.5, h=0.05, scheme="event-driven")
    np.testing.assert_allclose(other.q, exact.q, atol=1e-8)
    errors = []
    for h in (0.02, 0.01, 0.005):
        run = ss.simulate(
            ss.NonsmoothSystem([outer]), until=0.5, h=h, scheme=ss.schemes.MoreauJean(variant="complete")
        )
        errors.append(np.abs(run.q[-1] - exact.q[-1]).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("scheme", ["moreau-jean", "event-driven"])
def test_contacts_and_joints_of_both_frames(scheme):
    """A tilted ball with friction on a plane, and a body on a ball joint: rows follow the frame."""
    relations = [
        (ss.systems.SpherePlane(0.3, offset=-0.1), ss.NewtonImpact(e=0.0, mu=0.2, dimension=3)),
        (ss.joints.BallJoint((0.5, 0.0, 0.0)), ss.laws.Equality(3)),
    ]
    for relation, law in relations:
        ends = []
        for body in pair(force=[0.0, 0.0, -9.81 * 1.5], q0=[0.0, 0.0, 0.3, 0.5, -0.1, 0.7, 0.4]):
            tie = ss.Interaction("tie", "body", relation, law)
            system = ss.NonsmoothSystem([body], [tie])
            assert system.check_jacobians(0.0) < 1e-6
            run = ss.simulate(system, until=0.1, h=1e-3, scheme=scheme)
            ends.append(run.q[-1])
        np.testing.assert_allclose(ends[1], ends[0], atol=1e-8 if scheme == "event-driven" else 2e-3)


@pytest.mark.parametrize(
    "given",
    [
        {"moment": lambda t: [0.3, np.sin(t), 0.1]},
        {"moment": lambda v: -0.2 * v[3:], "moment_frame": "inertial"},
        {"force": [1.0, 2.0, 3.0], "force_frame": "body"},
    ],
    ids=["of time", "of velocity", "in the body's frame"],
)
def test_the_variational_scheme_makes_the_same_steps_in_both_frames(given):
    """A step turns about its spin, which is one vector at both of its ends: ω = R(q_k) Ω = R(q_{k+1}) Ω."""
    if given.get("moment_frame") == "inertial":  # a drag on the spin, written in either frame
        own, _ = pair(moment=lambda v: -0.2 * v[3:])
        _, outer = pair(**given)
    else:
        own, outer = pair(**given)
    runs = [
        ss.simulate(ss.NonsmoothSystem([one]), until=1.0, h=0.02, scheme="variational")
        for one in (own, outer)
    ]
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-11)
    R = qs.matrices(runs[0].q[:, 3:7])
    np.testing.assert_allclose(runs[1].v[:, 3:], np.einsum("kij,kj->ki", R, runs[0].v[:, 3:]), atol=1e-11)


def test_the_variational_scheme_strikes_and_holds_alike_in_both_frames():
    relations = [
        (ss.systems.SpherePlane(0.3, offset=-0.1), ss.NewtonImpact(e=0.5, mu=0.2, dimension=3)),
        (ss.joints.BallJoint((0.5, 0.0, 0.0)), ss.laws.Equality(3)),
    ]
    for relation, law in relations:
        ends = []
        for body in pair(force=[0.0, 0.0, -9.81 * 1.5], q0=[0.0, 0.0, 0.3, 0.5, -0.1, 0.7, 0.4]):
            system = ss.NonsmoothSystem([body], [ss.Interaction("tie", "body", relation, law)])
            run = ss.simulate(system, until=0.5, h=5e-3, scheme="variational")
            assert run.ok.all()
            ends.append(run.q[-1])
        np.testing.assert_allclose(ends[1], ends[0], atol=1e-6)


def test_steps_of_the_variational_scheme_have_derivatives_in_the_inertial_frame():
    _, outer = pair(moment=[0.3, -0.2, 0.5])
    system = ss.NonsmoothSystem([outer])
    found = ss.differentiate(system, h=0.02, scheme="variational")
    told = found.jacobian("q", "v")
    for k in range(6):
        ends = []
        for sign in (1.0, -1.0):
            v = outer.start.v + sign * 1e-5 * np.eye(6)[k]
            moved = ss.differentiate(
                system, ss.State(0.0, outer.start.q, v), h=0.02, scheme="variational"
            ).step.state.q
            ends.append(moved)
        np.testing.assert_allclose(told[:, k], (ends[0] - ends[1]) / 2e-5, atol=1e-8)


def test_what_does_not_take_it_says_so():
    with pytest.raises(ss.ModelError, match="frame is 'outside'; it is one of inertial, body"):
        NewtonEuler("body", mass=1.0, inertia=INERTIA, frame="outside")
