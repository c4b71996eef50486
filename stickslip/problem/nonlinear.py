"""NonlinearProblem: -F(z) in the normal cone of [lower, upper] at z, with a function F.

The mixed complementarity problem: an unknown without bounds has an equation F_i = 0, (0, inf) gives a
complementarity condition 0 <= z_i ⟂ F_i >= 0, a finite interval both. With F(z) = A z + b it is a BoxProblem.
It is a variational inequality over a box (Facchinei & Pang 2003, 1.1 and 1.2).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, ProblemError, finite, flat, floats

Matrix: TypeAlias = Any
"""A Jacobian: a dense array, or a SciPy matrix by rows."""


class JacobianError(NamedTuple):
    """The largest difference between a Jacobian and finite differences of its residual."""

    error: float
    """|J_ij - difference| over max(1, |J_ij|) [-]."""
    row: int
    """Component of F with the largest difference."""
    column: int
    """Component of z with the largest difference."""
    given: float
    """J_ij as given."""
    difference: float
    """J_ij by central differences."""

    def __str__(self) -> str:
        return (
            f"largest error {self.error:.2e}, at row {self.row}, column {self.column}:"
            f" {self.given:.6g} given, {self.difference:.6g} by differences"
        )


@dataclass(frozen=True, eq=False, repr=False)
class NonlinearProblem:
    """Nonlinear complementarity problem with bounds: find z in [lower, upper] with -F(z) in N_[lower,
    upper](z).
    """

    residual: Callable[[Array], ArrayLike]
    """Function F of z, with values of shape (n,)."""
    jacobian: Callable[[Array], Any]
    """Function dF/dz of z, with values that are arrays or SciPy matrices of shape (n, n)."""
    lower: Array
    """Lower bounds, -inf where there is none [unit of z], shape (n,)."""
    upper: Array
    """Upper bounds, inf where there is none [unit of z], shape (n,)."""
    names: tuple[str, ...] = ()
    """Name of each unknown, for messages; without, they are numbered."""
    reference: Array = ()  # type: ignore[assignment]
    """Point whose F is the scale of errors [unit of z], shape (n,); by default the point of the box nearest
    to 0. Also the start of solvers without a guess."""
    title: str = ""
    """Title for printing."""

    def __post_init__(self) -> None:
        n = max(np.size(self.lower), np.size(self.upper))
        for name in ("lower", "upper"):
            bound = floats(name, getattr(self, name))
            _set(self, name, flat(name, np.full(n, bound) if bound.ndim == 0 else bound, n))
        names = tuple(map(str, self.names))
        if names and len(names) != n:
            raise ProblemError(f"names has {len(names)} entries, expected {n}, one per unknown")
        _set(self, "names", names)
        bad = ~(self.lower <= self.upper) | (self.lower == np.inf) | (self.upper == -np.inf)
        if bad.any():
            i = int(np.flatnonzero(bad)[0])
            raise ProblemError(
                f"bounds of {self.name(i)} are [{self.lower[i]}, {self.upper[i]}];"
                " they must hold lower <= upper and a finite point"
            )
        for name in ("residual", "jacobian"):
            if not callable(getattr(self, name)):
                raise ProblemError(
                    f"{name} is {type(getattr(self, name)).__name__}, expected a function of z"
                )
        has_one = np.size(self.reference) or not n
        _set(
            self, "reference", flat("reference", self.reference if has_one else self.nearest(np.zeros(n)), n)
        )
        finite("reference", self.reference, lambda k: self.name(k[0]))

    @property
    def size(self) -> int:
        """Number of unknowns n."""
        return int(self.lower.shape[0])

    def name(self, i: int) -> str:
        """Return the name of component i in messages."""
        return self.names[i] if self.names else f"component {i}"

    def nearest(self, z: ArrayLike) -> Array:
        """Return the point of the box nearest to z, shape (n,)."""
        return np.clip(np.asarray(z, np.float64), self.lower, self.upper)

    def value(self, z: ArrayLike) -> Array:
        """Return F(z), shape (n,); it may contain non-finite values."""
        residual = self.residual(flat("z", z, self.size))
        try:
            F = np.asarray(residual)
        except ValueError as error:
            raise ProblemError(f"the residual is not an array of numbers: {error}") from None
        if F.shape != (self.size,) or F.dtype.kind not in "biuf":
            raise ProblemError(
                f"the residual gives {F.dtype} of shape {F.shape}, expected ({self.size},) numbers"
            )
        return F.astype(np.float64)

    def slope(self, z: ArrayLike) -> Matrix:
        """Return dF/dz at z, an array or a SciPy matrix by rows, shape (n, n)."""
        n = self.size
        J = self.jacobian(flat("z", z, n))
        if not sp.issparse(J):
            matrix = floats("the Jacobian", J)
        elif J.dtype.kind in "biuf":
            matrix = sp.csr_array(J, dtype=np.float64)
        else:
            raise ProblemError(f"the Jacobian is not a matrix of real numbers: it is of type {J.dtype}")
        if matrix.shape != (n, n):
            raise ProblemError(f"the Jacobian has shape {matrix.shape}, expected ({n}, {n})")
        return matrix

    @cached_property
    def scale(self) -> float:
        """Scale of the judge's residuals, max(1, |F(reference)|_inf): |b|_inf for an affine F at 0."""
        F = self.value(self.reference)
        if not np.isfinite(F).all():
            i = int(np.flatnonzero(~np.isfinite(F))[0])
            raise ProblemError(
                f"F is {F[i]} for {self.name(i)} at the reference point; give a `reference` where F is finite"
            )
        return max(1.0, float(np.abs(F).max(initial=0.0)))

    def check_jacobian(self, z: ArrayLike, step: float = 6e-6) -> JacobianError:
        """Compare the Jacobian at z with central differences of `step` max(1, |z_j|).

        The differences may leave the box, so F must be defined around z.
        """
        z = flat("z", z, self.size)
        J = self.slope(z)
        dense = J.toarray() if sp.issparse(J) else np.asarray(J)
        worst = JacobianError(0.0, -1, -1, 0.0, 0.0)
        for j in range(self.size):
            h = step * max(1.0, abs(float(z[j])))
            ahead, behind = z.copy(), z.copy()
            ahead[j] += h
            behind[j] -= h
            column = (self.value(ahead) - self.value(behind)) / (ahead[j] - behind[j])
            error = np.abs(dense[:, j] - column) / np.maximum(1.0, np.abs(dense[:, j]))
            i = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
            if not error[i] <= worst.error:
                worst = JacobianError(float(error[i]), i, j, float(dense[i, j]), float(column[i]))
        return worst

    def __repr__(self) -> str:
        free = int(((self.lower == -np.inf) & (self.upper == np.inf)).sum())
        title = f"{self.title}, " if self.title else ""
        return f"NonlinearProblem({title}{self.size} unknowns, {free} of them free)"


def box_as_nonlinear(problem: BoxProblem) -> NonlinearProblem:
    """Return a BoxProblem as a NonlinearProblem with F(z) = A z + b and the same scale of the judge."""
    A, b = problem.A, problem.b
    zero = np.zeros(problem.size)  # F(0) = b, whether 0 is in the box or not
    return NonlinearProblem(
        lambda z: A @ z + b, lambda z: A, problem.lower, problem.upper, reference=zero, title=problem.kind
    )


def _set(value: object, name: str, content: object) -> None:
    object.__setattr__(value, name, content)
