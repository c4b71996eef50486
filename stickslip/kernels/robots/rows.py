"""The constraints of a robot as blocks of one contact problem.

    equalities     u = 0
    dry friction   |r| <= h frictionloss, opposite to u
    limits         0 <= u + gap / h ⟂ r >= 0
    contacts       as limits along the normal, and Coulomb's law in the tangent plane

At an impact with restitution e, u + e u⁻ replaces u + gap / h (Moreau 1988). Only blocks whose gap may close
in the step are active. J, gaps and friction are those of MuJoCo.
"""

import numpy as np

from stickslip.kernels import cones
from stickslip.kernels.held import WORDS, hold
from stickslip.kernels.jit import jit_forward as jit
from stickslip.kernels.lines import FOUR, LINE, dot_in_four
from stickslip.kernels.robots.layout import (
    CONTACT,
    DRY_FRICTION,
    EQUALITY,
    LAW_CONDIM,
    LAW_RESTITUTION,
    LIMIT,
    Parts,
    Rows,
)
from stickslip.kernels.robots.margins import more_of_pair
from stickslip.kernels.scratch import floats, give_back, ints, taken
from stickslip.kernels.steps.addresses import read_address, read_double, read_int, write_double, write_int

LIMIT_OF_TENDON, FRICTIONLESS, ELLIPTIC = 4, 5, 7
"""Types of MuJoCo's constraints (mjtConstraint): tendon limit, frictionless contact, elliptic cone."""
DRY_TENDON = 2
"""MuJoCo's type of dry friction of a tendon."""
SLACK = 1e-4
"""Constraints whose predicted gap at the end of the step is below this are active [m, rad] (heuristic)."""
NO_FRICTION = 1e-5
"""MuJoCo's smallest coefficient of friction (mjMINMU); here it means no friction [-]."""
MOST_OF_A_PAIR = 64
"""Largest number of contacts of two geoms with distinct identifiers."""


@jit
def times(engine, i, v):
    """Return row i of MuJoCo's Jacobian times v (nv,)."""
    at, total, nv = engine.at, 0.0, v.shape[0]
    values = read_address(at.efc_J)
    if not engine.sparse:
        for c in range(nv):
            total += read_double(values + 8 * (i * nv + c)) * v[c]
        return total
    start, columns = read_int(read_address(at.efc_J_rowadr) + 4 * i), read_address(at.efc_J_colind)
    for k in range(start, start + read_int(read_address(at.efc_J_rownnz) + 4 * i)):
        total += read_double(values + 8 * k) * v[read_int(columns + 4 * k)]
    return total


@jit
def take_row(engine, i, nv, scale, J, begin):
    """J[begin:] <- columns first to last - 1 of row i of MuJoCo's Jacobian, times `scale`.

    Return (first, last). All other entries of the row are zero.
    """
    at, values = engine.at, read_address(engine.at.efc_J)
    first, last = np.int64(nv), np.int64(0)
    if engine.sparse:
        start, columns = read_int(read_address(at.efc_J_rowadr) + 4 * i), read_address(at.efc_J_colind)
        end = start + read_int(read_address(at.efc_J_rownnz) + 4 * i)
        for k in range(start, end):
            c = np.int64(read_int(columns + 4 * k))
            first, last = min(first, c), max(last, c + 1)
        for c in range(first, last):
            J[begin + c - first] = 0.0
        for k in range(start, end):
            J[begin + read_int(columns + 4 * k) - first] = scale * read_double(values + 8 * k)
        return first, max(first, last)
    values += 8 * i * nv
    first, last = np.int64(0), np.int64(nv)
    while first < nv and read_double(values + 8 * first) == 0.0:
        first += 1
    while last > first and read_double(values + 8 * (last - 1)) == 0.0:
        last -= 1
    for c in range(first, last):
        J[begin + c - first] = scale * read_double(values + 8 * c)
    return first, last


@jit
def set_laws(engine):
    """Friction and condim of MuJoCo's contacts <- those of `Laws`, for pairs of geoms that have them."""
    laws, places = engine.laws, engine.at
    if laws.kind.shape[0] == 0:
        return
    first = read_address(places.contact)
    for c in range(read_int(places.ncon)):
        own = first + c * places.stride
        i, j = read_int(own + places.geom), read_int(own + places.geom + 4)
        law = laws.law[laws.kind[i], laws.kind[j]]
        for k in range(5):
            if law[k] >= 0.0:
                write_double(own + places.friction + 8 * k, max(law[k], NO_FRICTION))
        if law[LAW_CONDIM] > 0.0:
            write_int(own + places.dim, np.int32(law[LAW_CONDIM]))


