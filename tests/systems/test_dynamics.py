"""Lagrangian and first-order systems: forces, Jacobians, inputs, discrete parameters, bad input."""

import numba
import numpy as np
import pytest

from stickslip.state import ModelError
from stickslip.systems.derivatives import differences
from stickslip.systems.dynamics import FirstOrderDynamics, SecondOrderDynamics
from stickslip.systems.first_order import FirstOrder, FirstOrderLinear
from stickslip.systems.lagrangian import Lagrangian, LagrangianLinear

NONE = np.zeros(0)
Q, V = np.array([0.3, -0.8]), np.array([1.2, 0.4])


def pendulums(**options):
    return Lagrangian(
        "pendulums",
        M=lambda q: [[2.0, np.cos(q[0] - q[1])], [np.cos(q[0] - q[1]), 1.0]],
        N=lambda q, v: np.sin(q[0] - q[1]) * np.array([v[1] ** 2, -(v[0] ** 2)]),
        F_int=lambda t, q, v: [q[0] ** 3 + 0.1 * v[0], t * q[1] * v[1]],
        F_ext=lambda t: [np.sin(t), 0.0],
        T=lambda q: [[q[0]], [1.0]], u=lambda t, v: [t * v[0]], q0=Q, v0=V, **options,
    )  # fmt: skip


def test_the_force_is_the_sum_of_its_parts():
    body, t = pendulums(), 0.7
    N = np.sin(Q[0] - Q[1]) * np.array([V[1] ** 2, -(V[0] ** 2)])
    F_int = np.array([Q[0] ** 3 + 0.1 * V[0], t * Q[1] * V[1]])
    known = np.array([np.sin(t), 0.0]) - F_int - N + np.array([Q[0], 1.0]) * t * V[0]
    assert body.force(t, Q, V, NONE) == pytest.approx(known)
    assert isinstance(body, SecondOrderDynamics)
    assert not isinstance(body, FirstOrderDynamics)


def test_derivatives_of_the_force():
    body = pendulums()
    for which, found in ((1, body.force_dq(0.7, Q, V, NONE)), (2, body.force_dv(0.7, Q, V, NONE))):
        assert found == pytest.approx(differences(body.force, which, 2)(0.7, Q, V, NONE), abs=1e-8)
    assert body.check_jacobians(0.7, Q, V) < 1e-8


def test_what_depends_on_nothing_has_no_derivative():
    ball = Lagrangian("ball", M=2.0, q0=[0.0, 1.0], F_ext=lambda t: [0.0, -t])
    assert ball.force_dq(0.0, Q, V, NONE) is None
    assert ball.force_dv(0.0, Q, V, NONE) is None
    assert ball.constant_mass
    assert not pendulums().constant_mass


def test_a_given_jacobian_is_used_and_a_wrong_one_found():
    right = Lagrangian("body", M=1.0, q0=0.0, F_int=lambda q: q**3, dF_int_dq=lambda q: 3.0 * q**2)
    assert right.force_dq(0.0, np.array([2.0]), V[:1], NONE).tolist() == [[-12.0]]
    assert right.check_jacobians(0.0, 2.0, 0.0) < 1e-8
    wrong = Lagrangian("body", M=1.0, q0=0.0, F_int=lambda q: q**3, dF_int_dq=lambda q: 2.0 * q**2)
    with pytest.raises(ModelError, match=r"'body': at t = 0 s, dF_int_dq\[0, 0\] is 8, .* F_int give 12"):
        wrong.check_jacobians(0.0, 2.0, 0.0)


def test_linear_systems():
    M, C, K = np.diag([2.0, 3.0]), np.eye(2), np.array([[2.0, -1.0], [-1.0, 2.0]])
    body = LagrangianLinear("pair", M=M, C=C, K=K, q0=Q, v0=V, F_ext=[0.0, 5.0])
    assert body.force(0.0, Q, V, NONE) == pytest.approx([0.0, 5.0] - C @ V - K @ Q)
    assert body.force_dq(0.0, Q, V, NONE) == pytest.approx(-K)
    assert body.force_dv(0.0, Q, V, NONE) == pytest.approx(-C)
    assert body.is_compiled
    assert body.K.tolist() == K.tolist()
    step = 1e-6
    slopes = [
        (body.potential(0.0, Q + step * e, NONE) - body.potential(0.0, Q - step * e, NONE)) / (2.0 * step)
        for e in np.eye(2)
    ]
    assert -np.array(slopes) == pytest.approx(body.force(0.0, Q, 0.0 * V, NONE), abs=1e-8)


