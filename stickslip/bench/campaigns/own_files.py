"""Files of users' code: the named file, and the files that it imports from its folder."""

import ast
import hashlib
from pathlib import Path

INSTALLED = ("stickslip",)
"""Packages that every process has, even if their folder is beside a user's file."""
DIGITS = 12
"""Number of digits of a hash."""


def own_files(file: Path) -> dict[str, Path]:
    """A Python file and, recursively, the files that it imports from its folder: paths by relative names.

    Imports are parsed, not executed. Dynamic imports by `importlib` and data files are not found.
    """
    folder = file.parent
    files: dict[str, Path] = {}
    todo = [file]
    while todo:
        current = todo.pop()
        name = current.relative_to(folder).as_posix()
        if name not in files:
            files[name] = current
            todo += _imports(current, folder)
    return dict(sorted(files.items()))


def file_hash(file: Path) -> str:
    """First twelve digits of the hash of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:DIGITS]


def source_hash(file: Path) -> str:
    """First twelve digits of the hash of a Python file and the files that it imports from its folder."""
    files = own_files(file)
    if len(files) == 1:
        return file_hash(file)
    digest = hashlib.sha256()
    for name, path in files.items():
        content = path.read_bytes()
        digest.update(f"{name}\n{len(content)}\n".encode() + content)
    return digest.hexdigest()[:DIGITS]


def _imports(file: Path, folder: Path) -> list[Path]:
    """Files in the folder that a file imports."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):  # reported when the file is executed
        return []
    paths: list[Path] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                paths += _files_of(one.name.split("."), folder)
        elif isinstance(node, ast.ImportFrom):
            start = file.parents[node.level - 1] if 0 < node.level <= len(file.parents) else folder
            base = node.module.split(".") if node.module else []
            for one in node.names:
                paths += _files_of([*base, one.name], start)
    return [one for one in paths if one.is_relative_to(folder)]


def _files_of(parts: list[str], folder: Path) -> list[Path]:
    """Files of a module in a folder, including its packages; the last part may be a name in a module."""
    paths: list[Path] = []
    for k in range(len(parts) if parts[0] not in INSTALLED else 0):
        place = folder.joinpath(*parts[: k + 1])
        paths += [one for one in (place / "__init__.py", place.with_suffix(".py")) if one.is_file()]
    return paths
