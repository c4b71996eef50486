"""What a file holds besides the problem: where it comes from, and answers stored with it."""

from dataclasses import dataclass, field

from stickslip.problem.checks import Array, floats
from stickslip.problem.solution import Problem


@dataclass(frozen=True, eq=False)
class StoredSolution:
    """An answer or a guess as the file has it: not judged, often not even close."""

    r: Array
    """Contact impulses [N s], shape (n,); z for a BoxProblem."""
    u: Array
    """Contact velocities [m/s], shape (n,); A z + b for a BoxProblem."""
    v: Array | None = None
    """Velocities of a GlobalProblem [m/s, rad/s], shape (nv,)."""
    lam: Array | None = None
    """Bilateral multipliers of a GlobalProblem [N s], shape (p,)."""

    def __post_init__(self) -> None:
        for name in ("r", "u", "v", "lam"):
            value = getattr(self, name)
            if value is not None:
                array = floats(name, value).reshape(-1)
                array.flags.writeable = False
                object.__setattr__(self, name, array)


@dataclass(frozen=True, eq=False)
class ProblemRecord:
    """One file: a problem, what is said about it, and the answers stored beside it."""

    problem: Problem
    """The problem."""
    info: dict[str, str] = field(default_factory=dict)
    """`title`, `description`, `math_info`, attributes by name (those of matrix W as `W.name`);
    for text files the free text after the last number, as `comment`."""
    solution: StoredSolution | None = None
    """The stored answer, if there is one."""
    guesses: tuple[StoredSolution, ...] = ()
    """Starting points stored with the problem."""
