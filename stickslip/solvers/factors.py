"""The linear solve inside ADMM: W t from (I + rho W) t = b, factored once per rho.

Three forms with one interface, `factor(rho)` and then `product(b)`:

- dense W: W (I + rho W)^-1 as one array;
- sparse W: sparse LU of I + rho W;
- W = J J' over bodies, the velocity form: with delta = J't the change of the velocities, scaled by
  the root of their masses, (I + rho J'J) delta = J'b and W t = J delta. It is M + rho H D H' of the
  bodies, D the squared units of the contacts: W is never formed.
"""

from typing import Protocol

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from stickslip.problem.checks import Array
from stickslip.problem.operator import BlockDelassus, BodyDelassus, Delassus

DENSE = 600
"""Largest n for which W in blocks is made dense."""


class Singular(ArithmeticError):  # noqa: N818 (a property of the matrix)
    """I + rho W cannot be factored."""


class Factor(Protocol):
    """W (I + rho W)^-1 for one rho at a time."""

    def factor(self, rho: float) -> None:
        """Prepare for this rho; `Singular` if it cannot be done."""

    def product(self, b: Array) -> Array:
        """W (I + rho W)^-1 b, a new array of shape (n,)."""


class DenseFactor:
    """W (I + rho W)^-1 as one array."""

    def __init__(self, W: Array):
        self.W = W

    def factor(self, rho: float) -> None:
        """O(n³), once per rho."""
        try:
            self.A = np.linalg.solve(np.eye(self.W.shape[0]) + rho * self.W, self.W)
        except np.linalg.LinAlgError:
            raise Singular(f"I + rho W is singular at rho = {rho:.3g}") from None

    def product(self, b: Array) -> Array:
        """One product with an array."""
        return self.A @ b


class SparseFactor:
    """Sparse LU of I + rho W."""

    def __init__(self, W: sp.csr_array):
        self.W, self.one = W, sp.eye_array(W.shape[0], format="csc")

    def factor(self, rho: float) -> None:
        """One sparse factorisation per rho."""
        self.lu = _factored(self.one + rho * self.W, rho)

    def product(self, b: Array) -> Array:
        """Two triangular solves and one sparse product."""
        return np.asarray(self.W @ self.lu.solve(b))


class BodyFactor:
    """Sparse LU of I + rho J'J over the velocities of the bodies."""

    def __init__(self, W: BodyDelassus):
        J = W.sparse()
        self.J, self.Jt = J, sp.csr_array(J.T)
        self.gram, self.one = sp.csr_array(self.Jt @ J), sp.eye_array(J.shape[1], format="csc")

    def factor(self, rho: float) -> None:
        """One sparse factorisation per rho."""
        self.lu = _factored(self.one + rho * self.gram, rho)

    def product(self, b: Array) -> Array:
        """J (I + rho J'J)^-1 J'b."""
        return np.asarray(self.J @ self.lu.solve(self.Jt @ b))


def _factored(matrix: sp.sparray, rho: float) -> splu:
    try:
        return splu(sp.csc_array(matrix), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    except (RuntimeError, ValueError):
        raise Singular(f"I + rho W is singular at rho = {rho:.3g}") from None


def factor_of(W: Delassus, form: str) -> Factor:
    """The factor for `form`: "delassus" (dense or sparse W), "bodies" (velocities), or "auto"."""
    if isinstance(W, BodyDelassus) and form != "delassus":
        return BodyFactor(W)
    if isinstance(W, BodyDelassus):
        J = W.sparse()
        return DenseFactor(W.dense()) if W.size <= DENSE else SparseFactor(sp.csr_array(J @ J.T))
    if isinstance(W, BlockDelassus) and W.size > DENSE:
        return SparseFactor(W.sparse())
    return DenseFactor(W.dense())
