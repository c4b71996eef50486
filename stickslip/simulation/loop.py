"""`simulate`: a live run up to its end time."""

from dataclasses import replace
from typing import Any

from stickslip.interrupts import Interrupts
from stickslip.schemes import registry
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.clock import Progress, checked_end, ends
from stickslip.simulation.ending import kept
from stickslip.simulation.failure import Missed, SimulationFailure
from stickslip.simulation.live import Live
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import ModelError


def simulate(
    model: Any, *, until: float | None = None, progress: Progress | None = None, **kwargs: Any
) -> Trajectory:  # fmt: skip
    """Simulate `model` to time `until` [s]; see `stickslip.simulate`, which accepts names of solvers, and
    `Live` for the other arguments."""
    if progress is not None and not callable(progress):
        raise ModelError(f"progress is {progress!r}; expected a function of the time reached and the end")
    live: Live | None = None
    complete = False

    def so_far() -> Trajectory | None:
        return None if live is None else live.end(complete)

    def begin() -> tuple[Live, float, int, float]:
        run = Live(model, **kwargs)
        clock = replace(run.clock, index=run.index)
        end = checked_end(until, run.t, clock)
        return run, end, *((run.index, 0.0) if clock.adaptive else ends(clock, run.t, end))

    def work(interrupts: Interrupts) -> None:
        nonlocal live, complete
        live, end, last, rest = interrupts.run(begin)
        interrupts.run(live.show)
        try:
            live.to(end, last, rest, progress, interrupts)
            complete = True
        except (KeyError, IndexError) as error:
            if not isinstance(kwargs.get("start"), Checkpoint) or live.steps:
                raise
            # The memory comes from a file, and has entries that this scheme does not write.
            name = registry.described(live.scheme)[0]
            raise ModelError(f"the memory of the start does not come from {name}: {error}") from None
        except Missed as missed:
            raise SimulationFailure(missed.t, missed.step, so_far(), missed.more) from None

    return kept(work, so_far)
