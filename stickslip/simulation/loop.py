"""`simulate`: a live run carried to its end."""

from typing import Any

from stickslip.interrupts import Interrupts
from stickslip.schemes import registry
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.clock import Clock, Progress, ends
from stickslip.simulation.ending import kept
from stickslip.simulation.failure import SimulationFailure
from stickslip.simulation.live import Live, Missed
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import ModelError


def simulate(model: Any, *, until: float, progress: Progress | None = None, **how: Any) -> Trajectory:
    """Carry `model` to time `until` [s]; see `stickslip.simulate`, which knows solvers by name, and `Live`
    for the other arguments."""
    if progress is not None and not callable(progress):
        raise ModelError(f"progress is {progress!r}; expected a function of the time reached and the end")
    live: Live | None = None
    complete = False

    def so_far() -> Trajectory | None:
        return None if live is None else live.end(complete)

    def begin() -> tuple[Live, int, float]:
        made = Live(model, **how)
        clock = Clock(made.clock.origin, made.clock.h, made.index)
        return made, *ends(clock, made.t, until)

    def work(interrupts: Interrupts) -> None:
        nonlocal live, complete
        live, last, rest = interrupts.run(begin)
        interrupts.run(live.show)
        try:
            live.to(until, last, rest, progress, interrupts)
            complete = True
        except (KeyError, IndexError) as error:
            if not isinstance(how.get("start"), Checkpoint) or live.steps:
                raise
            # A memory from a file may be anything; the scheme met what it never leaves there.
            name = registry.described(live.scheme)[0]
            raise ModelError(f"the memory of the start is not one that {name} leaves: {error}") from None
        except Missed as missed:
            raise SimulationFailure(missed.t, missed.step, so_far(), missed.more) from None

    return kept(work, so_far)
