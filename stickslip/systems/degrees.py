"""Relative degree of an interaction: the number of times y must be differentiated until lam appears.

It is determined by the Markov parameters D, CB, CAB, CA²B, ... of the interaction's systems, linearised at a
state (Siconos Developer's Notes 2017, (8.2) to (8.5)). It is 2 for a rigid contact, 0 for a compliant one, 1
for most circuits and for sliding modes. Schemes do not use it; it classifies models.
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
"""Size below which an entry counts as zero, relative to the sum of the magnitudes of its terms [-]: above the
rounding of Jacobians by differences."""
SINGULAR = 1e-10
"""Ratio of singular values below which a matrix with scaled rows and columns counts as singular [-];
heuristic."""


@dataclass(frozen=True, eq=False)
class RelativeDegree:
    """Relative degree of an interaction, with its Markov parameters."""

    interaction: str
    """Name of the interaction."""
    degree: int | None
    """Uniform relative degree; None if there is none."""
    markov: tuple[Array, ...]
    """Markov parameters D, CB, CAB, ... [any], each of shape (m, m), up to the first that is not zero."""
    reason: str
    """The result in words."""
    rows: tuple[int | None, ...]
    """For each row j of y, the number of times it must be differentiated until lam_j appears, (1.24) to
    (1.28);
    None if it never does. These differ between rows if there is no uniform degree."""

    def __str__(self) -> str:
        return f"interaction {self.interaction!r}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Linearised:
    """Linearisation ẋ = A x + B lam, y = C x + D lam at a state."""

    A: Array
    """Matrix A [any], shape (n, n)."""
    B: Array
    """Matrix B [any], shape (n, m)."""
    C: Array
    """Matrix C [any], shape (m, n)."""
    D: Array
    """Matrix D [any], shape (m, m)."""


def relative_degree(
    system: NonsmoothSystem, interaction: str, *, t: float = 0.0, q: ArrayLike | None = None,
    v: ArrayLike | None = None, lam: ArrayLike | None = None,
) -> RelativeDegree:  # fmt: skip
    """Return the relative degree of an interaction at a state, by default the initial state with lam = 0."""
    model = linearised(system, interaction, t=t, q=q, v=v, lam=lam)
    n, m = model.A.shape[0], model.D.shape[0]
    markov = _markov(model)
    diagonals = np.array([np.diag(parameter) for parameter in markov]) != 0.0
    rows = tuple(int(np.argmax(row)) if row.any() else None for row in diagonals.T)
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
    """Return D, CB, CAB, ..., CA^(n-1)B, with entries below rounding set to zero."""
    parameters = [model.D]
    reach, sizes = model.B, np.abs(model.B)
    for _ in range(model.A.shape[0]):
        parameter, size = model.C @ reach, np.abs(model.C) @ sizes
        parameters.append(np.where(np.abs(parameter) > ZERO * size, parameter, 0.0))
        reach, sizes = model.A @ reach, np.abs(model.A) @ sizes
    return parameters


def linearised(
    system: NonsmoothSystem, interaction: str, *, t: float = 0.0, q: ArrayLike | None = None,
    v: ArrayLike | None = None, lam: ArrayLike | None = None,
) -> Linearised:  # fmt: skip
    """Return A, B, C, D of an interaction at a state; mechanical systems in first-order form, x = (q, v)."""
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
        rows = slice(at, at + flow.start.q.size)
        A[rows, rows] = flow.rate_dx(t, q[place.q], system.z0[place.z])
        M[rows, rows] = flow.mass(t, q[place.q], system.z0[place.z])
        if isinstance(flow, FirstOrder) and flow.driven:
            here = t, q[place.q], system.z0[place.z]
            xdot = flow.velocity(*here, np.zeros(flow.start.q.size))
            _, by_x, by_rate = flow.driven_rate(here[0], here[1], xdot, here[2])
            A[rows, rows] += by_x
            M[rows, rows] -= by_rate
        at = rows.stop
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
    """Return the matrix with entries that are rounding of differences, relative to their row, set to zero."""
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
