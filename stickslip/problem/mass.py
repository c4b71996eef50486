"""Mass (or iteration) matrix M of a global problem: checks, products and solves.

Three forms: a dense array, a SciPy matrix, or one k x k block per body. The symmetric part of M must be
positive definite; recorded matrices are symmetric only to rounding. M is never symmetrised. Body blocks must
be symmetric.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import qdldl
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.linalg import lapack

from stickslip.problem.checks import Array, ProblemError, finite, floats, frozen, sparse

SMALL = 256
"""Largest number of coupled velocities that are inverted as a dense block."""
DENSE = 128
"""Number of velocities up to which M is factored as a dense array, where call overhead dominates."""
LARGE_FACTOR = 8_000_000
"""Size of a factor of M up to which the check always factors M (64 MB)."""


@dataclass(frozen=True, eq=False)
class MassMatrix:
    """Mass matrix M of shape (nv, nv), with products and solves."""

    matrix: Any
    """M [kg, kg m, kg m^2]: array of shape (nv, nv), SciPy matrix, or blocks of shape (bodies, k, k)."""

    @property
    def size(self) -> int:
        """Number of velocities nv."""
        shape = self.matrix.shape
        return int(shape[0] * shape[1]) if len(shape) == 3 else int(shape[0])

    @cached_property
    def is_body_blocks(self) -> bool:
        """Whether M is stored as one block per body."""
        return not sp.issparse(self.matrix) and self.matrix.ndim == 3

    @cached_property
    def sparse(self) -> sp.csr_array:
        """M as a SciPy matrix."""
        if not self.is_body_blocks:
            return sp.csr_array(self.matrix)
        nb, k, _ = self.matrix.shape
        return sp.bsr_array((self.matrix, np.arange(nb), np.arange(nb + 1)), shape=(nb * k, nb * k)).tocsr()

    @cached_property
    def small(self) -> Array | None:
        """M as a dense array if it has at most DENSE rows, shape (nv, nv); otherwise None."""
        if self.size > DENSE:
            return None
        return self.sparse.toarray() if self.is_body_blocks or sp.issparse(self.matrix) else self.matrix

    def multiply(self, v: Array) -> Array:
        """Return M v [N s], same shape as v."""
        return self.sparse @ v if self.small is None else self.small @ v

    def solve(self, p: Any) -> Any:
        """Return M^-1 p for a vector, or a dense or sparse matrix (the result is of the same kind)."""
        kind, factor = self._factor
        if kind == "inverse":
            return factor @ p
        if kind == "dense":
            x = lapack.dgetrs(*factor, p.toarray() if sp.issparse(p) else p)[0]
            return sp.csr_array(x) if sp.issparse(p) else x
        if sp.issparse(p):
            return sp.csr_array(factor.solve(p.toarray()))
        return factor.solve(np.asarray(p))

    @cached_property
    def inverse_root(self) -> Array:
        """F with M^-1 = F F' for each body, shape (bodies, k, k); only for body blocks."""
        lower = np.linalg.cholesky(_symmetric(self.matrix))
        return np.asarray(frozen(np.ascontiguousarray(np.linalg.inv(lower).transpose(0, 2, 1))))

    @cached_property
    def _factor(self) -> tuple[str, Any]:
        if self.size == 0:
            return "inverse", self.sparse
        if self.small is not None:
            return "dense", lapack.dgetrf(self.small)[:2]
        M = self.sparse
        count, label = sp.csgraph.connected_components(M, directed=False)
        sizes = np.bincount(label, minlength=count)
        if sizes.max() > SMALL:
            return "lu", spla.splu(sp.csc_matrix(M))
        return "inverse", _inverse_by_components(M, label, sizes)


def mass_matrix(value: Any) -> MassMatrix:
    """Return a mass matrix from user data, checked for shape, NaN and positive definiteness."""
    if isinstance(value, MassMatrix):
        return value
    if sp.issparse(value):
        matrix = sparse("M", value)
        _square(matrix.shape)
    else:
        matrix = floats("M", value)
        if matrix.ndim not in (2, 3) or matrix.shape[-1] != matrix.shape[-2]:
            raise ProblemError(
                f"M has shape {matrix.shape}, expected (nv, nv), or (bodies, k, k) for body blocks"
            )
        finite("M", matrix)
    mass = MassMatrix(matrix)
    if mass.is_body_blocks:
        _check_symmetric_bodies(matrix)
    _check_positive(mass)
    return mass


def _check_symmetric_bodies(blocks: Array) -> None:
    """Raise a ProblemError unless body blocks are symmetric to rounding, as Cholesky factors require."""
    skew = np.abs(blocks - np.swapaxes(blocks, 1, 2)).max(axis=(1, 2), initial=0.0)
    uneven = skew > 1e-10 * np.abs(blocks).max(axis=(1, 2), initial=0.0)
    if uneven.any():
        i = int(np.argmax(uneven))
        raise ProblemError(
            f"M of body {i} is not symmetric: entries differ by {skew[i]:.3g} across the diagonal"
        )


def _square(shape: tuple[int, ...]) -> None:
    if shape[0] != shape[1]:
        raise ProblemError(f"M has shape {shape}, expected a square matrix")


def _symmetric(blocks: Array) -> Array:
    return 0.5 * blocks + 0.5 * np.swapaxes(blocks, -1, -2)


