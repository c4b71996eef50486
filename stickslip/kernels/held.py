"""Named tuples that are converted for kernels once and passed by address in many calls: `Held`.

Numba takes a third of a microsecond per call for every array of an argument, and a kernel that calls another
copies all arguments. A `Held` stores the values of a named tuple in memory in the layout of compiled code,
and a call passes only its address. Kernels read its fields as those of the tuple; fields that are named
tuples, or `Held`, are read in the same way.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.compilation import JIT
from stickslip.kernels.jit import entry, jit

if JIT:
    from llvmlite import ir
    from numba import typeof, types
    from numba.core.imputils import lower_getattr_generic
    from numba.core.registry import cpu_target
    from numba.core.typing.templates import AttributeTemplate, infer_getattr
    from numba.extending import NativeValue, intrinsic, models, register_model, unbox
    from numba.np.arrayobj import make_array

    class HeldType(types.Type):  # type: ignore[misc]
        """Numba type of a `Held`, from the type of its tuple."""

        owns_nothing = True
        """References to its fields are not counted; the fields must not be returned to Python."""

        def __init__(self, content: Any, fixed: bool = True):
            """fixed: whether kernels may assume that the stored tuple never changes."""
            self.content, self.fixed = content, fixed
            super().__init__(name=f"held({content}, {fixed})")

    @register_model(HeldType)
    class _Model(models.PrimitiveModel):  # type: ignore[misc]
        """Data model: an address."""

        def __init__(self, manager: Any, kind: Any):
            super().__init__(manager, kind, ir.IntType(64))

    @unbox(HeldType)  # type: ignore[untyped-decorator]
    def _unbox(kind: Any, held: Any, at: Any) -> Any:
        address = at.pyapi.object_getattr_string(held, "address")
        value = at.pyapi.long_as_longlong(address)
        at.pyapi.decref(address)
        return NativeValue(value)

    @infer_getattr
    class _Fields(AttributeTemplate):  # type: ignore[misc]
        """Types of the fields."""

        key = HeldType

        def generic_resolve(self, held: Any, name: str) -> Any:
            if name not in held.content.fields:
                return None
            kind = held.content[held.content.fields.index(name)]
            is_tuple = isinstance(kind, types.BaseNamedTuple)  # type: ignore[attr-defined]
            return HeldType(kind, held.fixed) if is_tuple else kind

    @lower_getattr_generic(HeldType)  # type: ignore[untyped-decorator]
    def _field(context: Any, builder: Any, held: Any, address: Any, name: str) -> Any:
        """Emit code that reads a field."""
        k = held.content.fields.index(name)
        kind, whole = held.content[k], context.get_value_type(held.content)
        place = _part(builder, builder.inttoptr(address, whole.as_pointer()), k)
        if isinstance(kind, types.BaseNamedTuple):  # type: ignore[attr-defined]
            return builder.ptrtoint(place, ir.IntType(64))
        return _read(context, builder, kind, place, held.fixed)

    def _read(context: Any, builder: Any, kind: Any, place: Any, fixed: bool) -> Any:
        """Emit code that reads a value without counting references."""
        if isinstance(kind, types.Array):
            array = make_array(kind)(context, builder)
            for k, (part, form) in enumerate(zip(array._datamodel._fields, place.type.pointee, strict=True)):
                owner = part in ("meminfo", "parent")
                value = form(None) if owner else _load(builder, _part(builder, place, k), fixed)
                setattr(array, part, value)
            return array._getvalue()
        if isinstance(kind, types.BaseTuple):  # type: ignore[attr-defined]
            places = [_part(builder, place, k) for k in range(len(kind))]
            parts = [_read(context, builder, *each, fixed) for each in zip(kind, places, strict=True)]
            return context.make_tuple(builder, kind, parts)
        return _load(builder, place, fixed)

    def _load(builder: Any, place: Any, fixed: bool) -> Any:
        value = builder.load(place)
        if fixed:
            value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    def _part(builder: Any, place: Any, k: int) -> Any:
        """Emit code for the address of part k of a structure."""
        return builder.gep(place, [ir.IntType(32)(0), ir.IntType(32)(k)], inbounds=True)

    @intrinsic
    def _store(typingctx, values, address):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, given):  # type: ignore[no-untyped-def]
            builder.store(given[0], builder.inttoptr(given[1], given[0].type.as_pointer()), align=8)
            return context.get_dummy_value()

        return types.none(values, types.int64), generate

    @intrinsic
    def hold(typingctx, values, memory):  # type: ignore[no-untyped-def]
        """In a kernel: store a named tuple of arrays and numbers in `memory`, an array of WORDS integers.

        The result is passed to other kernels as a `Held`. References to its arrays are not counted: they must
        belong to a `Scratch` or to another `Held`.
        """

        def generate(context, builder, signature, given):  # type: ignore[no-untyped-def]
            form = context.get_value_type(signature.args[0])
            if context.get_abi_sizeof(form) > 8 * WORDS:
                raise NotImplementedError(f"a named tuple of more than {WORDS} words")
            place = make_array(memory)(context, builder, given[1]).data
            builder.store(given[0], builder.bitcast(place, form.as_pointer()), align=8)
            return builder.ptrtoint(place, ir.IntType(64))

        return HeldType(values, False)(values, memory), generate

    @intrinsic
    def values_of(typingctx, held):  # type: ignore[no-untyped-def]
        """In a kernel: return the named tuple of a `Held`."""

        def generate(context, builder, signature, given):  # type: ignore[no-untyped-def]
            kind = signature.return_type
            place = builder.inttoptr(given[0], context.get_value_type(kind).as_pointer())
            return _read(context, builder, kind, place, False)

        return held.content(held), generate

else:

    def _store(values, address):  # type: ignore[no-untyped-def]
        """Raise NotImplementedError: `Held` needs compilation."""
        raise NotImplementedError("arguments are held for compiled kernels only")

    hold = values_of = _store


WORDS = 256
"""Largest size of a tuple that kernels hold, in words of 8 bytes."""


class Held:
    """A named tuple of arrays, numbers, named tuples and other `Held`, stored for kernels.

    It has the same fields in Python, and keeps its values alive.

    like: another `Held` of the same types, which saves the milliseconds of their analysis. fixed: False for
    arguments of kernels that also take what other kernels store with `hold`.
    """

    __slots__ = ("_keep", "_memory", "_numba_type_", "address", "values")

    def __init__(self, values: NamedTuple, like: "Held | None" = None, fixed: bool = True):
        if like is None:
            content, target = typeof(values), cpu_target.target_context
            self._numba_type_, self._keep = HeldType(content, fixed), entry(_keep, values, 0)
            self._memory = np.zeros(target.get_abi_sizeof(target.get_value_type(content)) // 8 + 1)
        else:
            self._numba_type_, self._keep = like._numba_type_, like._keep
            self._memory = np.zeros_like(like._memory)
        self.values, self.address = values, int(self._memory.ctypes.data)
        self._keep(values, self.address)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.values, name)


@jit
def _keep(values, address):  # type: ignore[no-untyped-def]
    _store(values, address)
