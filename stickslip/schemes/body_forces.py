"""Reported impulses of a step: if certified impulses are not unique, those of least norm.

The velocities of a step may be unique although its impulses are not: the weight of a box on four corners can
be distributed in many ways, and the friction forces at its corners can balance each other. The motion depends
only on the resultant of all contacts on each body, which is the same for all these impulses. The reported
impulses can therefore be selected after the step: the least ones, in N s, that the judge accepts with the
velocities of the step (`problem/impulses.py`).
"""

from dataclasses import replace

import numpy as np

from stickslip.kernels.bodies.assembly import by_contact
from stickslip.problem.checks import frozen
from stickslip.schemes.step import Selector, Step
from stickslip.state import Array, BoolArray

CHOICES = ("solver", "unique", "least")
"""Origin of the impulse of a contact, by code. `solver`: the solver's impulse, whose uniqueness is unknown;
`unique`: the same in every certified solution; `least`: not unique, that of least norm."""
UNIQUE, LEAST = 1, 2
"""Indices in `CHOICES`."""
NOTHING = 1e-100
"""Impulses below this are set to zero, as in the steps themselves [N s]."""


def with_least_forces(step: Step, select: Selector) -> Step:
    """Return the step with the impulses of least norm if they are not unique, and with the choice of each.

    State and memory are not changed, so that the motion does not depend on the reported impulses. The step
    keeps the solver's impulses if it is not certified, if the least impulses are not, or if its impulses are
    not the sum of those of its problems (Poisson's impact).
    """
    assert step.bodies is not None
    if not step.solves or not step.summed or not all(solution.ok for solution in step.solves):
        return step
    selected, count = [select(solution) for solution in step.solves], len(step.contacts)
    if all(unique.all() for _, unique in selected):
        return replace(step, bodies=replace(step.bodies, choice=frozen(np.full(count, UNIQUE))))
    if any(least.selection != "least" and not unique.all() for least, unique in selected):
        return step  # the judge does not accept the least impulses
    r = np.sum([least.r for least, _ in selected], axis=0)
    all_unique = np.logical_and.reduce([unique[:count] for _, unique in selected])
    return _with_impulses(step, r, all_unique)


def _with_impulses(step: Step, r: Array, unique: BoolArray) -> Step:
    """Return the step with the impulses r of its problems, shape (p,), in place of its own."""
    assert step.bodies is not None
    offset, contacts = step.solves[0].problem.K.offset, step.contacts  # type: ignore[union-attr]
    r = frozen(np.where(np.abs(r) < NOTHING, 0.0, r))
    impulses = by_contact(offset, contacts.law, r)
    joint_r = r[offset[len(contacts)] :]
    if step.joint_unit is not None:
        joint_r = joint_r * step.joint_unit
    choice = np.where(unique, UNIQUE, LEAST)
    bodies = replace(step.bodies, joint_r=frozen(joint_r.copy()), choice=frozen(choice))
    return replace(step, r=frozen(impulses), bodies=bodies)
