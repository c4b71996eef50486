"""Solvers that users bring along: a class in a file or in a package, found and told apart by hash."""

import hashlib
import inspect
import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

PREFIX = "stickslip_own_"
"""What modules made of users' files are called, with the hash of the file behind it."""


class OwnError(ValueError):
    """A solver of the user that cannot be used; the message says why, in one sentence."""


def whole_place(place: str) -> str:
    """`file.py:Class` with the whole path of the file, or `package.module:Class` as it is."""
    path, cls = _parts(place)
    return f"{Path(path).resolve()}:{cls}" if path.endswith(".py") else place


def own_solver(place: str, options: dict[str, Any], tolerance: float) -> Any:
    """An object of the class at `place`; it gets the tolerance if it takes one, and must have `solve`."""
    cls = own_class(place)
    solver = cls(**options | ({"tolerance": tolerance} if takes(cls, "tolerance") else {}))
    if not callable(getattr(solver, "solve", None)):
        raise OwnError(f"{place} has no method solve(problem)")
    return solver


def own_class(place: str) -> type[Any]:
    """The class at `file.py:Class` or `package.module:Class`; its module is run once per process."""
    path, name = _parts(place)
    module = _module(path)
    if not hasattr(module, name):
        raise OwnError(f"{path} has no {name}")
    cls = getattr(module, name)
    if not isinstance(cls, type):
        raise OwnError(f"{name} in {path} is no class")
    return cls


def takes(function: Any, name: str) -> bool:
    """Whether a function or a class can be called with an argument of that name."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C
        return False
    return any(argument.name == name or argument.kind is argument.VAR_KEYWORD for argument in found)


def parameters(cls: Any) -> dict[str, Any]:
    """Options of a class by name, with their defaults."""
    try:
        signature = inspect.signature(cls)
    except (TypeError, ValueError):
        return {}
    return {
        name: found.default
        for name, found in signature.parameters.items()
        if found.default is not found.empty
        and found.kind in (found.POSITIONAL_OR_KEYWORD, found.KEYWORD_ONLY)
    }


def source_hash(place: str) -> str:
    """First twelve digits of the SHA-256 of the file that a class is in."""
    path, _ = _parts(place)
    return hashlib.sha256(_file(path).read_bytes()).hexdigest()[:12]


def _parts(place: str) -> tuple[str, str]:
    path, colon, cls = place.rpartition(":")
    if not colon or not path or not cls.isidentifier():
        raise OwnError(f"{place!r} is not of the form file.py:Class or package.module:Class")
    return path, cls


def _file(path: str) -> Path:
    if path.endswith(".py"):
        if not Path(path).is_file():
            raise OwnError(f"there is no file {path}")
        return Path(path)
    try:
        spec = find_spec(path)
    except (ImportError, ValueError) as error:
        raise OwnError(f"{path} cannot be imported: {error}") from None
    if spec is None or not spec.origin or not Path(spec.origin).is_file():
        raise OwnError(f"there is no module {path}; it must be installed, or on PYTHONPATH")
    return Path(spec.origin)


def _module(path: str) -> ModuleType:
    file = _file(path)
    try:
        return _from_file(file) if path.endswith(".py") else import_module(path)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's module may even leave
        raise OwnError(f"importing {path} failed with {type(error).__name__}: {error}") from None


def _from_file(file: Path) -> ModuleType:
    name = f"{PREFIX}{file.stem}_{hashlib.sha256(file.read_bytes()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise OwnError(f"{file} is no Python file")
    module = module_from_spec(spec)
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # for what it imports from beside it
    sys.modules[name] = module  # dataclasses look for their module there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
