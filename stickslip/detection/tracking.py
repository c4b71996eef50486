"""Memory of contacts: ids, points, frames and impulses that a step passes to the next one.

Kernels match the contacts of a step with those of the memory (`kernels/bodies/tracking.py`).
"""

import numpy as np

from stickslip.state import Array, ModelError

KEPT = {"id": (), "point": (2, 3), "frame": (3, 3), "r": (6,)}
"""Arrays that a memory holds for each contact, and the shape of one entry."""


NOTHING = tuple(np.zeros((0, *shape)) for shape in KEPT.values())
"""The arrays of a memory without contacts."""


def kept_of(memory: dict[str, Array]) -> tuple[Array, ...]:
    """Return id, point, frame and r of a memory; raise a ModelError if their sizes do not agree."""
    if "id" not in memory:
        return NOTHING
    m = memory["id"].shape[0] if memory["id"].ndim else 0
    arrays = []
    for key, shape in KEPT.items():
        array = memory.get(key)
        if array is None or array.shape != (m, *shape):
            fault = "missing" if array is None else f"of shape {array.shape}"
            raise ModelError(f"memory of contacts: {key!r} is {fault}, expected {(m, *shape)}")
        arrays.append(np.ascontiguousarray(array, dtype=np.float64))
    return tuple(arrays)
