"""Smooth motion between events, with fixed active constraints, on the flat arrays of `march_layout.py`.

The equations are those of `schemes/event_driven_flow.py`. With C the constrained components (joints, closed
normals, sticking groups), S the sliding ones with r_S = -mu r_N d, d the direction of sliding, γ the part of
ÿ that does not depend on accelerations, and ÿ_C = 0:

    J_C M⁻¹ (H_C + H_S S) lam_C = -(J_C M⁻¹ F + γ_C)
"""

import math
from typing import NamedTuple

from stickslip.kernels import march_bodies as bodies
from stickslip.kernels import march_contacts as contacts
from stickslip.kernels import march_layout as at
from stickslip.kernels import march_motion as motion
from stickslip.kernels.jit import jit
from stickslip.state import Array, BoolArray, IntArray

COARSER = 5.0
"""Step of second differences over that of first differences: rounding errors grow with its inverse square."""
THAWED = 10.0
"""Speed, over `slow`, at which a fixed direction of sliding becomes free again. Friction turns the direction
at the rate mu g / |u|, which is fast for slow sliding and which an explicit integrator must resolve."""
FAST = 1.5
"""Speed, over `slow`, above which directions of sliding are free at the start of a stretch."""
PARADOX = 1e-6
"""Determinant of the sliding constraints, over that at the start of a sample, that counts as singular [-]."""

GAP, FORCE, CONE, LEAST, MOST, SLIDING, NEAR, FAR, LOST = range(9)
"""Kinds of watched quantities: see `Watched` of `schemes/event_driven_flow.py`."""
KIND, TIE, FIRST, LAST, NORMAL = range(5)
"""Columns of `watched` and `slaves`. KIND: kind; of slaves, whether their direction follows the sliding. TIE:
tie of a gap, else index of the first component among the involved ones. FIRST, LAST: range of components.
NORMAL: component of a gap, else index of the normal component; of slaves, its index among the held ones."""


class Stretch(NamedTuple):
    """Constants of a stretch of time with fixed modes. Components are those of all interactions.

    Involved components are those of the involved ties, in their order.
    """

    involved: IntArray
    """Ties with a closed block [-]."""
    held: IntArray
    """Constrained components, as indices of involved components [-]."""
    known: Array
    """Forces of sliding intervals [N], over the involved components."""
    slaves: IntArray
    """Sliding groups, shape (groups, 5); NORMAL: index of their normal among the held components."""
    friction: Array
    """Friction coefficients of the sliding groups [-]."""
    direction: Array
    """Directions of sliding [-], shape (size,)."""
    watched: IntArray
    """Watched quantities, shape (watched, 5); gaps come first."""
    bounds: Array
    """Friction coefficient or bound of each watched quantity [-, N]."""
    rubbing: IntArray
    """Ties whose forces do work [-]."""
    level: IntArray
    """Components of closed gaps and joints, then those at rest without a position, as involved indices
    [-]."""
    levels: int
    """Number of components of gaps and joints in `level`."""
    coarse: BoolArray
    """Whether the rates of a tie are themselves computed by differences, shape (ties,), bool."""
    slow: float
    """Speed below which the direction of sliding is fixed [m/s]."""
    difference: float
    """Time step of differences of rates, at unit speed [s]."""


class Room(NamedTuple):
    """Work arrays of the balance of forces."""

    acceleration: Array
    """Accelerations [m/s²], shape (nv,)."""
    force: Array
    """Forces of the involved components [N]."""
    gamma: Array
    """γ [m/s²], shape (size,)."""
    u: Array
    """Rates of the outputs [m/s], shape (size,)."""
    moved: Array
    """Displaced coordinates, and rates of the coordinates, shape (2, nq)."""
    outputs: Array
    """Outputs or rates at displaced coordinates, shape (5, size)."""
    matrices: Array
    """Map from held to all involved forces, and matrix of the held forces, shape (2, n n)."""
    right: Array
    """Right-hand side, then the held forces [m/s²], shape (n,)."""
    pivots: IntArray
    """[-], shape (n,)."""


