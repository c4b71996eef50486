"""Unknown names: suggestions and lists of known names for messages."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

LONGEST = 100
"""Largest length of a name for which suggestions are made."""
SHORTEST = 3
"""Smallest length of a part of a name that matches the whole name."""
LISTED = 12
"""Number of names of bodies and the like in a message; there may be thousands."""
COMPARED = 10_000
"""Largest number of known names that are compared: a world may have a million bodies."""


def alternatives(name: object, names: Iterable[str], before: str = "known:", most: int | None = None) -> str:
    """Return `known: admm, ...; did you mean 'nsgs'?`, without the question if no known name is close.

    before: text before the list of known names. most: largest number of names listed; None for all.
    """
    known = list(names)
    close = suggestion(name, known)
    return f"{before} {listing(known, most)}{'; ' if close else ''}{close}"


def listing(names: Iterable[str], most: int | None = None) -> str:
    """Return the first `most` names (None: all), separated by commas."""
    known = list(names)
    ellipsis = ", ..." if most is not None and len(known) > most else ""
    return (", ".join(known[:most]) or "none") + ellipsis


def suggestion(name: object, names: Iterable[str]) -> str:
    """Return `did you mean 'nsgs'?` if a known name is close to `name`, otherwise an empty text.

    Case and the separators `-`, `_` and space are ignored. The measure and threshold of similarity (0.6) are
    those of `difflib` (Ratcliff and Obershelp). If no name is that close, the first known name that begins
    with `name`, or contains it, is suggested, if `name` has at least SHORTEST letters.
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
