"""The solvers by name, with what each accepts. A new solver is one file and one line in `_TABLE`.

The table holds names of modules, not modules: a solver is imported when it is asked for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from stickslip.names import alternatives
from stickslip.options import Listed
from stickslip.problem.sets import KINDS
from stickslip.problem.solution import AnyProblem, Solution
from stickslip.state import ModelError, UnknownNameError

Progress = Callable[[int, float], None]
"""Called with the iterations done and the best error so far, some ten times a second."""


@runtime_checkable
class Solver(Protocol):
    """A frozen set of options. Same solver, same problem, same guess: same answer."""

    def solve(
        self, problem: AnyProblem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem`, starting from `guess` if there is one, telling `progress` on long work."""


@dataclass(frozen=True, slots=True)
class Entry(Listed):
    """One line of the table: where a solver is and what it accepts."""

    accepts: frozenset[str]
    """Kinds of block it takes, out of `stickslip.problem.sets.KINDS`."""
    exact: bool = True
    """Whether it solves Coulomb's law; otherwise what `instead` names, and says so."""
    instead: str = "the convex relaxation of Coulomb's law, which differs where something slides"
    """What it solves where it is not exact."""
    extra: str = ""
    """Extra of stickslip that installs its package; empty where nothing is to be installed."""
    package: str = ""
    """Package of others that it needs, by its import name."""
    reach: float = 1e-12
    """Finest tolerance that it is held to on problems of known answer [-]."""
    licensed: bool = False
    """Whether its package wants a licence of its own, which only a solve finds out about."""

    @property
    def installed(self) -> bool:
        """Whether its package is there; it is looked for, not imported."""
        return not self.package or find_spec(self.package) is not None

    @property
    def availability(self) -> str:
        """Whether it can be run here, and otherwise what to do."""
        if not self.installed:
            return f'not installed: pip install "stickslip[{self.extra}]"'
        return "installed; needs a licence" if self.licensed else "available"


_SOLVERS = "stickslip.solvers."
_ALL = frozenset(KINDS)
_PLAIN = frozenset(("free", "nonnegative", "interval", "coulomb2d", "coulomb3d"))

_BOX = frozenset(("free", "nonnegative", "interval"))
_PYRAMID = "the law of pyramids in place of the cones, which is Coulomb's in 2D"


def _external(name: str, cls: str, package: str, **more: Any) -> Entry:
    """A solver of others, from `solvers/external.py`; its extra has its name unless another is given."""
    return Entry(name, _SOLVERS + "external", cls, _ALL, package=package, **({"extra": name} | more))


