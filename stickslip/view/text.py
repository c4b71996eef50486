"""Text of strangers, such as names of problems and solvers, made fit to be shown."""

import numpy as np

from stickslip.exhibits import Table


def clean(text: str) -> str:
    """`text` with everything that is not seen as an escape: control characters, marks that turn the
    direction of writing, halves of letters. Line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else _escape(c) for c in text)


def line(text: str) -> str:
    """`text`, clean and in one line."""
    return " ".join(clean(text).split())


def right_aligned(table: Table) -> tuple[bool, ...]:
    """For each column, whether it holds numbers (and gaps) only."""
    return tuple(
        any(_is_number(row[k]) for row in table.rows)
        and all(_is_number(row[k]) or row[k] is None for row in table.rows)
        for k in range(len(table.columns))
    )


def _is_number(cell: object) -> bool:
    return isinstance(cell, int | float | np.number) and not isinstance(cell, bool)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