@jit
def restitution_of(engine, traits, first, second):
    """Return the restitution of a contact of two geoms: that of their law, else the smaller of theirs."""
    laws = engine.laws
    if laws.kind.shape[0]:
        given = laws.law[laws.kind[first], laws.kind[second], LAW_RESTITUTION]
        if given >= 0.0:
            return given
    return min(traits.restitution[first], traits.restitution[second])


@jit
def friction_of(at, places, separate, size, group_size, coefficient, g, scale, n):
    """Return the number of friction groups of a contact with `size` rows.

    group_size[g:], coefficient[g:] <- of the groups; scale[n:] <- of the rows. at: address of the contact.
    """
    mu = at + places.friction
    first = read_double(mu)
    if not separate:
        group_size[g], coefficient[g] = size - 1, first if first > NO_FRICTION else 0.0
        for k in range(1, size):
            scale[n + k] = read_double(mu + 8 * (k - 1)) / first
        return 1
    group_size[g], coefficient[g] = 2, first if first > NO_FRICTION else 0.0
    scale[n + 1], scale[n + 2] = 1.0, read_double(mu + 8) / first
    if size > 3:
        spin = read_double(mu + 16)
        group_size[g + 1], coefficient[g + 1], scale[n + 3] = 1, spin if spin > NO_FRICTION else 0.0, 1.0
    if size > 4:
        roll = read_double(mu + 24)
        group_size[g + 2], coefficient[g + 2] = 2, roll if roll > NO_FRICTION else 0.0
        scale[n + 4], scale[n + 5] = 1.0, read_double(mu + 32) / roll
        return 3
    return 2 if size > 3 else 1


@jit
def add_carried(at, places, motion, traits, carried, scale, size, bias):
    """bias (size,) <- bias + relative velocity of mocap bodies at a contact, along and about its axes."""
    for side in range(2):
        b = traits.body_of_geom[read_int(at + places.geom + 4 * side)]
        sign = 1.0 if side == 1 else -1.0
        v, w = carried.velocity[b, :3], carried.velocity[b, 3:]
        x0 = read_double(at + places.pos) - motion.xpos[b, 0]
        x1 = read_double(at + places.pos + 8) - motion.xpos[b, 1]
        x2 = read_double(at + places.pos + 16) - motion.xpos[b, 2]
        speed = v[0] + w[1] * x2 - w[2] * x1, v[1] + w[2] * x0 - w[0] * x2, v[2] + w[0] * x1 - w[1] * x0
        for k in range(size):
            axis = at + places.frame + 24 * (k % 3)
            for j in range(3):
                along = speed[j] if k < 3 else w[j]
                bias[k] += sign * scale[k] * read_double(axis + 8 * j) * along


@jit
def find_parts(scratch, rows, nv):
    """Return a held `Parts` of the blocks, with memory for W.

    Parts are disjoint ranges of columns. A range contains all columns from the first to the last of a row.
    """
    offset, nb, n = rows.K[1], rows.what.shape[0], rows.u_free.shape[0]
    part, count = ints(scratch, nb), np.int64(1)
    for i in range(nb):
        part[i] = 0
    if rows.trees > 1:
        count = tell_parts(scratch, offset, rows.root, rows.last, nv, part)
    start, block_start, W_start = ints(scratch, count + 1), ints(scratch, count + 1), ints(scratch, count)
    component, block, size = ints(scratch, n), ints(scratch, nb), 0
    n = nb = 0
    for one in range(count):
        start[one], block_start[one], W_start[one] = n, nb, size
        for i in range(part.shape[0]):
            if part[i] == one:
                block[nb] = i
                nb += 1
                for k in range(offset[i], offset[i + 1]):
                    component[n] = k
                    n += 1
        m = n - start[one]
        size += (m + FOUR - 1) // FOUR * FOUR * width_of(m)
    start[count], block_start[count] = n, nb
    found = Parts(start, component, block_start, block, W_start, floats(scratch, size))
    return hold(found, ints(scratch, WORDS))


@jit
def width_of(n):
    """Return the padded length of a row of W of n components."""
    return (n + LINE - 1) // LINE * LINE


