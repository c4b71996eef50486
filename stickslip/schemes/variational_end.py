"""End of a step of the variational scheme: energy balance, closed contacts, and the step as data."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.kernels.bodies import assembly, layout
from stickslip.kernels.variational import node as kernels
from stickslip.problem.checks import frozen
from stickslip.problem.solution import Solution
from stickslip.problem.step_problem import RELAXATIONS
from stickslip.schemes.body_joints import joint_errors
from stickslip.schemes.body_opening import opening_fault
from stickslip.schemes.body_step import BodyPart, EnergyTerms
from stickslip.schemes.body_stiffness import too_stiff
from stickslip.schemes.step import Memory, Step, frozen_state
from stickslip.schemes.variational_start import NONE, Posed
from stickslip.state import Array, IntArray

NOTHING = 1e-100
"""Velocities and impulses below this are set to zero [m/s, N s], so that their squares do not underflow."""
NO_SIDES: IntArray = np.zeros((0, 2), np.int64)
"""Bodies of no blocks."""
NO_ROWS: Array = np.zeros((0, 2, 6))
"""Rows of no blocks."""


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """Velocities and poses at the end of a step, with the solution that they result from."""

    v: Array
    """Velocities of all bodies over the step [m/s, rad/s], shape (n, 6)."""
    q: Array
    """Poses at the end of the step [m, -], shape (n, 7)."""
    gaps: Array
    """Gaps of all candidates at the end [m], shape (k,)."""
    deepest: float
    """Least gap at the end of pairs that need detection, at most 0 [m]."""
    solution: Solution | None
    """The solution; None if there was nothing to solve, or no finite solution."""
    lost: str
    """Fault of the step; empty without one."""


class Blocks:
    """Rows, impulses and velocities of the blocks of a step; rows are those at its start."""

    def __init__(self, before: Posed, answer: Answer):
        node, contacts = before.node, before.contacts
        bodies, solution = node.bodies, answer.solution
        self.sides, self.rows, self.r, self.value = NO_SIDES, NO_ROWS, NONE, NONE
        """Bodies (nb, 2), rows (p, 2, 6), impulses (p,), and the variable of the law, gaps over h and
        velocities (p,)."""
        self.offset: IntArray = np.zeros(1, np.int64)
        """First component of each block, and the total [-], shape (nb + 1,)."""
        if solution is not None:
            tangent: Any = solution.problem
            self.sides, self.rows, self.offset = contacts.body, tangent.H.rows, tangent.K.offset
            self.r, self.value = solution.r, solution.u
            if bodies.jointed:
                self.sides = np.concatenate([self.sides, node.prepared.stops.sides])
        account = kernels.account(
            bodies.arrays, self.arrays, self.r, (node.q, node.v_before), (answer.q, answer.v), node.F,
            0.5 * (node.before + node.h),
        )  # fmt: skip
        self.u: Array = account[0]
        """Rows times velocities of this step [m/s, rad/s], shape (p,)."""
        self.u_before: Array = account[1]
        """Rows times velocities of the previous step [m/s, rad/s], shape (p,)."""
        self.energies: layout.Energies = account[2]
        """Terms of the energy balance [J]."""

    @property
    def arrays(self) -> layout.Blocks:
        """Sides, offsets and rows as the named tuple of the kernels."""
        return layout.Blocks(self.sides, self.offset, self.rows)

    def by_contact(self, x: Array, law: Array) -> Array:
        """Return x of contacts as N, T1, T2, rolling about t1, t2, torsion about n, shape (nc, 6)."""
        out = assembly.by_contact(self.offset, law, x) if x.size else np.zeros((law.shape[0], 6))
        out[np.abs(out) < NOTHING] = 0.0
        return frozen(out)

    def closed(self, before: Posed) -> Memory:
        """Return ids and approach velocities of the contacts and stops that closed in this step and did not
        rebound in it; part of the memory for the next step."""
        bodies, contacts = before.node.bodies, before.contacts
        memory = {"id": NONE, "approach": NONE, "joint_id": NONE, "joint_approach": NONE}
        nb, nc = self.sides.shape[0], len(contacts)
        if not nb:
            return memory
        speed = kernels.closed(bodies.arrays, self.arrays, self.r, self.value, self.u_before)
        struck = np.flatnonzero((speed[:nc] > 0.0) & (before.problem.contacts.bounce == 0.0))
        if struck.size:
            memory |= {"id": contacts.id[struck].astype(float), "approach": speed[struck]}
        stops = before.node.prepared.stops if bodies.jointed else None
        if stops is None or not stops.stop.size:
            return memory
        reached = speed[nc + stops.stop]
        struck = np.flatnonzero((reached > 0.0) & (before.problem.joints.bounce[stops.place] == 0.0))
        return memory | {"joint_id": stops.id[struck], "joint_approach": reached[struck]}


def arrived(before: Posed, memory: Memory, answer: Answer) -> Step:
    """Return the step as data, with its energy balance, checks and memory."""
    node, contacts, solution = before.node, before.contacts, answer.solution
    world, bodies, state, h = node.world, node.bodies, node.state, node.h
    # 1. Energy balance.
    blocks, q, t, spring_potentials = Blocks(before, answer), answer.q.reshape(-1), state.t + h, (0.0, 0.0)
    energies = blocks.energies
    if bodies.forced:
        spring_potentials = world.forces.potential(state.t, state.q), world.forces.potential(t, q)
    at_end = energies.weight + spring_potentials[1]
    potential = 0.5 * (energies.weight_before + spring_potentials[0] + at_end)
    terms = EnergyTerms.of(energies, potential, float(memory["potential"][0]))
    # 2. Checks of springs and joints.
    reason = answer.lost
    if bodies.forced and not reason:
        reason = too_stiff(h, bodies.rates, energies, sum(spring_potentials), terms.balance)
    errors = joint_errors(world, q)
    if bodies.jointed and not reason:
        reason = opening_fault(world, bodies, state, q, answer.v.reshape(-1), h, errors, False)
    # 3. Memory for the next step, and the result.
    after = {"h": np.array([h]), "potential": np.array([potential, at_end]), **blocks.closed(before)}
    for array in (contacts.point, contacts.frame, contacts.gap):
        array.flags.writeable = False
    joint_r = blocks.r[blocks.offset[len(contacts)] :] if solution is not None else NONE
    return Step(
        frozen_state(t, q, answer.v.reshape(-1), state.z), h,
        blocks.by_contact(blocks.r, contacts.law), blocks.by_contact(blocks.u, contacts.law), after,
        solves=() if solution is None else (solution,),
        reason=f"at t = {state.t:.9g} s {reason}" if reason else "", relaxation=_relaxation(before),
        bodies=BodyPart(
            contacts, frozen(joint_r.copy()), terms, max(0.0, -_least(before, answer)),
            float(errors.max(initial=0.0)), 0.0, summed=True,
            joint_id=node.prepared.stops.row_id if joint_r.size else None,
        ),
    )  # fmt: skip


def _relaxation(before: Posed) -> str:
    """Return the law that the contact model uses in place of Coulomb's law; empty if they agree here."""
    model, bodies = before.problem.model, before.node.bodies
    differs = {"cone": False, "pyramid": bodies.has_cones, "impact": bodies.has_friction}[model]
    return RELAXATIONS[model] if differs else ""


def _least(before: Posed, answer: Answer) -> float:
    """Return the least gap at the end, of contacts of the table and of detected ones [m]."""
    candidates = before.candidates
    return min(answer.deepest, float(answer.gaps[candidates.key == candidates.id].min(initial=0.0)))
