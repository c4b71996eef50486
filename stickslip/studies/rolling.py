"""Rolling friction by interior point: chapter 2 of the report of H. M. Nguyen (2021), on piles and chutes.

Four algorithms for the convex relaxation of contact with rolling friction: the simple interior-point
method, Mehrotra's predictor-corrector method, and the latter with Nesterov-Todd scaling, written with Q_p or
with F. Every algorithm runs once on every problem until it makes no progress; iterations and times to a
tolerance are read from its iterates.
"""

from collections.abc import Sequence
from typing import Any

from threadpoolctl import threadpool_limits

from stickslip.exhibits import Figure, Table
from stickslip.solvers.cone_point import ALGORITHMS
from stickslip.studies import rolling_tables as tables
from stickslip.studies.rolling_runs import (
    FRICTIONS,
    MEASURES,
    NOT_LARGE,
    REPEATS,
    SHOWN,
    TOLERANCES,
    Case,
    Run,
    cases,
    record,
    warm_up,
)
from stickslip.studies.rolling_tables import Runs, jumped
from stickslip.studies.study import Parts, Progress, Study

NAME = "rolling"
SUMMARY = "rolling friction by interior point: four algorithms on piles and chutes of spheres"

TOLERANCE = TOLERANCES[0]
"""Tolerance of the report except in its profiles [-]."""
STEPPED = ("mehrotra", "nt-f")
"""Algorithms that also run with separate steps on all problems of at most NOT_LARGE contacts."""
FACTORS = ("lu", "ldl", "cholesky")
"""Factorisations whose times are compared."""
COARSE = 1e-6
"""Error, with the gap, down to which iterations of factorisations are timed [-]; heuristic."""


def run(quick: bool = False, progress: Progress | None = None) -> Study:
    """Run all algorithms on all problems; `quick` takes a dozen small ones.

    Times are processor times on one thread, almost independent of the load of the machine.
    """
    with threadpool_limits(limits=1):
        return _study(quick, progress)


def _study(quick: bool, progress: Progress | None) -> Study:
    """Return the study, on the threads that are allowed."""
    # 1. All problems with equal steps.
    chosen = cases(quick)
    shown = {n: chosen.index(case) for n, case in SHOWN.items()}
    repeats = 1 if quick else REPEATS
    warm_up()
    equal = _all(chosen, ALGORITHMS, "equal", repeats, progress)
    # 2. Smaller problems with separate steps, and their runs with equal steps.
    small = [k for k, first in enumerate(equal["simple"]) if first.contacts <= NOT_LARGE]
    separate = _all([chosen[k] for k in small], STEPPED, "separate", repeats, progress)
    equal_small = {a: [equal[a][k] for k in small] for a in STEPPED}
    # 3. The problems of figures with separate steps, by all algorithms.
    separate_shown = {
        (n, a): separate[a][small.index(k)]
        if a in STEPPED
        else record(chosen[k], a, steps="separate", repeats=1)
        for n, k in shown.items()
        for a in ALGORITHMS
    }
    timings = _factor_times(chosen, repeats, progress)
    return Study(
        NAME,
        *_exhibits(equal, equal_small, separate, separate_shown, timings, shown),
        {"runs": [_summary(each) for group in (equal, separate) for runs in group.values() for each in runs]},
    )


def _all(
    chosen: Sequence[Case], algorithms: Sequence[str], steps: str, repeats: int, progress: Progress | None
) -> Runs:
    """Return the runs of the algorithms on the chosen problems."""
    runs: Runs = {a: [] for a in algorithms}
    report = Parts(progress, len(chosen))
    for case in chosen:
        report(f"{steps} steps, {case.name}")
        problem = case.problem()
        for algorithm in algorithms:
            runs[algorithm].append(record(case, algorithm, steps=steps, problem=problem, repeats=repeats))
    return runs


def _factor_times(
    chosen: Sequence[Case], repeats: int, progress: Progress | None
) -> list[tuple[int, dict[str, float]]]:
    """Return contacts and times of one iteration of nt-f with each factorisation, on piles at rest [s].

    Times are means over the iterations to the tolerance `COARSE`, without preparation.
    """
    timed = [case for case in chosen if case.family == "pile" and case.friction is FRICTIONS[0]]
    rows, report = [], Parts(progress, len(timed))
    for case in timed:
        report(f"factorisations, {case.name}")
        problem = case.problem()
        runs = {f: record(case, "nt-f", factor=f, problem=problem, repeats=repeats) for f in FACTORS}
        times = {f: each.per_iteration(COARSE) for f, each in runs.items()}
        rows.append((problem.contacts, times))
    return sorted(rows, key=lambda pair: pair[0])


