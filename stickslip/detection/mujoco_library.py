"""Import of MuJoCo with a check of its version and completeness; all other files import it from here.

The packages `mujoco-core` (4.0 and later), which stickslip needs, and `mujoco` 3 both install into the folder
`mujoco/`: the package installed last overwrites files of the other, and removing one removes files of the
other. The result is MuJoCo 3, a library that cannot be loaded, or a folder without a module, which Python
imports without an error.

MuJoCo 3.17 has all functions that are used here, but is refused: its gaps of cylinders and ellipsoids have
errors of 2e-9, those of 4.0 of 1e-12 (tests/detection/test_general.py).
"""

import threading
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

OLDEST = (4, 0)
"""First version of MuJoCo whose contacts have the accuracy that the tests require."""
PACKAGES = ("mujoco-core", "mujoco")
"""Packages that install into the folder `mujoco/`."""
NEEDED = ("MjSpec", "MjData", "mj_collision", "mj_geomDistance", "set_mju_user_warning", "FatalError")
"""Names that detection uses, and that an incomplete installation lacks."""
REMEDY = "python -m pip uninstall -y mujoco mujoco-core && python -m pip install mujoco-core"
"""Commands that repair an installation with files of both packages."""


class MujocoError(ImportError):
    """MuJoCo cannot be used; the message names the installed packages and the remedy."""


class Warnings:
    """Context manager that collects MuJoCo's warnings of this thread, which MuJoCo would write to a file."""

    __slots__ = ("_outer", "found")

    def __init__(self) -> None:
        self.found: list[str] = []
        """Texts of the warnings."""

    def __enter__(self) -> list[str]:
        _handler.begin()
        self._outer, _thread.found = _thread.found, self.found
        return self.found

    def __exit__(self, *_: Any) -> None:
        _thread.found = self._outer
        _handler.end()


class _Thread(threading.local):
    """List that collects the warnings of this thread; None if there is none."""

    found: list[str] | None = None


class _Handler:
    """MuJoCo's process-wide handler of warnings, installed while any thread collects them."""

    def __init__(self) -> None:
        self._lock, self._listeners = threading.Lock(), 0
        self._before: Callable[[str], Any] | None = None

    def begin(self) -> None:
        """Register a listener; install the handler for the first one."""
        mujoco: Any = _library()
        with self._lock:
            if not self._listeners:
                self._before = mujoco.get_mju_user_warning()
                mujoco.set_mju_user_warning(self._hear)
            self._listeners += 1

    def end(self) -> None:
        """Unregister a listener; the last one restores the previous handler."""
        mujoco: Any = _library()
        with self._lock:
            self._listeners -= 1
            if not self._listeners:
                mujoco.set_mju_user_warning(self._before)

    def _hear(self, text: str) -> None:
        """Pass a warning to the list of this thread, otherwise to the previous handler."""
        if _thread.found is not None:
            _thread.found.append(text)
        elif self._before is not None:
            self._before(text)


_thread, _handler = _Thread(), _Handler()


@cache
def _library() -> ModuleType:
    """Return the module `mujoco`, which `load_mujoco` has checked."""
    return import_module("mujoco")


def load_mujoco() -> ModuleType:
    """Return the module `mujoco`; raise a MujocoError if its version or installation is unusable."""
    try:
        mujoco = import_module("mujoco")
    except (ImportError, OSError) as error:  # OSError: the library is of another version than the module
        raise MujocoError(_sentence(f"it cannot be imported ({error})")) from error
    installed = str(getattr(mujoco, "__version__", ""))
    missing = [name for name in NEEDED if not hasattr(mujoco, name)]
    if missing:
        where = getattr(mujoco, "__file__", None) or "a folder without its files"
        raise MujocoError(_sentence(f"it is incomplete: {where} has no {missing[0]}"))
    if _numbers(installed) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise MujocoError(_sentence(f"version {installed} was imported, but {needed} or later is needed"))
    return mujoco


def _sentence(trouble: str) -> str:
    """Return the message of a `MujocoError`: the trouble, the installed packages and the remedy."""
    installed = {name: release for name in PACKAGES if (release := _version(name))}
    listed = " and ".join(f"{name} {release}" for name, release in installed.items()) or "neither package"
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
    """Return the first two numbers of a version: (4, 0) for `4.0.1rc2`, () for an invalid text."""
    parts = text.split(".")[:2]
    return tuple(int(part) for part in parts if part.isdigit())
