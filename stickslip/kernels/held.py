"""Arguments of a kernel that Python hands over once, for many calls: `Held`, and `recall` in the kernel.

Numba takes a third of a microsecond for every array of an argument, in every call. A `Held` has the values of
a tuple in memory as compiled code has them, and its address is all that a call hands over.
"""

from typing import Any

import numpy as np

from stickslip.compilation import JIT
from stickslip.kernels.jit import entry, jit

if JIT:
    from llvmlite import ir
    from numba import typeof, types
    from numba.core.registry import cpu_target
    from numba.extending import NativeValue, intrinsic, models, register_model, unbox
    from numba.np.arrayobj import make_array

    class HeldType(types.Type):  # type: ignore[misc]
        """Type of a `Held`: that of the tuple in it."""

        def __init__(self, content: Any):
            self.content = content
            super().__init__(name=f"held({content})")

    @register_model(HeldType)
    class _Model(models.PrimitiveModel):  # type: ignore[misc]
        """An address."""

        def __init__(self, manager: Any, kind: Any):
            super().__init__(manager, kind, ir.IntType(64))

    @unbox(HeldType)  # type: ignore[untyped-decorator]
    def _unbox(kind: Any, held: Any, at: Any) -> Any:
        address = at.pyapi.object_getattr_string(held, "address")
        value = at.pyapi.long_as_longlong(address)
        at.pyapi.decref(address)
        return NativeValue(value)

    @intrinsic
    def _store(typingctx, values, address):  # type: ignore[no-untyped-def]
        def generate(context, builder, signature, given):  # type: ignore[no-untyped-def]
            value = _without_owners(context, builder, signature.args[0], given[0])
            builder.store(value, builder.inttoptr(given[1], value.type.as_pointer()), align=8)
            return context.get_dummy_value()

        return types.none(values, types.int64), generate

    @intrinsic
    def recall(typingctx, held):  # type: ignore[no-untyped-def]
        """In a kernel: the tuple of a `Held`. Its arrays must not be returned: nothing counts references to
        them."""

        def generate(context, builder, signature, given):  # type: ignore[no-untyped-def]
            kind = context.get_value_type(signature.return_type)
            return builder.load(builder.inttoptr(given[0], kind.as_pointer()), align=8)

        return held.content(held), generate

else:

    def recall(held):  # type: ignore[no-untyped-def]
        """Not without compilation."""
        raise NotImplementedError("arguments are held for compiled kernels only")

    _store = recall


class Held:
    """A tuple of arrays, numbers and named tuples of them, for kernels. What it was made of lives as long.

    like: another one of the same types, which are not looked at again: that takes milliseconds.
    """

    __slots__ = ("_keep", "_memory", "_numba_type_", "_values", "address")

    def __init__(self, *values: Any, like: "Held | None" = None):
        if like is None:
            content, target = typeof(values), cpu_target.target_context
            self._numba_type_, self._keep = HeldType(content), entry(_keep, values, 0)
            self._memory = np.zeros(target.get_abi_sizeof(target.get_value_type(content)) // 8 + 1)
        else:
            self._numba_type_, self._keep = like._numba_type_, like._keep
            self._memory = np.zeros_like(like._memory)
        self._values, self.address = values, int(self._memory.ctypes.data)
        self._keep(values, self.address)


@jit
def _keep(values, address):  # type: ignore[no-untyped-def]
    _store(values, address)


def _without_owners(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Code that makes of a value one that owns nothing: no references are counted for its arrays."""
    if isinstance(kind, types.Array):
        array = make_array(kind)(context, builder, value)
        for name in ("meminfo", "parent"):
            setattr(array, name, getattr(array, name).type(None))
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):  # type: ignore[attr-defined]
        for k, part in enumerate(kind):
            own = _without_owners(context, builder, part, builder.extract_value(value, k))
            value = builder.insert_value(value, own, k)
    return value
