"""Mechanical systems as first-order ones: the flow and its Jacobian against closed forms and differences."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from stickslip.state import ModelError
from stickslip.systems.derivatives import differences
from stickslip.systems.dynamics import FirstOrderDynamics
from stickslip.systems.first_order_view import to_first_order
from stickslip.systems.lagrangian import Lagrangian, LagrangianLinear
from stickslip.systems.newton_euler import NewtonEuler

NONE = np.zeros(0)
EMPTY = np.zeros(0)


def jacobian_error(view, x, t=0.4, z=NONE):
    known = differences(lambda t, x, b, z: view.rate(t, x, z), 1, x.size)(t, x, EMPTY, z)
    return np.abs(view.rate_dx(t, x, z) - known).max()


def test_a_linear_oscillator():
    M, C, K = np.diag([2.0, 4.0]), np.array([[1.0, 0.5], [0.5, 2.0]]), np.array([[3.0, -1.0], [-1.0, 5.0]])
    view = to_first_order(LagrangianLinear("pair", M=M, C=C, K=K, q0=[1.0, 2.0], F_ext=[1.0, 0.0]))
    inverse = np.linalg.inv(M)
    known = np.block([[np.zeros((2, 2)), np.eye(2)], [-inverse @ K, -inverse @ C]])
    assert isinstance(view, FirstOrderDynamics)
    assert view.rate_dx(0.0, view.start.q, NONE) == pytest.approx(known)
    assert view.start.q.tolist() == [1.0, 2.0, 0.0, 0.0]
    assert view.rate(0.0, np.zeros(4), NONE) == pytest.approx([0.0, 0.0, 0.5, 0.0])


def arm_mass(q):
    c = np.cos(q[1])
    return [[3.0 + 2.0 * c, 1.0 + c], [1.0 + c, 1.0]]


def arm_gyroscopic(q, v):
    return np.sin(q[1]) * np.array([-(v[1] ** 2) - 2.0 * v[0] * v[1], v[0] ** 2])


def arm(z=()):
    """Two links in a plane, with masses at their ends: M depends on q."""
    return Lagrangian(
        "arm",
        M=arm_mass, N=arm_gyroscopic,
        F_int=lambda q: 9.81 * np.array([2 * np.sin(q[0]) + np.sin(q[0] + q[1]), np.sin(q[0] + q[1])]),
        F_ext=lambda t: [np.sin(t), 0.0],
        q0=[0.5, 0.8], v0=[0.1, -0.2], z=z, z_update=(lambda t, z: z + t) if z else None,
        potential=lambda q: -9.81 * (2.0 * np.cos(q[0]) + np.cos(q[0] + q[1])),
    )  # fmt: skip


def test_a_mass_that_depends_on_q_enters_the_jacobian():
    body = arm()
    view = to_first_order(body)
    x = np.array([0.3, 1.1, 2.0, -1.5])
    a = np.linalg.solve(body.mass(0.4, x[:2], NONE), body.force(0.4, x[:2], x[2:], NONE))
    assert view.rate(0.4, x, NONE) == pytest.approx([2.0, -1.5, *a])
    assert jacobian_error(view, x) < 1e-7 * np.abs(view.rate_dx(0.4, x, NONE)).max()


def test_a_newton_euler_body():
    body = NewtonEuler(
        "top", mass=2.0, inertia=[1.0, 2.0, 3.0], moment=[0.1, 0.2, 0.3], moment_frame="inertial",
        force=lambda q: -q[:3], v0=[1, 0, 0, 1, 2, 3],
    )  # fmt: skip
    view = to_first_order(body)
    x = np.array([0.1, 0.2, 0.3, 0.5, 0.5, -0.5, 0.5, 1.0, -1.0, 0.5, 0.4, -0.3, 2.0])
    assert view.rate(0.0, x, NONE)[:7] == pytest.approx(body.kinematics(x[:7]) @ x[7:])
    assert jacobian_error(view, x) < 1e-8


def test_the_view_keeps_the_energy_of_an_arm():
    body = Lagrangian("free arm", M=arm_mass, N=arm_gyroscopic, q0=[0.5, 0.8], v0=[1.0, 2.0])
    view = to_first_order(body)
    start = view.start.q
    end = solve_ivp(lambda t, x: view.rate(t, x, NONE), (0, 3.0), start, rtol=1e-11, atol=1e-12).y[:, -1]
    energy = [x[2:] @ body.mass(0.0, x[:2], NONE) @ x[2:] for x in (start, end)]
    assert energy[1] == pytest.approx(energy[0], rel=1e-9)


def test_discrete_parameters_are_carried_over():
    view = to_first_order(arm(z=(1.0,)))
    assert view.update(0.5, view.start.q, EMPTY, np.array([2.0])) == pytest.approx([2.5])


def test_a_mass_that_turns_singular_is_named():
    body = Lagrangian("odd", M=lambda q: [[q[0]]], q0=1.0)
    with pytest.raises(ModelError, match=r"system 'odd': at t = 0.5 s, M is singular"):
        to_first_order(body).rate(0.5, np.zeros(2), NONE)
