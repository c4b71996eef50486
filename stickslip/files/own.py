"""HDF5 layout of stickslip, for problems that FCLIB does not support: group `stickslip_problem`.

    version (1), kind (contact, global or box), level (velocity, acceleration or position)
    contact:  set, W, u_free
    global:   set, M, f, H, u_bias and, with bilateral constraints, G, g_bias
    box:      A, b, lower, upper

`set` contains the seven arrays of a ProductSet by name, whose consistency is checked, as they do not come
from constructors such as `coulomb`. A matrix is a group with its `form`: dense (x), rows (compressed: m, n,
p, i, x), bodies (contact blocks: bodies, rows, offset, and for W the number of bodies) or body blocks (x, one
block per body). Problems keep their form; matrix-free problems stay matrix-free.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.files.fclib import block_bytes, coupled_bytes, read_compressed
from stickslip.files.hdf5 import Source
from stickslip.files.hdf5_write import put_array, put_text
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import IntArray
from stickslip.problem.contact import ContactProblem, GlobalProblem, Level
from stickslip.problem.jacobian import ContactBlocks, contact_blocks
from stickslip.problem.operator import BlockDelassus, BodyDelassus
from stickslip.problem.sets import ProductSet, free
from stickslip.problem.solution import Problem

OWN_ROOT = "stickslip_problem"
VERSION = 1
FORMS = {
    "W": ("dense", "rows", "bodies"),
    "M": ("dense", "rows", "body blocks"),
    "H": ("rows", "bodies"),
    "G": ("rows", "bodies"),
    "A": ("dense", "rows"),
}
"""Allowed forms of each matrix."""
LEVELS = tuple(level.value for level in Level)
FREE, NONNEGATIVE, INTERVAL, FRICTION = range(4)
"""Kinds of blocks, see `ProductSet.kind`."""
INTEGERS, REALS = ("kind", "offset", "group_offset", "group_size"), ("lower", "upper", "coefficient")


def read_own(source: Source, group: Any) -> Problem:
    """Read the problem in the group `stickslip_problem`."""
    version = source.integer(group, "version")
    if version != VERSION:
        source.fail(f"{group.name}/version", f"{VERSION}, the version that this program knows", f"{version}")
    kind = _choice(source, group, "kind", ("contact", "global", "box"))
    if kind == "box":
        b, lower, upper = (source.reals(group, name) for name in ("b", "lower", "upper"))
        return BoxProblem(_read_matrix(source, group, "A", (b.size, b.size)), b, lower, upper)
    level = Level(_choice(source, group, "level", LEVELS))
    if kind == "contact":
        u_free = source.reals(group, "u_free")
        n = u_free.size
        K = read_set(source, source.group(group, "set"), n)
        return ContactProblem(_read_matrix(source, group, "W", (n, n), K.offset), u_free, K, level)
    f, u_bias = source.reals(group, "f"), source.reals(group, "u_bias")
    K = read_set(source, source.group(group, "set"), u_bias.size)
    M = _read_matrix(source, group, "M", (f.size, f.size))
    H = _read_matrix(source, group, "H", (f.size, u_bias.size), K.offset)
    if not source.has(group, "G"):
        return GlobalProblem(M, f, H, u_bias, K, level=level)
    g_bias = source.reals(group, "g_bias")
    G = _read_matrix(source, group, "G", (f.size, g_bias.size))
    return GlobalProblem(M, f, H, u_bias, K, G, g_bias, level)


def write_own(group: Any, problem: Problem) -> None:
    """Write any problem to the group `stickslip_problem`."""
    put_array(group, "version", [VERSION], np.int32)
    if isinstance(problem, BoxProblem):
        put_text(group, "kind", "box")
        _write_matrix(group, "A", problem.A)
        vectors = {"b": problem.b, "lower": problem.lower, "upper": problem.upper}
    else:
        put_text(group, "kind", "contact" if isinstance(problem, ContactProblem) else "global")
        put_text(group, "level", problem.level.value)
        write_set(group.create_group("set"), problem.K)
        if isinstance(problem, ContactProblem):
            W = problem.W
            _write_matrix(group, "W", W if isinstance(W, BlockDelassus | BodyDelassus) else W.dense())
            vectors = {"u_free": problem.u_free}
        else:
            _write_matrix(group, "M", problem.M.matrix)
            _write_matrix(group, "H", problem.H)
            vectors = {"f": problem.f, "u_bias": problem.u_bias}
            if problem.G is not None:
                _write_matrix(group, "G", problem.G)
                vectors["g_bias"] = problem.g_bias
    for name, value in vectors.items():
        put_array(group, name, value, np.float64)


def _choice(source: Source, group: Any, name: str, choices: tuple[str, ...]) -> str:
    value = source.text(group, name)
    if value not in choices:
        source.fail(f"{group.name}/{name}", "one of " + ", ".join(choices), repr(value[:40]))
    return value


def _read_matrix(
    source: Source, parent: Any, name: str, shape: tuple[int, int], offset: IntArray | None = None
) -> Any:
    """Read a matrix of this shape in its form; offset: offset of the product set, for W and H."""
    group = source.group(parent, name)
    form = _choice(source, group, "form", FORMS[name])
    if form == "bodies":
        blocks = _read_bodies(source, group, shape[1], offset)
        return _read_delassus(source, group, blocks) if name == "W" else blocks
    if form == "rows":
        _same_shape(source, group, shape, (source.integer(group, "m"), source.integer(group, "n")))
        parts = source.integers(group, "p"), source.integers(group, "i"), source.reals(group, "x")
        matrix = read_compressed(source, group, shape, *parts)
        if name == "W" and offset is not None:
            source.charge(group.name, block_bytes(matrix, offset))
        if name == "M":
            source.charge(group.name, coupled_bytes(matrix))
        return matrix
    array = source.reals(group, "x", 2 if form == "dense" else 3)
    square = (array.shape[0] * array.shape[1], array.shape[0] * array.shape[-1])
    _same_shape(source, group, shape, array.shape if form == "dense" else square)
    return array


def _read_bodies(source: Source, group: Any, size: int, offset: IntArray | None) -> ContactBlocks:
    bodies, rows = source.integers(group, "bodies", 2), source.reals(group, "rows", 3)
    starts = source.integers(group, "offset")
    if rows.shape[0] != size:
        source.fail(f"{group.name}/rows", f"{size} rows, as the vectors have it", f"{rows.shape[0]}")
    if not starts.size or starts[0] != 0 or starts[-1] != size or (starts[1:] <= starts[:-1]).any():
        source.fail(f"{group.name}/offset", f"numbers that rise from 0 to {size}", "others")
    if offset is not None and not np.array_equal(starts, offset):
        source.fail(f"{group.name}/offset", "the offset of the product set", "another one")
    return contact_blocks(bodies, rows, free(*np.diff(starts).tolist()))


def _read_delassus(source: Source, group: Any, blocks: ContactBlocks) -> BodyDelassus:
    count = source.integer(group, "count")
    if count < 0 or (blocks.bodies >= count).any():
        content = f"{count} bodies, and a contact with body {blocks.bodies.max(initial=-1)}"
        source.fail(f"{group.name}/count", "a count above every body", content)
    # Products with W allocate a velocity for every body, with or without contacts.
    source.charge(f"{group.name}/count", 8 * count * blocks.rows.shape[2])
    return BodyDelassus(blocks.offset, blocks.bodies, blocks.rows, count)


def _same_shape(source: Source, group: Any, shape: tuple[int, ...], found: tuple[int, ...]) -> None:
    if found != shape:
        source.fail(group.name, f"a matrix of shape {shape}, as the vectors have it", f"one of shape {found}")


def _write_matrix(parent: Any, name: str, matrix: Any) -> None:
    group = parent.create_group(name)
    if isinstance(matrix, ContactBlocks | BodyDelassus):
        put_text(group, "form", "bodies")
        put_array(group, "bodies", matrix.bodies, np.int64)
        put_array(group, "rows", matrix.rows, np.float64)
        put_array(group, "offset", matrix.offset, np.int64)
        if isinstance(matrix, BodyDelassus):
            put_array(group, "count", [matrix.count], np.int64)
    elif sp.issparse(matrix) or isinstance(matrix, BlockDelassus):
        csr = sp.csr_array(matrix.sparse() if isinstance(matrix, BlockDelassus) else matrix, copy=True)
        csr.sum_duplicates()
        put_text(group, "form", "rows")
        shape = {"m": csr.shape[:1], "n": csr.shape[1:]}
        for key, value in (shape | {"p": csr.indptr, "i": csr.indices}).items():
            put_array(group, key, value, np.int64)
        put_array(group, "x", csr.data, np.float64)
    else:
        put_text(group, "form", "dense" if matrix.ndim == 2 else "body blocks")
        put_array(group, "x", matrix, np.float64)


def write_set(group: Any, K: ProductSet) -> None:
    """Write the arrays of a product set to a group."""
    for names, dtype in ((INTEGERS, np.int64), (REALS, np.float64)):
        for name in names:
            put_array(group, name, getattr(K, name), dtype)


def read_set(source: Source, group: Any, size: int) -> ProductSet:
    """Read and check the product set in a group, with `size` components."""
    integers = {name: source.integers(group, name) for name in INTEGERS}
    reals = {name: source.reals(group, name) for name in REALS}
    K = ProductSet(**integers, **reals)  # type: ignore[arg-type]
    nb, ng = K.kind.size, K.group_size.size

    def check(name: str, expected: str, good: Any) -> None:
        if not np.all(good):
            where = f" (first at {int(np.argmin(good))})" if np.ndim(good) else ""
            source.fail(f"{group.name}/{name}", expected, f"others{where}")

    check("kind", "numbers from 0 to 3", (K.kind >= FREE) & (K.kind <= FRICTION))
    for name, count in (("offset", nb + 1), ("group_offset", nb + 1), ("lower", nb), ("upper", nb)):
        check(name, f"{count} numbers", getattr(K, name).size == count)
    check("coefficient", f"{ng} numbers, one per group", K.coefficient.size == ng)
    check("offset", f"numbers that rise from 0 to {size}", K.offset[0] == 0 and K.offset[-1] == size)
    check("offset", f"numbers that rise from 0 to {size}", K.offset[1:] > K.offset[:-1])
    ends = K.group_offset[0] == 0 and K.group_offset[-1] == ng
    check("group_offset", f"numbers that rise from 0 to {ng}", ends)
    check("group_offset", f"numbers that rise from 0 to {ng}", K.group_offset[1:] >= K.group_offset[:-1])
    check("group_size", f"sizes from 1 to {size}", (K.group_size >= 1) & (K.group_size <= size))
    _check_blocks(check, K)
    for array in (*integers.values(), *reals.values()):
        array.flags.writeable = False
    return K


def _check_blocks(check: Any, K: ProductSet) -> None:
    sizes, groups = np.diff(K.offset), np.diff(K.group_offset)
    friction, single = K.kind == FRICTION, (K.kind == NONNEGATIVE) | (K.kind == INTERVAL)
    check("group_offset", "groups for friction and for nothing else", (groups > 0) == friction)
    before = np.concatenate([[0], np.cumsum(K.group_size)])
    filled = 1 + before[K.group_offset[1:]] - before[K.group_offset[:-1]]
    check("offset", "blocks as large as their groups with the normal", (sizes == filled) | ~friction)
    check("offset", "one component for bounds", (sizes == 1) | ~single)
    mu = K.coefficient
    check("coefficient", "numbers that are finite and not negative", (mu >= 0.0) & (mu < np.inf))
    lower, upper = (np.where(K.kind == FREE, x, y) for x, y in ((-np.inf, 0.0), (np.inf, np.inf)))
    interval = K.kind == INTERVAL
    check("lower", "the lower bound of the kind of block", (K.lower == lower) | interval)
    check("upper", "the upper bound of the kind of block", (K.upper == upper) | interval)
    ordered = (K.lower <= K.upper) & (K.lower < np.inf) & (K.upper > -np.inf)
    check("lower", "bounds with lower <= upper and a finite point", ordered)
