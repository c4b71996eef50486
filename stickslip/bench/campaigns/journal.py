"""The journal of a running campaign: a line per run, on the disk before the next one begins.

JSON lines. The first says the conditions and the problems, the others hold a run each. A line is written
whole or, if its process is killed meanwhile, without its end; only the last can be such a torn one, and it
is left out when the journal is read. Whoever writes a journal holds a lock on it, which ends with the
process, however that ends.
"""

import os
from pathlib import Path
from typing import Any, NoReturn

try:
    import fcntl
except ImportError:  # no Unix
    fcntl = None  # type: ignore[assignment]

from stickslip.bench.json_data import parsed, written
from stickslip.bench.records import RunRecord
from stickslip.bench.results import Conditions, Entry, Results
from stickslip.files.errors import FormatError, shown
from stickslip.files.problems import file_content

FORMAT, VERSION = "stickslip campaign journal", 1
HEADER = ("format", "version", "conditions", "problems", "command")


class InUse(ValueError):  # noqa: N818 (it says what is)
    """Another campaign writes to the same file."""


def journal_of(path: Path) -> Path:
    """Where the journal of a file of results is."""
    return path.with_name(path.name + ".journal")


def read_journal(path: Path) -> Results | None:
    """What a journal holds; None where it holds nothing, not even its first line."""

    def fail(place: str, expected: str, found: str) -> NoReturn:
        raise FormatError.at(path, place, expected, found)

    *lines, _torn = file_content(path).split(b"\n")
    if not lines:
        return None
    head = parsed(lines[0], "line 1", fail)
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        fail("line 1", f"the format {FORMAT!r}", shown(str(head)[:200]))
    if head.get("version") != VERSION:
        fail("line 1", f"version {VERSION}", shown(str(head.get("version"))))
    kinds = {"problems": list, "command": str}
    if set(head) != set(HEADER) or not all(isinstance(head[key], kind) for key, kind in kinds.items()):
        fail("line 1", "an object of " + ", ".join(HEADER), "something else")
    problems = [Entry.from_json(x, f"line 1, problem {k}", fail) for k, x in enumerate(head["problems"])]
    runs = [
        RunRecord.from_json(parsed(line, f"line {k}", fail), f"line {k}", fail)
        for k, line in enumerate(lines[1:], start=2)
    ]
    known = {entry.hash for entry in problems}
    for k, run in enumerate(runs, start=2):
        if run.problem not in known:
            fail(f"line {k}, problem", "one of the problems of line 1", shown(run.problem))
    conditions = Conditions.from_json(head["conditions"], "line 1", fail)
    return Results(conditions, tuple(problems), tuple(runs), head["command"])


class Journal:
    """A journal that this process alone may write to."""

    def __init__(self, results: Path):
        """Take the journal beside a file of results; `InUse` if another process has it."""
        self.path = journal_of(results)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        while True:
            self._file = os.open(self.path, flags, 0o666)
            if not _lock(self._file):
                os.close(self._file)
                raise InUse(
                    f"{results}: another campaign is writing to it; wait for its end, or use another --out"
                )
            if self._is_at_its_place():
                break
            os.close(self._file)  # its last owner has just removed it

    def begin(self, results: Results) -> None:
        """Forget what was written, for it is safe elsewhere, and begin anew."""
        os.ftruncate(self._file, 0)
        values = (FORMAT, VERSION, results.conditions, results.problems, results.command)
        self.add(dict(zip(HEADER, values, strict=True)))

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

    def add(self, value: RunRecord | dict[str, Any]) -> None:
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
