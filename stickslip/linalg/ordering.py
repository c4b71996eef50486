"""In which order blocks are eliminated: what decides how large the factor is."""

import numpy as np
import qdldl
import scipy.sparse as sp

from stickslip.compilation import JIT
from stickslip.linalg.kernels import dissection
from stickslip.linalg.kernels import minimum_degree as bits
from stickslip.state import Array, IntArray

SMALL = 450
"""Graphs of so many blocks are ordered by minimum degree: it is better there, nested dissection above."""

TINY = 128
"""Up to so many by a minimum degree of our own: qdldl takes 20 times as long to save a tenth of the work."""


def elimination_order(start: IntArray, neighbour: IntArray, positions: Array | None) -> IntArray:
    """An order for a graph (start (n + 1,), neighbour): nested dissection where it pays, else minimum degree.

    Nested dissection needs positions (n, 1 to 3 axes) that tell neighbours from others; where a cut
    finds no small separator, as with all blocks at one point, the whole graph goes to AMD.
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
    """Geometric nested dissection with refined separators; None where positions are of no use."""
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
    """Approximate minimum degree (Amestoy, Davis & Duff 1996): the order in which qdldl factors.

    qdldl has no way to ask for the order alone, so it factors the Laplacian of the graph, plus one.
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
