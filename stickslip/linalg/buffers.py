"""Memory that outlives one factorisation: fresh pages cost a third of the time of a large one."""

from typing import Any

import numpy as np

from stickslip.linalg.pattern import Array


class Buffers:
    """Arrays by name that only grow; they serve one factor at a time, the one made last."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}
        self.owner: Any = None
        """The factor that uses the arrays now."""

    def take(self, name: str, size: int) -> Array:
        """At least one, and otherwise `size`, numbers of any value."""
        array = self._arrays.get(name)
        if array is None or array.size < size:
            self._arrays[name] = array = np.empty(max(size, 1))
        return array[:size]

    @property
    def bytes(self) -> int:
        """Memory held [bytes]."""
        return sum(array.nbytes for array in self._arrays.values())