def _check_positive(mass: MassMatrix) -> None:
    M = mass.sparse
    if mass.size == 0:
        return
    diagonal = M.diagonal()
    if not (diagonal > 0.0).all():
        i = int(np.flatnonzero(~(diagonal > 0.0))[0])
        raise ProblemError(f"M is not positive definite: diagonal entry {i} is {diagonal[i]}")
    # A matrix that is far from symmetric is rejected, whatever its eigenvalues.
    skew = abs(M - M.T)
    worst = skew.max() if skew.nnz else 0.0
    if worst > 1e-2 * abs(M).max():
        k = int(np.argmax(skew.tocoo().data))
        i, j = int(skew.tocoo().coords[0][k]), int(skew.tocoo().coords[1][k])
        raise ProblemError(
            f"M is not symmetric: entries ({i}, {j}) and ({j}, {i}) are {M[i, j]} and {M[j, i]}"
        )
    count, label = sp.csgraph.connected_components(M, directed=False)
    sizes = np.bincount(label, minlength=count)
    for part in _components(label, sizes, SMALL):
        blocks = _symmetric(_gather(M, part))
        try:
            np.linalg.cholesky(blocks)
        except np.linalg.LinAlgError:
            low = np.linalg.eigvalsh(blocks)[:, 0]
            k = int(np.argmin(low))
            raise ProblemError(
                f"M is not positive definite: its block of velocities {_range(part[k])}"
                f" has smallest eigenvalue {low[k]:.3g}"
            ) from None
    if sizes.max() > SMALL:
        _check_positive_sparse(M)


def _check_positive_sparse(M: sp.csr_array) -> None:
    """Check the pivots of L D L': all are positive exactly if M is positive definite (Sylvester).

    If the factor might be far larger than M, Lanczos' method searches for a negative eigenvalue instead.
    """
    symmetric = sp.csc_matrix(0.5 * M + 0.5 * M.T)
    if _profile(symmetric) > max(LARGE_FACTOR, 25 * M.nnz):
        _look_for_negative_eigenvalue(symmetric)
        return
    try:
        _, D, order = qdldl.Solver(symmetric).factors()
    except Exception as error:  # qdldl raises a bare error on a zero pivot
        raise ProblemError(f"M is not positive definite: its factorisation failed ({error})") from None
    if not (D > 0.0).all():
        k = int(np.flatnonzero(~(D > 0.0))[0])
        raise ProblemError(f"M is not positive definite: pivot of velocity {int(order[k])} is {D[k]:.3g}")


def _profile(M: sp.csc_matrix) -> int:
    """Return an upper bound on the entries of L in the reverse Cuthill-McKee order."""
    order = sp.csgraph.reverse_cuthill_mckee(sp.csr_matrix(M), symmetric_mode=True)
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    row, col = (place[c] for c in M.tocoo().coords)
    first = np.arange(order.size)
    np.minimum.at(first, row, col)
    return int((np.arange(order.size) - first).sum())


def _look_for_negative_eigenvalue(M: sp.csc_matrix) -> None:
    start = np.random.default_rng(0).normal(size=M.shape[0])
    try:
        low = float(spla.eigsh(M, k=1, which="SA", v0=start, maxiter=200, return_eigenvectors=False)[0])
    except spla.ArpackNoConvergence as unfinished:
        low = float(min(unfinished.eigenvalues, default=0.0))
    if low < 0.0:
        raise ProblemError(f"M is not positive definite: its smallest eigenvalue is at most {low:.3g}")


def _components(label: np.ndarray, sizes: np.ndarray, largest: int) -> list[np.ndarray]:
    """Return coupled sets of velocities, grouped by size: index arrays of shape (count, size)."""
    order = np.argsort(label, kind="stable")
    start = np.concatenate([[0], np.cumsum(sizes)])
    groups = []
    for size in np.unique(sizes):
        if size <= largest:
            chosen = np.flatnonzero(sizes == size)
            groups.append(order[start[chosen][:, None] + np.arange(size)])
    return groups


def _gather(M: sp.csr_array, part: np.ndarray) -> Array:
    """Return dense diagonal blocks of M on the index sets of `part`, shape (count, size, size)."""
    count, size = part.shape
    where = np.full(M.shape[0], -1)
    where[part.reshape(-1)] = np.arange(part.size)
    coo = M.tocoo()
    row, col = (where[c] for c in coo.coords)
    inside = row >= 0
    blocks = np.zeros((count, size, size))
    np.add.at(blocks, (row[inside] // size, row[inside] % size, col[inside] % size), coo.data[inside])
    return blocks


def _inverse_by_components(M: sp.csr_array, label: np.ndarray, sizes: np.ndarray) -> sp.csr_array:
    row, col, value = [], [], []
    for part in _components(label, sizes, SMALL):
        blocks = np.linalg.inv(_gather(M, part))
        size = part.shape[1]
        row.append(np.repeat(part, size, axis=1).reshape(-1))
        col.append(np.tile(part, (1, size)).reshape(-1))
        value.append(blocks.reshape(-1))
    coords = (np.concatenate(row), np.concatenate(col))
    return sp.coo_array((np.concatenate(value), coords), shape=M.shape).tocsr()


def _range(indices: np.ndarray) -> str:
    low, high = int(indices.min()), int(indices.max())
    return f"{low}" if low == high else f"{low} to {high}"
