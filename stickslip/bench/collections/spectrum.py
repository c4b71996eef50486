"""Rank and conditioning of W: from all its eigenvalues for moderate sizes, else estimated.

W is the operator of u = W r + u_free over the components of r. For a global problem it is

    W = H' P H,   P = M^-1 - M^-1 G (G' M^-1 G)⁺ G' M^-1 = Z (Z' M Z)^-1 Z'   with Z a basis of ker G'

that is H' M^-1 H with the bilateral constraints in G eliminated; free blocks of K are components of r. Its
nonzero eigenvalues are also those of the pencil (Z'H H'Z, Z'M Z), and without G, with M = L L', those of L^-1
H H' L^-T; the smaller of these matrices is used. For a box problem the matrix is A, with singular values in
place of eigenvalues. Eigenvalues above n ε of the largest count as nonzero; n ε is the rounding error of W.

Estimates use Lanczos' method with full orthogonalisation and fixed start vectors. Started from W z, it stays
in the range of W, and ends when rounding has grown in the null space. Its Ritz values approach the smallest
nonzero eigenvalue from above, so the conditioning is a lower bound. Started from z, the share of z in the
null space is the weight of the Ritz values below that eigenvalue (quadrature of Golub & Meurant 2010,
Matrices, Moments and Quadrature, 6.1); its mean over vectors z of random signs is the relative dimension of
the null space.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.operator import BodyDelassus
from stickslip.problem.solution import Problem

DENSE = 1500
"""Largest number of rows for which all eigenvalues are computed."""
LEAST, MOST, WORK = 80, 300, 1_000_000
"""Products with W in a run of Lanczos' method: WORK over its rows, within LEAST and MOST; heuristic."""
PROBES = 2
"""Number of random vectors over which the rank is averaged; heuristic."""
SHIFT = 1e-12
"""Regularisation of redundant bilateral constraints, relative to their diagonal [-]; heuristic."""

OUTSIDE = 1e-4
"""Component in the null space at which Lanczos' method in the range ends [-]; heuristic."""
BLOCKS = (6, 3, 2, 1)
"""Numbers of velocities: of a body in space, a body in the plane, a point in the plane, a coordinate."""

Apply = Callable[[Array], Array]
"""Function that multiplies a vector by W."""


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Rank and conditioning of W."""

    rank: int
    """Number of nonzero eigenvalues."""
    conditioning: float | None
    """Largest over smallest nonzero eigenvalue [-]; None if all are zero."""
    estimated: bool
    """Whether rank and conditioning are estimates."""


def spectrum(problem: Problem) -> Spectrum:
    """Rank and conditioning of W, or of A for a box problem."""
    if not problem.size:
        return Spectrum(0, None, False)
    with np.errstate(all="ignore"):  # matrices that overflow have no spectrum
        if isinstance(problem, BoxProblem):
            return _of_box(problem)
        if isinstance(problem, GlobalProblem):
            return _of_motion(problem)
        return _of_contacts(problem)


def _of_box(problem: BoxProblem) -> Spectrum:
    A, n = problem.A, problem.size
    if n <= DENSE:
        return _from_values(
            np.linalg.svd(A if isinstance(A, np.ndarray) else A.toarray(), compute_uv=False), n
        )
    estimate = _estimate(lambda x: A.T @ (A @ x), n, n)
    root = None if estimate.conditioning is None else estimate.conditioning**0.5
    return Spectrum(estimate.rank, root, True)


def _of_contacts(problem: ContactProblem) -> Spectrum:
    W, n = problem.W, problem.size
    if isinstance(W, BodyDelassus):
        return _of_root(sp.csr_array(W.sparse().T))
    if n <= DENSE:
        return _from_values(_symmetric(W.dense()), n)
    matrix = sp.csr_array(W.blocks(problem.K).sparse())
    matrix = sp.csr_array(0.5 * matrix + 0.5 * matrix.T)
    return _estimate(lambda x: matrix @ x, n, n)


def _of_motion(problem: GlobalProblem) -> Spectrum:
    M, H, n, nv = problem.M, problem.H_sparse(), problem.size, problem.M.size
    jointed = problem.g_bias.size > 0
    if jointed and nv <= DENSE:
        Z = sl.null_space(problem.G_sparse().T.toarray())
        pushes = H.T @ Z
        return _from_values(_symmetric(pushes.T @ pushes, Z.T @ M.sparse.toarray() @ Z), max(n, nv))
    root = None if jointed else inverse_root(M.sparse)
    if root is not None:
        return _of_root(sp.csr_array(root @ H))
    pulled = _eliminated(problem) if jointed else M.solve
    if n <= DENSE:
        return _from_values(_symmetric(H.T @ pulled(H.toarray())), max(n, nv))
    return _estimate(lambda x: H.T @ pulled(H @ x), n, min(n, nv))


def _of_root(B: sp.csr_array) -> Spectrum:
    """Spectrum of W = B'B, from the smaller of B'B and B B'."""
    if B.shape[0] > B.shape[1]:
        B = sp.csr_array(B.T)
    if B.shape[0] <= DENSE:
        return _from_values(_symmetric((B @ B.T).toarray()), max(B.shape))
    return _estimate(lambda x: B @ (B.T @ x), B.shape[0], B.shape[0])