@jit
def tell_parts(scratch, offset, root, last, nv, part):
    """part (nb,) <- part of each block, from the columns of its rows. Return the number of parts."""
    mark = taken(scratch)
    covers, tied = ints(scratch, nv + 1), ints(scratch, nv + 1)
    for c in range(nv + 1):
        covers[c] = tied[c] = 0
    for i in range(offset.shape[0] - 1):
        low, high = np.int64(nv), np.int64(0)
        for k in range(offset[i], offset[i + 1]):
            if root[k] < last[k]:
                low, high = min(low, root[k]), max(high, last[k])
        part[i], tied[low] = low, 1
        if low < high:
            covers[low] += 1
            covers[high - 1] -= 1
    # covers[c] <- the part of column c. A part ends where no block covers the next column as well.
    count, over, new = np.int64(0), np.int64(0), True
    for c in range(nv):
        over += covers[c]
        if new and tied[c] == 1:
            count, new = count + 1, False
        covers[c] = max(count - 1, 0)
        if over == 0:
            new = True
    for i in range(offset.shape[0] - 1):
        part[i] = covers[part[i]] if part[i] < nv else 0
    give_back(scratch, mark)
    return max(count, 1)


@jit
def gather(engine, motion, traits, scratch, settings, carried, v_free, forced):
    """Return a held `Rows` of the active blocks: those whose gap may close, and those with forced[row] != 0.

    v_free (nv,): velocity without impulses; forced (nefc,).
    """
    v = motion.qvel
    places, margins, h = engine.at, engine.margins, settings.h
    nv, ngeom = v.shape[0], traits.body_of_geom.shape[0]
    ne, nf, nefc = read_int(places.ne), read_int(places.nf), read_int(places.nefc)
    kinds, ids = read_address(places.efc_type), read_address(places.efc_id)
    pos, margin = read_address(places.efc_pos), read_address(places.efc_margin)
    loss, contacts = read_address(places.efc_frictionloss), read_address(places.contact)
    J = floats(scratch, nefc * nv)
    lower, upper, coefficient = floats(scratch, nefc), floats(scratch, nefc), floats(scratch, nefc)
    bias, gap, left_gap = floats(scratch, nefc), floats(scratch, nefc), floats(scratch, nefc)
    along, scale, u_free, own = (
        floats(scratch, nefc), floats(scratch, nefc), floats(scratch, nefc), floats(scratch, 6)
    )  # fmt: skip
    kind, group_size, what, key = (
        ints(scratch, nefc), ints(scratch, nefc), ints(scratch, nefc), ints(scratch, nefc)
    )  # fmt: skip
    row, contact, left, begin = (
        ints(scratch, nefc), ints(scratch, nefc), ints(scratch, nefc), ints(scratch, nefc)
    )  # fmt: skip
    first_column, last_column, root = ints(scratch, nefc), ints(scratch, nefc), ints(scratch, nefc)
    next_row = np.int64(0)
    offset, group_offset = ints(scratch, nefc + 1), ints(scratch, nefc + 1)
    offset[0] = group_offset[0] = 0
    nb, n, ng, skipped, i, last_pair, ordinal = 0, 0, 0, 0, 0, np.int64(-1), np.int64(0)
    while i < nefc:
        size, groups, active, of, kind_of = 1, 0, True, read_int(ids + 4 * i), read_int(kinds + 4 * i)
        kind[nb], lower[nb], upper[nb], contact[nb] = cones.NONNEGATIVE, 0.0, np.inf, -1
        gap[n], bias[n], scale[n], begin[n], along[nb] = 0.0, 0.0, 1.0, next_row, 0.0
        if ne <= i < ne + nf and kind_of != DRY_TENDON:  # a dof by itself
            first, last, J[next_row] = np.int64(of), np.int64(of) + 1, 1.0
        else:
            first, last = take_row(engine, i, nv, 1.0, J, next_row)
        first_column[n], last_column[n] = first, last
        if i < ne:
            while i + size < ne and read_int(ids + 4 * (i + size)) == of:
                size += 1
            what[nb], kind[nb], lower[nb], key[nb] = EQUALITY, cones.FREE, -np.inf, of
            for k in range(size):
                gap[n + k], bias[n + k], scale[n + k] = read_double(pos + 8 * (i + k)), 0.0, 1.0
                if carried.moving:
                    bias[n + k] = carried.rate[i + k]
        elif i < ne + nf:
            bound = h * read_double(loss + 8 * i)
            what[nb], kind[nb], lower[nb], upper[nb] = DRY_FRICTION, cones.INTERVAL, -bound, bound
            key[nb] = 2 * of + (1 if kind_of == DRY_TENDON else 0)
        else:
            at = contacts
            if kind_of <= LIMIT_OF_TENDON:
                # The signs of the rows of J distinguish the two limits of a joint.
                total = 0.0
                for c in range(next_row, next_row + last - first):
                    total += J[c]
                tendon = kind_of == LIMIT_OF_TENDON
                what[nb], key[nb] = LIMIT, 4 * of + (2 if tendon else 0) + (1 if total > 0.0 else 0)
                more = margins.more_tendon[of] if tendon else margins.more_joint[of]
                gap[n] = read_double(pos + 8 * i) - (read_double(margin + 8 * i) - more)
                e = traits.joint_restitution[of + (traits.joints if tendon else 0)]
            else:
                at = contacts + of * places.stride
                size, contact[nb] = read_int(at + places.dim), of
                one, other = read_int(at + places.geom), read_int(at + places.geom + 4)
                pair = np.int64(one) * ngeom + other
                ordinal = ordinal + 1 if pair == last_pair else np.int64(0)
                last_pair = pair
                what[nb], key[nb] = CONTACT, pair * MOST_OF_A_PAIR + ordinal
                more = more_of_pair(margins, one, other)
                gap[n] = read_double(at + places.dist) - (read_double(at + places.includemargin) - more)
                e = restitution_of(engine, traits, one, other)
                if size > 1:
                    kind[nb] = cones.FRICTION
                    groups = friction_of(
                        at, places, settings.separate, size, group_size, coefficient, ng, scale, n
                    )
                    for k in range(1, size):
                        gap[n + k] = bias[n + k] = 0.0
                    for k in range(1, min(size, 4)):
                        bias[n + k] = scale[n + k] * read_double(at + places.surfacevel + 8 * (k - 1))
            given = 0.0
            if carried.moving and contact[nb] >= 0:
                for k in range(size):
                    own[k] = 0.0
                add_carried(at, places, motion, traits, carried, scale[n : n + size], size, own)
                given = own[0]
                for k in range(1, size):
                    bias[n + k] += own[k]
            line = J[next_row : next_row + last - first]
            free, along[nb] = dot_in_four(line, v_free[first:last], 0, last - first) + given, given
            bias[n] = given + max(gap[n], 0.0) / h
            if e > 0.0:
                before = dot_in_four(line, v[first:last], 0, last - first) + given
                if before < 0.0 and gap[n] + h * before <= 0.0:
                    bias[n] = given + e * before
            active = forced[i] != 0 or gap[n] <= max(0.0, -h * free) + SLACK
        if active:
            for k in range(n, n + size):
                row[k] = i + k - n
                if k > n:
                    begin[k] = next_row
                    first_column[k], last_column[k] = take_row(engine, row[k], nv, scale[k], J, next_row)
                first, last = first_column[k], last_column[k]
                root[k] = traits.column[traits.row_start[first]] if first < last else nv
                line = J[next_row : next_row + last - first]
                u_free[k] = bias[k] + dot_in_four(line, v_free[first:last], 0, last - first)
                next_row += last - first
            n, ng, nb = n + size, ng + groups, nb + 1
            offset[nb], group_offset[nb] = n, ng
        else:
            left[skipped], left_gap[skipped] = i, gap[n] + h * along[nb]
            skipped += 1
        i += size
    K = (
        kind[:nb], offset[: nb + 1], lower[:nb], upper[:nb], group_offset[: nb + 1], group_size[:ng],
        coefficient[:ng],
    )  # fmt: skip
    found = Rows(
        J[:next_row], begin[:n], K, u_free[:n], bias[:n], gap[:n], along[:nb], scale[:n], what[:nb], key[:nb],
        row[:n], contact[:nb], left[:skipped], left_gap[:skipped], first_column[:n], last_column[:n],
        root[:n], traits.trees,
    )  # fmt: skip
    return hold(found, ints(scratch, WORDS))


@jit
def find_missed(engine, rows, h, v, forced):
    """Return whether any inactive block overlaps after a step with v; forced (nefc,) <- 1 for these."""
    left, gap, found = rows.left, rows.left_gap, False
    for k in range(left.shape[0]):
        i = left[k]
        if gap[k] + h * times(engine, i, v) < -SLACK * 1e-6:
            forced[i], found = 1, True
    return found
