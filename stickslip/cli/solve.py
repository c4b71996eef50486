"""`stickslip solve`: certified answers to the problems in files."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from stickslip import DEFAULT_SOLVER
from stickslip.cli.errors import ExitCode, InputError, complain, refused, usable, wrote
from stickslip.cli.parameters import Files, Json, Kind
from stickslip.cli.places import PLOTS, check_writable, load, solution_places
from stickslip.cli.progress import Progress, watch
from stickslip.cli.settings import make_solver
from stickslip.cli.tables import duration, print_json, table

if TYPE_CHECKING:
    from stickslip.files import ProblemRecord
    from stickslip.problem.solution import Solution


@dataclass(frozen=True)
class Outcome:
    """A solution, or the sentence why there is none."""

    path: Path
    """The file."""
    data: dict[str, Any] | None = None
    """The answer as JSON holds it, without arrays."""
    solution: Solution | None = None
    """The answer itself, while it is needed."""
    record: ProblemRecord | None = None
    """The content of the file, while it is needed."""
    place: Path | None = None
    """Where the answer was written."""
    error: str = ""
    """Why the file could not be used, or the answer not written."""

    @property
    def code(self) -> ExitCode:
        """The exit code this file alone gives."""
        if self.error:
            return ExitCode.BAD_INPUT
        return ExitCode.FINE if self.data and self.data["ok"] else ExitCode.MISSED

    @property
    def report(self) -> dict[str, Any]:
        """The object of this file in the JSON output."""
        report: dict[str, Any] = {"file": str(self.path)}
        if self.data is not None:
            report |= self.data | {"out": None if self.place is None else str(self.place)}
        return report | ({"error": self.error} if self.error else {})

    def complain(self) -> None:
        """Say on stderr what went wrong, if anything did."""
        if self.solution is not None and not self.solution.ok:
            from stickslip.problem.solution import SolverFailure

            where = f"; the best iterate is in {self.place}" if self.place else ""
            complain(f"{self.path}: {SolverFailure(self.solution)}{where}")
        if self.error:
            complain(self.error)


def solve(
    files: Files,
    /,
    *,
    solver: str = DEFAULT_SOLVER,
    tolerance: float | None = None,
    option: list[str] | None = None,
    guess: Literal["stored", "none"] = "none",
    select: Literal["any", "least"] = "any",
    kind: Kind = None,
    out: Path | None = None,
    plot: Path | None = None,
    json: Json = False,
) -> int:
    """Solve the problems in files and print what the judge says of each answer.

    One file gives the full certificate, several give a table with a line each.
    The solver auto tries several methods in turn; what it tried is shown.

    Exit status 1 says that a solve missed its tolerance (or met it only on the
    convex relaxation or on pyramids), 2 that a file, an option or a solver
    could not be used.

    With --json a number that is not finite is null, and a file that could not be
    used is an object with file and error.

    For example:
      stickslip solve problem.hdf5
      stickslip solve pile.dat --kind global --tolerance 1e-6 --out solved.hdf5
      stickslip solve box.hdf5 --solver nsgs --option max_iterations=100000 --plot box.svg
      stickslip solve *.hdf5 --json > answers.json

    Parameters
    ----------
    files
        Problem files, .hdf5 or .dat.
    solver
        Name of the solver; `stickslip solvers` lists them.
    tolerance
        Largest residual (natural, natural_scaled) that counts as solved; 1e-8 unless given.
    option
        An option of the solver, name=value; repeat for more; `stickslip solvers NAME` lists them.
    guess
        Start from the first guess in the file (its solution if there is none), or from nothing.
    select
        Which of several certified impulses with the same velocities are given: any, those that the solver
        finds, or least, those of least norm.
    out
        Write problem and solution here (.hdf5), solved or not; a directory for several files.
    plot
        Draw the convergence here, .png or .svg.
    """
    solving = make_solver(solver, tolerance, option or [])
    places = solution_places(files, out)
    if plot is not None:
        check_writable(plot, PLOTS)
    outcomes = []
    for path in files:
        try:
            with watch(f"{solver}: {path}", quiet=json) as progress:
                outcome = run(path, load(path, kind), solving, guess, progress, select)
        except InputError as error:
            outcome = Outcome(path, error=str(error))
        if not json and len(files) == 1 and outcome.solution is not None:
            print(outcome.solution)
        outcome = keep(outcome, places.get(path), quiet=json)
        outcome.complain()
        # Problems can be large: many of them are not held in memory for a table.
        outcomes.append(outcome if plot else replace(outcome, solution=None, record=None))
    if json:
        reports = [outcome.report for outcome in outcomes]
        print_json(reports if len(reports) > 1 else reports[0])
    elif len(files) > 1:
        _summary(outcomes)
    if plot is not None:
        draw(outcomes, plot, quiet=json)
    return max(outcome.code for outcome in outcomes)


def run(
    path: Path, record: ProblemRecord, solver: Any, guess: str, progress: Progress | None = None,
    select: str = "any",
) -> Outcome:  # fmt: skip
    """Solve one problem; `InputError` if the solver cannot take it, or cannot be run here."""
    from stickslip.problem.checks import ProblemError
    from stickslip.solvers.programs import MissingPackage

    with refused(MissingPackage), refused(ProblemError, InputError, before=f"{path}: "):
        start = None
        if guess == "stored":
            stored = [answer for answer in (*record.guesses, record.solution) if answer is not None]
            if not stored:
                raise InputError("stores neither a guess nor a solution; use --guess none")
            start = stored[0].r
        solution = solver.solve(record.problem, guess=start, progress=progress)
        if select == "least":
            from stickslip.problem.solution import check_selection
            from stickslip.solvers.impulses import least_impulses

            check_selection(record.problem, select)
            solution = least_impulses(solution)
    return Outcome(path, answer_data(solution, solver), solution, record)


def keep(outcome: Outcome, place: Path | None, quiet: bool) -> Outcome:
    """Write problem and solution to `place`, if there is one and something to write."""
    solution, record = outcome.solution, outcome.record
    if place is None or solution is None or record is None:
        return outcome
    from stickslip.files import ProblemRecord, StoredSolution, write

    stored = StoredSolution(solution.r, solution.u, solution.v, solution.lam)
    try:
        with usable(place):
            write(place, ProblemRecord(record.problem, record.info, stored, record.guesses))
    except InputError as error:
        return replace(outcome, error=str(error))
    if not quiet:
        wrote(place)
    return replace(outcome, place=place)


def draw(outcomes: list[Outcome], plot: Path, quiet: bool) -> None:
    """Draw the convergence of every file that has an answer."""
    named = [(o.path.name, o.solution) for o in outcomes if o.solution is not None]
    if not named:
        return
    from stickslip.view.plots.residuals import plot_residuals

    with usable(plot):
        plot_residuals(named, plot)
    if not quiet:
        wrote(plot)


def _summary(outcomes: list[Outcome]) -> None:
    """A line per file, and how many are solved."""
    columns = ("file", "contacts", "status", "natural", "natural_scaled", "iterations", "time")
    rows = []
    for outcome in outcomes:
        path, data = str(outcome.path), outcome.data
        if data is None:
            rows.append((path, "", "bad input", "", "", "", ""))
            continue
        natural, scaled = (f"{data['residuals'][name]:.3e}" for name in ("natural", "natural_scaled"))
        status, time = data["status"].lower().replace("_", " "), duration(data["seconds"])
        rows.append((path, f"{data['contacts']}", status, natural, scaled, f"{data['iterations']}", time))
    table(columns, rows, numbers=(columns[1], *columns[3:]), folds=("file",))
    solved = sum(outcome.code is ExitCode.FINE for outcome in outcomes)
    print(f"\n{solved} of {len(outcomes)} solved")


def answer_data(solution: Solution, solver: Any) -> dict[str, Any]:
    """A solution and the options that led to it, as JSON holds them."""
    from stickslip.problem.box import BoxProblem
    from stickslip.problem.fingerprint import fingerprint
    from stickslip.problem.nonlinear import NonlinearProblem

    problem = solution.problem
    assert not isinstance(problem, NonlinearProblem)  # no file holds one
    return {
        "fingerprint": fingerprint(problem),
        "contacts": problem.size if isinstance(problem, BoxProblem) else problem.contacts,
        "solver": solution.solver,
        "options": {spec.name: getattr(solver, spec.name) for spec in fields(solver)},
        "status": solution.status.name,
        "ok": solution.ok,
        "reason": solution.reason or solution.status.value,
        "residuals": asdict(solution.residuals),
        "tolerance": solution.tolerance,
        "iterations": int(solution.iterations),
        "tried": [stage._asdict() for stage in solution.tried],
        "operations": float(solution.operations),
        "seconds": float(solution.seconds),
        "compile_seconds": float(solution.compile_seconds),
        "states": solution.states.count(),
        "selection": solution.selection,
        "unique": int(solution.unique.sum()) if solution.selection == "least" else None,
    }
