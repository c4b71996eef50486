"""Registry of solvers: names, modules and accepted kinds of block.

A new solver is one file and one line in `_TABLE`. The table holds module names; a solver is imported on first
use.
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
"""Callback with the number of iterations and the best error so far; called about ten times a second."""


@runtime_checkable
class Solver(Protocol):
    """Interface of solvers: frozen options; the same solver, problem and guess give the same answer."""

    def solve(
        self, problem: AnyProblem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if None); long solves report to `progress`."""


@dataclass(frozen=True, slots=True)
class Entry(Listed):
    """Entry of the registry: the module of a solver and the problems it accepts."""

    accepts: frozenset[str]
    """Accepted kinds of block, from `stickslip.problem.sets.KINDS`."""
    exact: bool = True
    """Whether it solves Coulomb's law; if not, it solves `instead`."""
    instead: str = "the convex relaxation of Coulomb's law, which differs where something slides"
    """Law that an inexact solver solves instead of Coulomb's law."""
    package: str = ""
    """Import name of the third-party package that it needs; empty if none."""
    reach: float = 1e-12
    """Finest tolerance that tests require on problems of known solution [-]."""
    licensed: bool = False
    """Whether its package needs a licence, which is checked only by a solve."""
    method: str = ""
    """Value of the option `method` that the name implies; empty if none."""

    @property
    def options(self) -> tuple[Field[Any], ...]:
        """Options of the solver; without `method` if the name implies it."""
        fields = Listed.options.__get__(self)
        return tuple(spec for spec in fields if not self.method or spec.name != "method")

    def make(self, **values: Any) -> Any:
        """Return the solver with these options."""
        solver = Listed.make(self, **values)
        return replace(solver, method=self.method) if self.method else solver

    @property
    def absence(self) -> str:
        """Reason why its package cannot be used, with the remedy; empty if it is installed.

        The package is located, not imported.
        """
        if not self.package:
            return ""
        find: Callable[[], str] | None = getattr(self.load(), "absence", None) if self.method else None
        if find is not None:  # the package runs in another interpreter
            return find()
        return "" if find_spec(self.package) else f"not installed: {pip_command(self.package)}"

    @property
    def installed(self) -> bool:
        """Whether its package is installed."""
        return not self.absence

    @property
    def availability(self) -> str:
        """Availability in words, with the remedy if the solver cannot be run."""
        return self.absence or ("installed; needs a licence" if self.licensed else "available")


_SOLVERS = "stickslip.solvers."
_ALL = frozenset(KINDS)
_PLAIN = frozenset(("free", "nonnegative", "interval", "coulomb2d", "coulomb3d"))

_BOX = frozenset(("free", "nonnegative", "interval"))
_PYRAMID = "the law of pyramids in place of the cones, which is Coulomb's in 2D"


def _external(name: str, cls: str, package: str, **fields: Any) -> Entry:
    """Entry of a third-party solver, from `solvers/external.py`."""
    return Entry(name, _SOLVERS + "external", cls, _ALL, package=package, **fields)


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
"""Prefix of the names of Siconos's solvers: `siconos-nsgs` is SiconosSolver with method="nsgs". They are not
listed by `names()`, because they are in the benchmark package, and are reached by name only."""
_PEERS = Entry("siconos", "stickslip.bench.siconos.solver", "SiconosSolver", _ALL, package="siconos")


PROGRAM_SOLVERS = ("auto", *(e.name for e in _TABLE.values() if e.module == _SOLVERS + "external"))
"""Solvers of cone programs. Solvers of box problems also take cone programs with linear rows."""


def names(accepting: Sequence[str] = ()) -> list[str]:
    """Return the names of the solvers that accept all of these kinds of block."""
    return sorted(name for name, e in _TABLE.items() if e.accepts.issuperset(accepting))


def entry(name: str) -> Entry:
    """Return the entry of a solver; raise an `UnknownNameError` that lists the known names otherwise."""
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
    """Return the kinds of block that a solver accepts; all kinds if it is not in the table."""
    return _TABLE[name].accepts if name in _TABLE else _ALL


def make(name: str, **options: Any) -> Solver:
    """Return the solver `name`; an unknown option raises a `TypeError` that lists the known ones."""
    try:
        return _shared(name, tuple(options), *options.values())
    except TypeError:  # an option that cannot be hashed, or that the solver does not know
        return _new(name, **options)


def described(solver: Any) -> str:
    """Return the name of a solver with its non-default options, as in `nsgs(local='newton')`.

    A solver without an entry has its `label` or class name. The tolerance is omitted, because runs and
    solutions store it.
    """
    kind = type(solver)
    home = kind.__module__, kind.__name__
    line = next((each for each in (*_TABLE.values(), _PEERS) if (each.module, each.cls) == home), None)
    if line is None:
        return str(getattr(solver, "label", kind.__name__))
    if line is _PEERS:
        line = entry(PEER + solver.method)
    values = {spec.name: getattr(solver, spec.name) for spec in line.options if spec.name != "tolerance"}
    default = {spec.name: spec.default for spec in line.options}
    differs = [f"{key}={value!r}" for key, value in values.items() if value != default[key]]
    return f"{line.name}({', '.join(differs)})" if differs else line.name


def chosen(solver: Any, options: Mapping[str, Any] | None, **usual: Any) -> Solver:
    """Return the solver of a run: a solver object as it is, or one made from its name and options.

    `usual` are defaults of options. Raise `MissingPackage` if the named solver cannot be run here.
    """
    if isinstance(solver, str):
        all_options = usual | dict(options or {})
        try:
            named = make(solver, **all_options)
        except TypeError as error:
            known = [spec.name for spec in entry(solver).options]
            missing = next((name for name in all_options if name not in known), "")
            raise TypeError(f"{error}{owners(missing)}") from None
        if absence := entry(solver).absence:
            raise MissingPackage(f"{solver}: {absence}")
        return named
    if options:
        kind = solver.__name__ if isinstance(solver, type) else type(solver).__name__
        raise TypeError(f"{kind} has its options already; set {', '.join(options)} when you make it")
    instance: Solver = solver
    return instance


def owners(option: str) -> str:
    """Return the solvers that have an option, as the end of a sentence; empty if none has."""
    solvers = [name for name in _TABLE if option in [spec.name for spec in entry(name).options]]
    return f"; solvers that have it: {', '.join(sorted(solvers))}" if solvers else ""


def remade(description: str) -> tuple[str, dict[str, Any]]:
    """Return name and options from the text of `described`; raise a ModelError if that is impossible."""
    name, _, options = description.partition("(")
    if name in _TABLE or name.startswith(PEER):
        with suppress(SyntaxError, ValueError):
            call = ast.parse(f"made({options or ')'}", mode="eval").body
            if isinstance(call, ast.Call):
                return name, {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    raise ModelError(
        f"the run was made by the solver {description}, which a file does not hold: give solver=..."
    )


@lru_cache(maxsize=256, typed=True)
def _shared(name: str, keys: tuple[str, ...], *values: Any) -> Solver:
    """Return a cached solver: solvers are frozen, so equal options share one."""
    return _new(name, **dict(zip(keys, values, strict=True)))


def _new(name: str, **options: Any) -> Solver:
    solver: Solver = entry(name).make(**options)
    return solver
