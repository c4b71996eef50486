"""Results of a sweep: a table with a row for each run."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.bench.records import Outcome
from stickslip.exhibits import Cell, Column, Table
from stickslip.files.problems import file_content, replace_file
from stickslip.names import alternatives
from stickslip.state import Array, BoolArray, IntArray, UnknownNameError
from stickslip.sweeps.designs import plain
from stickslip.sweeps.runs import Row
from stickslip.sweeps.sweep_file import (
    COLUMNS,
    NOT_RUN,
    OUTCOMES,
    Head,
    dataset_name,
    fold,
    journal_rows,
    opened,
)

if TYPE_CHECKING:
    import pandas

EXACT = ".17g"
"""Format of numbers with all digits."""


@dataclass(frozen=True, eq=False)
class SweepResult:
    """The finished runs of a sweep, in the order of their numbers."""

    head: Head = field(repr=False)
    """Definition, environment and command of the sweep."""
    number: IntArray
    """Number of each run in its sweep, from 0 [-], shape (n,)."""
    parameters: dict[str, np.ndarray]
    """Values of the varied parameters, by name [any], shape (n,) each."""
    measures: dict[str, Array]
    """Measured numbers, by names with units; NaN if a run has none [any], shape (n,) each."""
    outcomes: tuple[Outcome, ...]
    """Outcome of each run."""
    reasons: tuple[str, ...]
    """Reason of the outcome as a sentence, where needed."""
    steps: IntArray
    """Numbers of time steps [-], shape (n,)."""
    t: Array
    """End times of the runs [s], shape (n,)."""
    residual: Array
    """Largest of the judge's residuals of all steps [-], shape (n,)."""
    seconds: Array
    """Wall time of each run without compilation [s], shape (n,)."""
    simulated: Array
    """Time of the simulation alone [s], shape (n,)."""
    compile_seconds: Array = field(repr=False)
    """Time to compile kernels, or to load compiled ones [s], shape (n,)."""

    def __len__(self) -> int:
        return len(self.number)

    @property
    def planned(self) -> int:
        """Number of runs of the whole sweep."""
        return self.head.sweep.design.size

    @property
    def complete(self) -> bool:
        """Whether all runs were made, including failed ones."""
        return len(self) == self.planned

    @property
    def solved(self) -> BoolArray:
        """Whether runs were completed with all steps solved [-], shape (n,), bool."""
        return np.array([outcome is Outcome.SOLVED for outcome in self.outcomes], bool)

    def column(self, name: str) -> np.ndarray:
        """A parameter or a measure by its name or a unique beginning of it [any], shape (n,)."""
        both = self.parameters | self.measures
        close = [each for each in both if each == name] or [each for each in both if each.startswith(name)]
        if len(close) != 1:
            raise UnknownNameError(f"no column {name!r} in this sweep; {alternatives(name, both)}")
        return both[close[0]]

    def to_frame(self) -> "pandas.DataFrame":
        """Convert to a table of pandas (extra `tables`): number, parameters, outcome, measures, times."""
        try:
            import pandas
        except ImportError:
            raise ImportError(
                'a data frame needs the package pandas: pip install "stickslip[tables]"'
            ) from None
        return pandas.DataFrame(dict(self._columns()))

    def table(self) -> Table:
        """Convert to a table for CSV, with the same columns."""
        columns = dict(self._columns())
        rows: list[list[Cell]] = [
            list(row) for row in zip(*(_cells(column) for column in columns.values()), strict=True)
        ]
        return Table("All runs", [Column(name, EXACT) for name in columns], rows)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the result to a file: .h5 or .hdf5, which `read` and `sweep` accept, or .csv."""
        place = Path(path)
        kind = place.suffix.lower()
        if kind == ".csv":
            replace_file(place, csv_content(self.table()))
        elif kind in (".h5", ".hdf5"):
            place.unlink(missing_ok=True)
            fold(place, self.head, dict(self._rows()))
        else:
            raise ValueError(f"{place}: the name must end in .h5, .hdf5 or .csv")

    def __str__(self) -> str:
        sweep = self.head.sweep
        counts = Counter(outcome.value for outcome in self.outcomes)
        ends = ", ".join(f"{count} {word}" for word, count in counts.items()) or "none made yet"
        lines = [
            ("parameters", " ".join(map(str, sweep.design.parameters)) or "none"),
            ("runs", f"{len(self)} of {self.planned}: {ends}"),
            ("measures", ", ".join(self.measures) or "none"),
        ]
        if self.solved.any():
            lines.append(("residual", f"{np.max(self.residual[self.solved]):.1e} at most in solved runs"))
        return "\n".join([f"sweep of {sweep.name}", *(f"  {name:<12}{text}" for name, text in lines)])

    def _columns(self) -> Iterator[tuple[str, Any]]:
        names = {*self.parameters}
        yield "run", self.number
        yield from self.parameters.items()
        yield "outcome", [outcome.value for outcome in self.outcomes]
        for name, column in self.measures.items():
            yield f"{name} (measured)" if name in names else name, column
        yield "steps", self.steps
        yield "t [s]", self.t
        yield "residual [-]", self.residual
        yield "wall [s]", self.seconds
        yield "simulation [s]", self.simulated
        yield "compiling [s]", self.compile_seconds
        yield "reason", list(self.reasons)

    def _rows(self) -> Iterator[tuple[int, Row]]:
        for k, number in enumerate(self.number.tolist()):
            values = {name: float(column[k]) for name, column in self.measures.items()}
            yield number, Row(
                number, self.outcomes[k], self.reasons[k], tuple(values), tuple(values.values()),
                int(self.steps[k]), float(self.t[k]), float(self.residual[k]), float(self.seconds[k]),
                float(self.simulated[k]), float(self.compile_seconds[k]),
            )  # fmt: skip


def read_sweep(path: str | PathLike[str], content: bytes | None = None) -> SweepResult:
    """Read the sweep in a file and the runs of its journal; the journal alone suffices.

    content: the bytes of the file, if they were read already. Raises a `FormatError` for malformed files.
    """
    place = Path(path)
    added = journal_rows(place)  # before the file, as runs are moved from the journal to the file
    with ExitStack() as stack:
        if content is None and added is not None and not place.exists():
            head, rows = added
            return _of_rows(head, rows, [])
        table = opened(place, stack, file_content(place) if content is None else content)
        arrays = {
            part: {name: table.source.reals(table.group[part], dataset_name(name)) for name in names}
            for part, names in (
                ("runs", COLUMNS), ("parameters", table.head.sweep.design.columns(np.arange(1))),
                ("measures", table.names),
            )
        }  # fmt: skip
        place_of_outcome = f"/{table.group.name}/runs/outcome"
        outcome = arrays["runs"]["outcome"]
        if not np.isin(outcome, range(NOT_RUN, len(OUTCOMES))).all():
            table.source.fail(place_of_outcome, f"numbers from {NOT_RUN} to {len(OUTCOMES) - 1}", "others")
        reasons = table.reasons()
    result = _of_columns(table.head, arrays, reasons)
    if added is None:
        return result
    known = dict(result._rows())
    return _of_rows(table.head, known | added[1], list(result.measures))


def _of_columns(head: Head, found: dict[str, dict[str, Array]], reasons: dict[int, str]) -> SweepResult:
    runs = found["runs"]
    number = np.flatnonzero(runs["outcome"] != NOT_RUN)
    part = {name: column[number] for name, column in runs.items()}
    return SweepResult(
        head, number, _typed(head, {name: x[number] for name, x in found["parameters"].items()}),
        {name: column[number] for name, column in found["measures"].items()},
        tuple(OUTCOMES[int(k)] for k in part["outcome"]), tuple(reasons.get(k, "") for k in number.tolist()),
        part["steps"].astype(np.int64),
        *(part[name] for name in ("t", "residual", "seconds", "simulated", "compile_seconds")),
    )  # fmt: skip


def _of_rows(head: Head, rows: dict[int, Row], names: list[str]) -> SweepResult:
    number = np.array(sorted(rows), np.int64)
    sequence = [rows[k] for k in number.tolist()]
    names = list(dict.fromkeys([*names, *(name for row in sequence for name in row.names)]))
    measured = [dict(zip(row.names, row.values, strict=True)) for row in sequence]
    columns = {
        name: np.array([value(row) for row in sequence], dtype) for name, (dtype, _, value) in COLUMNS.items()
    }
    return SweepResult(
        head, number, _typed(head, head.sweep.design.columns(number)),
        {name: np.array([each.get(name, np.nan) for each in measured]) for name in names},
        tuple(row.outcome for row in sequence), tuple(row.reason for row in sequence), columns["steps"],
        *(columns[name] for name in ("t", "residual", "seconds", "simulated", "compile_seconds")),
    )  # fmt: skip


def _typed(head: Head, columns: dict[str, Array]) -> dict[str, np.ndarray]:
    """Convert columns of parameters to their types: texts, integers, booleans."""
    kinds = {one.name: one for one in head.sweep.design.varied}
    arrays: dict[str, np.ndarray] = {}
    for name, column in columns.items():
        parameter = kinds.get(name)
        if parameter is not None and parameter.kind is float:
            arrays[name] = column
            continue
        values = [plain(parameter, value) for value in column.tolist()]
        arrays[name] = np.array(values, object if parameter is not None and parameter.kind is str else None)
    return arrays


def _cells(column: Any) -> list[Cell]:
    cells: list[Cell] = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return cells


def csv_content(table: Table) -> bytes:
    """Convert a table to CSV with all digits; missing values are empty."""
    import csv
    import io

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.headings)
    for row in table.rows:
        writer.writerow(["" if isinstance(x, float) and x != x else x for x in row])
    return text.getvalue().encode()
