"""The product set of a problem in our own HDF5 layout: its seven arrays, checked one against the other.

Inside the house product sets are made by `coulomb`, `free` and their like, which cannot make a
wrong one; arrays from a file can be anything.
"""

from typing import Any

import numpy as np

from stickslip.files.hdf5 import Source
from stickslip.files.hdf5_write import put_array
from stickslip.problem.sets import ProductSet

FREE, NONNEGATIVE, INTERVAL, FRICTION = range(4)
"""Kinds of block as `ProductSet.kind` has them."""
INTEGERS, REALS = ("kind", "offset", "group_offset", "group_size"), ("lower", "upper", "coefficient")


def write_set(group: Any, K: ProductSet) -> None:
    """Fill a group with the arrays of a product set."""
    for names, dtype in ((INTEGERS, np.int64), (REALS, np.float64)):
        for name in names:
            put_array(group, name, getattr(K, name), dtype)


def read_set(source: Source, group: Any, size: int) -> ProductSet:
    """The product set in a group, with `size` components."""
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
