"""Losses of a solver: unsolved problems, and problems on which others are faster; false claims of solvers."""

import math
from dataclasses import dataclass

from stickslip.bench.analysis.costs import Grid, count, listed
from stickslip.bench.records import RunRecord
from stickslip.bench.reports.subject import TOLERANCE, Subject, claimed, is_peer, takes_some
from stickslip.bench.results import Entry
from stickslip.exhibits import Column, Section, Table, power

FACTOR = 1.5
"""Ratio of times above which a solved problem counts as a loss [-]; heuristic."""

SECONDS = ".3g"
"""Format of times."""


@dataclass(frozen=True, eq=False)
class Loss:
    """A problem that one solver does not solve, or that another solves faster."""

    entry: Entry
    tolerance: float
    """Tolerance of the judge's residuals [-]."""
    run: RunRecord
    """Run of the losing solver."""
    winner: str
    """Fastest other solver that solves the problem; empty if none does."""
    seconds: float
    """Time of the winner [s], NaN if there is none."""
    ratio: float
    """Time of the solver over that of the winner [-]; infinite if it does not solve the problem."""
    solvers: int
    """Number of other solvers that solve the problem."""


def losses(
    grid: Grid, solver: str, tolerance: float, factor: float = FACTOR
) -> tuple[list[Loss], list[Loss]]:
    """Problems that a solver does not solve, and those that another solves more than `factor` times faster.

    The former are sorted by the number of others that solve them, the latter by the ratio of times, the worst
    first.
    """
    unsolved, slower = [], []
    for entry in grid.problems:
        runs = grid.made(entry, tolerance)
        run = runs.pop(solver, None)
        if run is None:
            continue
        times = {other: grid.cost(its) for other, its in runs.items() if its.solved}
        timed = {other: t for other, t in times.items() if not math.isnan(t)}
        winner = min(timed, key=lambda other: timed[other]) if timed else ""
        seconds, cost = timed.get(winner, math.nan), grid.cost(run)
        ratio = cost / seconds if seconds else math.inf if cost else 1.0
        loss = Loss(entry, tolerance, run, winner, seconds, ratio, len(times))
        if not run.solved:
            unsolved.append(loss)
        elif ratio > factor:
            slower.append(loss)
    unsolved.sort(key=lambda loss: -loss.solvers)
    slower.sort(key=lambda loss: -loss.ratio)
    return unsolved, slower


def unsolved_by_all(grid: Grid, tolerance: float) -> list[tuple[Entry, dict[str, RunRecord]]]:
    """Problems with runs that no solver solves, with their runs."""
    pairs = ((entry, grid.made(entry, tolerance)) for entry in grid.problems)
    return [(entry, runs) for entry, runs in pairs if runs and not any(run.solved for run in runs.values())]


def claims(grid: Grid) -> list[tuple[Entry, str, RunRecord]]:
    """Runs whose solver claims success but the judge does not confirm it."""
    return [
        (entry, solver, run)
        for entry in grid.problems
        for tolerance in grid.tolerances
        for solver, run in grid.made(entry, tolerance).items()
        if claimed(run)
    ]


def loss_sentence(grid: Grid, solver: str, tolerance: float) -> str:
    """Summary of the losses of one solver at one tolerance."""
    unsolved, slower = losses(grid, solver, tolerance)
    runs = grid.runs_of(solver, tolerance)
    if not runs:
        return f"At {power(tolerance)} {solver} was not run."
    well = len(runs) - len(unsolved)
    others = sum(loss.solvers > 0 for loss in unsolved)
    text = f"At {power(tolerance)} {solver}"
    if unsolved:
        text += f" does not solve {len(unsolved)} of {count(len(runs), 'problem')}, of which others solve"
        text += f" {others or 'none'}"
    else:
        text += f" solves all {count(len(runs), 'problem')} that it was run on"
    if well:
        text += f"; on {len(slower) or 'none'} of the {well} that it solves another is more than"
        text += f" {FACTOR:g} times faster"
    if slower:
        worst = slower[0]
        times = f"{worst.ratio:,.0f}" if worst.ratio >= 100.0 else f"{worst.ratio:.3g}"
        text += f", at worst {times} times ({_who(worst.winner)} on {worst.entry.name})"
    return text + "."


def peer_sentence(grid: Subject, solver: str, tolerance: float) -> str:
    """Comparison of a solver with the best of the solvers of Siconos; empty if there are none."""
    peers = [peer for peer in grid.peers if peer != solver and takes_some(grid, peer)]
    both = faster = much = ahead = behind = 0
    for entry in grid.problems:
        runs = grid.made(entry, tolerance)
        times = [grid.cost(runs[peer]) for peer in peers if peer in runs]
        cost, best = grid.cost(runs.get(solver)), min((t for t in times if t == t), default=math.nan)
        if math.isnan(cost) or math.isnan(best):
            continue
        if math.isinf(cost) or math.isinf(best):
            ahead += cost < best
            behind += best < cost
        else:
            both += 1
            faster += best < cost
            much += cost > FACTOR * best
    if not both + ahead + behind:
        return ""
    return (
        f"Against the fastest solver of Siconos on each problem ({listed(peers)}), at {power(tolerance)}: of"
        f" {count(both, 'problem')} that both solve the peer is faster on {faster}, by more than"
        f" {FACTOR:g} times on {much}; {behind} only the peer solves, {ahead} only {solver}."
    )


