"""Users' Python functions inside a compiled march: called back through an address.

What a kernel calls is a C function that gathers the arguments, calls the quantity as any step would, with
all its checks, and writes its value. A function that raises leaves NaN, on which the march ends: the
ordinary step then calls it again and lets the error out. Arrays given to a function are its own copies.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.problem.checks import Array
from stickslip.systems.quantities import Quantity

KEPT = 4096
"""Most places in memory whose views are kept."""
_FORM = ctypes.CFUNCTYPE(None, ctypes.c_double, *[ctypes.c_size_t] * 4)


class Callback:
    """A quantity that compiled code can call, at `address`."""

    def __init__(self, quantity: Quantity, sizes: tuple[int, int, int]):
        self.interrupt: BaseException | None = None
        """What stopped the run while the function was at work, if it was no ordinary error."""
        a_of, b_of, z_of = (_views(n) for n in sizes)
        out_of = _views(int(np.prod(quantity.shape)))

        def called(t: float, a: int, b: int, z: int, out: int) -> None:
            into = out_of(out)
            try:
                if self.interrupt is None:
                    into[:] = quantity(t, _own(a_of(a)), _own(b_of(b)), _own(z_of(z))).reshape(-1)
                    return
            except Exception:  # the ordinary step lets it out
                pass
            except BaseException as interrupt:
                self.interrupt = interrupt
            into[:] = np.nan

        self._called = _FORM(called)
        address = ctypes.cast(self._called, ctypes.c_void_p).value
        assert address is not None
        self.address = address

    def let_out(self) -> None:
        """Raise what stopped the run, once."""
        interrupt, self.interrupt = self.interrupt, None
        if interrupt is not None:
            raise interrupt


def _own(view: Array) -> Array:
    copy = view.copy()
    copy.flags.writeable = False
    return copy


def _views(n: int) -> Callable[[int], Array]:
    """A function from an address to the n numbers there, which keeps what it has seen."""
    if n == 0:
        empty = np.zeros(0)
        return lambda address: empty
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
