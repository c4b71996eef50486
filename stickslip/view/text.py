"""Sanitise text from files, such as names of problems and solvers, for display."""

from stickslip.exhibits import Table


def clean(text: str) -> str:
    """Escape the invisible characters of `text`: control characters, marks of writing direction, lone
    surrogates. Line breaks and tabs are kept."""
    if text.isprintable():
        return text
    seen = (c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode("ascii") for c in text)
    return "".join(seen)


def line(text: str) -> str:
    """Return `text` cleaned and in one line."""
    return " ".join(clean(text).split())


def right_aligned(table: Table) -> tuple[bool, ...]:
    """Whether each column contains only numbers and gaps."""
    numeric = table.numeric
    return tuple(name in numeric for name in table.headings)
