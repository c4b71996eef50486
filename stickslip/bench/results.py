"""The table of a campaign: conditions, problems and runs; and combinations of tables."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from stickslip.bench.collections.features import Features
from stickslip.bench.environment import Environment
from stickslip.bench.json_data import Stored
from stickslip.bench.records import Key, RunRecord
from stickslip.exhibits import power
from stickslip.names import alternatives

MEASURE = "natural and natural_scaled"
"""Residuals that decide success; see `stickslip.problem.residuals`."""


class Mixed(ValueError):  # noqa: N818 (describes a state)
    """Exception for records that cannot be combined; the message names the difference."""


@dataclass(frozen=True)
class Conditions(Stored):
    """Common conditions of all runs of a table."""

    tolerances: tuple[float, ...]
    """Tolerances of the campaign, descending [-]."""
    timeout: float
    """Time limit of a solve [s]."""
    memory: float
    """Memory limit of a run [MiB]."""
    best_of: int
    """Number of timed calls."""
    workers: int
    """Number of simultaneous jobs."""
    environment: Environment
    measure: str = MEASURE


@dataclass(frozen=True)
class Entry(Stored):
    """One problem of a collection."""

    name: str
    """Name, unique in a collection: `stack/boxes-20-t0.31`."""
    family: str
    """Family of related problems, such as those of one scene."""
    hash: str
    """Fingerprint of its numbers."""
    features: Features
    recipe: str = ""
    """Command that makes the problem, if there is one."""
    title: str = ""
    """Title in the file."""


@dataclass(frozen=True, eq=False)
class Results:
    """Results of a campaign so far. A missing run was not made, which is not a failure."""

    conditions: Conditions
    problems: tuple[Entry, ...]
    """Problems in the order of the collection."""
    runs: tuple[RunRecord, ...] = ()
    """Runs in the order of problems, then solvers, then tolerances."""
    command: str = ""
    """Command of the campaign."""

    @property
    def done(self) -> dict[Key, RunRecord]:
        """The runs by their keys."""
        return {run.key: run for run in self.runs}

    @property
    def solvers(self) -> tuple[str, ...]:
        """Labels of all contestants that have runs, in the order of their first run."""
        return tuple(dict.fromkeys(run.solver for run in self.runs))

    @property
    def families(self) -> tuple[str, ...]:
        """Families of the problems, in their order."""
        return tuple(dict.fromkeys(entry.family for entry in self.problems))

    def with_runs(self, runs: tuple[RunRecord, ...]) -> "Results":
        """Return the results with these runs."""
        return replace(self, runs=runs)

    def in_order(self) -> "Results":
        """Return the table with its runs sorted by problem, solver (alphabetically) and tolerance."""
        place = {entry.hash: k for k, entry in enumerate(self.problems)}

        def order(run: RunRecord) -> tuple[int, str, str, float]:
            return place[run.problem], run.solver, run.source, -run.tolerance

        return self.with_runs(tuple(sorted(self.runs, key=order)))


DIFFERENCES = (
    "precision", "timeout", "memory", "best-of", "workers", "machine", "measure", "versions", "code"
)  # fmt: skip
"""Kinds of differences between tables, the values of `allow` of `combine`; `code` is that of stickslip."""


Difference = tuple[str, str, str]
"""A kind of `DIFFERENCES`, and the values of both tables."""


def differences(first: Conditions, second: Conditions) -> Iterator[Difference]:
    """Yield the differences of two conditions."""

    def said(of: Conditions) -> list[tuple[str, str]]:
        return [
            ("precision", "tolerances " + ", ".join(map(power, of.tolerances))),
            ("timeout", f"timeout {_exact(of.timeout)} s"),
            ("memory", f"memory limit {_exact(of.memory)} MiB"),
            ("best-of", f"best of {of.best_of}"),
            ("workers", f"{of.workers} at a time"),
            ("measure", f"measure {of.measure}"),
        ]

    yield from _unlike(said(first), said(second))
    yield from environment_differences(first.environment, second.environment)


def environment_differences(first: Environment, second: Environment) -> Iterator[Difference]:
    """Yield the differences of two environments."""
    packages = sorted({name for environment in (first, second) for name, _ in environment.packages})

    def said(of: Environment) -> list[tuple[str, str]]:
        machine = (of.system, of.processor, f"{of.cores} cores", f"{_exact(of.memory)} GiB")
        version = dict(of.packages)
        versions = (of.python, *(f"{name} {version.get(name) or '(none)'}" for name in packages))
        return [
            *(("machine", text) for text in machine),
            *(("versions", text) for text in versions),
            ("code", f"stickslip {of.stickslip} of code {of.code}"),
        ]

    yield from _unlike(said(first), said(second))


def _exact(number: float) -> str:
    """Format a number, short if that is exact, so that texts are equal only for equal numbers."""
    return f"{number:g}" if float(f"{number:g}") == number else repr(number)


def _unlike(first: list[tuple[str, str]], second: list[tuple[str, str]]) -> Iterator[Difference]:
    for (kind, one), (_, other) in zip(first, second, strict=True):
        if one != other:
            yield kind, one, other


def refuse_mixture(
    found: Iterable[Difference], names: tuple[str, str], allow: Collection[str] = (), advice: str = ""
) -> None:
    """Raise `Mixed` if there are differences that are not allowed; the message names all of them."""
    left = [difference for difference in found if difference[0] not in allow]
    if left:
        kinds = ", ".join(dict.fromkeys(kind for kind, _, _ in left))
        one, other = (", ".join(difference[k] for difference in left) for k in (1, 2))
        raise Mixed(
            f"these differ in {kinds} and cannot be combined: "
            f"{names[0]} has {one}; {names[1]} has {other}{advice}"
        )


def combine(
    results: Sequence[Results],
    allow: Collection[str] = (),
    names: Sequence[str] = (),
    report: Callable[[str], None] | None = None,
) -> Results:
    """Combine several tables, under the conditions of the first.

    Raises `Mixed` if they differ in one of `DIFFERENCES` that is not in `allow`, or if they have different
    records of the same run. A problem with two names or families keeps the first, and problems of equal names
    get their hash as suffix. report: receives a sentence on each such change. names: names of the tables in
    messages.
    """
    if not results:
        raise ValueError("no results to combine")
    for kind in allow:
        if kind not in DIFFERENCES:
            raise ValueError(f"unknown difference {kind!r}; {alternatives(kind, DIFFERENCES)}")
    names = names or [f"table {k}" for k in range(1, len(results) + 1)]
    first = results[0].conditions
    runs: dict[Key, tuple[str, RunRecord]] = {}
    for name, table in zip(names, results, strict=True):
        refuse_mixture(differences(first, table.conditions), (names[0], name), allow)
        for run in table.runs:
            place = run.environment or table.conditions.environment
            run = replace(run, environment=None if place == first.environment else place)
            where, known = runs.setdefault(run.key, (name, run))
            if known is not run and known.as_json() != run.as_json():
                which = f"{run.solver} on problem {run.problem[:12]} at {power(run.tolerance)}"
                both = f"different records in {where} and in {name}"
                raise Mixed(f"{which} was run twice, with {both}; keep one of them")
            if run.environment is not None:
                mismatches = environment_differences(first.environment, run.environment)
                refuse_mixture(mismatches, (names[0], f"{run.solver} in {name}"), allow)
    _one_source(runs.values(), allow)
    tolerances = {tolerance for table in results for tolerance in table.conditions.tolerances}
    return Results(
        replace(first, tolerances=tuple(sorted(tolerances, reverse=True))),
        _problems(results, report or (lambda _: None)),
        tuple(run for _, run in runs.values()),
        "\n".join(dict.fromkeys(table.command for table in results if table.command)),
    ).in_order()


def _one_source(runs: Collection[tuple[str, RunRecord]], allow: Collection[str]) -> None:
    """Refuse two versions of a contestant unless allowed, and runs that differ only in their version."""
    sources: dict[str, tuple[str, str]] = {}
    cells: dict[tuple[str, str, float], tuple[str, str]] = {}
    for name, run in runs:
        cell = run.problem, run.solver, run.tolerance
        for first in (sources.setdefault(run.solver, (name, run.source)), cells.get(cell)):
            if first is not None and first[1] != run.source:
                mismatches = [("versions", f"{run.solver} as {first[1]}", f"{run.solver} as {run.source}")]
                refuse_mixture(mismatches, (first[0], name), () if cell in cells else allow)
        cells[cell] = name, run.source


def _problems(results: Sequence[Results], report: Callable[[str], None]) -> tuple[Entry, ...]:
    """The problems of all tables, each once and with a unique name."""
    entries: dict[str, Entry] = {}
    names: set[str] = set()
    for entry in (entry for table in results for entry in table.problems):
        known = entries.get(entry.hash)
        if known is None:
            name = entry.name if entry.name not in names else f"{entry.name} [{entry.hash[:12]}]"
            if name != entry.name:
                report(f"two problems are called {entry.name}; the second is now {name}")
            entries[entry.hash] = replace(entry, name=name)
            names.add(name)
        elif (entry.name, entry.family) != (known.name, known.family):
            report(
                f"{known.name} of {known.family} is also called {entry.name} of {entry.family}; "
                "the first names are kept"
            )
    return tuple(entries.values())