def inverse_root(M: sp.csr_array) -> sp.bsr_array | None:
    """L^-1 with M = L L' if M is block diagonal with a block per body, else None."""
    for k in BLOCKS:
        if M.shape[0] % k == 0:
            blocks = M.tobsr(blocksize=(k, k))
            count = np.arange(M.shape[0] // k)
            if np.array_equal(blocks.indices, count) and np.array_equal(blocks.indptr[:-1], count):
                symmetric = 0.5 * blocks.data + 0.5 * blocks.data.transpose(0, 2, 1)
                inverse = np.linalg.inv(np.linalg.cholesky(symmetric))
                return sp.bsr_array((inverse, blocks.indices, blocks.indptr), shape=M.shape)
    return None


def _eliminated(problem: GlobalProblem) -> Callable[[Any], Any]:
    """Function p -> P p, with sparse factors of [M G; G' -δ] and δ much smaller than G' M^-1 G."""
    M, G, p = problem.M, problem.G_sparse(), problem.g_bias.size
    size = sp.csr_array(G.T @ M.solve(G)).diagonal()
    shift = sp.diags_array(-SHIFT * np.where(size > 0.0, size, 1.0))
    factor = spla.splu(sp.csc_matrix(sp.block_array([[M.sparse, G], [G.T, shift]])))

    def pulled(momenta: Any) -> Any:
        both = np.concatenate([momenta, np.zeros((p, *momenta.shape[1:]))])
        return factor.solve(both)[: M.size]

    return pulled


def _symmetric(W: Array, M: Array | None = None) -> Array:
    """Eigenvalues of the symmetric part of W, or of the pencil (W, M), ascending, shape (n,)."""
    if not W.size:
        return np.zeros(0)
    both = [0.5 * one + 0.5 * one.T for one in (W, M) if one is not None]
    if not all(np.isfinite(one).all() for one in both):
        return np.zeros(0)
    return np.asarray(sl.eigh(*both, eigvals_only=True))


def _from_values(values: Array, n: int) -> Spectrum:
    """Rank and conditioning from all eigenvalues or singular values."""
    size = np.abs(values)
    nonzero = size[size > n * np.finfo(float).eps * size.max(initial=0.0)]
    if not nonzero.size:
        return Spectrum(0, None, False)
    return Spectrum(int(nonzero.size), float(nonzero.max() / nonzero.min()), False)


def _estimate(apply: Apply, n: int, most: int) -> Spectrum:
    """Estimate rank and conditioning of an operator with n rows and rank at most `most`."""
    generator = np.random.default_rng(0)
    starts = [generator.choice((-1.0, 1.0), n) for _ in range(PROBES)]
    within, _ = _ritz(apply, apply(starts[0]), in_range=True)
    largest = float(within.max(initial=0.0))
    nonzero = within[within > n * np.finfo(float).eps * largest]
    if not nonzero.size or not np.isfinite(largest):
        return Spectrum(0, None, True)
    null = 0.0
    for start in starts:
        values, weights = _ritz(apply, start)
        null += float(weights[values < 0.5 * nonzero.min()].sum()) / PROBES
    return Spectrum(min(most, round(n * (1.0 - null))), largest / float(nonzero.min()), True)


def _ritz(apply: Apply, start: Array, in_range: bool = False) -> tuple[Array, Array]:
    """Ritz values of Lanczos' method, and the share of the start vector in each Ritz vector.

    in_range: end when rounding, which follows the same recurrence in the null space, has grown to OUTSIDE.
    """
    length = np.linalg.norm(start)
    if not np.isfinite(length) or length == 0.0:
        return np.zeros(0), np.zeros(0)
    steps = min(start.size, MOST, max(LEAST, WORK // start.size))
    basis = np.empty((steps, start.size))
    basis[0] = start / length
    diagonal, beside = np.zeros(steps), np.zeros(steps)
    outside, before, done = np.finfo(float).eps, 0.0, steps
    for k in range(steps):
        x = apply(basis[k])
        diagonal[k] = x @ basis[k]
        for _ in range(
            2
        ):  # orthogonalise twice: once leaves components that give spurious copies of Ritz values
            x = x - basis[: k + 1].T @ (basis[: k + 1] @ x)
        beside[k] = np.linalg.norm(x)
        if not beside[k] > start.size * np.finfo(float).eps * np.abs(diagonal[: k + 1]).max():
            done = k + 1  # invariant subspace: the start vector is represented exactly
            break
        last = before * beside[k - 1] if k else 0.0
        outside, before = -(diagonal[k] * outside + last) / beside[k], outside
        if in_range and abs(outside) > OUTSIDE:
            done = k + 1
            break
        if k + 1 < steps:
            basis[k + 1] = x / beside[k]
    values, vectors = sl.eigh_tridiagonal(diagonal[:done], beside[: done - 1])
    return np.asarray(values), np.asarray(vectors[0] ** 2)