def losses_section(grid: Subject, solver: str) -> Section:
    """The losses of one solver, at all tolerances."""
    text, unsolved, slower = [], [], []
    for tolerance in grid.tolerances:
        here = losses(grid, solver, tolerance)
        unsolved += here[0]
        slower += here[1]
        text += [loss_sentence(grid, solver, tolerance), peer_sentence(grid, solver, tolerance)]
    unsolved.sort(key=lambda loss: (-loss.solvers, grid.tolerances.index(loss.tolerance)))
    slower.sort(key=lambda loss: -loss.ratio)
    if any(peer != solver for peer in grid.peers):
        text.append(
            "Times of Siconos are of the call of its solver alone, all others of the whole call with its"
            " certificate; that weighs most where problems are small."
        )
    if missing := grid.missing_runs[solver]:
        text.append(
            f"Not made: {count(missing, 'run')} of {solver}; what was not run is missing here, not lost."
        )
    at = (TOLERANCE.name, TOLERANCE.form, lambda one: one.tolerance)
    return Section(
        f"Losses of {solver}",
        [sentence for sentence in text if sentence],
        [
            Table.of(
                f"Not solved by {solver}",
                unsolved,
                ("problem", lambda one: one.entry.name),
                at,
                ("outcome", lambda one: one.run.outcome.value),
                ("error", ".2e", lambda one: one.run.error),
                ("others solve it", lambda one: one.solvers),
                # A dash: its time is missing.
                ("fastest of them", lambda one: _who(one.winner) or ("–" if one.solvers else "none")),
                ("its time [s]", SECONDS, lambda one: one.seconds),
                ("contacts", lambda one: one.entry.features.contacts),
                ("family", lambda one: one.entry.family),
                ("why", lambda one: one.run.reason or one.run.status),
                note="Sorted by the number of other solvers that solve the problem." if unsolved else "None.",
            ),
            Table.of(
                f"Solved by {solver}, and by another more than {FACTOR:g} times faster",
                slower,
                ("problem", lambda one: one.entry.name),
                at,
                ("ratio", ",.2f", lambda one: one.ratio),
                ("fastest", lambda one: one.winner),
                ("of Siconos", lambda one: is_peer(one.winner)),
                ("its time [s]", SECONDS, lambda one: one.seconds),
                (f"time of {solver} [s]", SECONDS, lambda one: grid.seconds(one.run)),
                ("contacts", lambda one: one.entry.features.contacts),
                ("family", lambda one: one.entry.family),
                note="Sorted by ratio." if slower else "None.",
            ),
        ],
    )


def unsolved_section(grid: Subject) -> Section:
    """Problems that no solver solves, with the best answers."""
    rows = []
    for tolerance in grid.tolerances:
        for entry, runs in unsolved_by_all(grid, tolerance):
            answers = {solver: run.error for solver, run in runs.items() if math.isfinite(run.error)}
            best = min(answers, key=lambda solver: answers[solver]) if answers else "–"
            error = answers.get(best, math.nan)
            rows.append(
                (entry.name, entry.family, entry.features.contacts, tolerance, len(runs), best, error)
            )
    columns: list[Column | str] = [
        "problem", "family", "contacts", TOLERANCE, "tried by", "nearest", Column("its error", ".2e"),
    ]  # fmt: skip
    text = [] if rows else ["Each problem that was run is solved by at least one solver."]
    tables = [Table("Problems that no solver solves", columns, rows)] if rows else []
    return Section("Unsolved problems", text, tables)


def claims_section(grid: Subject) -> Section:
    """Section on runs whose solver claims success but the judge does not confirm it."""
    triples = claims(grid)
    rows = [
        (solver, is_peer(solver), entry.name, entry.features.contacts, run.tolerance, run.status,
         run.natural, run.natural_scaled, run.error, run.reason)
        for entry, solver, run in triples
    ]  # fmt: skip
    columns: list[Column | str] = [
        "solver", "of Siconos", "problem", "contacts", TOLERANCE, "it says", Column("natural", ".2e"),
        Column("natural_scaled", ".2e"), Column("error", ".2e"), "why not",
    ]  # fmt: skip
    text = [
        "What a solver says of itself counts for nothing here; these runs said that they had solved, and"
        " the judge finds their answers outside the tolerance. Solvers stop by measures of their own, so a"
        " claim may be true by those."
    ]
    tables = [Table("Claims that the judge does not confirm", columns, rows)] if rows else []
    return Section(
        "False claims of solvers", text if rows else ["The judge confirms every claim of a solver."], tables
    )


def _who(solver: str) -> str:
    return f"{solver} (Siconos)" if is_peer(solver) else solver
