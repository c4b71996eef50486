"""Many steps of Moreau-Jean in one compiled call.

The steps equal those of `schemes/moreau_jean.py` up to rounding, for the semi-explicit and for the nearly
implicit variant with the rows at the start of the step; the judge checks every contact problem. A step that
cannot be completed (non-finite values, contact problem not solved to tolerance, Newton's method not
converged, failure of a user's function, signal that stops the run) is discarded: the march returns before it,
and `schemes/moreau_jean.py` makes that step.
"""

import math
import warnings
from functools import partial

from stickslip.kernels import march_contacts as contacts
from stickslip.kernels import march_layout as at
from stickslip.kernels import march_motion as motion
from stickslip.kernels import residuals, small_contacts
from stickslip.kernels.callables import STOP, call, function_at, is_stopped
from stickslip.kernels.jit import entry, handed, jit, jit_inlined, jit_without_lock

SOLVER = "iiffiifffxfff"
"""Types of the arguments of `small_contacts.solve_into`, one letter each (see `jit.handed`)."""
solver_at = function_at(SOLVER)


def runner(free, *arguments):
    """Return `march` with the solver of small problems bound, compiled for arguments of these types.

    free: release the interpreter's lock, for runs without signal handlers and without Python functions.
    """
    solver = handed(small_contacts.solve_into, SOLVER).address
    with warnings.catch_warnings():
        # Numba calls functions as arguments experimental when it compiles their callers.
        warnings.filterwarnings("ignore", "First-class function type feature is experimental")
        return partial(entry(march_freely if free else march, solver, *arguments), solver)


@jit
def march(address, model, method, work, times, record, first, most):
    """Make up to `most` steps from row `first` of the record; return (steps done, exit code).

    Step k writes row k + 1 of the record. Exit codes: DONE to STOPPED of `march_layout`.
    address: of the compiled `small_contacts.solve_into`; times (steps + 1,).
    """
    # 1. Constant rows, drifts and mass matrices.
    solver = solver_at(address)
    systems, constants, stop = (
        model.dynamics.systems, model.dynamics.values.constants, model.dynamics.values.stop,
    )  # fmt: skip
    table, index, rows = model.ties.table, model.ties.index, work.tying.rows
    vectors, components = work.moving.vectors, work.tying.components
    drift = components[at.DRIFT_NOW]
    q, v, z = record.q, record.v, record.z
    contacts.fixed_rates(table, constants, rows, drift)
    for s in range(systems.shape[0]):
        if systems[s, at.MASS] == 0:
            n, start = systems[s, at.V1] - systems[s, at.V0], systems[s, at.MATRIX]
            for k in range(n * n):
                work.moving.matrices[at.M_NOW, start + k] = constants[systems[s, at.MASS_AT] + k]
    # 2. Steps; a step counts only if `stop` is not set during it.
    for steps_done in range(most):
        step = first + steps_done
        if is_stopped(stop):
            return steps_done, at.STOPPED
        state = one_step(solver, model, method, work, times[step], step, record)
        if state != at.DONE:
            return steps_done, state
        if stop[STOP] != 0:
            return steps_done, at.STOPPED
        record.iterations[step], record.newton[step] = work.counts[0], work.counts[1]
        for k in range(q.shape[1]):
            q[step + 1, k] = vectors[at.Q_END, k]
        for k in range(v.shape[1]):
            v[step + 1, k] = vectors[at.V_END, k]
        for k in range(components.shape[1]):
            record.r[step + 1, k] = components[at.IMPULSE, k]
        t, end, buffers = times[step] + method.h, vectors[at.Q_END], work.tying.buffers
        for i in range(table.shape[0]):
            contacts.output_rates(i, table, index, rows, vectors[at.V_END], drift, record.u[step])
            contacts.outputs(i, model.ties, t, end, z[step + 1], buffers, record.y[step + 1])
        if stop[STOP] != 0:
            return steps_done, at.STOPPED
    return most, at.DONE


@jit_without_lock
def march_freely(address, model, method, work, times, record, first, most):
    """Call `march` without the interpreter's lock."""
    return march(address, model, method, work, times, record, first, most)