@jit
def coordinate_rates(systems, q, v, out):
    """out <- T(q) v.   q, out (nq,), v (nv,)."""
    for s in range(systems.shape[0]):
        a, b, c = systems[s, at.X0], systems[s, at.X1], systems[s, at.V0]
        if systems[s, at.MOVES_BY] == at.POSE:
            bodies.pose_rate(q[a:b], v[c : c + 6], out[a:b])
        else:
            for k in range(b - a):
                out[a + k] = v[c + k]


@jit
def normalize(systems, q):
    """Normalise the quaternions in q.   q (nq,)."""
    for s in range(systems.shape[0]):
        if systems[s, at.MOVES_BY] == at.POSE:
            bodies.normalize(q[systems[s, at.X0] : systems[s, at.X1]])


@jit
def factor_masses(dynamics, t, q, z, moving):
    """Factor M of all systems; return False if one is not positive definite."""
    systems = dynamics.systems
    for s in range(systems.shape[0]):
        a, b, c, d = systems[s, at.X0], systems[s, at.X1], systems[s, at.V0], systems[s, at.V1]
        n, room = d - c, systems[s, at.MATRIX]
        A = moving.matrices[at.A_NOW][room : room + n * n]
        if moving.known[s]:
            continue
        motion.mass(
            s, dynamics, t, q[a:b], z[systems[s, at.Z0] : systems[s, at.Z1]], moving.vectors[at.BUFFER_Q], A
        )
        if not motion.is_positive(A, n, moving.spare) or not motion.factor(A, moving.pivots[c:d], n):
            return False
        moving.known[s] = systems[s, at.MASS] == 0
    return True


@jit
def free_acceleration(dynamics, t, q, v, z, moving, out):
    """out <- M⁻¹ F, with the factors of M.   out (nv,)."""
    systems = dynamics.systems
    for s in range(systems.shape[0]):
        a, b, c, d = systems[s, at.X0], systems[s, at.X1], systems[s, at.V0], systems[s, at.V1]
        n, room, parameters = d - c, systems[s, at.MATRIX], z[systems[s, at.Z0] : systems[s, at.Z1]]
        motion.force(s, dynamics, t, q[a:b], v[c:d], parameters, moving.vectors, out[c:d])
        motion.substitute(moving.matrices[at.A_NOW][room : room + n * n], moving.pivots[c:d], out[c:d], n)


@jit
def rates_at(i, ties, t, q, v, z, tying, out):
    """out[components of i] <- rates of the outputs of tie i at (t, q, v); `tying.rows` <- its rows."""
    contacts.rates(i, ties, t, q, z, tying)
    contacts.output_rates(
        i, ties.table, ties.index, tying.rows, v, tying.components[at.DRIFT_NOW], out
    )  # fmt: skip


@jit
def bend(i, model, stretch, point, z, tying, room):
    """gamma[components of i] <- γ, by differences along (t + s, q + s q̇) at fixed v, of fourth order in s.

    Ties whose rates are themselves differences use second differences of y.   point: t, q, v.
    """
    t, q, v = point
    ties, table = model.ties, model.ties.table
    c0, c1, moved, out = table[i, at.C0], table[i, at.C1], room.moved, room.outputs
    by_function = table[i, at.ROWS] != 0 or table[i, at.ROWS_BY] == at.BY_Q or table[i, at.DRIFT] != 0
    for k in range(c0, c1):
        room.gamma[k] = 0.0
    if table[i, at.FORM] < at.PLANE and not by_function:
        return
    fastest = 1.0
    for k in range(v.shape[0]):
        fastest = max(fastest, abs(v[k]))
    s = stretch.difference / fastest
    coarse = stretch.coarse[i]
    if coarse:
        s *= COARSER
    # 1. Outputs or rates at (j - 2) s, j = 0 to 4.
    coordinate_rates(ties.systems, q, v, moved[1])
    for j in range(5):
        if j == 2 and not coarse:
            continue
        for k in range(q.shape[0]):
            moved[0, k] = q[k] + (j - 2) * s * moved[1, k]
        if coarse:
            contacts.outputs(i, ties, t + (j - 2) * s, moved[0], z, tying.buffers, out[j])
        else:
            rates_at(i, ties, t + (j - 2) * s, moved[0], v, z, tying, out[j])
    # 2. Difference formulas of fourth order.
    for k in range(c0, c1):
        if coarse:
            total = 16.0 * (out[1, k] + out[3, k]) - (out[0, k] + out[4, k]) - 30.0 * out[2, k]
            room.gamma[k] = total / (12.0 * s * s)
        else:
            room.gamma[k] = (8.0 * (out[3, k] - out[1, k]) - (out[4, k] - out[0, k])) / (12.0 * s)


