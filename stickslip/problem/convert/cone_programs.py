"""Conversion of contact problems to cone programs, in impulses (dual) or velocities (primal).

    dual:    min ½ r'W r + (u_free + s e_N)'r     over r ∈ K
    primal:  min ½ v'M v - f'v                    with G'v + g_bias = 0,  H'v + u_bias + s e_N ∈ K*

with a given shift s for each contact. Both are equivalent to K* ∋ u + s e_N ⟂ r ∈ K. With s = 0 that is the
convex relaxation (Anitescu & Hart 2004; Tasora & Anitescu 2011); if s = sum_k mu_k |u_k| at the solution, it
is Coulomb's law (Acary, Cadoux, Lemaréchal & Malick 2011). `friction_shift` computes this s.

A cone of several groups is split: u_N + s >= sum_k t_k with (t_k, mu_k u_k) in second-order cones
(Nguyen 2021, 1.1.2). An interval becomes t >= |u| with a cost (support function).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import cones
from stickslip.problem.checks import Array, IntArray, ProblemError, finite, flat
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert.conversion import Answer
from stickslip.problem.convert.facets import check_facets, corners, reach, sides
from stickslip.problem.convert.units import group_starts
from stickslip.problem.operator import BlockDelassus, BodyDelassus, Delassus
from stickslip.problem.program import ConeProgram
from stickslip.problem.sets import ProductSet

FAR = 1e-2
"""Largest relative asymmetry of W for which its symmetric part is used; recorded ones have up to 2e-3."""


@dataclass(frozen=True)
class ProgramConversion:
    """A cone program, the map of its solution back, and the same program for other shifts."""

    problem: ConeProgram
    """The program, for shift 0."""
    recover: Callable[[Array, Array], Answer]
    """Map from the unknowns x and multipliers y of the program to the solution of the original."""
    shifted: "Shifted"
    """Function that returns the program for a shift s of u_N, with the same P and A."""


class Shifted(Protocol):
    """Call signature of `ProgramConversion.shifted`."""

    def __call__(self, s: Array, last: Answer | None = None) -> ConeProgram:
        """Return the program for a shift s [m/s], shape (nb,), 0 without friction.

        A program contains the symmetric part of W or M. With `last`, the solution of the previous iteration,
        the remaining part is applied to that solution, so that a loop on s converges to the law with the
        given W or M.
        """


def dual_program(problem: ContactProblem, facets: int = 0) -> ProgramConversion:
    """Return the cone program in impulses, x = r. With `facets` the cones are pyramids, which gives a
    quadratic program.

    W must be symmetric; the program contains the symmetric part of a slightly unsymmetric W.

    Example:

        problem = ss.ContactProblem(np.eye(3) / 2.0, [-0.07, 0.07, 0.0], ss.coulomb([0.5]))
        print(ss.problem.dual_program(problem).problem)
    """
    if not isinstance(problem, ContactProblem):
        raise ProblemError(
            f"dual_program takes a ContactProblem, not {type(problem).__name__};"
            " convert a GlobalProblem by reduce_to_contacts"
        )
    K = problem.K
    facets = check_facets(K, facets) if facets else 0
    W = sp.csr_array(_matrix(problem.W))
    P = symmetric_part("W", W)
    rest = _rest(W, P)
    rows = _impulse_rows(K, facets)
    A, b = rows.matrix(K.size)
    program = ConeProgram(P, problem.u_free, A, b, *rows.sizes)

    def shifted(s: Array, last: Answer | None = None) -> ConeProgram:
        c = problem.u_free + _at_normals(K, s)
        return program.with_(c=c if last is None or rest is None else c + rest @ last.r)

    return ProgramConversion(program, lambda x, y: Answer(flat("x", x, K.size)), shifted)


def primal_program(problem: GlobalProblem, facets: int = 0) -> ProgramConversion:
    """Return the cone program in velocities: x is v and bounds t; r and lam are its multipliers.

    With `facets` the cones are pyramids, which gives a quadratic program, dual to that of `dual_program`.
    """
    if not isinstance(problem, GlobalProblem):
        raise ProblemError(f"primal_program takes a GlobalProblem, not {type(problem).__name__}")
    K, n, nv, p = problem.K, problem.size, problem.M.size, problem.g_bias.size
    facets = check_facets(K, facets) if facets else 0
    rows, cost, r_given = _velocity_rows(K, facets)
    of_ut, constant = rows.matrix(n + cost.size)
    of_u, of_t = of_ut[:, :n], of_ut[:, n:]
    H, G = problem.H_sparse(), problem.G_sparse()
    A = sp.block_array([[G.T, sp.csr_array((p, cost.size))], [of_u @ H.T, of_t]], format="csr")
    M = symmetric_part("M", problem.M.sparse)
    rest = _rest(problem.M.sparse, M)
    P = sp.block_array([[M, None], [None, sp.csr_array((cost.size, cost.size))]], format="csr")
    c = np.concatenate([-problem.f - H @ r_given, cost])

    def right(s: Array) -> Array:
        return np.concatenate([problem.g_bias, of_u @ (problem.u_bias + _at_normals(K, s)) + constant])

    zero, nonnegative, second_order = rows.sizes
    program = ConeProgram(P, c, A, right(np.zeros(len(K))), p + zero, nonnegative, second_order)

    def recover(x: Array, y: Array) -> Answer:
        x, y = flat("x", x, program.size), flat("y", y, program.rows)
        return Answer(r_given + of_u.T @ y[p:], x[:nv], None if problem.G is None else y[:p])

    def shifted(s: Array, last: Answer | None = None) -> ConeProgram:
        if last is None or last.v is None or rest is None:
            return program.with_(b=right(s))
        return program.with_(b=right(s), c=c + np.concatenate([rest @ last.v, np.zeros(cost.size)]))

    return ProgramConversion(program, recover, shifted)


def friction_shift(K: ProductSet, u: Array, facets: int = 0) -> Array:
    """Return s = sum_k mu_k |u_k| of each block, the shift of Coulomb's law [m/s], (nb,), 0 without friction.

    With `facets` the norm is that of the pyramid, max_j -D_j·u_k.
    """
    u = flat("u", u, K.size)
    groups = _groups(K)
    s = np.zeros(len(K))
    for size in np.unique(K.group_size).tolist():
        g = np.flatnonzero(K.group_size == size)
        components = groups.start[g][:, None] + np.arange(size)
        np.add.at(s, groups.block[g], K.coefficient[g] * reach(u[components], facets))
    return s


def symmetric_part(name: str, matrix: Any) -> sp.csr_array:
    """Return (A + A')/2; reject a matrix that is far from symmetric or has a negative diagonal."""
    matrix = sp.csr_array(matrix)
    with np.errstate(all="ignore"):  # the program rejects an overflow
        size, skew = (float(abs(x).max()) if matrix.nnz else 0.0 for x in (matrix, matrix - matrix.T))
    if skew > FAR * size:
        raise ProblemError(
            f"{name} is unsymmetric: entries differ by {skew / size:.1e} of the largest from their mirror"
            f" image; a cone program needs a symmetric {name}"
        )
    lowest = matrix.diagonal().min(initial=0.0)
    if lowest < -1e-12 * size:
        raise ProblemError(
            f"{name} has a diagonal entry {lowest:.3g}; a cone program needs a positive semidefinite {name}"
        )
    return sp.csr_array(0.5 * matrix + 0.5 * matrix.T)


def _rest(matrix: sp.csr_array, symmetric: sp.csr_array) -> sp.csr_array | None:
    """Return a matrix minus its symmetric part; None if it is symmetric to rounding."""
    rest = sp.csr_array(matrix - symmetric)
    rest.eliminate_zeros()
    return rest if rest.nnz and abs(rest).max() > 1e-15 * abs(symmetric).max() else None


@dataclass(frozen=True)
class _Groups:
    """Groups of all friction cones, as arrays with one entry each."""

    block: IntArray
    normal: IntArray
    """Normal component of r of each group."""
    start: IntArray
    live: np.ndarray
    """Whether mu > 0."""


def _groups(K: ProductSet) -> _Groups:
    block = K.group_owner
    return _Groups(block, K.offset[:-1][block], group_starts(K), K.coefficient > 0.0)


class _Rows:
    """Rows of s = A x + b in construction: zero, nonnegative and cone rows."""

    def __init__(self) -> None:
        self._parts: dict[str, list[tuple[Array, Array, Array]]] = {"zero": [], "nonnegative": [], "cone": []}
        self._cones: list[IntArray] = []

    def add(self, kind: str, columns: Any, values: Any, constant: Any = 0.0) -> None:
        """Add k rows from columns and values of shape (k, entries) and constants of shape (k,)."""
        k = columns.shape[0]
        values = np.broadcast_to(values, columns.shape)
        self._parts[kind].append((columns, values, np.broadcast_to(constant, (k,))))

    def add_cones(self, head: Any, head_value: Any, tail: Any, tail_value: Any) -> None:
        """Add cones head >= |tail|: columns of shape (k,) and (k, size)."""
        columns = np.concatenate([head[:, None], tail], axis=1)
        values = np.empty(columns.shape)
        values[:, 0], values[:, 1:] = head_value, tail_value
        self.add("cone", columns.reshape(-1, 1), values.reshape(-1, 1))
        self._cones.append(np.full(columns.shape[0], columns.shape[1]))

    def add_half_spaces(self, head: Any, head_value: Any, tail: Any, normals: Array, scale: Any) -> None:
        """Add head + scale normals_j·tail >= 0 for every j: columns of shape (k,) and (k, size)."""
        (k, size), m = tail.shape, normals.shape[0]
        columns = np.repeat(np.concatenate([head[:, None], tail], axis=1), m, axis=0)
        values = np.empty((k, m, 1 + size))
        values[:, :, 0] = np.broadcast_to(head_value, (k,))[:, None]
        values[:, :, 1:] = np.broadcast_to(scale, (k,))[:, None, None] * normals
        self.add("nonnegative", columns, values.reshape(k * m, 1 + size))

    @property
    def sizes(self) -> tuple[int, int, IntArray]:
        """Numbers of zero and nonnegative rows, and the sizes of the cones."""
        zero, plain = (sum(c.shape[0] for c, _, _ in self._parts[kind]) for kind in ("zero", "nonnegative"))
        return zero, plain, np.concatenate([np.zeros(0, np.int64), *self._cones])

    def matrix(self, columns: int) -> tuple[sp.csr_array, Array]:
        """Return A and b, with rows in the order of a ConeProgram."""
        row, col, val, constants, count = [], [], [], [np.zeros(0)], 0
        for part in (part for kind in self._parts.values() for part in kind):
            k, entries = part[0].shape
            row.append(count + np.repeat(np.arange(k), entries))
            col.append(part[0].reshape(-1))
            val.append(part[1].reshape(-1))
            constants.append(part[2])
            count += k
        if not row:
            return sp.csr_array((0, columns)), np.zeros(0)
        entries_at = np.concatenate(row), np.concatenate(col)
        matrix = sp.coo_array((np.concatenate(val), entries_at), shape=(count, columns)).tocsr()
        return matrix, np.concatenate(constants)


def _impulse_rows(K: ProductSet, facets: int) -> _Rows:
    """Return rows for r ∈ K: cones (mu_k r_N, r_k), and half-spaces for bounds, pyramids and 2D friction."""
    rows, groups, mu = _Rows(), _groups(K), K.coefficient
    low, high, component = _bounds(K)
    pinned = low == high
    rows.add("zero", component[pinned][:, None], 1.0, -low[pinned])
    below, above = np.isfinite(low) & ~pinned, np.isfinite(high) & ~pinned
    rows.add("nonnegative", component[below][:, None], 1.0, -low[below])
    rows.add("nonnegative", component[above][:, None], -1.0, high[above])
    implied = np.zeros(len(K), bool)  # contacts whose r_N >= 0 is implied by a cone
    implied[groups.block[groups.live]] = True
    smooth = (K.kind == cones.FRICTION) & ~implied
    rows.add("nonnegative", K.offset[:-1][smooth][:, None], 1.0)
    for size in np.unique(K.group_size).tolist():
        none, some = (np.flatnonzero((K.group_size == size) & live) for live in (~groups.live, groups.live))
        rows.add("zero", (groups.start[none][:, None] + np.arange(size)).reshape(-1, 1), 1.0)
        tail = groups.start[some][:, None] + np.arange(size)
        if size == 1 or facets:
            normals, distance = sides(size, facets)
            rows.add_half_spaces(groups.normal[some], distance * mu[some], tail, normals, -1.0)
        else:
            rows.add_cones(groups.normal[some], mu[some], tail, 1.0)
    return rows


def _velocity_rows(K: ProductSet, facets: int) -> tuple[_Rows, Array, Array]:
    """Return rows for u ∈ K* over (u, t), the cost of t, and the constant part of r.

    r = r_given + (columns of u)'y. The cost of an interval is max(-lower u, -upper u) = -middle u + half |u|.
    """
    rows, groups, mu, n = _Rows(), _groups(K), K.coefficient, K.size
    low, high, component = _bounds(K)
    pinned, below, above = low == high, np.isfinite(low), np.isfinite(high)
    unbounded, bounded = ~below & ~above, below & above & ~pinned
    rows.add("zero", component[unbounded][:, None], 1.0)
    rows.add("nonnegative", component[below & ~above][:, None], 1.0)
    rows.add("nonnegative", component[above & ~below][:, None], -1.0)
    r_given = np.zeros(n)
    with np.errstate(invalid="ignore"):
        middle = np.where(below & above, 0.5 * low + 0.5 * high, np.where(below, low, high))
    r_given[component] = np.where(unbounded, 0.0, middle)
    nt = int(bounded.sum())
    rows.add_half_spaces(n + np.arange(nt), 1.0, component[bounded][:, None], corners(1, 0), 1.0)
    # A single live group is bounded by u_N itself, several by their t_k.
    count = np.bincount(groups.block[groups.live], minlength=len(K))
    split = groups.live & (count[groups.block] > 1)
    head = groups.normal.copy()
    head[split] = n + nt + np.arange(int(split.sum()))
    smooth = (K.kind == cones.FRICTION) & (count == 0)
    rows.add("nonnegative", K.offset[:-1][smooth][:, None], 1.0)
    for k in np.unique(count[count > 1]).tolist():  # u_N >= sum of t_k
        block = np.flatnonzero(count == k)
        bounds = head[split & (count[groups.block] == k)].reshape(block.size, k)
        columns = np.concatenate([K.offset[:-1][block][:, None], bounds], axis=1)
        rows.add("nonnegative", columns, np.concatenate([[1.0], -np.ones(k)]))
    for size in np.unique(K.group_size).tolist():
        some = np.flatnonzero((K.group_size == size) & groups.live)
        tail = groups.start[some][:, None] + np.arange(size)
        if size == 1 or facets:
            rows.add_half_spaces(head[some], 1.0, tail, corners(size, facets), mu[some])
        else:
            rows.add_cones(head[some], 1.0, tail, mu[some][:, None])
    half = 0.5 * high[bounded] - 0.5 * low[bounded]
    return rows, np.concatenate([half, np.zeros(int(split.sum()))]), r_given


def _bounds(K: ProductSet) -> tuple[Array, Array, IntArray]:
    """Return bounds and indices of the components of blocks without friction, shape (count,) each."""
    plain = K.kind != cones.FRICTION
    sizes = np.diff(K.offset)
    component = np.flatnonzero(np.repeat(plain, sizes))
    low, high = np.repeat(K.lower, sizes)[component], np.repeat(K.upper, sizes)[component]
    return low, high, component


def _at_normals(K: ProductSet, s: Array) -> Array:
    """Return s e_N, shape (n,)."""
    s = flat("s", s, len(K), "one per block")
    finite("s", s, lambda k: f"block {k[0]}")
    plain = np.flatnonzero((K.kind != cones.FRICTION) & (s != 0.0))
    if plain.size:
        i = int(plain[0])
        raise ProblemError(f"s of block {i} is {s[i]}, but it is {K.kind_name(i)}: it has no friction")
    out = np.zeros(K.size)
    out[K.offset[:-1]] = s
    return out


def _matrix(W: Delassus) -> Any:
    if isinstance(W, BodyDelassus):
        J = W.sparse()
        return J @ J.T
    return W.sparse() if isinstance(W, BlockDelassus) else W.dense()
