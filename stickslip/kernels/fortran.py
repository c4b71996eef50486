"""Fortran routines of SciPy (BLAS, LAPACK), called from compiled kernels.

SciPy exports the addresses of its routines (`scipy.linalg.cython_blas`). On import, this module registers
them in LLVM under project-specific symbols. Compiled code refers to the symbol, so that cached code is valid
in other processes, where addresses differ. (Numba does not cache functions that call ctypes functions.)

Arguments are passed in one tuple in Fortran order: characters by their code, numbers by value (each is stored
on the stack, since Fortran takes pointers), arrays by address. This module is imported only with compilation.
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
    """Raise RuntimeError for 64-bit BLAS integers, which do not fit the stack slots of `routine`."""
    signature = str(importlib.import_module(module).__pyx_capi__[name])
    if " int *" not in signature:
        raise RuntimeError(
            f"{module}.{name} has no 32-bit integers ({signature});"
            " set STICKSLIP_JIT=0 to factor through SciPy, or install SciPy's wheel"
        )


def routine(module, name, arguments):
    """Return a Fortran routine as a function of one tuple; arguments: c, i, d, or p for an address, each."""
    _check_integer_width(module, name)
    symbol = f"stickslip_{name}"
    llvmlite.binding.add_symbol(symbol, get_cython_function_address(module, name))
    pointer = ir.IntType(8).as_pointer()

    def generate(context, builder, signature, values):
        pointers = []
        for k, kind in enumerate(arguments):
            value, given_type = builder.extract_value(values[0], k), signature.args[0].types[k]
            if kind == "p":
                pointers.append(
                    builder.inttoptr(context.cast(builder, value, given_type, types.intp), pointer)
                )
                continue
            slot = cgutils.alloca_once(builder, _SLOTS[kind])
            builder.store(context.cast(builder, value, given_type, _CASTS[kind]), slot)
            pointers.append(builder.bitcast(slot, pointer))
        kind_of_function = ir.FunctionType(ir.VoidType(), [pointer] * len(arguments))
        builder.call(cgutils.get_or_insert_function(builder.module, kind_of_function, symbol), pointers)
        return context.get_dummy_value()

    def typed(typingctx, arguments):
        return types.none(arguments), generate

    typed.__name__ = name
    return intrinsic(typed)
