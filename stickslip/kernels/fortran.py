"""Fortran routines of SciPy (BLAS, LAPACK), called from compiled kernels.

SciPy publishes the addresses of its routines (`scipy.linalg.cython_blas`). They are given to LLVM
under names of ours when this module is imported; compiled code refers to the name, so that Numba's
cache holds in another process, where the address is another. (A ctypes function would work as well,
but Numba refuses to cache its callers.)

Arguments go in one tuple, as Fortran lists them: characters by their code, numbers by value (each
is put on the stack, for Fortran takes pointers), arrays by address. Without compilation this module
is not imported.
"""

import importlib

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic

_CASTS = {"c": types.int8, "i": types.int32, "d": types.float64}
_SLOTS = {"c": ir.IntType(8), "i": ir.IntType(32), "d": ir.DoubleType()}


def _check_integer_width(module, name):
    """Refuse 64-bit BLAS integers: the stack slots made here would be read beyond their end."""
    signature = str(importlib.import_module(module).__pyx_capi__[name])
    if " int *" not in signature:
        raise RuntimeError(
            f"{module}.{name} has no 32-bit integers ({signature});"
            " set STICKSLIP_JIT=0 to factor through SciPy, or install SciPy's wheel"
        )


def routine(module, name, arguments):
    """A Fortran routine as a function of one tuple; `arguments` are c, i, d, or p for an address."""
    _check_integer_width(module, name)
    symbol = f"stickslip_{name}"
    llvmlite.binding.add_symbol(symbol, get_cython_function_address(module, name))
    pointer = ir.IntType(8).as_pointer()

    def generate(context, builder, signature, values):
        passed = []
        for k, kind in enumerate(arguments):
            value, given = builder.extract_value(values[0], k), signature.args[0].types[k]
            if kind == "p":
                passed.append(builder.inttoptr(context.cast(builder, value, given, types.intp), pointer))
                continue
            slot = cgutils.alloca_once(builder, _SLOTS[kind])
            builder.store(context.cast(builder, value, given, _CASTS[kind]), slot)
            passed.append(builder.bitcast(slot, pointer))
        kind_of_function = ir.FunctionType(ir.VoidType(), [pointer] * len(arguments))
        builder.call(cgutils.get_or_insert_function(builder.module, kind_of_function, symbol), passed)
        return context.get_dummy_value()

    def typed(typingctx, arguments):
        return types.none(arguments), generate

    typed.__name__ = name
    return intrinsic(typed)
