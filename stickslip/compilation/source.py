"""Source of a kernel: its file and all files of the package that it imports, directly or indirectly.

A change in any of them may change the machine code, since callees are inlined; a change elsewhere cannot. A
file that was edited after this process imported it does not match the code in memory and has no digest.
"""

import hashlib
import re
import time
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
"""Folder of the package."""
NOT_SOURCE = frozenset({"compilation", "interrupts.py"})
"""Files and folders of the package that do not affect machine code: they store, load and time it."""
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(stickslip[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
    r"|import[ \t]+(stickslip[\w.]*))",
    re.MULTILINE,
)
_NAME = re.compile(r"(\w+)(?:[ \t]+as[ \t]+\w+)?")
_imported: dict[str, float] = {}


def note_import(path: str) -> None:
    """Record the time of the first import of a file with kernels."""
    _imported.setdefault(path, time.time())


@cache
def imports(path: Path) -> tuple[str, tuple[Path, ...]]:
    """Return (SHA-256 of a file, files of the package that it imports)."""
    content = path.read_bytes()
    files: set[Path] = set()
    for module, names, plain in _IMPORT.findall(content.decode()):
        base = PACKAGE.parent.joinpath(*(module or plain).split("."))
        files.add(base.with_suffix(".py"))
        files.update(base / f"{name}.py" for name in _NAME.findall(names))
    return hashlib.sha256(content).hexdigest(), tuple(sorted(p for p in files if p.is_file()))


def closure(path: Path) -> list[Path]:
    """Return the file and all files of the package that it needs, sorted."""
    files: set[Path] = set()
    pending = [path]
    while pending:
        current = pending.pop()
        if current not in files and not _is_machinery(current):
            files.add(current)
            pending.extend(imports(current)[1])
    return sorted(files)


@cache
def digest(path: Path) -> str | None:
    """Return the SHA-256 of a file and its closure, independent of the location of the package.

    Return None if one of the files was edited after its import.
    """
    files = closure(path)
    lines = [f"{_place(at)} {imports(at)[0]}" for at in files]
    by = _imported.get(str(path), time.time())
    if any(_is_edited(at, by) for at in files):
        return None
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _is_edited(path: Path, by: float) -> bool:
    """Return whether a file changed after its import; by: latest possible time of the import [s].

    Times of change in the future come from another clock and are ignored.
    """
    return _imported.get(str(path), by) < path.stat().st_mtime <= time.time()


def _is_machinery(path: Path) -> bool:
    """Return whether a file of the package does not affect machine code."""
    return path.is_relative_to(PACKAGE) and path.relative_to(PACKAGE).parts[0] in NOT_SOURCE


def _place(path: Path) -> str:
    """Return the path within the package, or only the name for files elsewhere."""
    return path.relative_to(PACKAGE.parent).as_posix() if path.is_relative_to(PACKAGE) else path.name
