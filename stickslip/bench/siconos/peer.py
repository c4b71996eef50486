"""Siconos as a peer in campaigns: its solvers, in its own interpreter, by the same judge as ours.

    find_siconos()         the interpreter that imports it, and its version
    methods()              its solvers as contestants: siconos-nsgs, siconos-prox, ...
    attempt_siconos(...)   one run as a record

Each of its solvers is tried in every storage that suits the problem, with and without reduction
where it has both, at tolerances of its own from loose to tight; what counts is the fastest setting
whose answer the judge finds good. Times are around its driver call alone.
"""

import math
import time
from dataclasses import replace
from typing import Any

from stickslip.bench.jobs import Job, Limits
from stickslip.bench.records import FIGURES, Outcome, RunRecord
from stickslip.bench.siconos.process import START, Found, find_siconos
from stickslip.bench.siconos.trials import METHODS, SLOWER, Peer, Run, methods_for
from stickslip.files.dat import kind_of
from stickslip.problem.solution import Problem

__all__ = ["Found", "attempt_siconos", "find_siconos", "methods", "total_seconds"]

TOTAL = 2.0
"""All trials of one run together take at most so many times the limit of one call."""
SOON = 0.1
"""A setting may take so long before it is compared with the best so far [s]."""
WORST = (Outcome.TIMEOUT, Outcome.MISSED, Outcome.MEMORY, Outcome.CRASHED, Outcome.RAISED)
"""What a run without success is called: the first of these that some setting ended in."""


def methods() -> tuple[str, ...]:
    """Names of all solvers of Siconos, as contestants; each takes some kinds of problem."""
    return tuple(dict.fromkeys(method.contestant for group in METHODS.values() for method in group))


def total_seconds(limits: Limits) -> float:
    """The time after which `attempt_siconos` has surely ended [s]."""
    return TOTAL * limits.timeout + limits.patience + 2.0 * START


def attempt_siconos(job: Job, limits: Limits, problem: Problem) -> RunRecord:
    """One solver of Siconos on `problem`: the fastest of its settings that the judge accepts.

    A call takes at most `limits.timeout`, all together twice as long; options of the record say
    what was given to Siconos, and how many calls it took to find that out.
    """
    blank = RunRecord(job.problem, job.contestant.label, {}, job.source, job.tolerance, Outcome.RAISED)
    found = find_siconos()
    if found.python is None:
        return replace(blank, reason=f"Siconos is absent; tried {'; '.join(found.tried)}")
    if job.source not in ("", found.source):
        return replace(blank, reason=f"{found.source} is here, not {job.source}")
    chosen = [method for method in methods_for(problem) if method.contestant == job.contestant.name]
    if not chosen or job.contestant.options:
        return replace(blank, outcome=Outcome.REFUSED, reason=_refusal(job, problem))
    with Peer(found.python, problem, memory=limits.memory) as peer:
        runs = _trials(peer, [Run(m, s) for s in peer.storages() for m in chosen], job.tolerance, limits)
        passed = [run for run in runs if run.passed]
        if not passed:
            return _without_success(blank, runs, limits)
        best = min(passed, key=lambda run: run.wall)
        again = peer.time(best, job.tolerance, limits.patience, limits.best_of, limits.timeout)
        return replace(
            _with_figures(blank, again if again.passed else best, len(runs)), outcome=Outcome.SOLVED
        )


def _trials(peer: Peer, settings: list[Run], tolerance: float, limits: Limits) -> list[Run]:
    """Every call that was made; those settings that are left when time is up are not tried."""
    end = time.monotonic() + TOTAL * limits.timeout
    best, runs = math.inf, []
    for setting in settings:
        # Where one setting is ten times faster than another, the other is not waited for.
        limit = min(limits.timeout, max(SOON, SLOWER * best))
        if time.monotonic() >= end:
            break
        runs += peer.climb(setting, tolerance, limit, end)
        if runs[-1].passed:
            best = min(best, runs[-1].wall)
    return runs


def _refusal(job: Job, problem: Problem) -> str:
    if job.contestant.options:
        return f"{job.contestant.name} takes no options, got {dict(job.contestant.options)}"
    others = dict.fromkeys(method.contestant for method in methods_for(problem))
    takers = f"those that do: {', '.join(others)}" if others else "no solver of Siconos does"
    return f"{job.contestant.name} does not take a {kind_of(problem) or 'problem'} like {problem!r}; {takers}"


def _without_success(blank: RunRecord, runs: list[Run], limits: Limits) -> RunRecord:
    """The answer nearest to a solution, if there is one, and what ended the trials."""
    answers = [run for run in runs if run.residuals is not None]
    record = replace(blank, options=_options(runs[-1], len(runs)))
    if answers:
        nearest = min(answers, key=lambda run: run.residuals.error if run.residuals else math.inf)
        record = _with_figures(blank, nearest, len(runs))
    ends = {run.outcome: run for run in runs if run.outcome is not None}
    if answers:
        ends[Outcome.MISSED] = answers[-1]
    outcome = next((each for each in WORST if each in ends), Outcome.RAISED)
    reason = ends[outcome].failed if outcome in ends else "its answer is not finite"
    seconds = limits.timeout if outcome is Outcome.TIMEOUT else record.seconds
    return replace(record, outcome=outcome, reason=reason, seconds=seconds)


def _with_figures(blank: RunRecord, run: Run, tries: int) -> RunRecord:
    residuals = run.residuals
    assert residuals is not None
    return replace(
        blank, options=_options(run, tries), status=f"info {run.info}", iterations=run.iterations,
        **{name: getattr(residuals, name) for name in FIGURES},
        seconds=run.wall, cpu_seconds=run.cpu, repetitions=run.repetitions, memory=run.memory,
    )  # fmt: skip


def _options(run: Run, tries: int) -> dict[str, Any]:
    return {
        "solver": run.method.constant, "storage": run.storage, "tolerance": run.tolerance, "tries": tries,
    }  # fmt: skip
