"""Schemes of systems applied to worlds: steps of the world's equations, converted to steps of the world."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.detection.contacts import ContactSet
from stickslip.kernels.bodies import gaps as kernels
from stickslip.laws import components
from stickslip.mechanics import energy as energies
from stickslip.mechanics.forces import DAMPING, POTENTIAL, WORKING
from stickslip.mechanics.world import World
from stickslip.problem.checks import frozen
from stickslip.schemes.body_joints import joint_errors
from stickslip.schemes.body_opening import opening_fault
from stickslip.schemes.body_start import check_start as check_world
from stickslip.schemes.body_step import BodyPart, EnergyTerms
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.equations import WorldEquations
from stickslip.schemes.starts import check_start
from stickslip.schemes.step import CONTACT_WORK, Memory, Scheme, Solver, Step
from stickslip.schemes.work import work_of
from stickslip.state import Array, BoolArray, State

OWN = "equations/"
"""Prefix of the names of the scheme's memory in the memory of a step of the world."""


@dataclass(frozen=True, slots=True)
class ByEquations:
    """Scheme for worlds that applies a scheme for systems to the equations of the world."""

    scheme: Scheme
    """The scheme for systems."""

    def begin(self, world: World | PreparedWorld, state: State, h: float) -> Memory:
        """Return the memory for the first step; raise ModelError if a run cannot start at `state`."""
        prepared = PreparedWorld.of(world)
        check_world(prepared, state)
        equations = prepared.equations
        inside = equations.inside(state)
        memory = self.scheme.begin(equations.prepared, inside, h)
        check_start(equations.prepared, inside, h, self.scheme)
        return _outside(memory, np.zeros(0))

    def step(
        self, world: World | PreparedWorld, state: State, memory: Memory, h: float, solver: Solver
    ) -> Step:
        """Return the step of length h that begins at `state`."""
        prepared = PreparedWorld.of(world)
        equations = prepared.equations
        arrays = {name.removeprefix(OWN): value for name, value in memory.items() if name.startswith(OWN)}
        inside = equations.inside(state)
        step = self.scheme.step(equations.prepared, inside, arrays, h, solver)
        return _world_step(prepared, equations, state, inside, step)


def _outside(memory: Memory, ids: Array) -> Memory:
    """Return the memory of a step of the world, with the ids of its contacts."""
    return {"id": frozen(ids), **{f"{OWN}{name}": value for name, value in memory.items()}}


def _world_step(
    prepared: PreparedWorld, equations: WorldEquations, before: State, inside: State, step: Step
) -> Step:
    """Convert a step of the equations to a step of the world."""
    # 1. Contacts with impulses, at the configuration of the start.
    world, after = prepared.world, equations.outside(step.state)
    n, (candidates, ties) = len(world.names), equations.met(step)
    touching: BoolArray = np.array(
        [step.active[tie.blocks].any() or step.r[tie.components].any() for tie in ties], bool
    )
    rows, gap, frame, place = kernels.look(
        candidates.forms, before.q.reshape(n, 7), np.zeros(n), 0.0, -np.inf, touching
    )
    contacts = ContactSet(
        candidates.id[rows],
        candidates.shape[rows],
        candidates.body[rows],
        place,
        frame,
        gap,
        candidates.law[rows],
    )
    # 2. Impulses and velocities of contacts and joints.
    impulses, velocities = np.zeros((len(rows), 6)), np.zeros((len(rows), 6))
    has = components(contacts.law)
    end = step.state
    for k, i in enumerate(rows.tolist()):
        one = ties[i]
        impulses[k, has[k]] = step.r[one.components]
        velocities[k, has[k]] = one.rate(end.t, end.q, end.v, end.z)
    joint_r = np.concatenate([np.zeros(0), *(step.r[one.components] for one in equations.joints)])
    # 3. Check of the joints, and the result.
    errors = joint_errors(world, after.q)
    reason = step.reason
    if len(errors) and not reason and not step.relaxation:
        reason = opening_fault(world, prepared.bodies, before, after.q, after.v, step.h, errors, True)
        reason = reason and f"at t = {before.t:.9g} s {reason}"
    return Step(
        after, step.h, frozen(impulses), frozen(velocities),
        _outside(step.memory, contacts.id.astype(float)), solves=step.solves, newton=step.newton,
        events=step.events, reason=reason, measures=step.measures, relaxation=step.relaxation,
        bodies=BodyPart(
            contacts, frozen(joint_r), _energy(prepared, equations, before, after, inside, step),
            max(0.0, -float(candidates.gaps(after.q.reshape(n, 7)).min(initial=0.0))),
            float(errors.max(initial=0.0)), 0.0, joint_id=equations.joint_id if joint_r.size else None,
        ),
    )  # fmt: skip


def _energy(
    prepared: PreparedWorld, equations: WorldEquations, before: State, after: State, inside: State, step: Step
) -> EnergyTerms:
    """Return the energy balance. Work of contacts and joints is that of the scheme's measures, or that of
    their impulses with the mean of both velocities; work of forces uses the means of both ends."""
    # 1. Contacts and joints, and the work of kinematic bodies through them.
    world, system, h = prepared.world, equations.system, step.h
    if step.searched is not None:
        system = step.searched.system
    measured: Any = step.measures.get(CONTACT_WORK)
    done = float(measured) if measured is not None else work_of(system, inside, step.state, h, step.r)
    driven = 0.0
    for one in system.interactions if prepared.bodies.driven else ():
        at = (before.t, inside.q[one.q], np.zeros(one.law.size), inside.z[one.z])
        drift = one.mechanical.drift(*at)
        driven -= 0.0 if drift is None else float(step.r[one.components] @ drift)
    # 2. Forces.
    damped = worked = 0.0
    if prepared.bodies.forced:
        v = 0.5 * (before.v + after.v).reshape(-1, 6)
        first, last = (
            prepared.forces_at(s.t, s.q.reshape(-1, 7), s.v.reshape(-1, 6)) for s in (before, after)
        )
        F = 0.5 * (first + last)
        moves = world.row >= 0
        damped = -h * float((F[DAMPING] * v).sum())
        worked = h * float((F[WORKING] * v)[moves].sum())
        driven -= h * float(((F[POTENTIAL] + F[DAMPING]) * v)[~moves].sum())
    # 3. The balance.
    kinetic, kinetic_before = energies.kinetic(world, after.v), energies.kinetic(world, before.v)
    potential = energies.potential(world, after.t, after.q)
    change = kinetic - kinetic_before + potential - energies.potential(world, before.t, before.q)
    dissipated, work = damped - done, worked + driven
    return EnergyTerms(kinetic, potential, dissipated, work, 0.0, change + dissipated - work)