def _exhibits(
    equal: Runs, equal_small: Runs, separate: Runs, separate_shown: dict[tuple[int, str], Run],
    timings: list[tuple[int, dict[str, float]]], shown: dict[int, int],
) -> tuple[list[Table], dict[str, Figure]]:  # fmt: skip
    """Return all tables and figures."""
    factors, factors_figure = tables.factor_exhibits(timings)
    last = {n: separate_shown[n, "mehrotra"].until(TOLERANCE) for n in shown}
    all_tables = [
        tables.problems_table(equal["simple"]),
        tables.operators_table(*(equal[a][shown[351]].until(TOLERANCE) for a in ("nt-qp", "nt-f"))),
        tables.totals_table(equal, TOLERANCE),
        tables.claims_table(equal, TOLERANCE),
        tables.totals_table(equal, TOLERANCE, "by_gap"),
        tables.claims_table(equal, TOLERANCE, "by_gap"),
        tables.reach_table(equal),
        tables.profile_table(equal),
        factors,
        tables.jump_table(equal_small, separate, TOLERANCE),
        tables.steps_table(last[2], "Table 2.3: mehrotra with separate steps at n = 2", 5),
        tables.steps_table(last[100], "Table 2.4: mehrotra with separate steps at n = 100"),
    ]
    of = {a: [equal[a][k].until(TOLERANCE) for k in shown.values()] for a in ALGORITHMS}
    sides = [each for pair in zip(of["nt-qp"], of["nt-f"], strict=True) for each in pair]
    jumps = [
        (equal[a][k].until(TOLERANCE), separate_shown[n, a].until(TOLERANCE))
        for n, k in shown.items()
        for a in STEPPED
    ]
    figures = {
        "fig-2.1": tables.errors_figure("Figure 2.1: simple interior point", of["simple"], TOLERANCE),
        "fig-2.2": tables.errors_figure("Figure 2.2: Mehrotra's scheme", of["mehrotra"], TOLERANCE),
        "fig-2.3": tables.errors_figure("Figure 2.3: Mehrotra, scaled by Q_p", of["nt-qp"], TOLERANCE),
        "fig-2.4": tables.errors_figure("Figure 2.4: scaled by Q_p and by F", sides, TOLERANCE),
        "fig-2.5-2.8": tables.profiles_figure(equal, "own"),
        "fig-2.5-2.8-gap": tables.profiles_figure(equal, "by_gap"),
        "fig-2.5-2.8-judge": tables.profiles_figure(equal, "judged"),
        "fig-2.9-2.11": tables.jump_figure("Figures 2.9 to 2.11: the jump", jumps),
        "step-lengths": tables.lengths_figure("Separate steps, Mehrotra's scheme", list(last.values())),
        "times": tables.times_figure(equal, TOLERANCE),
        "factors": factors_figure,
    }
    pairs = [pair for a in STEPPED for pair in zip(equal_small[a], separate[a], strict=True)]
    failed = [pair[1] for pair in pairs if jumped(*pair, TOLERANCE)]
    if failed:
        failed.sort(key=lambda each: each.iterations)
        ends = [failed[0], failed[-1]] if len(failed) > 1 else failed
        title = "Figure 2.12: failures with separate steps only"
        figures["fig-2.12"] = tables.errors_figure(title, ends, TOLERANCE)
    return all_tables, figures


def _summary(each: Run) -> dict[str, Any]:
    """Return the data of a run in JSON types."""
    return {
        "problem": each.case.name,
        "contacts": each.contacts,
        "algorithm": each.algorithm,
        "steps": each.steps,
        "iterations": each.iterations,
        "reason": each.reason,
        "growths": each.growths,
        "to": {
            measure: {f"{t:.0e}": (each.first(t, measure), each.time(t, measure)) for t in TOLERANCES}
            for measure in MEASURES
        },
    }
