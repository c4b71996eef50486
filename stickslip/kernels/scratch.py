"""Memory for the arrays that kernels work with, taken from one place: a stack of numbers.

An array that a kernel makes itself costs a twentieth of a microsecond, which is much beside the work that
small problems are. A `Scratch` lives as long as its owner; arrays taken from it lose their content where the
place in the stack is given back.

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
    """Floating-point and whole numbers, and how many of them are in use."""

    floats: Array
    """[any], shape (n,)."""
    ints: IntArray
    """[any], shape (m,)."""
    used: IntArray
    """How many of the floating-point and of the whole numbers are taken, and the most that were wanted
    [-], shape (4,)."""


def scratch_for(floats: int, ints: int) -> Scratch:
    """So many numbers, nothing taken."""
    return Scratch(np.zeros(floats), np.zeros(ints, np.int64), np.zeros(4, np.int64))


@jit
def taken(scratch):
    """Where the stack is, for `give_back`."""
    return scratch.used[0], scratch.used[1]


@jit
def give_back(scratch, mark):
    """All that was taken since the mark is free again."""
    for k in range(2):
        scratch.used[2 + k] = max(scratch.used[2 + k], scratch.used[k])
        scratch.used[k] = mark[k]


@jit
def floats(scratch, n):
    """An array (n,) of numbers, not set. The stack must have room for it: who makes it knows the most that is
    taken. Nothing counts references to such arrays, which would take longer than much of the work."""
    first = scratch.used[0]
    scratch.used[0] = first + (n + LINE - 1) // LINE * LINE
    return scratch.floats[first : first + n]


@jit
def ints(scratch, n):
    """The same of whole numbers."""
    first = scratch.used[1]
    scratch.used[1] = first + (n + LINE - 1) // LINE * LINE
    return scratch.ints[first : first + n]


@jit
def zeros(scratch, n):
    """An array (n,) of zeros."""
    x = floats(scratch, n)
    for k in range(n):
        x[k] = 0.0
    return x


@jit
def matrix(scratch, n, m):
    """An array (n, m), not set."""
    return floats(scratch, n * m).reshape(n, m)
