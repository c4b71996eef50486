"""One simulation of a batch: a live run without records."""

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
"""Interval of recorded steps for no records: more steps than any run makes."""
ROWS = 16
"""Number of steps in the buffer of a robot: small, so that the buffers of all members stay in the cache
(heuristic)."""
QUIET = Interrupts(hears=False)
"""Interrupts for compiled code on threads, which does not handle signals."""


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
    """Advance members of a batch to their goals: several robots in each compiled call, other models one after
    the other."""
    # 1. Robots, together.
    going = members
    while going and interrupts.error is None:
        ready = [(member, strip) for member in going if (strip := member.ready()) is not None]
        if not ready:
            break
        going, strips = zip(*ready, strict=True)
        most = [min(member.goal - member.index, strip.most - strip.steps) for member, strip in ready]
        at, index = [member.clock.at for member in going], [member.index for member in going]
        counts, errors = march_together([member.prepared for member in going], strips, most, at, index)
        for member, strip, steps in zip(going, strips, counts, strict=True):
            member.state, member.index = strip.state, member.index + steps
        for k, error in errors.items():
            going[k].refuse(error)
        going = [
            member
            for member, steps in zip(going, counts, strict=True)
            if steps and member.index < member.goal
        ]
    # 2. Other models, and robots whose steps have to be made one by one.
    for member in members:
        if member.index < member.goal:
            member.carry(interrupts)


class How(NamedTuple):
    """Options of the steps of a batch."""

    h: float | None
    """Length of a step [s]; None for that of a robot's file, or of checkpoints."""
    scheme: Any
    """The scheme, or its name."""
    solver: Solver
    """The solver."""
    solver_name: str
    """Name of the solver."""
    tolerance: float
    """Tolerance on the judge's residuals [-]."""
    on_failure: str
    """Treatment of steps that miss their tolerance: `accept`, `halve`, or `raise`, which holds the member."""
    compiled_only: bool
    """Whether members are held at steps that compiled code cannot make."""


