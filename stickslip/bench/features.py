"""What kind of problem a problem is: its sizes, mass ratio, rank and conditioning."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Features:
    """Figures of a problem; None where they were not computed or have no meaning."""

    kind: str
    """`local` (W given), `global` (M and H given) or `box`."""
    contacts: int
    """Contacts; unknowns of a box problem."""
    dimension: int
    """Components of a contact; 0 where they differ."""
    size: int
    """Unknowns: components of r."""
    velocities: int = 0
    """Velocities of a global problem."""
    equalities: int = 0
    """Bilateral constraints of a global problem."""
    rolling: bool = False
    """Whether some contact resists rolling."""
    mass_ratio: float | None = None
    """Largest over smallest mass [-]: of bodies where M shows them, else of the diagonal of M."""
    rank: int | None = None
    """Rank of W: below `size` the impulses are not unique."""
    conditioning: float | None = None
    """Largest over smallest nonzero eigenvalue of W [-]."""
    estimated: bool = False
    """Whether rank and conditioning are estimates, not from all eigenvalues."""
