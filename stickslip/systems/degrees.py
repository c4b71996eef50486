"""Relative degree of an interaction: how often y must be differentiated until lam appears in it.

The Markov parameters D, CB, CAB, CA²B, ... of the interaction's systems, linearised at a state (Siconos
Developer's Notes 2017, (8.2) to (8.5)). It is 2 for a rigid contact, 0 for a compliant one, 1 for most
circuits and for sliding modes. Schemes do not depend on it; it says what kind of model one has written.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stickslip.names import alternatives
from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems.dynamics import FirstOrderDynamics, vector
from stickslip.systems.first_order import FirstOrder
from stickslip.systems.first_order_view import flow_dx
from stickslip.systems.system import Bound, NonsmoothSystem

ZERO = 1e-8
"""An entry is zero below this part of what its terms would give without cancelling: above the rounding of
Jacobians by differences."""
SINGULAR = 1e-10
"""A matrix is singular below this ratio of its singular values, rows and columns brought to one size."""


@dataclass(frozen=True, eq=False)
class RelativeDegree:
    """The relative degree of an interaction, and what it rests on."""

    interaction: str
    """Its name."""
    degree: int | None
    """The uniform relative degree; None where there is none."""
    markov: tuple[Array, ...]
    """Markov parameters D, CB, CAB, ... [any], each of shape (m, m), up to the first that is not zero."""
    reason: str
    """In words: what was found."""
    rows: tuple[int | None, ...]
    """Of each row j of y how often it must be differentiated until its own lam_j appears, (1.24) to (1.28);
    None where it never does. Rows have degrees of their own where there is no uniform one."""

    def __str__(self) -> str:
        return f"interaction {self.interaction!r}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Linearised:
    """ẋ = A x + B lam, y = C x + D lam at a state."""

    A: Array
    """[any], shape (n, n)."""
    B: Array
    """[any], shape (n, m)."""
    C: Array
    """[any], shape (m, n)."""
    D: Array
    """[any], shape (m, m)."""


def relative_degree(
    system: NonsmoothSystem, interaction: str, *, t: float = 0.0, q: ArrayLike | None = None,
    v: ArrayLike | None = None, lam: ArrayLike | None = None,
) -> RelativeDegree:  # fmt: skip
    """Return the relative degree of an interaction at a state; that of the start and lam = 0 unless given."""
    model = linearised(system, interaction, t=t, q=q, v=v, lam=lam)
    n, m = model.A.shape[0], model.D.shape[0]
    markov = _markov(model)
    diagonals = np.array([np.diag(parameter) for parameter in markov]) != 0.0
    rows = tuple(int(np.argmax(own)) if own.any() else None for own in diagonals.T)
    degree = next((k for k, parameter in enumerate(markov) if parameter.any()), None)
    if degree is None:
        reason = f"none up to {n}: D, CB, ..., CA^{n - 1}B are zero; lam does not act on y at this state"
        return RelativeDegree(interaction, None, tuple(markov), reason, rows)
    name = "D" if degree == 0 else "C" + {1: "", 2: "A"}.get(degree, f"A^{degree - 1}") + "B"
    known = tuple(markov[: degree + 1])
    if m > 1 and _singular(known[-1]):
        reason = f"not uniform: {name} is the first Markov parameter that is not zero, but singular"
        return RelativeDegree(interaction, None, known, reason, rows)
    reason = f"relative degree {degree}: {name} is the first Markov parameter that is not zero"
    return RelativeDegree(interaction, degree, known, reason, rows)


def _markov(model: Linearised) -> list[Array]:
    """D, CB, CAB, ..., CA^(n-1)B, zero where they are rounding."""
    found = [model.D]
    reach, sizes = model.B, np.abs(model.B)
    for _ in range(model.A.shape[0]):
        parameter, size = model.C @ reach, np.abs(model.C) @ sizes
        found.append(np.where(np.abs(parameter) > ZERO * size, parameter, 0.0))
        reach, sizes = model.A @ reach, np.abs(model.A) @ sizes
    return found


def linearised(
    system: NonsmoothSystem, interaction: str, *, t: float = 0.0, q: ArrayLike | None = None,
    v: ArrayLike | None = None, lam: ArrayLike | None = None,
) -> Linearised:  # fmt: skip
    """A, B, C, D of an interaction and its systems at a state; mechanical ones as first-order, x = (q, v)."""
    if interaction not in system.interaction:
        raise ModelError(
            f"unknown interaction {interaction!r}; {alternatives(interaction, system.interaction)}"
        )
    one = system.interaction[interaction]
    owner = f"interaction {interaction!r}"
    at_q = system.q0 if q is None else vector(owner, "q", q, system.q0.size)
    at_v = system.v0 if v is None else vector(owner, "v", v, system.v0.size)
    at = vector(owner, "lam", np.zeros(one.law.size) if lam is None else lam, one.law.size)
    if isinstance(system.systems[one.systems[0]], FirstOrderDynamics):
        return _first_order(system, one, t, at_q, at)
    return _mechanical(system, one, t, at_q, at_v, at)


def _first_order(system: NonsmoothSystem, one: Bound, t: float, q: Array, lam: Array) -> Linearised:
    x, z, output = q[one.q], system.z0[one.z], one.flow
    n, at = x.shape[0], 0
    A, M = np.zeros((n, n)), np.zeros((n, n))
    for i in one.systems:
        flow, place = system.systems[i], system.places[i]
        assert isinstance(flow, FirstOrderDynamics)
        own = slice(at, at + flow.start.q.size)
        A[own, own] = flow.rate_dx(t, q[place.q], system.z0[place.z])
        M[own, own] = flow.mass(t, q[place.q], system.z0[place.z])
        if isinstance(flow, FirstOrder) and flow.driven:
            here = t, q[place.q], system.z0[place.z]
            xdot = flow.velocity(*here, np.zeros(flow.start.q.size))
            _, by_x, by_rate = flow.driven_rate(here[0], here[1], xdot, here[2])
            A[own, own] += by_x
            M[own, own] -= by_rate
        at = own.stop
    K = output.K(t, x, lam, z)
    A = A if K is None else A + K
    B, C, D = output.B(t, x, lam, z), output.C(t, x, lam, z), output.D(t, x, lam, z)
    inverse = np.asarray(np.linalg.inv(M), np.float64)
    return Linearised(_cleaned(inverse @ A), _cleaned(inverse @ B), _cleaned(C), _cleaned(D))


def _mechanical(system: NonsmoothSystem, one: Bound, t: float, q: Array, v: Array, lam: Array) -> Linearised:
    z, output = system.z0[one.z], one.mechanical
    own_q, own_v = q[one.q], v[one.v]
    nq, nv, m = own_q.shape[0], own_v.shape[0], lam.shape[0]
    A, M = np.zeros((nq + nv, nq + nv)), np.zeros((nv, nv))
    at_q = at_v = 0
    for i in one.systems:
        body, place = system.systems[i], system.places[i]
        assert not isinstance(body, FirstOrderDynamics)
        state = q[place.q], v[place.v], system.z0[place.z]
        size_q, size_v = state[0].size, state[1].size
        index = np.concatenate([np.arange(at_q, at_q + size_q), nq + np.arange(at_v, at_v + size_v)])
        A[np.ix_(index, index)] = flow_dx(body, t, *state)
        M[at_v : at_v + size_v, at_v : at_v + size_v] = body.mass(t, state[0], state[2])
        at_q, at_v = at_q + size_q, at_v + size_v
    B, C = np.zeros((nq + nv, m)), np.zeros((m, nq + nv))
    B[nq:] = np.linalg.solve(M, output.dforces_dlam(t, own_q, lam, z))
    C[:, :nq] = output.dy_dq(t, own_q, lam, z)
    D = output.dy_dlam(t, own_q, lam, z)
    return Linearised(_cleaned(A), _cleaned(B), _cleaned(C), np.zeros((m, m)) if D is None else D)


def _cleaned(matrix: Array) -> Array:
    """Without what differences leave where a derivative is zero, row by row."""
    largest = np.abs(matrix).max(axis=1, keepdims=True, initial=0.0)
    return np.where(np.abs(matrix) > 1e-9 * largest, matrix, 0.0)


def _singular(matrix: Array) -> bool:
    rows = np.abs(matrix).max(axis=1, keepdims=True)
    if not rows.all():
        return True
    scaled = matrix / rows
    columns = np.abs(scaled).max(axis=0, keepdims=True)
    if not columns.all():
        return True
    values = np.linalg.svd(scaled / columns, compute_uv=False)
    return bool(values[-1] <= SINGULAR * values[0])
