"""Rank and conditioning of W: from all its eigenvalues where that takes seconds, estimated beyond.

W is the operator of u = W r + u_free over the components of r. Of a global problem it is

    W = H' P H,   P = M^-1 - M^-1 G (G' M^-1 G)⁺ G' M^-1 = Z (Z' M Z)^-1 Z'   with Z a basis of ker G'

that is H' M^-1 H with the bilateral constraints in G eliminated; free blocks of K are components of r like
any others. Its nonzero eigenvalues are those of the pencil (Z'H H'Z, Z'M Z) too, and without G, with
M = L L', those of L^-1 H H' L^-T, so the smaller of r and v is worked on. Of a box problem the matrix is A,
with singular values in place of eigenvalues. An eigenvalue is nonzero above n ε of the largest: that is
rounding of W itself, however it is stored.

Estimates are those of Lanczos' method with full orthogonalisation from fixed starts. From W z it stays in the
range of W, until rounding has grown into the null space, where it ends; its Ritz values come down on the
smallest nonzero eigenvalue, so conditioning is a lower bound. From z the share of z in the null space is the
weight of the Ritz values below (quadrature of Golub & Meurant 2010, Matrices, Moments and Quadrature, 6.1),
whose mean over z of random signs is the share of the dimensions.
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
"""Rows up to which all eigenvalues are found."""
LEAST, MOST, WORK = 80, 300, 1_000_000
"""Products with W in one run of Lanczos' method: WORK over its rows, within these bounds."""
PROBES = 2
"""Runs that the rank is the mean of."""
SHIFT = 1e-12
"""Of bilateral constraints that say one thing twice, relative to their own size [-]."""

OUTSIDE = 1e-4
"""Of a vector, the part in the null space at which it is no longer one of the range [-]."""
BLOCKS = (6, 3, 2, 1)
"""Velocities of a body: in space, in the plane, of a point there, of a coordinate by itself."""

Apply = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Spectrum:
    """What the eigenvalues of W tell."""

    rank: int
    """Nonzero eigenvalues."""
    conditioning: float | None
    """Largest over smallest nonzero one [-]; None where all are zero."""
    estimated: bool
    """Whether they are estimates."""


def spectrum(problem: Problem) -> Spectrum:
    """Rank and conditioning of W, or of A for a box problem."""
    if not problem.size:
        return Spectrum(0, None, False)
    with np.errstate(all="ignore"):  # what overflows is not finite, and has no spectrum
        if isinstance(problem, BoxProblem):
            return _of_box(problem)
        if isinstance(problem, GlobalProblem):
            return _of_motion(problem)
        return _of_contacts(problem)


def _of_box(problem: BoxProblem) -> Spectrum:
    A, n = problem.A, problem.size
    if n <= DENSE:
        return _told(np.linalg.svd(A if isinstance(A, np.ndarray) else A.toarray(), compute_uv=False), n)
    found = _estimate(lambda x: A.T @ (A @ x), n, n)
    root = None if found.conditioning is None else found.conditioning**0.5
    return Spectrum(found.rank, root, True)


def _of_contacts(problem: ContactProblem) -> Spectrum:
    W, n = problem.W, problem.size
    if isinstance(W, BodyDelassus):
        return _of_root(sp.csr_array(W.sparse().T))
    if n <= DENSE:
        return _told(_symmetric(W.dense()), n)
    matrix = sp.csr_array(W.blocks(problem.K).sparse())
    matrix = sp.csr_array(0.5 * matrix + 0.5 * matrix.T)
    return _estimate(lambda x: matrix @ x, n, n)


def _of_motion(problem: GlobalProblem) -> Spectrum:
    M, H, n, nv = problem.M, problem.H_sparse(), problem.size, problem.M.size
    jointed = problem.g_bias.size > 0
    if jointed and nv <= DENSE:
        Z = sl.null_space(problem.G_sparse().T.toarray())
        pushes = H.T @ Z
        return _told(_symmetric(pushes.T @ pushes, Z.T @ M.sparse.toarray() @ Z), max(n, nv))
    root = None if jointed else inverse_root(M.sparse)
    if root is not None:
        return _of_root(sp.csr_array(root @ H))
    pulled = _eliminated(problem) if jointed else M.solve
    if n <= DENSE:
        return _told(_symmetric(H.T @ pulled(H.toarray())), max(n, nv))
    return _estimate(lambda x: H.T @ pulled(H @ x), n, min(n, nv))


def _of_root(B: sp.csr_array) -> Spectrum:
    """Of W = B'B, by the smaller of it and B B'."""
    if B.shape[0] > B.shape[1]:
        B = sp.csr_array(B.T)
    if B.shape[0] <= DENSE:
        return _told(_symmetric((B @ B.T).toarray()), max(B.shape))
    return _estimate(lambda x: B @ (B.T @ x), B.shape[0], B.shape[0])


def inverse_root(M: sp.csr_array) -> sp.bsr_array | None:
    """L^-1 with M = L L', where M is a block for each body; None where it couples more."""
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
    """p -> P p, by the sparse factors of [M G; G' -δ], δ far below G' M^-1 G."""
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


def _told(values: Array, n: int) -> Spectrum:
    """What all eigenvalues or singular values tell."""
    size = np.abs(values)
    nonzero = size[size > n * np.finfo(float).eps * size.max(initial=0.0)]
    if not nonzero.size:
        return Spectrum(0, None, False)
    return Spectrum(int(nonzero.size), float(nonzero.max() / nonzero.min()), False)


def _estimate(apply: Apply, n: int, most: int) -> Spectrum:
    """Estimates for an operator of n rows whose rank is at most `most`."""
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
    """Ritz values of Lanczos' method, and the share of the start that each stands for.

    in_range: end where rounding, which follows the same recurrence in the null space, has grown to OUTSIDE.
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
        for _ in range(2):  # once leaves enough of the basis to bring back what is converged, as ghosts
            x = x - basis[: k + 1].T @ (basis[: k + 1] @ x)
        beside[k] = np.linalg.norm(x)
        if not beside[k] > start.size * np.finfo(float).eps * np.abs(diagonal[: k + 1]).max():
            done = k + 1  # the start has been seen whole
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
