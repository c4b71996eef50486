"""Threads: the number that a computation may use, teams of threads, and the limit of BLAS.

Kernels of large problems process parts of the problem without the interpreter's lock. The parts depend only
on the problem, never on the number of threads, so results have the same bits for any number.

BLAS is limited to one thread meanwhile. On matrices of a hundred rows, several threads lose more by
synchronisation than they gain (a factor of thirty on a busy machine), and their sums round differently.
Setting the limit takes 16 µs.
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

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
Result = TypeVar("Result")

DEFAULT = 1
"""Default number of threads: one, so that programs with many processes do not oversubscribe."""
MOST = 1024
"""Largest accepted number of threads."""

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
    """Return a number of threads; raise a ValueError if it is invalid."""
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST:
        raise ValueError(f"threads is {number!r}; expected a whole number from 1 to {MOST}")
    return number


def allowed_threads() -> int:
    """Return the number of threads that a computation may use in this context."""
    return _allowed.get()


def ranges(size: int, parts: int) -> list[tuple[int, int]]:
    """Divide `size` items into consecutive nonempty parts of similar size: first and end of each."""
    parts = max(1, min(parts, size))
    bounds = [size * k // parts for k in range(parts + 1)]
    return list(pairwise(bounds))


class Team:
    """The calling thread and helper threads, within a `with` block.

        with Team() as team:
            results = team.run([partial(kernel, arrays, first, end) for first, end in ranges(n, 8)])

    size: number of threads, by default that of `use_threads`. A team of one starts no helpers. Helpers are
    reused by later teams. Meanwhile BLAS is limited to one thread, and tasks may use one thread, whatever the
    size.
    """

    def __init__(self, size: int | None = None):
        self.size = allowed_threads() if size is None else checked_number(size)
        """Number of threads, including the calling one."""
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
        """Whether a task has failed or the calling thread was interrupted; polled by long tasks."""
        return self._round is not None and self._round.is_stopping

    def run(self, tasks: Sequence[Callable[[], Result]]) -> list[Result]:
        """Run each task once and return the results in order.

        Every thread starts with its own part of the tasks, the same for equal numbers of tasks, so that their
        data may still be in its cache, and then takes tasks of other parts.

        After an exception, or an interrupt of the calling thread, no further task starts. The exception is
        raised once the running tasks have ended; of several exceptions, that of the first task.
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
        except BaseException as error:  # an interrupt between two tasks
            current.is_stopping, interrupt = True, error
        for _ in range(helpers):
            interrupt = self._wait(current) or interrupt
        self._round = None
        if interrupt is not None:
            raise interrupt
        return current.results()

    def _wait(self, current: "_Round[Any]") -> BaseException | None:
        """Wait for one helper despite signals; return the last exception raised by their handlers."""
        interrupt: BaseException | None = None
        while True:
            try:
                current.over.get()
                return interrupt
            except BaseException as error:
                current.is_stopping, interrupt = True, error


class _Helper:
    """A thread that is reused by teams, because starting one takes as long as many small tasks."""

    def __init__(self) -> None:
        self.orders: SimpleQueue[tuple[Context, _Round[Any], int]] = SimpleQueue()
        """Rounds to work on: context of the team, round, and number of the thread in it."""
        Thread(target=self._work, name="stickslip", daemon=True).start()

    def _work(self) -> None:
        """Process rounds for the lifetime of the process; keep no references between them."""
        while True:
            context, current, number = self.orders.get()
            try:
                context.run(current.work, number)
            finally:
                current.over.put(None)
                del context, current


_idle: list[_Helper] = []
"""Helpers that belong to no team at present."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a child process has none of these threads


def _helper() -> _Helper:
    """Return an idle helper, or a new one."""
    try:
        return _idle.pop()
    except IndexError:
        return _Helper()


class _Round(Generic[Result]):
    """Tasks that the threads of a team share."""

    def __init__(self, tasks: Sequence[Callable[[], Result]], threads: int):
        self.over: SimpleQueue[None] = SimpleQueue()
        """Queue with one item for each helper that has finished."""
        self.is_stopping = False
        self._tasks = tasks
        self._parts = [deque(range(*part)) for part in ranges(len(tasks), threads)]
        self._results: list[Any] = [None] * len(tasks)
        self._errors: dict[int, BaseException] = {}

    def work(self, thread: int) -> None:
        """Run tasks while there are any: the thread's own part in order, then others from their ends."""
        for part in (self._parts[thread], *self._parts):
            take = part.popleft if part is self._parts[thread] else part.pop
            while not self.is_stopping:
                try:
                    k = take()
                except IndexError:  # another thread has taken the last one
                    break
                try:
                    self._results[k] = self._tasks[k]()
                except BaseException as error:  # raised by the calling thread
                    self._errors[k], self.is_stopping = error, True

    def results(self) -> list[Result]:
        """Return all results, or raise the exception of the first task that failed."""
        if self._errors:
            raise self._errors[min(self._errors)]
        return self._results


def single_threaded(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Decorate a function so that BLAS uses one thread while it runs."""

    @wraps(function)
    def limited(*arguments: Parameters.args, **named: Parameters.kwargs) -> Returned:
        _blas.hold()
        try:
            return function(*arguments, **named)
        finally:
            _blas.release()

    return limited


class _Blas:
    """Reference-counted limit on the threads of BLAS; the last release restores the previous number."""

    def __init__(self) -> None:
        self._lock, self._holders, self._limit = Lock(), 0, None

    def hold(self) -> None:
        """Limit BLAS to one thread."""
        with self._lock:
            if not self._holders:
                controller = _controller()
                if any(library.num_threads != 1 for library in controller.lib_controllers):
                    _take_control()
                    self._limit = controller.limit(limits=1)
            self._holders += 1

    def release(self) -> None:
        """Restore the number of threads of BLAS once no other user needs the limit."""
        with self._lock:
            self._holders -= 1
            if not self._holders and self._limit is not None:
                _take_control()
                self._limit.restore_original_limits()
                self._limit = None


_blas = _Blas()


def _take_control() -> None:
    """Let this thread set the limit: from 3.8 on threadpoolctl accepts limits from the first thread only."""
    for library in _controller().lib_controllers:
        clear = getattr(library, "clear_controlling_thread", None)
        if clear is not None:
            clear(force=True)


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401 (so that its library is among those that the limit is set for)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
