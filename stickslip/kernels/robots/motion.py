"""Motion of a robot without constraint impulses: MuJoCo's stages, and velocities that are implicit in
dampers, springs and servos."""

import numpy as np

from stickslip.kernels.held import WORDS, hold
from stickslip.kernels.jit import jit_forward as jit
from stickslip.kernels.robots.layout import Free
from stickslip.kernels.robots.margins import set_margins
from stickslip.kernels.robots.rows import set_laws
from stickslip.kernels.scratch import floats, ints, zeros
from stickslip.kernels.steps.addresses import (
    call_with_flag,
    call_with_two,
    read_address,
    read_double,
    read_int,
    write_address,
    write_double,
    write_int,
)
from stickslip.kernels.steps.guard import arm, disarm, mark


@jit
def safely(stage, engine, motion, traits):
    """Run a stage of MuJoCo; return False after an error.

    Then MuJoCo's stack is empty, and its message is in the frame of the guard.
    """
    guard = engine.guard
    before = arm(guard)
    if mark(guard.frame) != 0:
        disarm(guard, before)
        write_address(engine.at.pstack, 0)
        write_address(engine.at.pbase, 0)
        return False
    stage(engine, motion, traits)
    disarm(guard, before)
    return True


@jit
def place_stage(engine, motion, traits):
    """Compute MuJoCo's position and velocity stages at the state of the data."""
    f, m, d = engine.call, engine.model, engine.data
    call_with_two(f.kinematics, m, d)
    call_with_two(f.com_pos, m, d)
    call_with_two(f.camlight, m, d)
    call_with_two(f.tendon, m, d)
    call_with_two(f.transmission, m, d)
    # The velocity stage comes before collision, since margins depend on velocities; the reference of the
    # constraints comes after it. Until then there are no constraints: the arena is emptied, as in
    # mj_collision.
    write_int(engine.at.ncon, np.int32(0))
    write_int(engine.at.nefc, np.int32(0))
    write_address(engine.at.parena, 0)
    call_with_two(f.fwd_velocity, m, d)
    set_margins(engine.margins, motion, traits)
    call_with_two(f.make_m, m, d)
    call_with_two(f.factor_m, m, d)
    call_with_two(f.collision, m, d)
    set_laws(engine)
    call_with_two(f.make_constraint, m, d)
    call_with_two(f.reference, m, d)
    call_with_two(f.energy_pos, m, d)
    if engine.sensors:
        call_with_two(f.sensor_pos, m, d)
        call_with_two(f.sensor_vel, m, d)
    write_int(engine.at.flags, np.int32(0))  # energies and momenta are not up to date
    write_double(engine.at.solver_fwdinv, -1.0 - read_int(engine.at.nefc))
    write_double(engine.at.solver_fwdinv + 8, active_hash(motion.eq_active))
    if read_int(engine.at.nefc):
        write_double(read_address(engine.at.efc_diagA), -1.0)


@jit
def active_hash(active):
    """Return a negative hash of the flags of active equality constraints."""
    value = np.int64(1)
    for flag in active:
        value = (31 * value + flag) % 2147483647
    return -float(value)


@jit
def is_current(engine, motion):
    """Return whether contacts and constraints of the data come from `place_stage`, with the equality
    constraints that are active, and not from a user's call of a function of MuJoCo such as `mj_forward`.

    `place_stage` marks the data by negative numbers in places where MuJoCo writes none.
    """
    places, n = engine.at, read_int(engine.at.nefc)
    first = read_double(read_address(places.efc_diagA)) if n else -1.0
    same = read_double(places.solver_fwdinv + 8) == active_hash(motion.eq_active)
    return same and read_double(places.solver_fwdinv) == -1.0 - n and first == -1.0


@jit
def place(engine, motion, traits):
    """Compute MuJoCo's position and velocity stages at the state of the data; return False after an error."""
    return safely(place_stage, engine, motion, traits)


@jit
def force_stage(engine, motion, traits):
    """Compute actuator forces, and the derivative of all smooth forces with respect to velocity."""
    call_with_two(engine.call.fwd_actuation, engine.model, engine.data)
    call_with_flag(engine.call.smooth_vel, engine.model, engine.data, np.int32(0))


@jit
def acceleration_stage(engine, motion, traits):
    """Factor the matrix that is stored in the place of M, and compute smooth forces and accelerations."""
    call_with_two(engine.call.factor_m, engine.model, engine.data)
    call_with_two(engine.call.fwd_acceleration, engine.model, engine.data)


@jit
def end_stage(engine, motion, traits):
    """Velocities, activations, positions and time of the data <- those at the end of the step."""
    if engine.sensors:
        call_with_two(engine.call.sensor_acc, engine.model, engine.data)
    call_with_two(engine.call.euler, engine.model, engine.data)


@jit
def has_entry(traits, i, j):
    """Return whether the sparsity pattern of M contains the entry (i, j), j <= i."""
    start, found = traits.row_start[i], False
    for entry in range(start, start + traits.row_count[i]):
        found = found or traits.column[entry] == j
    return found


