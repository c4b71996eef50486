"""Linear solves of ADMM: W t from (I + rho W) t = b, factored once per rho.

Three forms with one interface, `factor(rho)` and then `product(b)`:

- dense W: W (I + rho W)^-1 as one array;
- sparse W: sparse LU of I + rho W;
- W = J J' over bodies, the velocity form: with delta = J't, the change of the velocities scaled by the roots
  of the masses, (I + rho J'J) delta = J'b and W t = J delta. This is M + rho H D H' of the bodies, with D the
  squared units of the contacts. W is never formed.
"""

from typing import Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from stickslip.linalg.bodies import body_pattern
from stickslip.linalg.factor import CholeskyFactor, FactorFailure
from stickslip.linalg.symbolic import analyse
from stickslip.problem.checks import Array
from stickslip.problem.operator import BlockDelassus, BodyDelassus, Delassus

DENSE = 600
"""Largest n for which a W in blocks is converted to a dense matrix (heuristic)."""


class Singular(ArithmeticError):  # noqa: N818 (a property of the matrix)
    """Exception: I + rho W cannot be factored."""


class Factor(Protocol):
    """Interface: W (I + rho W)^-1 for one value of rho at a time."""

    def factor(self, rho: float) -> None:
        """Factor for this rho; raise `Singular` if that is impossible."""

    def product(self, b: Array) -> Array:
        """Return W (I + rho W)^-1 b, a new array of shape (n,)."""


class DenseFactor:
    """W (I + rho W)^-1 as a dense matrix."""

    def __init__(self, W: Array):
        self.W = W

    def factor(self, rho: float) -> None:
        """Compute the matrix, in O(n³) operations."""
        try:
            self.A = np.linalg.solve(np.eye(self.W.shape[0]) + rho * self.W, self.W)
        except np.linalg.LinAlgError:
            raise Singular(f"I + rho W is singular at rho = {rho:.3g}") from None

    def product(self, b: Array) -> Array:
        """Return the product by one dense multiplication."""
        return self.A @ b


class SparseFactor:
    """Sparse LU of I + rho W."""

    def __init__(self, W: sp.csr_array):
        self.W, self.one = W, sp.eye_array(W.shape[0], format="csc")

    def factor(self, rho: float) -> None:
        """Factor I + rho W by a sparse LU."""
        matrix = sp.csc_array(self.one + rho * self.W)
        try:
            self.lu = splu(matrix, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
        except (RuntimeError, ValueError):
            raise Singular(f"I + rho W is singular at rho = {rho:.3g}") from None

    def product(self, b: Array) -> Array:
        """Return the product by two triangular solves and a sparse multiplication."""
        return np.asarray(self.W @ self.lu.solve(b))


class BodyFactor:
    """Block Cholesky of I + rho J'J over the velocities of the bodies; one symbolic analysis."""

    def __init__(self, W: BodyDelassus):
        k = W.rows.shape[2]
        self.J = W.sparse()
        self.Jt, self._W = sp.csr_array(self.J.T), one_side_each(W)
        self._one = np.tile(np.eye(k), (W.count, 1, 1))
        self._pattern = body_pattern(self._W.bodies, W.count, k)
        self._symbolic = analyse(self._pattern)
        self._cholesky: CholeskyFactor | None = None

    def factor(self, rho: float) -> None:
        """Factor I + rho J'J, in the memory of the previous factor."""
        values = self._pattern.values(self._one, self._W, rho)
        try:
            if self._cholesky is None:  # pivots are at least 1: small beside large ones, but not zero
                self._cholesky = self._symbolic.cholesky(values, singular=0.0)
            else:
                self._cholesky.refactor(values)
        except FactorFailure:
            raise Singular(f"I + rho J'J cannot be factored at rho = {rho:.3g}") from None

    def product(self, b: Array) -> Array:
        """Return J (I + rho J'J)^-1 J'b."""
        assert self._cholesky is not None
        return np.asarray(self.J @ self._cholesky.solve(self.Jt @ b))


def one_side_each(W: BodyDelassus) -> BodyDelassus:
    """Return the same J, with both sides of a contact of a body with itself merged into the first side."""
    same = W.bodies[:, 0] == W.bodies[:, 1]
    if not same.any():
        return W
    bodies, rows, both = W.bodies.copy(), W.rows.copy(), np.repeat(same, np.diff(W.offset))
    bodies[same, 1] = -1
    rows[both, 0] += rows[both, 1]
    rows[both, 1] = 0.0
    return BodyDelassus(W.offset, bodies, rows, W.count)


def factor_of(W: Delassus, form: str) -> Factor:
    """Return the factor for `form`: "delassus" (dense or sparse W), "bodies" (velocities), or "auto"."""
    if isinstance(W, BodyDelassus) and form != "delassus":
        return BodyFactor(W)
    if isinstance(W, BodyDelassus):
        J = W.sparse()
        return DenseFactor(W.dense()) if W.size <= DENSE else SparseFactor(sp.csr_array(J @ J.T))
    if isinstance(W, BlockDelassus) and W.size > DENSE:
        return SparseFactor(W.sparse())
    return DenseFactor(W.dense())
