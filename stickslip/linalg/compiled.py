"""Compiled engine of a factor; its panels and stack are in buffers that factorisations reuse."""

from typing import Any

import numpy as np

from stickslip.linalg.factor import Buffers
from stickslip.linalg.kernels import triangular
from stickslip.linalg.pattern import fixed
from stickslip.linalg.sharing import run_cholesky, run_quasi_definite
from stickslip.state import Array


class CompiledEngine:
    """Factorisation and solves by the kernels of `linalg/kernels`."""

    def __init__(self, symbolic: Any, buffers: Buffers):
        self._fronts, self._blocks = symbolic.fronts, symbolic.blocks
        size = symbolic.pattern.size
        self._panels = buffers.take("panels", symbolic.entries)
        self._stack = buffers.take("stack", symbolic.stack)
        self._y = buffers.take("y", size)
        self._pivots = buffers.take("pivots", size)
        self._below = buffers.take("below", int(self._fronts.rows.max(initial=0)))
        self._sharing = symbolic.sharing

    def cholesky(self, values: Array, singular: float) -> tuple[int, float]:
        """Factor; return (scalar row of the first invalid pivot or -1, smallest pivot over its entry)."""
        bad = run_cholesky(
            self._sharing, self._fronts, self._blocks, values, self._panels, self._stack, self._pivots,
            singular,
        )  # fmt: skip
        if bad >= 0:
            return int(self._fronts.scalar[bad]), 0.0
        return -1, float(self._pivots.min(initial=np.inf))

    def quasi_definite(
        self, values: Array, shift: Array, scale: Array, least: float, replacement: float
    ) -> tuple[int, int]:
        """Factor; return (number of replaced pivots, scalar row of the first non-finite pivot or -1)."""
        order = self._fronts.scalar
        replaced, bad = run_quasi_definite(
            self._sharing, self._fronts, self._blocks, values, self._panels, self._stack, shift[order],
            scale[order], (least, replacement),
        )  # fmt: skip
        return replaced, int(order[bad]) if bad >= 0 else -1

    def solve(self, b: Array) -> Array:
        """Return the solution for b (size,), or the solutions for rows (count, size)."""
        out = np.empty(b.shape)
        for row, x in zip(np.atleast_2d(b), np.atleast_2d(out), strict=True):
            triangular.solve(self._fronts, self._panels, fixed(row), self._y, self._below, x)
        return out
