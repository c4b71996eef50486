"""What one input changes in a step while v and the impulses stand still."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False, slots=True)
class Columns:
    """What one input changes; matrices dense or sparse, None for nothing."""

    e: Any = None
    """Shape (6 nd, k)."""
    c: Any = None
    """Shape (m, k)."""
    r: Any = None
    """Of impulses that are no unknowns, shape (6 nc, k)."""
    v: Any = None
    """Of velocities of bodies that are not dynamic, shape (6 n, k)."""
    q: Any = None
    """Of displacements at the end, shape (6 n, k)."""
    approach: Any = None
    """Shape (k of the memory after, k)."""
    joint_approach: Any = None
    """Likewise."""
