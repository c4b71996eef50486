"""Journal of a running campaign: one line per run, written before the next run begins.

The lines are JSON. The first one contains the data common to all runs, the others one run each. If the
process is killed, the last line may be incomplete; readers ignore it. The writer holds a lock on the journal,
which ends with its process.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

try:
    import fcntl
except ImportError:  # no Unix
    fcntl = None  # type: ignore[assignment]

from stickslip.bench.json_data import Fail, Stored, parsed, written
from stickslip.files.errors import FormatError, shown
from stickslip.files.problems import file_content

_T = TypeVar("_T")


class InUse(ValueError):  # noqa: N818 (describes a state)
    """Another campaign writes to the same file."""


def journal_of(path: Path) -> Path:
    """Path of the journal of a results file."""
    return path.with_name(path.name + ".journal")


def read_journal(
    path: Path, head: Mapping[str, Any], read: Callable[[dict[str, Any], Fail], _T],
    add: Callable[[_T, Any, str, Fail], None],
) -> _T | None:  # fmt: skip
    """Read a journal; return None if it has no complete line.

    head: the keys of the first line, each with its value (`format`, `version`) or its type. read: function
    that makes the result from the first line. add: function that adds another line to the result; its
    arguments are the result, the data, the position and `fail`.
    """

    def fail(place: str, expected: str, found: str) -> NoReturn:
        raise FormatError.at(path, place, expected, found)

    *lines, _torn = file_content(path).split(b"\n")
    if not lines:
        return None
    first_line = parsed(lines[0], "line 1", fail)
    if not isinstance(first_line, dict) or first_line.get("format") != head["format"]:
        fail("line 1", f"the format {head['format']!r}", shown(str(first_line)[:200]))
    if first_line.get("version") != head["version"]:
        fail("line 1", f"version {head['version']}", shown(str(first_line.get("version"))))
    kinds = {key: kind for key, kind in head.items() if isinstance(kind, type)}
    if set(first_line) != set(head) or not all(
        isinstance(first_line[key], kind) for key, kind in kinds.items()
    ):
        fail("line 1", "an object of " + ", ".join(head), "something else")
    result = read(first_line, fail)
    for k, line in enumerate(lines[1:], start=2):
        add(result, parsed(line, f"line {k}", fail), f"line {k}", fail)
    return result


class Journal:
    """A journal that is locked for writing by this process."""

    def __init__(self, results: Path, what: str = "campaign"):
        """Lock the journal of a results file; raise `InUse` if another process has locked it.

        what: name of the writer in messages.
        """
        self.path = journal_of(results)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        while True:
            self._file = os.open(self.path, flags, 0o666)
            if not _lock(self._file):
                os.close(self._file)
                raise InUse(
                    f"{results}: another {what} is writing to it; wait for its end, or use another --out"
                )
            if self._is_at_its_place():
                break
            os.close(self._file)  # its previous owner has just removed it

    def begin(self, head: Mapping[str, Any]) -> None:
        """Clear the journal, whose runs have been stored, and write the first line."""
        os.ftruncate(self._file, 0)
        self.add(dict(head))

    def close(self, keep: bool) -> None:
        """Release the journal; remove it if it is empty or `keep` is False."""
        if self._file >= 0:
            if (not keep or not os.fstat(self._file).st_size) and self._is_at_its_place():
                self.path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1

    def _is_at_its_place(self) -> bool:
        """Whether the path still refers to our file, which may have been removed and replaced."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._file))
        except OSError:
            return False

    def add(self, value: Stored | dict[str, Any]) -> None:
        """Write one run to the operating system."""
        line = written(value).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._file, line) :]
        except OSError as error:  # the error of a file descriptor has no path
            raise type(error)(error.errno, error.strerror, str(self.path)) from None


def _lock(file: int) -> bool:
    """Lock a file; return False if another process has locked it. Systems without locks return True."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True
