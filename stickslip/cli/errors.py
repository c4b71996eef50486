"""Exit codes, error messages of one sentence, and signals."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from types import FrameType


class ExitCode(IntEnum):
    """Exit status of the process; of two codes the larger is the more severe."""

    FINE = 0
    """Success: every answer is certified, or its law is relaxed and the output says so."""
    MISSED = 1
    """A solve missed its tolerance; its best iterate is shown, and written if requested."""
    BAD_INPUT = 2
    """An input cannot be used: a file, an option, an output path."""
    INTERRUPTED = 130
    """Stopped from the keyboard (128 + SIGINT, the convention of shells)."""
    BROKEN_PIPE = 141
    """The reader of the output closed the pipe (128 + SIGPIPE, the convention of shells)."""
    TERMINATED = 143
    """Stopped by SIGTERM (128 + SIGTERM, the convention of shells)."""


class InputError(Exception):
    """An input of the user cannot be used; the message is the sentence to show."""


def complain(sentence: str) -> None:
    """Print one line on stderr, `stickslip: ...`; line breaks of the sentence become spaces."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"stickslip: {printable(' '.join(sentence.splitlines()))}", file=sys.stderr)


def printable(text: str) -> str:
    """Return `text` with escaped control characters, which titles and file names may contain."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def wrote(place: Path, more: str = "") -> None:
    """Print the path of a written file, followed by `more`."""
    print(f"wrote {printable(str(place))}{more}")


def report_files(written: Iterable[Path], unwritten: str) -> ExitCode:
    """Print the paths of written files, complain of the sentence `unwritten` if any; return the exit code."""
    for place in written:
        wrote(place)
    if unwritten:
        complain(unwritten)
        return ExitCode.BAD_INPUT
    return ExitCode.FINE


@contextmanager
def refused(*kinds: type[Exception], before: str = "") -> Iterator[None]:
    """Convert exceptions of these kinds to an `InputError`; `before` is put before their message."""
    try:
        yield
    except kinds as error:
        # str() of a KeyError puts its message in quotes.
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        raise InputError(f"{before}{message}") from None


@contextmanager
def usable(path: Path, what: str = "content") -> Iterator[None]:
    """Convert errors of reading or writing `path` to an `InputError`; `what` names the content."""
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
    """Describe a file of another known format and its uses; empty if the format is not recognised."""
    from stickslip.files.errors import FormatError
    from stickslip.files.recognition import recognised

    try:
        match = recognised(path)
    except (FormatError, OSError):
        return ""
    return "" if match is None else f"{path}: this file has another format, {match.what}: {match.use}"


def os_sentence(error: OSError, path: object = None) -> str:
    """Describe an error of the operating system, with the path: `x.hdf5: permission denied`."""
    place = path if path is not None else error.filename
    reason = (error.strerror or str(error) or type(error).__name__).strip()
    # Only the first letter is made small: messages of HDF5 contain names and paths.
    reason = reason[:1].lower() + reason[1:]
    return reason if place is None else f"{os.fsdecode(str(place))}: {reason}"


class Terminated(KeyboardInterrupt):
    """Raised by SIGTERM, which stops the process as Ctrl+C does; a second signal kills it."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Make SIGINT raise KeyboardInterrupt and SIGTERM raise `Terminated`.

    After the first signal both have their default action, so that a second signal ends the process even
    in compiled code. Signals that are ignored, or have another handler, are not changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    defaults = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    handled = {number: handler for number, handler in defaults.items() if signal.getsignal(number) == handler}

    def stop(number: int, frame: FrameType | None) -> None:
        for each in handled:
            signal.signal(each, signal.SIG_DFL)
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    try:
        for number in handled:
            signal.signal(number, stop)
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)


def stop_code(stop: KeyboardInterrupt) -> ExitCode:
    """Exit code after a signal."""
    return ExitCode.TERMINATED if isinstance(stop, Terminated) else ExitCode.INTERRUPTED


def stop_word(stop: KeyboardInterrupt) -> str:
    """Word of the message about work that a signal ended."""
    return "terminated" if isinstance(stop, Terminated) else "interrupted"


def stopped_runs(stop: KeyboardInterrupt, count: Callable[[], int], out: Path) -> ExitCode:
    """Complain that a signal ended a command that stores runs in `out`; return its exit code.

    `count` returns the number of stored runs, or raises an OSError or ValueError without any.
    """
    stored = "no run was made"
    with suppress(OSError, ValueError):
        number = count()
        stored = f"{number} {'run is' if number == 1 else 'runs are'} stored in {out}"
    complain(f"{stop_word(stop)}; {stored}; repeat the command to continue")
    return stop_code(stop)