def test_potential_energy_of_what_is_known():
    ball = Lagrangian("ball", M=2.0, q0=[0.0, 1.0], F_ext=[0.0, -19.62])
    assert ball.potential(0.0, np.array([5.0, 3.0]), NONE) == pytest.approx(58.86)
    unknown = Lagrangian("ball", M=2.0, q0=[0.0, 1.0], F_ext=[0.0, -19.62], F_int=lambda q: q)
    assert unknown.potential(0.0, Q, NONE) == 0.0


def test_discrete_parameters():
    """A controller that is sampled: z holds its last output, and is renewed when a step begins."""
    body = Lagrangian(
        "plant",
        M=1.0,
        q0=1.0,
        u=lambda z: [z[0]],
        z=[0.0],
        z_update=lambda t, q, v, z: -4.0 * q - v + 0.0 * z,
    )
    z = body.update(0.0, np.array([1.0]), np.array([0.5]), body.start.z)
    assert z.tolist() == [-4.5]
    assert body.force(0.0, np.array([9.0]), np.array([9.0]), z).tolist() == [-4.5]
    flow = FirstOrder("flow", f=lambda x, z: -x + z, x0=1.0, z=[3.0], z_update=lambda t, z: z + t)
    assert flow.update(2.0, flow.start.q, NONE, flow.start.z).tolist() == [5.0]
    assert flow.rate(0.0, np.array([1.0]), np.array([5.0])).tolist() == [4.0]


def test_inputs():
    constant = Lagrangian("body", M=1.0, q0=Q, T=[[1.0], [2.0]], u=[3.0])
    assert constant.force(0.0, Q, V, NONE).tolist() == [3.0, 6.0]
    assert constant.is_compiled
    plain = Lagrangian("body", M=1.0, q0=Q, u=lambda t: [t, 0.0])
    assert plain.force(2.0, Q, V, NONE).tolist() == [2.0, 0.0]
    flow = FirstOrder(
        "flow", f=lambda x: 0.0 * x, x0=Q, T=lambda x: x.reshape(2, 1), u=lambda t, x: [t * x[0]]
    )
    assert flow.rate(2.0, Q, NONE) == pytest.approx(2.0 * Q[0] * Q)
    known = differences(lambda t, x, b, z: flow.rate(t, x, z), 1, 2)(2.0, Q, NONE, NONE)
    assert flow.rate_dx(2.0, Q, NONE) == pytest.approx(known, abs=1e-8)


def test_first_order_systems():
    flow = FirstOrder("flow", f=lambda t, x: [x[1], -np.sin(x[0]) + t], x0=Q)
    assert flow.rate_dx(0.0, Q, NONE) == pytest.approx(np.array([[0.0, 1.0], [-np.cos(Q[0]), 0.0]]), abs=1e-9)
    assert isinstance(flow, FirstOrderDynamics)
    linear = FirstOrderLinear("linear", A=lambda t: [[t, 1.0], [0.0, -t]], b=lambda t: [0.0, t], x0=Q, M=2.0)
    assert linear.rate(3.0, Q, NONE) == pytest.approx([3.0 * Q[0] + Q[1], -3.0 * Q[1] + 3.0])
    assert linear.rate_dx(3.0, Q, NONE).tolist() == [[3.0, 1.0], [0.0, -3.0]]
    assert linear.mass(0.0, Q, NONE).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert not linear.is_compiled
    assert FirstOrderLinear("linear", A=np.eye(2), b=Q, x0=Q).is_compiled
    with pytest.raises(ModelError, match=r"system 'flow': at t = 0 s, df_dx\[0, 0\] is 2"):
        FirstOrder("flow", f=lambda x: -x, x0=1.0, df_dx=2.0).check_jacobians(0.0, [1.0])


def test_compiled_systems_are_known_as_such():
    gravity = numba.njit(lambda t: np.array([-9.81]))
    assert Lagrangian("ball", M=1.0, q0=1.0, F_ext=gravity).is_compiled
    assert not Lagrangian("ball", M=1.0, q0=1.0, F_ext=lambda t: [-9.81]).is_compiled
    spring = numba.njit(lambda q: q)
    assert not Lagrangian("ball", M=1.0, q0=1.0, F_int=spring).is_compiled, "its Jacobian is by differences"
    differenced = Lagrangian("ball", M=1.0, q0=1.0, F_int=spring).jacobians["F_int", 1]
    of, which = differenced.difference_of
    assert of.compiled is spring
    assert which == 1
    assert Lagrangian("ball", M=1.0, q0=1.0, F_int=spring, dF_int_dq=1.0).is_compiled


