"""Tables of a report: at a glance, per family, exponents, profiles in figures, the collection, all runs."""

import math
from collections.abc import Callable

import numpy as np

from stickslip.bench.analysis.costs import Grid, costs
from stickslip.bench.analysis.profiles import performance_profile
from stickslip.bench.analysis.scaling import scaling
from stickslip.bench.analysis.spread import spread
from stickslip.bench.records import Outcome
from stickslip.bench.reports.subject import TOLERANCE, Subject, claimed, median, number, solved
from stickslip.bench.results import Results
from stickslip.exhibits import Cell, Column, Table, power
from stickslip.problem.checks import Array

TAUS = (1.0, 2.0, 5.0, 10.0, 100.0)
"""Factors at which shares are listed [-]."""


def glance(grid: Grid, tolerance: float) -> Table:
    """Overview of all solvers at one tolerance, sorted by the number of solved problems."""
    compared = costs(grid, tolerance)
    runs = {solver: grid.runs_of(solver, tolerance) for solver in grid.solvers}
    ratio = dict(zip(grid.solvers, compared.ratios.T, strict=True))

    def ended(*outcomes: Outcome) -> Callable[[str], int]:
        return lambda solver: sum(run.outcome in outcomes for run in runs[solver])

    def within(tau: float) -> Callable[[str], float]:
        return lambda solver: int((ratio[solver] <= tau).sum()) if compared.problems else math.nan

    well = ended(Outcome.SOLVED)
    return Table.of(
        f"At a glance: tolerance {power(tolerance)}",
        sorted(grid.solvers, key=lambda solver: (-well(solver), -(ratio[solver] <= 1.0).sum())),
        ("solver", lambda solver: solver),
        ("solved", well),
        ("of", lambda solver: len(runs[solver])),
        ("share [%]", ".1f", lambda s: 100.0 * well(s) / len(runs[s]) if runs[s] else math.nan),
        ("fastest", within(1.0)),
        ("within 2x", within(2.0)),
        ("median ratio", ",.2f", lambda solver: median(ratio[solver][np.isfinite(ratio[solver])])),
        ("timeout", ended(Outcome.TIMEOUT)),
        ("missed", ended(Outcome.MISSED)),
        ("aborted", ended(Outcome.CRASHED, Outcome.MEMORY, Outcome.RAISED)),
        ("refused", ended(Outcome.REFUSED)),
        ("false claims", lambda solver: sum(map(claimed, runs[solver]))),
        ("not run", lambda solver: len(grid.problems) - len(runs[solver])),
        note="The judge decides which of the runs made are solved. Fastest (equals share it), within twice"
        " the best time, and the median ratio to the best time where it solves are of what all have run:"
        f" {compared.statement} Missed: an answer that the judge does not accept. Aborted: crashed, out of"
        " memory, or an exception. False claims: missed, and the solver says that it has solved. Refused:"
        " not a kind of problem that it takes. Runs that were not made are missing, not failed.",
    )


def spreads(grid: Grid, tolerance: float) -> Table:
    """Spread of the times of repeated calls, by solver."""
    results = [spread(grid, solver, tolerance) for solver in grid.solvers]

    def share(of: Array, q: float) -> float:
        return 100.0 * (float(np.quantile(of, q)) - 1.0) if len(of) else math.nan

    return Table.of(
        f"Spread of times: tolerance {power(tolerance)}",
        results,
        ("solver", lambda one: one.solver),
        ("runs", lambda one: len(one.problems)),
        ("calls of a run", ".0f", lambda one: median(one.calls)),
        ("median above shortest [%]", ".1f", lambda one: share(one.medians, 0.5)),
        ("longest above shortest [%]", ".1f", lambda one: share(one.longest, 0.5)),
        ("in nine of ten runs at most [%]", ".1f", lambda one: share(one.longest, 0.9)),
        ("at most [%]", ".1f", lambda one: share(one.longest, 1.0)),
        ("on", lambda one: one.problems[int(one.longest.argmax())] if len(one.problems) else ""),
        note="Of runs that solved and were timed more than once. The first two shares are medians over the"
        " runs; the last names the problem.",
    )


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


