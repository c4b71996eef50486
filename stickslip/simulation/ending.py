"""However a run ends, it leaves what was done: one rule for systems and for worlds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from stickslip.interrupts import Interrupts
from stickslip.simulation.failure import SimulationFailure
from stickslip.state import ModelError


@contextmanager
def kept(so_far: Callable[[], Any]) -> Iterator[Interrupts]:
    """Whatever ends a run within it, an error or a signal, carries what was done as `.trajectory`.

    `so_far` gives that; None before the first record. Signals are held back (`interrupts.py`): one that is
    to end the run does, whatever becomes of its exception on the way.
    """
    done: Any = None
    try:
        with Interrupts() as interrupts:
            try:
                yield interrupts
            except BaseException:
                done = so_far()  # here, where a second signal does no harm
                raise
    except BaseException as error:
        _attach(error, so_far() if done is None else done)
        raise


def _attach(error: BaseException, done: Any) -> None:
    """Give an error the run so far, and say where that ended, unless its message or a note of it does."""
    with suppress(Exception):  # of an exception that cannot be written to
        error.trajectory = done  # type: ignore[attr-defined]
    said = isinstance(error, ModelError | SimulationFailure) or getattr(error, "__notes__", None)
    if done is not None and not said:
        error.add_note(f"the run ended at t = {done.t[-1]:.9g} s; .trajectory holds what was done")
