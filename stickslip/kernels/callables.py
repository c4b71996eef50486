"""Calls of users' compiled functions from compiled steps, by address.

For each function there is an adapter of the same form, (t, a, b, z, out) with pointers to numbers, whatever
the function takes and returns. A kernel that calls users' functions is thus compiled once for all models and
cached on disk; only the adapters, a few lines each, are compiled in every process.

The output is set to NaN before every call. NaN after the call sets the flag `stop`, and the caller discards
the step. Old contents of memory thus cannot be taken for the value of a function that raises. Signal handlers
(`interrupts.py`) set the same flag.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from stickslip.compilation import JIT
from stickslip.kernels.jit import jit

STEP = float(np.finfo(float).eps) ** (1.0 / 3.0)
"""Relative step of central differences, as in `systems/derivatives.py`."""
VALUE = -1
"""Value of `derivative` in `adapter` for the function itself."""

if JIT:
    import numba
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.core.errors import NumbaError
    from numba.extending import intrinsic

    _POINTER = types.CPointer(types.float64)
    _SIGNATURE = types.void(types.float64, _POINTER, _POINTER, _POINTER, _POINTER)

    @intrinsic
    def _call(typingctx, address, t, a, b, z, out):  # type: ignore[no-untyped-def]
        """Call the adapter at `address`; a, b, z, out: addresses of numbers."""

        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            number = ir.DoubleType()
            pointer = number.as_pointer()
            form = ir.FunctionType(ir.VoidType(), [number, *[pointer] * 4])
            function = builder.inttoptr(values[0], form.as_pointer())
            builder.call(function, [values[1], *(builder.inttoptr(v, pointer) for v in values[2:])])
            return context.get_dummy_value()

        whole = types.int64
        return types.none(whole, types.float64, whole, whole, whole, whole), generate

    @intrinsic
    def _call_plain(typingctx, address):  # type: ignore[no-untyped-def]
        """Call the C function `int f(void)` at `address`."""

        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            form = ir.FunctionType(ir.IntType(32), [])
            builder.call(builder.inttoptr(values[0], form.as_pointer()), [])
            return context.get_dummy_value()

        return types.none(types.int64), generate

    def function_at(arguments: str) -> Any:
        """Return an intrinsic that makes a function of `jit.handed`, of these arguments, from its address.

        Passing an address is faster than a function, whose address Numba reads through Python in every call.
        """
        kinds = {"f": types.float64[::1], "i": types.int64[::1], "x": types.float64}
        kind: Any = types.FunctionType(types.void(*(kinds[letter] for letter in arguments)))  # type: ignore[attr-defined]

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            function = cgutils.create_struct_proxy(kind)(context, builder)
            function.c_addr = builder.inttoptr(values[0], cgutils.voidptr_t)
            function.py_addr = function.jit_addr = cgutils.voidptr_t(None)
            return function._getvalue()

        @intrinsic
        def at(typingctx, address):  # type: ignore[no-untyped-def]
            return kind(types.int64), generate

        return at

else:

    def _call(*arguments):  # type: ignore[no-untyped-def, misc]
        raise NotImplementedError("compiled functions are called from compiled kernels only")

    _call_plain = _call  # type: ignore[assignment]

    def function_at(arguments: str) -> Any:
        """Return a function that raises NotImplementedError: calls by address need compilation."""
        return _call


STOP, SIGNALS = 0, 1
"""Indices of `stop`: whether to stop; address of the function that runs signal handlers, 0 for none."""


@jit
def call(address, t, a, b, z, stop, out):  # type: ignore[no-untyped-def]
    """out <- value of the function at `address` at (t, a, b, z); if it fails, NaN, and `stop` is set.

    a, b, z, out contiguous vectors; stop (2,). Once `stop` is set, no function is called.
    """
    for k in range(out.shape[0]):
        out[k] = math.nan
    if stop[STOP] != 0:
        return
    _call(address, t, a.ctypes.data, b.ctypes.data, z.ctypes.data, out.ctypes.data)
    for k in range(out.shape[0]):
        if math.isnan(out[k]):
            stop[STOP] = 1


@jit
def is_stopped(stop):  # type: ignore[no-untyped-def]
    """Run the handlers of pending signals and return whether to stop; called once per step.   stop (2,)."""
    if stop[SIGNALS] != 0:
        _call_plain(stop[SIGNALS])
    return stop[STOP] != 0


@lru_cache(maxsize=256)
def adapter(
    function: Callable[..., Any], uniform: Callable[[Callable[..., Any]], Callable[..., Any]],
    sizes: tuple[int, int, int], shape: tuple[int, ...], derivative: int = VALUE,
) -> Any:  # fmt: skip
    """Return the adapter of `function`, with its address in `.address`; None if Numba cannot compile it.

    function: a Numba function of some arguments; uniform: makes it one of all four (t, a, b, z); sizes: of a,
    b, z; shape: of its value. derivative: 0 to 3 for the derivative by t, a, b or z, by central differences.
    """
    if not JIT:
        return None
    try:
        value = _value(function, uniform, sizes, shape)
        form = (
            _plain(value, sizes, shape) if derivative == VALUE else _slopes(value, derivative, sizes, shape)
        )
        return numba.cfunc(_SIGNATURE, error_model="numpy")(form)
    except NumbaError:
        return None


def _value(function: Any, uniform: Any, sizes: tuple[int, int, int], shape: tuple[int, ...]) -> Any:
    """Return a compiled function that writes the value to out, NaN if it raises or has another shape.

    The return type of the function (number, vector, matrix, other) selects the code.
    """
    callee = numba.njit(error_model="numpy")(uniform(function))
    vector = types.float64[::1]
    callee.compile((types.float64, vector, vector, vector))
    compiled: Any = next(iter(callee.overloads.values()))
    returned = compiled.signature.return_type
    total, row = math.prod(shape), len(shape) == 2 and shape[0] == 1

    if isinstance(returned, types.Number):

        def value(t, a, b, z, out):  # type: ignore[no-untyped-def]
            out[0] = np.nan
            if total == 1:
                out[0] = callee(t, a, b, z)

    elif isinstance(returned, types.Array) and returned.ndim == 1:

        def value(t, a, b, z, out):  # type: ignore[no-untyped-def]
            result = callee(t, a, b, z)
            fits = result.shape[0] == total and (row or len(shape) == 1)
            for k in range(total):
                out[k] = result[k] if fits else np.nan

    elif isinstance(returned, types.Array) and returned.ndim == 2:
        rows, columns = shape if len(shape) == 2 else (1, 1)

        def value(t, a, b, z, out):  # type: ignore[no-untyped-def]
            result = callee(t, a, b, z)
            fits = result.shape[0] == rows and result.shape[1] == columns and rows * columns == total
            for k in range(total):
                out[k] = result[k // columns, k % columns] if fits else np.nan

    else:

        def value(t, a, b, z, out):  # type: ignore[no-untyped-def]
            result = np.asarray(callee(t, a, b, z))
            fits = result.shape == shape or (result.ndim < 2 and row and result.size == total)
            for k, number in enumerate(result.flat):
                if k < total:
                    out[k] = number if fits else np.nan

    value = numba.njit(error_model="numpy")(value)

    def safe(t, a, b, z, out):  # type: ignore[no-untyped-def]
        for k in range(total):
            out[k] = np.nan
        try:
            value(t, a, b, z, out)
        except Exception:
            for k in range(total):
                out[k] = np.nan

    return numba.njit(error_model="numpy")(safe)


def _plain(value: Any, sizes: tuple[int, int, int], shape: tuple[int, ...]) -> Callable[..., None]:
    """Return `value` as a function of pointers."""
    total = math.prod(shape)
    na, nb, nz = sizes

    def plain(t, a, b, z, out):  # type: ignore[no-untyped-def]
        value(t, numba.carray(a, na), numba.carray(b, nb), numba.carray(z, nz), numba.carray(out, total))

    return plain


def _slopes(
    value: Any, which: int, sizes: tuple[int, int, int], shape: tuple[int, ...]
) -> Callable[..., None]:
    """Return the derivative of `value` by one argument, row by row, as a function of pointers.

    The formula is that of `systems/derivatives.py`.
    """
    rows, columns = math.prod(shape), (1, *sizes)[which]
    na, nb, nz = sizes

    def slopes(t, pa, pb, pz, out):  # type: ignore[no-untyped-def]
        a, b, z = numba.carray(pa, na).copy(), numba.carray(pb, nb).copy(), numba.carray(pz, nz).copy()
        up, down = np.empty(rows), np.empty(rows)
        argument = np.array([t]) if which == 0 else (a if which == 1 else (b if which == 2 else z))
        for j in range(columns):
            x = argument[j]
            step = STEP * max(1.0, abs(x))
            argument[j] = x + step
            value(argument[0] if which == 0 else t, a, b, z, up)
            argument[j] = x - step
            value(argument[0] if which == 0 else t, a, b, z, down)
            argument[j] = x
            for i in range(rows):
                out[i * columns + j] = (up[i] - down[i]) / ((x + step) - (x - step))

    return slopes