@jit
def add_stiffness(traits, k, h, count, start, column, values, v, M, shift):
    """M <- M + h² k j j', shift <- shift + h k j (j' v), j a sparse row.

    Both are unchanged if M does not store all these entries, because j couples branches of the tree. Adding
    only some of them would not represent the spring.
    """
    if count == 1:
        i = column[start]
        M[traits.row_start[i] + traits.row_count[i] - 1] += h * h * k * values[start] * values[start]
        shift[i] += h * k * values[start] * values[start] * v[i]
        return
    for p in range(start, start + count):
        for s in range(start, start + count):
            if column[s] <= column[p] and not has_entry(traits, column[p], column[s]):
                return
    along = 0.0
    for p in range(start, start + count):
        along += values[p] * v[column[p]]
    for p in range(start, start + count):
        i = column[p]
        shift[i] += h * k * values[p] * along
        for s in range(start, start + count):
            j = column[s]
            if j <= i:
                row = traits.row_start[i]
                for entry in range(row, row + traits.row_count[i]):
                    if traits.column[entry] == j:
                        M[entry] += h * h * k * values[p] * values[s]


@jit
def move_freely(engine, motion, traits, scratch, h):
    """Return a held `Free`; MuJoCo's factor <- that of M + h D + h² K.

    Neither is valid after an error of MuJoCo, which the guard records.
    """
    # 1. M <- M + h D + h² K, shift <- h K v, with the springs of joints, servos and tendons.
    nv = motion.qvel.shape[0]
    safely(force_stage, engine, motion, traits)
    M, inertia, shift = motion.M, floats(scratch, motion.M.shape[0]), zeros(scratch, nv)
    for entry in range(M.shape[0]):
        inertia[entry] = M[entry]
        M[entry] -= h * motion.derivative[traits.of_derivative[entry]]
    for i in range(nv):
        M[traits.row_start[i] + traits.row_count[i] - 1] += h * h * traits.stiffness[i]
        shift[i] = h * traits.stiffness[i] * motion.qvel[i]
    for a in range(traits.actuator_stiffness.shape[0]):
        k, force = traits.actuator_stiffness[a], motion.actuator_force[a]
        if k > 0.0 and traits.actuator_lower[a] < force < traits.actuator_upper[a]:
            add_stiffness(
                traits, k, h, motion.moment_count[a], motion.moment_start[a], motion.moment_column,
                motion.moment, motion.qvel, M, shift,
            )  # fmt: skip
    for t in range(traits.tendon_stiffness.shape[0]):
        k, length = traits.tendon_stiffness[t], motion.tendon_length[t]
        if k > 0.0 and (length < traits.tendon_lower[t] or length > traits.tendon_upper[t]):
            add_stiffness(
                traits, k, h, traits.tendon_count[t], traits.tendon_start[t], traits.tendon_column,
                motion.tendon, motion.qvel, M, shift,
            )  # fmt: skip
    # 2. Accelerations (M + h D + h² K)⁻¹ (f - h K v) by MuJoCo, with h K v as a part of qfrc_bias.
    bias = floats(scratch, nv)
    for i in range(nv):
        bias[i] = motion.qfrc_bias[i]
        motion.qfrc_bias[i] += shift[i]
    safely(acceleration_stage, engine, motion, traits)
    # 3. v_free, D + h K, and M as before.
    v_free, more = floats(scratch, nv), floats(scratch, M.shape[0])
    for i in range(nv):
        v_free[i] = motion.qvel[i] + h * motion.qacc_smooth[i]
        motion.qfrc_smooth[i] += shift[i]
        motion.qfrc_bias[i] = bias[i]
    for entry in range(M.shape[0]):
        more[entry], M[entry] = (M[entry] - inertia[entry]) / h, inertia[entry]
    return hold(Free(v_free, shift, more), ints(scratch, WORDS))


@jit
def between(traits, entries, x, y):
    """Return x' A y, A the symmetric matrix with the lower rows `entries`, stored as M."""
    total = 0.0
    for i in range(x.shape[0]):
        start = traits.row_start[i]
        diagonal, entry = start + traits.row_count[i] - 1, np.int64(start)
        x0, x1, y0, y1 = 0.0, 0.0, 0.0, 0.0  # independent sums run in parallel
        while entry + 1 < diagonal:
            j, k = traits.column[entry], traits.column[entry + 1]
            x0 += entries[entry] * x[j]
            y0 += entries[entry] * y[j]
            x1 += entries[entry + 1] * x[k]
            y1 += entries[entry + 1] * y[k]
            entry += 2
        if entry < diagonal:
            j = traits.column[entry]
            x0 += entries[entry] * x[j]
            y0 += entries[entry] * y[j]
        total += x[i] * ((y0 + y1) + entries[diagonal] * y[i]) + (x0 + x1) * y[i]
    return total


@jit
def kinetic_energy(motion, traits):
    """Return the kinetic energy of the state of the data, whose M is up to date [J]."""
    return 0.5 * between(traits, motion.M, motion.qvel, motion.qvel)
