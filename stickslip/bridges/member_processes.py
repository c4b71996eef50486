"""Members of a batch function in several processes, because derivatives run in Python, where threads do not
run
in parallel."""

import os
import pickle
import signal
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection, get_context, parent_process
from threading import Thread
from typing import Any

from stickslip.bridges.step_function import ArraysFunction, function_of
from stickslip.schemes.step import Solver
from stickslip.state import ModelError
from stickslip.threads import ranges

PARTS = 4
"""Number of parts of the members per process, for load balance; heuristic."""
_one: ArraysFunction | None = None
"""Function of a single member, in a process of the pool."""


class MemberProcesses:
    """Pool of processes with the function of a member; it is started by the first call."""

    def __init__(self, count: int, thing: Any, h: float, solver: Solver, fields: dict[str, Any]):
        self.count = count
        """Number of processes."""
        try:
            self._given = pickle.dumps((thing, h, solver, fields))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ModelError(
                f"processes is {count}, and this model does not go to other processes ({error}): its"
                " functions must stand at the top of a module; or leave processes out"
            ) from None
        self._pool: ProcessPoolExecutor | None = None

    def run(self, verb: str, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the result of a method of the function of a member for each row of arguments; None where it
        raised an exception."""
        if self._pool is None:
            context = get_context("spawn")  # a fork copies locks of threads of JAX and torch
            self._pool = ProcessPoolExecutor(self.count, context, initializer=_begin, initargs=(self._given,))
        parts = ranges(len(rows), PARTS * self.count)
        try:
            futures = [self._pool.submit(_made, verb, rows[first:end]) for first, end in parts]
            return [one for part in futures for one in part.result()]
        except BrokenProcessPool:
            self.close()
            raise RuntimeError(
                "a process of a batch function ended: a script that calls it does so under"
                ' if __name__ == "__main__":, and there must be memory for all processes'
            ) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the processes; the next call starts new ones."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)


def _begin(given: bytes) -> None:
    """Create the function in a process of the pool.

    The process ignores Ctrl+C, which its parent handles, and ends with its parent.
    """
    global _one
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    _one = function_of(*pickle.loads(given))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _made(verb: str, rows: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the results of some members; None for an exception."""
    results: list[Any] = []
    for row in rows:
        try:
            results.append(getattr(_one, verb)(*row))
        except Exception:  # the parent computes the member again, and raises it
            results.append(None)
    return results
