"""Impulses of a run of a world, chosen when they are asked for: of many, those of least norm.

The last step of a record is made once more, from the record before, and its problem is asked for its
certified impulses of least norm (`schemes/body_forces.py`). A record whose steps cannot be made again so,
such as one that was halved, has its impulses chosen while the run goes on.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.schemes.body_forces import with_least_forces
from stickslip.schemes.body_march import NO_END, BodyMarch
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import Memory, Selector, Solver, Step
from stickslip.simulation.clock import Clock
from stickslip.simulation.world_memory import pending
from stickslip.state import State

if TYPE_CHECKING:
    from stickslip.simulation.trajectory import Trajectory


@dataclass(eq=False)
class WorldForces:
    """Chooses the impulses of the records of a run."""

    begin: Callable[[], tuple[PreparedWorld, Any, Solver, Selector]]
    """Gives the world with its inputs as they are by default, the scheme, the solver, and what chooses."""

    @cached_property
    def parts(self) -> tuple[PreparedWorld, Any, Solver, Selector]:
        """What `begin` gives."""
        return self.begin()

    def __call__(self, of: "Trajectory") -> dict[str, Any]:
        """Impulses of the contacts [N s, N m s], shape (nc, 6), how they were chosen, shape (nc,), and
        impulses of the joints, shape (sum,), of all records of a trajectory."""
        contacts, offset = of.raw_contacts, of.joint_offset
        r, choice, joint_r = np.array(contacts.r), np.array(contacts.choice), np.array(of.raw_joint_r)
        for k in pending(of).tolist():
            rows, joints = contacts.at(k), slice(int(offset[k]), int(offset[k + 1]))
            if rows.start == rows.stop and joints.start == joints.stop:
                continue
            step = self._made_again(of.before(k))
            if step is not None and step.choice is not None:
                r[rows], choice[rows], joint_r[joints] = step.r, step.choice, step.joint_r
        for array in (r, choice, joint_r):
            array.flags.writeable = False
        return {"r": r, "choice": choice, "joint_r": joint_r}

    def _made_again(self, pair: "Trajectory") -> Step | None:
        """The last step of the second of two records, with its chosen impulses; None where steps from the
        first do not lead there."""
        prepared, scheme, solver, select = self.parts
        start, last = pair.checkpoint(0), int(pair.index[1])
        inputs = {name: value[1] for name, value in pair.inputs.items()}
        prepared = prepared.with_inputs(inputs) if inputs else prepared
        state, memory = self._before(prepared, scheme, solver, start, last)
        step: Step = scheme.step(prepared, state, memory, start.clock.length(last), solver)
        if not (np.array_equal(step.state.q, pair.q[1]) and np.array_equal(step.state.v, pair.v[1])):
            return None
        return with_least_forces(step, select)

    def _before(
        self, prepared: PreparedWorld, scheme: Any, solver: Solver, start: Any, last: int
    ) -> tuple[State, Memory]:  # fmt: skip
        """State and memory before the step that ends at an index of the clock, by steps from a checkpoint."""
        clock: Clock = start.clock
        state, memory, index = start.state, start.memory, clock.index
        march = BodyMarch.of(prepared, scheme, solver) if last - index > 2 else None
        while index < last - 1:
            h, most = clock.length(index + 1), clock.alike(index, last - 1)
            made = None
            if march is not None:
                made = march.make(state, lambda m=memory: m, h, clock.at, index, last + 1, NO_END, most)  # type: ignore[misc]
            if made is not None:
                strip, done = made
                state, memory, index = strip.state, strip.last_memory, index + done
                continue
            step = scheme.step(prepared, state, memory, h, solver)
            index += 1
            state = replace(step.state, t=clock.at(index))
            memory = step.memory
        return state, memory
