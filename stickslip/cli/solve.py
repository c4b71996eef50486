"""`stickslip solve`: solve the problems in files, and certify the solutions."""

from __future__ import annotations

from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from stickslip import DEFAULT_SOLVER
from stickslip.cli.errors import ExitCode, InputError, complain, refused, usable, wrote
from stickslip.cli.parameters import Files, Json, Kind, Own, SolverOptions, Threads
from stickslip.cli.places import PLOTS, check_writable, load, solution_places
from stickslip.cli.progress import Progress, watch
from stickslip.cli.settings import make_own, make_solver
from stickslip.cli.tables import duration, print_json, table

if TYPE_CHECKING:
    from stickslip.files import ProblemRecord
    from stickslip.problem.solution import Solution


def solve(
    files: Files,
    /,
    *,
    solver: str = DEFAULT_SOLVER,
    own: Own = None,
    tolerance: float | None = None,
    option: Annotated[SolverOptions, Parameter(name=["--option", "--solver-option"])] = None,
    guess: Literal["stored", "none"] = "none",
    select: Literal["any", "least"] = "any",
    kind: Kind = None,
    out: Path | None = None,
    plot: Path | None = None,
    threads: Threads = 1,
    json: Json = False,
) -> int:
    """Solve the problems in files, and print the residuals that the judge computes.

    For one file the full certificate is printed, for several a table with one line
    each. The solver auto tries several methods in turn and lists them.

    Exit status 1: a solve missed its tolerance, or met it only for the convex
    relaxation or for pyramids. Exit status 2: a file, an option or a solver could
    not be used.

    With --json, numbers that are not finite are null, and a file that could not be
    used is an object with the keys file and error.

    For example:
      stickslip solve problem.hdf5
      stickslip solve pile.dat --kind global --tolerance 1e-6 --out solved.hdf5
      stickslip solve box.hdf5 --solver nsgs --option max_iterations=100000 --plot box.svg
      stickslip solve box.hdf5 --own mine.py:Mine --option iterations=5000
      stickslip solve box.hdf5 --solver siconos-nsgs
      stickslip solve *.hdf5 --json > answers.json

    Parameters
    ----------
    files
        Problem files, .hdf5 or .dat.
    solver
        Name of the solver; `stickslip solvers` lists them.
    tolerance
        Largest residual (natural, natural_scaled) of a solved problem; 1e-8 by default.
    guess
        Starting point: the first guess in the file (or its solution, if there is no guess), or none.
    select
        Impulses to return where several give the same velocities: any, those that the solver finds, or
        least, those of least norm.
    out
        File (.hdf5) for the problem and its answer, solved or not; a directory for several files.
    plot
        File for a plot of the convergence: .png, .svg, .pdf, .pgf or .csv.
    """
    from stickslip.problem.solution import SolverFailure
    from stickslip.threads import checked_number, use_threads

    with refused(ValueError):
        threads = checked_number(threads)
    if own is None:
        method = make_solver(solver, tolerance, option or [])
    elif solver != DEFAULT_SOLVER:
        raise InputError(f"--own and --solver {solver} exclude each other; give one of them")
    else:
        method = make_own(own, tolerance, option)
        solver = method.label
    places = solution_places(files, out)
    if plot is not None:
        check_writable(plot, PLOTS)
    reports: list[dict[str, Any]] = []
    drawn: list[
        tuple[str, Solution]
    ] = []  # filled only if a plot is requested, because problems can be large
    for path in files:
        report: dict[str, Any] = {"file": str(path)}
        reports.append(report)
        try:
            with watch(f"{solver}: {path}", quiet=json) as progress:
                record = load(path, kind)
                with use_threads(threads):
                    solution = _solved(path, record, method, guess, progress, select)
        except InputError as error:
            report["error"] = str(error)
            complain(str(error))
            continue
        report |= answer_data(solution, method) | {"out": None}
        drawn += [(path.name, solution)] if plot else []
        if not json and len(files) == 1:
            print(solution)
        if path in places:
            try:
                _write(places[path], record, solution)
                report["out"] = str(places[path])
                if not json:
                    wrote(places[path])
            except InputError as error:
                report["error"] = str(error)
        if not solution.ok:
            where = f"; the best iterate is in {report['out']}" if report["out"] else ""
            complain(f"{path}: {SolverFailure(solution)}{where}")
        if "error" in report:
            complain(report["error"])
    if json:
        print_json(reports if len(reports) > 1 else reports[0])
    elif len(files) > 1:
        _summary(reports)
    if plot is not None and drawn:
        from stickslip.view.plots.histories import plot_residuals

        with usable(plot):
            plot_residuals(drawn, plot)
        if not json:
            wrote(plot)
    return max(map(_code, reports))


