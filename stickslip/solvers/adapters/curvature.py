"""Root of the quadratic objective P, by which solvers for linear objectives treat it as a cone."""

from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

NO_CURVATURE = 1e-14
"""Ratio of an eigenvalue of P to the largest of its block below which it counts as zero."""


def root(P: sp.csr_array) -> sp.csr_array:
    """Return F with P = F'F, shape (rank, n), from the eigenvectors of each block, as P may be singular."""
    n = P.shape[0]
    count, label = connected_components(P, directed=False)
    order = np.argsort(label, kind="stable")
    ends = np.searchsorted(label[order], np.arange(count + 1))
    rows, columns, entries = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)]
    rank = 0
    for first, last in pairwise(ends.tolist()):
        part = order[first:last]
        values, vectors = np.linalg.eigh(P[part][:, part].toarray())
        positive = values > NO_CURVATURE * abs(values).max(initial=0.0)
        block = np.sqrt(values[positive])[:, None] * vectors[:, positive].T
        rows.append(np.repeat(rank + np.arange(block.shape[0]), part.size))
        columns.append(np.tile(part, block.shape[0]))
        entries.append(block.ravel())
        rank += block.shape[0]
    where = np.concatenate(rows), np.concatenate(columns)
    return sp.csr_array((np.concatenate(entries), where), shape=(rank, n))
