"""Tables of a report: at a glance, per family, exponents, profiles in figures, the collection, all runs."""

import math

import numpy as np

from stickslip.bench.analysis.costs import Costs, Grid, costs
from stickslip.bench.analysis.profiles import performance_profile
from stickslip.bench.analysis.scaling import scaling
from stickslip.bench.records import Outcome
from stickslip.bench.reports.subject import TOLERANCE, Subject, claimed, median, number, solved
from stickslip.bench.results import Results
from stickslip.exhibits import Cell, Column, Table, power

TAUS = (1.0, 2.0, 5.0, 10.0, 100.0)
"""Factors at which shares are written down [-]."""

BROKE = (Outcome.CRASHED, Outcome.MEMORY, Outcome.RAISED)
"""Outcomes of runs that ended without an answer, other than at the time limit."""


def glance(grid: Grid, tolerance: float) -> Table:
    """How every solver did at one tolerance, the one that solves most first."""
    compared = costs(grid, tolerance)
    rows = [_glance_row(grid, compared, k) for k in range(len(grid.solvers))]
    rows.sort(key=lambda row: (-_int(row[1]), -_int(row[4])))
    columns: list[Column | str] = [
        "solver", "solved", "of", Column("share [%]", ".1f"), "fastest", "within 2x",
        Column("median ratio", ",.2f"), "timeout", "missed", "broke off", "refused", "false claims",
        "not run",
    ]  # fmt: skip
    note = (
        "Solved is by the judge, of the runs made. Fastest (equals share it), within twice the best time, and"
        " the median ratio to the best time where it solves are of what all have run:"
        f" {compared.statement} Missed: an answer that the judge does not accept. Broke off: crashed, out of"
        " memory, or an exception. False claims: missed, and the solver says that it has solved. Refused:"
        " not a kind of problem that it takes. Not run is missing, not failed."
    )
    return Table(f"At a glance: tolerance {power(tolerance)}", columns, rows, note)


def _glance_row(grid: Grid, compared: Costs, k: int) -> list[Cell]:
    solver = grid.solvers[k]
    runs = grid.runs_of(solver, compared.tolerance)
    outcomes = [run.outcome for run in runs]
    ratio = compared.ratios[:, k]
    well = outcomes.count(Outcome.SOLVED)
    fastest, near = (int((ratio <= tau).sum()) if len(ratio) else math.nan for tau in (1.0, 2.0))
    return [
        solver, well, len(runs), 100.0 * well / len(runs) if runs else math.nan, fastest, near,
        median(ratio[np.isfinite(ratio)]), outcomes.count(Outcome.TIMEOUT),
        outcomes.count(Outcome.MISSED), sum(map(outcomes.count, BROKE)), outcomes.count(Outcome.REFUSED),
        sum(map(claimed, runs)), len(grid.problems) - len(runs),
    ]  # fmt: skip


def shares(grid: Grid, tolerance: float) -> Table:
    """Values of the performance profile at some factors."""
    compared = costs(grid, tolerance)
    rows: list[list[Cell]] = []
    if compared.problems:
        profile = performance_profile(compared.seconds)
        values = 100.0 * np.stack([profile.at(tau) for tau in (*TAUS, np.inf)])
        rows = [[solver, *row] for solver, row in zip(compared.solvers, values.T.tolist(), strict=True)]
    columns: list[Column | str] = [
        "solver",
        *(Column(f"tau = {tau:g} [%]", ".1f") for tau in TAUS),
        Column("in the end [%]", ".1f"),
    ]
    title = f"Share of problems solved within tau times the best time: tolerance {power(tolerance)}"
    return Table(title, columns, rows, compared.statement)


def by_family(subject: Subject, tolerance: float) -> Table:
    """Problems solved, by family and solver; a gap where nothing was run."""
    grid = subject.grid
    rows: list[list[Cell]] = []
    for family in grid.results.families:
        entries = grid.family(family)
        row: list[Cell] = [family, len(entries)]
        for solver in grid.solvers:
            runs = [grid.run(entry, solver, tolerance) for entry in entries]
            made = [run for run in runs if run is not None]
            row.append(sum(run.solved for run in made) if made else None)
        rows.append(row)
    total: list[Cell] = ["all", len(grid.problems), *(solved(grid, s, tolerance) for s in grid.solvers)]
    note = "Of the runs made; how many are missing is in the tables at a glance."
    return Table(
        f"Problems solved by family: tolerance {power(tolerance)}",
        ["family", "problems", *grid.solvers], [*rows, total] if rows else [], note,
    )  # fmt: skip


