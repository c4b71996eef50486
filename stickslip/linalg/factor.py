"""Numeric factors of a pattern, their solves, and errors that name the block row of a failure.

A factor owns its memory: `refactor` factors other values of the same pattern in the same memory.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from stickslip.compilation import JIT
from stickslip.linalg.kernels import assembly
from stickslip.linalg.pattern import BlockPattern, fixed
from stickslip.linalg.plain import PlainEngine
from stickslip.state import Array

if TYPE_CHECKING:
    from stickslip.linalg.symbolic import Symbolic

SINGULAR = 64.0 * float(np.finfo(np.float64).eps)
"""If a pivot over its diagonal entry is below this, the matrix is singular to rounding [-]."""
REFINED = 0.5 * float(np.finfo(np.float64).eps)
"""Backward error at which refinement stops [-]."""


MOST_ADDED = 8192
"""Size of vectors up to which BLAS computes a dot product on one thread."""


class FactorFailure(ArithmeticError):  # noqa: N818 (as SolverFailure)
    """The matrix has no factorisation of the requested kind."""

    def __init__(self, message: str, block: int):
        super().__init__(message)
        self.block = block
        """Block row (body) of the failure [-]."""


class NotPositiveDefinite(FactorFailure):
    """The matrix is singular to rounding, or indefinite."""


class NotFinite(FactorFailure):
    """The matrix contains NaN or inf, or its factor overflows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regularisation:
    """Regularisation of small pivots, relative to the scale of each pivot.

    The scale is the diagonal of M for positive rows, and the diagonal of D + H' M^-1 H, computed with the
    diagonal of M, for negative rows. So regularisation is independent of units.
    """

    static: float = 1e-10
    """Amount added to the magnitude of each pivot [-]; it allows D to be zero or tiny, and refinement removes
    its effect."""
    least: float = 1e-13
    """Pivots at or below this are replaced [-]."""
    replacement: float = 1e-7
    """Value that replaces them [-]."""

    def __post_init__(self) -> None:
        for name in ("static", "least", "replacement"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be in [0, 1)")
        if self.replacement <= self.least:
            raise ValueError(f"replacement {self.replacement} must be larger than least {self.least}")


class Buffers:
    """Named arrays that factorisations reuse; they only grow.

    Allocating new pages takes a third of the time of a large factorisation. The buffers serve one factor at a
    time, the one that was created last.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}
        self.owner: Any = None
        """The factor that uses the arrays."""

    def take(self, name: str, size: int) -> Array:
        """Return `size` numbers of the array `name`, not initialised."""
        array = self._arrays.get(name)
        if array is None or array.size < size:
            self._arrays[name] = array = np.empty(max(size, 1))
        return array[:size]

    @property
    def bytes(self) -> int:
        """Size of the arrays [bytes]."""
        return sum(array.nbytes for array in self._arrays.values())


class _Factor:
    """Base class of factors: engine, buffers, and checks of arguments."""

    def __init__(self, symbolic: "Symbolic", buffers: Buffers):
        self.symbolic = symbolic
        """Symbolic factorisation of the pattern."""
        self._buffers = buffers
        buffers.owner = self
        self._valid = False
        self._engine: Any
        if JIT:
            from stickslip.linalg.compiled import CompiledEngine

            self._engine = CompiledEngine(symbolic, buffers)
        else:
            self._engine = PlainEngine(symbolic)

    def _values(self, values: ArrayLike) -> Array:
        self._valid = False
        self._check_owner()
        array = self.symbolic.pattern.flat(values)
        # The dot product is faster than isfinite, and finite only for finite numbers. For many numbers BLAS
        # computes it on several threads, whose synchronisation takes longer than the product.
        with np.errstate(all="ignore"):
            plainly_finite = array.size <= MOST_ADDED and np.isfinite(array @ array)
        if not plainly_finite and not np.isfinite(array).all():
            _refuse_not_finite(self.symbolic.pattern, array)
        return array

    def _solve(self, b: Array) -> Array:
        self._check_owner()
        if not self._valid:
            raise RuntimeError("the last factorisation failed; refactor with other values before a solve")
        return self._engine.solve(b)

    def _check_owner(self) -> None:
        if self._buffers.owner is not self:
            raise RuntimeError("the buffers of this factor are used by another one; give each factor its own")

    def _right_hand_sides(self, b: ArrayLike) -> tuple[Array, bool]:
        """Return (b (size,) or rows (count, size), whether the solution must be transposed)."""
        array = np.asarray(b, dtype=np.float64)
        size = self.symbolic.pattern.size
        if array.ndim == 2 and array.shape[0] == size:
            return np.ascontiguousarray(array.T), True
        if array.shape != (size,):
            raise ValueError(f"b has shape {array.shape}, expected ({size},) or ({size}, count)")
        return np.ascontiguousarray(array), False


class CholeskyFactor(_Factor):
    """Cholesky factor of a positive definite matrix, A = L L'."""

    def __init__(self, symbolic: "Symbolic", singular: float, buffers: Buffers):
        super().__init__(symbolic, buffers)
        self._singular = singular
        self.least_pivot = np.nan
        """Smallest pivot over its diagonal entry [-]; near 1e-16 the solution has no correct digits."""

    def refactor(self, values: ArrayLike) -> Self:
        """Factor a matrix with other values and the same pattern, in the same memory."""
        array = self._values(values)
        bad, self.least_pivot = self._engine.cholesky(array, self._singular)
        if bad >= 0:
            block, component = _block_of(self.symbolic.pattern, bad)
            raise NotPositiveDefinite(
                f"no positive pivot in block row {block}, component {component}:"
                " the matrix is indefinite, or singular to rounding",
                block,
            )
        self._valid = True
        return self

    def solve(self, b: ArrayLike) -> Array:
        """Return A^-1 b for one right-hand side (size,), or for several (size, count)."""
        rows, transposed = self._right_hand_sides(b)
        x = self._solve(rows)
        return x.T if transposed else x


class QuasiDefiniteFactor(_Factor):
    """Factor K = L S L' of a regularised quasi-definite matrix; solves use iterative refinement."""

    def __init__(self, symbolic: "Symbolic", regularisation: Regularisation, buffers: Buffers):
        super().__init__(symbolic, buffers)
        self.regularisation = regularisation
        """Regularisation of small pivots."""
        self.replaced = 0
        """Number of pivots that the last factorisation replaced [-]."""
        self.residual = np.nan
        """Residual of the last solve: max |b - K x| / max |b|, of the worst right-hand side [-]."""
        self.backward_error = np.nan
        """Backward error of the last solve: ‖b - K x‖ / ‖|K| |x| + |b|‖, rows over the root of their pivot
        scale [-].

        It is independent of units; around 1e-16 the solution is exact for a matrix next to K.
        """
        self.refinements = 0
        """Number of refinement steps of the last solve [-]."""

    def refactor(self, values: ArrayLike) -> Self:
        """Factor a matrix with other values and the same pattern, in the same memory."""
        pattern, array = self.symbolic.pattern, self._values(values)
        stored = self._buffers.take("values", array.size)
        stored[:] = array
        self._matrix_values = fixed(stored)
        diagonal, scale = np.empty(pattern.size), np.empty(pattern.size)
        assembly.pivot_scale(pattern.blocks, self.symbolic.negative, self._matrix_values, diagonal, scale)
        scale[scale == 0.0] = 1.0  # a row of zeros has no scale; any pivot is valid
        self._unit = np.sqrt(scale)
        rule = self.regularisation
        self.replaced, bad = self._engine.quasi_definite(
            self._matrix_values, rule.static * scale, scale, rule.least, rule.replacement
        )
        if bad >= 0:
            block, component = _block_of(pattern, bad)
            raise NotFinite(
                f"the factor overflows in block row {block}, component {component}; rescale the matrix", block
            )
        self._valid = True
        return self

    def solve(self, b: ArrayLike, *, refinements: int = 10) -> Array:
        """Return K^-1 b for one right-hand side (size,), or for several (size, count), with refinement.

        Refinement stops at rounding, or if a step does not halve the error; the best solution is returned. If
        b contains NaN or inf, `residual` is inf.
        """
        rows, transposed = self._right_hand_sides(b)
        with np.errstate(all="ignore"):
            x, rest = self._refine(rows, refinements)
            scale = np.abs(rows).max(axis=-1, keepdims=True, initial=0.0)
            residual = float((np.abs(rest) / np.where(scale > 0.0, scale, 1.0)).max(initial=0.0))
        self.residual = residual if np.isfinite(residual) else np.inf
        return x.T if transposed else x

    def _refine(self, b: Array, refinements: int) -> tuple[Array, Array]:
        """Return (x, b - K x) for right-hand sides in rows, after iterative refinement."""
        x = self._solve(b)
        rest, error = self._residual(b, x)
        self.refinements = 0
        for _ in range(refinements):
            if not (error > REFINED).any():
                break
            trial = x + self._solve(rest)
            trial_rest, trial_error = self._residual(b, trial)
            better = trial_error < error
            if not better.any():
                break
            self.refinements += 1
            slow = (trial_error > 0.5 * error).all()
            x, rest = np.where(better, trial, x), np.where(better, trial_rest, rest)
            error = np.where(better, trial_error, error)
            if slow:
                break
        self.backward_error = float(error.max(initial=0.0))
        return x, rest

    def _residual(self, b: Array, x: Array) -> tuple[Array, Array]:
        """Return (b - K x, backward error of each right-hand side (..., 1)).

        The error is not computed row by row (Oettli & Prager 1964), since rows of H' v = 0 have no scale if v
        = 0.
        """
        pattern = self.symbolic.pattern
        rest, bound = np.empty(b.shape), np.empty(b.shape)
        size = pattern.size
        for k in range(b.size // size if size else 0):
            assembly.residual(
                pattern.blocks, self._matrix_values, *(y.reshape(-1, size)[k] for y in (b, x, rest, bound))
            )
        error = (np.abs(rest) / self._unit).max(axis=-1, keepdims=True, initial=0.0)
        size_of_terms = (bound / self._unit).max(axis=-1, keepdims=True, initial=0.0)
        error = np.where(error == 0.0, 0.0, error / np.where(size_of_terms == 0.0, 1.0, size_of_terms))
        return rest, np.where(np.isfinite(error), error, np.inf)


def _block_of(pattern: BlockPattern, scalar: int) -> tuple[int, int]:
    block = int(np.searchsorted(pattern.offset, scalar, side="right") - 1)
    return block, scalar - int(pattern.offset[block])


def _refuse_not_finite(pattern: BlockPattern, values: Array) -> None:
    k = int(np.argmin(np.isfinite(values)))
    block = int(np.searchsorted(pattern.source, k, side="right") - 1)
    one, other = int(pattern.one[block]), int(pattern.other[block])
    raise NotFinite(f"block ({one}, {other}) of the matrix holds {values[k]}", one)
