"""Rank and conditioning of W: from all its eigenvalues where that takes seconds, estimated beyond.

W is the operator of u = W r + u_free over the components of r. Of a global problem it is

    W = H' P H,   P = M^-1 - M^-1 G (G' M^-1 G)⁺ G' M^-1 = Z (Z' M Z)^-1 Z'   with Z a basis of ker G'

that is H' M^-1 H with the bilateral constraints in G eliminated; free blocks of K are components of r like
any others. Its nonzero eigenvalues are those of the pencil (Z'H H'Z, Z'M Z) too, so the smaller of r and v is
worked on. Of a box problem the matrix is A, with singular values in place of eigenvalues. An eigenvalue is
nonzero above n ε of the largest: that is rounding of W itself, however it is stored.

Estimates are those of Lanczos' method with full orthogonalisation from fixed starts. From W z it stays in the
range of W and meets its smallest nonzero eigenvalue from above: conditioning is a lower bound. From z the
share of z in the null space is the weight of the Ritz values below that (quadrature of Golub & Meurant 2010,
Matrices, Moments and Quadrature, 6.1), whose mean over z of random signs is that of the dimensions.
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
STEPS = 100
"""Products with W in one run of Lanczos' method."""
PROBES = 3
"""Runs that the rank is the mean of."""
SHIFT = 1e-12
"""Of bilateral constraints that say one thing twice, relative to their own size [-]."""

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
        J = W.sparse()
        least = min(J.shape)
        if least <= DENSE:
            return _told(_symmetric((J @ J.T if least == n else J.T @ J).toarray()), max(J.shape))
        return _estimate(lambda x: J @ (J.T @ x), n, least)
    if n <= DENSE:
        return _told(_symmetric(W.dense()), n)
    matrix = sp.csr_array(W.blocks(problem.K).sparse())
    matrix = sp.csr_array(0.5 * matrix + 0.5 * matrix.T)
    return _estimate(lambda x: matrix @ x, n, n)


def _of_motion(problem: GlobalProblem) -> Spectrum:
    M, H, n, nv = problem.M, problem.H_sparse(), problem.size, problem.M.size
    bilateral = problem.g_bias.size > 0
    if nv <= min(DENSE, n) or (bilateral and nv <= DENSE):
        pencil = (H @ H.T).toarray(), M.sparse.toarray()
        if bilateral:
            Z = sl.null_space(problem.G_sparse().T.toarray())
            pencil = Z.T @ pencil[0] @ Z, Z.T @ pencil[1] @ Z
        return _told(_symmetric(*pencil), max(n, nv))
    pulled = _eliminated(problem) if bilateral else M.solve
    if n <= DENSE:
        return _told(_symmetric(H.T @ pulled(H.toarray())), max(n, nv))
    return _estimate(lambda x: H.T @ pulled(H @ x), n, min(n, nv))


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
    within, _ = _ritz(apply, apply(starts[0]))
    largest = np.abs(within).max(initial=0.0)
    nonzero = within[within > n * np.finfo(float).eps * largest]
    if not nonzero.size or not np.isfinite(largest):
        return Spectrum(0, None, True)
    null = 0.0
    for start in starts:
        values, weights = _ritz(apply, start)
        null += float(weights[values < 0.5 * nonzero.min()].sum()) / PROBES
    rank = min(most, round(n * (1.0 - null)))
    return Spectrum(rank, float(nonzero.max() / nonzero.min()), True)


def _ritz(apply: Apply, start: Array) -> tuple[Array, Array]:
    """Ritz values of Lanczos' method, and the share of the start that each stands for."""
    length = np.linalg.norm(start)
    if not np.isfinite(length) or length == 0.0:
        return np.zeros(0), np.zeros(0)
    steps = min(STEPS, start.size)
    basis = np.empty((steps, start.size))
    basis[0] = start / length
    diagonal, beside = np.zeros(steps), np.zeros(steps)
    done = steps
    for k in range(steps):
        x = apply(basis[k])
        diagonal[k] = x @ basis[k]
        for _ in range(2):  # once leaves what rounding brought back
            x = x - basis[: k + 1].T @ (basis[: k + 1] @ x)
        beside[k] = np.linalg.norm(x)
        if not beside[k] > start.size * np.finfo(float).eps * np.abs(diagonal[: k + 1]).max():
            done = k + 1  # the start has been seen whole
            break
        if k + 1 < steps:
            basis[k + 1] = x / beside[k]
    values, vectors = sl.eigh_tridiagonal(diagonal[:done], beside[: done - 1])
    return np.asarray(values), np.asarray(vectors[0] ** 2)
