"""Cache of machine code: one file per kernel and signature, named by a key of its inputs.

The folder is in the user's cache (`~/.cache/stickslip/kernels` on Linux), or in `NUMBA_CACHE_DIR`. The key
depends on all inputs of the code (`target.py`), so that clones, installations and test workers share files.
Since code is loaded and executed, folders and files that others own or may write to are not used.
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
except ImportError:  # Windows: two processes may compile the same kernel at the same time
    fcntl = None  # type: ignore[assignment]

MOST_BYTES = 2**30
"""Largest total size of the files [bytes]; beyond it the least recently used ones are removed."""
KEPT_SHARE = 0.75
"""Share of MOST_BYTES that remains after files are removed [-]."""
LONGEST_WAIT = 600.0
"""Longest wait for another process that compiles the same kernel [s]; after it both compile."""
USED_AGAIN = 86_400.0
"""Interval at which the time of use of a file is updated [s]."""
TRACE = os.environ.get("STICKSLIP_TRACE", "0") != "0"
"""Whether failures of the store are raised, for debugging."""
OTHERS_WRITE = 0o022
"""Permission bits that let other users write."""
_MAGIC = b"stickslip kernel 1\n"
_DIGEST = 32


class Store:
    """Records by key in one folder. Methods raise no OSError: records that are not stored are recompiled."""

    def __init__(self, folder: Path):
        self.folder = folder
        """Folder of the files."""
        self._checked: dict[Path, bool] = {}

    def read(self, key: str) -> bytes | None:
        """Return a record; None if there is none, it is damaged, or others could have written it."""
        path = self._path(key)
        try:
            if not self._is_private(path.parent):
                return None
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                if not _is_ours(status):
                    return None
                content = file.read()
            head = len(_MAGIC) + _DIGEST
            record = content[head:]
            if (
                not content.startswith(_MAGIC)
                or content[len(_MAGIC) : head] != hashlib.sha256(record).digest()
            ):
                return None
            if time.time() - status.st_mtime > USED_AGAIN:
                with suppress(OSError):
                    os.utime(path)
            return record
        except OSError:
            return None

    def write(self, key: str, record: bytes) -> None:
        """Store a record atomically: readers see the complete file or none."""
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
        """Context with exclusive access to a key among all processes; without a lock if none is available.

        The lock is a POSIX lock, which is released when its process ends for any reason.
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
        """Return (time of last use, bytes, path) of every record, the oldest first."""
        records = []
        for path in self.folder.glob("??/*.kernel"):
            with suppress(OSError):
                stat = path.stat()
                records.append((stat.st_mtime, stat.st_size, path))
        return sorted(records)

    def trim(self) -> None:
        """Remove the least recently used files if all together are too large; checked every 64 calls."""
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
        """Remove all records; return their number and total size [bytes]."""
        files = self.files()
        for folder in self.folder.glob("??"):
            shutil.rmtree(folder, ignore_errors=True)
        self._checked.clear()
        return len(files), sum(size for _, size, _ in files)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.kernel"

    def _is_private(self, folder: Path, *, make: bool = False) -> bool:
        """Return whether no other user may write to a folder of this store; make: create it if missing."""
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
    """Return the store of the user, in its configured folder."""
    folder = str(getattr(config, "CACHE_DIR", ""))
    return Store(Path(folder or AppDirs(appname="stickslip", appauthor=False).user_cache_dir) / "kernels")


@cache
def store() -> Store:
    """Return the store of this process."""
    return user_store()


def unless_broken(work: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of `work`, None if it raises an exception; interrupts are raised."""
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
    """Return whether only this user may write to a file or folder."""
    return not hasattr(os, "getuid") or (stat.st_uid == os.getuid() and not stat.st_mode & OTHERS_WRITE)


def _locked(file: int) -> bool:
    """Try to lock a file; return whether it is locked, or the file system has no locks."""
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
