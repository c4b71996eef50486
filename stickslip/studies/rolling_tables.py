"""Tables of the rolling study with the printed numbers of the report, and figures, numbered as there."""

from collections.abc import Sequence

import numpy as np

from stickslip.bench.analysis.profiles import performance_profile
from stickslip.exhibits import Cell, Column, Curve, Figure, Panel, Table
from stickslip.problem.checks import Array
from stickslip.solvers.cone_point import ALGORITHMS
from stickslip.studies.rolling_runs import ERRORS, MEASURES, TOLERANCES, Run

PRINTED = {
    "simple": (8358, 8.086672),
    "mehrotra": (3808, 5.853297),
    "nt-qp": (4801, 8.902764),
    "nt-f": (4795, 7.034623),
}
"""Table 2.2 of the report: total iterations over its 201 problems, average time [s]."""

Runs = dict[str, list[Run]]
"""Runs on all problems by algorithm, in the same order."""
ERROR_NAMES = ("comp 1", "comp 2", "pinfeas", "dinfeas")
"""Columns of errors, in the report's order."""
WIDEST = 16.0
"""Largest factor tau that the profiles show."""


def problems_table(runs: Sequence[Run]) -> Table:
    """Return the table of problems by family."""
    families = {name: [run.contacts for run in runs if run.case.family == name] for name in ("pile", "chute")}
    families["all"] = [run.contacts for run in runs]
    return Table.of(
        "Problems",
        [(name, contacts) for name, contacts in families.items() if contacts],
        ("family", lambda family, contacts: family),
        ("problems", lambda family, contacts: len(contacts)),
        ("fewest contacts", lambda family, contacts: min(contacts)),
        ("median contacts", lambda family, contacts: int(np.median(contacts))),
        ("most contacts", lambda family, contacts: max(contacts)),
        note="the report has 201 problems without further description",
    )


def operators_table(by_point: Run, by_f: Run) -> Table:
    """Return table 2.1: errors with the scaling written with Q_p and with F, in first and last iterations."""
    last = min(by_point.iterations, by_f.iterations)
    rows: list[tuple[Cell, ...]] = []
    for k in (*range(min(5, last + 1)), *range(max(5, last - 4), last + 1)):
        a, b = _errors(by_point, k), _errors(by_f, k)
        differences = (abs(x - y) / max(abs(x), abs(y), 1e-300) for x, y in zip(a[:2], b[:2], strict=True))
        rows.append((k, *a, *b, max(differences)))
    names = [f"{w} {e}" for w in ("Q_p", "F") for e in ERROR_NAMES]
    return Table(
        f"Table 2.1: errors with Q_p and with F at n = {by_point.contacts}",
        ["iteration", *(Column(name, ".2e") for name in names), Column("largest difference", ".1e")],
        rows,
        f"time: Q_p {by_point.seconds[-1]:.4g} s, F {by_f.seconds[-1]:.4g} s; report: 17.83 s and 14.45 s."
        " Differences are relative ones of the complementarities.",
    )


def _solved_by_all(runs: Runs, tolerance: float, measure: str) -> Runs:
    """Return the runs on the problems that all algorithms solve."""
    met = [[run.first(tolerance, measure) is not None for run in each] for each in runs.values()]
    common = np.flatnonzero(np.all(met, axis=0)).tolist()
    return {name: [each[k] for k in common] for name, each in runs.items()}


def totals_table(runs: Runs, tolerance: float, measure: str = "own") -> Table:
    """Return table 2.2: iterations and time of the four algorithms on the problems that all of them solve."""
    common = _solved_by_all(runs, tolerance, measure)
    count = {name: sum(run.first(tolerance, measure) or 0 for run in each) for name, each in common.items()}
    solved = {name: sum(run.first(tolerance, measure) is not None for run in runs[name]) for name in runs}
    times = {name: [run.time(tolerance, measure) for run in each] for name, each in common.items()}
    return Table.of(
        f"Table 2.2: the four algorithms at tolerance {tolerance:.0e}, measure: {MEASURES[measure]}",
        runs,
        ("algorithm", lambda name: name),
        ("solved", lambda name: solved[name]),
        ("missed", lambda name: len(runs[name]) - solved[name]),
        ("iterations", lambda name: count[name]),
        ("per problem", ".2f", lambda name: count[name] / max(len(common[name]), 1)),
        ("report: iterations", lambda name: PRINTED[name][0]),
        ("report: per problem", ".2f", lambda name: PRINTED[name][0] / 201.0),
        ("mean time [s]", ".4g", lambda name: np.mean(times[name]) if times[name] else np.nan),
        ("report: mean time [s]", ".4g", lambda name: PRINTED[name][1]),
        note=f"iterations and times over the {len(common['simple'])} problems that all four solve",
    )


