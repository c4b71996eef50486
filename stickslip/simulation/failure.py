"""Steps that miss their tolerance: how `on_failure` treats them, and the exception that ends a run."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

from stickslip.schemes.step import Memory, Step
from stickslip.simulation.clock import MOST_HALVINGS
from stickslip.state import State


class Missed(Exception):  # noqa: N818
    """Internal exception of a step that missed its tolerance and must not be accepted."""

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
        bad = [solution for solution in step.solves if not solution.ok]
        bad.sort(key=lambda solution: -solution.verdict.code)  # missed before relaxed ones
        self.solution = bad[0] if bad else None
        """The first solution that missed its tolerance; None if the scheme itself failed."""
        reason = step.reason or "; ".join(
            f"{solution.solver}: {solution.reason or solution.status.value}"
            f" (natural {solution.residuals.natural:.2e},"
            f" natural_scaled {solution.residuals.natural_scaled:.2e}, tolerance {solution.tolerance:.0e})"
            for solution in bad[:1]
        )
        choices = '"accept" or "halve" continues, and .trajectory contains the steps before'
        goes_on = '"accept" goes on' if trajectory is None else choices
        super().__init__(
            f"the step of h = {step.h:.6g} s from t = {t:.9g} s missed its tolerance{more}: {reason};"
            f" on_failure={goes_on}"
        )


def steps_to(
    t: float, h: float, steps: Any, state: State, recall: Callable[[], Memory], on_failure: str,
    good: Callable[[Any], bool], run: Callable[..., Any],
) -> tuple[Any, ...]:  # fmt: skip
    """Return the steps from `state` to t [s], over h [s], divided at edges; steps that fail are replaced as
    `on_failure` says. run: calls functions that signals may interrupt; other arguments as in
    `in_its_place`."""
    parts: tuple[Any, ...] = ()
    edges = getattr(steps, "edges", None)
    ends = (t,) if edges is None else edges.cuts(state.t, t)
    for end in ends:
        step = run(steps.step, state, recall(), h if len(ends) == 1 else end - state.t)
        accepted = (step,)
        if not good(step):
            accepted = run(in_its_place, step, on_failure, good, steps, state, recall)
        parts += accepted
        state, recall = accepted[-1].state, partial(attrgetter("memory"), accepted[-1])
    return parts


def in_its_place(
    step: Any, on_failure: str, good: Callable[[Any], bool], steps: Any, state: State,
    recall: Callable[[], Memory],
) -> tuple[Any, ...]:  # fmt: skip
    """Return the steps to take in place of one from `state` that missed its tolerance: the step itself, or 2,
    4, ... shorter ones. steps: the stepper; good: whether a step solved its problems; recall: returns the
    scheme's memory at `state`. Raise `Missed` if there are none."""
    if on_failure == "accept":
        return (step,)
    raised = on_failure == "raise"
    explanation = steps.explain(state, step, raised)
    if raised:
        raise Missed(state.t, step, explanation)
    for halvings in range(1, MOST_HALVINGS + 1):
        h, at, memory, shorter = step.h / 2**halvings, state, recall(), []
        for _ in range(2**halvings):
            part = steps.step(at, memory, h)
            if not good(part):
                break
            shorter.append(part)
            at, memory = part.state, part.memory
        else:
            return tuple(shorter)
    raise Missed(state.t, step, f", and so did one of {2**MOST_HALVINGS} shorter ones")
