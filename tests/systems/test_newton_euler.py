"""Newton-Euler bodies: derivatives against differences, conserved quantities, bad input."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from stickslip import rotations as qs
from stickslip.state import ModelError
from stickslip.systems.derivatives import differences
from stickslip.systems.dynamics import SecondOrderDynamics
from stickslip.systems.newton_euler import NewtonEuler

RNG = np.random.default_rng(5)
NONE = np.zeros(0)
INERTIA = np.array([[2.0, 0.1, 0.0], [0.1, 3.0, -0.2], [0.0, -0.2, 4.0]])


def somewhere(body):
    q = body.normalized(RNG.normal(size=7))
    return q, RNG.normal(size=6)


def test_mass_and_kinematics():
    body = NewtonEuler("top", mass=2.0, inertia=[1.0, 2.0, 2.5], q0=[1, 2, 3, 2, 0, 0, 0], v0=[1, 0, 0])
    assert isinstance(body, SecondOrderDynamics)
    assert body.start.q.tolist() == [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0]
    assert body.start.v.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert np.diag(body.mass(0.0, body.start.q, NONE)).tolist() == [2.0, 2.0, 2.0, 1.0, 2.0, 2.5]
    q, v = somewhere(body)
    step = 1e-6
    moved = [qs.matrices((q + s * step * body.kinematics(q) @ v)[3:]) for s in (1.0, -1.0)]
    assert (moved[0] - moved[1]) / (2.0 * step) == pytest.approx(
        qs.matrices(q[3:]) @ qs.skew(v[3:]), abs=1e-8
    )


BODIES = {
    "gyroscope alone": {},
    "moment in the inertial frame": {"moment": [0.3, -0.2, 0.5], "moment_frame": "inertial"},
    "moment in the body frame": {"moment": [0.3, -0.2, 0.5]},
    "force in the body frame": {"force": [1.0, 2.0, 3.0], "force_frame": "body"},
    "spring and spin-dependent drag": {
        "force": lambda q, v: -3.0 * q[:3] + 0.1 * np.cross(v[3:], v[:3]),
        "moment": lambda q, v: -v[3:] * abs(q[3]),
        "moment_frame": "inertial",
    },
    "thrust that grows": {"force": lambda t, q: [t, q[0], 0.0], "force_frame": "body"},
    "linear wrench": {"C": RNG.normal(size=(6, 6)), "K": RNG.normal(size=(6, 7))},
}


@pytest.mark.parametrize("options", BODIES.values(), ids=BODIES.keys())
def test_force_derivatives(options):
    body = NewtonEuler("body", mass=2.0, inertia=INERTIA, **options)
    for _ in range(3):
        q, v = somewhere(body)
        for which, found in ((1, body.force_dq(0.7, q, v, NONE)), (2, body.force_dv(0.7, q, v, NONE))):
            known = differences(body.force, which, 6)(0.7, q, v, NONE)
            assert (np.zeros_like(known) if found is None else found) == pytest.approx(known, abs=1e-7)
        assert body.check_jacobians(0.7, q, v) < 1e-7


def test_given_jacobians_are_used_and_checked():
    right = NewtonEuler(
        "body", mass=1.0, inertia=INERTIA, force=lambda q: -q[:3] ** 2,
        dforce_dq=lambda q: np.hstack([np.diag(-2.0 * q[:3]), np.zeros((3, 4))]),
    )  # fmt: skip
    q, v = somewhere(right)
    assert right.check_jacobians(0.0, q, v) < 1e-8
    wrong = NewtonEuler(
        "body", mass=1.0, inertia=INERTIA, moment=lambda v: -v[3:], dmoment_dv=np.ones((3, 6))
    )
    with pytest.raises(ModelError, match=r"system 'body': at t = 0 s, dmoment_dv\[0, 3\]"):
        wrong.check_jacobians(0.0, q, v)


def test_a_free_top_keeps_its_angular_momentum_and_energy():
    body = NewtonEuler("top", mass=1.0, inertia=[1.0, 2.0, 3.0], v0=[0, 0, 0, 0.1, 2.0, 0.1])
    M = body.mass(0.0, body.start.q, NONE)

    def flow(t, x):
        q, v = x[:7], x[7:]
        return np.concatenate([body.kinematics(q) @ v, np.linalg.solve(M, body.force(t, q, v, NONE))])

    x0 = np.concatenate([body.start.q, body.start.v])
    x1 = solve_ivp(flow, (0.0, 10.0), x0, rtol=1e-11, atol=1e-12).y[:, -1]
    momentum = [qs.matrices(x[3:7]) @ body.inertia @ x[10:] for x in (x0, x1)]
    assert momentum[1] == pytest.approx(momentum[0], abs=1e-8)
    energy = [x[10:] @ body.inertia @ x[10:] for x in (x0, x1)]
    assert energy[1] == pytest.approx(energy[0], abs=1e-8)
    assert abs(x1[10:] @ x0[10:]) < 0.99 * (x0[10:] @ x0[10:]), "it should have tumbled"


def test_a_moment_in_the_inertial_frame_changes_the_momentum_by_itself():
    m = np.array([0.0, 0.3, 0.1])
    body = NewtonEuler("top", mass=1.0, inertia=[1.0, 2.0, 3.0], moment=m, moment_frame="inertial")
    q, v = somewhere(body)
    F = body.force(0.0, q, v, NONE)
    R, omega, inertia = qs.matrices(q[3:]), v[3:], body.inertia
    rate = R @ (np.cross(omega, inertia @ omega) + F[3:])
    assert rate == pytest.approx(m)


def test_potential_energy():
    body = NewtonEuler("ball", mass=2.0, inertia=[1, 1, 1], force=[0, 0, -19.62])
    assert body.potential(0.0, np.array([0, 0, 3.0, 1, 0, 0, 0]), NONE) == pytest.approx(58.86)
    given = NewtonEuler("ball", mass=2.0, inertia=[1, 1, 1], potential=lambda q: 5.0 * q[0])
    assert given.potential(0.0, np.array([2.0, 0, 3.0, 1, 0, 0, 0]), NONE) == 10.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mass": 0.0}, "mass is 0; it must be positive"),
        ({"mass": np.nan}, "mass is not finite"),
        (
            {"inertia": [1.0, 1.0, 3.0]},
            "inertia is impossible for a rigid body: its principal moments are 1, 1, 3",
        ),
        ({"inertia": [1.0, -1.0, 1.0]}, "inertia is singular or not positive definite"),
        ({"inertia": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]}, "inertia is not symmetric"),
        ({"inertia": [1.0, 2.0]}, "inertia has 2 entries, expected 3"),
        ({"q0": [0, 0, 0, 0, 0, 0, 0]}, "the quaternion of q0 is zero"),
        ({"q0": [0, 0, 0, 1]}, "q0 has 4 entries, expected 7"),
        ({"v0": [0, 0]}, "v0 has 2 entries, expected 6"),
        ({"force": [1.0, 2.0]}, r"force has shape \(2,\), expected \(3,\)"),
        ({"force": lambda x: x}, r"force takes \(x\); it may take \(t, q, v, z\)"),
        ({"force": lambda t: [np.nan, 0.0, 0.0]}, "at t = 0 s, force is not finite"),
        ({"moment_frame": "world"}, "moment_frame is 'world'; it is one of inertial, body"),
        ({"K": np.eye(6)}, r"K has shape \(6, 6\), expected \(6, 7\)"),
        ({"C": lambda q: q}, "C is a function"),
        (
            {"dforce_dq": np.zeros((3, 7))},
            "dforce_dq is given without the quantity that it is the derivative of",
        ),
    ],
)
def test_bad_input_is_named(options, words):
    with pytest.raises(ModelError, match=rf"system 'top': .*{words}|system 'top': {words}"):
        NewtonEuler("top", **{"mass": 1.0, "inertia": [1.0, 1.0, 1.0], **options})
