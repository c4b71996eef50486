"""Elements, rows and ranges in kernels are what they are in Python, and memory is given back."""

import numpy as np
import pytest

from stickslip.compilation import JIT
from stickslip.kernels.jit import formula, jit, jit_forward

if JIT:
    from numba.core.runtime import _nrt_python, rtsys


@jit
def elements(a, b, i, j):
    """Elements from the front and from the back, read and written, of arrays of any layout."""
    b[i, j], b[-1, -2], b[0, 1] = a[i, j] + a[-1, j], a[i, -1], a[-2, 0]
    b[j][0] += a[i][j]
    return a[i, j], a[j][-1], b[1, 0]


forward = jit_forward(formula(elements))


@jit
def third(a, i):
    """A row of rows, from a kernel that borrows its argument."""
    row = a[i]
    return row[-1]


@jit
def owned(n, i):
    """A row of an array that the kernel has made itself."""
    a = np.arange(n * n).reshape(n, n)
    for k in range(n):
        row = a[k]
        row[0] += k
    return a[i]


@jit
def ranges(n, step):
    """Sums over ranges: none, some, backwards; the number after the loop, one set in some turns."""
    total, last, seen = 0, -1, 0
    for i in range(n):
        for k in range(i, n - 1):
            total += i * k
            if k == 2:
                seen = i
        last = i
    for i in range(n, -2, -step):
        if i == 1:
            continue
        total += 100 * i
        if i < 0:
            break
    return total, last, seen


GRID = np.arange(42.0).reshape(6, 7)


@pytest.mark.parametrize(
    "a", [GRID, GRID[::2, ::-1], GRID.T, np.asfortranarray(GRID), GRID.astype(np.int32)], ids=str
)
@pytest.mark.parametrize(("i", "j"), [(0, 0), (1, 2), (-1, -2), (-2, 1)])
def test_elements_are_those_of_python(a: np.ndarray, i: int, j: int) -> None:
    mine, expected = np.zeros((6, 7)), np.zeros((6, 7))
    assert elements(a, mine, i, j) == formula(elements)(a, expected, i, j)
    assert np.array_equal(mine, expected)


@pytest.mark.parametrize("a", [GRID, GRID[::2, ::-1], np.asfortranarray(GRID)], ids=str)
def test_elements_from_the_front_are_those_of_python(a: np.ndarray) -> None:
    mine, expected = np.zeros((6, 7)), np.zeros((6, 7))
    assert forward(a, mine, 1, 2) == formula(forward)(a, expected, 1, 2)
    assert np.array_equal(mine, expected)


def test_rows_are_views() -> None:
    a = np.zeros((2, 3, 4))
    third(a, 1)[:] = 5.0
    assert np.array_equal(a[1, 2], np.full(4, 5.0))
    assert a.sum() == 20.0


@pytest.mark.skipif(not JIT, reason="memory of compiled kernels")
def test_memory_is_given_back() -> None:
    a = np.zeros((3, 3, 3))
    owned(5, 2)
    third(a, 0)
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        for k in range(50):
            row, view = owned(5, 2), third(a, k % 3)
            assert row.tolist() == [12, 11, 12, 13, 14]
            assert np.shares_memory(view, a)
            del row, view
        after = rtsys.get_allocation_stats()
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == after.free - before.free > 0
    assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free


@pytest.mark.parametrize("n", [-1, 0, 1, 2, 7])
@pytest.mark.parametrize("step", [1, 3])
def test_ranges_are_those_of_python(n: int, step: int) -> None:
    assert ranges(n, step) == formula(ranges)(n, step)
