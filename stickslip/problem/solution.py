"""Results of solvers: the solution, its status and history, and the judge's residuals."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stickslip.names import alternatives
from stickslip.problem.box import BoxProblem
from stickslip.problem.certificate import Certificate
from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.nonlinear import NonlinearProblem
from stickslip.problem.residuals import Residuals, judge
from stickslip.problem.states import ContactStates, contact_states
from stickslip.state import BoolArray

SELECTIONS = ("any", "least")
"""Selection among certified impulses with the same velocities: the solver's result, or the least norm."""

Problem = ContactProblem | GlobalProblem | BoxProblem
"""Problems given by data: they can be written to files, converted and passed to every solver."""
AnyProblem = Problem | NonlinearProblem
"""All problems, including those given by functions."""


class Verdict(StrEnum):
    """Verdict of the judge on an answer, a step or a run, from best to worst."""

    CERTIFIED = "certified"
    """Solved to its tolerance under the exact law."""
    RELAXED = "relaxed"
    """Solved under another law, which proves nothing about the exact one."""
    MISSED = "missed"
    """The problem was not solved to its tolerance."""

    @property
    def code(self) -> int:
        """Number of the verdict in arrays and files: 0 certified, 1 relaxed, 2 missed."""
        return tuple(Verdict).index(self)


class Status(Enum):
    """Reason why a solver stopped. The value is the sentence that is shown to the user.

    Example:

        solution = ss.solve(ss.ContactProblem(np.eye(3), [-1.0, 0.0, 0.0], ss.coulomb([0.5])))
        print(solution.status is ss.Status.SOLVED, solution.status.value)
    """

    SOLVED = "residual below tolerance"
    MAX_ITERATIONS = "iteration limit reached; raise max_iterations or relax tolerance"
    STALLED = "progress stopped above the tolerance; relax the tolerance, or try another solver"
    NOT_FINITE = "NaN or infinity during the iteration; check the scaling of W and u_free"
    RELAXED = "solves the convex relaxation, which differs from Coulomb's law at sliding contacts"
    APPROXIMATE = (
        "solves an approximation of the law, such as a pyramid in place of the cone, but not the law"
    )
    INFEASIBLE = "there is no solution: no impulses keep the contacts from closing; the certificate proves it"

    @property
    def ok(self) -> bool:
        """Whether the answer is certified at the solver's tolerance."""
        return self is Status.SOLVED

    @property
    def verdict(self) -> Verdict:
        """Verdict on the answer: certified, relaxed (another law was solved) or missed."""
        if self is Status.SOLVED:
            return Verdict.CERTIFIED
        return Verdict.RELAXED if self in (Status.RELAXED, Status.APPROXIMATE) else Verdict.MISSED


class SolverFailure(RuntimeError):  # noqa: N818 (a failure is not an error of the caller)
    """Exception of `Solution.or_raise`; its `solution` is the best answer.

    Example:

        problem = ss.ContactProblem(np.eye(3), [-1.0, 0.5, 0.0], ss.coulomb([0.5]))
        try:
            ss.solve(problem, "fixed-point", max_iterations=1).or_raise()
        except ss.SolverFailure as failure:
            print(failure.solution.status.name)
    """

    def __init__(self, solution: Any):
        self.solution = solution
        super().__init__(
            f"{solution.solver}: {solution.status.name.lower().replace('_', ' ')}"
            f" after {solution.iterations} iterations: {solution.reason or solution.status.value}"
            f" ({solution.measures}, tolerance {solution.tolerance:.0e})"
        )


Late = tuple[Callable[[Any], dict[str, Any]], Any]
"""A function that computes the deferred fields of a solution, and its argument."""


