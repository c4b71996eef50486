"""One simulation of a batch: what a live run holds, without its records."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from stickslip.interrupts import Interrupts
from stickslip.problem.solution import Verdict
from stickslip.schemes import registry
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.robot_march import march_together
from stickslip.schemes.step import Memory, Solver
from stickslip.simulation.begun import Begun
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.clock import OFF_CLOCK
from stickslip.simulation.failure import Missed, SimulationFailure, steps_to
from stickslip.simulation.recorder import Marched
from stickslip.simulation.steppers import begun_steps
from stickslip.state import ModelError, State

NEVER = 2**53
"""In the place of every how many steps are recorded: more than any run makes."""
ROWS = 16
"""Steps of a robot that a member has memory for at a time: that of all members stays near the processor."""
QUIET = Interrupts(hears=False)
"""Of compiled code on threads, which asks for no signals."""


class MemberStatus(IntEnum):
    """Status of a member of a batch."""

    GOING = 0
    """The member makes steps."""
    UNSOLVED = 1
    """The member is held: its next step missed its tolerance."""
    REFUSED = 2
    """The member is held: its next step raised an error of the model or of MuJoCo."""
    LEFT = 3
    """The member is held: compiled code cannot make its next step, and the batch has `compiled_only`."""


def carry_together(members: Sequence["Member"], interrupts: Interrupts) -> None:
    """Carry members of a batch to their goals: several robots in each compiled call, other models one after
    the other."""
    left = members
    while left and interrupts.error is None:
        ready = [(one, strip) for one in left if (strip := one.ready()) is not None]
        if not ready:
            break
        left, strips = zip(*ready, strict=True)
        most = [min(one.goal - one.index, strip.most - strip.steps) for one, strip in ready]
        at, index = [one.clock.at for one in left], [one.index for one in left]
        made, errors = march_together([one.prepared for one in left], strips, most, at, index)
        for one, strip, steps in zip(left, strips, made, strict=True):
            one.state, one.index = strip.state, one.index + steps
        for k, error in errors.items():
            left[k].refuse(error)
        left = [one for one, steps in zip(left, made, strict=True) if steps and one.index < one.goal]
    for one in members:
        if one.index < one.goal:
            one.carry(interrupts)


class How(NamedTuple):
    """How the members of a batch make their steps."""

    h: float | None
    """Length of a step [s]; None for that of a robot's file, or of checkpoints."""
    scheme: Any
    solver: Solver
    solver_name: str
    tolerance: float
    """Of the judge's residuals [-]."""
    on_failure: str
    """What is done about a step that misses its tolerance: `accept`, `halve`, or `raise`, which holds."""
    compiled_only: bool


