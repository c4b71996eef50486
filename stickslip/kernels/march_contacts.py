"""Interactions in a compiled step: outputs, rows, active contacts, coupled systems and the contact problem.

The work of `schemes/moreau_jean_contacts.py` and `schemes/problems.py`, on flat arrays. W is assembled over
the systems that two interactions share (Siconos Developer's Notes 2017, (1.39) and (1.40)).
"""

import math

from stickslip.kernels import cones, small_contacts
from stickslip.kernels import march_bodies as bodies
from stickslip.kernels import march_layout as at
from stickslip.kernels.activation import gap_rate, takes_part, threshold
from stickslip.kernels.jit import jit, jit_inlined
from stickslip.kernels.march_motion import evaluate, substitute

SYMMETRY = 1e-12
"""Largest |W_km - W_mk| over max |W| that counts as rounding [-]."""


@jit_inlined
def gather(i, ties, index, q, z, buffers):
    """Return copies of (coordinates, zero multipliers, parameters) of interaction i."""
    q0, q1, p0, p1 = ties[i, at.Q0], ties[i, at.Q1], ties[i, at.P0], ties[i, at.P1]
    m = ties[i, at.C1] - ties[i, at.C0]
    for k in range(q0, q1):
        buffers[0, k - q0] = q[index[k]]
    for k in range(m):
        buffers[1, k] = 0.0
    for k in range(p0, p1):
        buffers[2, k - p0] = z[index[k]]
    return buffers[0][: q1 - q0], buffers[1][:m], buffers[2][: p1 - p0]


@jit
def touch(form, geometry, q, out):
    """out <- touch (gap, normal, points) of a contact of bodies.   q (7,) or (14,), out (TOUCH,)."""
    if form == at.PLANE:
        bodies.touch_plane(geometry, q, out)
    else:
        bodies.touch_spheres(geometry, q, out)


@jit_inlined
def outputs(i, ties, t, q, z, buffers, out):
    """out[components of i] <- y(t, q).   out (size,)."""
    table, blocks, constants = ties.table, ties.blocks, ties.values.constants
    coordinates, lam, parameters = gather(i, table, ties.index, q, z, buffers)
    c0, c1, where, form = table[i, at.C0], table[i, at.C1], table[i, at.Y_AT], table[i, at.FORM]
    if form == at.LINEAR:
        C, F, n = table[i, at.ROWS_AT], table[i, at.Y_BY_Z], coordinates.shape[0]
        for k in range(c1 - c0):
            s = 0.0
            for j in range(n):
                s += constants[C + k * n + j] * coordinates[j]
            if where >= 0:
                s += constants[where + k]
            if F >= 0:
                for j in range(parameters.shape[0]):
                    s += constants[F + k * parameters.shape[0] + j] * parameters[j]
            out[c0 + k] = s
    elif form == at.WRITTEN:
        evaluate(ties.values, table[i, at.Y], where, t, coordinates, lam, parameters, out[c0:c1])
    else:
        gaps = buffers[3]
        if form == at.GAPS_ONLY:
            g = 0
            for b in range(table[i, at.B0], table[i, at.B1]):
                g += int(is_unilateral(blocks[b, at.KIND]))
            evaluate(ties.values, table[i, at.Y], where, t, coordinates, lam, parameters, gaps[:g])
        else:
            touch(form, constants[where : where + 8], coordinates, gaps)
        for k in range(c0, c1):
            out[k] = 0.0
        g = 0
        for b in range(table[i, at.B0], table[i, at.B1]):
            if is_unilateral(blocks[b, at.KIND]):
                out[blocks[b, at.COMPONENT]] = gaps[g]
                g += 1