@jit
def respond_at(model, stretch, point, z, work, room):
    """Write rows and rates of the involved ties, M⁻¹ times the rows, and W; return False without M > 0.

    point: t, q, v.
    """
    t, q, v = point
    ties, map_, n = model.ties, work.problem.map, 0
    if not factor_masses(model.dynamics, t, q, z, work.moving):
        return False
    for k in range(stretch.involved.shape[0]):
        i = stretch.involved[k]
        rates_at(i, ties, t, q, v, z, work.tying, room.u)
        for c in range(ties.table[i, at.C0], ties.table[i, at.C1]):
            map_[0, n], map_[1, n] = c, i
            n += 1
    contacts.respond(n, ties, map_, work.tying, work.moving.matrices, work.moving.pivots)
    contacts.delassus(n, ties, map_, work.tying.rows, work.tying.responses, work.problem.W)
    return True


@jit
def push(n, ties, map_, responses, force, out):
    """out <- out + M⁻¹ H force, over the involved components.   force (n,), out (nv,)."""
    for k in range(n):
        if force[k] != 0.0:
            u0 = ties.table[map_[1, k], at.U0]
            place, width = contacts.row_of(k, ties.table, map_)
            for j in range(width):
                out[ties.index[u0 + j]] += responses[place + j] * force[k]


@jit
def fill_slaves(stretch, n, u, P):
    """P <- map from held to involved forces: identity, and -mu d for sliding groups.   P (n nh,)."""
    nh = stretch.held.shape[0]
    for k in range(n * nh):
        P[k] = 0.0
    for j in range(nh):
        P[stretch.held[j] * nh + j] = 1.0
    for g in range(stretch.slaves.shape[0]):
        first, last, size = stretch.slaves[g, FIRST], stretch.slaves[g, LAST], 0.0
        place, column = stretch.slaves[g, TIE], stretch.slaves[g, NORMAL]
        if stretch.slaves[g, KIND] == 1:
            for k in range(first, last):
                size += u[k] * u[k]
            size = math.sqrt(size)
        for k in range(first, last):
            d = u[k] / size if size > 0.0 else stretch.direction[k]
            P[(place + k - first) * nh + column] = -stretch.friction[g] * d


@jit
def keeps_directions(stretch, u):
    """Return whether each direction of sliding in a plane is free or fixed, as its present speed requires."""
    for g in range(stretch.slaves.shape[0]):
        first, last, size = stretch.slaves[g, FIRST], stretch.slaves[g, LAST], 0.0
        for k in range(first, last):
            size += u[k] * u[k]
        fast = last - first > 1 and math.sqrt(size) > FAST * stretch.slow
        if fast != (stretch.slaves[g, KIND] == 1):
            return False
    return True


@jit
def balance(model, stretch, point, z, work, room):
    """Write v̇ and involved forces to `room`; return the determinant of the held constraints.

    Return NaN if M is not positive definite or the constraints are singular.   point: t, q, v.
    """
    # 1. γ, W and free acceleration M⁻¹ F.
    t, q, v = point
    involved, held, W = stretch.involved, stretch.held, work.problem.W
    for k in range(involved.shape[0]):
        bend(involved[k], model, stretch, point, z, work.tying, room)
    if not respond_at(model, stretch, point, z, work, room):
        return math.nan
    a = room.acceleration
    free_acceleration(model.dynamics, t, q, v, z, work.moving, a)
    # 2. Held forces from ÿ_C = 0.
    n, nh, force = stretch.known.shape[0], held.shape[0], room.force
    P, S, right = room.matrices[0], room.matrices[1], room.right
    determinant = 1.0
    for k in range(n):
        force[k] = stretch.known[k]
    if nh > 0:
        fill_slaves(stretch, n, room.u, P)
        for i in range(nh):
            c = work.problem.map[0, held[i]]
            tie = work.problem.map[1, held[i]]
            place, width = contacts.row_of(held[i], model.ties.table, work.problem.map)
            total = room.gamma[c]
            for j in range(width):
                total += work.tying.rows[place + j] * a[model.ties.index[model.ties.table[tie, at.U0] + j]]
            for k in range(n):
                total += W[held[i] * n + k] * force[k]
            right[i] = -total
            for j in range(nh):
                total = 0.0
                for k in range(n):
                    total += W[held[i] * n + k] * P[k * nh + j]
                S[i * nh + j] = total
        if not motion.factor(S, room.pivots, nh):
            return math.nan
        for i in range(nh):
            determinant *= S[i * nh + i] if room.pivots[i] == i else -S[i * nh + i]
        motion.substitute(S, room.pivots, right, nh)
        for k in range(n):
            for j in range(nh):
                force[k] += P[k * nh + j] * right[j]
    # 3. Accelerations with all forces.
    push(n, model.ties, work.problem.map, work.tying.responses, force, a)
    return determinant


