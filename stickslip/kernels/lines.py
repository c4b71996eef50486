"""Sums of lines of small dense matrices, in vectors of eight numbers.

Compilers make vectors of long loops. Here lines have ten to a hundred numbers: most of such a loop would be
what comes before and after its vectors. Every sum is in the order of the plain loop, and rounds alike.
"""

from typing import Any

from stickslip.compilation import JIT
from stickslip.kernels.jit import jit

LINE = 8
"""Numbers of a vector."""

if JIT:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array

    _INT, _I32, _DOUBLE = ir.IntType(64), ir.IntType(32), ir.DoubleType()
    _VECTOR, _PLACES = ir.VectorType(_DOUBLE, LINE), ir.VectorType(_INT, LINE)
    _MASK = ir.VectorType(ir.IntType(1), LINE)
    _TOGETHER = 4
    """Vectors whose sums are made at the same time."""

    def _spread(builder: Any, value: Any, form: Any) -> Any:
        """A vector of one number."""
        nothing = ir.Constant(form, ir.Undefined)
        zeros = ir.Constant(ir.VectorType(_I32, LINE), None)
        return builder.shuffle_vector(builder.insert_element(nothing, value, _I32(0)), nothing, zeros)

    def _masked(builder: Any, name: str, form: Any, given: list[Any]) -> Any:
        """A call of LLVM's masked load or store."""
        function = cgutils.get_or_insert_function(builder.module, form, f"llvm.masked.{name}.v8f64.p0")
        return builder.call(function, given)

    def _read(builder: Any, place: Any, mask: Any) -> Any:
        place = builder.bitcast(place, _VECTOR.as_pointer())
        if mask is None:
            return builder.load(place, align=8)
        form = ir.FunctionType(_VECTOR, [place.type, _I32, _MASK, _VECTOR])
        return _masked(builder, "load", form, [place, _I32(8), mask, ir.Constant(_VECTOR, None)])

    def _write(builder: Any, value: Any, place: Any, mask: Any) -> None:
        place = builder.bitcast(place, _VECTOR.as_pointer())
        if mask is None:
            builder.store(value, place, align=8)
            return
        form = ir.FunctionType(ir.VoidType(), [_VECTOR, place.type, _I32, _MASK])
        _masked(builder, "store", form, [value, place, _I32(8), mask])

    @intrinsic
    def _add_lines(typingctx, start, X, which, f, count, first, y):  # type: ignore[no-untyped-def]
        """What `add_lines` does."""

        def generate(context, builder, signature, given):  # type: ignore[no-untyped-def]
            arrays = [
                make_array(kind)(context, builder, value) if isinstance(kind, types.Array) else None
                for kind, value in zip(signature.args, given, strict=True)
            ]
            start, X, which, f, _, _, y = arrays
            n, width = builder.extract_value(y.shape, 0), builder.extract_value(X.shape, 1)

            def add(j, vectors, mask=None):  # type: ignore[no-untyped-def]
                """Code for so many vectors from column j on."""
                columns = [builder.add(j, _INT(LINE * k)) for k in range(vectors)]
                sums = []
                for column in columns:
                    total = cgutils.alloca_once(builder, _VECTOR)
                    builder.store(_read(builder, builder.gep(start.data, [column]), mask), total)
                    sums.append(total)
                with cgutils.for_range(builder, given[4]) as loop:
                    line = builder.load(builder.gep(which.data, [loop.index]))
                    row = builder.mul(line, width)
                    factor = builder.load(builder.gep(f.data, [loop.index]))
                    factor = _spread(builder, factor, _VECTOR)
                    for column, total in zip(columns, sums, strict=True):
                        part = _read(builder, builder.gep(X.data, [builder.add(row, column)]), mask)
                        builder.store(builder.fadd(builder.load(total), builder.fmul(factor, part)), total)
                for column, total in zip(columns, sums, strict=True):
                    _write(builder, builder.load(total), builder.gep(y.data, [column]), mask)

            left = builder.sub(n, given[5])
            left = builder.select(builder.icmp_signed(">", left, _INT(0)), left, _INT(0))
            most, full = (builder.add(given[5], builder.and_(left, _INT(-LINE * k))) for k in (_TOGETHER, 1))
            with cgutils.for_range_slice(builder, given[5], most, _INT(LINE * _TOGETHER)) as (j, _):
                add(j, _TOGETHER)
            with cgutils.for_range_slice(builder, most, full, _INT(LINE)) as (j, _):
                add(j, 1)
            with builder.if_then(builder.icmp_signed("<", full, n)):
                size = _spread(builder, builder.sub(n, full), _PLACES)
                add(full, 1, builder.icmp_signed("<", ir.Constant(_PLACES, list(range(LINE))), size))
            return context.get_dummy_value()

        return types.none(start, X, which, f, types.int64, types.int64, y), generate

else:

    def _add_lines(start, X, which, f, count, first, y):  # type: ignore[no-untyped-def]
        """What `add_lines` does."""
        for k in range(first, y.shape[0]):
            total = start[k]
            for t in range(count):
                total += f[t] * X[which[t], k]
            y[k] = total


@jit
def add_lines(start, X, which, f, count, first, y):
    """y <- start + Σ f[t] X[which[t]], t < count, in this order, from column `first` on.

    y, start (n,), X (m, >= n), which and f (>= count,); start may be y, and y a line of X that is not summed.
    """
    _add_lines(start, X, which, f, count, first, y)