@jit_inlined
def rates(i, ties, t, q, z, tying):
    """Write the rows of interaction i and its drift at (t, q), to `tying.rows` and `tying.components`."""
    table, rows, form = ties.table, tying.rows, ties.table[i, at.FORM]
    by_q, drifts = table[i, at.ROWS_BY] == at.BY_Q, table[i, at.DRIFT] != 0
    if form < at.PLANE and table[i, at.ROWS] == 0 and not by_q and not drifts:
        return
    coordinates, lam, parameters = gather(i, table, ties.index, q, z, tying.buffers)
    c0, c1, room, where = table[i, at.C0], table[i, at.C1], table[i, at.ROOM], table[i, at.ROWS_AT]
    if form >= at.PLANE:
        geometry, contact = table[i, at.Y_AT], tying.buffers[3]
        touch(form, ties.values.constants[geometry : geometry + 8], coordinates, contact)
        bodies.contact_rows(contact, coordinates, c1 - c0, tying.spare, rows[room:])
    elif by_q:
        D = tying.spare[: (c1 - c0) * coordinates.shape[0]]
        evaluate(ties.values, table[i, at.ROWS], where, t, coordinates, lam, parameters, D)
        rows_by_velocity(i, ties, coordinates, D, rows)
    elif table[i, at.ROWS] != 0:
        size = (c1 - c0) * (table[i, at.U1] - table[i, at.U0])
        evaluate(ties.values, table[i, at.ROWS], 0, t, coordinates, lam, parameters, rows[room : room + size])
    if drifts:
        drift = tying.components[at.DRIFT_NOW][c0:c1]
        evaluate(ties.values, table[i, at.DRIFT], 0, t, coordinates, lam, parameters, drift)


@jit
def rows_by_velocity(i, ties, q, D, rows):
    """Write the rows over v of interaction i from its rows D over q̇.   q (nq,), D (m nq,)."""
    table, systems, place, first = ties.table, ties.systems, ties.table[i, at.ROOM], 0
    for _ in range(table[i, at.C0], table[i, at.C1]):
        x = 0
        for j in range(table[i, at.S0], table[i, at.S1]):
            s = ties.tied[j]
            nq, nv = systems[s, at.X1] - systems[s, at.X0], systems[s, at.V1] - systems[s, at.V0]
            if systems[s, at.MOVES_BY] == at.POSE:
                bodies.by_velocity(q[x : x + nq], D[first : first + nq], rows[place : place + nv])
            else:
                for k in range(nv):
                    rows[place + k] = D[first + k]
            x, first, place = x + nq, first + nq, place + nv


@jit
def fixed_rates(ties, constants, rows, drift):
    """Write the constant rows and drifts, once per march."""
    for i in range(ties.shape[0]):
        c0, c1, room = ties[i, at.C0], ties[i, at.C1], ties[i, at.ROOM]
        if ties[i, at.ROWS] == 0 and ties[i, at.ROWS_BY] == at.BY_V:
            for k in range((c1 - c0) * (ties[i, at.U1] - ties[i, at.U0])):
                known = ties[i, at.ROWS_AT] >= 0
                rows[room + k] = constants[ties[i, at.ROWS_AT] + k] if known else 0.0
        if ties[i, at.DRIFT] == 0:
            for k in range(c1 - c0):
                known = ties[i, at.DRIFT_AT] >= 0
                drift[c0 + k] = constants[ties[i, at.DRIFT_AT] + k] if known else 0.0


@jit
def is_unilateral(kind):
    """Return whether a block of this kind is active only if its gap closes."""
    return kind == cones.NONNEGATIVE or kind == cones.FRICTION


@jit_inlined
def output_rates(i, ties, index, rows, v, drift, out):
    """out[components of i] <- rows v + drift."""
    u0, n, room = ties[i, at.U0], ties[i, at.U1] - ties[i, at.U0], ties[i, at.ROOM]
    for k in range(ties[i, at.C0], ties[i, at.C1]):
        s = 0.0
        for j in range(n):
            s += rows[room + j] * v[index[u0 + j]]
        out[k] = s + drift[k]
        room += n


@jit_inlined
def speed(blocks, components):
    """Return the largest relative velocity of the contacts, at the start or after the free motion [m/s]."""
    largest = 0.0
    for b in range(blocks.shape[0]):
        if is_unilateral(blocks[b, at.KIND]):
            for k in range(blocks[b, at.COMPONENT], blocks[b, at.COMPONENT_END]):
                largest = max(largest, abs(components[at.U_BEFORE, k]), abs(components[at.U_FREE, k]))
    return largest


