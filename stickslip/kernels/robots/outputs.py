"""Outputs of a step of a robot: state, poses of bodies, contacts and impulses."""

from stickslip.kernels.jit import jit_forward as jit
from stickslip.kernels.robots.layout import CONTACT
from stickslip.kernels.robots.margins import more_of_pair
from stickslip.kernels.robots.rows import LIMIT_OF_TENDON, restitution_of
from stickslip.kernels.steps.addresses import read_address, read_double, read_int


@jit
def deepest(engine):
    """Return (largest overlap, largest error of an equality) of the constraints of the data [m, rad]."""
    places, margins, overlap, opening = engine.at, engine.margins, 0.0, 0.0
    ne, nf, nefc = read_int(places.ne), read_int(places.nf), read_int(places.nefc)
    pos, margin = read_address(places.efc_pos), read_address(places.efc_margin)
    kinds, ids = read_address(places.efc_type), read_address(places.efc_id)
    for i in range(ne):
        opening = max(opening, abs(read_double(pos + 8 * i)))
    for i in range(ne + nf, nefc):
        kind, of = read_int(kinds + 4 * i), read_int(ids + 4 * i)
        if kind <= LIMIT_OF_TENDON:
            more = margins.more_tendon[of] if kind == LIMIT_OF_TENDON else margins.more_joint[of]
            overlap = max(overlap, -(read_double(pos + 8 * i) - (read_double(margin + 8 * i) - more)))
    first = read_address(places.contact)
    for k in range(read_int(places.ncon)):
        own = first + k * places.stride
        more = more_of_pair(margins, read_int(own + places.geom), read_int(own + places.geom + 4))
        gap = read_double(own + places.dist) - (read_double(own + places.includemargin) - more)
        overlap = max(overlap, -gap)
    return overlap, opening


@jit
def write_bodies(motion, traits, poses, twists):
    """poses (nbody, 7), twists (nbody, 6) <- of all bodies, in the convention of worlds.

    Positions and velocities are those of the centres of mass; angular velocities are in body frames.
    """
    for b in range(traits.root_of_body.shape[0]):
        root = traits.root_of_body[b]
        spin = motion.cvel[b, :3]
        for k in range(3):
            poses[b, k] = motion.xipos[b, k]
            p, q = (k + 1) % 3, (k + 2) % 3
            arm_p = motion.xipos[b, p] - motion.subtree_com[root, p]
            arm_q = motion.xipos[b, q] - motion.subtree_com[root, q]
            twists[b, k] = motion.cvel[b, 3 + k] + spin[p] * arm_q - spin[q] * arm_p
        for k in range(4):
            poses[b, 3 + k] = motion.xquat[b, k]
        # Angular velocity in the frame of the body: rotated by the conjugate quaternion.
        w, x, y, z = motion.xquat[b, 0], -motion.xquat[b, 1], -motion.xquat[b, 2], -motion.xquat[b, 3]
        a, c, e = spin[0], spin[1], spin[2]
        tx, ty, tz = 2.0 * (y * e - z * c), 2.0 * (z * a - x * e), 2.0 * (x * c - y * a)
        twists[b, 3] = a + w * tx + y * tz - z * ty
        twists[b, 4] = c + w * ty + z * tx - x * tz
        twists[b, 5] = e + w * tz + x * ty - y * tx


@jit
def write_state(motion, traits, room, row):
    """Row of `room` <- the state of the data."""
    na = motion.act.shape[0]
    for k in range(motion.qpos.shape[0]):
        room.q[row, k] = motion.qpos[k]
    for k in range(motion.qvel.shape[0]):
        room.v[row, k] = motion.qvel[k]
    for k in range(na):
        room.z[row, k] = motion.act[k]
    for k in range(motion.ctrl.shape[0]):
        room.z[row, na + k] = motion.ctrl[k]
    n, first = motion.mocap_pos.shape[0], na + motion.ctrl.shape[0]
    for b in range(n):
        for k in range(3):
            room.z[row, first + 3 * b + k] = motion.mocap_pos[b, k]
        for k in range(4):
            room.z[row, first + 3 * n + 4 * b + k] = motion.mocap_quat[b, k]
    for k in range(motion.sensordata.shape[0]):
        room.sensors[row, k] = motion.sensordata[k]
    write_bodies(motion, traits, room.poses[row], room.twists[row])
    write_applied(motion, room.pushed, room.applied, row)


@jit
def write_applied(motion, pushed, applied, row):
    """pushed[row] <- whether the user applies forces; applied[row] <- these forces, if any."""
    general, bodies, nv, some = motion.qfrc_applied, motion.xfrc_given, motion.qvel.shape[0], False
    for k in range(nv):
        some = some or general[k] != 0.0
    for b in range(bodies.shape[0]):
        for k in range(6):
            some = some or bodies[b, k] != 0.0
    pushed[row] = 1 if some else 0
    if not some:
        return
    for k in range(nv):
        applied[row, k] = general[k]
    for b in range(bodies.shape[0]):
        for k in range(6):
            applied[row, nv + 6 * b + k] = bodies[b, k]


