"""Decorators of kernels: `jit` and its variants.

With `STICKSLIP_JIT=0` the same kernels run as plain Python, for debuggers and coverage. Kernels are compiled
without `fastmath`, so that compiled and plain kernels round alike. `compilation/` compiles and caches them.
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
    """Compile a kernel: cached on disk, 0/0 is NaN, no reordering of sums."""
    if not JIT:
        return _plain(function)
    return kernels.Kernel(function) if kernels.ONCE else PlainKernel(function)


def jit_forward(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel as `jit`, assuming that no variable index is negative, which saves instructions."""
    if not JIT:
        return _plain(function)
    return kernels.Kernel(function, forward=True) if kernels.ONCE else PlainKernel(function)


def jit_without_lock(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel as `jit` that releases the interpreter's lock if Python calls it, for threads."""
    if not JIT:
        return _plain(function)
    make = kernels.Kernel if kernels.ONCE else PlainKernel
    return make(function, release_lock=True)


def jit_inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel as `jit` that is always inlined: for many arguments and few callers."""
    if not JIT:
        return _plain(function)
    return kernels.Kernel(function, inlined=True) if kernels.ONCE else PlainKernel(function)


def jit_forward_inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel as `jit_forward` and `jit_inlined`."""
    if not JIT:
        return _plain(function)
    return kernels.Kernel(function, inlined=True, forward=True) if kernels.ONCE else PlainKernel(function)


def entry(kernel: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """Return the compiled function of a kernel for arguments of these types, for loops of many calls.

    Calls of it skip the lookup and checks of types: all arguments must have exactly these types.
    """
    if JIT and isinstance(kernel, kernels.Kernel):
        compiled: Callable[..., Any] = kernel.compile(
            tuple(kernel.typeof_pyval(argument) for argument in arguments)
        )
        return compiled
    return kernel


def formula(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function of a kernel, which accepts arrays in place of numbers."""
    function: Callable[..., Any] = getattr(kernel, "py_func", None) or kernel.__wrapped__  # type: ignore[attr-defined]
    return function


@cache
def handed(function: Callable[..., Any], arguments: str) -> Any:
    """Compile `function` as an argument of kernels, so that they are compiled independently of it.

    arguments: one letter each: `f` for a vector of floats, `i` for a vector of integers, `x` for a float.
    """
    if not JIT:
        return function
    element = {"f": types.float64, "i": types.int64}
    kinds = [types.float64 if letter == "x" else types.Array(element[letter], 1, "C") for letter in arguments]
    compiled: Any = ccallback.CFunc(
        function, (tuple(kinds), types.void), {}, {"error_model": OPTIONS["error_model"]}
    )
    compiled._cache = PlainCache(function)
    compiled.compile()
    return compiled


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as plain Python, without warnings of overflow and 0/0, as compiled code."""

    @wraps(function)
    def kernel(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return kernel