@jit_inlined
def activate(blocks, numbers, h, components, forecast, active):
    """Write forecast and active of all blocks and the bias of u⁺; return False if a value is not finite.

    Unilateral blocks are active by their forecast gap y + h/2 u_N (`activation.py`), all others always.
    """
    y, u, bias = components[at.Y_NOW], components[at.U_BEFORE], components[at.BIAS]
    for k in range(y.shape[0]):
        bias[k] = 0.0
        if not abs(y[k] + u[k]) < math.inf:
            return False
    slack = threshold(h, speed(blocks, components))
    for b in range(blocks.shape[0]):
        k = blocks[b, at.COMPONENT]
        forecast[b] = -math.inf
        if is_unilateral(blocks[b, at.KIND]):
            forecast[b] = y[k] + (0.5 * h) * u[k]
            e = numbers[b, at.RESTITUTION]
            rate = gap_rate(forecast[b], u[k], e > 0.0, h)  # used by active blocks only
            bias[k] = rate if rate > 0.0 else e * min(u[k], 0.0)
        active[b] = takes_part(y[k], forecast[b], slack)
    return True


@jit
def find(root, s):
    """Return the representative of the set of coupled systems that contains s."""
    while root[s] != s:
        s = root[s]
    return s


@jit_inlined
def couple(ties, tied, active, root):
    """root <- sets of systems coupled by active interactions, as a union-find forest (see `find`)."""
    for s in range(root.shape[0]):
        root[s] = s
    for i in range(ties.shape[0]):
        if is_active(i, ties, active):
            first = find(root, tied[ties[i, at.S0]])
            for k in range(ties[i, at.S0] + 1, ties[i, at.S1]):
                other = find(root, tied[k])
                root[max(first, other)] = min(first, other)
                first = min(first, other)


@jit_inlined
def is_active(i, ties, active):
    """Return whether a block of interaction i is active."""
    any_active = False
    for b in range(ties[i, at.B0], ties[i, at.B1]):
        any_active = any_active or active[b]
    return any_active


@jit_inlined
def collect(leader, ties, tied, cones_, active, root, problem):
    """Write the set and the component map of the contact problem of the systems represented by `leader`.

    Return its number of blocks and of components.
    """
    blocks, integers, reals = cones_.blocks, problem.integers, problem.reals
    nb, n, g = 0, 0, 0
    integers[at.OFFSETS, 0], integers[at.GROUP_OFFSETS, 0] = 0, 0
    for i in range(ties.shape[0]):
        if find(root, tied[ties[i, at.S0]]) != leader:
            continue
        for b in range(ties[i, at.B0], ties[i, at.B1]):
            if not active[b]:
                continue
            integers[at.KINDS, nb] = blocks[b, at.KIND]
            reals[at.LOWERS, nb] = cones_.numbers[b, at.LOWER]
            reals[at.UPPERS, nb] = cones_.numbers[b, at.UPPER]
            for k in range(blocks[b, at.COMPONENT], blocks[b, at.COMPONENT_END]):
                problem.map[0, n], problem.map[1, n] = k, i
                n += 1
            for k in range(blocks[b, at.G0], blocks[b, at.G1]):
                integers[at.GROUP_SIZES, g] = cones_.group_size[k]
                reals[at.COEFFICIENTS, g] = cones_.coefficient[k]
                g += 1
            nb += 1
            integers[at.OFFSETS, nb], integers[at.GROUP_OFFSETS, nb] = n, g
    return nb, n


@jit
def row_of(k, ties, map_):
    """Return (position, length) of the row of component k of the problem."""
    c, i = map_[0, k], map_[1, k]
    width = ties[i, at.U1] - ties[i, at.U0]
    return ties[i, at.ROOM] + (c - ties[i, at.C0]) * width, width


