"""Steps that missed their tolerance: what is done about them, and a run that was told to stop at one."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

from stickslip.schemes.step import Memory, Step
from stickslip.simulation.clock import MOST_HALVINGS
from stickslip.state import State


class Missed(Exception):  # noqa: N818
    """A step that missed its tolerance and must not be accepted."""

    def __init__(self, t: float, step: Any, more: str = ""):
        self.t, self.step, self.more = t, step, more


class SimulationFailure(RuntimeError):  # noqa: N818 (a failure is not an error of the caller)
    """Exception of a step that missed its tolerance; `trajectory` contains the records before it.

    Example:

        b = ss.WorldBuilder()
        b.body("floor", ss.Plane(), fixed=True)
        b.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), velocity=(1, 0, 0))
        try:
            ss.simulate(b.build(), until=0.1, h=1e-2, solver=ss.solvers.FixedPoint(max_iterations=1))
        except ss.SimulationFailure as failure:
            print(failure)
    """

    def __init__(self, t: float, step: Step, trajectory: Any, more: str = ""):
        self.t, self.step, self.trajectory = t, step, trajectory
        bad = [one for one in step.solves if not one.ok]
        bad.sort(key=lambda one: -one.verdict.code)  # of a relaxed step only what was missed is to blame
        self.solution = bad[0] if bad else None
        """The first answer that missed its tolerance; None where the scheme itself failed."""
        reason = step.reason or "; ".join(
            f"{one.solver}: {one.reason or one.status.value} (natural {one.residuals.natural:.2e},"
            f" natural_scaled {one.residuals.natural_scaled:.2e}, tolerance {one.tolerance:.0e})"
            for one in bad[:1]
        )
        kept = '"accept" or "halve" continues, and .trajectory contains the steps before'
        goes_on = '"accept" goes on' if trajectory is None else kept
        super().__init__(
            f"the step of h = {step.h:.6g} s from t = {t:.9g} s missed its tolerance{more}: {reason};"
            f" on_failure={goes_on}"
        )


def steps_to(
    t: float, h: float, steps: Any, state: State, recall: Callable[[], Memory], on_failure: str,
    good: Callable[[Any], bool], run: Callable[..., Any],
) -> tuple[Any, ...]:  # fmt: skip
    """The step of length h [s] from `state` to t [s], cut at edges, or what `on_failure` makes of it. run:
    calls what signals may cut short; the rest as `in_its_place` has it."""
    taken: tuple[Any, ...] = ()
    edges = getattr(steps, "edges", None)
    ends = (t,) if edges is None else edges.cuts(state.t, t)
    for end in ends:
        step = run(steps.step, state, recall(), h if len(ends) == 1 else end - state.t)
        made = (step,)
        if not good(step):
            made = run(in_its_place, step, on_failure, good, steps, state, recall)
        taken += made
        state, recall = made[-1].state, partial(attrgetter("memory"), made[-1])
    return taken


def in_its_place(
    step: Any, on_failure: str, good: Callable[[Any], bool], steps: Any, state: State,
    recall: Callable[[], Memory],
) -> tuple[Any, ...]:  # fmt: skip
    """The steps to take in place of one from `state` that missed its tolerance: itself, or 2, 4, ... shorter
    ones. steps: makes them; good: whether one solved what it was to solve; recall: gives the scheme's memory
    at `state`."""
    if on_failure == "accept":
        return (step,)
    raised = on_failure == "raise"
    more = steps.explain(state, step, raised)
    if raised:
        raise Missed(state.t, step, more)
    for halvings in range(1, MOST_HALVINGS + 1):
        h, at, memory, shorter = step.h / 2**halvings, state, recall(), []
        for _ in range(2**halvings):
            one = steps.step(at, memory, h)
            if not good(one):
                break
            shorter.append(one)
            at, memory = one.state, one.memory
        else:
            return tuple(shorter)
    raise Missed(state.t, step, f", and so did one of {2**MOST_HALVINGS} shorter ones")
