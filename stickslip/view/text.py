"""Text of strangers, such as names of problems and solvers, made fit to be shown."""

from stickslip.exhibits import Table


def clean(text: str) -> str:
    """`text` with everything that is not seen as an escape: control characters, marks that turn the
    direction of writing, halves of letters. Line breaks and tabs stay."""
    if text.isprintable():
        return text
    seen = (c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode("ascii") for c in text)
    return "".join(seen)


def line(text: str) -> str:
    """`text`, clean and in one line."""
    return " ".join(clean(text).split())


def right_aligned(table: Table) -> tuple[bool, ...]:
    """For each column, whether it holds numbers (and gaps) only."""
    numeric = table.numeric
    return tuple(name in numeric for name in table.headings)