def _code(report: dict[str, Any]) -> ExitCode:
    """Exit code of the report of one file."""
    if "error" in report:
        return ExitCode.BAD_INPUT
    return ExitCode.FINE if report["ok"] else ExitCode.MISSED


def _solved(
    path: Path, record: ProblemRecord, solver: Any, guess: str, progress: Progress | None, select: str
) -> Solution:
    """Solve one problem; raise an `InputError` if the solver does not accept it or is not available."""
    from stickslip.bench.own_solver import OwnSolverError
    from stickslip.extras import MissingPackage
    from stickslip.problem.checks import ProblemError
    from stickslip.problem.solution import check_selection
    from stickslip.solvers.impulses import least_impulses

    refusals = (ProblemError, InputError, OwnSolverError)
    with refused(MissingPackage), refused(*refusals, before=f"{path}: "):
        guesses = [answer for answer in (*record.guesses, record.solution) if answer is not None]
        if guess == "stored" and not guesses:
            raise InputError("the file contains neither a guess nor a solution; use --guess none")
        initial = guesses[0].r if guess == "stored" else None
        solution: Solution = solver.solve(record.problem, guess=initial, progress=progress)
        if select == "least":
            check_selection(record.problem, select)
            solution = least_impulses(solution)
    return solution


def _write(place: Path, record: ProblemRecord, solution: Solution) -> None:
    """Write a problem and its solution to a file."""
    from stickslip import files

    stored = files.StoredSolution(solution.r, solution.u, solution.v, solution.lam)
    with usable(place):
        files.write(place, replace(record, solution=stored))


def _summary(reports: list[dict[str, Any]]) -> None:
    """Print a table with one line per file, and the number of solved problems."""
    columns = ("file", "contacts", "status", "natural", "natural_scaled", "iterations", "time")
    rows = []
    for report in reports:
        if "status" not in report:
            rows.append((report["file"], "", "bad input", "", "", "", ""))
            continue
        natural, scaled = (f"{report['residuals'][name]:.3e}" for name in ("natural", "natural_scaled"))
        status, time = report["status"].lower().replace("_", " "), duration(report["seconds"])
        numbers = f"{report['contacts']}", status, natural, scaled, f"{report['iterations']}", time
        rows.append((report["file"], *numbers))
    table(columns, rows, numbers=(columns[1], *columns[3:]), folds=("file",))
    solved = sum(_code(report) is ExitCode.FINE for report in reports)
    print(f"\n{solved} of {len(reports)} solved")


def _options(solver: Any) -> dict[str, Any]:
    """All options of a solver; for the user's own solver those that were set, and the place of its class."""
    from stickslip.bench.own_solver import OwnSolver

    if isinstance(solver, OwnSolver):
        own_class = solver.contestant
        return {"own": own_class.place, **dict(own_class.options), "tolerance": solver.tolerance}
    return {spec.name: getattr(solver, spec.name) for spec in fields(solver)}


def answer_data(solution: Solution, solver: Any) -> dict[str, Any]:
    """Convert a solution and the options of its solver to JSON data."""
    from stickslip.problem.box import BoxProblem
    from stickslip.problem.fingerprint import fingerprint
    from stickslip.problem.nonlinear import NonlinearProblem

    problem = solution.problem
    assert not isinstance(problem, NonlinearProblem)  # files contain no nonlinear problems
    return {
        "fingerprint": fingerprint(problem),
        "contacts": problem.size if isinstance(problem, BoxProblem) else problem.contacts,
        "solver": solution.solver,
        "options": _options(solver),
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
