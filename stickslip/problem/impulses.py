"""Set of all impulses with the velocities of a solution: its least element, an inner one, and uniqueness.

Velocities may be unique although impulses are not: a box on four corners distributes its weight in many ways.
With the velocities u of a certified solution r0, the certified impulses with the same velocities are the
convex set

    R(u) = { r : A r = A r0,  r_i in F_i(u_i) },    A = H (with G), or W,

F_i is the face of the law at u_i: {0} for an opening contact (u_N > 0), the ray (1, -mu u_T / |u_T|) for a
sliding one, the cone for a sticking one (u = 0). Each group of a friction cone slides or sticks separately.
An interval is reduced to its bound if u is not 0. This is the law r ∈ K, u_hat ∈ K*, r·u_hat = 0 solved for r
(De Saxcé & Feng 1998).

- least: the element of least norm Σ |r_i|², in N s, with moments divided by a length. It is unique, because
  the norm is strictly convex, and independent of the solver, the order of contacts and the basis of tangents.
- inside: an element of the relative interior. It determines the properties of all elements: which contacts
  are loaded, which can hold with less than their full friction, and which impulses are the same in all
  elements. It is computed by facial reduction (Borwein & Wolkowicz 1981): while some bounds are active, the
  sum of the distances from them is maximised; bounds that cannot be left are active for all elements of R(u).

"u = 0" is decided as in `states.py`: below ten times the tolerance of the solution, relative to the root mean
square of the impulses. Moments of rolling and torsion are divided by the lengths of the judge
(`residuals.py`); rows of blocks without friction are measured in their given units.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import cones
from stickslip.kernels import impulses as kernels
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, IntArray, ProblemError
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.impulse_balance import DIRECTIONS, SAME, Balance, Rows
from stickslip.problem.nonlinear import NonlinearProblem
from stickslip.problem.operator import DenseDelassus, block_delassus
from stickslip.problem.residuals import delassus_diagonal, metric
from stickslip.problem.sets import ProductSet, free, interval
from stickslip.problem.solution import Solution
from stickslip.state import BoolArray

ZERO = 10.0
"""Multiple of the tolerance below which velocities count as zero, as in `states.py` [-]."""
ROUNDS = 30
"""Largest number of facial reductions; one or two are typical."""
BALANCED = 1e-9
"""Relative |A r - A r0| below which a projection has converged [-]."""


class ImpulseSet:
    """The set R(u) of one solution; its elements are computed on first access."""

    def __init__(
        self,
        problem: ContactProblem | GlobalProblem,
        r: Array,
        u: Array,
        tolerance: float,
        lam: Array | None = None,
        error: float | None = None,
    ):
        """Create the set from impulses r [N s] (and lam) and velocities u [m/s] that solve `problem`.

        tolerance: accuracy of the solution. error: its error by the judge, by default the tolerance [-],
        which is the accuracy of the directions of sliding.
        """
        self.problem = problem
        p = 0 if lam is None else lam.size
        both = np.concatenate([r, lam]) if lam is not None and p else r
        K = problem.K + free(*(1,) * p) if p else problem.K
        self._length, push, self._K = _units(problem, K)
        self._z, self._y = both / self._length, push * (np.concatenate([u, np.zeros(p)]) if p else u)
        size = max(float(np.linalg.norm(self._z)), float(np.linalg.norm(self._y)))
        self._cut = ZERO * tolerance * size / np.sqrt(max(1, len(problem.K)))
        self._error = ZERO * (tolerance if error is None else error) * size
        self._rows = Rows.of(problem)

    @classmethod
    def of(cls, solution: Solution, error: float | None = None) -> "ImpulseSet":
        """Return the set of a certified solution of a contact, global or box problem.

        error: accuracy of the directions of sliding, by default the error of the solution [-].
        """
        problem = solution.problem
        if isinstance(problem, NonlinearProblem):
            raise ProblemError(
                "the set of impulses of a NonlinearProblem is not defined, because F is not affine"
            )
        if not solution.ok:
            raise ProblemError(
                f"the answer has status {solution.status.name}; a set of impulses needs a certified answer"
            )
        if isinstance(problem, BoxProblem):
            problem = _as_contacts(problem)
        error = solution.residuals.error if error is None else error
        return cls(problem, solution.r, solution.u, solution.tolerance, solution.lam, error)

    @cached_property
    def least(self) -> Array:
        """Impulses of least norm [N s], shape (n,)."""
        return self._impulses(self._nearest[0])[: self.problem.size]

    @cached_property
    def least_lam(self) -> Array:
        """Bilateral multipliers of the least impulses [N s], shape (p,)."""
        return self._impulses(self._nearest[0])[self.problem.size :]

    @property
    def error(self) -> float:
        """Relative |A r - A r0| of the least impulses, rows of A divided by their norms [-]."""
        return self._nearest[1]

    @cached_property
    def inside(self) -> Array:
        """Impulses in the relative interior of the set [N s], shape (n,)."""
        return self._impulses(self._interior[0])[: self.problem.size]

    @cached_property
    def strict(self) -> BoolArray:
        """Whether some element of the set is inside the bounds of a block's face [-], shape (nb,).

        Such a block keeps its state under small changes: an open contact stays open, a loaded one stays
        loaded, a sticking one has friction in reserve. The others are on a boundary for every element of the
        set.
        """
        return np.logical_not(self._interior[1])[: self.problem.contacts]

    @cached_property
    def unique(self) -> BoolArray:
        """Whether the impulse of a block is the same in all elements of the set [-], shape (nb,)."""
        faces = self._smallest
        tried = np.random.default_rng(0).normal(size=(faces.C.size, DIRECTIONS))
        is_unique = np.ones(len(self._K), bool)
        if tried.size:
            # Directions of sliding, and so B, are known to the ratio of the error to the slip velocity.
            stresses = self._balance(faces).self_stress(tried, self._error / faces.slowest)
            owner = faces.C.owner
            np.logical_and.at(is_unique, owner, np.abs(stresses).max(axis=1) <= SAME)
        return is_unique[: self.problem.contacts]

    @property
    def slides(self) -> bool:
        """Whether a contact slides, so that impulses depend on the directions of the velocities."""
        return self._faces.slides

    @cached_property
    def _faces(self) -> "_Faces":
        return _Faces.at(self._K, self._z, self._y, self._cut)

    @cached_property
    def _set(self) -> tuple[Balance, Array]:
        """B over the faces, and the element of the faces nearest to the solution, shape (f,)."""
        faces = self._faces
        return self._balance(faces), faces.C.project(faces.coordinates(self._z))

    @cached_property
    def _nearest(self) -> tuple[Array, float]:
        """Least element in coordinates of the faces, shape (f,), and its error."""
        balance, w = self._set
        return balance.nearest(np.zeros(w.size), w)

    @cached_property
    def _interior(self) -> tuple[Array, BoolArray]:
        """Inner element in coordinates of the faces (f,), and the blocks whose bounds all elements meet."""
        C, (balance, start), (w, error) = self._faces.C, self._set, self._nearest
        normals, tight = np.empty(C.size), np.zeros(len(C), bool)
        reach = float(np.linalg.norm(w)) / np.sqrt(max(1, len(C))) or 1.0
        for _ in range(ROUNDS):
            # 1. Active bounds of w; w is an inner element if there are none.
            cut = max(self._cut, 10.0 * error * reach)
            if not kernels.inward(C.arrays, w, cut, tight, normals):
                break
            # 2. Projection of a step away from them: it returns w exactly if all elements meet these bounds.
            moved, error = balance.nearest(w + reach * normals, start)
            gain = normals * (moved - w)
            if error > BALANCED or 0.5 * float(gain.sum()) <= cut:
                break
            # 3. Midpoint of both elements, where a bound is inactive if it is for one of them.
            w = 0.5 * (w + moved)
        return w, tight

    @cached_property
    def _smallest(self) -> "_Faces":
        """Faces reduced to those with the inner element in their relative interior."""
        (w, tight), K, cut = self._interior, self._K, self._cut
        z, y = self._faces.embedded(w), self._y.copy()
        far = 1.0 + float(np.abs(y).max(initial=0.0)) + float(np.abs(z).max(initial=0.0))
        for i in np.flatnonzero(tight):
            a = int(K.offset[i])
            if K.kind[i] != cones.FRICTION:
                y[a] = far if z[a] - K.lower[i] <= K.upper[i] - z[a] else -far
            elif z[a] <= cut:
                y[a] = far
            else:
                start = a + 1
                for g in range(int(K.group_offset[i]), int(K.group_offset[i + 1])):
                    part = slice(start, start + int(K.group_size[g]))
                    size = float(np.linalg.norm(z[part]))
                    if (
                        size >= K.coefficient[g] * z[a] - cut
                        and np.linalg.norm(y[part]) <= cut
                        and size > 0.0
                    ):
                        y[part] = -far / size * z[part]
                    start = part.stop
        return _Faces.at(K, z, y, cut)

    def _balance(self, faces: "_Faces") -> Balance:
        return self._rows.balance(faces.C, faces.basis, self._length)

    def _impulses(self, w: Array) -> Array:
        """Return impulses from coordinates of the faces [N s], shape (n + p,)."""
        return self._length * self._faces.embedded(w)


@dataclass(frozen=True, eq=False)
class _Faces:
    """Product of faces of K: the image of a product set C under w -> E w, with E orthonormal."""

    C: ProductSet
    basis: Array
    """E, block by block in upper left corners [-], shape (nb, d, d)."""
    offset: IntArray
    """First component of each block of K, and the total [-], shape (nb + 1,)."""

    slowest: float
    """Smallest velocity of a sliding group, infinite if there is none, in the units of K."""

    @property
    def slides(self) -> bool:
        """Whether a group slides."""
        return self.slowest < np.inf

    @classmethod
    def at(cls, K: ProductSet, z: Array, y: Array, cut: float) -> "_Faces":
        """Return the faces at impulses z and velocities y, both in the units of K, shape (n,)."""
        nb, ng, d = len(K), K.group_size.size, int(np.diff(K.offset).max(initial=1))
        basis, kind, lower, upper = np.empty((nb, d, d)), np.empty(nb, np.int64), np.empty(nb), np.empty(nb)
        offset, group_offset = np.empty(nb + 1, np.int64), np.empty(nb + 1, np.int64)
        group_size, coefficient = np.empty(ng, np.int64), np.empty(ng)
        out = kind, offset, lower, upper, group_offset, group_size, coefficient
        groups, slowest = kernels.faces(K.arrays, z, y, cut, basis, out)
        C = ProductSet(kind, offset, lower, upper, group_offset, group_size[:groups], coefficient[:groups])
        return cls(C, basis, K.offset, slowest)

    def coordinates(self, z: Array) -> Array:
        """Return E' z, shape (f,)."""
        out = np.empty((self.C.size, 1))
        kernels.face_rows(self.offset, self.C.offset, self.basis, z.reshape(-1, 1), np.ones(z.size), out)
        return out[:, 0]

    def embedded(self, w: Array) -> Array:
        """Return E w, shape (n,)."""
        out = np.empty(int(self.offset[-1]))
        kernels.out_of_faces(self.offset, self.C.offset, self.basis, w, out)
        return out


def _as_contacts(problem: BoxProblem) -> ContactProblem:
    """Return a box problem as blocks of one component each."""
    A = problem.A
    W = DenseDelassus(A) if isinstance(A, np.ndarray) else None
    K = interval(problem.lower, problem.upper)
    return ContactProblem.unchecked(W or block_delassus(sp.csr_array(A), K), problem.b, K)


def _units(problem: ContactProblem | GlobalProblem, K: ProductSet) -> tuple[Array, Array, ProductSet]:
    """Return the judge's units: length of each component of r, factor of velocities, and K in these units."""
    diagonal = problem.W.diagonal() if isinstance(problem, ContactProblem) else delassus_diagonal(problem)
    if K.size > diagonal.size:
        diagonal = np.concatenate([diagonal, np.ones(K.size - diagonal.size)])
    scales = metric(K, diagonal)
    push = K.spread(scales.rho) * scales.length
    return scales.length, push, replace(K, coefficient=scales.coefficient)