def claims_table(runs: Runs, tolerance: float, measure: str = "own") -> Table:
    """Return the ratios of iterations and times behind the conclusions of the report, there and here."""
    common = _solved_by_all(runs, tolerance, measure)
    count = {a: float(sum(run.first(tolerance, measure) or 0 for run in each)) for a, each in common.items()}
    seconds = {a: sum(run.time(tolerance, measure) for run in each) for a, each in common.items()}
    return Table.of(
        f"Conclusions of the report, as ratios over {len(common['simple'])} problems, measure:"
        f" {MEASURES[measure]}",
        [
            (quantity, k, totals, a, b)
            for k, (quantity, totals) in enumerate((("iterations", count), ("time", seconds)))
            for a, b in (("simple", "mehrotra"), ("nt-f", "mehrotra"), ("nt-qp", "nt-f"))
        ],
        ("ratio", lambda quantity, k, totals, a, b: f"{quantity}, {a} / {b}"),
        ("report", ".3f", lambda quantity, k, totals, a, b: PRINTED[a][k] / PRINTED[b][k]),
        ("here", ".3f", lambda quantity, k, totals, a, b: totals[a] / totals[b] if totals[b] else np.nan),
        note="the corrector here has Q_p arw(û)^-1 before the second-order term, which (1.32) of the report"
        " lacks",
    )


def reach_table(runs: Runs) -> Table:
    """Return the table of the number of problems that meet each tolerance, by measure."""
    rows: list[tuple[Cell, ...]] = []
    for measure, named in MEASURES.items():
        for tolerance in TOLERANCES:
            met = [sum(run.first(tolerance, measure) is not None for run in each) for each in runs.values()]
            rows.append((named, tolerance, *met))
    for measure, named in MEASURES.items():
        best = [float(np.median([getattr(run, measure).min() for run in each])) for each in runs.values()]
        rows.append((f"{named}: median of the best", "", *best))
    return Table(
        f"Problems of {len(next(iter(runs.values())))} that meet the tolerances of the profiles",
        ("measure", Column("tolerance", ".0e"), *(Column(a, ".1e") for a in runs)),
        rows,
        "The report's errors are absolute, and the impulses of these problems far below one, so that 1e-17"
        " is no relative accuracy; the judge's errors are relative: double precision ends near 1e-16.",
    )


def jump_table(equal: Runs, separate: Runs, tolerance: float) -> Table:
    """Return the table of equal against separate steps: solved problems and growths of dinfeas."""
    items = []
    for name in separate:
        pairs = list(zip(equal[name], separate[name], strict=True))
        both = [pair for pair in pairs if all(run.first(tolerance) is not None for run in pair)]
        for side, steps in enumerate(("equal", "separate")):
            only = sum(jumped(*(pair if side else pair[::-1]), tolerance) for pair in pairs)
            total = sum(pair[side].first(tolerance) or 0 for pair in both)
            items.append((name, steps, [pair[side].until(tolerance) for pair in pairs], only, total))
    return Table.of(
        f"The jump: equal and separate steps at tolerance {tolerance:.0e}",
        items,
        ("algorithm", lambda name, *_: name),
        ("steps", lambda name, steps, *_: steps),
        ("problems", lambda name, steps, runs, *_: len(runs)),
        ("solved", lambda name, steps, runs, *_: sum(run.first(tolerance) is not None for run in runs)),
        ("failed", lambda name, steps, runs, *_: sum(run.first(tolerance) is None for run in runs)),
        ("solved by the other", lambda name, steps, runs, only, total: only),
        ("iterations", lambda name, steps, runs, only, total: total),
        ("growths of dinfeas", lambda name, steps, runs, *_: sum(run.growths for run in runs)),
        ("problems with a growth", lambda name, steps, runs, *_: sum(run.growths > 0 for run in runs)),
        note="iterations on the problems that both solve; growths exclude rounding",
    )


def jumped(first: Run, second: Run, tolerance: float) -> bool:
    """Return whether the first run meets the tolerance and the second does not."""
    return first.first(tolerance) is not None and second.first(tolerance) is None


def steps_table(run: Run, title: str, most: int = 18) -> Table:
    """Return tables 2.3 and 2.4: the last iterations with separate steps."""
    shown = range(max(0, run.iterations + 1 - most), run.iterations + 1)
    ended = f"; it ended because {run.reason}" if run.reason else ""
    return Table(
        title,
        ["iteration", *(Column(name, ".2e") for name in (*ERROR_NAMES, "alpha_P", "alpha_D"))],
        [(k, *_errors(run, k), *run.alpha[k].tolist()) for k in shown],
        f"time: {run.seconds[-1]:.4g} s{ended}",
    )


def factor_exhibits(timings: Sequence[tuple[int, dict[str, float]]]) -> tuple[Table, Figure]:
    """Return table and figure of LU of the unsymmetric system against symmetric factorisations, on the same
    iterations."""
    kinds = list(timings[0][1]) if timings else []
    n = np.array([float(contacts) for contacts, _ in timings])
    curves = [Curve(kind, n, np.array([t[kind] for _, t in timings])) for kind in kinds]
    panel = Panel("nt-f", "contacts", "time of one iteration [s]", curves, log_x=True, log_y=True)
    table = Table(
        "LU against LDLᵀ: time of one iteration of nt-f",
        ("contacts", *(Column(f"{kind} [s]", ".4g") for kind in kinds), Column("lu / ldl", ".2f")),
        [(m, *t.values(), t["lu"] / t["ldl"] if t["ldl"] else float("nan")) for m, t in timings],
        "the report used LU throughout and expected LDLᵀ to be faster",
    )
    return table, Figure("LU against LDLᵀ", [panel], across=1)


