"""What users write: how functions are called, what they may return, and how their errors read."""

import functools

import numba
import numpy as np
import pytest

from stickslip.state import ModelError
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.quantities import FLOW, MOTION, quantity

A, B, Z = np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0])


def made(given, shape=(2,), arguments=MOTION):
    return quantity("system 'ball'", "F", given, shape, arguments)


class Spring:
    def __init__(self, k):
        self.k = k

    def force(self, q):
        return -self.k * q

    def __call__(self, t, q):
        return -self.k * q + t


WRITTEN = {
    "constant": ([7.0, 8.0], [7.0, 8.0]),
    "of nothing": (lambda: [0.0, 1.0], [0.0, 1.0]),
    "of t": (lambda t: [t, t], [9.0, 9.0]),
    "of q": (lambda q: 2.0 * q, [2.0, 4.0]),
    "of v": (lambda v: v, [3.0, 4.0]),
    "of z": (lambda z: [z[0], 0.0], [5.0, 0.0]),
    "of t and v": (lambda t, v: t * v, [27.0, 36.0]),
    "of all": (lambda t, q, v, z: t * q * v * z, [135.0, 360.0]),
    "with defaults of its own": (lambda q, k=3.0, *, c=1.0: k * q + c, [4.0, 7.0]),
    "a partial": (functools.partial(lambda k, q: k * q, 10.0), [10.0, 20.0]),
    "a partial by keyword": (functools.partial(lambda q, k: k * q, k=10.0), [10.0, 20.0]),
    "a bound method": (Spring(2.0).force, [-2.0, -4.0]),
    "an object": (Spring(2.0), [7.0, 5.0]),
    "integers": (lambda q: np.array([1, 2]), [1.0, 2.0]),
    "a tuple": (lambda q: (q[0], q[1]), [1.0, 2.0]),
    "single precision": (lambda q: q.astype(np.float32), [1.0, 2.0]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_may_be_written(name):
    given, expected = WRITTEN[name]
    value = made(given)(9.0, A, B, Z)
    assert value.tolist() == expected
    assert value.dtype == np.float64


def test_every_choice_of_arguments():
    values = {"t": 9.0, "q": A, "v": B, "z": Z}
    for mask in range(16):
        names = [n for i, n in enumerate(MOTION) if mask >> i & 1]
        function = eval(f"lambda {', '.join(names)}: [{' + '.join(f'np.sum({n})' for n in names) or '0.0'}]")
        expected = float(sum(np.sum(values[n]) for n in names))
        assert made(function, (1,))(9.0, A, B, Z).tolist() == [expected], names


def test_a_compiled_function_is_known_as_such():
    compiled = numba.njit(lambda q: -q)
    found = made(compiled)
    assert found.compiled is compiled
    assert found.is_compiled
    assert found.wanted == ("q",)
    assert found(0.0, A, B, Z).tolist() == [-1.0, -2.0]
    assert made([1.0, 2.0]).is_compiled
    assert not made(lambda q: q).is_compiled


def test_a_function_compiled_by_its_signature():
    compiled = numba.njit("float64[:](float64[:])")(lambda q: -q)
    found = made(compiled)
    frozen = A.copy()
    frozen.flags.writeable = False
    assert found.compiled is compiled
    assert found(0.0, frozen, B, Z).tolist() == [-1.0, -2.0]


def test_scalars_stand_for_what_has_one_entry():
    assert made(2.0, (1,))(0.0, A, B, Z).tolist() == [2.0]
    assert made(lambda q: q[0], (1,))(0.0, A, B, Z).tolist() == [1.0]
    assert made(lambda q: 3, (1, 1))(0.0, A, B, Z).tolist() == [[3.0]]
    assert made(2.0, (2, 2))(0.0, A, B, Z).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert made(lambda q: [1.0, 0.0], (1, 2))(0.0, A, B, Z).tolist() == [[1.0, 0.0]]


def test_a_reused_buffer_does_not_change_what_was_returned():
    buffer = np.zeros(2)

    def force(t):
        buffer[:] = t
        return buffer

    found = made(force)
    first = found(1.0, A, B, Z)
    found(2.0, A, B, Z)
    assert first.tolist() == [1.0, 1.0]
    first[:] = 7.0
    assert buffer.tolist() == [2.0, 2.0]


def test_a_function_that_returns_its_argument_gives_a_copy():
    value = made(lambda q: q)(0.0, A, B, Z)
    value[0] = 99.0
    assert A[0] == 1.0


def test_a_function_cannot_write_to_its_arguments():
    def force(q):
        q[0] = 0.0
        return q

    with pytest.raises(ValueError, match="read-only") as caught:
        made(force)(0.25, A, B, Z)
    assert caught.value.__notes__ == ["in F of system 'ball', at t = 0.25 s"]
    assert A.flags.writeable


def test_a_functions_own_exception_is_told_whose_it_is():
    def force(t):
        raise KeyError("table")

    with pytest.raises(KeyError, match="table") as caught:
        Lagrangian("ball", M=1.0, q0=0.0, F_ext=force)
    assert caught.value.__notes__ == ["in F_ext of system 'ball', at t = 0 s"]


REFUSED = {
    "an unknown argument": (lambda x: x, r"F takes \(x\); it may take \(t, q, v, z\)"),
    "the wrong order": (lambda v, q: q, r"F takes \(v, q\); .* in that order"),
    "any number of arguments": (lambda *args: args[0], r"F takes \(\*args\)"),
    "an argument by keyword only": (lambda *, q: q, r"F takes \(q\); .* by position"),
    "the wrong shape": ([1.0, 2.0, 3.0], r"F has shape \(3,\), expected \(2,\)"),
    "not a number": ([1.0, np.nan], "F is not finite"),
    "complex numbers": ([1.0, 2.0j], "F is not an array of real numbers"),
    "text": ("gravity", "F is not an array of real numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_not_be_written(name):
    given, words = REFUSED[name]
    with pytest.raises(ModelError, match=f"^system 'ball': {words}"):
        made(given)


RETURNED = {
    "nothing": (lambda q: None, "F returned nothing"),
    "the wrong shape": (lambda q: [1.0], r"F has shape \(1,\), expected \(2,\)"),
    "ragged rows": (lambda q: [[1.0], [1.0, 2.0]], "F is not an array of real numbers"),
    "complex numbers": (lambda q: 1j * q, "F is not an array of real numbers"),
}


@pytest.mark.parametrize("name", RETURNED)
def test_what_may_not_be_returned(name):
    given, words = RETURNED[name]
    with pytest.raises(ModelError, match=f"^system 'ball': at t = 0.5 s, {words}"):
        made(given)(0.5, A, B, Z)


def test_arguments_may_be_fewer():
    with pytest.raises(ModelError, match=r"M takes \(v\); it may take \(t, q, z\)"):
        quantity("system 'ball'", "M", lambda v: v, (2,), MOTION, ("t", "q", "z"))
    assert quantity("flow", "f", lambda x, lam: x + lam, (2,), FLOW)(0.0, A, B, Z).tolist() == [4.0, 6.0]
