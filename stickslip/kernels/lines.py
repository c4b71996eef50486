"""Sums of rows ("lines") of small dense matrices in vectors of eight numbers.

Compilers vectorise long loops well. Lines here have ten to a hundred numbers, for which most of the time
would go to the scalar parts before and after the vectors. Every sum has the order and the rounding of the
plain loop.
"""

from typing import Any

from stickslip.compilation import JIT
from stickslip.kernels.jit import jit

LINE = 8
"""Numbers of a vector."""
FOUR = 4
"""Lines that are computed together in `four_products` and `eliminate_four`."""

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
    """Vectors whose sums are computed together: one alone would wait for the latency of its additions."""
    _PAIR = 2
    """Vectors that are computed together at the end of a line."""

    def _spread(builder: Any, value: Any, form: Any) -> Any:
        """Return a vector with one value in all places."""
        nothing = ir.Constant(form, ir.Undefined)
        zeros = ir.Constant(ir.VectorType(_I32, LINE), None)
        return builder.shuffle_vector(builder.insert_element(nothing, value, _I32(0)), nothing, zeros)

    def _masked(builder: Any, name: str, form: Any, given: list[Any]) -> Any:
        """Emit a call of LLVM's masked load or store."""
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
        """Emit y <- start + sums, from column `first` on. add(columns, totals, masks) emits the additions to
        the totals."""
        n = builder.extract_value(y.shape, 0)
        left = builder.sub(n, first)
        left = builder.select(builder.icmp_signed(">", left, _INT(0)), left, _INT(0))
        most, full = (builder.add(first, builder.and_(left, _INT(-LINE * k))) for k in (_TOGETHER, _PAIR))

        def part(j: Any, masks: list[Any]) -> None:
            columns = [builder.add(j, _INT(LINE * k)) for k in range(len(masks))]
            totals = [cgutils.alloca_once(builder, _VECTOR) for _ in columns]
            for column, total, mask in zip(columns, totals, masks, strict=True):
                builder.store(_read(builder, builder.gep(start.data, [column]), mask), total)
            add(columns, totals, masks)
            for column, total, mask in zip(columns, totals, masks, strict=True):
                _write(builder, builder.load(total), builder.gep(y.data, [column]), mask)

        with cgutils.for_range_slice(builder, first, most, _INT(LINE * _TOGETHER)) as (j, _):
            part(j, [None] * _TOGETHER)
        with builder.if_then(builder.icmp_signed("<", most, full)):
            part(most, [None] * _PAIR)
        with builder.if_then(builder.icmp_signed("<", full, n)):
            size = _spread(builder, builder.sub(n, full), _PLACES)
            places = [ir.Constant(_PLACES, list(range(LINE * k, LINE * k + LINE))) for k in range(_PAIR)]
            part(full, [builder.icmp_signed("<", own, size) for own in places])

    def _add(builder: Any, total: Any, factor: Any, place: Any, mask: Any) -> None:
        """Emit total += factor * vector at `place`."""
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

            def add(columns, totals, masks):  # type: ignore[no-untyped-def]
                with cgutils.for_range(builder, given[4]) as loop:
                    row = builder.mul(builder.load(builder.gep(which.data, [loop.index])), width)
                    factor = _spread(builder, builder.load(builder.gep(f.data, [loop.index])), _VECTOR)
                    for column, total, mask in zip(columns, totals, masks, strict=True):
                        _add(builder, total, factor, builder.gep(X.data, [builder.add(row, column)]), mask)

            _sums(builder, start, given[5], y, add)
            return context.get_dummy_value()

        return types.none(start, X, which, f, types.int64, types.int64, y), generate

    @intrinsic
    def _four_products(typingctx, d, X, s, first, end, n, y):  # type: ignore[no-untyped-def]
        """What `four_products` does."""

        def generate(context, builder, signature, given):  # type: ignore[no-untyped-def]
            d, X, y = (make_array(signature.args[k])(context, builder, given[k]) for k in (0, 1, 6))
            along = builder.extract_value(X.shape, 1)
            width = builder.sdiv(builder.extract_value(y.shape, 0), _INT(FOUR))
            with cgutils.for_range_slice(builder, _INT(0), given[5], _INT(LINE)) as (j, _):
                totals = [cgutils.alloca_once(builder, _VECTOR) for _ in range(FOUR)]
                for total in totals:
                    builder.store(ir.Constant(_VECTOR, None), total)
                with cgutils.for_range_slice(builder, given[3], given[4], _INT(1)) as (c, _):
                    row = builder.gep(X.data, [builder.mul(c, along)])
                    own, weight = builder.gep(row, [given[2]]), builder.load(builder.gep(d.data, [c]))
                    line = _read(builder, builder.gep(row, [j]), None)
                    line = builder.fmul(_spread(builder, weight, _VECTOR), line)
                    for k, total in enumerate(totals):
                        factor = _spread(builder, builder.load(builder.gep(own, [_INT(k)])), _VECTOR)
                        builder.store(builder.fadd(builder.load(total), builder.fmul(factor, line)), total)
                for k, total in enumerate(totals):
                    place = builder.gep(y.data, [builder.add(builder.mul(width, _INT(k)), j)])
                    _write(builder, builder.load(total), place, None)
            return context.get_dummy_value()

        whole = types.int64
        return types.none(d, X, whole, whole, whole, whole, y), generate

    @intrinsic
    def _add_line(typingctx, f, x, first, y):  # type: ignore[no-untyped-def]
        """What `add_line` does."""

        def generate(context, builder, signature, given):  # type: ignore[no-untyped-def]
            x, y = (make_array(signature.args[k])(context, builder, given[k]) for k in (1, 3))

            def add(columns, totals, masks):  # type: ignore[no-untyped-def]
                factor = _spread(builder, given[0], _VECTOR)
                for column, total, mask in zip(columns, totals, masks, strict=True):
                    _add(builder, total, factor, builder.gep(x.data, [column]), mask)

            _sums(builder, y, given[2], y, add)
            return context.get_dummy_value()

        return types.none(types.float64, x, types.int64, y), generate

    @intrinsic
    def _eliminate_four(typingctx, A, F, c, n):  # type: ignore[no-untyped-def]
        """What `eliminate_four` does."""

        def generate(context, builder, signature, given):  # type: ignore[no-untyped-def]
            A, F = (make_array(signature.args[k])(context, builder, given[k]) for k in (0, 1))
            width, (_, _, c, n) = builder.extract_value(A.shape, 1), given
            first = builder.add(c, _INT(FOUR))
            full = builder.add(first, builder.and_(builder.sub(n, first), _INT(-LINE)))

            def reduce_row(i, j, lines, mask):  # type: ignore[no-untyped-def]
                place = builder.gep(A.data, [builder.add(builder.mul(i, width), j)])
                total, factors = (
                    _read(builder, place, mask),
                    builder.gep(F.data, [builder.mul(i, _INT(FOUR))]),
                )
                for p, line in enumerate(lines):
                    factor = _spread(builder, builder.load(builder.gep(factors, [_INT(p)])), _VECTOR)
                    total = builder.fsub(total, builder.fmul(factor, line))
                _write(builder, total, place, mask)
                return total

            def part(j, mask):  # type: ignore[no-untyped-def]
                lines: list[Any] = []
                for p in range(FOUR):
                    lines.append(reduce_row(builder.add(c, _INT(p)), j, lines, mask))
                with cgutils.for_range_slice(builder, first, n, _INT(1)) as (i, _):
                    reduce_row(i, j, lines, mask)

            with cgutils.for_range_slice(builder, first, full, _INT(LINE)) as (j, _):
                part(j, None)
            with builder.if_then(builder.icmp_signed("<", full, n)):
                size = _spread(builder, builder.sub(n, full), _PLACES)
                part(full, builder.icmp_signed("<", ir.Constant(_PLACES, list(range(LINE))), size))
            return context.get_dummy_value()

        return types.none(A, F, types.int64, types.int64), generate

