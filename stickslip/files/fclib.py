"""FCLIB's HDF5 layout of problems with friction.

Local (`fclib_local`, `fclib_local_rolling`):     u = W r + q
Global (`fclib_global`, `fclib_global_rolling`):  M v = f + H r + G l,  u = H' v + w,  G' v + b = 0

with the friction coefficients mu, and mu_r of rolling friction. The equations with G agree with ours: G, b
and l are G, g_bias and lam. Local problems with equations (V, R and s in FCLIB) are refused, because a
ContactProblem cannot represent them.

A matrix is a group with m, n, nz, nzmax, p, i, x: nz triplets if nz >= 0 (row i, column p; the comment in
fclib.h states the opposite, but the files are like this), compressed columns if nz = -1, compressed rows if
nz = -2. nzmax, the allocated size, is ignored. W is written by rows and the other matrices by triplets, as in
the files of the collection.
"""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.files.dat import kind_of
from stickslip.files.errors import FormatError
from stickslip.files.hdf5 import Source
from stickslip.files.hdf5_write import put_array
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.mass import SMALL
from stickslip.problem.operator import BlockDelassus, BodyDelassus
from stickslip.problem.sets import ProductSet, coulomb, rolling
from stickslip.problem.solution import Problem

FCLIB_ROOTS = {
    "fclib_local": "friction",
    "fclib_global": "global",
    "fclib_local_rolling": "rolling",
    "fclib_global_rolling": "global-rolling",
}
"""Root groups of FCLIB, and the kinds of their problems."""

TRIPLETS, COLUMNS, ROWS = 0, -1, -2
LARGEST = 2**31 - 1
"""Largest integer of FCLIB, which has 32 bits."""


def fclib_root(problem: Problem) -> str | None:
    """Root group of a problem; None if FCLIB does not support it, or would require W as a matrix."""
    if isinstance(problem, ContactProblem) and isinstance(problem.W, BodyDelassus):
        return None
    kind = kind_of(problem)
    return next((root for root, holds in FCLIB_ROOTS.items() if holds == kind), None)


def read_fclib(source: Source, group: Any, kind: str) -> ContactProblem | GlobalProblem:
    """Read the problem of a kind in one of FCLIB's root groups."""
    vectors = source.group(group, "vectors")
    if kind in ("friction", "rolling"):
        for parent, name in ((group, "V"), (group, "R"), (vectors, "s")):
            if source.has(parent, name):
                expectation = "a local problem without equations (give the global one, which may have them)"
                source.fail(f"{parent.name}/{name}", expectation, "the equations V' r + R l + s = 0")
        q = source.reals(vectors, "q")
        K = _read_set(source, group, vectors, kind, q.size)
        W = _read_matrix(source, group, "W", (q.size, q.size))
        source.charge(f"{group.name}/W", block_bytes(W, K.offset))
        return ContactProblem(W, q, K)
    f, w = source.reals(vectors, "f"), source.reals(vectors, "w")
    K = _read_set(source, group, vectors, kind, w.size)
    M = _read_matrix(source, group, "M", (f.size, f.size))
    source.charge(f"{group.name}/M", coupled_bytes(M))
    H = _read_matrix(source, group, "H", (f.size, w.size))
    if not source.has(group, "G"):
        return GlobalProblem(M, f, H, w, K)  # type: ignore[arg-type]
    b = source.reals(vectors, "b")
    G = _read_matrix(source, group, "G", (f.size, b.size))
    return GlobalProblem(M, f, H, w, K, G, b)  # type: ignore[arg-type]


def write_fclib(path: Path, group: Any, problem: Problem) -> None:
    """Write a problem to the root group of `fclib_root`."""
    assert isinstance(problem, ContactProblem | GlobalProblem)
    K = problem.K
    put_array(group, "spacedim", [K.dimension or 3], np.int32)
    vectors = group.create_group("vectors")
    if isinstance(problem, ContactProblem):
        W = problem.W
        _write_matrix(path, group, "W", W.sparse() if isinstance(W, BlockDelassus) else W.dense(), ROWS)
        put_array(vectors, "q", problem.u_free, np.float64)
    else:
        _write_matrix(path, group, "M", problem.M.sparse, TRIPLETS)
        _write_matrix(path, group, "H", problem.H_sparse(), TRIPLETS)
        put_array(vectors, "f", problem.f, np.float64)
        put_array(vectors, "w", problem.u_bias, np.float64)
        if problem.G is not None:
            _write_matrix(path, group, "G", problem.G_sparse(), TRIPLETS)
            put_array(vectors, "b", problem.g_bias, np.float64)
    for name, k in zip(("mu", "mu_r"), range(len(K.family or (2,))), strict=False):
        put_array(vectors, name, K.friction(k), np.float64)


