"""BoxProblem: -(A z + b) in the normal cone of [lower, upper] at z.

An unknown without bounds has an equation, (0, inf) gives a complementarity condition, a finite interval a
relay: LCP, mixed LCP and relay are special cases.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array, ProblemError, finite, flat, floats, frozen, sparse
from stickslip.problem.operator import row_by_row

DENSE, SPARSE = 300, 30
"""Number of unknowns up to which kernels use dense rows of A, for an array and for a SciPy matrix."""


@dataclass(frozen=True, eq=False, repr=False)
class BoxProblem:
    """Complementarity problem with bounds: find z in [lower, upper] with -(A z + b) in N_[lower, upper](z).

    Use `lcp`, `mlcp` and `relay` of `ss.problem` for the common cases.

    Example:

        box = ss.BoxProblem([[2.0, 1.0], [1.0, 2.0]], [-1.0, 1.0], [0.0, 0.0], [np.inf, np.inf])
        print(ss.solve(box).r)  # z of the linear complementarity problem
    """

    A: np.ndarray | sp.csr_array
    """Matrix, possibly indefinite and unsymmetric [any unit], shape (n, n); an array or a SciPy matrix."""
    b: Array
    """Constant term [unit of A z], shape (n,)."""
    lower: Array
    """Lower bounds, -inf where there is none [unit of z], shape (n,)."""
    upper: Array
    """Upper bounds, inf where there is none [unit of z], shape (n,)."""

    def __post_init__(self) -> None:
        n = np.size(self.b)
        _set(self, "A", _matrix(self.A, n))
        _set(self, "b", flat("b", self.b, n))
        finite("b", self.b, lambda k: f"component {k[0]}")
        for name in ("lower", "upper"):
            bound = floats(name, getattr(self, name))
            _set(self, name, flat(name, np.full(n, bound) if bound.ndim == 0 else bound, n))
        bad = ~(self.lower <= self.upper) | (self.lower == np.inf) | (self.upper == -np.inf)
        if bad.any():
            i = int(np.flatnonzero(bad)[0])
            raise ProblemError(
                f"bounds of component {i} are [{self.lower[i]}, {self.upper[i]}];"
                " they must hold lower <= upper and a finite point"
            )

    @classmethod
    def unchecked(cls, A: Array, b: Array, lower: Array, upper: Array) -> "BoxProblem":
        """Return the problem without checks, for internal data: finite arrays of the right shapes."""
        problem = object.__new__(cls)
        problem.__dict__.update(A=frozen(A), b=frozen(b), lower=lower, upper=upper)
        return problem

    @property
    def size(self) -> int:
        """Number of unknowns n."""
        return self.b.shape[0]

    @cached_property
    def rows(self) -> Array | None:
        """A as a flat array of its rows, for kernels [any unit], shape (n n,); None if it is large."""
        A: Any = self.A
        if sp.issparse(A):
            return row_by_row(A.toarray()) if self.size <= SPARSE else None
        return row_by_row(A) if self.size <= DENSE else None

    @property
    def kind(self) -> str:
        """`lcp`, `mlcp` (with equations), or `box` (with finite upper bounds)."""
        free = (self.lower == -np.inf) & (self.upper == np.inf)
        positive = (self.lower == 0.0) & (self.upper == np.inf)
        if positive.all():
            return "lcp"
        return "mlcp" if (free | positive).all() else "box"

    def value(self, z: ArrayLike) -> Array:
        """Return w = A z + b, shape (n,)."""
        return self.A @ flat("z", z, self.size) + self.b

    def __repr__(self) -> str:
        free = int(((self.lower == -np.inf) & (self.upper == np.inf)).sum())
        return f"BoxProblem({self.kind}, {self.size} unknowns, {free} of them free)"


def lcp(A: Any, b: ArrayLike) -> BoxProblem:
    """Return the linear complementarity problem 0 <= z ⟂ A z + b >= 0.

    Example:

        print(ss.solve(ss.problem.lcp([[2.0, 1.0], [1.0, 2.0]], [-1.0, 1.0])).r)
    """
    n = np.size(b)
    return BoxProblem(A, b, np.zeros(n), np.full(n, np.inf))  # type: ignore[arg-type]


def mlcp(A: Any, b: ArrayLike, free: ArrayLike) -> BoxProblem:
    """Return a mixed linear complementarity problem: equations where `free` (bool, shape (n,)) is true."""
    mask = np.asarray(free, bool).reshape(-1)
    if mask.size != np.size(b):
        raise ProblemError(f"free has {mask.size} entries, expected {np.size(b)}, one per unknown")
    return BoxProblem(A, b, np.where(mask, -np.inf, 0.0), np.full(mask.size, np.inf))  # type: ignore[arg-type]


def relay(A: Any, b: ArrayLike, lower: ArrayLike = -1.0, upper: ArrayLike = 1.0) -> BoxProblem:
    """Return a relay problem: z in [lower, upper] with -(A z + b) in its normal cone."""
    return BoxProblem(A, b, lower, upper)  # type: ignore[arg-type]


def _matrix(value: Any, n: int) -> np.ndarray | sp.csr_array:
    if sp.issparse(value):
        matrix = sparse("A", value)
    else:
        matrix = floats("A", value)
        finite("A", matrix)
    if matrix.shape != (n, n):
        raise ProblemError(f"A has shape {matrix.shape}, expected ({n}, {n}), as b has {n} entries")
    return matrix


def _set(value: object, name: str, content: object) -> None:
    object.__setattr__(value, name, content)
