"""Features of problems: sizes, mass ratio, rank and conditioning."""

import math
from dataclasses import dataclass, replace

import numpy as np

from stickslip.bench.collections.spectrum import spectrum as spectrum_of
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.solution import Problem

FREE = 0
"""Kind of blocks of a product set that are bilateral constraints."""


@dataclass(frozen=True)
class Features:
    """Features of a problem; None if they were not computed or are undefined."""

    kind: str
    """`local` (W given), `global` (M and H given) or `box`."""
    contacts: int
    """Number of contacts; of unknowns of a box problem."""
    dimension: int
    """Number of components of a contact; 0 if contacts differ."""
    size: int
    """Number of unknowns: components of r."""
    velocities: int = 0
    """Number of velocities of a global problem."""
    equalities: int = 0
    """Number of bilateral constraints of a global problem."""
    rolling: bool = False
    """Whether a contact has rolling friction."""
    mass_ratio: float | None = None
    """Largest over smallest mass [-]: of bodies if M shows them, else of the diagonal of M."""
    rank: int | None = None
    """Rank of W; if it is less than `size`, the impulses are not unique."""
    conditioning: float | None = None
    """Largest over smallest nonzero eigenvalue of W [-]."""
    estimated: bool = False
    """Whether rank and conditioning are estimates, not from all eigenvalues."""

    @classmethod
    def of(cls, problem: Problem, spectrum: bool = False) -> "Features":
        """Features of a problem: sizes, and with `spectrum` also mass ratio, rank and conditioning."""
        if not isinstance(problem, ContactProblem | GlobalProblem):
            features = cls("box", problem.size, 1, problem.size)
            return features._with_spectrum(problem) if spectrum else features
        K = problem.K
        touching = K.kind != FREE
        sizes = np.diff(K.offset)
        widths = np.unique(sizes[touching])
        # Rolling friction: a second group of two components with a positive coefficient.
        second = K.group_offset[:-1][np.diff(K.group_offset) > 1] + 1
        rolls = bool(((K.group_size[second] == 2) & (K.coefficient[second] > 0.0)).any())
        features = cls(
            kind="local", contacts=int(touching.sum()), dimension=int(widths[0]) if widths.size == 1 else 0,
            size=K.size, equalities=int(sizes[~touching].sum()), rolling=rolls,
        )  # fmt: skip
        if isinstance(problem, GlobalProblem):
            equalities = features.equalities + problem.g_bias.size
            features = replace(features, kind="global", velocities=problem.M.size, equalities=equalities)
        return features._with_spectrum(problem) if spectrum else features

    def with_facts(self, info: dict[str, str]) -> "Features":
        """Add the features stored in a file, as written by `bench record` or FCLIB (`W.rank`)."""
        rank, conditioning = _number(info, "rank", "W.rank"), _number(info, "conditioning", "W.cond")
        ratio, features = _number(info, "mass_ratio"), self
        if ratio is not None and ratio >= 1.0:
            features = replace(features, mass_ratio=ratio)
        if rank is not None and rank.is_integer() and 0.0 <= rank <= self.size:
            features = replace(features, rank=int(rank), estimated=info.get("estimated", "") == "yes")
        if conditioning is not None and conditioning >= 1.0:
            features = replace(features, conditioning=conditioning)
        return features

    def facts(self) -> dict[str, str]:
        """Known features as texts for a file; the inverse of `with_facts`."""
        known = {"mass_ratio": self.mass_ratio, "rank": self.rank, "conditioning": self.conditioning}
        texts = {name: repr(value) for name, value in known.items() if value is not None}
        return texts | ({"estimated": "yes" if self.estimated else "no"} if "rank" in texts else {})

    def _with_spectrum(self, problem: Problem) -> "Features":
        result = spectrum_of(problem)
        ratio = mass_ratio(problem) if isinstance(problem, GlobalProblem) else None
        return replace(
            self, mass_ratio=ratio, rank=result.rank, conditioning=result.conditioning,
            estimated=result.estimated,
        )  # fmt: skip


def mass_ratio(problem: GlobalProblem) -> float | None:
    """Largest over smallest mass [-]; None without velocities.

    If throughout M the first three of six consecutive velocities have equal masses, these are bodies in
    space; if the first two of three have equal masses, bodies in the plane. Otherwise every velocity counts.
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
    """Finite number of the first existing entry of `names` in the texts of a file; None if there is none."""
    text = next((info[name] for name in names if name in info), "")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
