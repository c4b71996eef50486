"""Impulses of a run of a world, chosen when they are asked for: of many, those of least norm."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.schemes.body_forces import with_least_forces
from stickslip.schemes.step import Selector, Step

if TYPE_CHECKING:
    from stickslip.simulation.trajectory import Trajectory

MOST_HELD = 64e6
"""Steps are held until they are asked for; more than so much of their problems is settled at once [bytes]."""


@dataclass(eq=False)
class WorldForces:
    """The recorded steps of a run whose impulses are still to be chosen, and those that were."""

    select: Selector
    held: list[tuple[int, int, Callable[[int], Step]]] = field(default_factory=list)
    """First record, how many, and what gives the last step of each: steps made together are made again one by
    one."""
    size: float = 0.0
    """Of what is held, about [bytes]."""
    told: dict[int, Step] = field(default_factory=dict)
    """Steps as they are told, by the number of the record."""
    first: int = 0
    """Number of the first record that is not forgotten."""

    def add(self, record: int, step: Step) -> None:
        """Hold the step that a record ends with."""
        self.hold(record, 1, lambda _: step, sum(_size(one.problem) for one in step.solves))

    def hold(self, first: int, count: int, step: Callable[[int], Step], size: float) -> None:
        """Hold what gives the steps that records end with, which takes about so much memory [bytes]; of the
        same first record as the last time: these are more of them."""
        if self.held and self.held[-1][0] == first:
            self.held[-1] = first, count, step
            return
        self.held.append((first, count, step))
        self.size += size

    def relieve(self) -> None:
        """Choose the impulses of all steps that are held, where these take too much memory."""
        if self.size > MOST_HELD:
            self.settle()

    def settle(self) -> None:
        """Choose the impulses of all steps that are held, and let go of their problems."""
        while self.held:
            first, count, step = self.held[-1]
            for k in range(count):
                if first + k not in self.told:
                    self.told[first + k] = _light(with_least_forces(step(k), self.select))
            self.held.pop()
        self.size = 0.0

    def __call__(self, of: "Trajectory") -> dict[str, Any]:
        """Impulses of the contacts [N s, N m s], shape (nc, 6), how they were chosen, shape (nc,), and
        impulses of the joints, shape (sum,), of all records of a trajectory."""
        self.settle()
        contacts, offset = of.raw_contacts, of.joint_offset
        r, choice, joint_r = np.array(contacts.r), np.array(contacts.choice), np.array(of.raw_joint_r)
        for number, step in self.told.items():
            record = number - self.first
            if 0 <= record < len(of) and step.choice is not None:
                rows, joints = contacts.at(record), slice(int(offset[record]), int(offset[record + 1]))
                r[rows], choice[rows], joint_r[joints] = step.r, step.choice, step.joint_r
        for array in (r, choice, joint_r):
            array.flags.writeable = False
        return {"r": r, "choice": choice, "joint_r": joint_r}

    def forget(self, count: int) -> None:
        """Let go of so many records, which are in a file; the last of them is the first of what follows."""
        self.settle()
        self.first += count
        self.told = {number: step for number, step in self.told.items() if number > self.first}


def _size(problem: Any) -> int:
    """About how much memory a problem of bodies takes [bytes]."""
    return int(2 * getattr(problem.H, "rows", np.zeros(0)).nbytes) if hasattr(problem, "H") else 0


def _light(step: Step) -> Step:
    """The step without its problems."""
    return replace(step, solves=(), memory={})
