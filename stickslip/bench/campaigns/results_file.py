"""Results file of a campaign: a self-describing HDF5 file with the group `stickslip_results`.

    version (1), command (of the campaign)
    conditions, problems, environments, options   JSON: common conditions of all runs; lists of problems, of
                                                  environments other than that of the conditions, of options
    runs/problem, options, environment            a row per run: indices into these lists, -1 for none
    runs/solver, source, outcome, status          texts
    runs/reason                                   JSON, a list of texts
    runs/tolerance, natural, error, seconds, ...  numbers, in the units of `RunRecord`; files of version 0.1
                                                  have no median and longest times
    runs/offset, history                          checks of run k are rows offset[k] to offset[k + 1]:
                                                  iteration, natural, natural_scaled

While a campaign runs, a journal beside the file contains the new runs; readers add them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.bench.campaigns.journal import journal_of, read_journal
from stickslip.bench.environment import Environment
from stickslip.bench.json_data import Fail, checked, parsed, written
from stickslip.bench.records import RunRecord
from stickslip.bench.results import Conditions, Entry, Results, combine
from stickslip.files.errors import shown
from stickslip.files.hdf5 import Source
from stickslip.files.hdf5_write import packed_content, put_array, put_text, put_texts
from stickslip.files.problems import file_content, replace_file
from stickslip.problem.checks import Array

ROOT, VERSION = "stickslip_results", 1
TEXTS = ("solver", "source", "outcome", "status")
REALS = tuple(spec.name for spec in fields(RunRecord) if spec.type is float)
ADDED = ("median_seconds", "longest_seconds", "median_cpu_seconds", "longest_cpu_seconds")
"""Columns of real numbers that older files do not have."""
INTEGERS = tuple(spec.name for spec in fields(RunRecord) if spec.type is int)


FORMAT, JOURNAL_VERSION = "stickslip campaign journal", 1
HEAD = {
    "format": FORMAT, "version": JOURNAL_VERSION, "conditions": object, "problems": list, "command": str
}  # fmt: skip
"""Keys of the first line of the journal, see `read_journal`."""


def write_results(path: Path, results: Results) -> None:
    """Write a table to a file atomically; equal tables give equal bytes."""
    replace_file(Path(path), results_content(results))


def read_results(path: Path) -> Results:
    """Read the table in a file and the runs of its journal; the journal alone suffices.

    Raises a `FormatError` for malformed files, and `Mixed` for a journal with other conditions.
    """
    path = Path(path)
    journal = journal_of(path)
    try:  # before the file, as runs are moved from the journal to the file
        added = read_journal(journal, HEAD, _first, _more)
    except FileNotFoundError:
        added = None
    table = None if added is None else added[0].with_runs(tuple(added[1]))
    if table is not None and not path.exists():
        return table.in_order()
    stored = _read(path, file_content(path))
    return stored if table is None else combine([stored, table], names=[str(path), str(journal)])


def journal_head(results: Results) -> dict[str, Any]:
    """First line of the journal of a campaign."""
    values = (FORMAT, JOURNAL_VERSION, results.conditions, results.problems, results.command)
    return dict(zip(HEAD, values, strict=True))


def _first(head: Mapping[str, Any], fail: Fail) -> tuple[Results, list[RunRecord], set[str]]:
    """From the first line: a table without runs, an empty list of runs, and the hashes of the problems."""
    problems = [Entry.from_json(x, f"line 1, problem {k}", fail) for k, x in enumerate(head["problems"])]
    conditions = Conditions.from_json(head["conditions"], "line 1", fail)
    table = Results(conditions, tuple(problems), (), head["command"])
    return table, [], {entry.hash for entry in problems}


def _more(found: tuple[Results, list[RunRecord], set[str]], data: Any, place: str, fail: Fail) -> None:
    """Add the run of a line."""
    run = RunRecord.from_json(data, place, fail)
    if run.problem not in found[2]:
        fail(f"{place}, problem", "one of the problems of line 1", shown(run.problem))
    found[1].append(run)


def results_content(results: Results) -> bytes:
    """Return the bytes of the file of a table."""
    stored = sum(run.history.nbytes for run in results.runs)
    return packed_content(ROOT, lambda group, put: _fill(group, results, put), stored)


def _fill(group: Any, of: Results, put: Any) -> None:
    place = {entry.hash: k for k, entry in enumerate(of.problems)}
    option_texts = [written(run.options) for run in of.runs]
    environment_texts = ["" if run.environment is None else written(run.environment) for run in of.runs]
    options, others = (
        list(dict.fromkeys(option_texts)),
        [text for text in dict.fromkeys(environment_texts) if text],
    )
    put_array(group, "version", [VERSION], np.int32)
    put_text(group, "command", of.command)
    put_text(group, "conditions", written(of.conditions))
    put_text(group, "problems", written(of.problems))
    put_text(group, "environments", f"[{','.join(others)}]")
    put_text(group, "options", f"[{','.join(options)}]")
    runs = group.create_group("runs")
    number = {text: k for k, text in enumerate(options)}
    other = {text: k for k, text in enumerate(others)} | {"": -1}
    put_array(runs, "problem", [place[run.problem] for run in of.runs], np.int64)
    put_array(runs, "options", [number[text] for text in option_texts], np.int64)
    put_array(runs, "environment", [other[text] for text in environment_texts], np.int64)
    for name in REALS:
        put_array(runs, name, [getattr(run, name) for run in of.runs], np.float64)
    for name in INTEGERS:
        put_array(runs, name, [getattr(run, name) for run in of.runs], np.int64)
    for name in TEXTS:
        column = [run.outcome.name if name == "outcome" else getattr(run, name) for run in of.runs]
        put_texts(runs, name, column)
    put_text(runs, "reason", written([run.reason for run in of.runs]))
    put_array(runs, "offset", np.cumsum([0, *(len(run.history) for run in of.runs)]), np.int64)
    put(runs, "history", np.concatenate([np.zeros((0, 3)), *(run.history for run in of.runs)]), np.float64)


def _read(path: Path, content: bytes) -> Results:
    with Source(path, content) as source:
        group = source.group(source.root, ROOT)
        version = source.integer(group, "version")
        if version != VERSION:
            source.fail(
                f"/{ROOT}/version", f"version {VERSION}", f"{version}; a newer stickslip may have written it"
            )
        place = f"/{ROOT}/conditions"
        data = parsed(source.text(group, "conditions"), place, source.fail)
        conditions = Conditions.from_json(data, place, source.fail)
        problems = tuple(_items(source, group, "problems", Entry))
        if len({entry.hash for entry in problems}) < len(problems):
            source.fail(f"/{ROOT}/problems", "every problem once", "one of them twice")
        runs = _read_runs(source, group, [entry.hash for entry in problems])
        if len({run.key for run in runs}) < len(runs):
            source.fail(f"/{ROOT}/runs", "every run once", "one of them twice")
        return Results(conditions, problems, runs, source.text(group, "command")).in_order()


def _read_runs(source: Source, group: Any, hashes: Sequence[str]) -> tuple[RunRecord, ...]:
    options = _items(source, group, "options", dict[str, Any])
    others = _items(source, group, "environments", Environment)
    runs = source.group(group, "runs")
    problem = _indices(source, runs, "problem", 0, len(hashes))
    columns: dict[str, Any] = {name: source.texts(runs, name) for name in TEXTS}
    names = [name for name in REALS if name in runs or name not in ADDED]
    columns |= {name: source.reals(runs, name).tolist() for name in names}
    columns |= {name: source.integers(runs, name).tolist() for name in INTEGERS}
    columns["reason"] = _items(source, runs, "reason", str)
    columns["options"] = [options[k] for k in _indices(source, runs, "options", 0, len(options))]
    columns["problem"] = [hashes[k] for k in problem]
    environment = _indices(source, runs, "environment", -1, len(others))
    columns["environment"] = [None if k < 0 else others[k] for k in environment]
    for name, column in columns.items():
        if len(column) != len(problem):
            source.fail(f"/{ROOT}/runs/{name}", f"{len(problem)} rows, as `problem` has", f"{len(column)}")
    columns["history"] = _read_history(source, runs, len(problem))
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return tuple(
        RunRecord.from_json(row, f"/{ROOT}/runs, row {k}", source.fail) for k, row in enumerate(rows)
    )


def _read_history(source: Source, runs: Any, count: int) -> list[Array]:
    """Read the histories of all runs."""
    offset, rows = source.integers(runs, "offset"), source.reals(runs, "history", dimensions=2)
    source.shaped(runs, "history", rows, (rows.shape[0], 3))
    source.shaped(runs, "offset", offset, (count + 1,))
    if offset[0] != 0 or offset[-1] != len(rows) or (np.diff(offset) < 0).any():
        source.fail(f"/{ROOT}/runs/offset", f"rows that grow from 0 to {len(rows)}", "others")
    return [rows[start:end] for start, end in pairwise(offset.tolist())]


def _items(source: Source, group: Any, name: str, kind: Any) -> list[Any]:
    """Read a JSON list of items of a type."""
    place = f"{group.name}/{name}"
    items = parsed(source.text(group, name), place, source.fail)
    if not isinstance(items, list):
        source.fail(place, "a list", shown(str(items)[:200]))
    return [checked(kind, item, f"{place}[{k}]", source.fail) for k, item in enumerate(items)]


def _indices(source: Source, group: Any, name: str, low: int, high: int) -> list[int]:
    """Read a column of integers from `low` to below `high`."""
    indices = source.integers(group, name)
    if indices.size and (indices.min() < low or indices.max() >= high):
        source.fail(f"{group.name}/{name}", f"integers in [{low}, {high})", "others")
    return indices.tolist()
