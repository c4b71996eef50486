"""What kind of problem a problem is: its sizes, mass ratio, rank and conditioning."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.operator import BodyDelassus
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import Problem


@dataclass(frozen=True)
class Features:
    """Figures of a problem; None where they were not computed or have no meaning."""

    kind: str
    """`local` (W given), `global` (M and H given) or `box`."""
    contacts: int
    """Contacts; unknowns of a box problem."""
    dimension: int
    """Components of a contact; 0 where they differ."""
    size: int
    """Unknowns: components of r."""
    velocities: int = 0
    """Velocities of a global problem."""
    equalities: int = 0
    """Bilateral constraints of a global problem."""
    rolling: bool = False
    """Whether some contact resists rolling."""
    mass_ratio: float | None = None
    """Largest over smallest mass [-]: of bodies where M shows them, else of the diagonal of M."""
    rank: int | None = None
    """Rank of W: below `size` the impulses are not unique."""
    conditioning: float | None = None
    """Largest over smallest nonzero eigenvalue of W [-]."""
    estimated: bool = False
    """Whether rank and conditioning are estimates, not from all eigenvalues."""

    @classmethod
    def of(cls, problem: Problem, spectrum: bool = False) -> "Features":
        """The sizes of a problem; with `spectrum` its mass ratio, rank and conditioning too."""
        if not isinstance(problem, ContactProblem | GlobalProblem):
            made = cls("box", problem.size, 1, problem.size)
            return made._with_spectrum(problem) if spectrum else made
        K = problem.K
        touching = K.kind != FREE
        sizes = np.diff(K.offset)
        own = np.unique(sizes[touching])
        made = cls(
            kind="local", contacts=int(touching.sum()), dimension=int(own[0]) if own.size == 1 else 0,
            size=K.size, equalities=int(sizes[~touching].sum()), rolling=_rolls(K),
        )  # fmt: skip
        if isinstance(problem, GlobalProblem):
            equalities = made.equalities + problem.g_bias.size
            made = replace(made, kind="global", velocities=problem.M.size, equalities=equalities)
        return made._with_spectrum(problem) if spectrum else made

    def with_facts(self, info: dict[str, str]) -> "Features":
        """The same with what a file says of itself, as `bench record` or FCLIB (`W.rank`) write it."""
        rank, conditioning = _number(info, "rank", "W.rank"), _number(info, "conditioning", "W.cond")
        ratio = _number(info, "mass_ratio")
        whole = rank is not None and rank.is_integer() and 0.0 <= rank <= self.size
        return replace(
            self,
            mass_ratio=ratio if ratio is not None and ratio >= 1.0 else self.mass_ratio,
            rank=int(rank) if whole and rank is not None else self.rank,
            conditioning=conditioning
            if conditioning is not None and conditioning >= 1.0
            else self.conditioning,
            estimated=info.get("estimated", "") == "yes" if whole else self.estimated,
        )

    def facts(self) -> dict[str, str]:
        """The figures as a file keeps them, those that are known; the inverse of `with_facts`."""
        said = {"mass_ratio": self.mass_ratio, "rank": self.rank, "conditioning": self.conditioning}
        found = {name: repr(value) for name, value in said.items() if value is not None}
        return found | ({"estimated": "yes" if self.estimated else "no"} if "rank" in found else {})

    def _with_spectrum(self, problem: Problem) -> "Features":
        found = spectrum(problem)
        ratio = mass_ratio(problem) if isinstance(problem, GlobalProblem) else None
        return replace(
            self, mass_ratio=ratio, rank=found.rank, conditioning=found.conditioning,
            estimated=found.estimated,
        )  # fmt: skip


def mass_ratio(problem: GlobalProblem) -> float | None:
    """Largest over smallest mass [-]; None where nothing moves.

    Six velocities in a row whose first three have one and the same mass are a body in space, three of which
    the first two have are one in the plane, if that holds all along M; else every velocity counts.
    """
    diagonal = problem.M.sparse.diagonal()
    for velocities, masses in ((6, 3), (3, 2)):
        if diagonal.size and diagonal.size % velocities == 0:
            rows = diagonal.reshape(-1, velocities)[:, :masses]
            if (rows == rows[:, :1]).all():
                diagonal = rows[:, 0]
                break
    return float(diagonal.max() / diagonal.min()) if diagonal.size else None


FREE = 0
"""Kind of the blocks of a product set that are bilateral constraints."""


def _rolls(K: ProductSet) -> bool:
    """Whether some contact has a second group of two components with a coefficient above zero."""
    starts = K.group_offset[:-1][np.diff(K.group_offset) > 1] + 1
    return bool(((K.group_size[starts] == 2) & (K.coefficient[starts] > 0.0)).any())


def _number(info: dict[str, str], *names: str) -> float | None:
    """The finite number that a file says under the first of the names that is there, None without any."""
    text = next((info[name] for name in names if name in info), "")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


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
    if problem.g_bias.size:
        return _of_jointed_motion(problem)
    root = inverse_root(M.sparse)
    if root is not None:
        return _of_root(sp.csr_array(root @ H))
    if n <= DENSE:
        return _told(_symmetric(H.T @ M.solve(H.toarray())), max(n, nv))
    return _estimate(lambda x: H.T @ M.solve(H @ x), n, min(n, nv))


def _of_jointed_motion(problem: GlobalProblem) -> Spectrum:
    M, H, n, nv = problem.M, problem.H_sparse(), problem.size, problem.M.size
    if nv <= DENSE:
        Z = sl.null_space(problem.G_sparse().T.toarray())
        pushes = H.T @ Z
        return _told(_symmetric(pushes.T @ pushes, Z.T @ M.sparse.toarray() @ Z), max(n, nv))
    pulled = _eliminated(problem)
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
