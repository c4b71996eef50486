"""What a memory keeps of contacts that last: ids, places and impulses carried from one step to the next.

Kernels match contacts with them (`kernels/bodies/tracking.py`).
"""

import numpy as np

from stickslip.state import Array, ModelError

KEPT = {"id": (), "point": (2, 3), "frame": (3, 3), "r": (6,)}
"""What a memory keeps of every contact, and in which shape."""


NOTHING = tuple(np.zeros((0, *shape)) for shape in KEPT.values())
"""What is kept where nothing touches."""


def kept_of(memory: dict[str, Array]) -> tuple[Array, ...]:
    """id, point, frame, r of a memory; arrays that do not fit together are a ModelError."""
    if "id" not in memory:
        return NOTHING
    m = memory["id"].shape[0] if memory["id"].ndim else 0
    kept = []
    for key, shape in KEPT.items():
        array = memory.get(key)
        if array is None or array.shape != (m, *shape):
            found = "missing" if array is None else f"of shape {array.shape}"
            raise ModelError(f"memory of contacts: {key!r} is {found}, expected {(m, *shape)}")
        kept.append(np.ascontiguousarray(array, dtype=np.float64))
    return tuple(kept)