@jit_inlined
def one_step(solver, model, method, work, t, step, record):
    """Make one step; return its exit code.

    The end of the step is left in the work arrays, the residuals of its contact problems in the record.
    """
    systems, table, index, rows = model.dynamics.systems, model.ties.table, model.ties.index, work.tying.rows
    vectors, components = work.moving.vectors, work.tying.components
    drift = components[at.DRIFT_NOW]
    z, active, blocks, h = record.z[step + 1], record.active[step], model.ties.blocks, method.h
    # 1. State and discrete parameters at the start of the step.
    for k in range(record.q.shape[1]):
        vectors[at.Q, k] = record.q[step, k]
    for k in range(record.v.shape[1]):
        vectors[at.V, k] = record.v[step, k]
    for s in range(systems.shape[0]):
        update(s, systems, model.dynamics.values.stop, t, vectors, record.z[step], work.tying.buffers, z)
    for k in range(z.shape[0]):
        if not abs(z[k]) < math.inf:
            return at.NOT_FINITE
    # 2. Outputs y, rows and relative velocities at the start.
    for i in range(table.shape[0]):
        if z.shape[0] > 0:  # parameters may have changed since the last step
            y = components[at.Y_NOW]
            contacts.outputs(i, model.ties, t, vectors[at.Q], z, work.tying.buffers, y)
        else:
            for k in range(table[i, at.C0], table[i, at.C1]):
                components[at.Y_NOW, k] = record.y[step, k]
        contacts.rates(i, model.ties, t, vectors[at.Q], z, work.tying)
        contacts.output_rates(i, table, index, rows, vectors[at.V], drift, components[at.U_BEFORE])
    # 3. Free motion.
    for s in range(systems.shape[0]):
        if not begin(s, model.dynamics, method, work.moving, t, z):
            return at.SINGULAR
    for i in range(table.shape[0]):
        contacts.output_rates(i, table, index, rows, vectors[at.V_FREE], drift, components[at.U_FREE])
    # 4. Active contacts, with the last impulses as initial guesses.
    if not contacts.activate(blocks, model.cones.numbers, h, components, record.forecast[step], active):
        return at.NOT_FINITE
    for k in range(components.shape[1]):
        components[at.IMPULSE, k] = 0.0
    for i in range(table.shape[0]):
        if contacts.is_active(i, table, active):
            if table[i, at.WITH_TIME] == 1:  # the law holds at the time of the end of the step
                contacts.rates(i, model.ties, t + h, vectors[at.Q], z, work.tying)
            for b in range(table[i, at.B0], table[i, at.B1]):
                if active[b]:
                    for k in range(blocks[b, at.COMPONENT], blocks[b, at.COMPONENT_END]):
                        components[at.IMPULSE, k] = record.r[step, k]
    # 5. Newton's method and the contact problem of each set of coupled systems.
    contacts.couple(table, model.ties.tied, active, work.root)
    work.counts[0], work.counts[1] = 0, 0
    record.natural[step] = record.natural_scaled[step] = 0.0
    for leader in range(systems.shape[0]):
        if contacts.find(work.root, leader) == leader:
            state = together(solver, leader, model, method, work, t, step, record)
            if state != at.DONE:
                return state
    # 6. Non-finite values.
    for k in range(record.q.shape[1]):
        if not abs(vectors[at.Q_END, k]) < math.inf:
            return at.NOT_FINITE
    for k in range(record.v.shape[1]):
        if not abs(vectors[at.V_END, k]) < math.inf:
            return at.NOT_FINITE
    return at.DONE


@jit_inlined
def update(s, systems, stop, t, vectors, z_before, buffers, z):
    """z <- discrete parameters of system s for the step that starts at t."""
    c, d = systems[s, at.Z0], systems[s, at.Z1]
    if systems[s, at.UPDATE] == 0:
        for k in range(c, d):
            z[k] = z_before[k]
        return
    a, b = systems[s, at.X0], systems[s, at.V0]
    nq, nv = systems[s, at.X1] - a, systems[s, at.V1] - b
    for k in range(nq):
        buffers[0, k] = vectors[at.Q, a + k]
    for k in range(nv):
        buffers[1, k] = vectors[at.V, b + k]
    for k in range(c, d):
        buffers[2, k - c] = z_before[k]
    address = systems[s, at.UPDATE]
    call(address, t, buffers[0][:nq], buffers[1][:nv], buffers[2][: d - c], stop, z[c:d])


