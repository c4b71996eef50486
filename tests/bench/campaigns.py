"""Campaigns that never ran: tables of results written down in a few lines, for tests of what is made of them.

    made = campaign(
        {"stack/a": 10, "stack/b": 40},
        {("stack/a", "nsgs"): 1.0, ("stack/b", "nsgs"): "timeout", ("stack/a", "auto"): 0.5},
    )

A number is the seconds of a solved run, a word its outcome, None (or no line at all) a run that was not made,
a dict whatever fields of the record shall differ.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stickslip.bench.collections.features import Features
from stickslip.bench.environment import Environment
from stickslip.bench.records import Outcome, RunRecord
from stickslip.bench.results import Conditions, Entry, Results

PLACE = Environment(
    python="CPython 3.11.7",
    stickslip="0.7.0",
    code="0123456789ab",
    packages=(("numba", "0.60.0"), ("numpy", "2.0.0"), ("scipy", "1.14.0")),
    system="Linux x86_64",
    processor="A processor",
    cores=2,
    memory=8.0,
)
"""A machine that nobody has."""

Said = float | str | Mapping[str, Any] | None
"""What became of a run: seconds, an outcome, fields of the record, or nothing."""


def hash_of(name: str) -> str:
    """A hash as problems have them, here of the name."""
    return hashlib.sha256(name.encode()).hexdigest()


def entry(name: str, contacts: int, **features: Any) -> Entry:
    """A problem of 3D contacts; its family is what stands before the slash."""
    made = Features(
        kind="local", contacts=contacts, dimension=3, size=3 * contacts,
        **{"mass_ratio": 10.0, "rank": 3 * contacts - 1, "conditioning": 1e4} | features,
    )  # fmt: skip
    recipe = f"stickslip bench record {name.replace('/', ' ')}"
    return Entry(name, name.partition("/")[0], hash_of(name), made, recipe, f"The problem {name}")


def record(problem: str, solver: str, tolerance: float, said: Said, timeout: float = 20.0) -> RunRecord:
    """One run that became what `said` says."""
    more = {"seconds": said} if isinstance(said, float | int) else said
    if isinstance(more, str):
        more = {"outcome": Outcome(more)}
    fields: dict[str, Any] = {"outcome": Outcome.SOLVED} | dict(more or {})
    outcome = fields["outcome"]
    ends: dict[str, Any] = {"seconds": timeout, "status": ""}
    if outcome is Outcome.SOLVED:
        ends = {"status": "SOLVED", "natural": tolerance / 2, "error": tolerance / 2, "seconds": 1.0}
    elif outcome is Outcome.MISSED:
        ends = {
            "status": "MAX_ITERATIONS",
            "natural": 100 * tolerance,
            "error": 100 * tolerance,
            "seconds": 3.0,
        }
    elif outcome is Outcome.REFUSED:
        ends = {"status": "", "seconds": float("nan"), "reason": "rolling friction is not for it"}
    filled: dict[str, Any] = (
        {"options": {"tolerance": tolerance}, "source": "", "iterations": 10, "repetitions": 3}
        | ends
        | fields
    )
    filled = {"cpu_seconds": 0.9 * filled["seconds"]} | filled
    if "history" in filled:
        filled["history"] = np.array(filled["history"], float)
    return RunRecord(problem=hash_of(problem), solver=solver, tolerance=tolerance, **filled)


def campaign(
    problems: Mapping[str, int] | Sequence[Entry],
    runs: Mapping[tuple[str, str], Said] | Mapping[tuple[str, str, float], Said],
    tolerances: tuple[float, ...] = (1e-4,),
    timeout: float = 20.0,
) -> Results:
    """The results; a run said without a tolerance stands for all of them."""
    entries = (
        tuple(entry(name, contacts) for name, contacts in problems.items())
        if isinstance(problems, Mapping)
        else tuple(problems)
    )
    solvers = dict.fromkeys(key[1] for key in runs)
    said: dict[tuple[str, ...], Said] = dict(runs)  # type: ignore[arg-type]
    made = []
    for problem in entries:
        for solver in solvers:
            for tolerance in tolerances:
                one = said.get((problem.name, solver, tolerance), said.get((problem.name, solver)))  # type: ignore[call-overload]
                if one is not None:
                    made.append(record(problem.name, solver, tolerance, one, timeout))
    conditions = Conditions(
        tolerances=tolerances, timeout=timeout, memory=4096.0, best_of=3, workers=1, environment=PLACE
    )
    return Results(
        conditions, entries, tuple(made), "stickslip bench run --problems standard --out results.h5"
    )
