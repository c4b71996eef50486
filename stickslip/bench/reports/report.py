"""The report of a campaign: a page of text, tables and figures."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from stickslip.bench.analysis.accuracy import accuracy
from stickslip.bench.analysis.costs import TIMES, costs, count, listed
from stickslip.bench.analysis.scaling import FEWEST, WIDTH
from stickslip.bench.analysis.spread import undecided
from stickslip.bench.reports.figures import (
    accuracy_figure,
    histories_figure,
    problem_accuracy_figure,
    profile_figures,
    scaling_figure,
    telling,
)
from stickslip.bench.reports.losses import (
    claims,
    claims_section,
    loss_sentence,
    losses_section,
    unsolved_by_all,
    unsolved_section,
)
from stickslip.bench.reports.subject import Subject, identity, is_peer, solved
from stickslip.bench.reports.tables import (
    all_runs,
    by_family,
    collection,
    exponents,
    fits,
    glance,
    shares,
    spreads,
)
from stickslip.bench.results import Entry, Results
from stickslip.exhibits import Cell, Figure, Page, Section, Table, power

FOLDED = 40
"""Number of rows above which a table of problems is folded initially."""


def report(
    results: Results, time: str = "wall", notes: Sequence[str] = (), ours: str | Sequence[str] = "auto"
) -> Page:
    """Make the report of a campaign.

    time: `wall` or `cpu`. notes: sentences below the summary. ours: solvers, by name or label, whose losses
    are listed one by one; if none of them took part, the solver that solves most problems.
    """
    grid = Subject(results, time, ours)
    copies = len(results.problems) - len(grid.problems)
    text = f"{count(copies, 'problem')} equal to another, number for number, counted once."
    sections = [
        Section(
            "The collection",
            [text] if copies else [],
            [collection(results)],
            folded=len(results.problems) > FOLDED,
        ),
        _measured(results, time),
        _environment(results),
        _reproduce(results),
        _limits(results),
    ]
    if grid.solvers:
        runs = Section("All runs", [], [all_runs(grid)], folded=True)
        sections = [*_findings(grid), *sections, runs]
    title = f"Solvers compared on {count(len(grid.problems), 'problem')}"
    return Page(title, [*summary(grid), *notes], sections)


def summary(grid: Subject) -> list[str]:
    """Summary in sentences: runs, best solvers, losses, missing runs."""
    results = grid.results
    families = count(len(results.families), "family")
    problems = f"{count(len(grid.problems), 'problem')} of {families}"
    tolerances = listed([power(t) for t in grid.tolerances])
    if not grid.solvers:
        return [f"No run was made yet. To be solved to {tolerances}: {problems}."]
    sentences = [
        f"{count(len(grid.solvers), 'solver')} ({listed(grid.solvers)}) on {problems}, to tolerances of"
        f" {tolerances} on the judge's measures: {count(len(results.runs), 'run')}, each within"
        f" {results.conditions.timeout:g} s, compared by {TIMES[grid.time]}."
    ]
    sentences += [_leaders(grid, tolerance) for tolerance in grid.tolerances]
    sentences += [
        f"Losses: {loss_sentence(grid, solver, tolerance).replace('At', 'at', 1)}"
        for solver in grid.ours
        for tolerance in grid.tolerances
    ]
    for tolerance in grid.tolerances:
        if unsolved := len(unsolved_by_all(grid, tolerance)):
            sentences.append(f"At {power(tolerance)} no solver solves {count(unsolved, 'problem')}.")
    if runs := claims(grid):
        text = listed(list(dict.fromkeys(solver for _, solver, _ in runs)))
        sentences.append(
            f"In {count(len(runs), 'run')} the solver says that it has solved and the judge does not: {text}."
        )
    missing = {solver: number for solver, number in grid.missing_runs.items() if number}
    total, text = sum(missing.values()), listed([f"{solver} {number}" for solver, number in missing.items()])
    missing_text = (
        f"{count(total, 'run')} {'was' if total == 1 else 'were'} not made ({text}); they are missing, not"
        " failed, and problems on which some solver was not run are left out of comparisons between solvers."
    )
    return [*sentences, missing_text if missing else "No run is missing."]


def _leaders(grid: Subject, tolerance: float) -> str:
    numbers = {solver: solved(grid, solver, tolerance) for solver in grid.solvers}
    most = max(numbers.values())
    if not most:
        return f"At {power(tolerance)} no solver solves any problem."
    leaders = [solver for solver in grid.solvers if numbers[solver] == most]
    verb = "solves" if len(leaders) == 1 else "solve"
    text = f"At {power(tolerance)} {listed(leaders)} {verb} most: {most} of {len(grid.problems)} problems"
    table = costs(grid, tolerance)
    fastest = (table.ratios == 1.0).sum(axis=0).tolist()
    if not table.problems or not any(fastest):
        return text + ("." if table.problems else f". {table.statement}")
    first = [solver for solver, number in zip(table.solvers, fastest, strict=True) if number == max(fastest)]
    verb = "is" if len(first) == 1 else "are"
    return f"{text}; {listed(first)} {verb} fastest on most: {max(fastest)} of {len(table.problems)}."


def _findings(grid: Subject) -> list[Section]:
    tolerances = grid.tolerances
    chosen = telling(grid)
    return [
        Section("At a glance", [], [glance(grid, tolerance) for tolerance in tolerances]),
        *(losses_section(grid, solver) for solver in grid.ours),
        unsolved_section(grid),
        claims_section(grid),
        *_profiles(grid),
        Section("By family", [], [by_family(grid, tolerance) for tolerance in tolerances]),
        _spread(grid),
        *_accuracy(grid, chosen),
        *_scaling(grid),
    ]


def _profiles(grid: Subject) -> list[Section]:
    at = [f"Tolerance {power(t)}: {costs(grid, t).statement}" for t in grid.tolerances]
    text = [*_paragraphs("profiles"), *at]
    if grid.undrawn:
        text.append(f"Figures show {len(grid.drawn)} solvers; left out of them: {listed(grid.undrawn)}.")
    if grid.peers:
        text.append("In all figures the lines of Siconos's solvers are dashed.")
    figures, more = profile_figures(grid)
    tables = [shares(grid, tolerance) for tolerance in grid.tolerances]
    return [
        Section("Performance profiles", text, tables, figures),
        Section("Data profiles", _paragraphs("data"), [], more),
    ]


def _spread(grid: Subject) -> Section:
    """Section on the spread of times of repeated calls, and on undecided comparisons."""
    text = _paragraphs("spread")
    for tolerance in grid.tolerances:
        open_, compared = undecided(grid, tolerance)
        if compared:
            text.append(
                f"Tolerance {power(tolerance)}: on {open_} of {count(compared, 'problem')} the times of the"
                " two fastest solvers overlap."
            )
    return Section("Spread of times", text, [spreads(grid, tolerance) for tolerance in grid.tolerances])


def _accuracy(grid: Subject, chosen: Sequence[Entry]) -> list[Section]:
    """Sections on errors over time and over iterations."""
    data = accuracy(grid)
    reasons = {"that no solver solves to this tolerance": data.unsolved, "with missing runs": data.missing}
    out = ", ".join(f"{number} {why}" for why, number in reasons.items() if number)
    problems, tightest = count(len(data.problems), "problem"), power(grid.tightest)
    text = _paragraphs(
        "accuracy", problems=problems, tightest=tightest, out=f" Left out: {out}." if out else ""
    )
    figures = [accuracy_figure(grid, data), problem_accuracy_figure(grid, chosen)]
    text_of_histories = (
        _paragraphs("histories") if chosen else ["No run that can be compared has left a history."]
    )
    return [
        Section("Accuracy against time", text, [], _drawn(figures)),
        Section("Convergence histories", text_of_histories, [], _drawn([histories_figure(grid, chosen)])),
    ]


def _scaling(grid: Subject) -> list[Section]:
    tables = [exponents(grid, tolerance) for tolerance in grid.tolerances]
    figures = [scaling_figure(grid, tolerance) for tolerance in grid.tolerances]
    text = _paragraphs("scaling", fewest=FEWEST, width=WIDTH)
    details = [fits(grid, tolerance) for tolerance in grid.tolerances]
    return [
        Section("Time against contacts", text, tables, _drawn(figures)),
        Section("Every fit", [], details, folded=True),
    ]


def _drawn(figures: Sequence[Figure | None]) -> list[Figure]:
    return [figure for figure in figures if figure is not None]


def _measured(results: Results, time: str) -> Section:
    conditions = results.conditions
    chosen = {"wall": "wall time (--time cpu compares the other)", "cpu": "processor time"}[time]
    rows = [
        ("tolerances", listed([power(t) for t in conditions.tolerances])),
        ("time limit of a run [s]", f"{conditions.timeout:g}"),
        ("memory limit of a run [MiB]", f"{conditions.memory:g}"),
        ("calls timed, at most", str(conditions.best_of)),
        ("runs side by side", str(conditions.workers)),
        ("measure", conditions.measure),
    ]
    table = Table("Conditions", ["condition", "value"], rows)
    return Section("Measurement", _paragraphs("measured", said=conditions, time=chosen), [table])


def _environment(results: Results) -> Section:
    home = results.conditions.environment
    places = list(dict.fromkeys([home, *(run.environment for run in results.runs if run.environment)]))
    tables = []
    for k, place in enumerate(places, 1):
        rows: list[tuple[Cell, ...]] = [
            ("processor", place.processor), ("cores", str(place.cores)),
            ("memory [GiB]", f"{place.memory:g}"), ("system", place.system), ("python", place.python),
            ("stickslip", place.stickslip), ("code of stickslip", place.code),
            *((name, version or "not installed") for name, version in place.packages),
        ]  # fmt: skip
        tables.append(Table(f"Machine and versions{f' {k}' if k > 1 else ''}", ["what", "which"], rows))
    if sources := sorted({(run.solver, run.source) for run in results.runs if run.source}):
        tables.append(Table("Other programs", ["solver", "source"], sources))
    note = f"Runs were made in {len(places)} environments; times of different machines do not compare."
    return Section("Environment", [note] if len(places) > 1 else [], tables)


def _reproduce(results: Results) -> Section:
    recipes, problems = sum(bool(entry.recipe) for entry in results.problems), len(results.problems)
    values = {"identity": identity(results), "recipes": recipes, "problems": problems}
    text = _paragraphs("reproduce", **values, place=results.conditions.environment)
    return Section("How to reproduce", text, code=results.command)


def _limits(results: Results) -> Section:
    text, workers = _paragraphs("limits"), results.conditions.workers
    if any(is_peer(solver) for solver in results.solvers):
        text += _paragraphs("peers")
    if workers > 1:
        text.insert(1, f"{workers} runs were made side by side, and slow each other.")
    return Section("Limits of the figures", text)


def _paragraphs(part: str, **given: Any) -> list[str]:
    """Paragraphs of a part of `report_text.md`, with values filled in."""
    return [paragraph.format(**given) for paragraph in _text()[part]]


@cache
def _text() -> dict[str, list[str]]:
    whole = Path(__file__).with_name("report_text.md").read_text(encoding="utf-8")
    parts = (part.split("\n\n") for part in f"\n{whole}".split("\n# ")[1:])
    return {name: [" ".join(one.split()) for one in paragraphs if one] for name, *paragraphs in parts}
