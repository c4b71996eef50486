"""Elimination orders of blocks, which determine the size of the factor."""

import numpy as np
import qdldl
import scipy.sparse as sp

from stickslip.compilation import JIT
from stickslip.linalg.kernels import dissection
from stickslip.linalg.kernels import minimum_degree as bits
from stickslip.state import Array, IntArray

SMALL = 450
"""Graphs up to this number of blocks are ordered by minimum degree, which is better there than dissection."""

TINY = 128
"""Graphs up to this number of blocks are ordered by the compiled minimum degree: qdldl takes 20 times as long
and saves a tenth of the work."""


def elimination_order(start: IntArray, neighbour: IntArray, positions: Array | None) -> IntArray:
    """Return an elimination order of a graph (start (n + 1,), neighbour).

    Large graphs with positions (n, 1 to 3 axes) are ordered by nested dissection, others by minimum degree.
    If a cut has no small separator, as for blocks at the same point, minimum degree orders the whole graph.
    """
    n = start.size - 1
    if JIT and n <= TINY:
        order = np.empty(n, np.int64)
        bits.minimum_degree(start, neighbour, order)
        return order
    if JIT and n > SMALL and positions is not None:
        dissected = nested_dissection(start, neighbour, positions)
        if dissected is not None:
            return dissected
    return minimum_degree(start, neighbour)


def nested_dissection(start: IntArray, neighbour: IntArray, positions: Array) -> IntArray | None:
    """Return an order by geometric nested dissection with refined separators, or None if it fails."""
    n = start.size - 1
    if not np.isfinite(positions).all():
        return None
    axes = np.flatnonzero(np.ptp(positions, axis=0) > 0.0) if n else np.arange(0)
    if axes.size == 0:
        return None
    along = np.argsort(positions[:, axes].T, axis=1, kind="stable")
    order = np.empty(n, np.int64)
    if not dissection.dissect(along, start, neighbour, order):
        return None
    return order


def minimum_degree(start: IntArray, neighbour: IntArray) -> IntArray:
    """Return an order by approximate minimum degree (Amestoy, Davis & Duff 1996), computed by qdldl.

    qdldl has no function for the order only, so it factors the Laplacian of the graph plus the identity.
    """
    n = start.size - 1
    if neighbour.size == 0:
        return np.arange(n)
    degree = np.diff(start)
    row = np.concatenate([np.repeat(np.arange(n), degree), np.arange(n)])
    col = np.concatenate([neighbour, np.arange(n)])
    data = np.concatenate([np.full(neighbour.size, -1.0), degree + 1.0])
    laplacian = sp.csc_matrix((data, (row, col)), shape=(n, n))
    _, _, order = qdldl.Solver(laplacian).factors()
    return np.asarray(order, dtype=np.int64)