@jit_inlined
def begin(s, dynamics, method, moving, t, z):
    """Initialise Newton's method of system s: force at the start, A and v_free; return False if singular."""
    systems, vectors = dynamics.systems, moving.vectors
    a, b, c, d = systems[s, at.V0], systems[s, at.V1], systems[s, at.X0], systems[s, at.X1]
    parameters = z[systems[s, at.Z0] : systems[s, at.Z1]]
    for k in range(a, b):
        vectors[at.V_END, k] = vectors[at.V, k]
    q, v, start = vectors[at.Q][c:d], vectors[at.V][a:b], vectors[at.F_START][a:b]
    motion.force(s, dynamics, t, q, v, parameters, vectors, start)
    motion.move(s, dynamics, method, t, parameters, moving)
    return motion.linearise(s, dynamics, method, t, parameters, moving)


@jit_inlined
def together(solver, leader, model, method, work, t, step, record):
    """Iterate Newton's method on the coupled systems represented by `leader`; return the exit code."""
    ties, dynamics, systems, problem = model.ties, model.dynamics, model.dynamics.systems, work.problem
    moving, tying, root, z = work.moving, work.tying, work.root, record.z[step + 1]
    vectors = moving.vectors
    ns, implicit = systems.shape[0], False
    nb, n = contacts.collect(leader, ties.table, ties.tied, model.cones, record.active[step], root, problem)
    for s in range(leader, ns):
        if contacts.find(root, s) == leader:
            implicit = implicit or (not method.explicit and method.thetas[s] > 0.0)
    for iteration in range(1, method.newton_max + 1):
        # 1. Linearise, v_free = v - A⁻¹ R_free(v).
        for s in range(leader, ns):
            if contacts.find(root, s) == leader:
                parameters = z[systems[s, at.Z0] : systems[s, at.Z1]]
                if iteration > 1 and not motion.linearise(s, dynamics, method, t, parameters, moving):
                    return at.SINGULAR
                for k in range(systems[s, at.V0], systems[s, at.V1]):
                    vectors[at.BEFORE, k] = vectors[at.V_END, k]
                    vectors[at.V_END, k] = vectors[at.V_FREE, k]
                    vectors[at.PUSHED, k] = 0.0
        # 2. Contact problem with W = H' A⁻¹ H, v_end = v_free + A⁻¹ H r.
        if n > 0:
            contacts.respond(n, ties, problem.map, tying, moving.matrices, moving.pivots)
            contacts.delassus(n, ties, problem.map, tying.rows, tying.responses, problem.W)
            state = contacts.solve(solver, nb, n, ties, method.tolerance, vectors, tying, problem)
            if state != at.DONE:
                return state
        # 3. Convergence: momentum balance, change of velocities, or rounding.
        error, moved = 0.0, 0.0
        for s in range(leader, ns):
            if contacts.find(root, s) == leader:
                motion.move(s, dynamics, method, t, z[systems[s, at.Z0] : systems[s, at.Z1]], moving)
                missing = motion.missing(s, systems, method.h, vectors, moving.matrices)
                if not missing < math.inf:
                    return at.NOT_FINITE
                error, moved = max(error, missing), max(moved, change(s, systems, vectors))
        tolerance = method.newton_tolerance
        ends = not implicit or error <= tolerance or (iteration > 1 and moved <= tolerance)
        if not ends:
            ends = True
            for s in range(leader, ns):
                if ends and contacts.find(root, s) == leader:
                    parameters = z[systems[s, at.Z0] : systems[s, at.Z1]]
                    ends = motion.is_rounding(s, dynamics, method, t, parameters, moving)
        if ends:
            if n > 0:
                measures = problem.measures
                record.natural[step] = max(record.natural[step], measures[residuals.NATURAL])
                record.natural_scaled[step] = max(record.natural_scaled[step], measures[residuals.SCALED])
                work.counts[0] += int(measures[small_contacts.SWEEPS] + measures[small_contacts.NEWTONS])
            work.counts[1] = max(work.counts[1], iteration)
            return at.DONE
    return at.NO_NEWTON


@jit_inlined
def change(s, systems, vectors):
    """Return the relative change of the velocities of system s in one Newton iteration [-]."""
    moved, new, old = 0.0, 0.0, 0.0
    for k in range(systems[s, at.V0], systems[s, at.V1]):
        after, before = vectors[at.V_END, k], vectors[at.BEFORE, k]
        moved, new, old = moved + (after - before) ** 2, new + after * after, old + before * before
    return math.sqrt(moved / max(new, old)) if moved > 0.0 else 0.0