MECHANICAL = {
    "M is missing": {"M": None},
    r"M has shape \(3, 3\), expected \(2, 2\)": {"M": np.eye(3)},
    "at t = 0 s, M is singular or not positive definite": {"M": np.zeros((2, 2))},
    "at t = 0 s, M is not symmetric": {"M": [[1.0, 0.5], [0.0, 1.0]]},
    r"at t = 0 s, M is not finite": {"M": lambda q: np.full((2, 2), np.nan)},
    r"M takes \(v\); it may take \(t, q, z\)": {"M": lambda v: v},
    "q0 is not finite": {"q0": [np.inf, 0.0]},
    r"q0 has shape \(2, 2\), expected a vector": {"q0": np.eye(2)},
    "v0 has 3 entries, expected 2": {"v0": [1.0, 2.0, 3.0]},
    r"F_ext has shape \(3,\), expected \(2,\)": {"F_ext": [1.0, 2.0, 3.0]},
    "at t = 0 s, F_ext is not finite": {"F_ext": lambda t: [np.nan, 0.0]},
    r"at t = 0 s, dF_int_dq has shape \(3, 3\), expected \(2, 2\)": {
        "F_int": lambda q: q, "dF_int_dq": lambda q: np.eye(3),
    },
    "a Jacobian of N is given without N": {"dN_dq": np.eye(2)},
    "T is given without u": {"T": np.eye(2)},
    r"T has shape \(2, 2\), expected \(2, 1\)": {"T": np.eye(2), "u": [1.0]},
    r"at t = 0 s, z_update has shape \(2,\), expected \(1,\)": {"z": [1.0], "z_update": lambda t: [t, t]},
}  # fmt: skip


@pytest.mark.parametrize("words", MECHANICAL)
def test_bad_mechanics_is_named(words):
    with pytest.raises(ModelError, match=f"^system 'body': {words}"):
        Lagrangian("body", **{"M": 1.0, "q0": [0.0, 0.0], **MECHANICAL[words]})


def test_bad_linear_mechanics_is_named():
    with pytest.raises(ModelError, match=r"^system 'body': K has shape \(3, 3\), expected \(2, 2\)"):
        LagrangianLinear("body", M=1.0, K=np.eye(3), q0=[0.0, 0.0])
    with pytest.raises(ModelError, match=r"^system 'body': C is a function; a linear system takes constants"):
        LagrangianLinear("body", M=1.0, C=lambda q: q, q0=[0.0, 0.0])
    with pytest.raises(ModelError, match=r"^system 'body': M is missing"):
        LagrangianLinear("body", M=None, q0=[0.0, 0.0])


FLOWS = {
    "f is missing": {"f": None},
    r"f takes \(x, lam\); it may take \(t, x, z\)": {"f": lambda x, lam: x},
    r"at t = 0 s, f has shape \(1,\), expected \(2,\)": {"f": lambda x: x[:1]},
    "at t = 0 s, M is singular": {"M": np.zeros((2, 2))},
    "at t = 0 s, f is not finite": {"f": lambda x: np.nan * x},
    r"df_dx has shape \(3, 3\), expected \(2, 2\)": {"df_dx": np.eye(3)},
}


@pytest.mark.parametrize("words", FLOWS)
def test_bad_flows_are_named(words):
    with pytest.raises(ModelError, match=f"^system 'flow': {words}"):
        FirstOrder("flow", **{"f": lambda x: -x, "x0": [0.0, 0.0], **FLOWS[words]})


def test_the_part_that_is_not_a_number_is_named():
    with pytest.raises(ModelError, match=r"^system 'flow': at t = 0 s, b is not finite"):
        FirstOrderLinear("flow", A=1.0, b=lambda t: [np.nan], x0=1.0)
    with pytest.raises(ModelError, match=r"^system 'flow': at t = 0 s, u is not finite"):
        FirstOrderLinear("flow", A=1.0, u=lambda t: [np.nan], x0=1.0)
    with pytest.raises(ModelError, match=r"^system 'body': at t = 0 s, T is not finite"):
        Lagrangian("body", M=1.0, T=lambda q: [[np.inf]], u=1.0, q0=1.0)


def test_bad_linear_flows_are_named():
    with pytest.raises(ModelError, match=r"^system 'flow': A takes \(x\); it may take \(t, z\)"):
        FirstOrderLinear("flow", A=lambda x: x, x0=1.0)
    with pytest.raises(ModelError, match=r"^system 'flow': A is missing"):
        FirstOrderLinear("flow", A=None, x0=1.0)
