"""End of a run, by completion, an error or a signal: the records so far are always returned or attached."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from stickslip.interrupts import Interrupts
from stickslip.simulation.failure import SimulationFailure
from stickslip.state import ModelError

Run = TypeVar("Run")


def kept(work: Callable[[Interrupts], None], so_far: Callable[[], Run | None]) -> Run:
    """Do `work`, and return the run. An error or a signal that ends it has the records so far as its
    attribute `trajectory`.

    `so_far` returns the records, or None before the first one. Signals are deferred (`interrupts.py`), and
    end the run even if their exception is suppressed on the way.
    """
    done: Run | None = None
    try:
        with Interrupts() as interrupts:
            try:
                work(interrupts)
            finally:
                done = so_far()  # signals are still deferred here
        # Python handles signals at the start of functions, after calls of C and in loops. It does not between
        # here and the caller's assignment, as long as there are only `return`s of Python functions.
        assert done is not None
        return done
    except BaseException as error:
        _attach(error, done)
        raise


def _attach(error: BaseException, done: Any) -> None:
    """Attach the run so far to an error, and a note of its end time unless the message or a note has it."""
    if done is None:  # an error at the end of the run may have it already
        done = getattr(error, "trajectory", None)
    with suppress(Exception):  # exceptions without attributes
        error.trajectory = done  # type: ignore[attr-defined]
    has_time = isinstance(error, ModelError | SimulationFailure) or getattr(error, "__notes__", None)
    if done is not None and not has_time:
        error.add_note(f"the run ended at t = {done.t[-1]:.9g} s; .trajectory contains the steps before")
