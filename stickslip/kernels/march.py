"""Many steps of Moreau-Jean in one compiled call.

The same steps as `schemes/moreau_jean.py` makes one by one, semi-explicit or nearly implicit with the rows at
the start, to rounding; every problem is judged as there. A step that cannot be finished (not finite, not
solved to tolerance, Newton without an end) ends the march before it, and the ordinary step has its turn. So
does a function that fails or a signal that is to end the run: the step that it falls into is not done.
"""

import math
import warnings

import numpy as np

from stickslip.kernels import march_contacts as contacts
from stickslip.kernels import march_layout as at
from stickslip.kernels import march_motion as motion
from stickslip.kernels import residuals, small_contacts
from stickslip.kernels.callables import STOP, call, is_stopped
from stickslip.kernels.jit import handed, jit


def run(*arguments):
    """`march` with the solver of small problems."""
    with warnings.catch_warnings():
        # Numba calls functions as arguments experimental when it compiles their callers.
        warnings.filterwarnings("ignore", "First-class function type feature is experimental")
        return march(handed(small_contacts.solve_into, "iiffiifffxfff"), *arguments)


@jit
def march(
    solver, model, options, problem, times, q, v, z, r, y, u, active, forecast, natural, natural_scaled,
    iterations, newton,
):  # fmt: skip
    """Steps done, from row 0 of q, v, z, r, y to row k + 1 after step k; how the last one ended.

    solver: `small_contacts.solve_into`. model: systems, terms, slopes, ties, tied, index, blocks, block
    numbers, sizes of groups, coefficients, constants (`march_layout.py`), stop (`callables.py`). options:
    θ of each system, whether explicit, h, tolerance, Newton's tolerance and most iterations. problem: whole
    numbers, numbers and W of a contact problem. times (steps + 1,); q, v
    (steps + 1, nv); z (steps + 1, nz); r, y (steps + 1, size), row 0 the guess and the outputs at the start;
    u (steps, size); active, forecast (steps, blocks); the others (steps,).
    """
    systems, _, _, ties, _, index, blocks, _, _, _, constants, stop = model
    nv, size, h = q.shape[1], r.shape[1], options[2]
    work = room(systems, ties, nv, size, z.shape[1])
    vectors, components, matrices, _, _, rows, _, _, buffers, _, _, counts, _ = work
    contacts.fixed_rates(ties, constants, rows, components)
    for s in range(systems.shape[0]):
        if systems[s, at.MASS] == 0:
            n, where = systems[s, at.V1] - systems[s, at.V0], systems[s, at.MATRIX]
            for k in range(n * n):
                matrices[at.M_NOW, where + k] = constants[systems[s, at.MASS_AT] + k]
    for step in range(natural.shape[0]):
        if is_stopped(stop):
            return step, at.STOPPED
        state, natural[step], natural_scaled[step] = one_step(
            solver, model, options, problem, work, times[step], q[step], v[step], z[step], r[step], y[step],
            z[step + 1], forecast[step], active[step],
        )  # fmt: skip
        if state != at.DONE:
            return step, state
        if stop[STOP] != 0:
            return step, at.STOPPED
        iterations[step], newton[step] = counts[0], counts[1]
        for k in range(nv):
            q[step + 1, k], v[step + 1, k] = vectors[at.Q_END, k], vectors[at.V_END, k]
        for k in range(size):
            r[step + 1, k] = components[at.IMPULSE, k]
        t, end, z_end = times[step] + h, vectors[at.Q_END], z[step + 1]
        for i in range(ties.shape[0]):
            contacts.output_rates(i, ties, index, rows, vectors[at.V_END], components[at.DRIFT_NOW], u[step])
            contacts.outputs(i, ties, index, blocks, constants, stop, t, end, z_end, buffers, y[step + 1])
        if stop[STOP] != 0:
            return step, at.STOPPED
    return natural.shape[0], at.DONE


@jit
def room(systems, ties, nv, size, nz):
    """Work arrays: vectors, components, matrices, pivots, known, rows, responses, map, buffers, spare, root,
    counts, measures."""
    ns, entries, rows, widest = systems.shape[0], 0, 0, 1
    for s in range(ns):
        n = systems[s, at.V1] - systems[s, at.V0]
        entries, widest = entries + n * n, max(widest, n)
    for i in range(ties.shape[0]):
        width = ties[i, at.Q1] - ties[i, at.Q0]
        rows += (ties[i, at.C1] - ties[i, at.C0]) * width
        widest = max(widest, width)
    return (
        np.zeros((at.V_ROWS, max(nv, 1))), np.zeros((at.C_ROWS, size)), np.zeros((at.M_ROWS, entries)),
        np.zeros(nv, np.int64), np.zeros(ns, np.bool_), np.zeros(rows), np.zeros(rows),
        np.zeros((2, size), np.int64), np.zeros((4, max(widest, size, nz, 1))), np.zeros(widest * widest),
        np.zeros(ns, np.int64), np.zeros(2, np.int64), np.zeros(residuals.MEASURES + 2),
    )  # fmt: skip


