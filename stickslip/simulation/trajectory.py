"""What a simulation leaves: every recorded step as arrays, by system and by interaction."""

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Recorded steps."""
