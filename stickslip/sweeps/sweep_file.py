"""File of a sweep: a self-describing HDF5 file with the group `stickslip_sweep`.

    version (1), command (of the sweep)
    sweep, environment      JSON: definition of the sweep; versions of software, and the machine
    names, first            JSON, a list: names of measures; the first run with each, and the index in it
    runs/outcome            a row for each run of the sweep: indices of `Outcome`, -1 for missing runs
    runs/steps, t, residual, seconds, simulated, compile_seconds   in the units of `Row`
    parameters/NAME         values of the varied parameters; texts as indices in the sweep
    measures/NAME           numbers, NaN if a run has none; a slash in a name is the character U+2215
    failures/number, reason runs with a reason

While a sweep runs, a journal beside the file contains the new rows; readers add them. The file is written in
blocks, so that the memory does not grow with the number of runs.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from stickslip.bench.campaigns.journal import journal_of, read_journal
from stickslip.bench.environment import Environment
from stickslip.bench.json_data import Fail, checked, parsed, written
from stickslip.bench.records import Outcome
from stickslip.files.errors import FormatError, shown
from stickslip.files.hdf5 import Source
from stickslip.files.hdf5_write import put_array, put_place, put_text, put_texts
from stickslip.files.problems import draft_of, holds_sweep
from stickslip.state import IntArray
from stickslip.sweeps.definition import Sweep, refuse_other
from stickslip.sweeps.measures import LONGEST, MOST
from stickslip.sweeps.runs import Row, Run

ROOT, VERSION = "stickslip_sweep", 1
FORMAT = "stickslip sweep journal"
HEAD = {"format": FORMAT, "version": 1, "sweep": dict, "environment": dict, "command": str}
"""Keys of the first line of a journal, see `read_journal`."""
BLOCK = 65_536
"""Number of rows of a column that are written at once."""
NOT_RUN = -1
OUTCOMES = tuple(Outcome)
COLUMNS: dict[str, tuple[type[np.generic], float, Callable[[Row], float]]] = {
    "outcome": (np.int8, NOT_RUN, lambda row: OUTCOMES.index(row.outcome)),
    "steps": (np.int64, 0, lambda row: row.steps),
    "t": (np.float64, np.nan, lambda row: row.t),
    "residual": (np.float64, np.nan, lambda row: row.residual),
    "seconds": (np.float64, np.nan, lambda row: row.seconds),
    "simulated": (np.float64, np.nan, lambda row: row.simulated),
    "compile_seconds": (np.float64, 0.0, lambda row: row.compile_seconds),
}
"""Columns of `runs`: type, value for missing runs, and function of the value of a row."""


class Head(NamedTuple):
    """Head of a file or journal of a sweep."""

    sweep: Sweep
    environment: Environment
    command: str

    def line(self) -> dict[str, Any]:
        """First line of a journal."""
        return dict(zip(HEAD, (FORMAT, 1, *self), strict=True))


class Table(NamedTuple):
    """File of a sweep, open for reading."""

    head: Head
    source: Source
    group: Any
    names: dict[str, tuple[int, int]]
    """Names of the measures, with the run and index of the first occurrence."""

    @property
    def size(self) -> int:
        """Number of runs of the sweep."""
        return self.head.sweep.design.size

    def rows(self, part: str, name: str, first: int, last: int) -> Any:
        """Read some rows of a column."""
        return self.source.rows(self.group[part], name, first, last)

    def reasons(self) -> dict[int, str]:
        """Reasons of runs, by their numbers."""
        group = self.source.group(self.group, "failures")
        numbers, texts = self.source.integers(group, "number"), self.source.texts(group, "reason")
        good = len(numbers) == len(texts) and (np.diff(numbers) > 0).all()
        if not good or (numbers.size and (numbers[0] < 0 or numbers[-1] >= self.size)):
            self.source.fail(
                f"{group.name}/number", "numbers of runs that rise, one for each reason", "others"
            )
        return dict(zip(numbers.tolist(), texts, strict=True))


def dataset_name(name: str) -> str:
    """Name of the dataset of a measure, without slashes and dots, which have a meaning in HDF5 paths."""
    return name.replace("/", "\u2215") if name.strip(".") else name.replace(".", "\u00b7")


def opened(path: Path, stack: ExitStack, content: bytes | None = None) -> Table:
    """Open and check the file of a sweep; `stack` closes it. content: its bytes, if they are known."""
    if content is None and not path.is_file():
        raise FormatError.at(path, "the file", "a regular file", "something else")
    source = stack.enter_context(Source(path, content))
    group = source.group(source.root, ROOT)
    version = source.integer(group, "version")
    if version != VERSION:
        newer = f"{version}; a newer stickslip may have written it"
        source.fail(f"/{ROOT}/version", f"version {VERSION}", newer)
    head = {
        name: parsed(source.text(group, name), f"/{ROOT}/{name}", source.fail)
        for name in ("sweep", "environment", "names")
    }
    sweep = Sweep.checked(head["sweep"], f"/{ROOT}/sweep", source.fail)
    environment = Environment.from_json(head["environment"], f"/{ROOT}/environment", source.fail)
    table = Table(
        Head(sweep, environment, source.text(group, "command")), source, group,
        _names(source, group, head["names"], sweep.design.size),
    )  # fmt: skip
    _check_columns(table)
    return table


def _names(source: Source, group: Any, said: Any, size: int) -> dict[str, tuple[int, int]]:
    names = checked(tuple[str, ...], said, f"/{ROOT}/names", source.fail)
    first = source.integers(group, "first", 2)
    source.shaped(group, "first", first, (len(names), 2))
    wrong = [name for name in names if not 0 < len(name) <= LONGEST or not name.isprintable()]
    if len({dataset_name(name) for name in names}) < len(names) or wrong:
        source.fail(f"/{ROOT}/names", "names that differ", shown(str(wrong or names)[:200]))
    if first.size and (first.min() < 0 or first[:, 0].max() >= size or first[:, 1].max() >= 100 * MOST):
        source.fail(f"/{ROOT}/first", "runs of the sweep, and places in them", "others")
    return {name: (int(a), int(b)) for name, (a, b) in zip(names, first, strict=True)}


def _check_columns(table: Table) -> None:
    """Check that every column exists, with a row for each run."""
    source, size = table.source, table.size
    design = table.head.sweep.design
    columns = {
        "runs": list(COLUMNS), "parameters": list(design.columns(np.arange(1))),
        "measures": [dataset_name(name) for name in table.names],
    }  # fmt: skip
    for part, names in columns.items():
        group = source.group(table.group, part)
        for name in names:
            if source.shape(group, name) != (size,):
                shape = f"shape {source.shape(group, name)}"
                source.fail(f"{group.name}/{name}", f"{size} numbers, one for each run", shape)


def journal_rows(path: Path) -> tuple[Head, dict[int, Row]] | None:
    """Read the journal beside a file; None if it does not exist or is empty."""

    def begin(said: dict[str, Any], fail: Fail) -> tuple[Head, dict[int, Row]]:
        sweep = Sweep.checked(said["sweep"], "line 1, sweep", fail)
        environment = Environment.from_json(said["environment"], "line 1, environment", fail)
        return Head(sweep, environment, said["command"]), {}

    def add(found: tuple[Head, dict[int, Row]], data: Any, place: str, fail: Fail) -> None:
        row = Run.record(data, place, fail)
        if not 0 <= row.number < found[0].sweep.design.size:
            fail(f"{place}, number", "the number of a run", f"{row.number}")
        for name in row.names:
            if not 0 < len(name) <= LONGEST or not name.isprintable():
                fail(f"{place}, names", "names of numbers", shown(name[:200]))
        found[1][row.number] = row

    try:
        return read_journal(journal_of(path), HEAD, begin, add)
    except FileNotFoundError:
        return None


def fold(path: Path, head: Head, rows: Mapping[int, Row]) -> None:
    """Add rows to a file atomically; equal tables give equal bytes, independently of the order of rows."""
    size = head.sweep.design.size
    numbers = np.array(sorted(rows), np.int64)
    batch = [rows[k] for k in numbers.tolist()]
    with ExitStack() as stack:
        old = opened(path, stack) if path.exists() else None
        names = {} if old is None else dict(old.names)
        for row in batch:
            for place, name in enumerate(row.names):
                names[name] = min(names.get(name, (row.number, place)), (row.number, place))
        names = dict(sorted(names.items(), key=lambda item: item[1]))
        reasons = ({} if old is None else old.reasons()) | {r.number: r.reason for r in batch}
        reasons = {k: reasons[k] for k in sorted(reasons) if reasons[k]}

        def put(group: Any, part: str, name: str, dtype: Any, empty: float, new: np.ndarray) -> None:
            """Write a column: existing and new values."""
            place = put_place(group, name, size, np.zeros(0, dtype))
            known = old is not None and name in old.group[part]
            for first in range(0, size, BLOCK):
                last = min(first + BLOCK, size)
                block = np.full(last - first, empty, dtype)
                if old is not None and known:
                    block = np.asarray(old.rows(part, name, first, last), dtype)
                low, high = np.searchsorted(numbers, [first, last])
                block[numbers[low:high] - first] = new[low:high]
                place[first:last] = block

        with draft_of(path) as draft:
            with h5py.File(draft, "w") as root:
                group = root.create_group(ROOT)
                put_array(group, "version", [VERSION], np.int32)
                put_text(group, "command", head.command)
                put_text(group, "sweep", written(head.sweep))
                put_text(group, "environment", written(head.environment))
                put_text(group, "names", written(list(names)))
                put_array(group, "first", np.reshape(list(names.values()), (-1, 2)), np.int64)
                part = group.create_group("runs")
                for name, (dtype, empty, value) in COLUMNS.items():
                    put(part, "runs", name, dtype, empty, np.array([value(r) for r in batch], dtype))
                _put_parameters(group.create_group("parameters"), head.sweep)
                part = group.create_group("measures")
                measured = [dict(zip(row.names, row.values, strict=True)) for row in batch]
                for name in names:
                    new = np.array([each.get(name, np.nan) for each in measured])
                    put(part, "measures", dataset_name(name), np.float64, np.nan, new)
                part = group.create_group("failures")
                put_array(part, "number", list(reasons), np.int64)
                put_texts(part, "reason", list(reasons.values()))
            stack.close()  # before the new file replaces the open one


def _put_parameters(group: Any, sweep: Sweep) -> None:
    size = sweep.design.size
    places = {name: put_place(group, name, size, np.zeros(0)) for name in sweep.design.columns(np.arange(1))}
    for numbers in _blocks(size):
        for name, column in sweep.design.columns(numbers).items():
            places[name][numbers[0] : numbers[-1] + 1] = column


def _blocks(size: int) -> Iterator[IntArray]:
    for first in range(0, size, BLOCK):
        yield np.arange(first, min(first + BLOCK, size))


def done_in(path: Path, sweep: Sweep) -> tuple[Head | None, np.ndarray]:
    """Read the head of a file, and which runs it contains; raise `OtherSweep` for another sweep."""
    done = np.zeros(sweep.design.size, bool)
    if not path.exists():
        return None, done
    if path.is_file() and not holds_sweep(path):
        raise FormatError(f"{path}: the file exists and is not that of a sweep; choose another name")
    with ExitStack() as stack:
        table = opened(path, stack)
        refuse_other(table.head.sweep, sweep, str(path))
        for numbers in _blocks(done.size):
            first, last = int(numbers[0]), int(numbers[-1]) + 1
            done[first:last] = table.rows("runs", "outcome", first, last) != NOT_RUN
        return table.head, done