class Stage(NamedTuple):
    """One method that was tried for a solution."""

    solver: str
    """Name of the method."""
    iterations: int
    """Number of iterations, as the method counts them."""
    operations: float
    """Approximate number of multiplications."""
    error: float
    """Smallest error by the judge's measures [-]."""

    def __str__(self) -> str:
        return f"{self.solver} {self.iterations} ({self.error:.0e})"


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """Certified answer of a solver, or the best iterate with the reason why it is not certified.

    Example:

        solution = ss.solve(ss.ContactProblem(np.eye(3), [-1.0, 0.0, 0.0], ss.coulomb([0.5])))
        print(solution.ok, solution.r, solution.residuals.natural)
    """

    problem: AnyProblem
    """The original problem."""
    r: Array
    """Contact impulses [N s], shape (n,); z for a box or nonlinear problem.
    `contact_impulses` returns them by contact."""
    u: Array
    """Contact velocities, recomputed from r [m/s], shape (n,); F(z) for a box or nonlinear problem."""
    status: Status
    """Reason why the solver stopped, decided by the judge's residuals."""
    residuals: Residuals
    """Residuals of this solution, computed by the judge."""
    solver: str
    """Name of the solver."""
    tolerance: float
    """Requested tolerance on natural and natural_scaled [-]."""
    iterations: int
    """Iterations (for Gauss-Seidel, sweeps over all contacts)."""
    seconds: float
    """Time of the solve, without compilation [s]."""
    compile_seconds: float = 0.0
    """Time spent compiling kernels, or loading them from their cache [s]."""
    history: Array = field(default_factory=lambda: np.zeros((0, 3)))
    """Iteration, natural and natural_scaled at each check [-], shape (checks, 3); solvers of the relaxation
    store its residuals."""
    v: Array | None = None
    """Velocities of a GlobalProblem [m/s, rad/s], shape (nv,)."""
    lam: Array | None = None
    """Bilateral multipliers of a GlobalProblem [N s], shape (p,)."""
    reason: str = ""
    """Details of the status, if any."""
    tried: tuple[Stage, ...] = field(default_factory=tuple)
    """Methods that were tried, in their order, if the solver tries several."""
    operations: float = 0.0
    """Approximate number of multiplications; 0 if the method does not count them."""
    selection: str = "found"
    """Selection of r among the certified impulses: `found`, the solver's result, or `least`, the least norm
    (`least_impulses`)."""
    certificate: Certificate | None = None
    """Proof that there is no solution, if the status is INFEASIBLE."""

    @classmethod
    def unchecked(cls, **fields: Any) -> "Solution":
        """Return a solution from all its fields, faster than the constructor, which sets them one by one."""
        solution = object.__new__(cls)
        solution.__dict__.update(fields)
        return solution

    @classmethod
    def deferred(cls, late: "Late", **fields: Any) -> "Solution":
        """Return a solution from some of its fields; the others are computed on first access by `late`."""
        solution = object.__new__(cls)
        fields["_late"] = late
        solution.__dict__.update(fields)
        return solution

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            known = self.__dict__
            if (late := known.get("_late")) is not None:
                known.update(late[0](late[1]))
                known.pop("_late", None)
            if name not in known:
                raise AttributeError(f"a Solution has no attribute {name!r}")
            return known[name]

    @classmethod
    def of_box(cls, problem: BoxProblem, z: Array, tolerance: float, solver: str, tried: int) -> "Solution":
        """Return a solution from a given z, examined by the judge; `tried`: number of candidates examined."""
        residuals = judge(problem, z)
        status = Status.SOLVED if residuals.solved(tolerance) else Status.STALLED
        return cls(problem, z, problem.value(z), status, residuals, solver, tolerance, tried, 0.0)

    @property
    def ok(self) -> bool:
        """Whether the answer is certified at the tolerance, under the exact law."""
        return self.status.ok

    @property
    def verdict(self) -> Verdict:
        """Verdict on the answer: certified, relaxed (another law was solved) or missed."""
        return self.status.verdict

    @property
    def measures(self) -> str:
        """The judge's norms as text."""
        return f"natural {self.residuals.natural:.2e}, natural_scaled {self.residuals.natural_scaled:.2e}"

    @property
    def contact_impulses(self) -> Array:
        """r by contact [N s], shape (nc, d); for problems whose blocks have equal sizes."""
        return self._by_contact(self.r)

    @property
    def contact_velocities(self) -> Array:
        """u by contact [m/s], shape (nc, d); for problems whose blocks have equal sizes."""
        return self._by_contact(self.u)

    def _by_contact(self, x: Array) -> Array:
        if isinstance(self.problem, BoxProblem | NonlinearProblem):
            return x.reshape(-1, 1)
        return self.problem.K.rows(x)

    @cached_property
    def states(self) -> ContactStates:
        """State of each contact (separating, sticking, slipping, ...) and its margin."""
        return contact_states(self.problem, self.r, self.u, self.tolerance)

    @cached_property
    def unique(self) -> BoolArray:
        """Whether the impulse of each contact is the same in every certified solution [-], shape (nb,), bool.

        Computed on first access, at a cost similar to that of a solve. Raises a ProblemError if the solution
        is not certified.
        """
        from importlib import import_module

        # Solvers import this module, so this import is made on first use.
        unique: BoolArray = import_module("stickslip.solvers.impulses").unique_impulses(self)
        return unique

    def or_raise(self) -> "Solution":
        """Return this solution if it is certified, otherwise raise `SolverFailure` with it."""
        if not self.ok:
            raise SolverFailure(self)
        return self

    def with_(self, **changes: Any) -> "Solution":
        """Return a copy with some fields changed."""
        return replace(self, **changes)

    def _impulses(self) -> str:
        """Return the selection of the impulses as text; empty if none was made."""
        if self.selection != "least":
            return ""
        unique = int(self.unique.sum())
        return f"of least norm among those certified; unique at {unique} of {self.unique.size} contacts"

    def __repr__(self) -> str:
        head = f"{self.solver}: {self.status.name} ({self.reason or self.status.value})"
        rows = [
            ("problem", repr(self.problem)),
            ("iterations", f"{self.iterations}"),
            ("tried", ", ".join(map(str, self.tried)) if len(self.tried) > 1 else ""),
            (
                "time",
                _duration(self.seconds)
                + (
                    f" (+ {_duration(self.compile_seconds)} compiling)" if self.compile_seconds > 1e-3 else ""
                ),
            ),
            *self.residuals.rows(self.tolerance),
            ("contacts", self.states.summary()),
            ("impulses", self._impulses()),
        ]
        width = max(len(name) for name, _ in rows)
        return "\n".join([head, *(f"  {name:<{width}}  {value}" for name, value in rows if value)])


def check_selection(problem: AnyProblem, select: str) -> None:
    """Raise an error for an unknown selection of impulses, or one that the problem does not permit."""
    if select not in SELECTIONS:
        raise ValueError(f"select is {select!r}; {alternatives(select, SELECTIONS)}")
    if select == "least" and not isinstance(problem, ContactProblem | GlobalProblem):
        kind = type(problem).__name__
        raise ProblemError(f"select='least' is for contact and global problems, not for a {kind}")


def _duration(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
