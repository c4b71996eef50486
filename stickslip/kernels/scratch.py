"""Work memory of kernels: a stack of numbers from which arrays are taken.

The allocation of an array in a kernel costs 0.05 µs, which is much in a small problem. A `Scratch` lives as
long as its owner; an array taken from it is valid until its part of the stack is given back.

    mark = taken(scratch)
    x = floats(scratch, n)
    ...
    give_back(scratch, mark)
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels.jit import jit_forward as jit
from stickslip.kernels.lines import LINE
from stickslip.state import Array, IntArray


class Scratch(NamedTuple):
    """Floating-point and integer numbers, and how many of them are in use."""

    floats: Array
    """[any], shape (n,)."""
    ints: IntArray
    """[any], shape (m,)."""
    used: IntArray
    """Numbers of floating-point and integer numbers in use, and the largest ones so far [-], shape (4,)."""


def scratch_for(floats: int, ints: int) -> Scratch:
    """Return an empty `Scratch` with room for so many numbers."""
    return Scratch(np.zeros(floats), np.zeros(ints, np.int64), np.zeros(4, np.int64))


@jit
def taken(scratch):
    """Return the top of the stack, for `give_back`."""
    return scratch.used[0], scratch.used[1]


@jit
def give_back(scratch, mark):
    """Free everything taken since the mark."""
    for k in range(2):
        scratch.used[2 + k] = max(scratch.used[2 + k], scratch.used[k])
        scratch.used[k] = mark[k]


@jit
def floats(scratch, n):
    """Return an uninitialised array (n,). The caller ensures that the stack has room for it.

    References to such arrays are not counted, which would take longer than much of the work.
    """
    first = scratch.used[0]
    scratch.used[0] = first + (n + LINE - 1) // LINE * LINE
    return scratch.floats[first : first + n]


@jit
def ints(scratch, n):
    """Return an uninitialised array (n,) of integers."""
    first = scratch.used[1]
    scratch.used[1] = first + (n + LINE - 1) // LINE * LINE
    return scratch.ints[first : first + n]


@jit
def zeros(scratch, n):
    """Return an array (n,) of zeros."""
    x = floats(scratch, n)
    for k in range(n):
        x[k] = 0.0
    return x


@jit
def matrix(scratch, n, m):
    """Return an uninitialised array (n, m)."""
    return floats(scratch, n * m).reshape(n, m)