else:

    def _four_products(d, X, s, first, end, n, y):  # type: ignore[no-untyped-def]
        """What `four_products` does."""
        width = y.shape[0] // FOUR
        for k in range(FOUR):
            for j in range(n):
                total = 0.0
                for c in range(first, end):
                    total += X[c, s + k] * (d[c] * X[c, j])
                y[k * width + j] = total

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

    def _eliminate_four(A, F, c, n):  # type: ignore[no-untyped-def]
        """What `eliminate_four` does."""
        for i in range(c + 1, n):
            for p in range(min(i - c, FOUR)):
                for j in range(c + FOUR, n):
                    A[i, j] -= F[i, p] * A[c + p, j]


@jit
def dot_in_four(x, y, first, n):
    """Return Σ x[k] y[k], first <= k < n, in four independent sums."""
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
def four_products(d, X, s, first, end, n, y):
    """Rows s to s + FOUR of X' d X <- of their first n columns, the sums over first <= c < end in this order.

    d (>= end,) a diagonal; X (>= end, m), m >= s + FOUR and n; n a multiple of LINE; y (FOUR width,) the
    rows, one after the other.
    """
    _four_products(d, X, s, first, end, n, y)


@jit
def add_line(f, x, first, y):
    """y <- y + f x, from column `first` on.   y (n,), x (>= n,), another line."""
    _add_line(f, x, first, y)


@jit
def eliminate_four(A, F, c, n):
    """Subtract multiples of the pivot rows c to c + FOUR - 1 of A[:n, :n] from the rows below each of them,
    in the columns from c + FOUR on.

    A (>= n, >= n) row by row; F (>= n, FOUR): the multiples, by rows of A and by pivot rows.
    """
    _eliminate_four(A, F, c, n)
