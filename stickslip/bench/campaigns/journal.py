"""The journal of a running campaign: a line per run, on the disk before the next one begins.

JSON lines. The first says what all runs have in common, the others hold a run each. A line is written
whole or, if its process is killed meanwhile, without its end; only the last can be such a torn one, and it
is left out when the journal is read. Whoever writes a journal holds a lock on it, which ends with the
process, however that ends.
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


class InUse(ValueError):  # noqa: N818 (it says what is)
    """Another campaign writes to the same file."""


def journal_of(path: Path) -> Path:
    """Where the journal of a file of results is."""
    return path.with_name(path.name + ".journal")


def read_journal(
    path: Path, head: Mapping[str, Any], read: Callable[[dict[str, Any], Fail], _T],
    add: Callable[[_T, Any, str, Fail], None],
) -> _T | None:  # fmt: skip
    """What a journal holds; None where it holds nothing, not even its first line.

    head: the keys of the first line, each with its value (`format`, `version`) or its type. `read` makes
    what the journal is of out of the first line, `add` adds what another line says, at the place named.
    """

    def fail(place: str, expected: str, found: str) -> NoReturn:
        raise FormatError.at(path, place, expected, found)

    *lines, _torn = file_content(path).split(b"\n")
    if not lines:
        return None
    said = parsed(lines[0], "line 1", fail)
    if not isinstance(said, dict) or said.get("format") != head["format"]:
        fail("line 1", f"the format {head['format']!r}", shown(str(said)[:200]))
    if said.get("version") != head["version"]:
        fail("line 1", f"version {head['version']}", shown(str(said.get("version"))))
    kinds = {key: kind for key, kind in head.items() if isinstance(kind, type)}
    if set(said) != set(head) or not all(isinstance(said[key], kind) for key, kind in kinds.items()):
        fail("line 1", "an object of " + ", ".join(head), "something else")
    made = read(said, fail)
    for k, line in enumerate(lines[1:], start=2):
        add(made, parsed(line, f"line {k}", fail), f"line {k}", fail)
    return made


class Journal:
    """A journal that this process alone may write to."""

    def __init__(self, results: Path, what: str = "campaign"):
        """Take the journal beside a file of results; `InUse` if another process has it. what: as messages
        call who writes."""
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
            os.close(self._file)  # its last owner has just removed it

    def begin(self, head: Mapping[str, Any]) -> None:
        """Forget what was written, for it is safe elsewhere, and begin anew with this first line."""
        os.ftruncate(self._file, 0)
        self.add(dict(head))

    def close(self, keep: bool) -> None:
        """Give the journal back; remove it if it is empty, or not to be kept."""
        if self._file >= 0:
            if (not keep or not os.fstat(self._file).st_size) and self._is_at_its_place():
                self.path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1

    def _is_at_its_place(self) -> bool:
        """Whether the file of that name is still ours: one that was removed may have a successor by now."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._file))
        except OSError:
            return False

    def add(self, value: Stored | dict[str, Any]) -> None:
        """Write one run; it is in the hands of the operating system when this returns."""
        line = written(value).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._file, line) :]
        except OSError as error:  # of a file without a name
            raise type(error)(error.errno, error.strerror, str(self.path)) from None


def _lock(file: int) -> bool:
    """Whether the lock is ours now, or is none that there could be."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True
