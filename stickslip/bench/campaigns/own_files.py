"""The files of a user's own code: the one that is named, and those that it imports from beside it."""

import ast
import hashlib
from pathlib import Path

INSTALLED = ("stickslip",)
"""Packages that every process has, even where their folder is beside a file of the user."""
DIGITS = 12
"""Of a hash."""


def own_files(file: Path) -> dict[str, Path]:
    """A Python file and those that it imports from beside it, and these in turn: paths by their names in its
    folder.

    Imports are read, not made. What `importlib` is given at run time, and files of data, are not seen.
    """
    folder = file.parent
    found: dict[str, Path] = {}
    left = [file]
    while left:
        one = left.pop()
        name = one.relative_to(folder).as_posix()
        if name not in found:
            found[name] = one
            left += _imports(one, folder)
    return dict(sorted(found.items()))


def file_hash(file: Path) -> str:
    """First twelve digits of the hash of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:DIGITS]


def source_hash(file: Path) -> str:
    """First twelve digits of the hash of a Python file and of those that it imports from beside it."""
    files = own_files(file)
    if len(files) == 1:
        return file_hash(file)
    whole = hashlib.sha256()
    for name, path in files.items():
        content = path.read_bytes()
        whole.update(f"{name}\n{len(content)}\n".encode() + content)
    return whole.hexdigest()[:DIGITS]


def _imports(file: Path, folder: Path) -> list[Path]:
    """Files in the folder that the imports of a file run."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):  # it says so itself where it is run
        return []
    found: list[Path] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                found += _files_of(one.name.split("."), folder)
        elif isinstance(node, ast.ImportFrom):
            start = file.parents[node.level - 1] if 0 < node.level <= len(file.parents) else folder
            base = node.module.split(".") if node.module else []
            for one in node.names:
                found += _files_of([*base, one.name], start)
    return [one for one in found if one.is_relative_to(folder)]


def _files_of(parts: list[str], folder: Path) -> list[Path]:
    """Files of a module in a folder, its packages before it; the last part may be a name in a module."""
    found: list[Path] = []
    for k in range(len(parts) if parts[0] not in INSTALLED else 0):
        place = folder.joinpath(*parts[: k + 1])
        found += [one for one in (place / "__init__.py", place.with_suffix(".py")) if one.is_file()]
    return found
