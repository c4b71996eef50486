"""The report of a campaign: what was found, as a page of text, tables and figures."""

from collections.abc import Sequence

from stickslip.bench.analysis.accuracy import PROPORTIONAL, SEPARATION, Accuracy, accuracy
from stickslip.bench.analysis.costs import TIMES, costs, count
from stickslip.bench.analysis.scaling import CAUTION, FEWEST, WIDTH
from stickslip.bench.reports.figures import (
    accuracy_figure,
    data_profiles_figure,
    family_data_profiles_figure,
    family_profiles_figure,
    histories_figure,
    problem_accuracy_figure,
    profiles_figure,
    scaling_figure,
    telling,
)
from stickslip.bench.reports.losses import (
    claims,
    claims_section,
    loss_sentence,
    losses_sections,
    unsolved_by_all,
    unsolved_section,
)
from stickslip.bench.reports.setting import setting_sections
from stickslip.bench.reports.subject import Subject, listed, solved
from stickslip.bench.reports.tables import all_runs, by_family, collection, exponents, fits, glance, shares
from stickslip.bench.results import Entry, Results
from stickslip.exhibits import Figure, Page, Section, power

FOLDED = 40
"""Rows above which a table of problems begins closed."""


def report(
    results: Results, time: str = "wall", notes: Sequence[str] = (), ours: str | Sequence[str] = "auto"
) -> Page:
    """All that a reader wants to know of a campaign.

    `time`: `wall` or `cpu`; `notes`: sentences that go below the summary; `ours`: the solvers, by name or by
    label, whose losses are told one by one, and if none of them took part the one that solves most.
    """
    subject = Subject.of(results, time, ours)
    title = f"Solvers compared on {count(len(subject.grid.problems), 'problem')}"
    sections = [_collection(results), *setting_sections(results, time)]
    if subject.grid.solvers:
        sections = [*_findings(subject), *sections, _runs(subject)]
    return Page(title, [*summary(subject), *notes], sections)


def summary(subject: Subject) -> list[str]:
    """What a hurried reader reads: what was run, who solves most, who loses where, what is missing."""
    grid = subject.grid
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
    sentences += [_leaders(subject, tolerance) for tolerance in grid.tolerances]
    sentences += [
        f"Losses: {loss_sentence(grid, solver, tolerance).replace('At', 'at', 1)}"
        for solver in subject.ours
        for tolerance in grid.tolerances
    ]
    for tolerance in grid.tolerances:
        if nobody := len(unsolved_by_all(grid, tolerance)):
            sentences.append(f"At {power(tolerance)} nobody solves {count(nobody, 'problem')}.")
    if found := claims(grid):
        who = listed(list(dict.fromkeys(solver for _, solver, _ in found)))
        sentences.append(
            f"In {count(len(found), 'run')} the solver says that it has solved and the judge does not: {who}."
        )
    return [*sentences, _missing(subject)]


def _leaders(subject: Subject, tolerance: float) -> str:
    grid = subject.grid
    numbers = {solver: solved(grid, solver, tolerance) for solver in grid.solvers}
    most = max(numbers.values())
    if not most:
        return f"At {power(tolerance)} nobody solves any problem."
    leaders = [solver for solver in grid.solvers if numbers[solver] == most]
    verb = "solves" if len(leaders) == 1 else "solve"
    text = f"At {power(tolerance)} {listed(leaders)} {verb} most: {most} of {len(grid.problems)} problems"
    found = costs(grid, tolerance)
    fastest = (found.ratios == 1.0).sum(axis=0).tolist()
    if not found.problems or not any(fastest):
        return text + ("." if found.problems else f". {found.statement}")
    first = [solver for solver, number in zip(found.solvers, fastest, strict=True) if number == max(fastest)]
    verb = "is" if len(first) == 1 else "are"
    return f"{text}; {listed(first)} {verb} fastest on most: {max(fastest)} of {len(found.problems)}."


def _missing(subject: Subject) -> str:
    missing = {solver: number for solver, number in subject.missing.items() if number}
    if not missing:
        return "No run is missing."
    who = listed([f"{solver} {number}" for solver, number in missing.items()])
    verb = "was" if sum(missing.values()) == 1 else "were"
    return (
        f"{count(sum(missing.values()), 'run')} {verb} not made ({who}); they are missing, not failed, and"
        f" problems on which some solver was not run are left out of comparisons between solvers."
    )