def by_family(grid: Subject, tolerance: float) -> Table:
    """Solved problems by family and solver; a gap without runs."""
    rows: list[list[Cell]] = []
    for family in grid.results.families:
        entries = grid.family(family)
        row: list[Cell] = [family, len(entries)]
        for solver in grid.solvers:
            runs = [grid.run(entry, solver, tolerance) for entry in entries]
            records = [run for run in runs if run is not None]
            row.append(sum(run.solved for run in records) if records else None)
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
    """All fits with their standard errors, or the reasons why there is no fit."""
    results = [scaling(grid, f, solver, tolerance) for f in grid.results.families for solver in grid.solvers]
    return Table.of(
        f"Fits: tolerance {power(tolerance)}",
        results,
        ("family", lambda fit: fit.family),
        ("solver", lambda fit: fit.solver),
        ("solved", lambda fit: len(fit.contacts)),
        ("contacts from", lambda fit: int(fit.contacts[0]) if len(fit.contacts) else 0),
        ("to", lambda fit: int(fit.contacts[-1]) if len(fit.contacts) else 0),
        ("exponent", ".2f", lambda fit: number(fit.exponent)),
        ("standard error", ".2f", lambda fit: number(fit.error)),
        ("time of one contact [s]", ".2e", lambda fit: number(fit.factor)),
        ("why there is none", lambda fit: fit.reason),
    )


def collection(results: Results) -> Table:
    """All problems of the collection."""
    estimated = sum(entry.features.estimated for entry in results.problems)
    return Table.of(
        "Problems",
        results.problems,
        ("problem", lambda entry: entry.name),
        ("family", lambda entry: entry.family),
        ("kind", lambda entry: entry.features.kind),
        ("contacts", lambda entry: entry.features.contacts),
        ("dimension", lambda entry: entry.features.dimension),
        ("unknowns", lambda entry: entry.features.size),
        ("rolling", lambda entry: entry.features.rolling),
        ("mass ratio", ".3g", lambda entry: number(entry.features.mass_ratio)),
        ("rank of W", ".0f", lambda entry: number(entry.features.rank)),
        ("conditioning of W", ".2e", lambda entry: number(entry.features.conditioning)),
        ("hash", lambda entry: entry.hash[:12]),
        ("recipe", lambda entry: entry.recipe),
        note="Dimension: components of a contact, 0 where they differ. The hash is of the numbers of the"
        " problem, its first twelve digits; the recipe is the command that makes it anew, empty for"
        " recorded files. A dash is a figure that was not computed; rank and conditioning are estimates"
        f" for {estimated or 'none'} of the problems.",
    )


def all_runs(grid: Grid) -> Table:
    """All runs, for reading."""
    names = {entry.hash: entry.name for entry in reversed(grid.results.problems)}
    return Table.of(
        "All runs",
        grid.results.runs,
        ("problem", lambda run: names.get(run.problem, run.problem[:12])),
        ("solver", grid.name),
        (TOLERANCE.name, TOLERANCE.form, lambda run: run.tolerance),
        ("outcome", lambda run: run.outcome.value),
        ("error", ".2e", lambda run: run.error),
        ("iterations", lambda run: run.iterations),
        ("wall [s]", ".3g", lambda run: run.seconds),
        ("longest [s]", ".3g", lambda run: run.longest_seconds),
        ("processor [s]", ".3g", lambda run: run.cpu_seconds),
        ("compiling [s]", ".3g", lambda run: run.compile_seconds),
        ("memory [MiB]", ".1f", lambda run: run.memory),
        ("it says", lambda run: run.status),
        ("why", lambda run: run.reason),
        note="" if grid.results.runs else "No run was made.",
    )
