"""Users' Python functions inside a compiled march: called back through an address.

What a kernel calls is a C function that gathers the arguments, calls the quantity as any step would, with
all its checks, and writes its value. A function that raises writes nothing, on which the march ends
(`kernels/callables.py`), and what it raised is noted for the run to raise. Signals may cut short the user's
function, and nothing else here. Arrays given to a function are its own copies.
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
"""Most places in memory whose views are kept."""
_FORM = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_size_t] * 4)


class Current(threading.local):
    """The march that this thread is in; its functions may start other runs, and other threads have theirs."""

    interrupts: Interrupts = Interrupts()


class Callback:
    """A quantity that compiled code can call, at `address`."""

    def __init__(
        self, quantity: Quantity, sizes: tuple[int, int, int], takes: tuple[bool, ...], current: Current
    ):
        """sizes: of the three arrays; takes: which of them it needs at all."""
        a_of, b_of, z_of = (_copies(n if needed else 0) for n, needed in zip(sizes, takes, strict=True))
        out_of = _views(int(np.prod(quantity.shape)))

        def called(t: float, a: int, b: int, z: int, out: int) -> None:
            interrupts = current.interrupts
            # A signal may come while the outcome of the function is dealt with: hence the second `try`.
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
    """A function from an address to a copy of the n numbers there, which cannot be written to."""
    if n == 0:
        return lambda address: EMPTY
    view = _views(n)

    def copy(address: int) -> Array:
        found = view(address).copy()
        found.flags.writeable = False
        return found

    return copy


def _views(n: int) -> Callable[[int], Array]:
    """A function from an address to the n numbers there, which keeps what it has seen."""
    kept: dict[int, Array] = {}
    room: Any = ctypes.c_double * n

    def view(address: int) -> Array:
        found = kept.get(address)
        if found is None:
            if len(kept) >= KEPT:
                kept.clear()
            found = kept[address] = np.frombuffer(room.from_address(address))
        return found

    return view
