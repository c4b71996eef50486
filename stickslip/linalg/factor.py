"""Factors: numbers in, solutions out, and an error that names the block row where it broke.

A factor keeps its memory: `refactor` takes other numbers of the same pattern at no cost but the
arithmetic.
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
"""A pivot below this part of its diagonal entry is rounding: the matrix is singular."""
REFINED = 0.5 * float(np.finfo(np.float64).eps)
"""Backward error at which refinement has nothing left to do."""


MOST_ADDED = 8192
"""Numbers that BLAS adds up on one thread, whatever it is allowed."""


class FactorFailure(ArithmeticError):  # noqa: N818 (as SolverFailure)
    """A matrix that has no factor of the kind asked for."""

    def __init__(self, message: str, block: int):
        super().__init__(message)
        self.block = block
        """Block row (body) where it broke [-]."""


class NotPositiveDefinite(FactorFailure):
    """The matrix is singular to rounding, or indefinite."""


class NotFinite(FactorFailure):
    """The matrix holds NaN or inf, or overflows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regularisation:
    """What is done about pivots that are too small, all relative to the size that a pivot should have.

    That size is the diagonal of M for the positive rows, and that of D + H' M^-1 H, with the diagonal
    of M, for the negative ones; so it follows a change of units.
    """

    static: float = 1e-10
    """Added to the magnitude of every pivot [-]; lets D be zero or tiny, and refinement takes it out."""
    least: float = 1e-13
    """Pivots at or below this are replaced [-]."""
    replacement: float = 1e-7
    """By this [-]."""

    def __post_init__(self) -> None:
        for name in ("static", "least", "replacement"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be in [0, 1)")
        if self.replacement <= self.least:
            raise ValueError(f"replacement {self.replacement} must be larger than least {self.least}")


class Buffers:
    """Memory that outlives one factorisation (fresh pages cost a third of the time of a large one): arrays by
    name that only grow; they serve one factor at a time, the one made last."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}
        self.owner: Any = None
        """The factor that uses the arrays now."""

    def take(self, name: str, size: int) -> Array:
        """At least one, and otherwise `size`, numbers of any value."""
        array = self._arrays.get(name)
        if array is None or array.size < size:
            self._arrays[name] = array = np.empty(max(size, 1))
        return array[:size]

    @property
    def bytes(self) -> int:
        """Memory held [bytes]."""
        return sum(array.nbytes for array in self._arrays.values())


class _Factor:
    """What both kinds share: engine, buffers, checks of what comes in."""

    def __init__(self, symbolic: "Symbolic", buffers: Buffers):
        self.symbolic = symbolic
        """The analysed pattern."""
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
        # The dot product is a fraction of the time of isfinite, and finite only for finite numbers; of many
        # numbers BLAS makes it on several threads, which wait for each other longer than it takes.
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
        """b as (size,), or as rows (count, size), and whether to turn the answer back."""
        array = np.asarray(b, dtype=np.float64)
        size = self.symbolic.pattern.size
        if array.ndim == 2 and array.shape[0] == size:
            return np.ascontiguousarray(array.T), True
        if array.shape != (size,):
            raise ValueError(f"b has shape {array.shape}, expected ({size},) or ({size}, count)")
        return np.ascontiguousarray(array), False


class CholeskyFactor(_Factor):
    """A = L L' of a positive definite matrix."""

    def __init__(self, symbolic: "Symbolic", singular: float, buffers: Buffers):
        super().__init__(symbolic, buffers)
        self._singular = singular
        self.least_pivot = np.nan
        """Smallest pivot over its diagonal entry [-]: near 1e-16 the solution has no digits left."""

    def refactor(self, values: ArrayLike) -> Self:
        """Factor other numbers with the same pattern, in the same memory."""
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
        """A^-1 b for one right-hand side (size,), or many (size, count)."""
        rows, turned = self._right_hand_sides(b)
        x = self._solve(rows)
        return x.T if turned else x


class QuasiDefiniteFactor(_Factor):
    """K = L S L' of a quasi-definite matrix, regularised, solved with refinement."""

    def __init__(self, symbolic: "Symbolic", regularisation: Regularisation, buffers: Buffers):
        super().__init__(symbolic, buffers)
        self.regularisation = regularisation
        """What is done about small pivots."""
        self.replaced = 0
        """Pivots replaced by the last factorisation [-]."""
        self.residual = np.nan
        """Of the last solve: ‖b - K x‖ / ‖b‖ in the largest component, worst right-hand side [-]."""
        self.backward_error = np.nan
        """Of the last solve: ‖b - K x‖ / ‖|K| |x| + |b|‖, rows over the root of their pivot's size [-].

        It follows a change of units; around 1e-16 the solution is exact for a matrix next to K.
        """
        self.refinements = 0
        """Steps of refinement of the last solve [-]."""

    def refactor(self, values: ArrayLike) -> Self:
        """Factor other numbers with the same pattern, in the same memory."""
        pattern, given = self.symbolic.pattern, self._values(values)
        kept = self._buffers.take("values", given.size)
        kept[:] = given
        self._kept = fixed(kept)
        diagonal, scale = np.empty(pattern.size), np.empty(pattern.size)
        assembly.pivot_scale(pattern.blocks, self.symbolic.negative, self._kept, diagonal, scale)
        scale[scale == 0.0] = 1.0  # a row of zeros has no size; any pivot will do
        self._unit = np.sqrt(scale)
        rule = self.regularisation
        self.replaced, bad = self._engine.quasi_definite(
            self._kept, rule.static * scale, scale, rule.least, rule.replacement
        )
        if bad >= 0:
            block, component = _block_of(pattern, bad)
            raise NotFinite(
                f"the factor overflows in block row {block}, component {component}; rescale the matrix", block
            )
        self._valid = True
        return self

    def solve(self, b: ArrayLike, *, refinements: int = 10) -> Array:
        """K^-1 b for one right-hand side (size,), or many (size, count), refined.

        Stops at rounding, or when a step of refinement no longer halves the error, and keeps the best.
        NaN or inf in b give a residual of inf.
        """
        rows, turned = self._right_hand_sides(b)
        with np.errstate(all="ignore"):
            x, rest = self._refine(rows, refinements)
            scale = np.abs(rows).max(axis=-1, keepdims=True, initial=0.0)
            residual = float((np.abs(rest) / np.where(scale > 0.0, scale, 1.0)).max(initial=0.0))
        self.residual = residual if np.isfinite(residual) else np.inf
        return x.T if turned else x

    def _refine(self, b: Array, refinements: int) -> tuple[Array, Array]:
        """x and b - K x for right-hand sides in rows."""
        x = self._solve(b)
        rest, error = self._rest(b, x)
        self.refinements = 0
        for _ in range(refinements):
            if not (error > REFINED).any():
                break
            trial = x + self._solve(rest)
            trial_rest, trial_error = self._rest(b, trial)
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

    def _rest(self, b: Array, x: Array) -> tuple[Array, Array]:
        """b - K x, and its backward error for each right-hand side, shape (..., 1).

        Not row by row (Oettli & Prager 1964): rows of H' v = 0 have nothing to be compared with when
        all is locked and v = 0.
        """
        pattern = self.symbolic.pattern
        rest, bound = np.empty(b.shape), np.empty(b.shape)
        size = pattern.size
        for k in range(b.size // size if size else 0):
            assembly.residual(
                pattern.blocks, self._kept, *(y.reshape(-1, size)[k] for y in (b, x, rest, bound))
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
