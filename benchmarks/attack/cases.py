"""Cases of the attack: problems as plain arrays, with known properties, and their files.

This module does not import stickslip; cases are the input of the formulas of `laws.py` and `proofs.py`.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

Array = np.ndarray

LOCAL, GLOBAL, BOX = "local", "global", "box"
"""Forms of a problem."""
SOLVABLE, NONE, UNKNOWN = "solvable", "none", "unknown"
"""Existence of a solution by construction."""


@dataclass(frozen=True)
class Block:
    """One block of impulses."""

    kind: str
    """free, nonnegative, interval or friction."""
    size: int
    """Number of components."""
    groups: tuple[int, ...] = ()
    """Sizes of the groups of a friction cone."""
    mu: tuple[float, ...] = ()
    """Coefficient of each group [-, m]."""
    lower: float = -np.inf
    """Lower bound of an interval [N s]."""
    upper: float = np.inf
    """Upper bound of an interval [N s]."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Bounds of the first component; those of every component of a free block."""
        if self.kind in ("nonnegative", "friction"):
            return 0.0, np.inf
        return self.lower, self.upper


@dataclass(frozen=True)
class Case:
    """A problem, its properties known by construction, and the tolerance and start of its solve."""

    form: str
    """local (W, u_free), global (M, f, H, u_bias, G, g_bias) or box (A, b, lower, upper)."""
    arrays: dict[str, Array]
    """Dense arrays of the problem by name."""
    blocks: tuple[Block, ...]
    """Sets of the impulses; intervals for a box problem."""
    family: str
    """Name of the generator."""
    truth: str = UNKNOWN
    """solvable, none (no solution) or unknown, by construction."""
    answer: Array | None = None
    """A known solution [N s], shape (n,)."""
    closing: float = 0.0
    """For problems without solution: speed that no impulse can prevent, over the largest velocity [-]."""
    guess: Array | None = None
    """Initial guess of the solver [N s], shape (n,)."""
    tolerance: float = 1e-8
    """Tolerance of the solve [-]."""
    notes: dict[str, float] = field(default_factory=dict)
    """Other numbers of the case, by name."""

    @property
    def size(self) -> int:
        """Number of components of the impulses."""
        return sum(block.size for block in self.blocks)

    @property
    def spans(self) -> list[tuple[Block, slice]]:
        """Every block with its components."""
        ends = np.cumsum([block.size for block in self.blocks]).tolist()
        starts = [0, *ends[:-1]] if ends else []
        return [(b, slice(i, j)) for b, i, j in zip(self.blocks, starts, ends, strict=True)]


def save(path: Path, case: Case, about: dict[str, object]) -> None:
    """Write a case and a claim about it to one .npz file of plain arrays and a JSON text."""
    text = {
        "form": case.form, "family": case.family, "truth": case.truth, "closing": case.closing,
        "tolerance": case.tolerance, "notes": case.notes, "about": about,
        "blocks": [[b.kind, b.size, b.groups, b.mu, b.lower, b.upper] for b in case.blocks],
    }  # fmt: skip
    optional = {name: x for name, x in (("answer", case.answer), ("guess", case.guess)) if x is not None}
    data = {f"data_{name}": x for name, x in case.arrays.items()}
    np.savez(path, text=np.array(json.dumps(text)), **data, **optional)


def load(path: Path) -> tuple[Case, dict[str, object]]:
    """Read a case and the claim about it."""
    with np.load(path) as file:
        text = json.loads(str(file["text"]))
        arrays = {name.removeprefix("data_"): file[name] for name in file if name.startswith("data_")}
        answer, guess = (file.get(name) for name in ("answer", "guess"))
    blocks = tuple(
        Block(kind, size, tuple(groups), tuple(mu), low, high)
        for kind, size, groups, mu, low, high in text["blocks"]
    )
    case = Case(
        text["form"], arrays, blocks, text["family"], text["truth"], answer, text["closing"], guess,
        text["tolerance"], text["notes"],
    )  # fmt: skip
    return case, text["about"]
