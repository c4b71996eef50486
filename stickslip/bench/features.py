"""What kind of problem a problem is: its sizes, mass ratio, rank and conditioning."""

from dataclasses import dataclass, replace

import numpy as np

from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import Problem


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

    @classmethod
    def of(cls, problem: Problem, spectrum: bool = False) -> "Features":
        """The sizes of a problem; with `spectrum` its mass ratio, rank and conditioning too."""
        if not isinstance(problem, ContactProblem | GlobalProblem):
            return cls("box", problem.size, 1, problem.size)
        K = problem.K
        touching = K.kind != FREE
        sizes = np.diff(K.offset)
        own = np.unique(sizes[touching])
        made = cls(
            kind="local", contacts=int(touching.sum()), dimension=int(own[0]) if own.size == 1 else 0,
            size=K.size, equalities=int(sizes[~touching].sum()), rolling=_rolls(K),
        )  # fmt: skip
        if isinstance(problem, GlobalProblem):
            equalities = made.equalities + problem.g_bias.size
            made = replace(made, kind="global", velocities=problem.M.size, equalities=equalities)
        return made

    def with_facts(self, info: dict[str, str]) -> "Features":
        """The same with the figures that a file says of itself, as `stickslip bench record` writes them."""
        return self


FREE = 0
"""Kind of the blocks of a product set that are bilateral constraints."""


def _rolls(K: ProductSet) -> bool:
    """Whether some contact has a second group of two components with a coefficient above zero."""
    starts = K.group_offset[:-1][np.diff(K.group_offset) > 1] + 1
    return bool(((K.group_size[starts] == 2) & (K.coefficient[starts] > 0.0)).any())
