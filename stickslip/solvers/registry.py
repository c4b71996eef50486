"""The solvers by name, with what each accepts. A new solver is one file and one line in `_TABLE`.

The table holds names of modules, not modules: a solver is imported when it is asked for.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import Field, dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Protocol, runtime_checkable

from numpy.typing import ArrayLike

from stickslip.extras import MissingPackage as MissingPackage
from stickslip.extras import pip_command
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
    package: str = ""
    """Package of others that it needs, by its import name."""
    reach: float = 1e-12
    """Finest tolerance that it is held to on problems of known answer [-]."""
    licensed: bool = False
    """Whether its package wants a licence of its own, which only a solve finds out about."""
    method: str = ""
    """The option `method` that the name stands for; empty where it stands for none."""

    @property
    def options(self) -> tuple[Field[Any], ...]:
        """See the base; without `method` where the name stands for one."""
        found = Listed.options.__get__(self)
        return tuple(spec for spec in found if not self.method or spec.name != "method")

    def make(self, **given: Any) -> Any:
        """See the base."""
        made = Listed.make(self, **given)
        return replace(made, method=self.method) if self.method else made

    @property
    def absence(self) -> str:
        """Why its package cannot be used, and what to do; empty where it is there. It is looked for, not
        imported."""
        if not self.package:
            return ""
        look: Callable[[], str] | None = getattr(self.load(), "absence", None) if self.method else None
        if look is not None:  # it runs in an interpreter of its own
            return look()
        return "" if find_spec(self.package) else f"not installed: {pip_command(self.package)}"

    @property
    def installed(self) -> bool:
        """Whether its package is there."""
        return not self.absence

    @property
    def availability(self) -> str:
        """Whether it can be run here, and otherwise what to do."""
        return self.absence or ("installed; needs a licence" if self.licensed else "available")


_SOLVERS = "stickslip.solvers."
_ALL = frozenset(KINDS)
_PLAIN = frozenset(("free", "nonnegative", "interval", "coulomb2d", "coulomb3d"))

_BOX = frozenset(("free", "nonnegative", "interval"))
_PYRAMID = "the law of pyramids in place of the cones, which is Coulomb's in 2D"


def _external(name: str, cls: str, package: str, **more: Any) -> Entry:
    """A solver of others, from `solvers/external.py`."""
    return Entry(name, _SOLVERS + "external", cls, _ALL, package=package, **more)


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
        _external("clarabel", "Clarabel", "clarabel", reach=1e-8),
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
PEER = "siconos-"
"""What names of Siconos's solvers begin with: `siconos-nsgs` is its class with method="nsgs". They are not
among `names()`, for they live on a higher floor, and are reached by name alone."""
_PEERS = Entry("siconos", "stickslip.bench.siconos.solver", "SiconosSolver", _ALL, package="siconos")


PROGRAM_SOLVERS = ("auto", *(e.name for e in _TABLE.values() if e.module == _SOLVERS + "external"))
"""Solvers of cone programs; those between bounds take programs with linear rows, too."""


def names(accepting: Sequence[str] = ()) -> list[str]:
    """Names of the solvers that accept all of the given kinds of block."""
    return sorted(name for name, e in _TABLE.items() if e.accepts.issuperset(accepting))


def entry(name: str) -> Entry:
    """The line of one solver; an unknown name is an `UnknownNameError` that lists the known ones."""
    if name in _TABLE:
        return _TABLE[name]
    if name.startswith(PEER):
        methods = next(spec for spec in _PEERS.options if spec.name == "method").metadata["choices"]
        if (method := name.removeprefix(PEER)) in methods:
            return replace(_PEERS, name=name, method=method)
        raise UnknownNameError(
            f"unknown solver {name!r}; {alternatives(name, [PEER + each for each in methods])}"
        )
    raise UnknownNameError(f"unknown solver {name!r}; {alternatives(name, names())}")


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
    """The name of a solver, with the options that are not their defaults; its `label` or its class if it has
    no line.

    The tolerance is left out: runs and answers say it themselves.
    """
    kind = type(solver)
    home = kind.__module__, kind.__name__
    line = next((each for each in (*_TABLE.values(), _PEERS) if (each.module, each.cls) == home), None)
    if line is None:
        return str(getattr(solver, "label", kind.__name__))
    if line is _PEERS:
        line = entry(PEER + solver.method)
    given = {spec.name: getattr(solver, spec.name) for spec in line.options if spec.name != "tolerance"}
    default = {spec.name: spec.default for spec in line.options}
    differs = [f"{key}={value!r}" for key, value in given.items() if value != default[key]]
    return f"{line.name}({', '.join(differs)})" if differs else line.name


def chosen(solver: Any, options: Mapping[str, Any] | None, **usual: Any) -> Solver:
    """The solver that a run asks: one made of its name and options, `usual` where they say nothing else; or a
    solver itself, which has its options already. `MissingPackage` where a named one cannot be run here."""
    if isinstance(solver, str):
        given = usual | dict(options or {})
        try:
            made = make(solver, **given)
        except TypeError as error:
            known = [spec.name for spec in entry(solver).options]
            missing = next((name for name in given if name not in known), "")
            raise TypeError(f"{error}{owners(missing)}") from None
        if absence := entry(solver).absence:
            raise MissingPackage(f"{solver}: {absence}")
        return made
    if options:
        who = solver.__name__ if isinstance(solver, type) else type(solver).__name__
        raise TypeError(f"{who} has its options already; set {', '.join(options)} when you make it")
    own: Solver = solver
    return own


def owners(option: str) -> str:
    """Which solvers have an option, as the end of a sentence; empty where none has."""
    found = [name for name in _TABLE if option in [spec.name for spec in entry(name).options]]
    return f"; solvers that have it: {', '.join(sorted(found))}" if found else ""


def remade(told: str) -> tuple[str, dict[str, Any]]:
    """Name and options out of what `described` told of the solver of a run; a ModelError without any."""
    name, _, options = told.partition("(")
    if name in _TABLE or name.startswith(PEER):
        with suppress(SyntaxError, ValueError):
            call = ast.parse(f"made({options or ')'}", mode="eval").body
            if isinstance(call, ast.Call):
                return name, {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    raise ModelError(f"the run was made by the solver {told}, which a file does not hold: give solver=...")


@lru_cache(maxsize=256, typed=True)
def _made(name: str, given: tuple[str, ...], *values: Any) -> Solver:
    """Solvers are frozen, so the same options can share one."""
    return _new(name, **dict(zip(given, values, strict=True)))


def _new(name: str, **options: Any) -> Solver:
    solver: Solver = entry(name).make(**options)
    return solver
