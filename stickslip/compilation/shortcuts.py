"""Faster replacements of functions of Numba that repeat the same work for every kernel.

Each function here replaces one of Numba's and gives the same result. The replacements are active while
kernels are compiled, under the compiler's lock.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from llvmlite.ir import Constant, IRBuilder
from llvmlite.ir.instructions import InsertValue
from numba.core import ir, transforms
from numba.core.base import BaseContext
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.runtime.context import NRTContext
from numba.core.types.functions import BaseFunction
from numba.extending import overload
from numba.np import arrayobj

_call_type = BaseFunction.get_call_type
_process = PostProcessor.run
_find_function = BaseContext.get_function
_extract = IRBuilder.extract_value
_KNOWN: dict[int, tuple[Any, dict[Any, Any]]] = {}
"""For each function, by id: the function, to keep it alive, and its signatures by types of arguments."""
_MISSING: set[tuple[Any, ...]] = set()
"""Operations and types of arguments for which Numba has no implementation."""
_WITHOUT_VARIABLES = frozenset({str, int, float, bool, type(None), ir.Loc, type(len), type(_call_type)})
"""Types of parts of statements that contain no variables."""


@contextmanager
def shortcuts() -> Iterator[None]:
    """Context in which the slowest functions of Numba's compiler are replaced."""
    ours = (
        (BaseFunction, "get_call_type", _known_call_type),
        (NRTContext, "get_meminfos", _memory),
        (ir.Inst, "_rec_list_vars", _variables),
        (PostProcessor, "run", _processed),
        (BaseContext, "get_function", _implementation),
        (IRBuilder, "extract_value", _extracted),
        (arrayobj, "raise_with_shape_context", _refuse_shapes),
    )
    before = [getattr(owner, name) for owner, name, _ in ours]
    for owner, name, function in ours:
        setattr(owner, name, function)
    try:
        yield
    finally:
        for (owner, name, _), function in zip(ours, before, strict=True):
            setattr(owner, name, function)


def _refuse_shapes(source: Any, target: Any) -> None:
    """Raise ValueError for an assignment of an array to part of an array of another shape."""


@overload(_refuse_shapes)  # type: ignore[untyped-decorator]
def _code_of_refusal(source: Any, target: Any) -> Any:
    """Return the code of `_refuse_shapes`; Numba's, with the shapes, takes as long as a dozen kernels."""

    def refuse(source: Any, target: Any) -> None:
        raise ValueError("an array is assigned to a part of an array that has another shape")

    return refuse


def _known_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """Return the signature of a call; a function tries its templates once for each types of arguments."""
    if kws:
        return _call_type(self, context, args, kws)
    _, known = _KNOWN.setdefault(id(self), (self, {}))
    key = tuple(args)
    if key in known:
        known_signature, code = known[key]
        self._impl_keys[known_signature.args] = (
            code  # it may have been compiled with other options in the meantime
        )
        return known_signature
    signature: Any = _call_type(self, context, args, kws)
    if signature.is_precise() and all(argument.is_precise() for argument in key):
        known[key] = signature, self._impl_keys[signature.args]
    return signature


def _memory(self: Any, builder: Any, ty: Any, val: Any) -> list[Any]:
    """Return the counted memory of a value, without code for members that have none."""
    model = self._context.data_model_manager[ty]
    memory = [(ty, model.get_nrt_meminfo(builder, val))] if model.has_nrt_meminfo() else []
    if _is_counted(model):
        for kind, getter in model.traverse(builder):
            if _is_counted(self._context.data_model_manager[kind]):
                memory += self.get_meminfos(builder, kind, getter(val))
    return memory


@cache
def _is_counted(model: Any) -> bool:
    """Return whether values have counted memory."""
    return bool(model.contains_nrt_meminfo())


def _variables(self: Any, value: Any) -> list[Any]:
    """Return the variables in a statement, an expression, or a part of one."""
    variables: list[Any] = []
    _add_variables(value, variables)
    return variables


def _add_variables(value: Any, variables: list[Any]) -> None:
    kind = type(value)
    if kind is ir.Var:
        variables.append(value)
    elif kind in _WITHOUT_VARIABLES:
        return
    elif kind is ir.Expr:
        for part in value._kws.values():
            _add_variables(part, variables)
    elif kind is dict:
        for part in value.values():
            _add_variables(part, variables)
    elif isinstance(value, list | tuple):
        for part in value:
            _add_variables(part, variables)
    elif isinstance(value, ir.Inst):
        variables.extend(value.list_vars())


def _processed(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Update a function after a pass; lifetimes of variables are computed only when needed."""
    code = self.func_ir
    if code.is_generator:
        _process(self, emit_dels, extend_lifetimes)
        return
    code.blocks = transforms.canonicalize_cfg(code.blocks)
    code.variable_lifetime = VariableLifetime(code.blocks)
    code.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)


def _implementation(self: Any, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
    """Return the implementation of an operation; remember those without one, such as constant indices."""
    if not isinstance(fn, str):
        return _find_function(self, fn, sig, _firstcall)
    key = fn, sig.args, sig.return_type
    if key in _MISSING:
        raise NotImplementedError(f"no code for {fn}")
    try:
        return _find_function(self, fn, sig, _firstcall)
    except NotImplementedError:
        _MISSING.add(key)
        raise


def _extracted(self: Any, agg: Any, idx: Any, name: str = "") -> Any:
    """Extract a part of a structure; if the instruction that inserted it is known, return the value
    itself."""
    place = list(idx) if isinstance(idx, tuple | list) else [idx]
    while place:
        if isinstance(agg, InsertValue):
            inserted_at = list(agg.indices)
            if inserted_at == place[: len(inserted_at)]:
                agg, place = agg.value, place[len(inserted_at) :]
            elif place == inserted_at[: len(place)]:
                break  # a part that was inserted piece by piece
            else:
                agg = agg.aggregate
        elif (
            isinstance(agg, Constant)
            and isinstance(agg.constant, list | tuple)
            and isinstance(agg.constant[place[0]], Constant)
        ):
            agg, place = agg.constant[place[0]], place[1:]
        else:
            break
    return _extract(self, agg, place, name) if place else agg
