"""Threads: how many a computation may use, a team of them, and one thread of BLAS.

Kernels of large problems work without the interpreter's lock on parts of the problem. The parts follow from
the problem alone and never from the number of threads, so the same input gives the same bytes on any number.

BLAS is held to one thread meanwhile. Several lose more by waiting for each other than they win on matrices
of a hundred rows, thirty times as much on a busy machine, and their sums round differently. Setting the
limit takes 16 µs.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from functools import cache, wraps
from itertools import pairwise
from queue import SimpleQueue
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar

Given = ParamSpec("Given")
Found = TypeVar("Found")
Result = TypeVar("Result")

DEFAULT = 1
"""Threads unless `use_threads` says otherwise: programs that run many processes lose nothing."""
MOST = 1024
"""Most threads that may be asked for."""

_allowed: ContextVar[int] = ContextVar("stickslip_threads", default=DEFAULT)


@contextmanager
def use_threads(number: int) -> Iterator[None]:
    """Set the number of threads for large problems within a `with` block; the default is one.

    Example:

        b = ss.WorldBuilder()
        b.body("floor", ss.Plane(), fixed=True)
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 0.5))
        with ss.use_threads(2):
            run = ss.simulate(b.build(), until=0.1, h=1e-2)

    Results are the same bit for bit for any number. Only contact problems between bodies with many thousands
    of contacts use more than one thread. The number holds for the calling thread or asynchronous task, and is
    1 within the tasks of a team.
    """
    token = _allowed.set(checked_number(number))
    try:
        yield
    finally:
        _allowed.reset(token)


def checked_number(number: Any) -> int:
    """A number of threads, checked."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST:
        raise ValueError(f"threads is {number!r}; expected a whole number from 1 to {MOST}")
    return number


def allowed_threads() -> int:
    """Threads that a computation may use here."""
    return _allowed.get()


