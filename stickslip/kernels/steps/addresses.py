"""Memory of libraries of others, read and written at addresses from compiled code.

Without compilation nothing here can be called: steps are then made arrow by arrow in Python.
"""

from typing import Any

from stickslip.compilation import JIT

if JIT:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    def _reader(kind: Any, width: Any) -> Any:
        """A function that reads one number of some kind at an address."""

        @intrinsic
        def read(typingctx, address):  # type: ignore[no-untyped-def]
            def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
                return builder.load(builder.inttoptr(values[0], width.as_pointer()))

            return kind(types.int64), generate

        return read

    def _writer(kind: Any, width: Any) -> Any:
        """A function that writes one number of some kind at an address."""

        @intrinsic
        def write(typingctx, address, value):  # type: ignore[no-untyped-def]
            def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
                builder.store(values[1], builder.inttoptr(values[0], width.as_pointer()))
                return context.get_dummy_value()

            return types.none(types.int64, kind), generate

        return write

    read_double, write_double = (make(types.float64, ir.DoubleType()) for make in (_reader, _writer))
    read_int, write_int = (make(types.int32, ir.IntType(32)) for make in (_reader, _writer))
    read_address = _reader(types.int64, ir.IntType(64))

    @intrinsic
    def call_with_two(typingctx, function, first, second):  # type: ignore[no-untyped-def]
        """Call the C function `void f(void *, void *)` at an address."""

        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            pointer = ir.IntType(8).as_pointer()
            form = ir.FunctionType(ir.VoidType(), [pointer, pointer])
            given = [builder.inttoptr(value, pointer) for value in values[1:]]
            builder.call(builder.inttoptr(values[0], form.as_pointer()), given)
            return context.get_dummy_value()

        return types.none(types.int64, types.int64, types.int64), generate

else:

    def call_with_two(*arguments):  # type: ignore[no-untyped-def]
        """Not without compilation."""
        raise NotImplementedError("memory at addresses is reached from compiled kernels only")

    read_double = read_int = read_address = write_double = write_int = call_with_two
