"""Access to memory and C functions of other libraries, by address, from compiled code.

These functions exist in compiled code only. Without compilation all steps are made in Python.
"""

from typing import Any

from stickslip.compilation import JIT

if JIT:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    def _reader(kind: Any, width: Any) -> Any:
        """Return a function that reads a number of the given type at an address."""

        @intrinsic
        def read(typingctx, address):  # type: ignore[no-untyped-def]
            def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
                return builder.load(builder.inttoptr(values[0], width.as_pointer()))

            return kind(types.int64), generate

        return read

    def _writer(kind: Any, width: Any) -> Any:
        """Return a function that writes a number of the given type at an address."""

        @intrinsic
        def write(typingctx, address, value):  # type: ignore[no-untyped-def]
            def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
                builder.store(values[1], builder.inttoptr(values[0], width.as_pointer()))
                return context.get_dummy_value()

            return types.none(types.int64, kind), generate

        return write

    read_double, write_double = (make(types.float64, ir.DoubleType()) for make in (_reader, _writer))
    read_int, write_int = (make(types.int32, ir.IntType(32)) for make in (_reader, _writer))
    read_address, write_address = (make(types.int64, ir.IntType(64)) for make in (_reader, _writer))

    def _caller(letters: str, back: str = "") -> Any:
        """Return a function that calls the C function at an address.

        letters: type of each argument, `p` for an address, `i` for an int, `d` for a double. back: type of
        the result, empty for none.
        """
        of = {"p": types.int64, "i": types.int32, "d": types.float64, "": types.none}
        pointer = ir.IntType(8).as_pointer()
        forms = {"p": pointer, "i": ir.IntType(32), "d": ir.DoubleType(), "": ir.VoidType()}
        form = ir.FunctionType(forms[back], [forms[letter] for letter in letters])

        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            arguments = [
                builder.inttoptr(value, pointer) if letter == "p" else value
                for letter, value in zip(letters, values[1:], strict=True)
            ]
            result = builder.call(builder.inttoptr(values[0], form.as_pointer()), arguments)
            if back == "p":
                return builder.ptrtoint(result, ir.IntType(64))
            return result if back else context.get_dummy_value()

        signature = of[back](types.int64, *(of[letter] for letter in letters))
        if len(letters) == 1:

            @intrinsic
            def call1(typingctx, f, a):  # type: ignore[no-untyped-def]
                return signature, generate

            return call1
        if len(letters) == 2:

            @intrinsic
            def call2(typingctx, f, a, b):  # type: ignore[no-untyped-def]
                return signature, generate

            return call2
        if len(letters) == 3:

            @intrinsic
            def call3(typingctx, f, a, b, c):  # type: ignore[no-untyped-def]
                return signature, generate

            return call3
        if len(letters) == 4:

            @intrinsic
            def call4(typingctx, f, a, b, c, d):  # type: ignore[no-untyped-def]
                return signature, generate

            return call4
        if len(letters) == 5:

            @intrinsic
            def call5(typingctx, f, a, b, c, d, e):  # type: ignore[no-untyped-def]
                return signature, generate

            return call5

        @intrinsic
        def call6(typingctx, f, a, b, c, d, e, g):  # type: ignore[no-untyped-def]
            return signature, generate

        return call6

    call_with_two = _caller("pp")
    call_with_flag = _caller("ppi")
    call_with_step = _caller("pppd")
    call_solve = _caller("ppppi")
    call_for_address = _caller("p", "p")
    call_for_number = _caller("pp", "i")

else:

    def call_with_two(*arguments):  # type: ignore[no-untyped-def]
        """Raise: this function needs compiled code."""
        raise NotImplementedError("memory at addresses is reached from compiled kernels only")

    read_double = read_int = read_address = write_double = write_int = write_address = call_with_two
    call_with_flag = call_with_step = call_solve = call_with_two
    call_for_address = call_for_number = call_with_two
