"""Tables and figures as plain data: the command line prints and writes them, `view` draws them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.problem.checks import Array

Cell = str | int | float | bool | None
"""Content of a table cell: text, a number, yes or no, or None if nothing was run."""

NOT_RUN = "not run"
"""Text of a cell without a value."""

GUIDE = -1
"""Colour of a curve that is not data, thin and grey, such as a bound."""


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, and the format of its numbers."""

    name: str
    """Heading, with the unit in brackets if any."""
    form: str = ".4g"
    """Format of floating-point cells, as of `format`: ".10g" for ten digits; or "power", see `power`."""


@dataclass(frozen=True)
class Table:
    """A titled table; a column may be given as its name."""

    title: str
    """Title of the table, one line."""
    columns: Sequence[Column | str]
    """Headings, from left to right."""
    rows: Sequence[Sequence[Cell]]
    """Cells of each row, as many as there are columns."""
    note: str = ""
    """Note below the table."""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{self.title}: a row of {len(row)} cells under {len(self.columns)} columns")

    @classmethod
    def of(cls, title: str, items: Iterable[Any], *columns: tuple[Any, ...], note: str = "") -> Table:
        """Return a table with one row per item.

        Each column is (heading, cell) or (heading, format, cell), where cell is a function of the item, or of
        its parts if it is a tuple. NumPy numbers are converted to plain ones.
        """
        cells: list[Callable[..., Any]] = [column[-1] for column in columns]
        rows = [[cell(*item) if type(item) is tuple else cell(item) for cell in cells] for item in items]
        plain = [tuple(x.item() if isinstance(x, np.generic) else x for x in row) for row in rows]
        return cls(title, [Column(*column[:-1]) for column in columns], plain, note)

    @property
    def headings(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self._columns)

    @property
    def numeric(self) -> tuple[str, ...]:
        """Names of the columns with only numbers (and missing values)."""
        return tuple(
            column.name
            for k, column in enumerate(self._columns)
            if any(_is_number(row[k]) for row in self.rows)
            and all(_is_number(row[k]) or row[k] is None for row in self.rows)
        )

    def text(self) -> list[tuple[str, ...]]:
        """Return the cells as text."""
        return [
            tuple(shown(cell, column.form) for cell, column in zip(row, self._columns, strict=True))
            for row in self.rows
        ]

    @property
    def _columns(self) -> tuple[Column, ...]:
        return tuple(Column(c) if isinstance(c, str) else c for c in self.columns)


@dataclass(frozen=True, eq=False)
class Curve:
    """One line of a panel."""

    name: str
    """Name in the legend; curves of one name share an entry and a colour."""
    x: Array
    """Abscissae, in the unit of the panel [-], shape (points,)."""
    y: Array
    """Ordinates, in the unit of the panel; NaN leaves a gap [-], shape (points,)."""
    style: str = "-"
    """Line style of Matplotlib, or "o" or "x" for points alone."""
    colour: int | None = None
    """Index in the palette, or `GUIDE`; None for the next free colour."""


@dataclass(frozen=True, eq=False)
class HeatMap:
    """Numbers over a rectangle, cell by cell, as colours."""

    x: Array
    """Edges of the cells along x, in the unit of the panel [-], shape (across + 1,)."""
    y: Array
    """Edges of the cells along y, in the unit of the panel [-], shape (up + 1,)."""
    values: Array
    """A number for each cell; NaN leaves it empty [-], shape (up, across)."""
    label: str
    """Quantity and unit of the numbers."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One pair of axes."""

    title: str
    """Title above the axes."""
    x_label: str
    """Quantity and unit along x."""
    y_label: str
    """Quantity and unit along y."""
    curves: Sequence[Curve]
    """Curves in drawing order."""
    log_x: bool = False
    """Whether x is logarithmic."""
    log_y: bool = False
    """Whether y is logarithmic."""
    steps: bool = False
    """Whether the curves are step functions, constant to the right of each point."""
    level: float | None = None
    """Ordinate of a dotted horizontal line, such as a tolerance, in the unit of y."""
    y_range: tuple[float, float] | None = None
    """Range of the y axis, in the unit of y; automatic if None."""
    equal: bool = False
    """Whether x and y have equal scales, with fine lines: for views of bodies."""
    heat: HeatMap | None = None
    """Numbers as colours, behind the curves."""


@dataclass(frozen=True, eq=False)
class Figure:
    """Panels in rows of `across`, under one title."""

    title: str
    """Title above all panels."""
    panels: Sequence[Panel]
    """Panels, row by row."""
    across: int = 2
    """Number of panels in a row."""
    note: str = ""
    """Note below the panels."""


@dataclass(frozen=True, eq=False)
class Section:
    """A part of a page: text, then its tables and figures."""

    title: str
    """Heading."""
    text: Sequence[str] = ()
    """Paragraphs, plain text."""
    tables: Sequence[Table] = ()
    """Tables of the section."""
    figures: Sequence[Figure] = ()
    """Figures of the section, after the tables."""
    code: str = ""
    """Commands or settings, shown as they are."""
    folded: bool = False
    """Whether it is initially folded, if the medium permits: for long tables."""


@dataclass(frozen=True, eq=False)
class Page:
    """A whole report: one file for a browser, or text for a paper."""

    title: str
    """Title of the page."""
    summary: Sequence[str]
    """Summary, one sentence each."""
    sections: Sequence[Section]
    """Sections of the page."""


def shown(cell: Cell, form: str = ".4g") -> str:
    """Return a cell as text: None is "not run", an infinite or undefined number a dash."""
    if cell is None:
        return NOT_RUN
    if isinstance(cell, bool | np.bool_):
        return "yes" if cell else "no"
    if isinstance(cell, float | np.floating):
        if not math.isfinite(cell):
            return "–"
        return power(cell) if form == "power" else format(cell, form)
    return str(cell)


def power(number: float) -> str:
    """Return a number such as a tolerance in short form, 1e-8, without loss of digits."""
    mantissa, _, exponent = np.format_float_scientific(number, trim="-").partition("e")
    return f"{mantissa}e{int(exponent)}"


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, int | float | np.number) and not isinstance(cell, bool)
