"""Rows of a run: data of steps, one row per step, and their reduction to rows of records.

Columns have one entry per row; tables (contacts, joints) have any number of entries per row. If only every
tenth step is recorded, ten rows are reduced to one, by the rule of each column.
"""

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.schemes.step import CONTACT_WORK
from stickslip.state import IntArray

LAST, SUM, MOST, ANY, TOTAL = "last", "sum", "most", "any", "total"
"""Rules of the reduction over the steps since the previous record: value of the last step, sum, largest, any;
or the sum over all steps since the start of the first run."""
RULES = {
    "verdicts": MOST, "natural": MOST, "natural_scaled": MOST, "penetration": MOST, "opening": MOST,
    "correction": MOST, "iterations": SUM, "newton": SUM, "work_done": SUM, "active": ANY,
    "dissipated": TOTAL, "work": TOTAL, "lifted": TOTAL, "balance": TOTAL,
    f"measures/{CONTACT_WORK}": SUM,
}  # fmt: skip
"""Rules of columns other than `last`; other measures have `most`. Impulses of systems are summed, except
values in first order."""


AT_ONCE = 4
"""Number of columns that are reduced in one part of the work (heuristic)."""


def rule(name: str) -> str:
    """Return the rule of a column."""
    return RULES.get(name, MOST if name.startswith("measures/") else LAST)


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """Entries of all rows, concatenated."""

    counts: IntArray
    """Number of entries of each row [-], shape (n,)."""
    columns: dict[str, Any]
    """Columns by name, shape (counts.sum(), ...) each."""


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """Rows by column."""

    columns: dict[str, Any]
    """Columns by name, shape (n, ...) each, `t` among them."""
    tables: dict[str, Table] = field(default_factory=dict)
    """Tables by name."""
    lent: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    """Arrays whose memory will be reused, as pairs of a dictionary and a key in it."""

    def __len__(self) -> int:
        return len(self.columns["t"])

    def own(self, most: float = math.inf) -> bool:
        """Copy lent arrays up to about `most` bytes; return whether all are copied."""
        done = 0
        while self.lent and done < most:
            columns, name = self.lent.pop()
            columns[name] = np.array(columns[name])
            done += columns[name].nbytes
        return not self.lent


def lent(columns: dict[str, Any], tables: dict[str, Table]) -> Rows:
    """Return rows whose arrays are all in memory that will be reused."""
    parts = [columns, *(table.columns for table in tables.values())]
    return Rows(columns, tables, [(part, name) for part in parts for name in part])


def joined(parts: Sequence[Rows]) -> Rows:
    """Return the concatenation of rows with the same columns and tables; a single part is not copied."""
    if len(parts) == 1:
        return parts[0]
    columns = {name: np.concatenate([one.columns[name] for one in parts]) for name in parts[0].columns}
    tables = {}
    for name, table in parts[0].tables.items():
        each = [one.tables[name] for one in parts]
        entries = {key: np.concatenate([one.columns[key] for one in each]) for key in table.columns}
        tables[name] = Table(np.concatenate([one.counts for one in each]), entries)
    return Rows(columns, tables)


class Reduction:
    """Reduction of rows of steps to rows of records; values after the last record are carried over."""

    def __init__(self, totals: Mapping[str, float], values: Any = None):
        """totals: sums before the first row, by column; values: whether a component of `solver_r` is a value
        and not an impulse [-], shape (size,), bool."""
        self.totals = dict(totals)
        self._values = values
        self._carried: dict[str, Any] = {}

    def carried(self, name: str) -> float:
        """Return the sum of a column since the last record [any]."""
        return float(self._carried.get(name, 0.0))

    def parts(self, rows: Rows, ends: IntArray) -> Generator[None, None, Rows]:
        """Return the rows of records, at `ends`, by the rules of the columns. Tables have no entries for rows
        that are not recorded. This is a generator, which does a few columns at a time."""
        # 1. Totals.
        columns = rows.columns
        for name, before in self.totals.items():
            # Sums in the order of the steps, with the same rounding as one addition per step.
            total = np.array(columns[name])
            total[0] += before
            columns[name] = np.cumsum(total, out=total)
            self.totals[name] = float(total[-1])
        yield
        n = len(rows)
        if len(ends) == n and not self._carried:
            return rows
        # 2. Values of the last steps, as views if possible.
        which: Any = ends if len(ends) else slice(0, 0)
        parts_of_columns = {name: column[which] for name, column in columns.items()}
        # 3. Sums, largest values and any.
        carried, self._carried = self._carried, {}
        names = [name for name in columns if name == "solver_r" or rule(name) not in (LAST, TOTAL)]
        for k, name in enumerate(names, 1):
            how, column = SUM if name == "solver_r" else rule(name), columns[name]
            if k % AT_ONCE == 0:
                yield
            if name in carried:
                column = np.concatenate([np.asarray(carried[name], column.dtype)[None], column])
            if not len(ends) and how == MOST and column.ndim == 1:  # the most frequent case
                most = np.fmax if name.startswith("measures/") else np.maximum
                self._carried[name] = most.reduce(column)
                continue
            shift = len(column) - n
            starts = np.concatenate([[0], ends + 1 + shift])
            starts = starts[starts < len(column)]
            parts = _reduced(how, name, column, starts)
            if name == "solver_r" and self._values is not None:
                lasts = np.concatenate([starts[1:], [len(column)]]) - 1
                parts = np.where(self._values, column[lasts], parts)
            if len(parts) > len(ends):
                self._carried[name] = parts[-1]
            parts_of_columns[name] = parts[: len(ends)]
        tables = {name: Table(table.counts[which], table.columns) for name, table in rows.tables.items()}
        return Rows(parts_of_columns, tables, [one for one in rows.lent if one[0] is not rows.columns])


def _reduced(how: str, name: str, column: Any, starts: IntArray) -> Any:
    """Return one entry for each part of a column; the parts begin at `starts`."""
    if how == ANY:
        return np.logical_or.reduceat(column, starts, axis=0)
    if how == MOST:
        reduce = np.fmax if name.startswith("measures/") else np.maximum  # not measured: NaN
        return reduce.reduceat(column, starts, axis=0)
    if column.dtype != np.float64:
        return np.add.reduceat(column, starts, axis=0)
    # Floating-point sums in the order of the steps, which `reduceat` does not guarantee.
    sums = np.empty((len(starts), *column.shape[1:]))
    lengths = np.diff(np.concatenate([starts, [len(column)]]))
    for length in np.unique(lengths).tolist():
        which = np.flatnonzero(lengths == length)
        total = np.zeros((len(which), *column.shape[1:]))
        for k in range(length):
            total = total + column[starts[which] + k] if k else column[starts[which]]
        sums[which] = total
    return sums
