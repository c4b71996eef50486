"""The error of files that cannot be read or written, with a uniform message.

Files are untrusted input: readers convert all their errors to a FormatError, so that users get a useful
message and batch jobs over many files can continue.
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
        """Make the error with the message "path: place: expected ..., found ..."."""
        return cls(f"{path}: {place}: expected {expected}, found {found}")


def shown(text: str | bytes, limit: int = 40) -> str:
    """Quote `text` for messages: printable and at most `limit` characters, as files are untrusted."""
    if isinstance(text, bytes):
        text = text[: 4 * limit].decode("utf-8", "backslashreplace")
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: 4 * limit])
    return f"'{text}'" if len(text) <= limit else f"'{text[:limit]}…'"
