"""One error for every file that cannot be read or written, with one form of sentence.

Files come from outside, so whatever is wrong with one of them ends here: a reader that lets an
IndexError through tells its user nothing, and a campaign over a thousand files would stop.
"""

from os import PathLike


class FormatError(ValueError):
    """Malformed file, or a request that a format cannot fulfil.

    The message names the file, the position in it, what was expected and what was found.

    Example:

        from pathlib import Path
        Path("broken.dat").write_text("not a problem")
        try:
            ss.read("broken.dat")
        except ss.FormatError as error:
            print(error)
    """

    @classmethod
    def at(cls, path: str | PathLike[str], place: str, expected: str, found: str) -> "FormatError":
        """«file: place: expected this, found that»."""
        return cls(f"{path}: {place}: expected {expected}, found {found}")


def shown(text: str | bytes, limit: int = 40) -> str:
    """`text` in quotes, printable and not longer than `limit`: what a file says may be hostile."""
    if isinstance(text, bytes):
        text = text[: 4 * limit].decode("utf-8", "backslashreplace")
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: 4 * limit])
    return f"'{text}'" if len(text) <= limit else f"'{text[:limit]}…'"