@jit
def one_step(
    solver, model, options, problem, work, t, q, v, z_before, r_before, y_before, z, forecast, active
):  # fmt: skip
    """(how it ended, natural, natural_scaled) of one step; its end is left in the work arrays."""
    systems, _, _, ties, tied, index, blocks, block_numbers, _, _, constants, stop = model
    vectors, components, _, _, _, rows, _, _, buffers, _, root, counts, _ = work
    h = options[2]
    for k in range(q.shape[0]):
        vectors[at.Q, k], vectors[at.V, k] = q[k], v[k]
    for s in range(systems.shape[0]):
        update(s, systems, stop, t, vectors, z_before, buffers, z)
    for k in range(z.shape[0]):
        if not abs(z[k]) < math.inf:
            return at.NOT_FINITE, math.nan, math.nan
    for i in range(ties.shape[0]):
        if z.shape[0] > 0:  # parameters may have changed since the last step
            y = components[at.Y_NOW]
            contacts.outputs(i, ties, index, blocks, constants, stop, t, vectors[at.Q], z, buffers, y)
        else:
            for k in range(ties[i, at.C0], ties[i, at.C1]):
                components[at.Y_NOW, k] = y_before[k]
        contacts.rates(i, ties, index, constants, stop, t, vectors[at.Q], z, buffers, rows, components)
        contacts.output_rates(
            i, ties, index, rows, vectors[at.V], components[at.DRIFT_NOW], components[at.U_BEFORE]
        )
    for s in range(systems.shape[0]):
        if not begin(s, model, options, work, t, z):
            return at.SINGULAR, math.nan, math.nan
    for i in range(ties.shape[0]):
        contacts.output_rates(
            i, ties, index, rows, vectors[at.V_FREE], components[at.DRIFT_NOW], components[at.U_FREE]
        )
    if not contacts.activate(blocks, block_numbers, h, components, forecast, active):
        return at.NOT_FINITE, math.nan, math.nan
    for k in range(r_before.shape[0]):
        components[at.IMPULSE, k] = 0.0
    for i in range(ties.shape[0]):
        if contacts.is_active(i, ties, active):  # the law is stated at the end of the step
            contacts.rates(
                i, ties, index, constants, stop, t + h, vectors[at.Q], z, buffers, rows, components
            )
            for b in range(ties[i, at.B0], ties[i, at.B1]):
                if active[b]:
                    for k in range(blocks[b, at.COMPONENT], blocks[b, at.COMPONENT_END]):
                        components[at.IMPULSE, k] = r_before[k]
    contacts.couple(ties, tied, active, root)
    counts[0], counts[1] = 0, 0
    natural, scaled = 0.0, 0.0
    for leader in range(systems.shape[0]):
        if contacts.find(root, leader) == leader:
            state, a, b = together(solver, leader, model, options, problem, work, t, z, active)
            if state != at.DONE:
                return state, math.nan, math.nan
            natural, scaled = max(natural, a), max(scaled, b)
    for k in range(q.shape[0]):
        if not abs(vectors[at.Q_END, k] + vectors[at.V_END, k]) < math.inf:
            return at.NOT_FINITE, math.nan, math.nan
    return at.DONE, natural, scaled


@jit
def update(s, systems, stop, t, vectors, z_before, buffers, z):
    """z <- discrete parameters of system s for the step that begins at t."""
    a, b, c, d = systems[s, at.V0], systems[s, at.V1], systems[s, at.Z0], systems[s, at.Z1]
    if systems[s, at.UPDATE] == 0:
        for k in range(c, d):
            z[k] = z_before[k]
        return
    for k in range(a, b):
        buffers[0, k - a], buffers[1, k - a] = vectors[at.Q, k], vectors[at.V, k]
    for k in range(c, d):
        buffers[2, k - c] = z_before[k]
    call(
        systems[s, at.UPDATE], t, buffers[0][: b - a], buffers[1][: b - a], buffers[2][: d - c], stop, z[c:d]
    )