def _findings(subject: Subject) -> list[Section]:
    tolerances = subject.grid.tolerances
    chosen = telling(subject)
    return [
        Section("At a glance", [], [glance(subject.grid, tolerance) for tolerance in tolerances]),
        *losses_sections(subject),
        unsolved_section(subject),
        claims_section(subject),
        *_profiles(subject),
        Section("By family", [], [by_family(subject, tolerance) for tolerance in tolerances]),
        _accuracy(subject, chosen),
        _histories(subject, chosen),
        *_scaling(subject),
    ]


def _profiles(subject: Subject) -> list[Section]:
    grid = subject.grid
    text = [
        "For each solver the share of the problems that it solves within a factor tau of the best time on"
        " each (Dolan & Moré 2002, Math. Program. 91, 201-213): at tau = 1 how often it is the fastest,"
        " far to the right how much it solves. Who comes second depends on who takes part (Gould & Scott"
        " 2016, ACM Trans. Math. Softw. 43(2), 15).",
        *(
            f"Tolerance {power(tolerance)}: {costs(grid, tolerance).statement}"
            for tolerance in grid.tolerances
        ),
    ]
    if subject.undrawn:
        text.append(
            f"Figures show {len(subject.drawn)} solvers; left out of them: {listed(subject.undrawn)}."
        )
    if subject.peers:
        text.append("In all figures the lines of Siconos's solvers are dashed.")
    figures = [profiles_figure(subject, grid.tolerances)]
    figures += [family_profiles_figure(subject, tolerance) for tolerance in grid.tolerances]
    more = [data_profiles_figure(subject, grid.tolerances)]
    more += [family_data_profiles_figure(subject, tolerance) for tolerance in grid.tolerances]
    tables = [shares(grid, tolerance) for tolerance in grid.tolerances]
    data = [
        "For each solver the share of the problems that it solves within a cost alpha (Moré & Wild 2009,"
        " SIAM J. Optim. 20(1), 172-191), whatever the others need. Their unit of cost, n + 1 function"
        " values, is here the number of contacts: alpha is time per contact; and, beside it, time itself.",
    ]
    return [
        Section("Performance profiles", text, tables, _drawn(figures)),
        Section("Data profiles", data, [], _drawn(more)),
    ]


def _accuracy(subject: Subject, chosen: Sequence[Entry]) -> Section:
    found = accuracy(subject.grid)
    text = [
        f"The error, as the judge measures it, that each solver has reached by a time, over"
        f" {count(len(found.problems), 'problem')}; time is relative to that of the fastest solver to"
        f" {power(subject.grid.tightest)} on the same problem, so that all sizes stand in one figure."
        + _left_out(found),
        PROPORTIONAL,
        "The runs at all tolerances of a problem count together.",
    ]
    figures = [accuracy_figure(subject, found), problem_accuracy_figure(subject, chosen)]
    return Section("Accuracy against time", text, [], _drawn(figures))


def _left_out(found: Accuracy) -> str:
    reasons = {"that nobody solves to this tolerance": found.unsolved, "with missing runs": found.missing}
    parts = [f"{number} {why}" for why, number in reasons.items() if number]
    return f" Left out: {', '.join(parts)}." if parts else ""


def _histories(subject: Subject, chosen: Sequence[Entry]) -> Section:
    text = [SEPARATION] if chosen else ["No run that can be compared has left a history."]
    if chosen:
        text.append(
            "Iterations are counted by each solver its own way, and cost more in one than in another: this"
            " figure shows how errors fall, not who is faster."
        )
    return Section("Convergence histories", text, [], _drawn([histories_figure(subject, chosen)]))


def _scaling(subject: Subject) -> list[Section]:
    grid = subject.grid
    tables = [exponents(grid, tolerance) for tolerance in grid.tolerances]
    figures = [scaling_figure(subject, tolerance) for tolerance in grid.tolerances]
    text = [
        "Time grows as contacts^p: p by least squares in logarithms over the solved problems of a family,"
        f" where there are at least {FEWEST} over a factor of {WIDTH:g} in contacts.",
        CAUTION,
    ]
    details = [fits(grid, tolerance) for tolerance in grid.tolerances]
    return [
        Section("Time against contacts", text, tables, _drawn(figures)),
        Section("Every fit", [], details, folded=True),
    ]


def _collection(results: Results) -> Section:
    copies = len(results.problems) - len({entry.hash for entry in results.problems})
    text = (
        [f"{count(copies, 'problem')} equal to another, number for number, counted once."] if copies else []
    )
    return Section("The collection", text, [collection(results)], folded=len(results.problems) > FOLDED)


def _runs(subject: Subject) -> Section:
    return Section("All runs", [], [all_runs(subject.grid)], folded=True)


def _drawn(figures: Sequence[Figure | None]) -> list[Figure]:
    return [figure for figure in figures if figure is not None]
