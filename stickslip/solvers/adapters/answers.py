"""What the adapters share: an answer that is not finite says so, and matrices as C libraries want them."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.problem.checks import IntArray
from stickslip.problem.solution import Status
from stickslip.solvers.programs import ProgramAnswer


def answered(x: Any, y: Any, status: Status, iterations: int, message: str) -> ProgramAnswer:
    """The answer of a solver as arrays of ours; NOT_FINITE where it claims an end but holds NaN or inf."""
    x, y = (np.array(values, np.float64).reshape(-1) for values in (x, y))
    if status is not Status.INFEASIBLE and not (np.isfinite(x).all() and np.isfinite(y).all()):
        status = Status.NOT_FINITE
    return ProgramAnswer(x, y, status, int(iterations), message)


def tell_interrupt() -> None:
    """Send SIGINT to this process again, after a C library has taken it for itself and ended its solve."""
    signal.raise_signal(signal.SIGINT)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Within it Ctrl+C waits, where a C library would take it for itself and say nothing."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def csc(matrix: sp.csr_array) -> sp.csc_matrix:
    """`matrix` as sorted compressed columns with 32-bit indices, which C libraries take."""
    columns = sp.csc_matrix(matrix)
    columns.sort_indices()
    columns.indices, columns.indptr = columns.indices.astype(np.int32), columns.indptr.astype(np.int32)
    return columns


def upper(P: sp.csr_array) -> sp.csc_matrix:
    """The upper triangle of P with its diagonal."""
    return csc(sp.csr_array(sp.triu(P)))


def cone_sizes(sizes: IntArray) -> list[int]:
    """Rows of the second-order cones as plain integers."""
    return [int(size) for size in sizes]
