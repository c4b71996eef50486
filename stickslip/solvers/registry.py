"""The solvers by name, with what each accepts. A new solver is one file and one line in `_TABLE`.

The table holds names of modules, not modules: a solver is imported when it is asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, fields
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from stickslip.problem.sets import KINDS
from stickslip.problem.solution import Problem, Solution

Progress = Callable[[int, float], None]
"""Called with the iterations done and the best error so far, some ten times a second."""


@runtime_checkable
class Solver(Protocol):
    """A frozen set of options. Same solver, same problem, same guess: same answer."""

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem`, starting from `guess` if there is one, telling `progress` on long work."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the table: where a solver is, and what it takes."""

    name: str
    """Name of the solver, everywhere the same."""
    module: str
    """Module of the class, imported on use."""
    cls: str
    """Name of the class."""
    accepts: frozenset[str]
    """Kinds of block it takes, out of `stickslip.problem.sets.KINDS`."""
    exact: bool = True
    """Whether it solves Coulomb's law; otherwise its convex relaxation, and says so."""

    def load(self) -> Any:
        """The class of the solver."""
        return getattr(import_module(self.module), self.cls)

    @property
    def summary(self) -> str:
        """First line of the docstring of the class."""
        return (self.load().__doc__ or "").strip().splitlines()[0]

    @property
    def options(self) -> tuple[Field[Any], ...]:
        """The options, as dataclass fields with doc, unit and range in their metadata."""
        return fields(self.load())


_SOLVERS = "stickslip.solvers."
_ALL = frozenset(KINDS)
_PLAIN = frozenset(("free", "nonnegative", "interval", "coulomb2d", "coulomb3d"))

_TABLE = {
    entry.name: entry
    for entry in (
        Entry("auto", _SOLVERS + "auto", "Auto", _ALL),
        Entry("nsgs", _SOLVERS + "gauss_seidel", "GaussSeidel", _ALL),
        Entry("anderson", _SOLVERS + "anderson", "Anderson", _ALL),
        Entry("prox", _SOLVERS + "prox", "Proximal", _ALL),
        Entry("newton-ac", _SOLVERS + "newton", "AlartCurnier", _ALL),
        Entry("newton-jm", _SOLVERS + "newton", "JeanMoreau", _ALL),
        Entry("newton-nm", _SOLVERS + "newton", "NaturalMap", _ALL),
        Entry("newton-fb", _SOLVERS + "newton", "FischerBurmeister", _PLAIN),
        Entry("ipm", _SOLVERS + "interior_point", "InteriorPoint", _ALL),
        Entry("fixed-point", _SOLVERS + "projected", "FixedPoint", _ALL),
        Entry("extragradient", _SOLVERS + "projected", "Extragradient", _ALL),
        Entry("apgd", _SOLVERS + "gradient", "AcceleratedGradient", _ALL, exact=False),
        Entry("bb", _SOLVERS + "gradient", "SpectralGradient", _ALL, exact=False),
        Entry("s-loop", _SOLVERS + "fixed_points", "ShiftLoop", _ALL),
        Entry("tresca", _SOLVERS + "fixed_points", "Tresca", _ALL),
        Entry("admm", _SOLVERS + "admm", "Admm", _ALL),
    )
}


def names(accepting: Sequence[str] = ()) -> list[str]:
    """Names of the solvers that accept all of the given kinds of block."""
    return sorted(name for name, e in _TABLE.items() if e.accepts.issuperset(accepting))


def entry(name: str) -> Entry:
    """The line of one solver; an unknown name is a `KeyError` that lists the known ones."""
    try:
        return _TABLE[name]
    except KeyError:
        raise KeyError(f"no solver {name!r}; known: {', '.join(sorted(_TABLE))}") from None


def make(name: str, **options: Any) -> Solver:
    """The solver `name` with these options; an unknown option is a `TypeError` that lists the known."""
    try:
        return _made(name, tuple(options), *options.values())
    except TypeError:  # an option that cannot be hashed, or that the solver does not know
        return _new(name, **options)


@lru_cache(maxsize=256, typed=True)
def _made(name: str, given: tuple[str, ...], *values: Any) -> Solver:
    """Solvers are frozen, so the same options can share one."""
    return _new(name, **dict(zip(given, values, strict=True)))


def _new(name: str, **options: Any) -> Solver:
    found = entry(name)
    known = [spec.name for spec in found.options]
    for given in options:
        if given not in known:
            raise TypeError(f"{name} has no option {given!r}; it has: {', '.join(known)}")
    solver: Solver = found.load()(**options)
    return solver
