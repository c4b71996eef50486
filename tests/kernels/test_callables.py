"""Users' functions by address: every form of value, NaN where it does not fit, and differences."""

import ctypes

import numpy as np
import pytest

from stickslip.compilation import JIT
from stickslip.kernels.callables import VALUE, adapter, call
from stickslip.systems.derivatives import differences
from stickslip.systems.quantities import UNIFORM

numba = pytest.importorskip("numba")
pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled")

T, Q, TQ = (True, False, False, False), (False, True, False, False), (True, True, False, False)
AT = 0.5, np.array([2.0, 3.0]), np.array([4.0, 5.0]), np.zeros(0)


def value(function, takes, shape, derivative=VALUE, size=None):
    made = adapter(numba.njit(function), UNIFORM[takes], (2, 2, 0), shape, derivative)
    out = np.full(int(np.prod(shape)) if size is None else size, 7.0)
    call(made.address, *AT, np.zeros(2, np.int64), out)
    return out


@pytest.mark.parametrize(
    ("function", "takes", "shape", "expected"),
    [
        (lambda t: 2.0 * t, T, (1,), [1.0]),
        (lambda t: 3, T, (1, 1), [3.0]),
        (lambda q: q, Q, (2,), [2.0, 3.0]),
        (lambda q: q[1:], Q, (1,), [3.0]),
        (lambda t, q: [t, q[0]], TQ, (2,), [0.5, 2.0]),
        (lambda t, q: (t, q[0]), TQ, (2,), [0.5, 2.0]),
        (lambda q: np.array([[q[0], 1.0], [2.0, q[1]]]).T, Q, (2, 2), [2.0, 2.0, 1.0, 3.0]),
        (lambda q: q, Q, (1, 2), [2.0, 3.0]),
    ],
)
def test_every_form_of_value_is_taken(function, takes, shape, expected):
    np.testing.assert_array_equal(value(function, takes, shape), expected)


def test_what_does_not_fit_or_raises_is_nan():
    def raises(t):
        if t > 0.0:
            raise ValueError("no")
        return t

    assert np.isnan(value(lambda q: q[:1], Q, (2,))).all()
    assert np.isnan(value(lambda t: t, T, (2,))).all()
    assert np.isnan(value(raises, T, (1,))).all()


def test_derivatives_are_the_differences_of_the_house():
    def curve(t, q):
        return np.array([q[0] ** 2 * t, np.sin(q[1]), q[0] * q[1]])

    plain = UNIFORM[TQ](curve)
    np.testing.assert_array_equal(value(curve, TQ, (3,), 1, 6), differences(plain, 1, 3)(*AT).reshape(-1))
    np.testing.assert_array_equal(value(curve, TQ, (3,), 0, 3), differences(plain, 0, 3)(*AT))


def test_a_function_that_numba_cannot_type_has_no_adapter():
    assert adapter(numba.njit(lambda q: q.nonsense), UNIFORM[Q], (2, 2, 0), (2,)) is None


def test_a_call_that_never_arrives_leaves_no_old_number():
    nothing = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_size_t] * 4)(lambda *arguments: None)
    address, stop = ctypes.cast(nothing, ctypes.c_void_p).value, np.zeros(2, np.int64)
    out = np.full(3, 7.0)
    call(address, *AT, stop, out)
    assert np.isnan(out).all()
    assert stop[0] == 1


def test_after_a_stop_no_function_is_called():
    calls = []
    form = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_size_t] * 4)
    function = form(lambda *arguments: calls.append(arguments))
    out = np.full(1, 7.0)
    call(ctypes.cast(function, ctypes.c_void_p).value, *AT, np.array([1, 0]), out)
    assert np.isnan(out).all()
    assert calls == []
