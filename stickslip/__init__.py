"""stickslip: nonsmooth contact dynamics with exact friction and certified answers.

    import stickslip as ss

    problem = ss.read("problem.hdf5")
    solution = ss.solve(problem)
    print(solution)

Everything public is a name of this module; nothing heavy is imported until it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

DEFAULT_SOLVER = "auto"
"""The solver when none is named."""

_HOME = {
    "stickslip.problem.contact": ("ContactProblem", "GlobalProblem", "Level"),
    "stickslip.problem.box": ("BoxProblem", "lcp", "mlcp", "relay"),
    "stickslip.problem.nonlinear": ("NonlinearProblem",),
    "stickslip.problem.program": ("ConeProgram", "judge_program"),
    "stickslip.problem.step": ("velocity_step",),
    "stickslip.problem.convert": (
        "dual_program", "motion_mcp", "primal_program", "pyramid_lcp", "reduce_to_contacts",
    ),
    "stickslip.problem.sets": (
        "ProductSet", "coulomb", "free", "friction", "interval", "nonnegative", "rolling", "torsional",
    ),
    "stickslip.problem.jacobian": ("ContactBlocks", "contact_blocks"),
    "stickslip.problem.checks": ("ProblemError",),
    "stickslip.problem.certificate": ("Certificate", "check_certificate"),
    "stickslip.problem.existence": ("Existence",),
    "stickslip.problem.residuals": ("Residuals", "judge"),
    "stickslip.problem.solution": ("Solution", "SolverFailure", "Status"),
    "stickslip.problem.fingerprint": ("fingerprint",),
    "stickslip.solvers.existence": ("existence",),
    "stickslip.files": ("FormatError", "ProblemRecord", "read", "read_record", "write"),
}  # fmt: skip
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = ["solve", *sorted(_WHERE)]

if TYPE_CHECKING:
    from stickslip.files import FormatError, ProblemRecord, read, read_record, write
    from stickslip.problem.box import BoxProblem, lcp, mlcp, relay
    from stickslip.problem.certificate import Certificate, check_certificate
    from stickslip.problem.checks import ProblemError
    from stickslip.problem.contact import ContactProblem, GlobalProblem, Level
    from stickslip.problem.convert import (
        dual_program,
        motion_mcp,
        primal_program,
        pyramid_lcp,
        reduce_to_contacts,
    )
    from stickslip.problem.existence import Existence
    from stickslip.problem.fingerprint import fingerprint
    from stickslip.problem.jacobian import ContactBlocks, contact_blocks
    from stickslip.problem.nonlinear import NonlinearProblem
    from stickslip.problem.program import ConeProgram, judge_program
    from stickslip.problem.residuals import Residuals, judge
    from stickslip.problem.sets import (
        ProductSet,
        coulomb,
        free,
        friction,
        interval,
        nonnegative,
        rolling,
        torsional,
    )
    from stickslip.problem.solution import Solution, SolverFailure, Status
    from stickslip.problem.step import velocity_step
    from stickslip.solvers.existence import existence


def solve(
    problem: "ContactProblem | GlobalProblem | BoxProblem | NonlinearProblem",
    solver: str = DEFAULT_SOLVER,
    *,
    guess: Any = None,
    **options: Any,
) -> "Solution":
    """Solve `problem` by the solver of that name; options such as `tolerance` go to the solver.

    The answer carries the judge's residuals and an honest status; `.or_raise()` turns a miss into
    an exception. `stickslip solvers` lists the names and options.
    """
    from stickslip.solvers import registry

    return registry.make(solver, **options).solve(problem, guess=guess)


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'stickslip' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
