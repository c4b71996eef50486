"""However a run ends, it leaves what was done: one rule for systems and for worlds."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from stickslip.interrupts import Interrupts
from stickslip.simulation.failure import SimulationFailure
from stickslip.state import ModelError

Run = TypeVar("Run")


def kept(work: Callable[[Interrupts], None], so_far: Callable[[], Run | None]) -> Run:
    """The run after `work`. Whatever ends it, an error or a signal, carries what was done as `.trajectory`.

    `so_far` gives that; None before the first record. Signals are held back (`interrupts.py`): one that is
    to end the run does, whatever becomes of its exception on the way.
    """
    done: Run | None = None
    try:
        with Interrupts() as interrupts:
            try:
                work(interrupts)
            finally:
                done = so_far()  # here, where a signal does no harm
        # Python looks for signals where functions begin, after calls of C and in loops; not on the way from
        # here to where the caller has the run, as long as that is `return` of calls of Python functions.
        assert done is not None
        return done
    except BaseException as error:
        _attach(error, done)
        raise


def _attach(error: BaseException, done: Any) -> None:
    """Give an error the run so far, and say where that ended, unless its message or a note of it does."""
    if done is None:  # an error of the end itself may carry the run
        done = getattr(error, "trajectory", None)
    with suppress(Exception):  # of an exception that cannot be written to
        error.trajectory = done  # type: ignore[attr-defined]
    said = isinstance(error, ModelError | SimulationFailure) or getattr(error, "__notes__", None)
    if done is not None and not said:
        error.add_note(f"the run ended at t = {done.t[-1]:.9g} s; .trajectory contains the steps before")