def exponents(grid: Grid, tolerance: float) -> Table:
    """Exponents of time against contacts, by family and solver."""
    rows: list[list[Cell]] = []
    for family in grid.results.families:
        fits = [scaling(grid, family, solver, tolerance).exponent for solver in grid.solvers]
        if any(exponent is not None for exponent in fits):
            rows.append([family, *map(number, fits)])
    columns: list[Column | str] = ["family", *(Column(solver, ".2f") for solver in grid.solvers)]
    note = (
        "Families and solvers with too little solved for a fit are left out, or a dash; the next section says"
        " why."
    )
    return Table(f"Exponent p of time ~ contacts^p: tolerance {power(tolerance)}", columns, rows, note)


def fits(grid: Grid, tolerance: float) -> Table:
    """Every fit with its standard error, or why there is none."""
    rows: list[list[Cell]] = []
    for family in grid.results.families:
        for solver in grid.solvers:
            fit = scaling(grid, family, solver, tolerance)
            few, most = (int(fit.contacts[0]), int(fit.contacts[-1])) if len(fit.contacts) else (0, 0)
            rows.append(
                [family, solver, len(fit.contacts), few, most, number(fit.exponent), number(fit.error),
                 number(fit.factor), fit.reason]
            )  # fmt: skip
    columns: list[Column | str] = [
        "family", "solver", "solved", "contacts from", "to", Column("exponent", ".2f"),
        Column("standard error", ".2f"), Column("time of one contact [s]", ".2e"), "why there is none",
    ]  # fmt: skip
    return Table(f"Fits: tolerance {power(tolerance)}", columns, rows)


def collection(results: Results) -> Table:
    """Every problem of the collection."""
    rows = []
    for entry in results.problems:
        f = entry.features
        rows.append(
            (entry.name, entry.family, f.kind, f.contacts, f.dimension, f.size, f.rolling,
             number(f.mass_ratio), number(f.rank), number(f.conditioning), entry.hash[:12], entry.recipe)
        )  # fmt: skip
    columns: list[Column | str] = [
        "problem", "family", "kind", "contacts", "dimension", "unknowns", "rolling",
        Column("mass ratio", ".3g"), Column("rank of W", ".0f"), Column("conditioning of W", ".2e"),
        "hash", "recipe",
    ]  # fmt: skip
    estimated = sum(entry.features.estimated for entry in results.problems)
    note = (
        "Dimension: components of a contact, 0 where they differ. The hash is of the numbers of the"
        " problem, its first twelve digits; the recipe is the command that makes it anew, empty for"
        f" recorded files. A dash is a figure that was not computed; rank and conditioning are estimates"
        f" for {estimated or 'none'} of the problems."
    )
    return Table("Problems", columns, rows, note)


def all_runs(grid: Grid) -> Table:
    """Every run, for reading."""
    names = {entry.hash: entry for entry in reversed(grid.results.problems)}
    rows = []
    for run in grid.results.runs:
        entry = names.get(run.problem)
        rows.append(
            (run.problem[:12] if entry is None else entry.name, grid.name(run), run.tolerance,
             run.outcome.value, run.error, run.iterations, run.seconds, run.cpu_seconds,
             run.compile_seconds, run.memory, run.status, run.reason)
        )  # fmt: skip
    columns: list[Column | str] = [
        "problem", "solver", TOLERANCE, "outcome", Column("error", ".2e"), "iterations",
        Column("wall [s]", ".3g"), Column("processor [s]", ".3g"), Column("compiling [s]", ".3g"),
        Column("memory [MiB]", ".1f"), "it says", "why",
    ]  # fmt: skip
    return Table("All runs", columns, rows, "" if rows else "No run was made.")


def _int(cell: Cell) -> int:
    return cell if isinstance(cell, int) else 0
