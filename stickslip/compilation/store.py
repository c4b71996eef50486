"""Where machine code is kept: one file a kernel and signature, named by its content's key.

The folder is that of the user's cache (`~/.cache/stickslip/kernels` on Linux), or `NUMBA_CACHE_DIR`. A name
tells everything that the code was made from (`target.py`), so that clones, installations and test workers
share files. Code is loaded and run: a folder or file that others own or may write to is not used.
"""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import config
from numba.misc.appdirs import AppDirs

from stickslip.interrupts import interrupt_behind

try:
    import fcntl
except ImportError:  # Windows: kernels met by two processes at once are compiled by both
    fcntl = None  # type: ignore[assignment]

MOST_BYTES = 2**30
"""Of all files together; beyond it those that were not used for longest are removed."""
KEPT_SHARE = 0.75
"""Of that size, what is kept when files are removed."""
LONGEST_WAIT = 600.0
"""For another process that compiles the same kernel [s]; after it both compile."""
USED_AGAIN = 86_400.0
"""A file's time of use is noted once in so long [s]."""
TRACE = os.environ.get("STICKSLIP_TRACE", "0") != "0"
"""Whether failures of the store are raised, for work on this room."""
OTHERS_WRITE = 0o022
"""Permissions that let others put code into a folder."""
_MAGIC = b"stickslip kernel 1\n"
_DIGEST = 32


class Store:
    """Records by key in one folder. Nothing here raises: what cannot be kept is compiled again."""

    def __init__(self, folder: Path):
        self.folder = folder
        """Where the files are."""
        self._checked: dict[Path, bool] = {}

    def read(self, key: str) -> bytes | None:
        """A record; None if there is none, it is damaged, or others could have written it."""
        path = self._path(key)
        try:
            if not self._is_private(path.parent):
                return None
            with path.open("rb") as file:
                found = os.fstat(file.fileno())
                if not _is_ours(found):
                    return None
                content = file.read()
            head = len(_MAGIC) + _DIGEST
            record = content[head:]
            if (
                not content.startswith(_MAGIC)
                or content[len(_MAGIC) : head] != hashlib.sha256(record).digest()
            ):
                return None
            if time.time() - found.st_mtime > USED_AGAIN:
                with suppress(OSError):
                    os.utime(path)
            return record
        except OSError:
            return None

    def write(self, key: str, record: bytes) -> None:
        """Keep a record: readers see the whole file or none, whoever else writes it."""
        path = self._path(key)
        with suppress(OSError):
            if not self._is_private(path.parent, make=True):
                return
            handle, draft = tempfile.mkstemp(dir=path.parent, suffix=".draft")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_MAGIC + hashlib.sha256(record).digest() + record)
                os.replace(draft, path)
            except BaseException:
                Path(draft).unlink(missing_ok=True)
                raise
            self.trim()

    @contextmanager
    def turn(self, key: str) -> Iterator[None]:
        """Alone with this key among all processes; where no lock can be had, without one.

        A lock of POSIX: it goes with the process that holds it, however that ends.
        """
        path = self._path(key).parent
        try:
            if fcntl is None or not self._is_private(path, make=True):
                raise OSError("no lock")
            file = (path / "lock").open("ab")
        except OSError:
            yield
            return
        with file:
            end = time.monotonic() + LONGEST_WAIT
            while not _locked(file.fileno()) and time.monotonic() < end:
                time.sleep(0.02)
            yield

    def files(self) -> list[tuple[float, int, Path]]:
        """(time of last use, bytes, path) of every record, the oldest first."""
        found = []
        for path in self.folder.glob("??/*.kernel"):
            with suppress(OSError):
                stat = path.stat()
                found.append((stat.st_mtime, stat.st_size, path))
        return sorted(found)

    def trim(self) -> None:
        """Remove what was not used for longest, where all files together are too large."""
        self._since = getattr(self, "_since", 0) + 1
        if self._since % 64 != 1:
            return
        files = self.files()
        total = sum(size for _, size, _ in files)
        if total <= MOST_BYTES:
            return
        for _, size, path in files:
            with suppress(OSError):
                path.unlink()
            total -= size
            if total <= KEPT_SHARE * MOST_BYTES:
                return

    def clear(self) -> tuple[int, int]:
        """Remove every record; (how many there were, their bytes)."""
        files = self.files()
        for folder in self.folder.glob("??"):
            shutil.rmtree(folder, ignore_errors=True)
        self._checked.clear()
        return len(files), sum(size for _, size, _ in files)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.kernel"

    def _is_private(self, folder: Path, *, make: bool = False) -> bool:
        """Whether nobody else may write to a folder of this store; it is made where there is none."""
        known = self._checked.get(folder)
        if known is not None:
            return known
        if make:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            for at in (self.folder, folder):
                at.mkdir(mode=0o700, exist_ok=True)
        elif not folder.is_dir():
            return False
        private = all(_is_ours(at.stat()) for at in (self.folder, folder))
        self._checked[folder] = private
        return private


def user_store() -> Store:
    """That of the user, wherever it is to be."""
    given = str(getattr(config, "CACHE_DIR", ""))
    return Store(Path(given or AppDirs(appname="stickslip", appauthor=False).user_cache_dir) / "kernels")


@cache
def store() -> Store:
    """Where this process keeps kernels."""
    return user_store()


def unless_broken(work: Callable[..., Any], *arguments: Any) -> Any:
    """What `work` with records gives, None if it fails; an interrupt within it is no failure."""
    try:
        return work(*arguments)
    except Exception as error:  # a damaged record raises anything
        if TRACE:
            raise
        interrupt = interrupt_behind(error)
        if interrupt is not None:
            raise interrupt from None
        return None


def _is_ours(stat: os.stat_result) -> bool:
    """Whether the user alone may write to it."""
    return not hasattr(os, "getuid") or (stat.st_uid == os.getuid() and not stat.st_mode & OTHERS_WRITE)


def _locked(file: int) -> bool:
    """Whether the lock is taken now, or is none to wait for."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
