"""Interactions in a compiled step: outputs and rows, who is active, who is coupled, and their problem.

What `schemes/moreau_jean_contacts.py` and `schemes/problems.py` do, on flat arrays. W is assembled over the
systems that two interactions share (Siconos Developer's Notes 2017, (1.39) and (1.40)).
"""

import math

from stickslip.kernels import cones, residuals
from stickslip.kernels import march_layout as at
from stickslip.kernels.activation import gap_rate, takes_part, threshold
from stickslip.kernels.jit import jit
from stickslip.kernels.march_motion import evaluate, substitute

SYMMETRY = 1e-12
"""Largest difference of W across its diagonal, over its largest entry, that is rounding."""


@jit
def gather(i, ties, index, q, z, buffers):
    """(coordinates, multipliers, parameters) of interaction i, copied.   buffers (3, any)."""
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
def outputs(i, ties, index, blocks, constants, stop, t, q, z, buffers, out):
    """out[components of i] <- y(t, q).   out (size,)."""
    own, lam, own_z = gather(i, ties, index, q, z, buffers)
    c0, c1, where, n = ties[i, at.C0], ties[i, at.C1], ties[i, at.Y_AT], own.shape[0]
    if ties[i, at.Y_LINEAR] == 1:
        C, F = ties[i, at.ROWS_AT], ties[i, at.Y_BY_Z]
        for k in range(c1 - c0):
            s = 0.0
            for j in range(n):
                s += constants[C + k * n + j] * own[j]
            if where >= 0:
                s += constants[where + k]
            if F >= 0:
                for j in range(own_z.shape[0]):
                    s += constants[F + k * own_z.shape[0] + j] * own_z[j]
            out[c0 + k] = s
    elif ties[i, at.GAPS_ONLY] == 1:
        g = 0
        for b in range(ties[i, at.B0], ties[i, at.B1]):
            g += int(is_unilateral(blocks[b, at.KIND]))
        gaps = buffers[3][:g]
        evaluate(ties[i, at.Y], where, constants, stop, t, own, lam, own_z, gaps)
        for k in range(c0, c1):
            out[k] = 0.0
        g = 0
        for b in range(ties[i, at.B0], ties[i, at.B1]):
            if is_unilateral(blocks[b, at.KIND]):
                out[blocks[b, at.COMPONENT]] = gaps[g]
                g += 1
    else:
        evaluate(ties[i, at.Y], where, constants, stop, t, own, lam, own_z, out[c0:c1])


@jit
def rates(i, ties, index, constants, stop, t, q, z, buffers, rows, components):
    """Rows of interaction i in its room, and its drift, at (t, q)."""
    c0, c1, room = ties[i, at.C0], ties[i, at.C1], ties[i, at.ROOM]
    n = ties[i, at.Q1] - ties[i, at.Q0]
    if ties[i, at.ROWS] != 0:
        own, lam, own_z = gather(i, ties, index, q, z, buffers)
        evaluate(ties[i, at.ROWS], 0, constants, stop, t, own, lam, own_z, rows[room : room + (c1 - c0) * n])
    if ties[i, at.DRIFT] != 0:
        own, lam, own_z = gather(i, ties, index, q, z, buffers)
        evaluate(ties[i, at.DRIFT], 0, constants, stop, t, own, lam, own_z, components[at.DRIFT_NOW][c0:c1])


@jit
def fixed_rates(ties, constants, rows, components):
    """Rows and drifts that are constant, written once."""
    for i in range(ties.shape[0]):
        c0, c1, room = ties[i, at.C0], ties[i, at.C1], ties[i, at.ROOM]
        size = (c1 - c0) * (ties[i, at.Q1] - ties[i, at.Q0])
        if ties[i, at.ROWS] == 0:
            for k in range(size):
                rows[room + k] = constants[ties[i, at.ROWS_AT] + k] if ties[i, at.ROWS_AT] >= 0 else 0.0
        if ties[i, at.DRIFT] == 0:
            for k in range(c1 - c0):
                known = ties[i, at.DRIFT_AT] >= 0
                components[at.DRIFT_NOW, c0 + k] = constants[ties[i, at.DRIFT_AT] + k] if known else 0.0


