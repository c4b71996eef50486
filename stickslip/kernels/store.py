"""Where Numba keeps the compiled kernels.

Those of an installed package are kept in the cache folder of the user. `pip uninstall` removes only what was
installed: other files beside the modules would keep the folder of the package, which Python could then still
import. Those of a checkout are kept beside the modules, as Numba does. `NUMBA_CACHE_DIR` is another place for
both.
"""

import os
from pathlib import Path
from typing import Any

import numba
from numba.core import caching
from numba.misc.appdirs import AppDirs

INSTALLED = ("site-packages", "dist-packages")
"""Names of the folders that packages are installed to."""
OTHERS_WRITE = 0o022
"""Permissions that let others put code into a folder."""


def kernel_cache(function: Any) -> Any:
    """Numba's cache of one kernel; a RuntimeError where there is no place for it."""
    installed = any(name in Path(function.__code__.co_filename).parts for name in INSTALLED)
    return _InstalledCache(function) if installed else caching.FunctionCache(function)


def _given() -> str:
    """`NUMBA_CACHE_DIR`, empty where it is not set."""
    return str(getattr(numba.config, "CACHE_DIR", ""))


def make_private(folder: Path) -> None:
    """Make a folder where there is none; an OSError where others than the user own it or may write to it.

    Code is loaded from such folders and run.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.stat()
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or found.st_mode & OTHERS_WRITE):
        raise PermissionError(f"{folder}: others may write to it")


class _UserFolder(caching._SourceFileBackedLocatorMixin, caching._CacheLocator):  # type: ignore[misc]
    """A folder of the user's cache for each folder of kernels."""

    def __init__(self, function: Any, file: str):
        self._py_file, self._lineno = file, function.__code__.co_firstlineno
        self._root = Path(AppDirs(appname="stickslip", appauthor=False).user_cache_dir)
        self._path = Path(_given() or self._root, self.get_suitable_cache_subpath(file))

    def get_cache_path(self) -> str:
        """The folder."""
        return str(self._path)

    def ensure_cache_path(self) -> None:
        """Make it; an OSError where that cannot be, or where it is not safe."""
        if not _given():
            self._root.parent.mkdir(parents=True, exist_ok=True)
            make_private(self._root)
            make_private(self._path)
        super().ensure_cache_path()

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "_UserFolder | None":
        """For Numba: None where nothing can be stored."""
        found = cls(py_func, py_file)
        try:
            found.ensure_cache_path()
        except OSError:
            return None
        return found


class _InstalledResults(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = [_UserFolder]  # noqa: RUF012


class _InstalledCache(caching.FunctionCache):  # type: ignore[misc]
    _impl_class = _InstalledResults