class Member:
    """One simulation of a batch, which advances to a goal on request."""

    def __init__(self, prepared: Any, how: How, start: Any, group: int):
        """prepared: the prepared model; start: None, a state or a checkpoint; group: number of the group of
        members that share a workspace."""
        self.how, self.group = how, group
        self._accepts_relaxed = bool(getattr(how.solver, "other_law", False))
        self.begin(prepared, self.begun(prepared, start))

    def begun(self, prepared: Any, start: Any) -> tuple[Begun, Any]:
        """Return the start for `begin`, from a state, a checkpoint, or None for the model's start. An error
        does not change the member."""
        how = self.how
        return begun_steps(prepared, how.h, how.scheme, start, how.solver, None, None, ROWS)

    def begin(self, prepared: Any, start: tuple[Begun, Any]) -> None:
        """Restart with a prepared model and a start of it."""
        self.prepared, (begun, steps) = prepared, start
        steps.every = NEVER
        self._steps: Any = steps
        self._edges = getattr(steps, "edges", None)
        self.state, self.clock = begun.state, replace(begun.clock, index=0)
        self._recall: Callable[[], Memory] = lambda: begun.memory
        self.index = self._settled = begun.clock.index
        """Number of steps since the clock's origin, and of those processed: the fast path may be ahead."""
        self.goal = self.index
        """Index of the clock to which the member shall advance."""
        self._lane: Any = None
        self._residual = self._worst = 0.0
        self.status, self.reason = MemberStatus.GOING, ""
        self.is_free = bool(steps.free)
        """Whether its steps are made without the interpreter's lock."""

    # 1. Current state.

    @property
    def is_compiled(self) -> bool:
        """Whether its steps are made in compiled code, with exceptions."""
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
        """Largest residual of all steps since the start [-]."""
        self._settle()
        return self._worst

    @property
    def inputs(self) -> dict[str, Any]:
        """Inputs by name, which can be set between steps."""
        return self._steps.inputs(self.state)  # type: ignore[no-any-return]

    def set_inputs(self, values: Mapping[str, ArrayLike]) -> None:
        """Set some inputs."""
        state = self._steps.set_inputs(values, self.state)
        if state is not self.state:
            self._settle()
            self.state = state

    def data(self) -> Any:
        """Return MuJoCo's data of a robot at its current state."""
        if self.prepared.at is not self.state:
            self.prepared.place(self.state)
        return self.prepared.data

    def checkpoint(self) -> Checkpoint:
        """Return the checkpoint of the current state."""
        self._settle()
        scheme, options = registry.described(self._steps.scheme)
        how = self.how
        return Checkpoint(
            self.state, self._recall(), replace(self.clock, index=self.index), self._steps.model, scheme,
            options, how.solver_name, how.tolerance,
            inputs=self.inputs if isinstance(self.prepared, PreparedWorld) else {},
        )  # fmt: skip

    # 2. Stepping.

    def ready(self) -> Any:
        """Return the buffer for steps of several robots in one call; None if steps have to be made by
        `carry`."""
        ready = getattr(self._steps, "ready", None)
        if ready is None or not self.is_free or not self.is_going or self.clock.grid:
            return None
        strip = self._steps.strip
        if strip is not None and strip.steps == strip.most:
            self._settle()  # a new buffer follows
        return ready(self.state)

    def carry(self, interrupts: Interrupts) -> None:
        """Make steps to the goal, until the member is held or an interrupt arrives. Any thread may do this if
        `is_free`."""
        signals = QUIET if self.is_free else interrupts
        try:
            while self.is_going and self.index < self.goal and interrupts.error is None:
                if not self._together(self.goal, signals):
                    self._leave(signals)
        except ModelError as error:
            self.refuse(error)

    def refuse(self, error: ModelError) -> None:
        """Hold the member, whose next step has an error."""
        self._hold(MemberStatus.REFUSED, str(error))

    def _leave(self, interrupts: Interrupts) -> None:
        """Make the next step, which compiled code cannot make, in Python, or hold the member."""
        self._settle()
        if self.how.compiled_only:
            reason = (
                f"compiled code left the step from t = {self.state.t:.9g} s; compiled_only=False makes it"
            )
            return self._hold(MemberStatus.LEFT, reason)
        clock, to = self.clock, self.index + 1
        options = self.how.on_failure, self._good, interrupts.run
        try:
            steps = steps_to(clock.at(to), clock.length(to), self._steps, self.state, self._recall, *options)
            state = self.state
            for k, step in enumerate(steps, 1):
                t = clock.at(to) if k == len(steps) else step.state.t
                state = State(t, step.state.q, step.state.v, step.state.z)
                self._steps.check(step, state)
        except Missed as missed:
            reason = str(SimulationFailure(missed.t, missed.step, None, missed.more))
            return self._hold(MemberStatus.UNSOLVED, reason)
        self.state, self._recall = state, partial(attrgetter("memory"), steps[-1])
        self.index = self._settled = to
        self._lane, self._residual = None, float(steps[-1].natural_scaled)
        self._worst = max(self._worst, *(float(step.natural_scaled) for step in steps))

    def _together(self, last: int, interrupts: Interrupts) -> bool:
        """Make steps up to index `last` in a compiled call; return whether there was at least one."""
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
        """Give the fast path a new buffer if its own is full, and return whether it can continue."""
        self._settle()
        renew = getattr(self._steps, "renew", None)
        if renew is None or not renew(self.state):
            return False
        self._lane = self._steps.lane
        return self._lane is not None

    def _take(self, march: Marched, index: int) -> None:
        """Process the steps of a compiled call, which begin at an index of the clock."""
        self.state, self._recall = march.state, partial(march.memory, march.steps - 1)
        self.index = self._settled = index + march.steps
        self._residual, self._worst = march.residual, max(self._worst, march.worst)
        alike = self._edges is None and not self.clock.grid
        self._lane = getattr(self._steps, "lane", None) if alike else None

    def _settle(self) -> None:
        """Process the steps of the fast path."""
        n, index = self.index - self._settled, self._settled
        if n:
            march, _ = self._steps.followed(n, index, NEVER)
            self._take(march, index)

    def _good(self, step: Any) -> bool:
        """Whether a step solved the law of its scheme and solver."""
        return step.solved or (self._accepts_relaxed and step.verdict is Verdict.RELAXED)

    def _hold(self, status: MemberStatus, reason: str) -> None:
        """Hold the member, for a reason."""
        self._settle()
        self.status, self.reason = status, reason
