"""Steps of robots: Moreau-Jean in reduced coordinates, velocities implicit in dampers, springs and servos.

    (M + h D + h² K) (v⁺ - v) = h (f(q, v, ctrl) - h K v) + J' r,    q⁺ = q ∘ h (v⁺ + w)

u = J v⁺ + bias and r obey the laws of `rows.py`. D is minus MuJoCo's derivative of the smooth forces with
respect to velocity (Todorov's `implicitfast`), and K is the stiffness of joints, tendons and servos; both
have the sparsity pattern of M. w corrects overlaps and errors of equalities; it is not part of the velocity.
MuJoCo's functions compute M, f, J and the gaps. At the end of a step the data is in the same state as after
`mj_forward`.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels.held import WORDS, values_of
from stickslip.kernels.jit import jit_forward as jit
from stickslip.kernels.jit import jit_without_lock
from stickslip.kernels.lines import LINE, add_line
from stickslip.kernels.robots import layout as at
from stickslip.kernels.robots.equalities import close_equalities
from stickslip.kernels.robots.impulses import (
    correct,
    delassus,
    guess,
    last_in,
    remember,
    remember_in,
    solve_parts,
)
from stickslip.kernels.robots.motion import (
    between,
    end_stage,
    is_current,
    kinetic_energy,
    move_freely,
    place,
    safely,
)
from stickslip.kernels.robots.outputs import deepest, has_moved, is_elsewhere, write_contacts, write_state
from stickslip.kernels.robots.rows import find_missed, gather
from stickslip.kernels.scratch import floats, give_back, ints, taken, zeros
from stickslip.kernels.steps.addresses import (
    call_solve,
    call_with_step,
    read_address,
    read_int,
    write_double,
)
from stickslip.kernels.steps.guard import has_failed

DONE, NO_ROOM, LEFT, NOT_FINITE, NO_MEMORY, FAILED, MOVED, NO_SCRATCH, WRITTEN, REMADE = range(10)
"""Exit codes of `march`: all steps are done; the buffers are full; the step needs the full solver; velocities
are not finite; MuJoCo's arena is too small; MuJoCo raised an error or a warning, whose message is in the
frame of the guard; the user moved mocap bodies; the scratch is too small for the next step; the user wrote
positions, velocities or activations; the user's calls changed contacts or constraints of the data."""
SPARE = 4
"""Required ratio of the size of MuJoCo's arena to its largest use so far (heuristic)."""
REPEATS = 5
"""Largest number of solves of a step, each with the constraints that the one before violated (heuristic)."""


class Run(NamedTuple):
    """Arguments of `march`: named tuples of `layout.py`, and a `Scratch`, each as a `Held`."""

    engine: Any
    motion: Any
    traits: Any
    scratch: Any
    settings: Any
    carried: Any
    room: Any


@jit
def scratch_needed(rows, motion):
    """Return the largest numbers of floats and integers that a step with so many rows takes from the scratch.

    These are J, Y, W, two copies of W, and vectors. The scratch does not grow, so it must be large enough.
    """
    n, nv = rows + LINE, motion.qvel.shape[0] + LINE
    return 4 * n * n + 2 * n * nv + 66 * (n + nv) + 4 * motion.M.shape[0], 52 * n + 16 * nv + 8 * WORDS


@jit
def problem_of_step(engine, motion, traits, scratch, settings, carried, forced):
    """Return (`Free`, `Rows`, `Parts`): the problem of the step from the state of the data.

    For callers in Python. The arrays of these named tuples are in the scratch.
    """
    free = move_freely(engine, motion, traits, scratch, settings.h)
    rows = gather(engine, motion, traits, scratch, settings, carried, free.v, forced)
    return values_of(free), values_of(rows), values_of(delassus(motion, traits, scratch, rows))


@jit
def problem_again(engine, motion, traits, scratch, settings, carried, v_free, forced):
    """Return (`Rows`, `Parts`) as `problem_of_step` does, with the constraints `forced` active as well."""
    rows = gather(engine, motion, traits, scratch, settings, carried, v_free, forced)
    return values_of(rows), values_of(delassus(motion, traits, scratch, rows))


