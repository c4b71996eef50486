"""ConeProgram: a quadratic objective with an affine map into cones, the form of conic solvers.

    min ½ x'P x + c'x   subject to   s = A x + b ∈ C = {0} × nonnegative × second-order cones

with multipliers y in the dual C* (free × nonnegative × second-order): x is optimal where

    P x + c = A'y,   C ∋ s ⟂ y ∈ C*.

Conversions of contact problems to cone programs are in `stickslip.problem.convert`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from stickslip.problem.checks import (
    Array,
    IntArray,
    ProblemError,
    count,
    finite,
    flat,
    floats,
    frozen,
    sparse,
)


@dataclass(frozen=True, eq=False, repr=False)
class ConeProgram:
    """Cone program: min ½ x'P x + c'x with A x + b in a product of {0}, nonnegative and second-order
    cones.
    """

    P: sp.csr_array
    """Curvature of the objective, symmetric, positive semidefinite [J / unit of x²], shape (n, n)."""
    c: Array
    """Slope of the objective [J / unit of x], shape (n,)."""
    A: sp.csr_array
    """Map into the cones [unit of s / unit of x], shape (m, n); rows in the order of the cones."""
    b: Array
    """Constant of that map [unit of s], shape (m,)."""
    zero: int = 0
    """Number of rows that must vanish; they come first."""
    nonnegative: int = 0
    """Number of rows that must not be negative; they come next."""
    second_order: IntArray = ()  # type: ignore[assignment]
    """Number of rows of each cone {s_0 >= |s_rest|}, which come last, shape (cones,)."""

    def __post_init__(self) -> None:
        n, m = np.size(self.c), np.size(self.b)
        for name, shape in (("P", (n, n)), ("A", (m, n))):
            value = getattr(self, name)
            matrix = sparse(name, value if sp.issparse(value) else _rows(name, value))
            if matrix.shape != shape:
                raise ProblemError(
                    f"{name} has shape {matrix.shape}, expected {shape} with c ({n},), b ({m},)"
                )
            _set(self, name, matrix)
        for name, size in (("c", n), ("b", m)):
            _set(self, name, flat(name, getattr(self, name), size))
            finite(name, getattr(self, name))
        _set(self, "zero", count("zero", self.zero, 0))
        _set(self, "nonnegative", count("nonnegative", self.nonnegative, 0))
        value = floats("second_order", self.second_order).reshape(-1)
        if not ((value >= 1.0) & (value == np.floor(value)) & (value < 2.0**53)).all():
            raise ProblemError(
                f"second-order cones have sizes [{', '.join(f'{size:g}' for size in value)}]; each"
                " must be a whole number of at least 1 row"
            )
        cones = value.astype(np.int64)
        _set(self, "second_order", frozen(cones))
        rows = self.zero + self.nonnegative + int(cones.sum())
        if rows != m:
            raise ProblemError(f"the cones have {rows} rows in all, but A and b have {m}")
        largest, skew = (float(abs(x).max()) if n else 0.0 for x in (self.P, self.P - self.P.T))
        if skew > 1e-10 * largest:
            raise ProblemError(f"P is not symmetric: entries differ by {skew:.3g} from their mirror image")

    @property
    def size(self) -> int:
        """Number of unknowns n."""
        return int(self.c.shape[0])

    @property
    def rows(self) -> int:
        """Number of rows m of A."""
        return int(self.b.shape[0])

    @property
    def cone_start(self) -> IntArray:
        """First row of each second-order cone and one past the last [-], shape (cones + 1,)."""
        first = self.zero + self.nonnegative
        return first + np.concatenate([[0], np.cumsum(self.second_order)]).astype(np.int64)

    def objective(self, x: ArrayLike) -> float:
        """Return ½ x'P x + c'x [J]."""
        x = flat("x", x, self.size)
        return float(0.5 * x @ (self.P @ x) + self.c @ x)

    def with_(self, **changes: Any) -> "ConeProgram":
        """Return a copy with some fields changed; changes of c and b alone share P, A and the cones."""
        if not changes.keys() <= {"c", "b"}:
            return replace(self, **changes)
        copy = object.__new__(ConeProgram)
        copy.__dict__.update(self.__dict__)
        for name, value in changes.items():
            _set(copy, name, flat(name, value, np.size(getattr(self, name))))
            finite(name, getattr(copy, name))
        return copy

    def __repr__(self) -> str:
        return (
            f"ConeProgram({self.size} unknowns, {self.rows} rows: {self.zero} zero,"
            f" {self.nonnegative} nonnegative, {self.second_order.size} second-order cones)"
        )


@dataclass(frozen=True)
class ProgramResiduals:
    """Residuals of the optimality conditions, each relative to its terms; 0 is optimal."""

    primal: float
    """Distance of A x + b to C over the largest of |A x|, |b| and |A| |c| / |P|, a size for x [-]."""
    stationarity: float
    """|P x + c - A'y| over the largest of its terms [-]."""
    dual: float
    """Distance of y to C* over the largest of |y| and |c| / |A|, a size for y [-]."""
    gap: float
    """|s'y| over the largest of |primal objective|, |dual objective| and |c|² / |P| [-]."""

    @property
    def error(self) -> float:
        """Largest residual [-]; NaN if one is NaN."""
        return float(np.max([self.primal, self.stationarity, self.dual, self.gap]))


