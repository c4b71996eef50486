"""The source that a kernel is made of: its file and every file of the package that this imports.

A change in any of them changes the machine code, since callees are inlined; a change elsewhere does not.
A file that was edited after this process imported it says nothing of the code in memory: it has no digest.
"""

import hashlib
import re
import time
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
"""Folder of the package."""
NOT_SOURCE = frozenset({"compilation", "interrupts.py"})
"""Entries of the package that produce no machine code: they store, load and time it."""
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(stickslip[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
    r"|import[ \t]+(stickslip[\w.]*))",
    re.MULTILINE,
)
_NAME = re.compile(r"(\w+)(?:[ \t]+as[ \t]+\w+)?")
_imported: dict[str, float] = {}


def note_import(path: str) -> None:
    """Record that a file with kernels is being imported now, unless it was before."""
    _imported.setdefault(path, time.time())


@cache
def imports(path: Path) -> tuple[str, tuple[Path, ...]]:
    """(SHA-256 of a file, files of the package that it imports)."""
    content = path.read_bytes()
    found: set[Path] = set()
    for module, names, plain in _IMPORT.findall(content.decode()):
        base = PACKAGE.parent.joinpath(*(module or plain).split("."))
        found.add(base.with_suffix(".py"))
        found.update(base / f"{name}.py" for name in _NAME.findall(names))
    return hashlib.sha256(content).hexdigest(), tuple(sorted(p for p in found if p.is_file()))


def closure(path: Path) -> list[Path]:
    """The file and all files of the package that it needs, sorted."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        at = waiting.pop()
        if at not in seen and not _is_machinery(at):
            seen.add(at)
            waiting.extend(imports(at)[1])
    return sorted(seen)


@cache
def digest(path: Path) -> str | None:
    """SHA-256 of a file and its closure, the same wherever the package is; None if one was edited since."""
    files = closure(path)
    lines = [f"{_place(at)} {imports(at)[0]}" for at in files]
    by = _imported.get(str(path), time.time())
    if any(_is_edited(at, by) for at in files):
        return None
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _is_edited(path: Path, by: float) -> bool:
    """Whether a file changed after its import, which was at that time [s] at the latest.

    A time in the future is that of another clock, and says nothing.
    """
    return _imported.get(str(path), by) < path.stat().st_mtime <= time.time()


def _is_machinery(path: Path) -> bool:
    """Whether it is a module of the package that produces no machine code."""
    return path.is_relative_to(PACKAGE) and path.relative_to(PACKAGE).parts[0] in NOT_SOURCE


def _place(path: Path) -> str:
    """Its name within the package; of files elsewhere the name alone."""
    return path.relative_to(PACKAGE.parent).as_posix() if path.is_relative_to(PACKAGE) else path.name
