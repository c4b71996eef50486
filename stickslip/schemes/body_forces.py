"""Which of the certified impulses of a step are told: where there are many, those of least norm.

Velocities of a step are unique where impulses are not: a box on four corners spreads its weight in many
ways, and a stopped one may press its corners against each other. Motion needs only what all contacts
together do to each body, which is the same for all of them. What is told of a step can therefore be chosen
after it: the least, in N s, of all impulses that the judge accepts with its velocities
(`problem/impulses.py`).
"""

from dataclasses import replace

import numpy as np

from stickslip.kernels.bodies.assembly import by_contact
from stickslip.problem.checks import frozen
from stickslip.schemes.step import Selector, Step
from stickslip.state import Array, BoolArray

CHOICES = ("solver", "unique", "least")
"""How the impulse of a contact was chosen, by code: it is the solver's, and whether there are others is not
known; it is the same in every certified answer; there are others, and it is that of least norm."""
UNIQUE, LEAST = 1, 2
NOTHING = 1e-100
"""Impulses below this are zero, as in the steps themselves [N s]."""


def with_least_forces(step: Step, select: Selector) -> Step:
    """The step as it is told: with the impulses of least norm where there are many, and how each was chosen.

    State and memory are those of the step, so that the motion does not depend on what is told. A step keeps
    its own impulses where it is not certified, where the least are not, and where they are no sum of those
    of its problems (Poisson's impact).
    """
    assert step.bodies is not None
    if not step.solves or not step.summed or not all(one.ok for one in step.solves):
        return step
    found, count = [select(one) for one in step.solves], len(step.contacts)
    if all(unique.all() for _, unique in found):
        return replace(step, bodies=replace(step.bodies, choice=frozen(np.full(count, UNIQUE))))
    if any(least.selection != "least" and not unique.all() for least, unique in found):
        return step  # the judge does not accept the least
    r = np.sum([least.r for least, _ in found], axis=0)
    same = np.logical_and.reduce([unique[:count] for _, unique in found])
    return _told(step, r, same)


def _told(step: Step, r: Array, unique: BoolArray) -> Step:
    """The step with impulses r of its problems, shape (p,)."""
    assert step.bodies is not None
    offset, contacts = step.solves[0].problem.K.offset, step.contacts  # type: ignore[union-attr]
    r = frozen(np.where(np.abs(r) < NOTHING, 0.0, r))
    impulses = by_contact(offset, contacts.law, r)
    joint_r = r[offset[len(contacts)] :]
    if step.joint_unit is not None:
        joint_r = joint_r * step.joint_unit
    choice = np.where(unique, UNIQUE, LEAST)
    told = replace(step.bodies, joint_r=frozen(joint_r.copy()), choice=frozen(choice))
    return replace(step, r=frozen(impulses), bodies=told)