@jit
def begin(s, model, options, work, t, z):
    """System s before Newton's first iteration, with its free velocity; false if it has none."""
    systems, terms, slopes, _, _, _, _, _, _, _, constants, stop = model
    thetas, explicit, h, _, _, _ = options
    vectors, _, matrices, pivots, known, _, _, _, _, spare, _, _, _ = work
    a, b, own = systems[s, at.V0], systems[s, at.V1], z[systems[s, at.Z0] : systems[s, at.Z1]]
    for k in range(a, b):
        vectors[at.V_END, k] = vectors[at.V, k]
    q, v, start = vectors[at.Q][a:b], vectors[at.V][a:b], vectors[at.F_START][a:b]
    motion.force(s, systems, terms, constants, stop, t, q, v, own, vectors, start)
    motion.move(s, systems, terms, constants, stop, thetas[s], explicit, t, h, own, vectors, matrices)
    return motion.linearise(
        s, systems, slopes, constants, stop, thetas[s], explicit, t, h, own, vectors, matrices, pivots, known,
        spare,
    )  # fmt: skip


@jit
def together(solver, leader, model, options, problem, work, t, z, active):
    """(how it ended, natural, natural_scaled): Newton's loop over systems led by `leader`, and their ties."""
    systems, terms, slopes, ties, tied, index, blocks, numbers, group_size, coefficient, constants, stop = (
        model
    )
    thetas, explicit, h, tolerance, newton_tolerance, newton_max = options
    vectors, components, matrices, pivots, known, rows, responses, map_, _, spare, root, counts, measures = (
        work
    )
    ns, implicit = systems.shape[0], False
    nb, n = contacts.collect(
        leader, ties, tied, blocks, numbers, group_size, coefficient, active, root,
        problem[0], problem[1], map_,
    )  # fmt: skip
    for s in range(leader, ns):
        if contacts.find(root, s) == leader:
            implicit = implicit or (not explicit and thetas[s] > 0.0)
    for iteration in range(1, newton_max + 1):
        for s in range(leader, ns):
            if contacts.find(root, s) == leader:
                own = z[systems[s, at.Z0] : systems[s, at.Z1]]
                if iteration > 1 and not motion.linearise(
                    s, systems, slopes, constants, stop, thetas[s], explicit, t, h, own, vectors, matrices,
                    pivots, known, spare,
                ):  # fmt: skip
                    return at.SINGULAR, math.nan, math.nan
                for k in range(systems[s, at.V0], systems[s, at.V1]):
                    vectors[at.BEFORE, k] = vectors[at.V_END, k]
                    vectors[at.V_END, k] = vectors[at.V_FREE, k]
                    vectors[at.PUSHED, k] = 0.0
        natural, scaled, sweeps = 0.0, 0.0, 0
        if n > 0:
            contacts.respond(n, ties, tied, systems, map_, rows, responses, matrices, pivots, spare)
            contacts.delassus(n, ties, tied, systems, map_, rows, responses, problem[2])
            state = contacts.solve(
                solver, nb, n, ties, index, map_, rows, responses, components, tolerance, vectors, problem,
                measures,
            )  # fmt: skip
            if state != at.DONE:
                return state, math.nan, math.nan
            natural, scaled = measures[residuals.NATURAL], measures[residuals.SCALED]
            sweeps = int(measures[residuals.MEASURES])
        error, moved = 0.0, 0.0
        for s in range(leader, ns):
            if contacts.find(root, s) == leader:
                own = z[systems[s, at.Z0] : systems[s, at.Z1]]
                motion.move(
                    s, systems, terms, constants, stop, thetas[s], explicit, t, h, own, vectors, matrices
                )
                missing = motion.missing(s, systems, h, vectors, matrices)
                if not missing < math.inf:
                    return at.NOT_FINITE, math.nan, math.nan
                error, moved = max(error, missing), max(moved, change(s, systems, vectors))
        ends = not implicit or error <= newton_tolerance or (iteration > 1 and moved <= newton_tolerance)
        if not ends:
            ends = True
            for s in range(leader, ns):
                if ends and contacts.find(root, s) == leader:
                    own = z[systems[s, at.Z0] : systems[s, at.Z1]]
                    ends = motion.is_rounding(
                        s, systems, slopes, constants, stop, thetas[s], t, h, own, vectors, matrices, spare
                    )
        if ends:
            counts[0], counts[1] = counts[0] + sweeps, max(counts[1], iteration)
            return at.DONE, natural, scaled
    return at.NO_NEWTON, math.nan, math.nan


@jit
def change(s, systems, vectors):
    """By how much the velocities of system s have changed in an iteration, relatively [-]."""
    moved, new, old = 0.0, 0.0, 0.0
    for k in range(systems[s, at.V0], systems[s, at.V1]):
        after, before = vectors[at.V_END, k], vectors[at.BEFORE, k]
        moved, new, old = moved + (after - before) ** 2, new + after * after, old + before * before
    return math.sqrt(moved / max(new, old)) if moved > 0.0 else 0.0
