"""Names that are not known: what a message says instead of them."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

LONGEST = 100
"""Letters of a name that are compared; what is longer is no slip of the keyboard."""
SHORTEST = 3
"""Letters from which on a part of a name stands for the whole."""
LISTED = 12
"""Names of bodies and the like that a message lists; there may be thousands of them."""
COMPARED = 10_000
"""Most known names that are compared: a world may have a million bodies."""


def alternatives(name: object, names: Iterable[str], before: str = "known:", most: int | None = None) -> str:
    """`known: admm, ...; did you mean 'nsgs'?`, without the question where no known name is close.

    before: words in front of the list of known names. most: how many of them it shows; None for all.
    """
    known = list(names)
    close = suggestion(name, known)
    return f"{before} {listing(known, most)}{'; ' if close else ''}{close}"


def listing(names: Iterable[str], most: int | None = None) -> str:
    """The first `most` of the names, all for None, with commas between."""
    known = list(names)
    more = ", ..." if most is not None and len(known) > most else ""
    return (", ".join(known[:most]) or "none") + more


def suggestion(name: object, names: Iterable[str]) -> str:
    """`did you mean 'nsgs'?` if a known name is close to `name`, otherwise nothing.

    Case does not count, nor whether words are joined by `-`, `_` or a space. The measure and the limit of
    closeness (0.6) are those of `difflib` (Ratcliff and Obershelp). Where nothing is that close, the first
    known name that begins with `name`, or contains it, is taken, if `name` has at least SHORTEST letters.
    """
    if not isinstance(name, str) or len(name) > LONGEST:
        return ""
    plain: dict[str, str] = {}
    for known in islice(names, COMPARED):
        plain.setdefault(_plain(known), known)
    close = get_close_matches(_plain(name), plain, n=1)
    if not close and len(name) >= SHORTEST:
        part = _plain(name)
        close = sorted((known for known in plain if part in known), key=lambda known: known.find(part))
    return f"did you mean {plain[close[0]]!r}?" if close else ""


def _plain(name: str) -> str:
    return name.casefold().replace("_", "-").replace(" ", "-")