@jit
def apply(engine, motion, scratch, h, rows, r):
    """Return v⁺ (nv,); qacc, qfrc_constraint and efc_force of the data <- those of impulses r (n,)."""
    nv, places, J, first, last = motion.qvel.shape[0], engine.at, rows.J, rows.first, rows.last
    begin, row, scale = rows.begin, rows.row, rows.scale
    forces, change, v = read_address(places.efc_force), zeros(scratch, nv), floats(scratch, nv)
    for i in range(read_int(places.nefc)):
        write_double(forces + 8 * i, 0.0)
    total = motion.qfrc_constraint
    for c in range(nv):
        total[c] = 0.0
    for k in range(r.shape[0]):
        write_double(forces + 8 * row[k], scale[k] * r[k] / h)
        add_line(r[k] / h, J[begin[k] : begin[k] + last[k] - first[k]], 0, total[first[k] : last[k]])
    if r.shape[0]:
        call_solve(
            engine.call.solve_m, engine.model, engine.data, change.ctypes.data, total.ctypes.data, np.int32(1)
        )
    for c in range(nv):
        motion.qacc[c] = motion.qacc_smooth[c] + change[c]
        v[c] = motion.qvel[c] + h * motion.qacc[c]
    return v


@jit
def end_step(engine, motion, traits, scratch, settings, free, rows, parts, u, kinetic, numbers):
    """The data <- the state at the end of the step; numbers (NUMBERS,) <- all but those of the solver.

    Neither is valid after an error of MuJoCo, which the guard records. kinetic: energy at the start [J].
    """
    h, nv, f = settings.h, motion.qvel.shape[0], engine.call
    # 1. Work of the forces over the step, at the mean velocity.
    before, mean, change = floats(scratch, nv), floats(scratch, nv), floats(scratch, nv)
    for c in range(nv):
        before[c] = motion.qvel[c]
        change[c] = h * motion.qacc[c]
        mean[c] = before[c] + 0.5 * change[c]
    potential, lost, driven = motion.energy[0], 0.0, 0.0
    carried_over = free.shift
    for c in range(nv):
        damping = traits.damping[c] * change[c]
        springs = h * traits.stiffness[c] * (before[c] + change[c])
        damped = motion.qfrc_damper[c] + motion.qfrc_fluid[c] - damping
        lost -= mean[c] * (motion.qfrc_constraint[c] + damped)
        # Actuators and applied forces, with their implicit part: without bias, springs and dampers.
        given = motion.qfrc_smooth[c] + motion.qfrc_bias[c] - motion.qfrc_passive[c] + motion.qfrc_gravcomp[c]
        driven += mean[c] * (given - (carried_over[c] - damping - springs))
    driven -= between(traits, free.more, mean, change)
    # 2. Correction of positions: w = M⁻¹ J' p.
    p, need = correct(scratch, rows, parts, u, h)
    push, shift = zeros(scratch, nv), zeros(scratch, nv)
    if need > 0.0:
        J, first, last, begin = rows.J, rows.first, rows.last, rows.begin
        for k in range(p.shape[0]):
            if p[k] != 0.0:
                add_line(p[k], J[begin[k] : begin[k] + last[k] - first[k]], 0, push[first[k] : last[k]])
        call_solve(f.solve_m, engine.model, engine.data, shift.ctypes.data, push.ctypes.data, np.int32(1))
    # 3. Update of velocities, activations, positions and time by MuJoCo; q⁺ = q ∘ h (v⁺ + w).
    safely(end_stage, engine, motion, traits)
    if need > 0.0:
        call_with_step(f.integrate_pos, engine.model, motion.qpos.ctypes.data, shift.ctypes.data, h)
    if not place(engine, motion, traits):
        return
    close_equalities(engine, motion, traits, scratch)
    # 4. Energy balance.
    numbers[at.KINETIC] = kinetic_energy(motion, traits)
    numbers[at.POTENTIAL], numbers[at.LIFTED] = motion.energy[0], 0.0
    numbers[at.DISSIPATED], numbers[at.WORK] = h * lost, h * driven
    gained = numbers[at.KINETIC] - kinetic + numbers[at.POTENTIAL] - potential
    numbers[at.BALANCE] = gained + numbers[at.DISSIPATED] - numbers[at.WORK]
    numbers[at.CORRECTION] = need
    numbers[at.PENETRATION], numbers[at.OPENING] = deepest(engine)


