"""The one decorator of kernels: `jit`.

With `STICKSLIP_JIT=0` the same kernels run as plain Python, so that a debugger and coverage can enter. No
`fastmath`: compiled and plain kernels round alike. How they are compiled and kept is told in `compilation/`.
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

import numpy as np

from stickslip.compilation import JIT

if JIT:
    from numba import types
    from numba.core import ccallback

    from stickslip.compilation import kernel as kernels
    from stickslip.compilation.plain import OPTIONS, PlainCache, PlainKernel


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel (kept on disk, 0/0 is NaN, no reordering of sums)."""
    if not JIT:
        return _plain(function)
    return kernels.Kernel(function) if kernels.ONCE else PlainKernel(function)


def jit_forward(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jit`, of a kernel whose indices count from the front: variables among them are never negative. That
    saves some instructions for every element."""
    if not JIT:
        return _plain(function)
    return kernels.Kernel(function, forward=True) if kernels.ONCE else PlainKernel(function)


def jit_without_lock(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jit`, of a kernel that works without the interpreter's lock where Python calls it: threads scale."""
    if not JIT:
        return _plain(function)
    make = kernels.Kernel if kernels.ONCE else PlainKernel
    return make(function, release_lock=True)


def jit_inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jit`, of a kernel that becomes part of those that call it: for many arguments and few calls."""
    if not JIT:
        return _plain(function)
    return kernels.Kernel(function, inlined=True) if kernels.ONCE else PlainKernel(function)


def jit_forward_inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """`jit_forward` and `jit_inlined`."""
    if not JIT:
        return _plain(function)
    return kernels.Kernel(function, inlined=True, forward=True) if kernels.ONCE else PlainKernel(function)


def entry(kernel: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """What a call of a kernel with arguments of these types goes to, for loops that make many: nothing is
    looked up, and nothing is checked. Others than arguments of these types must not be given."""
    if JIT and isinstance(kernel, kernels.Kernel):
        made: Callable[..., Any] = kernel.compile(tuple(kernel.typeof_pyval(one) for one in arguments))
        return made
    return kernel


def formula(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function of a kernel, which takes whole arrays where the kernel takes numbers."""
    written: Callable[..., Any] = getattr(kernel, "py_func", None) or kernel.__wrapped__  # type: ignore[attr-defined]
    return written


@cache
def handed(function: Callable[..., Any], arguments: str) -> Any:
    """`function` compiled to be handed to kernels as an argument, so that they are compiled without it.

    arguments: of each a letter: `f` and `i` for vectors of numbers and of whole numbers, `x` for a number.
    """
    if not JIT:
        return function
    element = {"f": types.float64, "i": types.int64}
    given = [types.float64 if letter == "x" else types.Array(element[letter], 1, "C") for letter in arguments]
    made: Any = ccallback.CFunc(
        function, (tuple(given), types.void), {}, {"error_model": OPTIONS["error_model"]}
    )
    made._cache = PlainCache(function)
    made.compile()
    return made


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same in plain Python, as silent as compiled code about overflow and 0/0."""

    @wraps(function)
    def kernel(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return kernel
