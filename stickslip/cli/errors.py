"""Exit codes, the one sentence a user sees when what was given cannot be used, and signals."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from types import FrameType


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
    from stickslip.extras import explained
    from stickslip.files.errors import FormatError
    from stickslip.problem.checks import ProblemError

    try:
        yield
    except FormatError as error:
        raise InputError(_foreign(path) or str(error)) from None
    except ProblemError as error:
        raise InputError(f"{path}: {error}") from None
    except ImportError as error:  # a package that the format needs
        raise InputError(f"{path}: {explained(error, 'this')}") from None
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
    return "" if found is None else f"{path}: this file has another format, {found.what}: {found.use}"


def os_sentence(error: OSError, path: object = None) -> str:
    """What the operating system refused, and where: `x.hdf5: permission denied`."""
    where = path if path is not None else error.filename
    what = (error.strerror or str(error) or type(error).__name__).strip()
    # Only the first letter: messages of HDF5 carry names and paths of their own.
    what = what[:1].lower() + what[1:]
    return what if where is None else f"{os.fsdecode(str(where))}: {what}"


class Terminated(KeyboardInterrupt):
    """SIGTERM asks the process to stop, as Ctrl+C does; a second signal ends it."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Within it both signals raise: KeyboardInterrupt, or Terminated. After the first one they act as the
    system has it, so that a second one ends the process even within compiled code.

    A signal that is ignored, or has a handler of its own, is left as it is.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    taken = {number: handler for number, handler in usual.items() if signal.getsignal(number) == handler}

    def stop(number: int, frame: FrameType | None) -> None:
        for each in taken:
            signal.signal(each, signal.SIG_DFL)
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    try:
        for number in taken:
            signal.signal(number, stop)
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)


def stop_code(stop: KeyboardInterrupt) -> ExitCode:
    """What the process returns after that signal."""
    return ExitCode.TERMINATED if isinstance(stop, Terminated) else ExitCode.INTERRUPTED


def stop_word(stop: KeyboardInterrupt) -> str:
    """What is said of work that the signal ended."""
    return "terminated" if isinstance(stop, Terminated) else "interrupted"