@jit
def begin_room(room, t, q, v, z, key, offset, r):
    """The start of the room <- a state, and the impulses of the step before it, as in `LastImpulses`."""
    room.t[0] = t
    for k in range(q.shape[0]):
        room.q[0, k] = q[k]
    for k in range(v.shape[0]):
        room.v[0, k] = v[k]
    for k in range(z.shape[0]):
        room.z[0, k] = z[k]
    room.block_offset[0], room.block_offset[1], room.first[0] = 0, key.shape[0], 0
    for i in range(key.shape[0]):
        room.key[i] = key[i]
    for i in range(offset.shape[0]):
        room.first[i] = offset[i]
    for k in range(r.shape[0]):
        room.impulse[k] = r[k]


@jit
def follow_room(room, before, steps):
    """The start of the room <- the end of the room `before` after `steps` steps."""
    b, end = before.block_offset[steps], before.block_offset[steps + 1]
    first = before.first[b + steps : end + steps + 1]
    r = before.impulse[first[0] : first[end - b]]
    begin_room(
        room, before.t[steps], before.q[steps], before.v[steps], before.z[steps], before.key[b:end], first, r
    )
    for i in range(first.shape[0]):
        room.first[i] = first[i] - first[0]


@jit
def has_moved(motion, z):
    """Return whether the poses of mocap bodies in the data differ from those of a state, z as in `Room`."""
    n, first = motion.mocap_pos.shape[0], motion.act.shape[0] + motion.ctrl.shape[0]
    for b in range(n):
        for k in range(3):
            if z[first + 3 * b + k] != motion.mocap_pos[b, k]:
                return True
        for k in range(4):
            if z[first + 3 * n + 4 * b + k] != motion.mocap_quat[b, k]:
                return True
    return False


@jit
def is_elsewhere(motion, q, v, z):
    """Return whether positions, velocities or activations of the data differ from those of a state."""
    same = True
    for k in range(motion.qpos.shape[0]):
        same = same and q[k] == motion.qpos[k]
    for k in range(motion.qvel.shape[0]):
        same = same and v[k] == motion.qvel[k]
    for k in range(motion.act.shape[0]):
        same = same and z[k] == motion.act[k]
    return not same


@jit
def write_contacts(engine, traits, rows, r, u, room, step):
    """Write the contacts and the other impulses of a step to the room; return False if it is full."""
    offset, places, what, key, contact = rows.K[1], engine.at, rows.what, rows.key, rows.contact
    gap, scale, bias = rows.gap, rows.scale, rows.bias
    table, joints = room.contacts, room.joints
    first, first_joint = table.offset[step], joints.offset[step]
    contacts = read_address(places.contact)
    nc = nj = 0
    for i in range(what.shape[0]):
        size = offset[i + 1] - offset[i]
        if what[i] != CONTACT:
            if first_joint + nj + size > joints.r.shape[0]:
                return False
            for k in range(size):
                joints.id[first_joint + nj] = 4 * key[i] + what[i]
                joints.r[first_joint + nj] = r[offset[i] + k]
                nj += 1
            continue
        c = first + nc
        if c >= table.gap.shape[0]:
            return False
        own, a = contacts + contact[i] * places.stride, offset[i]
        table.id[c], table.gap[c] = key[i], gap[a]
        geoms = read_int(own + places.geom), read_int(own + places.geom + 4)
        # MuJoCo's normal points from the first geom to the second, that of the table from the second body.
        table.body[c, 0], table.body[c, 1] = traits.body_of_geom[geoms[1]], traits.body_of_geom[geoms[0]]
        for k in range(3):
            table.point[c, k] = read_double(own + places.pos + 8 * k)
            for j in range(3):
                table.frame[c, k, j] = read_double(own + places.frame + 8 * (3 * k + j))
        mu = own + places.friction
        for k in range(6):
            table.r[c, k] = table.u[c, k] = 0.0
        for k in range(4):
            table.law[c, k] = 0.0
        if size > 1:
            table.law[c, 0] = read_double(mu)
        if size > 3:
            table.law[c, 2] = read_double(mu + 16)
        if size > 4:
            table.law[c, 1] = read_double(mu + 24)
        table.law[c, 3] = restitution_of(engine, traits, geoms[0], geoms[1])
        for k in range(size):
            to = k if k < 3 else (5 if k == 3 else k - 1)  # torsion is last in the table
            table.r[c, to] = scale[a + k] * r[a + k]
            table.u[c, to] = (u[a + k] - bias[a + k]) / scale[a + k]
        nc += 1
    table.offset[step + 1], joints.offset[step + 1] = first + nc, first_joint + nj
    return True