_TABLE = {
    entry.name: entry
    for entry in (
        Entry("auto", _SOLVERS + "auto", "Auto", _ALL),
        Entry("nsgs", _SOLVERS + "gauss_seidel", "NSGS", _ALL),
        Entry("anderson", _SOLVERS + "gauss_seidel", "Anderson", _ALL),
        Entry("prox", _SOLVERS + "prox", "ProximalNewton", _ALL),
        Entry("newton-ac", _SOLVERS + "newton", "NewtonAlartCurnier", _ALL),
        Entry("newton-jm", _SOLVERS + "newton", "NewtonJeanMoreau", _ALL),
        Entry("newton-nm", _SOLVERS + "newton", "NewtonNaturalMap", _ALL),
        Entry("newton-fb", _SOLVERS + "newton", "NewtonFischerBurmeister", _PLAIN),
        Entry("ipm", _SOLVERS + "interior_point", "InteriorPoint", _ALL),
        Entry("fixed-point", _SOLVERS + "first_order", "FixedPoint", _ALL),
        Entry("extragradient", _SOLVERS + "first_order", "Extragradient", _ALL),
        Entry("apgd", _SOLVERS + "first_order", "AcceleratedGradient", _ALL, exact=False),
        Entry("bb", _SOLVERS + "first_order", "SpectralGradient", _ALL, exact=False),
        Entry("s-loop", _SOLVERS + "fixed_points", "ShiftLoop", _ALL),
        Entry("tresca", _SOLVERS + "fixed_points", "Tresca", _ALL),
        Entry("lemke", _SOLVERS + "lemke", "Lemke", _BOX),
        Entry("pgs", _SOLVERS + "projected_sweeps", "ProjectedGaussSeidel", _BOX),
        Entry("newton-min", _SOLVERS + "newton_box", "NewtonMin", _BOX),
        Entry("ipm-lcp", _SOLVERS + "monotone_point", "MonotoneInteriorPoint", _BOX),
        Entry("enumerate", _SOLVERS + "enumeration", "Enumeration", _BOX),
        Entry("ipm-step", _SOLVERS + "step_point", "StepInteriorPoint", frozenset()),
        Entry("mcp", _SOLVERS + "mcp", "MixedComplementarity", _ALL),
        Entry("admm", _SOLVERS + "admm", "ADMM", _ALL),
        _external("clarabel", "Clarabel", "clarabel", extra="", reach=1e-8),
        _external("scs", "SCS", "scs", reach=1e-10),
        _external("qoco", "QOCO", "qoco", reach=1e-7),
        _external("ecos", "ECOS", "ecos", reach=1e-6),
        _external("piqp", "PIQP", "piqp", reach=1e-10, exact=False, instead=_PYRAMID),
        _external("proxqp", "ProxQP", "proxsuite", reach=1e-10, exact=False, instead=_PYRAMID),
        _external("ipopt", "Ipopt", "casadi", reach=1e-7),
        _external("gurobi", "Gurobi", "gurobipy", reach=1e-6, licensed=True),
        _external("mosek", "Mosek", "mosek", reach=1e-6, licensed=True),
        _external("gams", "GAMS", "gamspy", reach=1e-6, licensed=True),
    )
}


def names(accepting: Sequence[str] = ()) -> list[str]:
    """Names of the solvers that accept all of the given kinds of block."""
    return sorted(name for name, e in _TABLE.items() if e.accepts.issuperset(accepting))


def entry(name: str) -> Entry:
    """The line of one solver; an unknown name is an `UnknownNameError` that lists the known ones."""
    try:
        return _TABLE[name]
    except KeyError:
        raise UnknownNameError(f"no solver {name!r}; {alternatives(name, names())}") from None


def accepted(name: str) -> frozenset[str]:
    """Kinds of block that a solver takes: what its line says, and every kind where it has none."""
    return _TABLE[name].accepts if name in _TABLE else _ALL


def make(name: str, **options: Any) -> Solver:
    """The solver `name` with these options; an unknown option is a `TypeError` that lists the known."""
    try:
        return _made(name, tuple(options), *options.values())
    except TypeError:  # an option that cannot be hashed, or that the solver does not know
        return _new(name, **options)


def described(solver: Any) -> str:
    """The name of a solver, with the options that are not their defaults; its class if it has no line.

    The tolerance is left out: runs and answers say it themselves.
    """
    kind = type(solver)
    line = next((e for e in _TABLE.values() if (e.module, e.cls) == (kind.__module__, kind.__name__)), None)
    if line is None:
        return kind.__name__
    given = {spec.name: getattr(solver, spec.name) for spec in line.options if spec.name != "tolerance"}
    default = {spec.name: spec.default for spec in line.options}
    differs = [f"{key}={value!r}" for key, value in given.items() if value != default[key]]
    return f"{line.name}({', '.join(differs)})" if differs else line.name


def remade_name(name: str) -> str:
    """The name of the solver that a run was made with; a ModelError where a name is not enough to make it."""
    if name in _TABLE:
        return name
    raise ModelError(f"the run was made by the solver {name}, which a file does not hold: give solver=...")


@lru_cache(maxsize=256, typed=True)
def _made(name: str, given: tuple[str, ...], *values: Any) -> Solver:
    """Solvers are frozen, so the same options can share one."""
    return _new(name, **dict(zip(given, values, strict=True)))


def _new(name: str, **options: Any) -> Solver:
    solver: Solver = entry(name).make(**options)
    return solver
