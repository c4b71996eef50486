"""The report of a campaign: what was found, as a page of text, tables and figures."""

from collections.abc import Sequence

from stickslip.bench.analysis.accuracy import PROPORTIONAL, SEPARATION, Accuracy, accuracy
from stickslip.bench.analysis.costs import TIMES, costs, count
from stickslip.bench.analysis.scaling import CAUTION, FEWEST, WIDTH
from stickslip.bench.environment import Environment
from stickslip.bench.reports.figures import (
    accuracy_figure,
    data_profiles_figure,
    family_figures,
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
    title = f"Solvers compared on {count(len(subject.grid.problems), 'problem')}"
    sections = [_collection(results), *_setting(results, time)]
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
    pairs = [family_figures(subject, tolerance) for tolerance in grid.tolerances]
    figures = [profiles_figure(subject, grid.tolerances), *(one for one, _ in pairs)]
    more = [data_profiles_figure(subject, grid.tolerances), *(other for _, other in pairs)]
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


def _setting(results: Results, time: str) -> list[Section]:
    """How it was measured, where, how to reproduce it, and what the figures do not say."""
    return [_measured(results, time), _environment(results), _reproduce(results), _limits(results)]


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
    others = list(
        dict.fromkeys(run.environment for run in results.runs if run.environment not in (None, own))
    )
    tables = [_environment_table("Machine and versions", own)]
    for k, place in enumerate(others, 2):
        if place is not None:
            tables.append(_environment_table(f"Machine and versions {k}", place))
    text = []
    if others:
        text.append(
            f"Runs were made in {len(others) + 1} environments; times of different machines do not compare."
        )
    sources = sorted({(run.solver, run.source) for run in results.runs if run.source})
    if sources:
        rows = [(solver, source) for solver, source in sources]
        tables.append(Table("What ran beside stickslip", ["solver", "source"], rows))
    return Section("Environment", text, tables)


def _environment_table(title: str, place: Environment) -> Table:
    rows: list[tuple[Cell, ...]] = [
        ("processor", place.processor), ("cores", str(place.cores)), ("memory [GiB]", f"{place.memory:g}"),
        ("system", place.system), ("python", place.python), ("stickslip", place.stickslip),
        ("code of stickslip", place.code),
    ]  # fmt: skip
    rows += [(name, version or "not installed") for name, version in place.packages]
    return Table(title, ["what", "which"], rows)


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
