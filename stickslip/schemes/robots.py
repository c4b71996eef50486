"""Moreau-Jean scheme for robots in reduced coordinates; the equations are in `kernels/robots/steps.py`.

Velocities are implicit in dampers, springs and servos, and contact is rigid. Many steps are made in one
compiled call (`robot_march.py`); a step that its solver does not solve is made here, with the run's solver.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.compilation import JIT
from stickslip.detection.contacts import ContactSet
from stickslip.detection.mujoco_library import Warnings
from stickslip.kernels.held import Held
from stickslip.kernels.robots import layout as at
from stickslip.kernels.robots import steps as kernels
from stickslip.kernels.robots.impulses import guess, remember, whole
from stickslip.kernels.robots.motion import is_current, kinetic_energy
from stickslip.kernels.robots.outputs import is_elsewhere, write_contacts
from stickslip.kernels.robots.rows import find_missed
from stickslip.options import Options, option
from stickslip.problem.contact import ContactProblem
from stickslip.problem.operator import DenseDelassus
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import Solution
from stickslip.schemes.body_step import BodyPart, EnergyTerms
from stickslip.schemes.robot_margins import REACH
from stickslip.schemes.robot_memory import (
    NOT_FINITE,
    WRITTEN,
    applied_to,
    as_held,
    last_of,
    memory_of,
    restore,
    room_for,
)
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.step import Memory, Solver, Step
from stickslip.state import Array, ModelError, State


@dataclass(frozen=True, slots=True)
class ReducedMoreauJean(Options):
    """Moreau-Jean scheme for robots in reduced coordinates."""

    reach: float = option(
        REACH, "smallest search distance of contacts and limits [m, rad]; larger for fast bodies",
        low=0.0, high=100.0,
    )  # fmt: skip

    def begin(self, prepared: PreparedRobot, state: State, h: float) -> Memory:
        """Return the memory for the first step."""
        if not JIT:
            raise ModelError("robots require compiled kernels; unset STICKSLIP_JIT")
        model = prepared.model
        return {
            "key": np.zeros(0), "offset": np.zeros(1), "r": np.zeros(0), "reach": np.array([self.reach]),
            "qfrc_applied": np.zeros(model.nv), "xfrc_applied": np.zeros((model.nbody, 6)),
            "eq_active": np.array(model.eq_active0, float),
        }  # fmt: skip

    def step(self, prepared: PreparedRobot, state: State, memory: Memory, h: float, solver: Solver) -> Step:
        """Return the step of length h that begins at `state`."""
        with Warnings() as warnings:
            step = self._make_step(prepared, state, memory, h, solver)
        prepared.check_warnings(state.t, warnings)
        return step

    def _make_step(
        self, prepared: PreparedRobot, state: State, memory: Memory, h: float, solver: Solver
    ) -> Step:
        """Make the step of length h that begins at `state`."""
        # 1. The data at the start, and the free motion over the step.
        restore(prepared, state, memory)
        if is_elsewhere(prepared.motion, state.q, state.v, state.z):
            raise ModelError(WRITTEN.format(state.t))
        if not is_current(prepared.engine, prepared.motion):
            prepared.renew(state)
        room = Held(room_for(prepared, 1, 8))
        settings = prepared.settings(h, float(getattr(solver, "tolerance", 0.0)))
        prepared.begin_drive(h)
        carried = prepared.carried(h)
        prepared.look_ahead(h, carried, state)
        if prepared.crowded:
            prepared.check_memory()
        forced = np.zeros(prepared.data.nefc, np.int64)
        engine, motion, traits, scratch = parts = prepared.begin()
        free, rows, split = map(as_held, kernels.problem_of_step(*parts, settings, carried, forced))
        prepared.check_warnings(state.t)
        r, u = guess(scratch, rows, last_of(memory)), np.zeros(rows.u_free.size)
        solves: tuple[Solution, ...] = ()
        reason = "contacts that were not predicted to close keep overlapping; use a smaller h"
        for _ in range(kernels.REPEATS):
            # 2. Impulses, repeated with contacts that would overlap and were not included.
            if r.size:
                problem = ContactProblem.unchecked(
                    DenseDelassus(whole(split)), np.array(rows.u_free), ProductSet(*map(np.array, rows.K))
                )
                answer = solver.solve(problem, guess=r)
                r, u, solves = np.array(answer.r), np.array(answer.u), (answer,)
            v = kernels.apply(engine, motion, scratch, h, rows, r)
            if not np.isfinite(v).all():
                raise ModelError(NOT_FINITE.format(state.t))
            if not find_missed(engine, rows, h, v, forced):
                reason = ""
                break
            memory_after = remember(rows, r)
            problem_parts = kernels.problem_again(*parts, settings, carried, free.v, forced)
            rows, split = map(as_held, problem_parts)
            r = guess(scratch, rows, memory_after)
            u = np.zeros(r.size)
        if reason:
            kernels.apply(engine, motion, scratch, h, rows, r)
        # 3. The end of the step.
        while not write_contacts(engine, traits, rows, r, u, room, 0):
            room = Held(room_for(prepared, 1, 2 * room.contacts.gap.size), like=room)
        kinetic = kinetic_energy(motion, traits)
        kernels.end_step(*parts, settings, free, rows, split, u, kinetic, room.numbers[0])
        prepared.check_warnings(state.t)
        end = prepared.at = prepared.reading()
        prepared.settle()
        last = remember(rows, r)
        d = prepared.data
        applied = applied_to(d.qfrc_applied, d.xfrc_applied, d.eq_active)
        numbers = room.numbers
        if prepared.drive is not None:
            numbers = prepared.drive.own_numbers(
                numbers, np.stack([state.q, end.q]), np.stack([state.v, end.v])
            )
        return _step(room, numbers[0], end, h, memory_of(last, prepared.reach, applied), solves, reason)


def _step(
    room: Held, numbers: Array, end: State, h: float, memory: Memory, solves: tuple[Solution, ...],
    reason: str,
) -> Step:  # fmt: skip
    """Return the step in the first row of a `Room`, with these numbers."""
    table, joints = room.contacts, room.joints
    nc, nj = int(table.offset[1]), int(joints.offset[1])
    columns: Any = (
        table.id, np.zeros_like(table.body), table.body, table.point, table.frame, table.gap, table.law,
    )  # fmt: skip
    contacts = ContactSet(*(column[:nc].copy() for column in columns))
    energy = EnergyTerms(*(float(numbers[k]) for k in (
        at.KINETIC, at.POTENTIAL, at.DISSIPATED, at.WORK, at.LIFTED, at.BALANCE,
    )))  # fmt: skip
    part = BodyPart(
        contacts, joints.r[:nj].copy(), energy, float(numbers[at.PENETRATION]),
        float(numbers[at.OPENING]), float(numbers[at.CORRECTION]), joint_id=joints.id[:nj].copy(),
    )  # fmt: skip
    return Step(
        end, h, table.r[:nc].copy(), table.u[:nc].copy(), memory, bodies=part, solves=solves, reason=reason
    )