@jit
def is_unilateral(kind):
    """Whether a block of that kind waits for its gap to close."""
    return kind == cones.NONNEGATIVE or kind == cones.FRICTION


@jit
def output_rates(i, ties, index, rows, v, drift, out):
    """out[components of i] <- rows v + drift."""
    q0, n, room = ties[i, at.Q0], ties[i, at.Q1] - ties[i, at.Q0], ties[i, at.ROOM]
    for k in range(ties[i, at.C0], ties[i, at.C1]):
        s = 0.0
        for j in range(n):
            s += rows[room + j] * v[index[q0 + j]]
        out[k] = s + drift[k]
        room += n


@jit
def speed(blocks, components):
    """Largest speed of the contacts, before the step or after its free motion [m/s]."""
    largest = 0.0
    for b in range(blocks.shape[0]):
        if is_unilateral(blocks[b, at.KIND]):
            for k in range(blocks[b, at.COMPONENT], blocks[b, at.COMPONENT_END]):
                largest = max(largest, abs(components[at.U_BEFORE, k]), abs(components[at.U_FREE, k]))
    return largest


@jit
def activate(blocks, block_numbers, h, components, forecast, active):
    """forecast, active of all blocks, and what is added to u⁺; false if something is not finite.

    Active as their forecast y + h/2 u_N says (`activation.py`); always where they do not wait.
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
            e = block_numbers[b, at.RESTITUTION]
            rate = gap_rate(forecast[b], u[k], e > 0.0, h)  # read only of blocks that take part
            bias[k] = rate if rate > 0.0 else e * min(u[k], 0.0)
        active[b] = takes_part(y[k], forecast[b], slack)
    return True


@jit
def find(root, s):
    """The representative of system s."""
    while root[s] != s:
        s = root[s]
    return s


@jit
def couple(ties, tied, active, root):
    """root <- systems joined by active interactions; count of systems in `root`."""
    for s in range(root.shape[0]):
        root[s] = s
    for i in range(ties.shape[0]):
        if is_active(i, ties, active):
            first = find(root, tied[ties[i, at.S0]])
            for k in range(ties[i, at.S0] + 1, ties[i, at.S1]):
                other = find(root, tied[k])
                root[max(first, other)] = min(first, other)
                first = min(first, other)


@jit
def is_active(i, ties, active):
    """Whether a block of interaction i is active."""
    found = False
    for b in range(ties[i, at.B0], ties[i, at.B1]):
        found = found or active[b]
    return found


@jit
def collect(
    leader, ties, tied, blocks, block_numbers, group_size, coefficient, active, root, whole, numbers, map_
):
    """(blocks, components) of the problem of the systems led by `leader`: its set, and where it stands.

    map_ (2, size): component among all, and interaction, of each component of the problem.
    """
    nb, n, g = 0, 0, 0
    whole[at.OFFSETS, 0], whole[at.GROUP_OFFSETS, 0] = 0, 0
    for i in range(ties.shape[0]):
        if find(root, tied[ties[i, at.S0]]) != leader:
            continue
        for b in range(ties[i, at.B0], ties[i, at.B1]):
            if not active[b]:
                continue
            whole[at.KINDS, nb] = blocks[b, at.KIND]
            numbers[at.LOWERS, nb] = block_numbers[b, at.LOWER]
            numbers[at.UPPERS, nb] = block_numbers[b, at.UPPER]
            for k in range(blocks[b, at.COMPONENT], blocks[b, at.COMPONENT_END]):
                map_[0, n], map_[1, n] = k, i
                n += 1
            for k in range(blocks[b, at.G0], blocks[b, at.G1]):
                whole[at.GROUP_SIZES, g], numbers[at.COEFFICIENTS, g] = group_size[k], coefficient[k]
                g += 1
            nb += 1
            whole[at.OFFSETS, nb], whole[at.GROUP_OFFSETS, nb] = n, g
    return nb, n


@jit
def respond(n, ties, tied, systems, map_, rows, responses, matrices, pivots, work):
    """responses <- A⁻¹ times each row of the problem, system by system, in the rooms of the rows."""
    for k in range(n):
        i = map_[1, k]
        width = ties[i, at.Q1] - ties[i, at.Q0]
        place = ties[i, at.ROOM] + (map_[0, k] - ties[i, at.C0]) * width
        for j in range(ties[i, at.S0], ties[i, at.S1]):
            s = tied[j]
            a, b, room = systems[s, at.V0], systems[s, at.V1], systems[s, at.MATRIX]
            x = work[: b - a]
            for c in range(b - a):
                x[c] = rows[place + c]
            substitute(matrices[at.A_NOW][room : room + (b - a) * (b - a)], pivots[a:b], x, b - a)
            for c in range(b - a):
                responses[place + c] = x[c]
            place += b - a


@jit
def delassus(n, ties, tied, systems, map_, rows, responses, W):
    """W[:n n] <- rows times responses over the systems that two interactions share."""
    for k in range(n):
        i = map_[1, k]
        first = ties[i, at.ROOM] + (map_[0, k] - ties[i, at.C0]) * (ties[i, at.Q1] - ties[i, at.Q0])
        for m in range(n):
            o = map_[1, m]
            second = ties[o, at.ROOM] + (map_[0, m] - ties[o, at.C0]) * (ties[o, at.Q1] - ties[o, at.Q0])
            total, left = 0.0, first
            for j in range(ties[i, at.S0], ties[i, at.S1]):
                size = systems[tied[j], at.V1] - systems[tied[j], at.V0]
                right = second
                for l in range(ties[o, at.S0], ties[o, at.S1]):  # noqa: E741
                    if tied[l] == tied[j]:
                        for c in range(size):
                            total += rows[left + c] * responses[right + c]
                    right += systems[tied[l], at.V1] - systems[tied[l], at.V0]
                left += size
            W[k * n + m] = total


@jit
def is_lopsided(n, W):
    """Whether W differs across its diagonal by more than rounding."""
    worst, largest = 0.0, 0.0
    for k in range(n):
        for m in range(n):
            worst = max(worst, abs(W[k * n + m] - W[m * n + k]))
            largest = max(largest, abs(W[k * n + m]))
    return worst > SYMMETRY * largest


@jit
def solve(
    solver, nb, n, ties, index, map_, rows, responses, components, tolerance, vectors, problem, measures
):  # fmt: skip
    """How it ended: impulses of the problem, v_end <- v_free + A⁻¹ H r, pushed <- H r.

    solver: `small_contacts.solve_into`, which fills `measures`.
    """
    whole, numbers, W = problem
    v_free, v_end, pushed = vectors[at.V_FREE], vectors[at.V_END], vectors[at.PUSHED]
    for k in range(n):
        c, i = map_[0, k], map_[1, k]
        q0, width = ties[i, at.Q0], ties[i, at.Q1] - ties[i, at.Q0]
        place = ties[i, at.ROOM] + (c - ties[i, at.C0]) * width
        s = components[at.BIAS, c] + components[at.DRIFT_NOW, c]
        for j in range(width):
            s += rows[place + j] * v_free[index[q0 + j]]
        numbers[at.U_FREES, k] = s
        numbers[at.IMPULSES, k] = components[at.IMPULSE, c]
    groups = whole[at.GROUP_OFFSETS, nb]
    if groups == 0 and n > 1 and is_lopsided(n, W):
        return at.UNSYMMETRIC
    solver(
        whole[at.KINDS][:nb], whole[at.OFFSETS][: nb + 1], numbers[at.LOWERS][:nb], numbers[at.UPPERS][:nb],
        whole[at.GROUP_OFFSETS][: nb + 1], whole[at.GROUP_SIZES][:groups],
        numbers[at.COEFFICIENTS][:groups], W[: n * n], numbers[at.U_FREES][:n], tolerance,
        numbers[at.IMPULSES][:n], numbers[at.VELOCITIES][:n], measures,
    )  # fmt: skip
    if measures[residuals.MEASURES + 1] != 1.0:
        return at.UNSOLVED
    for k in range(n):
        c, i = map_[0, k], map_[1, k]
        q0, width = ties[i, at.Q0], ties[i, at.Q1] - ties[i, at.Q0]
        place, r = ties[i, at.ROOM] + (c - ties[i, at.C0]) * width, numbers[at.IMPULSES, k]
        components[at.IMPULSE, c] = r
        if r != 0.0:
            for j in range(width):
                v_end[index[q0 + j]] += responses[place + j] * r
                pushed[index[q0 + j]] += rows[place + j] * r
    return at.DONE