@jit_inlined
def respond(n, ties, map_, tying, matrices, pivots):
    """responses <- A⁻¹ times each row of the problem, system by system, at the position of the row."""
    table, systems = ties.table, ties.systems
    for k in range(n):
        i = map_[1, k]
        place, _ = row_of(k, table, map_)
        for j in range(table[i, at.S0], table[i, at.S1]):
            s = ties.tied[j]
            a, b, room = systems[s, at.V0], systems[s, at.V1], systems[s, at.MATRIX]
            x = tying.responses[place : place + b - a]
            for c in range(b - a):
                x[c] = tying.rows[place + c]
            A = matrices[at.A_NOW][room : room + (b - a) * (b - a)]
            substitute(A, pivots[a:b], x, b - a)
            place += b - a


@jit_inlined
def delassus(n, ties, map_, rows, responses, W):
    """W[:n n] <- H' A⁻¹ H: rows times responses, summed over the systems that two interactions share."""
    table, tied, systems = ties.table, ties.tied, ties.systems
    for k in range(n):
        i = map_[1, k]
        first, _ = row_of(k, table, map_)
        for m in range(n):
            o = map_[1, m]
            second, _ = row_of(m, table, map_)
            total, left_place = 0.0, first
            for j in range(table[i, at.S0], table[i, at.S1]):
                size = systems[tied[j], at.V1] - systems[tied[j], at.V0]
                right_place = second
                for l in range(table[o, at.S0], table[o, at.S1]):  # noqa: E741
                    if tied[l] == tied[j]:
                        for c in range(size):
                            total += rows[left_place + c] * responses[right_place + c]
                    right_place += systems[tied[l], at.V1] - systems[tied[l], at.V0]
                left_place += size
            W[k * n + m] = total


@jit
def is_lopsided(n, W):
    """Return whether W is unsymmetric beyond rounding."""
    worst, largest = 0.0, 0.0
    for k in range(n):
        for m in range(n):
            worst = max(worst, abs(W[k * n + m] - W[m * n + k]))
            largest = max(largest, abs(W[k * n + m]))
    return worst > SYMMETRY * largest


@jit_inlined
def solve(solver, nb, n, ties, tolerance, vectors, tying, problem):
    """Solve the contact problem; v_end <- v_free + A⁻¹ H r, pushed <- H r; return the exit code.

    solver: `small_contacts.solve_into`, which fills `problem.measures`.
    """
    table, index, components, map_ = ties.table, ties.index, tying.components, problem.map
    integers, reals, W = problem.integers, problem.reals, problem.W
    v_free, v_end, pushed = vectors[at.V_FREE], vectors[at.V_END], vectors[at.PUSHED]
    # 1. u_free = H' v_free + drift + bias.
    for k in range(n):
        c, u0 = map_[0, k], table[map_[1, k], at.U0]
        place, width = row_of(k, table, map_)
        s = components[at.BIAS, c] + components[at.DRIFT_NOW, c]
        for j in range(width):
            s += tying.rows[place + j] * v_free[index[u0 + j]]
        reals[at.U_FREES, k] = s
        reals[at.IMPULSES, k] = components[at.IMPULSE, c]
    # 2. Impulses r; frictionless problems with an unsymmetric W are left to the full solver.
    groups = integers[at.GROUP_OFFSETS, nb]
    if groups == 0 and n > 1 and is_lopsided(n, W):
        return at.UNSYMMETRIC
    solver(
        integers[at.KINDS][:nb], integers[at.OFFSETS][: nb + 1], reals[at.LOWERS][:nb], reals[at.UPPERS][:nb],
        integers[at.GROUP_OFFSETS][: nb + 1], integers[at.GROUP_SIZES][:groups],
        reals[at.COEFFICIENTS][:groups], W[: n * n], reals[at.U_FREES][:n], tolerance,
        reals[at.IMPULSES][:n], reals[at.VELOCITIES][:n], problem.measures,
    )  # fmt: skip
    if problem.measures[small_contacts.SOLVED] != 1.0:
        return at.UNSOLVED
    # 3. Velocities with the impulses.
    for k in range(n):
        c, u0, r = map_[0, k], table[map_[1, k], at.U0], reals[at.IMPULSES, k]
        place, width = row_of(k, table, map_)
        components[at.IMPULSE, c] = r
        if r != 0.0:
            for j in range(width):
                v_end[index[u0 + j]] += tying.responses[place + j] * r
                pushed[index[u0 + j]] += tying.rows[place + j] * r
    return at.DONE
