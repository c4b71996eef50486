"""Multithreaded factorisations: independent subtrees of the elimination tree, then wide fronts in tiles.

Subtrees and tiles depend on the pattern only, so that results are equal bit by bit for any number of threads.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from stickslip.linalg.kernels import cholesky, front_lu, quasidefinite, wide_cholesky, wide_lu
from stickslip.state import Array, IntArray
from stickslip.threads import Team

WIDE = 256
"""Fronts above the subtrees with at least so many pivots or rows are factored in tiles (heuristic)."""
BLOCK = 192
"""Columns of a wide front that are factored at once, by one thread (heuristic)."""
TILE = 384
"""Smallest number of rows or columns of a tile (heuristic)."""
TILES = 12
"""Largest number of tiles of a loop (heuristic)."""


class Sharing:
    """Distribution of fronts over threads."""

    def __init__(self, job: IntArray, shared: bool):
        """job, shared: result and argument of `kernels.fronts.lay_out`."""
        bounds = [0, *(np.flatnonzero(np.diff(job)) + 1).tolist(), job.size]
        self.parts: list[tuple[int, int]] = []
        """Ranges (first, end) of fronts: subtrees, and single fronts above them, children first."""
        self.is_above: list[bool] = []
        """Whether each range is a front above the subtrees."""
        for first, end in pairwise(bounds):
            above = job.any() and job[first] == job.max()
            ends = range(first + 1, end + 1) if above else [end]
            for part in pairwise([first, *ends]):
                self.parts.append(part)
                self.is_above.append(bool(above))
        self.shared = shared
        """Whether there is memory for all subtrees at once."""

    def run(self, subtree: Callable[[int, int], int], front: Callable[[Team, int], int]) -> int:
        """Factor all fronts; return the first column with an invalid pivot, or -1.

        subtree: factors a range of fronts; front: factors one front in tiles.
        """
        if not any(self.is_above):
            return next((subtree(*part) for part in self.parts), -1)
        bad, rest = -1, list(zip(self.parts, self.is_above, strict=True))
        with Team() as team:
            if self.shared:
                subtrees = [part for part, above in rest if not above]
                bad = _first(team.run([partial(subtree, *part) for part in subtrees]))
                rest = [item for item in rest if item[1]]
            for part, above in rest:
                if bad >= 0:
                    break
                bad = front(team, part[0]) if above else subtree(*part)
        return bad


def run_cholesky(
    sharing: Sharing, fronts: Any, blocks: Any, values: Array, x: Array, u: Array, diagonal: Array,
    least: float,
) -> int:  # fmt: skip
    """Run `cholesky.factorise` on all fronts; return its result."""

    def subtree(first: int, end: int) -> int:
        info = np.zeros(1, np.int32)
        return int(cholesky.factorise(fronts, blocks, values, x, u, diagonal, info, least, first, end))

    def front(team: Team, s: int) -> int:
        n, m, info = int(fronts.columns[s]), int(fronts.rows[s]), np.zeros(1, np.int32)
        if max(n, m) < WIDE:
            return subtree(s, s + 1)
        all_of = partial(_all_of, team)
        # 1. Entries of the matrix, and update matrices of the children.
        all_of(0, n, wide_cholesky.clear, fronts, s, x)
        wide_cholesky.begin(fronts, blocks, s, values, x, diagonal)
        all_of(0, n, wide_cholesky.gather, fronts, s, u, x, True)
        # 2. Block by block: pivots, rows below them, columns behind them.
        for low in range(0, n, BLOCK):
            high = min(low + BLOCK, n)
            bad = wide_cholesky.pivots(fronts, s, x, diagonal, info, least, low, high)
            if bad >= 0:
                return int(bad)
            all_of(high, n + m, wide_cholesky.below, fronts, s, x, low, high)
            all_of(high, n, wide_cholesky.behind, fronts, s, x, low, high)
        # 3. Update matrix for the parent.
        all_of(0, m, wide_cholesky.square, fronts, s, x, u)
        all_of(0, m, wide_cholesky.gather, fronts, s, u, u, False)
        return -1

    return sharing.run(subtree, front)


def run_quasi_definite(
    sharing: Sharing, fronts: Any, blocks: Any, values: Array, x: Array, u: Array, shift: Array,
    scale: Array, rule: tuple[float, float],
) -> tuple[int, int]:  # fmt: skip
    """Run `quasidefinite.factorise` on all fronts; only subtrees are distributed over threads.

    Return (number of replaced pivots, first column with an invalid pivot or -1).
    """
    replaced: list[int] = []

    def subtree(first: int, end: int) -> int:
        changed, bad = quasidefinite.factorise(fronts, blocks, values, x, u, shift, scale, rule, first, end)
        replaced.append(int(changed))
        return int(bad)

    bad = sharing.run(subtree, lambda team, s: subtree(s, s + 1))
    return sum(replaced), bad


def run_lu(sharing: Sharing, plan: Any, values: Array, x: Array, u: Array, exchange: Any) -> int:
    """Run `front_lu.fill`, and `front_lu.factorise` on all fronts; return its result."""

    def subtree(first: int, end: int) -> int:
        return int(front_lu.factorise(plan, x, u, exchange, np.zeros(1, np.int32), first, end))

    def front(team: Team, s: int) -> int:
        n, m = int(plan.fronts.columns[s]), int(plan.fronts.rows[s])
        info = np.zeros(1, np.int32)
        if n == 0 or max(n, m) < WIDE:
            return subtree(s, s + 1)
        all_of = partial(_all_of, team)
        all_of(0, n + m, wide_lu.gather, plan, s, x, u)
        for low in range(0, n, BLOCK):
            high = min(low + BLOCK, n)
            bad = wide_lu.pivots(plan, s, x, exchange, info, low, high)
            if bad >= 0:
                return int(bad)
            beside = partial(wide_lu.beside, plan, s, x, exchange, low, high)
            team.run([partial(beside, *part) for part in (*_tiles(0, low), *_tiles(high, n))])
        all_of(0, m, wide_lu.right, plan, s, x, exchange)
        all_of(0, m, wide_lu.below, plan, s, x)
        all_of(0, m, wide_lu.update, plan, s, x, u)
        return -1

    front_lu.fill(plan, values, x)
    return sharing.run(subtree, front)


def _all_of(team: Team, first: int, end: int, kernel: Callable[..., Any], *arguments: Any) -> None:
    """Call a kernel for each tile of the rows or columns from `first` to `end` - 1."""
    team.run([partial(kernel, *arguments, *part) for part in _tiles(first, end)])


def _tiles(first: int, end: int) -> Sequence[tuple[int, int]]:
    """Return tiles (first, end) of about equal size."""
    size = max(TILE, -(-(end - first) // TILES))
    return [(a, min(a + size, end)) for a in range(first, end, size)]


def _first(bad: Iterable[int]) -> int:
    """Return the smallest column with an invalid pivot, or -1."""
    return min((column for column in bad if column >= 0), default=-1)