@jit
def state_rates(model, stretch, t, state, z, work, room, out):
    """out <- rates of (q, v, impulses of the involved components, their work if any slide).

    Return the determinant of `balance`.
    """
    nq, nv, n = room.moved.shape[1], room.acceleration.shape[0], stretch.known.shape[0]
    q, v = state[:nq], state[nq : nq + nv]
    determinant = balance(model, stretch, (t, q, v), z, work, room)
    coordinate_rates(model.dynamics.systems, q, v, out[:nq])
    for k in range(nv):
        out[nq + k] = room.acceleration[k]
    for k in range(n):
        out[nq + nv + k] = room.force[k]
    if stretch.rubbing.shape[0] > 0:
        power = 0.0
        for k in range(n):
            for j in range(stretch.rubbing.shape[0]):
                if work.problem.map[1, k] == stretch.rubbing[j]:
                    power += room.force[k] * room.u[work.problem.map[0, k]]
        out[nq + nv + n] = power
    return determinant


@jit
def gaps(model, stretch, t, state, z, work, room, values_and_slopes):
    """values_and_slopes (2, watched) <- watched gaps and their rates."""
    nq, nv, ties, out = room.moved.shape[1], room.acceleration.shape[0], model.ties, room.outputs
    q, v, last = state[:nq], state[nq : nq + nv], -1
    for w in range(stretch.watched.shape[0]):
        if stretch.watched[w, KIND] != GAP:
            return
        i, c = stretch.watched[w, TIE], stretch.watched[w, NORMAL]
        if i != last:
            contacts.outputs(i, ties, t, q, z, work.tying.buffers, out[0])
            rates_at(i, ties, t, q, v, z, work.tying, out[1])
            last = i
        values_and_slopes[0, w], values_and_slopes[1, w] = out[0, c], out[1, c]


@jit
def others(stretch, lasting, room, values):
    """values (watched,) <- watched quantities other than gaps, after `balance`.

    lasting: determinant of the constraints, over that at the start of the sample.
    """
    watched, force, u = stretch.watched, room.force, room.u
    for w in range(watched.shape[0]):
        kind, first, last, normal = watched[w, KIND], watched[w, FIRST], watched[w, LAST], watched[w, NORMAL]
        if kind == GAP:
            continue
        place = watched[w, TIE]  # index of the first component among the involved ones
        size = 0.0
        for k in range(first, last):
            x = force[place + k - first] if kind == CONE else u[k]
            size += x * x
        size = math.sqrt(size)
        if kind == FORCE:
            values[w] = force[normal]
        elif kind == CONE:
            values[w] = stretch.bounds[w] * force[normal] - size
        elif kind == LEAST:
            values[w] = force[normal] - stretch.bounds[w]
        elif kind == MOST:
            values[w] = stretch.bounds[w] - force[normal]
        elif kind == NEAR:
            values[w] = size - stretch.slow
        elif kind == FAR:
            values[w] = THAWED * stretch.slow - size
        elif kind == LOST:
            values[w] = lasting - PARADOX
        else:
            total = 0.0
            for k in range(first, last):
                total += u[k] * stretch.direction[k]
            values[w] = total
