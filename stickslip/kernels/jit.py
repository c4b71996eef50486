"""The one place where Numba enters: `jit`, and compilation kept apart from the work.

With `STICKSLIP_JIT=0` the same kernels run as plain Python, so that a debugger and coverage can
enter. No `fastmath`: compiled and plain kernels round alike.
"""

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, wraps
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.interrupts import interrupt_behind

JIT = os.environ.get("STICKSLIP_JIT", "1") != "0"

if JIT:
    import numba
    from numba.core import ccallback, event
    from numba.core.compiler_lock import global_compiler_lock

    from stickslip.kernels.store import kernel_cache

try:
    import fcntl
except ImportError:  # Windows: kernels met by two processes at once are compiled by both
    fcntl = None  # type: ignore[assignment]

LONGEST_WAIT = 600.0
"""For another process that compiles the same kernel [s]; after it both compile."""


@cache
def stamp(folder: Path) -> tuple[float, int]:
    """Newest change and total size of a folder's kernels, of this file and of `fortran.py`.

    It stands for each file's own stamp.

    Numba's cache looks only at the file of the function itself and would keep a stale caller when
    a kernel in another file, inlined into it, has changed. So kernels call only kernels of their
    own folder; then a change in one room does not compile the others anew.
    """
    shared = {Path(__file__), Path(__file__).with_name("fortran.py")}
    stats = [path.stat() for path in sorted({*folder.glob("*.py"), *shared})]
    return max(s.st_mtime for s in stats), sum(s.st_size for s in stats)


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a kernel (cached on disk, 0/0 is NaN, no reordering of sums)."""
    if not JIT:
        return _plain(function)
    # A wrapper for C takes its time too, and only functions that are `handed` on need one and make their own.
    options: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}
    kernel: Any = numba.njit(**options)(function)
    _keep(kernel, function)
    return kernel  # type: ignore[no-any-return]


@cache
def handed(function: Callable[..., Any], arguments: str) -> Any:
    """`function` compiled to be handed to kernels as an argument, so that they are compiled without it.

    arguments: of each a letter: `f` and `i` for vectors of numbers and of whole numbers, capitals for those
    that it only reads, `x` for a number.
    """
    if not JIT:
        return function
    element = {"f": numba.types.float64, "i": numba.types.int64}
    given = [
        numba.types.float64
        if letter == "x"
        else numba.types.Array(element[letter.lower()], 1, "C", readonly=letter.isupper())
        for letter in arguments
    ]
    made: Any = ccallback.CFunc(function, (tuple(given), numba.types.void), {}, {"error_model": "numpy"})
    _keep(made, function)
    made.compile()
    return made


def _keep(kernel: Any, function: Callable[..., Any]) -> None:
    """Keep the code of a kernel on disk, where there is a place for it."""
    with suppress(RuntimeError):  # no place
        kept = kernel_cache(function)
        kept._cache_file._source_stamp = stamp(Path(function.__code__.co_filename).parent)
        kernel._cache = _Cache(kept)
        kernel.compile = _in_turn(kernel.compile, kernel._cache)


class _Cache:
    """Numba's cache of a kernel, which must never be the reason why a solve fails."""

    def __init__(self, cache: Any):
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, *arguments: Any) -> Any:
        """The stored code, None if there is none or it is damaged."""
        return _unless_broken(self._cache.load_overload, *arguments)

    def save_overload(self, *arguments: Any) -> None:
        """Store the code, if there is room for it."""
        _unless_broken(self._cache.save_overload, *arguments)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Alone with this kernel's files among all processes; where no lock can be had, without one.

        A lock of POSIX: it goes with the process that holds it, however that ends; it is not inherited, and
        a kernel that meets itself while it is compiled does not wait for itself.
        """
        try:
            self._cache._impl.locator.ensure_cache_path()
            file = open(self._cache._cache_file._index_path + ".lock", "ab")  # noqa: SIM115
        except (AttributeError, OSError):
            yield
            return
        with file:
            end = time.monotonic() + LONGEST_WAIT
            while not _is_ours(file.fileno()) and time.monotonic() < end:
                time.sleep(0.02)
            yield


def _unless_broken(work: Callable[..., Any], *arguments: Any) -> Any:
    """What `work` with files of the cache gives, None if it fails; an interrupt within it is no failure."""
    try:
        return work(*arguments)
    except Exception as error:  # a truncated file raises anything
        interrupt = interrupt_behind(error)
        if interrupt is not None:
            raise interrupt from None
        return None


def _in_turn(compile_: Callable[..., Any], cache: "_Cache") -> Callable[..., Any]:
    """Compilation of one kernel, by one process at a time: the next one then loads what this one stored.

    Numba's index of a kernel is read and then written anew: without turns, two processes that store two
    signatures of it can take one name for both, and code would be loaded for the wrong types.
    """

    def compile_in_turn(*signature: Any) -> Any:
        # Numba's own lock first, as everywhere: threads of this process then wait in one order.
        with global_compiler_lock, _no_collection(), cache.turn():
            return compile_(*signature)

    return compile_in_turn


@contextmanager
def _no_collection() -> Iterator[None]:
    """The compiler makes millions of objects that live as long as it does: looking for garbage is in vain."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same in plain Python, as silent as compiled code about overflow and 0/0."""

    @wraps(function)
    def kernel(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return function(*arguments)

    return kernel


def _is_ours(file: int) -> bool:
    """Whether the lock is taken now, or is none to wait for."""
    if fcntl is None:
        return True
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


class Compilation:
    """Seconds spent compiling kernels, or loading them from their cache, inside a `with`."""

    __slots__ = ("_listener", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        """Time under Numba's compiler lock [s]."""

    def __enter__(self) -> "Compilation":
        if JIT:
            self._listener = event.TimingListener()
            event.register("numba:compiler_lock", self._listener)
        return self

    def __exit__(self, *failure: object) -> None:
        if JIT:
            event.unregister("numba:compiler_lock", self._listener)
            if self._listener.done:
                self.seconds = self._listener.duration


def timed(kernel: Callable[..., Any], *arguments: Any) -> tuple[Any, float, float]:
    """(result, seconds of the call, seconds of its compilation); cheap for a compiled kernel."""
    if not JIT or kernel.overloads:  # type: ignore[attr-defined]
        start = time.perf_counter()
        result = kernel(*arguments)
        return result, time.perf_counter() - start, 0.0
    with Compilation() as compilation:
        start = time.perf_counter()
        result = kernel(*arguments)
        seconds = time.perf_counter() - start
    return result, seconds - compilation.seconds, compilation.seconds
