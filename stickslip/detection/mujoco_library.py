"""MuJoCo, checked as it is imported; the one place that imports it.

The packages `mujoco-core` (4.0 and later), which stickslip needs, and `mujoco` 3 both own the folder
`mujoco/`: the one installed last overwrites files of the other, and removing one removes files of the other.
What is left is MuJoCo 3, a library that cannot be loaded, or a folder without a module, which Python imports
all the same.

MuJoCo 3.17 has all functions that are used here, but gaps of cylinders and ellipsoids are right to 2e-9 with
it where 4.0 reaches 1e-12 (tests/detection/test_general.py), so it is refused.
"""

import threading
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

OLDEST = (4, 0)
"""First version of MuJoCo whose contacts are those that the tests state."""
PACKAGES = ("mujoco-core", "mujoco")
"""Packages that own the folder `mujoco/`."""
NEEDED = ("MjSpec", "MjData", "mj_collision", "mj_geomDistance", "set_mju_user_warning", "FatalError")
"""Some of the names that detection uses: an incomplete installation lacks them."""
REMEDY = "python -m pip uninstall -y mujoco mujoco-core && python -m pip install mujoco-core"
"""Commands that mend every mixture of the two packages."""


class MujocoError(ImportError):
    """MuJoCo cannot be used; the message says what is installed and what to do."""


class Warnings:
    """What MuJoCo warns of in this thread while a `with` lasts; by itself it writes warnings to a file."""

    __slots__ = ("_outer", "found")

    def __init__(self) -> None:
        self.found: list[str] = []

    def __enter__(self) -> list[str]:
        _handler.begin()
        self._outer, _thread.found = _thread.found, self.found
        return self.found

    def __exit__(self, *_: Any) -> None:
        _thread.found = self._outer
        _handler.end()


class _Thread(threading.local):
    """Where warnings of this thread go."""

    found: list[str] | None = None


class _Handler:
    """MuJoCo's handler of warnings, which is one for all threads, while any of them listens."""

    def __init__(self) -> None:
        self._lock, self._listeners = threading.Lock(), 0
        self._before: Callable[[str], Any] | None = None

    def begin(self) -> None:
        """One more listens."""
        mujoco: Any = _library()
        with self._lock:
            if not self._listeners:
                self._before = mujoco.get_mju_user_warning()
                mujoco.set_mju_user_warning(self._hear)
            self._listeners += 1

    def end(self) -> None:
        """One less listens; the last one puts back the handler of before."""
        mujoco: Any = _library()
        with self._lock:
            self._listeners -= 1
            if not self._listeners:
                mujoco.set_mju_user_warning(self._before)

    def _hear(self, text: str) -> None:
        if _thread.found is not None:
            _thread.found.append(text)
        elif self._before is not None:
            self._before(text)


_thread, _handler = _Thread(), _Handler()


@cache
def _library() -> ModuleType:
    """MuJoCo, as it was loaded."""
    return import_module("mujoco")


def load_mujoco() -> ModuleType:
    """The module `mujoco`, of a version that detection can use; a MujocoError otherwise."""
    try:
        mujoco = import_module("mujoco")
    except (ImportError, OSError) as error:  # OSError: the library is of another version than the module
        raise MujocoError(_sentence(f"it cannot be imported ({error})")) from error
    found = str(getattr(mujoco, "__version__", ""))
    lacking = [name for name in NEEDED if not hasattr(mujoco, name)]
    if lacking:
        where = getattr(mujoco, "__file__", None) or "a folder without its files"
        raise MujocoError(_sentence(f"it is incomplete: {where} has no {lacking[0]}"))
    if _numbers(found) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise MujocoError(_sentence(f"version {found} was imported, but {needed} or later is needed"))
    return mujoco


def _sentence(trouble: str) -> str:
    installed = {name: found for name in PACKAGES if (found := _version(name))}
    listed = " and ".join(f"{name} {found}" for name, found in installed.items()) or "neither package"
    conflict = ""
    if len(installed) == len(PACKAGES) and _numbers(installed["mujoco"]) < OLDEST:
        conflict = ", which overwrite each other's files; use MuJoCo 3 in an environment of its own"
    return (
        "shapes other than spheres and planes need MuJoCo for their contacts, and "
        f"{trouble}. Installed: {listed}{conflict}. To mend it: {REMEDY}"
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _numbers(text: str) -> tuple[int, ...]:
    """The leading whole numbers of a version: (4, 0) of `4.0.1rc2`, () of nonsense."""
    parts = text.split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit())
