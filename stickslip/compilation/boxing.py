"""Arrays and named tuples returned by kernels, created without Python code.

Numba looks up their classes by a Python function and does not check its result. A signal that arrives while a
kernel runs raises its exception there, and the process may crash. Here the classes are constants of the
kernel and the objects are created in C only, so that the exception is raised after the kernel has returned.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.boxing import box_tuple
from numba.core.pythonapi import _boxers
from numba.np.numpy_support import as_dtype

_NEW = tuple.__new__


@contextmanager
def objects_in_c() -> Iterator[None]:
    """Context in which compiled Python wrappers create their objects in C."""
    ours = {
        types.Array: _box_array,
        types.NamedTuple: _box_named,  # type: ignore[attr-defined]
        types.NamedUniTuple: _box_named,  # type: ignore[attr-defined]
    }
    before = {kind: _boxers.functions[kind] for kind in ours}
    _boxers.functions.update(ours)
    try:
        yield
    finally:
        _boxers.functions.update(before)


def _box_named(kind: Any, value: Any, box: Any) -> Any:
    """Emit code that creates the Python object of a named tuple."""
    values = box_tuple(kind, value, box)
    result = box.pyapi.call_function_objargs(
        _constant(_NEW, box), [_constant(kind.instance_class, box), values]
    )
    box.pyapi.decref(values)
    return result


def _box_array(kind: Any, value: Any, box: Any) -> Any:
    """Emit code that creates the Python object of an array, as `numba.core.boxing.box_array`."""
    pointer, number, obj = cgutils.voidptr_t, ir.IntType(32), box.pyapi.pyobj
    make = cgutils.get_or_insert_function(
        box.builder.module,
        ir.FunctionType(obj, [pointer, obj, number, number, obj]),
        "NRT_adapt_ndarray_to_python_acqref",
    )
    place = box.builder.bitcast(cgutils.alloca_once_value(box.builder, value), pointer)
    sizes = [ir.Constant(number, kind.ndim), ir.Constant(number, int(kind.mutable))]
    result = box.builder.call(
        make, [place, _constant(np.ndarray, box), *sizes, _constant(as_dtype(kind.dtype), box)]
    )
    box.context.nrt.decref(box.builder, kind, value)
    return result


def _constant(value: Any, box: Any) -> Any:
    """Emit code that reads a Python object stored with the kernel."""
    return box.env_manager.read_const(box.env_manager.add_const(value))
