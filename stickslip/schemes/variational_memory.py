"""What the variational scheme remembers from step to step.

h                              length of the step before [s], shape (1,); 0 at the beginning
id, approach                   contacts that closed in it, and how fast they had come [-, m/s], shape (k,)
joint_id, joint_approach       stops of joints that were reached in it, likewise [-, m/s, rad/s]
potential                      of the step before, as its energy has it, and at its end [J], shape (2,)
"""

import numpy as np

from stickslip.problem.checks import frozen
from stickslip.schemes.step import Memory
from stickslip.state import Array, IntArray, ModelError

NONE: Array = frozen(np.zeros(0))


def first_memory(potential: float) -> Memory:
    """That of the beginning, where the potential energy is so much [J]."""
    return {
        "h": np.zeros(1), "id": NONE, "approach": NONE, "joint_id": NONE, "joint_approach": NONE,
        "potential": np.array([potential, potential]),
    }  # fmt: skip


def length_before(memory: Memory) -> float:
    """Of the step before [s]."""
    if "h" not in memory:
        raise ModelError("the memory of the start has no 'h': no step of the variational scheme left it")
    h = memory["h"]
    if h.shape != (1,) or not 0.0 <= h[0] < np.inf:
        raise ModelError(f"the memory of the start: 'h' is {h}; expected one length of time")
    return float(h[0])


def approaches(memory: Memory, ids: IntArray | Array, of: str = "") -> Array:
    """How fast contacts (`of` joint_: stops) of these ids had come when they closed in the step before, 0 for
    the others [m/s, rad/s], shape (k,)."""
    known, speed = memory[f"{of}id"], memory[f"{of}approach"]
    if known.ndim != 1 or known.shape != speed.shape:
        raise ModelError(
            f"the memory of the start: {speed.shape} of '{of}approach' and {known.shape} of '{of}id'"
        )
    found = np.zeros(ids.size)
    if known.size and ids.size:
        at = np.minimum(np.searchsorted(ids, known), ids.size - 1)  # both are sorted
        same = ids[at] == known
        found[at[same]] = speed[same]
    return found
