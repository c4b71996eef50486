"""A campaign: every contestant solves every problem at every tolerance once, also across interruptions."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypeVar

from stickslip.bench.campaigns.contestants import Contestant, source_of
from stickslip.bench.campaigns.journal import Journal, journal_of
from stickslip.bench.campaigns.loop import Progress, carry_out
from stickslip.bench.campaigns.results_file import journal_head, read_results, write_results
from stickslip.bench.environment import here
from stickslip.bench.records import Executor, Job, Limits, RunRecord
from stickslip.bench.results import (
    Conditions,
    Entry,
    Mixed,
    Results,
    combine,
    differences,
    environment_differences,
    refuse_mixture,
)
from stickslip.names import alternatives

ADVICE = "; use another --out, or the old conditions"


class Problems(Protocol):
    """Interface of collections for campaigns."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The problems, in their order."""

    def path(self, entry: Entry) -> Path:
        """The file of a problem."""

    def kind(self, entry: Entry) -> str | None:
        """Kind of the problem in a text file whose name does not contain it; an argument of `read`."""


_P = TypeVar("_P", bound=Problems)


def chosen(collection: _P, families: Sequence[str] = (), most: int | None = None) -> _P:
    """Select the problems of these families (all by default), at most the `most` smallest ones."""
    known = dict.fromkeys(entry.family for entry in collection.entries)
    for family in families:
        if family not in known:
            raise ValueError(
                f"unknown family {family!r} among the problems; {alternatives(family, known, 'there are:')}"
            )
    entries = [entry for entry in collection.entries if not families or entry.family in families]
    smallest = {entry.hash for entry in _by_size(entries)[:most]}
    return replace(collection, entries=tuple(e for e in entries if e.hash in smallest))  # type: ignore[type-var]


def run_campaign(
    collection: Problems,
    contestants: Sequence[Contestant],
    tolerances: Sequence[float],
    limits: Limits,
    executor: Executor,
    out: Path,
    progress: Progress | None = None,
    command: str = "",
) -> Results:
    """Make the runs that `out` does not contain, store every record at once, and write the table to `out`.

    An existing file must have the same conditions, otherwise `Mixed` is raised; its other problems and
    contestants are kept. If a campaign ends early by an exception or Ctrl-C, `out` contains the runs so far.
    If the process is killed, they are in the journal beside it, which `read_results` and the next campaign
    read. An executor that runs jobs elsewhere has an attribute `environment`; a record of another environment
    raises `Mixed`.
    """
    conditions = Conditions(
        tuple(sorted(set(tolerances), reverse=True)), limits.timeout, limits.memory, limits.best_of,
        executor.workers, getattr(executor, "environment", None) or here(),
    )  # fmt: skip
    sources = {contestant.label: source_of(contestant) for contestant in contestants}
    journal = Journal(out)
    safe = False
    try:
        results = Results(conditions, collection.entries, (), command)
        if out.exists() or journal_of(out).stat().st_size:
            results = _continued(out, results, sources)
        done = results.done
        # Problem by problem, small ones first, so that an interrupted campaign has complete problems.
        everything = (
            Job(
                entry.hash, str(collection.path(entry).resolve()), collection.kind(entry), contestant,
                sources[contestant.label], tolerance,
            )
            for entry in _by_size(collection.entries)
            for contestant in contestants
            for tolerance in conditions.tolerances
        )  # fmt: skip
        jobs = [job for job in everything if job.key not in done]
        if results.runs:
            write_results(out, results)  # saves the runs of an existing journal before it is cleared
        journal.begin(journal_head(results))
        if progress is not None:
            progress.planned(jobs, results)
        records: list[RunRecord] = []

        def look(record: RunRecord) -> None:
            """Refuse a run of another environment."""
            if record.environment is not None:
                names = "this campaign", f"the run of {record.solver} on problem {record.problem[:12]}"
                refuse_mixture(environment_differences(conditions.environment, record.environment), names)

        try:
            carry_out(jobs, executor, limits, journal, look, records.append, progress)
        finally:
            results = results.with_runs((*results.runs, *records)).in_order()
            write_results(out, results)
            safe = True
        return results
    finally:
        journal.close(keep=not safe)


def _continued(out: Path, results: Results, sources: dict[str, str]) -> Results:
    """Combine the results in `out` and its journal with the problems and the command of this campaign."""
    try:
        stored = read_results(out)
    except FileNotFoundError:  # no file, and an empty journal
        return results
    names = str(out), "this campaign"
    refuse_mixture(differences(stored.conditions, results.conditions), names, advice=ADVICE)
    for run in stored.runs:
        source = sources.get(run.solver, run.source)
        if source != run.source:
            raise Mixed(
                f"{run.solver} is not what it was: {out} has runs of {run.source or 'another one'}, here is "
                f"{source or 'another one'}; give it another name, or use another --out"
            )
    return combine([stored, results], names=names)


def _by_size(entries: Sequence[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: entry.features.size)