def profile_costs(runs: Runs, tolerance: float, measure: str) -> Array:
    """Return times to the tolerance [s], infinite for failures, shape (problems, algorithms)."""
    return np.array([[run.time(tolerance, measure) for run in runs[a]] for a in runs]).T


def profile_table(runs: Runs) -> Table:
    """Return the table of profiles at the best time, at twice the best time, and at infinite time."""
    rows: list[tuple[Cell, ...]] = []
    for measure, named in MEASURES.items():
        for tolerance in TOLERANCES:
            profile = performance_profile(profile_costs(runs, tolerance, measure))
            for tau, label in ((1.0, "best"), (2.0, "within twice the best"), (np.inf, "solved")):
                rows.append((named, tolerance, label, *profile.at(tau).tolist()))
    columns: list[Column | str] = ["measure", Column("tolerance", ".0e"), "share of problems"]
    columns += [Column(a, ".3f") for a in ALGORITHMS]
    return Table("Figures 2.5 to 2.8: performance profiles by time", columns, rows)


def _errors(run: Run, k: int) -> list[float]:
    """Return comp 1, comp 2, pinfeas, dinfeas of iterate k, in the report's order."""
    return run.errors[k, [2, 3, 0, 1]].tolist()


def errors_figure(title: str, runs: Sequence[Run], tolerance: float) -> Figure:
    """Return figures 2.1 to 2.4: the four errors over the iterations, a panel for each run."""
    panels = []
    for run in runs:
        x, name = np.arange(run.iterations + 1.0), f"n = {run.contacts}, {run.algorithm}"
        curves = [Curve(error, x, run.errors[:, k]) for k, error in enumerate(ERRORS)]
        panels.append(Panel(name, "iteration", "error", curves, log_y=True, level=tolerance))
    return Figure(title, panels)


def jump_figure(title: str, pairs: Sequence[tuple[Run, Run]]) -> Figure:
    """Return figures 2.9 to 2.11: dinfeas with equal and with separate steps."""
    panels = []
    for pair in pairs:
        curves = [
            Curve(f"dinfeas, {run.steps} steps", np.arange(run.iterations + 1.0), run.errors[:, 1])
            for run in pair
        ]
        name = f"n = {pair[0].contacts}, {pair[0].algorithm}"
        panels.append(Panel(name, "iteration", "dinfeas", curves, log_y=True))
    return Figure(title, panels)


def lengths_figure(title: str, runs: Sequence[Run]) -> Figure:
    """Return the figure of step lengths over the iterations."""
    panels = []
    for run in runs:
        x = np.arange(1.0, run.iterations + 1.0)
        curves = [Curve(name, x, run.alpha[1:, k]) for k, name in enumerate(("alpha_P", "alpha_D"))]
        name = f"n = {run.contacts}, {run.algorithm}, {run.steps}"
        panels.append(Panel(name, "iteration", "step length", curves))
    return Figure(title, panels)


def profiles_figure(runs: Runs, measure: str) -> Figure:
    """Return figures 2.5 to 2.8: the profiles at the four tolerances, for one measure."""
    panels = []
    for tolerance in TOLERANCES:
        profile = performance_profile(profile_costs(runs, tolerance, measure))
        shown = profile.places <= WIDEST
        taus = np.append(profile.places[shown], WIDEST)
        curves = [
            Curve(name, taus, np.append(share[shown], share[shown][-1]))
            for name, share in zip(runs, profile.shares, strict=True)
        ]
        labels = f"tolerance {tolerance:.0e}", "factor of the best time", "share of problems"
        panels.append(Panel(*labels, curves, log_x=True, steps=True, y_range=(0.0, 1.03)))
    return Figure(f"Performance profiles by time, measure: {MEASURES[measure]}", panels)


def times_figure(runs: Runs, tolerance: float) -> Figure:
    """Return the figure of times and iterations over the number of contacts."""
    time, count = [], []
    for name, each in runs.items():
        met = [run for run in each if run.first(tolerance) is not None]
        n = np.array([float(run.contacts) for run in met])
        time.append(Curve(name, n, np.array([run.time(tolerance) for run in met]), "o"))
        count.append(Curve(name, n, np.array([float(run.first(tolerance) or 0) for run in met]), "o"))
    return Figure(
        f"The four algorithms to {tolerance:.0e} by the report's measure",
        [
            Panel("time", "contacts", "time [s]", time, log_x=True, log_y=True),
            Panel("iterations", "contacts", "iterations", count, log_x=True),
        ],
    )
