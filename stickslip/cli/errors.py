"""Exit codes, and the one sentence a user sees when what was given cannot be used."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path


class ExitCode(IntEnum):
    """What the process returns; the larger of two is the worse."""

    FINE = 0
    """All done: every answer certified, and what is relaxed by its own choice of law says so."""
    MISSED = 1
    """A solve missed its tolerance; its best iterate is shown, and written if asked."""
    BAD_INPUT = 2
    """Something given cannot be used: a file, an option, a place to write."""
    INTERRUPTED = 130
    """Stopped from the keyboard (128 + SIGINT, as shells count)."""
    BROKEN_PIPE = 141
    """The reader of the output went away (128 + SIGPIPE, as shells count)."""
    TERMINATED = 143
    """Stopped by SIGTERM (128 + SIGTERM, as shells count)."""


class InputError(Exception):
    """What the user gave cannot be used; the message is the sentence to show."""


def complain(sentence: str) -> None:
    """One line on stderr, `stickslip: ...`, whatever line breaks the sentence came with."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"stickslip: {printable(' '.join(sentence.splitlines()))}", file=sys.stderr)


def printable(text: str) -> str:
    """`text` with control characters as escapes: titles and file names may hold anything."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def wrote(place: Path, more: str = "") -> None:
    """Say where something was written."""
    print(f"wrote {printable(str(place))}{more}")


@contextmanager
def refused(*kinds: type[Exception], before: str = "") -> Iterator[None]:
    """Within it errors of these kinds are an `InputError`: their sentence, with the words `before` it."""
    try:
        yield
    except kinds as error:
        # The message of a KeyError is quoted when it is shown as text.
        said = error.args[0] if isinstance(error, KeyError) and error.args else error
        raise InputError(f"{before}{said}") from None


@contextmanager
def usable(path: Path, what: str = "content") -> Iterator[None]:
    """Within it whatever is wrong with a file, read or written, is an `InputError` of one sentence."""
    from stickslip.files.errors import FormatError
    from stickslip.problem.checks import ProblemError

    try:
        yield
    except FormatError as error:
        raise InputError(_foreign(path) or str(error)) from None
    except ProblemError as error:
        raise InputError(f"{path}: {error}") from None
    except FileNotFoundError as error:
        raise InputError(f"{error.filename or path}: no such file") from None
    except OSError as error:
        raise InputError(os_sentence(error, error.filename or path)) from None
    except MemoryError:
        raise InputError(f"{path}: the {what} does not fit into memory") from None


def _foreign(path: Path) -> str:
    """What a file is that is none of stickslip's own, and what to do with it; empty of others."""
    from stickslip.files.errors import FormatError
    from stickslip.files.recognition import recognised

    try:
        found = recognised(path)
    except (FormatError, OSError):
        return ""
    return "" if found is None else f"{path}: this file is of another kind, {found.what}: {found.use}"


def os_sentence(error: OSError, path: object = None) -> str:
    """What the operating system refused, and where: `x.hdf5: permission denied`."""
    where = path if path is not None else error.filename
    what = (error.strerror or str(error) or type(error).__name__).strip()
    # Only the first letter: messages of HDF5 carry names and paths of their own.
    what = what[:1].lower() + what[1:]
    return what if where is None else f"{os.fsdecode(str(where))}: {what}"
