"""Print tables, pairs of names and values, and strict JSON; numbers in tables are never truncated."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from stickslip.cli.errors import printable

if TYPE_CHECKING:
    from rich.table import Table

FOLDED = 24
"""Smallest width of a folded column [characters]."""

WIDEST = 10_000
"""Width of the output if it is not a terminal, so that nothing is wrapped [characters]."""


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Sequence[str] = (),
    folds: Sequence[str] = (),
) -> None:
    """Print rows under headings; columns in `numbers` are right-aligned, those in `folds` may be folded.

    If the terminal is too narrow for the other columns, lines are longer than its width.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    shown = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name in columns:
        least = FOLDED if name in folds else None
        side: Literal["left", "right"] = "right" if name in numbers else "left"
        shown.add_column(name, justify=side, no_wrap=name not in folds, overflow="fold", min_width=least)
    for row in rows:
        shown.add_row(*map(printable, row))
    _show(shown)


def pairs(title: str, rows: Iterable[tuple[str, str]]) -> None:
    """Print a title and, indented below it, a name and a value per line; empty values are omitted."""
    from rich.table import Table

    shown = Table.grid(padding=(0, 2, 0, 0))
    shown.add_column(no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in rows:
        if value:
            shown.add_row(f"  {printable(name)}", printable(value))
    print(printable(title))
    _show(shown)


def print_json(value: Any) -> None:
    """Print strict JSON: numbers that are not finite become null."""
    print(json_text(value, indent=2))


def json_text(value: Any, indent: int = 1) -> str:
    """Convert a value to strict JSON; see `finite`."""
    return json.dumps(finite(value), indent=indent, allow_nan=False)


def csv_text(headings: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Convert a table to CSV (RFC 4180), with all digits of numbers."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows([headings, *rows])
    return text.getvalue()


def finite(value: Any) -> Any:
    """Convert a value to JSON data: arrays to lists, NaN and infinities to None, at all levels."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def duration(seconds: float) -> str:
    """Format a duration [s] with a unit: `1.25 s`, `31.4 ms`, `12 µs`."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def _show(shown: Table) -> None:
    """Print a table of rich, wide enough for all numbers, without trailing spaces."""
    from rich.console import Console
    from rich.measure import Measurement

    # Values are data: a file called [red]x.dat is not markup.
    console = Console(markup=False, emoji=False, highlight=False, file=sys.stdout)
    if not console.is_terminal:
        console.width = WIDEST
    needed = Measurement.get(console, console.options.update(width=WIDEST), shown).minimum
    console.width = max(console.width, needed)
    with console.capture() as capture:
        console.print(shown, crop=False)
    # Rich pads every line to the width of the table.
    print("\n".join(line.rstrip() for line in capture.get().strip("\n").splitlines()))