def judge_program(program: ConeProgram, x: ArrayLike, y: ArrayLike) -> ProgramResiduals:
    """Return the residuals of x and the multipliers y for `program`."""
    if not isinstance(program, ConeProgram):
        raise ProblemError(f"judge_program takes a ConeProgram, not {type(program).__name__}")
    with np.errstate(all="ignore"):  # overflow gives infinite or NaN residuals
        return _judged(program, flat("x", x, program.size), flat("y", y, program.rows))


def _judged(program: ConeProgram, x: Array, y: Array) -> ProgramResiduals:
    Ax, Px, Ay = program.A @ x, program.P @ x, program.A.T @ y
    s = Ax + program.b
    head = program.zero
    outside = s - nearest(program, s)
    y_outside = (y - nearest(program, y))[head:]
    energy = 0.5 * float(x @ Px)
    value, dual_value = energy + float(program.c @ x), -energy - float(program.b @ y)
    steepest = float(program.P.diagonal().max(initial=0.0))
    size = _norm(program.c) / steepest if steepest else 0.0
    largest = float(abs(program.A).max()) if program.A.nnz else 0.0
    return ProgramResiduals(
        _ratio(_norm(outside), _norm(Ax), _norm(program.b), largest * size),
        _ratio(_norm(Px + program.c - Ay), _norm(Px), _norm(program.c), _norm(Ay)),
        _ratio(_norm(y_outside), _norm(y), _norm(program.c) / largest if largest else 0.0),
        _ratio(abs(float(s @ y)), abs(value), abs(dual_value), _norm(program.c) * size),
    )


def nearest(program: ConeProgram, s: Array) -> Array:
    """Return the point of C nearest to s, shape (m,)."""
    out = np.zeros_like(s)
    plain = slice(program.zero, program.zero + program.nonnegative)
    out[plain] = np.maximum(s[plain], 0.0)
    start = program.cone_start
    for size in np.unique(program.second_order).tolist():
        rows = start[:-1][program.second_order == size][:, None] + np.arange(size)
        part = s[rows]
        tip, side = part[:, 0], np.linalg.norm(part[:, 1:], axis=1)
        height = np.where(side <= tip, tip, np.where(side <= -tip, 0.0, 0.5 * (tip + side)))
        share = np.where(
            side <= tip, 1.0, np.where(side > 0.0, height / np.where(side > 0.0, side, 1.0), 0.0)
        )
        out[rows] = np.concatenate([height[:, None], share[:, None] * part[:, 1:]], axis=1)
    return out


def _rows(name: str, value: Any) -> sp.csr_array:
    matrix = np.atleast_2d(floats(name, value))
    if matrix.ndim != 2:
        raise ProblemError(f"{name} has shape {matrix.shape}, expected a matrix")
    return sp.csr_array(matrix)


def _norm(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


def _ratio(miss: float, *sizes: float) -> float:
    return 0.0 if miss == 0.0 else miss / max(*sizes, 1e-300)


def _set(value: object, name: str, content: object) -> None:
    object.__setattr__(value, name, content)
