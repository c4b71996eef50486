"""What kind of problem a problem is: its sizes, mass ratio, rank and conditioning."""

import math
from dataclasses import dataclass, replace

import numpy as np

from stickslip.bench.collections.spectrum import spectrum as spectrum_of
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.solution import Problem

FREE = 0
"""Kind of the blocks of a product set that are bilateral constraints."""


@dataclass(frozen=True)
class Features:
    """Features of a problem; None where they were not computed or are undefined."""

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
    """Whether a contact has rolling friction."""
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
            made = cls("box", problem.size, 1, problem.size)
            return made._with_spectrum(problem) if spectrum else made
        K = problem.K
        touching = K.kind != FREE
        sizes = np.diff(K.offset)
        own = np.unique(sizes[touching])
        # It rolls where some contact has a second group of two components with a coefficient above zero.
        second = K.group_offset[:-1][np.diff(K.group_offset) > 1] + 1
        rolls = bool(((K.group_size[second] == 2) & (K.coefficient[second] > 0.0)).any())
        made = cls(
            kind="local", contacts=int(touching.sum()), dimension=int(own[0]) if own.size == 1 else 0,
            size=K.size, equalities=int(sizes[~touching].sum()), rolling=rolls,
        )  # fmt: skip
        if isinstance(problem, GlobalProblem):
            equalities = made.equalities + problem.g_bias.size
            made = replace(made, kind="global", velocities=problem.M.size, equalities=equalities)
        return made._with_spectrum(problem) if spectrum else made

    def with_facts(self, info: dict[str, str]) -> "Features":
        """The same with what a file says of itself, as `bench record` or FCLIB (`W.rank`) write it."""
        rank, conditioning = _number(info, "rank", "W.rank"), _number(info, "conditioning", "W.cond")
        ratio, made = _number(info, "mass_ratio"), self
        if ratio is not None and ratio >= 1.0:
            made = replace(made, mass_ratio=ratio)
        if rank is not None and rank.is_integer() and 0.0 <= rank <= self.size:
            made = replace(made, rank=int(rank), estimated=info.get("estimated", "") == "yes")
        if conditioning is not None and conditioning >= 1.0:
            made = replace(made, conditioning=conditioning)
        return made

    def facts(self) -> dict[str, str]:
        """The figures as a file keeps them, those that are known; the inverse of `with_facts`."""
        said = {"mass_ratio": self.mass_ratio, "rank": self.rank, "conditioning": self.conditioning}
        found = {name: repr(value) for name, value in said.items() if value is not None}
        return found | ({"estimated": "yes" if self.estimated else "no"} if "rank" in found else {})

    def _with_spectrum(self, problem: Problem) -> "Features":
        found = spectrum_of(problem)
        ratio = mass_ratio(problem) if isinstance(problem, GlobalProblem) else None
        return replace(
            self, mass_ratio=ratio, rank=found.rank, conditioning=found.conditioning,
            estimated=found.estimated,
        )  # fmt: skip


def mass_ratio(problem: GlobalProblem) -> float | None:
    """Largest over smallest mass [-]; None where nothing moves.

    Six velocities in a row whose first three have one and the same mass are a body in space, three of which
    the first two have are one in the plane, if that holds all along M; else every velocity counts.
    """
    diagonal = problem.M.sparse.diagonal()
    for velocities, masses in ((6, 3), (3, 2)):
        if diagonal.size and diagonal.size % velocities == 0:
            rows = diagonal.reshape(-1, velocities)[:, :masses]
            if (rows == rows[:, :1]).all():
                diagonal = rows[:, 0]
                break
    return float(diagonal.max() / diagonal.min()) if diagonal.size else None


def _number(info: dict[str, str], *names: str) -> float | None:
    """The finite number that a file says under the first of the names that is there, None without any."""
    text = next((info[name] for name in names if name in info), "")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