def _read_set(source: Source, group: Any, vectors: Any, kind: str, size: int) -> ProductSet:
    """Read the product set, with `size` components."""
    d = source.integer(group, "spacedim")
    dimensions = (5,) if "rolling" in kind else (2, 3)
    if d not in dimensions:
        expectation = " or ".join(map(str, dimensions))
        source.fail(f"{group.name}/spacedim", f"{expectation} components per contact", f"{d}")
    coefficients = {name: source.reals(vectors, name) for name in (("mu", "mu_r") if d == 5 else ("mu",))}
    for name, value in coefficients.items():
        if value.size * d != size:
            expectation = f"{size}/{d} numbers, one per contact"
            source.fail(f"{vectors.name}/{name}", expectation, f"{value.size}")
    return rolling(coefficients["mu"], coefficients["mu_r"]) if d == 5 else coulomb(coefficients["mu"], d)


def _read_matrix(source: Source, parent: Any, name: str, shape: tuple[int, int]) -> sp.csr_array:
    group = source.group(parent, name)
    shape_there = source.integer(group, "m"), source.integer(group, "n")
    if shape_there != shape:
        source.fail(
            group.name, f"a matrix of shape {shape}, as the vectors have it", f"one of shape {shape_there}"
        )
    nz = source.integer(group, "nz")
    p, i, x = source.integers(group, "p"), source.integers(group, "i"), source.reals(group, "x")
    if nz >= 0:
        for key, array in (("p", p), ("i", i), ("x", x)):
            if array.size < nz:
                source.fail(f"{group.name}/{key}", f"{nz} entries, as nz has it", f"{array.size}")
        row = _below(source, f"{group.name}/i", i[:nz], shape[0])
        column = _below(source, f"{group.name}/p", p[:nz], shape[1])
        return sp.coo_array((x[:nz], (row, column)), shape=shape).tocsr()
    if nz not in (COLUMNS, ROWS):
        source.fail(f"{group.name}/nz", "a count of triplets, -1 (columns) or -2 (rows)", f"{nz}")
    lines, across = shape if nz == ROWS else shape[::-1]
    compressed = read_compressed(source, group, (lines, across), p, i, x)
    return compressed if nz == ROWS else sp.csr_array(compressed.T)


def read_compressed(
    source: Source, group: Any, shape: tuple[int, int], p: IntArray, i: IntArray, x: Array
) -> sp.csr_array:
    """Read a matrix in compressed rows: pointer p, columns i, numbers x; duplicates are summed."""
    if p.size != shape[0] + 1 or p[0] != 0 or (p[1:] < p[:-1]).any():
        fault = f"{p.size} numbers" if p.size != shape[0] + 1 else "a pointer that does not"
        source.fail(f"{group.name}/p", f"{shape[0] + 1} numbers that rise from 0", fault)
    count = int(p[-1])
    for key, array in (("i", i), ("x", x)):
        if array.size < count:
            source.fail(f"{group.name}/{key}", f"{count} entries, as p has it", f"{array.size}")
    index = _below(source, f"{group.name}/i", i[:count], shape[1])
    matrix = sp.csr_array((x[:count], index, p), shape=shape)
    matrix.sum_duplicates()
    return matrix


def block_bytes(matrix: sp.csr_array, offset: IntArray) -> int:
    """Size of W in blocks along `offset` [bytes]; one number in a large block costs the whole block."""
    sizes = np.diff(offset)
    block = np.repeat(np.arange(sizes.size), sizes)
    row = np.repeat(block, np.diff(matrix.indptr))
    touched = np.unique(row * max(sizes.size, 1) + block[matrix.indices])
    areas = sizes[touched // max(sizes.size, 1)] * sizes[touched % max(sizes.size, 1)]
    return 8 * int(areas.sum() + (sizes * sizes).sum())


def coupled_bytes(matrix: sp.csr_array) -> int:
    """Size of the dense blocks in which M is checked [bytes]: small sets of coupled velocities."""
    if 0 in matrix.shape:
        return 0
    sizes = np.bincount(sp.csgraph.connected_components(matrix, directed=False)[1])
    return 8 * int((sizes[sizes <= SMALL] ** 2).sum())


def _below(source: Source, place: str, index: IntArray, limit: int) -> IntArray:
    """Return `index`; refuse the file if it is not within [0, limit)."""
    bad = np.flatnonzero((index < 0) | (index >= limit))
    if bad.size:
        source.fail(place, f"indices from 0 to below {limit}", f"{index[bad[0]]} at {bad[0]}")
    return index


def _write_matrix(path: Path, parent: Any, name: str, matrix: np.ndarray | sp.csr_array, form: int) -> None:
    csr = sp.csr_array(matrix, copy=True)
    csr.sum_duplicates()
    if max(*csr.shape, csr.nnz) > LARGEST:
        content = f"{csr.nnz} entries in a matrix of shape {csr.shape}"
        raise FormatError.at(path, f"{parent.name}/{name}", f"sizes up to {LARGEST}", content)
    group = parent.create_group(name)
    nz = csr.nnz if form == TRIPLETS else form
    for key, value in (("nzmax", csr.nnz), ("m", csr.shape[0]), ("n", csr.shape[1]), ("nz", nz)):
        put_array(group, key, [value], np.int32)
    row, column = csr.tocoo().coords
    put_array(group, "p", column if form == TRIPLETS else csr.indptr, np.int32)
    put_array(group, "i", row if form == TRIPLETS else csr.indices, np.int32)
    put_array(group, "x", csr.data, np.float64)