class Member:
    """A simulation that goes on when it is told to."""

    def __init__(self, prepared: Any, how: How, start: Any, group: int):
        """prepared: the model, as its steps take it; start: None, a state or a checkpoint; group: that of
        those who share a workspace."""
        self.how, self.group = how, group
        self._accepts_relaxed = bool(getattr(how.solver, "other_law", False))
        self.begin(prepared, self.begun(prepared, start))

    def begun(self, prepared: Any, start: Any) -> tuple[Begun, Any]:
        """What `begin` takes, for a state or a checkpoint, or where the model starts; an error changes
        nothing."""
        how = self.how
        return begun_steps(prepared, how.h, how.scheme, start, how.solver, None, None, ROWS)

    def begin(self, prepared: Any, start: tuple[Begun, Any]) -> None:
        """Begin anew, with a model and a start of it."""
        self.prepared, (begun, steps) = prepared, start
        steps.every = NEVER
        self._steps: Any = steps
        self._edges = getattr(steps, "edges", None)
        self.state, self.clock = begun.state, replace(begun.clock, index=0)
        self._recall: Callable[[], Memory] = lambda: begun.memory
        self.index = self._settled = begun.clock.index
        """Steps since the clock's origin, and of those taken in: the lane may have made more."""
        self.goal = self.index
        """Where it is to go, as an index of the clock."""
        self._lane: Any = None
        self._residual = self._worst = 0.0
        self.status, self.reason = MemberStatus.GOING, ""
        self.is_free = bool(steps.free)
        """Whether its steps are made without the interpreter's lock."""

    # 1. Where it is.

    @property
    def is_compiled(self) -> bool:
        """Whether its steps are made in compiled code, but for some."""
        return self._steps._march is not None

    @property
    def is_going(self) -> bool:
        """Whether it is not held."""
        return self.status == MemberStatus.GOING

    @property
    def residual(self) -> float:
        """Largest unit-free natural residual of the last step [-], by the judge."""
        self._settle()
        return self._residual

    @property
    def worst(self) -> float:
        """Largest of all steps since the start [-]."""
        self._settle()
        return self._worst

    @property
    def inputs(self) -> dict[str, Any]:
        """What may be set between steps, by name."""
        return self._steps.inputs(self.state)  # type: ignore[no-any-return]

    def set_inputs(self, values: Mapping[str, ArrayLike]) -> None:
        """Set some of them."""
        state = self._steps.set_inputs(values, self.state)
        if state is not self.state:
            self._settle()
            self.state = state

    def data(self) -> Any:
        """Of a robot: MuJoCo's data at the state reached."""
        if self.prepared.at is not self.state:
            self.prepared.place(self.state)
        return self.prepared.data

    def checkpoint(self) -> Checkpoint:
        """Where it is, for a run of its own."""
        self._settle()
        scheme, options = registry.described(self._steps.scheme)
        how = self.how
        return Checkpoint(
            self.state, self._recall(), replace(self.clock, index=self.index), self._steps.model, scheme,
            options, how.solver_name, how.tolerance,
            inputs=self.inputs if isinstance(self.prepared, PreparedWorld) else {},
        )  # fmt: skip

    # 2. What goes on.

    def ready(self) -> Any:
        """Where steps of several robots in one call may follow; None where steps are made by `carry`."""
        ready = getattr(self._steps, "ready", None)
        if ready is None or not self.is_free or not self.is_going or self.clock.grid:
            return None
        strip = self._steps.strip
        if strip is not None and strip.steps == strip.most:
            self._settle()  # it goes on in another strip
        return ready(self.state)

    def carry(self, interrupts: Interrupts) -> None:
        """Steps to the goal, until it is held or an interrupt comes; where it is free, any thread may do
        it."""
        own = QUIET if self.is_free else interrupts
        try:
            while self.is_going and self.index < self.goal and interrupts.error is None:
                if not self._together(self.goal, own):
                    self._leave(own)
        except ModelError as error:
            self.refuse(error)

    def refuse(self, error: ModelError) -> None:
        """Hold the member, whose next step has an error."""
        self._hold(MemberStatus.REFUSED, str(error))

    def _leave(self, interrupts: Interrupts) -> None:
        """The next step, which compiled code has left: made in Python, or the member is held."""
        self._settle()
        if self.how.compiled_only:
            why = f"compiled code left the step from t = {self.state.t:.9g} s; compiled_only=False makes it"
            return self._hold(MemberStatus.LEFT, why)
        clock, to = self.clock, self.index + 1
        how = self.how.on_failure, self._good, interrupts.run
        try:
            taken = steps_to(clock.at(to), clock.length(to), self._steps, self.state, self._recall, *how)
            state = self.state
            for k, one in enumerate(taken, 1):
                t = clock.at(to) if k == len(taken) else one.state.t
                state = State(t, one.state.q, one.state.v, one.state.z)
                self._steps.check(one, state)
        except Missed as missed:
            why = str(SimulationFailure(missed.t, missed.step, None, missed.more))
            return self._hold(MemberStatus.UNSOLVED, why)
        self.state, self._recall = state, partial(attrgetter("memory"), taken[-1])
        self.index = self._settled = to
        self._lane, self._residual = None, float(taken[-1].natural_scaled)
        self._worst = max(self._worst, *(float(one.natural_scaled) for one in taken))

    def _together(self, last: int, interrupts: Interrupts) -> bool:
        """Whether at least one more step was made in a compiled call."""
        index, steps, clock = self.index, self._steps, self.clock
        if self._lane is not None and last - index == 1:
            state = self._lane(self.state, index, NEVER, clock.at(last))
            if state is None and self._renew():
                state = self._lane(self.state, index, NEVER, clock.at(last))
            if state is not None:
                self.state, self.index = state, last
                return True
        self._settle()
        h, most = clock.length(index + 1), clock.alike(index, last)
        if self._edges is not None:
            most = self._edges.clear(self.state.t, h, most)
            if not most:
                return False
        march = steps.march(self.state, self._recall, clock, index, most, NEVER, OFF_CLOCK, interrupts)
        if march is None:
            return False
        self._take(march, index)
        if march.error is not None:
            raise march.error
        return True

    def _renew(self) -> bool:
        """Whether the lane goes on in other memory, where that of before is full."""
        self._settle()
        renew = getattr(self._steps, "renew", None)
        if renew is None or not renew(self.state):
            return False
        self._lane = self._steps.lane
        return self._lane is not None

    def _take(self, march: Marched, index: int) -> None:
        """Take in steps made together from an index of the clock on."""
        self.state, self._recall = march.state, partial(march.memory, march.steps - 1)
        self.index = self._settled = index + march.steps
        self._residual, self._worst = march.residual, max(self._worst, march.worst)
        alike = self._edges is None and not self.clock.grid
        self._lane = getattr(self._steps, "lane", None) if alike else None

    def _settle(self) -> None:
        """Take in the steps that the lane made."""
        n, index = self.index - self._settled, self._settled
        if n:
            march, _ = self._steps.followed(n, index, NEVER)
            self._take(march, index)

    def _good(self, step: Any) -> bool:
        return step.solved or (self._accepts_relaxed and step.verdict is Verdict.RELAXED)

    def _hold(self, status: MemberStatus, reason: str) -> None:
        self._settle()
        self.status, self.reason = status, reason
