"""The report of a campaign: what was found, as a page of text, tables and figures."""

from collections.abc import Sequence

from stickslip.bench.analysis.accuracy import PROPORTIONAL, SEPARATION, accuracy
from stickslip.bench.analysis.costs import TIMES, costs, count
from stickslip.bench.analysis.scaling import CAUTION, FEWEST, WIDTH
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
from stickslip.bench.reports.subject import Subject, identity, is_peer, listed, solved
from stickslip.bench.reports.tables import all_runs, by_family, collection, exponents, fits, glance, shares
from stickslip.bench.results import Entry, Results
from stickslip.exhibits import Cell, Figure, Page, Section, Table, power

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
    grid, copies = subject.grid, len(results.problems) - len(subject.grid.problems)
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
        sections = [*_findings(subject), *sections, runs]
    title = f"Solvers compared on {count(len(grid.problems), 'problem')}"
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
    missing = {solver: number for solver, number in subject.missing.items() if number}
    total, who = sum(missing.values()), listed([f"{solver} {number}" for solver, number in missing.items()])
    told = (
        f"{count(total, 'run')} {'was' if total == 1 else 'were'} not made ({who}); they are missing, not"
        " failed, and problems on which some solver was not run are left out of comparisons between solvers."
    )
    return [*sentences, told if missing else "No run is missing."]


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


def _findings(subject: Subject) -> list[Section]:
    tolerances = subject.grid.tolerances
    chosen = telling(subject)
    return [
        Section("At a glance", [], [glance(subject.grid, tolerance) for tolerance in tolerances]),
        *(losses_section(subject, solver) for solver in subject.ours),
        unsolved_section(subject),
        claims_section(subject),
        *_profiles(subject),
        Section("By family", [], [by_family(subject, tolerance) for tolerance in tolerances]),
        *_accuracy(subject, chosen),
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
    figures, more = profile_figures(subject)
    tables = [shares(grid, tolerance) for tolerance in grid.tolerances]
    data = [
        "For each solver the share of the problems that it solves within a cost alpha (Moré & Wild 2009,"
        " SIAM J. Optim. 20(1), 172-191), whatever the others need. Their unit of cost, n + 1 function"
        " values, is here the number of contacts: alpha is time per contact; and, beside it, time itself.",
    ]
    return [
        Section("Performance profiles", text, tables, figures),
        Section("Data profiles", data, [], more),
    ]


def _accuracy(subject: Subject, chosen: Sequence[Entry]) -> list[Section]:
    """Errors against time and against iterations."""
    found = accuracy(subject.grid)
    reasons = {"that nobody solves to this tolerance": found.unsolved, "with missing runs": found.missing}
    out = ", ".join(f"{number} {why}" for why, number in reasons.items() if number)
    text = [
        f"The error, as the judge measures it, that each solver has reached by a time, over"
        f" {count(len(found.problems), 'problem')}; time is relative to that of the fastest solver to"
        f" {power(subject.grid.tightest)} on the same problem, so that all sizes stand in one figure."
        + (f" Left out: {out}." if out else ""),
        PROPORTIONAL,
        "The runs at all tolerances of a problem count together.",
    ]
    told = [
        SEPARATION,
        "Iterations are counted by each solver its own way, and cost more in one than in another: this"
        " figure shows how errors fall, not who is faster.",
    ]
    figures = [accuracy_figure(subject, found), problem_accuracy_figure(subject, chosen)]
    if not chosen:
        told = ["No run that can be compared has left a history."]
    return [
        Section("Accuracy against time", text, [], _drawn(figures)),
        Section("Convergence histories", told, [], _drawn([histories_figure(subject, chosen)])),
    ]


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


def _drawn(figures: Sequence[Figure | None]) -> list[Figure]:
    return [figure for figure in figures if figure is not None]


def _measured(results: Results, time: str) -> Section:
    said = results.conditions
    chosen = {"wall": "wall time (--time cpu compares the other)", "cpu": "processor time"}[time]
    return Section(
        "What is measured",
        [
            f"Success is the judge's word, never the solver's: {said.measure} at most the tolerance, for"
            f" problems with equations of motion equilibrium and joints too, and no contact that still"
            f" closes fast. natural = |r - P_K(r - u_hat)| / max(|u_free|, |r|, |u|); natural_scaled is"
            f" the same with steps rho_i = 1 / mean diag W_ii, which does not depend on units.",
            f"Times are of the whole call, answer and certificate included: the shortest of up to"
            f" {said.best_of} calls in a warm process, compilation apart. Fewer calls are timed where they"
            f" take long. Compared is {chosen}. A run is stopped after {said.timeout:g} s or at"
            f" {said.memory:g} MiB, and then it has not solved.",
            "A run that was not made is missing: it counts for nobody and against nobody. A refusal (a"
            " kind of problem that a solver does not take) counts as not solved in profiles, and is told"
            " apart in tables.",
        ],
        [
            Table(
                "Conditions",
                ["condition", "value"],
                [
                    ("tolerances", listed([power(t) for t in said.tolerances])),
                    ("time limit of a run [s]", f"{said.timeout:g}"),
                    ("memory limit of a run [MiB]", f"{said.memory:g}"),
                    ("calls timed, at most", str(said.best_of)),
                    ("runs side by side", str(said.workers)),
                    ("measure", said.measure),
                ],
            )
        ],
    )


def _environment(results: Results) -> Section:
    own = results.conditions.environment
    places = list(dict.fromkeys([own, *(run.environment for run in results.runs if run.environment)]))
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
        tables.append(Table("What ran beside stickslip", ["solver", "source"], sources))
    told = f"Runs were made in {len(places)} environments; times of different machines do not compare."
    return Section("Environment", [told] if len(places) > 1 else [], tables)


def _reproduce(results: Results) -> Section:
    place = results.conditions.environment
    recipes = sum(bool(entry.recipe) for entry in results.problems)
    text = [
        f"The collection has the identity {identity(results)}: the hash of the hashes of its problems. On the"
        f" same machine the same recipes give the same bytes; on another the last digits of problems made by"
        f" simulation may differ, and then the identity says so. {recipes} of {len(results.problems)}"
        f" problems have a recipe, the others are recorded files.",
        f"With stickslip {place.stickslip} (code {place.code}) and the versions above. The command takes up"
        " where it was interrupted, and runs nothing twice.",
    ]
    return Section("How to reproduce", text, code=results.command)


def _limits(results: Results) -> Section:
    said = results.conditions
    text = [
        "Times are of one machine, and if others work on it they share its caches and memory; differences"
        " of 10 to 20 % mean little. That is why a loss begins at a factor of 1.5.",
        "Solvers are run on one thread; who gains by several is not shown.",
        "The families are those of this collection: they say nothing of problems unlike them, and a family"
        " with many problems weighs more in all figures over all families than one with few.",
        "Solvers run with the options in the table of all runs (with --format csv), mostly their"
        " defaults; who knows a solver well may make it faster.",
        "Solvers that stop by a measure of their own may go further than the tolerance asks, and lose time by"
        " it, or stop short of it, and lose the problem.",
    ]
    if any(is_peer(solver) for solver in results.solvers):
        text.append(
            "Solvers of Siconos are tried in every storage that suits the problem, at tolerances of their own"
            " from loose to tight, and the fastest setting whose answer the judge accepts counts: what the"
            " search took is not in their times, which are of the call of the solver alone, without"
            " reading the problem and without the judge. Both favour them."
        )
    if said.workers > 1:
        text.insert(1, f"{said.workers} runs were made side by side, and slow each other.")
    return Section("What the figures do not say", text)
