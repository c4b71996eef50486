"""Mechanical systems in first-order form: x = (q, v), ẋ = (T(q) v, M⁻¹ F), with the Jacobian.

Siconos Developer's Notes 2017, (2.10) to (2.13). An input p of the mechanical system is the input
r = (0, M⁻¹ p) of the first-order system. (2.14) omits M⁻¹, a misprint: it contradicts f of (2.12).
"""

import numpy as np

from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems.derivatives import differences
from stickslip.systems.dynamics import EMPTY, SecondOrderDynamics
from stickslip.systems.first_order import FirstOrder


def to_first_order(system: SecondOrderDynamics) -> FirstOrder:
    """Return a Lagrangian, linear or Newton-Euler system as a first-order system with state x = (q, v)."""
    start, nq = system.start, system.start.q.shape[0]

    def f(t: float, x: Array, z: Array) -> Array:
        return flow(system, t, x[:nq], x[nq:], z)

    def df_dx(t: float, x: Array, z: Array) -> Array:
        return flow_dx(system, t, x[:nq], x[nq:], z)

    def z_update(t: float, x: Array, z: Array) -> Array:
        return system.update(t, x[:nq], x[nq:], z)

    x0 = np.concatenate([start.q, start.v])
    parameters = {"z": start.z, "z_update": z_update} if start.z.size else {}
    return FirstOrder(system.name, f=f, x0=x0, df_dx=df_dx, **parameters)  # type: ignore[arg-type]


def flow(system: SecondOrderDynamics, t: float, q: Array, v: Array, z: Array) -> Array:
    """Rate f = (T(q) v, M⁻¹ F) of x [m/s, m/s², ...], shape (nq + nv,), by (2.12)."""
    return np.concatenate([_coordinate_rates(system, q, v), acceleration(system, t, q, v, z)])


def acceleration(system: SecondOrderDynamics, t: float, q: Array, v: Array, z: Array) -> Array:
    """Acceleration M⁻¹ F [m/s², rad/s²], shape (nv,)."""
    return _solved(system, t, system.mass(t, q, z), system.force(t, q, v, z))


def flow_dx(system: SecondOrderDynamics, t: float, q: Array, v: Array, z: Array) -> Array:
    """∂f/∂x [any], shape (nq + nv, nq + nv), by (2.13), with ∂(M⁻¹)/∂q F = -M⁻¹ ∂(M a)/∂q at a = M⁻¹ F."""
    nq, nv = q.shape[0], v.shape[0]
    A = np.zeros((nq + nv, nq + nv))
    T, M = system.kinematics(q), system.mass(t, q, z)
    if T is None:
        A[:nq, nq:] = np.eye(nv)
    else:
        A[:nq, nq:] = T
        A[:nq, :nq] = differences(lambda t, q, b, z: _coordinate_rates(system, q, v), 1, nq)(t, q, EMPTY, z)
    by_q, by_v = system.force_dq(t, q, v, z), system.force_dv(t, q, v, z)
    if by_q is not None:
        A[nq:, :nq] = by_q
    if not system.constant_mass:
        a = acceleration(system, t, q, v, z)
        A[nq:, :nq] -= differences(lambda t, q, b, z: system.mass(t, q, z) @ a, 1, nv)(t, q, EMPTY, z)
    if by_v is not None:
        A[nq:, nq:] = by_v
    A[nq:] = _solved(system, t, M, A[nq:])
    return A


def _coordinate_rates(system: SecondOrderDynamics, q: Array, v: Array) -> Array:
    T = system.kinematics(q)
    return v if T is None else T @ v


def _solved(system: SecondOrderDynamics, t: float, M: Array, right: Array) -> Array:
    try:
        return np.asarray(np.linalg.solve(M, right), np.float64)
    except np.linalg.LinAlgError:
        raise ModelError(f"system {system.name!r}: at t = {t:.9g} s, M is singular") from None
