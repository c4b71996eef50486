"""Callbacks: users' Python functions that compiled marches call through an address.

A kernel calls a C function that collects the arguments, calls the quantity with all its checks, and writes
its value. If the function raises, nothing is written, the march ends (`kernels/callables.py`), and the
exception is stored for the run to raise. Signals may interrupt the user's function only. Functions receive
copies of arrays.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.interrupts import Interrupts
from stickslip.problem.checks import Array
from stickslip.systems.dynamics import EMPTY
from stickslip.systems.quantities import Quantity

KEPT = 4096
"""Largest number of cached views of memory addresses."""
_FORM = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_size_t] * 4)


class Current(threading.local):
    """Interrupts of the march that runs in this thread. Users' functions may start other runs."""

    interrupts: Interrupts = Interrupts()
    """The interrupts."""


class Callback:
    """A quantity that compiled code can call at `address`."""

    def __init__(
        self, quantity: Quantity, sizes: tuple[int, int, int], takes: tuple[bool, ...], current: Current
    ):
        """sizes: sizes of the three array arguments; takes: whether the quantity needs each of them."""
        a_of, b_of, z_of = (_copies(n if needed else 0) for n, needed in zip(sizes, takes, strict=True))
        out_of = _views(int(np.prod(quantity.shape)))

        def called(t: float, a: int, b: int, z: int, out: int) -> None:
            interrupts = current.interrupts
            # A signal may arrive while the result is handled: hence the second `try`.
            try:
                try:
                    interrupts.open = True
                    value = quantity(t, a_of(a), b_of(b), z_of(z))
                    interrupts.open = False
                    out_of(out)[:] = value.reshape(-1)
                except BaseException as error:
                    interrupts.open = False
                    interrupts.note(error)
            except BaseException as error:
                interrupts.open = False
                interrupts.note(error)

        self._called = _FORM(called)
        address = ctypes.cast(self._called, ctypes.c_void_p).value
        assert address is not None
        self.address = address


def _copies(n: int) -> Callable[[int], Array]:
    """Return a function from an address to a read-only copy of the n numbers there."""
    if n == 0:
        return lambda address: EMPTY
    view = _views(n)

    def copy(address: int) -> Array:
        values = view(address).copy()
        values.flags.writeable = False
        return values

    return copy


def _views(n: int) -> Callable[[int], Array]:
    """Return a function from an address to a view of the n numbers there, with a cache."""
    cache: dict[int, Array] = {}
    room: Any = ctypes.c_double * n

    def view(address: int) -> Array:
        array = cache.get(address)
        if array is None:
            if len(cache) >= KEPT:
                cache.clear()
            array = cache[address] = np.frombuffer(room.from_address(address))
        return array

    return view
