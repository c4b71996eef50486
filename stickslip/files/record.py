"""Content of problem files: the problem, its description, and stored solutions."""

from dataclasses import dataclass, field

from stickslip.problem.checks import Array, floats
from stickslip.problem.solution import Problem


@dataclass(frozen=True, eq=False)
class StoredSolution:
    """Answer or guess stored in a file; it has not been judged."""

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
    """Content of a problem file: the problem, its description, and the stored answers."""

    problem: Problem
    """The problem."""
    info: dict[str, str] = field(default_factory=dict)
    """`title`, `description`, `math_info`, attributes by name (those of matrix W as `W.name`);
    for text files the free text after the last number, as `comment`."""
    solution: StoredSolution | None = None
    """The stored answer, if there is one."""
    guesses: tuple[StoredSolution, ...] = ()
    """Starting points stored with the problem."""
