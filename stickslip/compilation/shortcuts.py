"""What Numba does again and again for every kernel, done once: the same code in less time.

Each function here stands for one of Numba's and gives the same answer. They are in place while kernels are
compiled, under the compiler's lock.
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
"""Of each function by its number in this process: itself, kept alive, and signatures by arguments."""
_MISSING: set[tuple[Any, ...]] = set()
"""Operations with types of arguments for which Numba has no code of its own."""
_WITHOUT_VARIABLES = frozenset({str, int, float, bool, type(None), ir.Loc, type(len), type(_call_type)})
"""Types of what is in statements and holds no variable."""


@contextmanager
def shortcuts() -> Iterator[None]:
    """Functions of Numba that take most of its time are replaced inside."""
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
    """End an assignment of an array to a part of one that has another shape."""


@overload(_refuse_shapes)  # type: ignore[untyped-decorator]
def _code_of_refusal(source: Any, target: Any) -> Any:
    """Without the shapes: Numba's message with them, compiled, is as much work as a dozen kernels."""

    def refuse(source: Any, target: Any) -> None:
        raise ValueError("an array is assigned to a part of an array that has another shape")

    return refuse


def _known_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    """Signature of a call: a function tries its templates once for the same types of arguments."""
    if kws:
        return _call_type(self, context, args, kws)
    _, known = _KNOWN.setdefault(id(self), (self, {}))
    key = tuple(args)
    if key in known:
        found, code = known[key]
        self._impl_keys[found.args] = code  # others may have compiled it with other options since
        return found
    made: Any = _call_type(self, context, args, kws)
    if made.is_precise() and all(argument.is_precise() for argument in key):
        known[key] = made, self._impl_keys[made.args]
    return made


def _memory(self: Any, builder: Any, ty: Any, val: Any) -> list[Any]:
    """Counted memory of a value: no code is made for members that have none."""
    model = self._context.data_model_manager[ty]
    found = [(ty, model.get_nrt_meminfo(builder, val))] if model.has_nrt_meminfo() else []
    if _is_counted(model):
        for kind, getter in model.traverse(builder):
            if _is_counted(self._context.data_model_manager[kind]):
                found += self.get_meminfos(builder, kind, getter(val))
    return found


@cache
def _is_counted(model: Any) -> bool:
    """Whether values hold counted memory."""
    return bool(model.contains_nrt_meminfo())


def _variables(self: Any, value: Any) -> list[Any]:
    """Variables in a statement, an expression, or a part of one."""
    found: list[Any] = []
    _add_variables(value, found)
    return found


def _add_variables(value: Any, found: list[Any]) -> None:
    kind = type(value)
    if kind is ir.Var:
        found.append(value)
    elif kind in _WITHOUT_VARIABLES:
        return
    elif kind is ir.Expr:
        for part in value._kws.values():
            _add_variables(part, found)
    elif kind is dict:
        for part in value.values():
            _add_variables(part, found)
    elif isinstance(value, list | tuple):
        for part in value:
            _add_variables(part, found)
    elif isinstance(value, ir.Inst):
        found.extend(value.list_vars())


def _processed(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    """Order after a pass over the code: where variables live is found when it is asked for."""
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
    """Code of an operation: an element at a constant place has none, and is asked for again and again."""
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
    """Part of a structure: what was put there, where the code that did it is at hand."""
    place = list(idx) if isinstance(idx, tuple | list) else [idx]
    while place:
        if isinstance(agg, InsertValue):
            put = list(agg.indices)
            if put == place[: len(put)]:
                agg, place = agg.value, place[len(put) :]
            elif place == put[: len(place)]:
                break  # a part that was put together piece by piece
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
