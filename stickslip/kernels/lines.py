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

    def _sums(builder: Any, start: Any, first: Any, y: Any, add: Any) -> None:
        """Code for y <- start + sums from column `first` on. add(columns, totals, mask): code that adds to
        the places of the totals."""
        n = builder.extract_value(y.shape, 0)
        left = builder.sub(n, first)
        left = builder.select(builder.icmp_signed(">", left, _INT(0)), left, _INT(0))
        most, full = (builder.add(first, builder.and_(left, _INT(-LINE * k))) for k in (_TOGETHER, 1))

        def part(j: Any, vectors: int, mask: Any = None) -> None:
            columns = [builder.add(j, _INT(LINE * k)) for k in range(vectors)]
            totals = [cgutils.alloca_once(builder, _VECTOR) for _ in columns]
            for column, total in zip(columns, totals, strict=True):
                builder.store(_read(builder, builder.gep(start.data, [column]), mask), total)
            add(columns, totals, mask)
            for column, total in zip(columns, totals, strict=True):
                _write(builder, builder.load(total), builder.gep(y.data, [column]), mask)

        with cgutils.for_range_slice(builder, first, most, _INT(LINE * _TOGETHER)) as (j, _):
            part(j, _TOGETHER)
        with cgutils.for_range_slice(builder, most, full, _INT(LINE)) as (j, _):
            part(j, 1)
        with builder.if_then(builder.icmp_signed("<", full, n)):
            size = _spread(builder, builder.sub(n, full), _PLACES)
            part(full, 1, builder.icmp_signed("<", ir.Constant(_PLACES, list(range(LINE))), size))

    def _add(builder: Any, total: Any, factor: Any, place: Any, mask: Any) -> None:
        """Code that adds a factor times what is at a place."""
        part = builder.fmul(factor, _read(builder, place, mask))
        builder.store(builder.fadd(builder.load(total), part), total)

    @intrinsic
    def _add_lines(typingctx, start, X, which, f, count, first, y):  # type: ignore[no-untyped-def]
        """What `add_lines` does."""

        def generate(context, builder, signature, given):  # type: ignore[no-untyped-def]
            arrays = [
                make_array(kind)(context, builder, value) if isinstance(kind, types.Array) else None
                for kind, value in zip(signature.args, given, strict=True)
            ]
            start, X, which, f, _, _, y = arrays
            width = builder.extract_value(X.shape, 1)

            def add(columns, totals, mask):  # type: ignore[no-untyped-def]
                with cgutils.for_range(builder, given[4]) as loop:
                    row = builder.mul(builder.load(builder.gep(which.data, [loop.index])), width)
                    factor = _spread(builder, builder.load(builder.gep(f.data, [loop.index])), _VECTOR)
                    for column, total in zip(columns, totals, strict=True):
                        _add(builder, total, factor, builder.gep(X.data, [builder.add(row, column)]), mask)

            _sums(builder, start, given[5], y, add)
            return context.get_dummy_value()

        return types.none(start, X, which, f, types.int64, types.int64, y), generate

    @intrinsic
    def _add_line(typingctx, f, x, first, y):  # type: ignore[no-untyped-def]
        """What `add_line` does."""

        def generate(context, builder, signature, given):  # type: ignore[no-untyped-def]
            x, y = (make_array(signature.args[k])(context, builder, given[k]) for k in (1, 3))

            def add(columns, totals, mask):  # type: ignore[no-untyped-def]
                factor = _spread(builder, given[0], _VECTOR)
                for column, total in zip(columns, totals, strict=True):
                    _add(builder, total, factor, builder.gep(x.data, [column]), mask)

            _sums(builder, y, given[2], y, add)
            return context.get_dummy_value()

        return types.none(types.float64, x, types.int64, y), generate

else:

    def _add_lines(start, X, which, f, count, first, y):  # type: ignore[no-untyped-def]
        """What `add_lines` does."""
        for k in range(first, y.shape[0]):
            total = start[k]
            for t in range(count):
                total += f[t] * X[which[t], k]
            y[k] = total

    def _add_line(f, x, first, y):  # type: ignore[no-untyped-def]
        """What `add_line` does."""
        for k in range(first, y.shape[0]):
            y[k] += f * x[k]


@jit
def dot_in_four(x, y, first, n):
    """Σ x[k] y[k], first <= k < n, in four sums that do not wait for each other."""
    s0, s1, s2, s3, k = 0.0, 0.0, 0.0, 0.0, first
    while k + 3 < n:
        s0 += x[k] * y[k]
        s1 += x[k + 1] * y[k + 1]
        s2 += x[k + 2] * y[k + 2]
        s3 += x[k + 3] * y[k + 3]
        k += 4
    while k < n:
        s0 += x[k] * y[k]
        k += 1
    return (s0 + s1) + (s2 + s3)


@jit
def add_lines(start, X, which, f, count, first, y):
    """y <- start + Σ f[t] X[which[t]], t < count, in this order, from column `first` on.

    y, start (n,), X (m, >= n), which and f (>= count,); start may be y, and y a line of X that is not summed.
    """
    _add_lines(start, X, which, f, count, first, y)


@jit
def add_line(f, x, first, y):
    """y <- y + f x, from column `first` on.   y (n,), x (>= n,), another line."""
    _add_line(f, x, first, y)
