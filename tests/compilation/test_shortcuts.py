"""Kernels compiled by the shorter way count no reference too few or too many, and Numba is left as it was."""

from typing import NamedTuple

import numpy as np
import pytest

from stickslip.compilation import JIT

if not JIT:
    pytest.skip("nothing is compiled", allow_module_level=True)

from numba.core.runtime import _nrt_python, rtsys

from stickslip.compilation import shortcuts
from stickslip.kernels.jit import jit


class Inner(NamedTuple):
    x: np.ndarray
    table: np.ndarray


class Outer(NamedTuple):
    inner: Inner
    n: int
    y: np.ndarray


@jit
def last(values):
    held = values
    return held


@jit
def chosen(outer, first):
    picked = outer.y
    if first:
        picked = outer.inner.x
    elif outer.n < 0:
        picked = np.zeros(3)
    return picked


@jit
def rotated(a, b, c, n):
    for _ in range(n):
        a, b, c = b, c, a
    return a


@jit
def replaced(outer, n):
    held = outer.inner
    for k in range(n):
        held = Inner(held.x + k, outer.inner.table)
        if k > 5:
            held = outer.inner
    return held


@jit
def rows(outer):
    total = 0.0
    for row in range(outer.inner.table.shape[0]):
        part = outer.inner.table[row]
        kept = last(part)
        total += kept[0] + last(outer.inner.x)[1]
        if total > 1e6:
            raise ValueError("too much")
    return total


@jit
def passed(outer):
    pair = (outer.inner, outer.y)
    return pair[0].x, pair[1], outer


def made():
    return Outer(Inner(np.arange(3.0), np.arange(6.0).reshape(2, 3)), 2, np.full(3, 7.0))


CASES = {
    "copy": (last, lambda o: (o.y,)),
    "branch": (chosen, lambda o: (o, True)),
    "other branch": (chosen, lambda o: (o, False)),
    "new array": (chosen, lambda o: (o._replace(n=-1), False)),
    "loop": (rotated, lambda o: (o.inner.x, o.y, o.inner.x, 4)),
    "replaced": (replaced, lambda o: (o, 4)),
    "replaced and back": (replaced, lambda o: (o, 9)),
    "rows": (rows, lambda o: (o,)),
    "tuples": (passed, lambda o: (o,)),
}


def flat(value):
    return [part for each in value for part in flat(each)] if isinstance(value, tuple) else [value]


@pytest.fixture
def counted():
    """Numba counts what it allocates and frees."""
    was_on = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    yield
    if not was_on:
        _nrt_python.memsys_disable_stats()


@pytest.mark.usefixtures("counted")
def test_arrays_live_exactly_as_long_as_they_are_held():
    outer = made()
    for name, (kernel, arguments) in CASES.items():
        given = arguments(outer)
        expected = kernel.py_func(*given)
        for got, right in zip(flat(kernel(*given)), flat(expected), strict=True):
            np.testing.assert_array_equal(got, right, err_msg=name)
        del got, right, expected
        before = rtsys.get_allocation_stats()
        for _ in range(50):
            result = kernel(*given)
        del result
        after = rtsys.get_allocation_stats()
        assert after.alloc - before.alloc == after.free - before.free, name
        assert after.mi_alloc - before.mi_alloc == after.mi_free - before.mi_free, name
    with pytest.raises(ValueError, match="too much"):
        rows(outer._replace(inner=Inner(np.full(3, 1e7), outer.inner.table)))
    np.testing.assert_array_equal(outer.inner.table, made().inner.table)
    np.testing.assert_array_equal(outer.y, made().y)


def test_an_argument_that_is_returned_outlives_the_caller():
    kept = [last(np.full(1000, float(k))) for k in range(50)]
    inner = replaced(Outer(Inner(np.full(1000, 3.0), np.zeros((1, 1))), 0, np.zeros(1)), 0)
    _ = [np.full(1000, -1.0) for _ in range(100)]
    assert all((values == k).all() for k, values in enumerate(kept))
    assert (inner.x == 3.0).all()


def test_outside_of_compilation_numba_is_as_it_was():
    from numba.core import ir
    from numba.core.postproc import PostProcessor
    from numba.core.types.functions import BaseFunction

    def now():
        return ir.Inst._rec_list_vars, PostProcessor.run, BaseFunction.get_call_type

    before = now()
    with shortcuts.shortcuts():
        inside = now()
    assert now() == before
    assert all(one is not other for one, other in zip(inside, before, strict=True))


def test_signatures_are_known_by_all_types_of_arguments():
    @jit
    def mixed(a, b, i):
        return a + b, a * i, i // 2, i / 2, a**2, i**2, -i, max(i, 2)

    for arguments in ((1.5, 2.5, 7), (1, 2, 7), (1.5, 2, 7)):
        got = mixed(*arguments)
        right = mixed.py_func(*arguments)
        assert got == right
        assert [type(each) for each in got] == [type(each) for each in right]


def test_what_a_user_compiles_with_other_options_is_not_taken_over():
    import numba

    @numba.njit(fastmath=True)
    def theirs(a, b):
        return max(a, b)

    @jit
    def before(a, b):
        return max(a, b)

    @jit
    def after(a, b):
        return max(a, b)

    nan = float("nan")
    first = before(nan, 1.0), before(1.0, nan)
    theirs(nan, 1.0)
    np.testing.assert_array_equal((after(nan, 1.0), after(1.0, nan)), first)