def ranges(size: int, parts: int) -> list[tuple[int, int]]:
    """`size` things in consecutive parts of about equal size: first and end of each; none is empty."""
    parts = max(1, min(parts, size))
    bounds = [size * k // parts for k in range(parts + 1)]
    return list(pairwise(bounds))


class Team:
    """The calling thread and others that work with it while a `with` lasts.

        with Team() as team:
            results = team.run([partial(kernel, arrays, first, end) for first, end in ranges(n, 8)])

    size: threads in all; those allowed here (`use_threads`) unless given. A team of one starts none. Threads
    stay for the next team. BLAS is on one thread meanwhile, and tasks are allowed one thread, whatever the
    size of the team.
    """

    def __init__(self, size: int | None = None):
        self.size = allowed_threads() if size is None else checked_number(size)
        """Threads, with the one that calls."""
        self._helpers: list[_Helper] = []
        self._round: _Round[Any] | None = None

    def __enter__(self) -> Self:
        _blas.hold()
        self._token = _allowed.set(1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _idle.extend(self._helpers)
        self._helpers.clear()
        _allowed.reset(self._token)
        _blas.release()

    @property
    def is_stopping(self) -> bool:
        """Whether a task has failed or the calling thread was interrupted: long tasks ask, and end early."""
        return self._round is not None and self._round.is_stopping

    def run(self, tasks: Sequence[Callable[[], Result]]) -> list[Result]:
        """What the tasks return, in their order; each is called once. Every thread begins with a part of
        its own, the same for equally many tasks, whose data are still near it, and goes on with others.

        After an exception, or an interrupt of the calling thread, no further task begins, and it goes up as
        soon as those that have begun are over; among several exceptions that of the first task.
        """
        helpers = min(self.size, len(tasks)) - 1
        if helpers <= 0:
            return [task() for task in tasks]
        while len(self._helpers) < helpers:
            self._helpers.append(_helper())
        current = self._round = _Round(tasks, helpers + 1)
        for number, helper in enumerate(self._helpers[:helpers], 1):
            helper.orders.put((copy_context(), current, number))
        interrupt: BaseException | None = None
        try:
            current.work(0)
        except BaseException as error:  # between two tasks: those are over whatever happens here
            current.is_stopping, interrupt = True, error
        for _ in range(helpers):
            interrupt = self._wait(current) or interrupt
        self._round = None
        if interrupt is not None:
            raise interrupt
        return current.results()

    def _wait(self, current: "_Round[Any]") -> BaseException | None:
        """Wait for one helper, whatever signals arrive; the last exception that their handlers raised."""
        found: BaseException | None = None
        while True:
            try:
                current.over.get()
                return found
            except BaseException as error:
                current.is_stopping, found = True, error


class _Helper:
    """A thread that works for one team after the other: to begin one takes as long as many small tasks."""

    def __init__(self) -> None:
        self.orders: SimpleQueue[tuple[Context, _Round[Any], int]] = SimpleQueue()
        """Rounds that it is to work on, each in a context of the team, and its number there."""
        Thread(target=self._work, name="stickslip", daemon=True).start()

    def _work(self) -> None:
        """What the thread does as long as the process lives: it keeps nothing between two rounds."""
        while True:
            context, current, number = self.orders.get()
            try:
                context.run(current.work, number)
            finally:
                current.over.put(None)
                del context, current


_idle: list[_Helper] = []
"""Threads that work for no team."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a child process has none of these threads


def _helper() -> _Helper:
    """A thread that is idle, or a new one."""
    try:
        return _idle.pop()
    except IndexError:
        return _Helper()


class _Round(Generic[Result]):
    """Tasks that the threads of a team share."""

    def __init__(self, tasks: Sequence[Callable[[], Result]], threads: int):
        self.over: SimpleQueue[None] = SimpleQueue()
        """One item for each helper that has no more to do."""
        self.is_stopping = False
        self._tasks = tasks
        self._parts = [deque(range(*part)) for part in ranges(len(tasks), threads)]
        self._results: list[Any] = [None] * len(tasks)
        self._errors: dict[int, BaseException] = {}

    def work(self, thread: int) -> None:
        """Take tasks as long as there are any: those of the part of a thread in their order, then the last
        ones of other parts."""
        for part in (self._parts[thread], *self._parts):
            take = part.popleft if part is self._parts[thread] else part.pop
            while not self.is_stopping:
                try:
                    k = take()
                except IndexError:  # another thread has the last one
                    break
                try:
                    self._results[k] = self._tasks[k]()
                except BaseException as error:  # told by the calling thread
                    self._errors[k], self.is_stopping = error, True

    def results(self) -> list[Result]:
        """All results, or the exception of the first task that has one."""
        if self._errors:
            raise self._errors[min(self._errors)]
        return self._results


def single_threaded(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """The same function with BLAS on one thread while it runs."""

    @wraps(function)
    def limited(*arguments: Given.args, **named: Given.kwargs) -> Found:
        _blas.hold()
        try:
            return function(*arguments, **named)
        finally:
            _blas.release()

    return limited


class _Blas:
    """The limit on threads of BLAS, which is one of the process: the first who needs it sets it, and the last
    one puts back what was."""

    def __init__(self) -> None:
        self._lock, self._holders, self._limit = Lock(), 0, None

    def hold(self) -> None:
        """One thread from here on."""
        with self._lock:
            if not self._holders:
                controller = _controller()
                if any(library.num_threads != 1 for library in controller.lib_controllers):
                    _take_control()
                    self._limit = controller.limit(limits=1)
            self._holders += 1

    def release(self) -> None:
        """As many as before, where nobody else needs one."""
        with self._lock:
            self._holders -= 1
            if not self._holders and self._limit is not None:
                _take_control()
                self._limit.restore_original_limits()
                self._limit = None


_blas = _Blas()


def _take_control() -> None:
    """Let this thread set the limit: threadpoolctl from 3.8 on hears one thread alone, the first that did,
    and the others' limits have no effect."""
    for library in _controller().lib_controllers:
        clear = getattr(library, "clear_controlling_thread", None)
        if clear is not None:
            clear(force=True)


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401 (so that its library is among those that the limit is set for)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