@jit_without_lock
def march(run, first, most, t):
    """Make at most `most` steps from row `first` of the room. Return (number of steps made, exit code).

    Row `first` is the state of the data, whose position and velocity stages are up to date. run: a held
    `Run`; t: time at the end of the first step [s].
    """
    engine, motion, traits, scratch = run.engine, run.motion, run.traits, run.scratch
    settings, carried, room, h = run.settings, run.carried, run.room, run.settings.h
    for made in range(most):
        step, again, finite = first + made, True, True
        if made == 0 and is_elsewhere(motion, room.q[step], room.v[step], room.z[step]):
            return made, WRITTEN
        if made == 0 and not is_current(engine, motion):
            return made, REMADE
        if not carried.moving and has_moved(motion, room.z[step]):
            return made, MOVED
        if SPARE * read_address(engine.at.maxuse_arena) > read_address(engine.at.narena):
            return made, NO_MEMORY
        give_back(scratch, (0, 0))
        floats_needed, ints_needed = scratch_needed(read_int(engine.at.nefc), motion)
        if floats_needed > scratch.floats.shape[0] or ints_needed > scratch.ints.shape[0]:
            return made, NO_SCRATCH
        forced, numbers = ints(scratch, read_int(engine.at.nefc)), room.numbers[step]
        for i in range(forced.shape[0]):
            forced[i] = 0
        # 1. Free motion, and the problem of the constraints that may become active.
        free = move_freely(engine, motion, traits, scratch, h)
        mark = taken(scratch)
        rows = gather(engine, motion, traits, scratch, settings, carried, free.v, forced)
        parts = delassus(motion, traits, scratch, rows)
        if has_failed(engine.guard):
            return made, FAILED
        r = guess(scratch, rows, last_in(room, step))
        u = r[:0]
        # 2. Impulses; again with the inactive constraints that the new velocity violates.
        for _ in range(REPEATS):
            u = floats(scratch, r.shape[0])
            numbers[at.NATURAL] = numbers[at.NATURAL_SCALED] = numbers[at.ITERATIONS] = 0.0
            if r.shape[0]:
                natural, scaled, iterations, solved = solve_parts(
                    scratch, rows, parts, settings.tolerance, r, u
                )
                if not solved:
                    return made, LEFT
                numbers[at.NATURAL], numbers[at.NATURAL_SCALED] = natural, scaled
                numbers[at.ITERATIONS] = iterations
            v = apply(engine, motion, scratch, h, rows, r)
            finite = abs(v.sum()) < np.inf
            again = finite and find_missed(engine, rows, h, v, forced)
            if not again:
                break
            kept = remember(rows, r)
            give_back(scratch, mark)
            rows = gather(engine, motion, traits, scratch, settings, carried, free.v, forced)
            parts, r = delassus(motion, traits, scratch, rows), guess(scratch, rows, kept)
        if not finite:
            return made, NOT_FINITE
        if again:
            return made, LEFT
        # 3. End of the step, and its outputs.
        if not (write_contacts(engine, traits, rows, r, u, room, step) and remember_in(room, step, rows, r)):
            return made, NO_ROOM
        kinetic = room.numbers[step - 1, at.KINETIC] if step else kinetic_energy(motion, traits)
        end_step(engine, motion, traits, scratch, settings, free, rows, parts, u, kinetic, numbers)
        if has_failed(engine.guard):
            return made, FAILED
        write_state(motion, traits, room, step + 1)
        if made == 0:
            write_double(engine.at.time, t)
            room.t[step + 1] = t
    return most, DONE
