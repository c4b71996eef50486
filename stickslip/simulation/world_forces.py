"""Selection of the reported impulses of a run of a world, on access: those of least norm if not unique.

The last step of a record is repeated from the previous record, and the certified impulses of least norm of
its problem are selected (`schemes/body_forces.py`). If the steps of a record cannot be repeated, for example
after a halved step, its impulses are selected during the run.
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
    """Function that selects the impulses of the records of a run."""

    begin: Callable[[], tuple[PreparedWorld, Any, Solver, Selector]]
    """Returns the world with the default values of its inputs, the scheme, the solver, and the selector."""

    @cached_property
    def parts(self) -> tuple[PreparedWorld, Any, Solver, Selector]:
        """Result of `begin`."""
        return self.begin()

    def __call__(self, of: "Trajectory") -> dict[str, Any]:
        """Return impulses of the contacts [N s, N m s], shape (nc, 6), their choice, shape (nc,), and
        impulses of the joints, shape (sum,), for all records of a trajectory."""
        contacts, offset = of.raw_contacts, of.joint_offset
        r, choice, joint_r = np.array(contacts.r), np.array(contacts.choice), np.array(of.raw_joint_r)
        for k in pending(of).tolist():
            rows, joints = contacts.at(k), slice(int(offset[k]), int(offset[k + 1]))
            if rows.start == rows.stop and joints.start == joints.stop:
                continue
            step = self._repeated(of.before(k))
            if step is not None and step.choice is not None:
                r[rows], choice[rows], joint_r[joints] = step.r, step.choice, step.joint_r
        for array in (r, choice, joint_r):
            array.flags.writeable = False
        return {"r": r, "choice": choice, "joint_r": joint_r}

    def _repeated(self, pair: "Trajectory") -> Step | None:
        """Repeat the last step of the second of two records, with selected impulses; None if the steps from
        the first record do not lead to the second."""
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
        """Return state and memory before the step that ends at an index of the clock, by steps from a
        checkpoint."""
        clock: Clock = start.clock
        state, memory, index = start.state, start.memory, clock.index
        march = BodyMarch.of(prepared, scheme, solver) if last - index > 2 else None
        while index < last - 1:
            h, most = clock.length(index + 1), clock.alike(index, last - 1)
            result = None
            if march is not None:
                result = march.make(state, lambda m=memory: m, h, clock.at, index, last + 1, NO_END, most)  # type: ignore[misc]
            if result is not None:
                strip, done = result
                state, memory, index = strip.state, strip.last_memory, index + done
                continue
            step = scheme.step(prepared, state, memory, h, solver)
            index += 1
            state = replace(step.state, t=clock.at(index))
            memory = step.memory
        return state, memory
