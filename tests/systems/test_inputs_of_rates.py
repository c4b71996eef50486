"""Inputs u(t, x, ẋ) of first-order systems and u(t, q, v) of mechanics, with their derivatives."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.systems import index_sets, relative_degree

HALF = ss.schemes.EulerMoreau(theta=0.5, gamma=0.5)


def run_of(system, h=0.01, until=0.5, scheme=HALF):
    return ss.simulate(ss.NonsmoothSystem([system]), until=until, h=h, scheme=scheme)


@pytest.mark.parametrize(
    "given", [{}, {"du_dx": [[0.0]], "du_dxdot": [[-3.0]]}], ids=["differences", "given"]
)
def test_feedback_of_the_rate_is_a_mass(given):
    """ẋ = -x + u with u = -3 ẋ is 4 ẋ = -x."""
    fed = ss.FirstOrder("fed", f=lambda x: -x, x0=1.0, u=lambda xdot: -3.0 * xdot, **given)
    heavy = ss.FirstOrder("heavy", f=lambda x: -x, x0=1.0, M=4.0)
    for scheme in (
        HALF,
        ss.schemes.EulerMoreau(theta=1.0),
        ss.schemes.EulerMoreau(relation="midpoint", theta=0.5),
    ):
        np.testing.assert_allclose(run_of(fed, scheme=scheme).q, run_of(heavy, scheme=scheme).q, rtol=1e-12)
    linear = ss.FirstOrderLinear("fed", A=-1.0, x0=1.0, u=lambda xdot: -3.0 * xdot, **given)
    np.testing.assert_allclose(run_of(linear).q, run_of(heavy).q, rtol=1e-12)
    assert fed.velocity(0.0, np.array([1.0]), np.zeros(0), np.zeros(1)) == pytest.approx([-0.25])


def test_an_input_of_the_rate_that_is_not_linear_keeps_the_order():
    """ẋ + ẋ³ = -x: with p = ẋ, x = -(p + p³) and dt = -(1 + 3p²)/p dp, so t = ln(p0/p) + 3/2 (p0² - p²)."""
    p0 = -1.0
    system = ss.FirstOrder("fed", f=lambda x: -x, x0=-(p0 + p0**3), T=[[2.0]], u=lambda xdot: -0.5 * xdot**3)
    p = -0.7
    end = np.log(p0 / p) + 1.5 * (p0**2 - p**2)
    errors = []
    for steps in (20, 40, 80):
        found = run_of(system, h=end / steps, until=end).q[-1, 0]
        errors.append(abs(found + p + p**3))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    assert np.log2(errors[1] / errors[2]) == pytest.approx(2.0, abs=0.1)


def test_an_input_of_the_rate_beside_a_law():
    """A relay that holds x at 0 against a drift: ẋ = 1 + u + lam, u = -ẋ, lam in [-2, 2]."""
    flow = ss.FirstOrder("x", f=lambda t: [1.0], x0=0.5, u=lambda xdot: -xdot)
    relay = ss.systems.FirstOrderLinearRelation([[1.0]], [[1.0]])
    system = ss.NonsmoothSystem([flow], [ss.Interaction("relay", "x", relay, ss.laws.Box(-2.0, 2.0))])
    assert relative_degree(system, "relay").rows == (1,)
    assert relative_degree(system, "relay").markov[1] == pytest.approx(np.array([[0.5]]))  # B over 1 + 1
    assert index_sets(system, lam=[-2.0]).y[1] == pytest.approx([-0.5])
    run = ss.simulate(system, until=2.0, h=0.01)
    assert run.scheme == "euler-moreau"
    assert run.q[50, 0] == pytest.approx(0.25, abs=1e-9)  # ẋ = -1/2 until it is held
    assert run.q[-1, 0] == pytest.approx(0.0, abs=1e-9)
    assert run.r[-1, 0] == pytest.approx(-1.0)


def test_a_controller_of_mechanics_is_a_function_of_state_and_velocity():
    """q̈ = u with u = -k q - c v is the damped oscillator; T(q) u with T = 1 + q², u over it, likewise."""
    k, c = 9.0, 0.8
    plain = ss.LagrangianLinear("mass", M=1.0, K=k, C=c, q0=1.0)
    fed = ss.Lagrangian("mass", M=1.0, q0=1.0, u=lambda q, v: -k * q - c * v, du_dq=[[-k]], du_dv=[[-c]])
    turned = ss.Lagrangian(
        "mass", M=1.0, q0=1.0, T=lambda q: [[1.0 + q[0] ** 2]],
        u=lambda q, v: (-k * q - c * v) / (1.0 + q**2), du_dv=lambda q: [[-c / (1.0 + q[0] ** 2)]],
        du_dq=lambda q, v: [
            [(-k * (1.0 + q[0] ** 2) + 2.0 * q[0] * (k * q[0] + c * v[0])) / (1.0 + q[0] ** 2) ** 2]
        ],
    )  # fmt: skip
    first = ss.simulate(ss.NonsmoothSystem([plain]), until=1.0, h=0.01)
    for system in (fed, turned):
        assert system.check_jacobians(0.0, [0.3], [0.7]) < 1e-8
        assert system.force_dq(0.0, np.array([0.3]), np.array([0.7]), np.zeros(0)) == pytest.approx(
            np.array([[-k]])
        )
        run = ss.simulate(ss.NonsmoothSystem([system]), until=1.0, h=0.01)
        np.testing.assert_allclose(run.q, first.q, atol=1e-9)


def test_wrong_derivatives_are_found_and_misplaced_ones_refused():
    wrong = ss.FirstOrder("fed", f=lambda x: -x, x0=1.0, u=lambda x, xdot: x - 3.0 * xdot, du_dxdot=[[2.0]])
    with pytest.raises(ss.ModelError, match=r"du_dxdot\[0, 0\] is 2, but differences of T u give -3"):
        wrong.check_jacobians(0.0, [1.0])
    with pytest.raises(ss.ModelError, match="du_dx is given without u"):
        ss.FirstOrder("fed", f=lambda x: -x, x0=1.0, du_dx=[[1.0]])
    with pytest.raises(ss.ModelError, match="T takes"):
        ss.FirstOrder("fed", f=lambda x: -x, x0=1.0, u=lambda t: 1.0, T=lambda xdot: [[1.0]])
    with pytest.raises(ss.ModelError, match="f takes"):
        ss.FirstOrder("fed", f=lambda xdot: -xdot, x0=1.0)
    stuck = ss.FirstOrder("fed", f=lambda x: [1.0], x0=1.0, u=lambda xdot: xdot - np.exp(xdot))
    with pytest.raises(ss.ModelError, match="no ẋ is consistent with the input u"):
        ss.FirstOrder(
            "fed", f=lambda x: [-1.0], x0=1.0, u=lambda xdot: xdot + np.sqrt(2.0 + xdot**2)
        ).velocity(0.0, np.array([1.0]), np.zeros(0), np.zeros(1))
    assert stuck.velocity(0.0, np.array([1.0]), np.zeros(0), np.zeros(1)) == pytest.approx([0.0], abs=1e-12)
