"""The blocks of one step: active contacts, then joints; what enters the problem, and what comes back."""

from dataclasses import dataclass, replace

import numpy as np

from stickslip.detection.contacts import SLOTS, ContactSet
from stickslip.detection.tracking import kept_of
from stickslip.kernels.activation import gap_rate
from stickslip.kernels.bodies import assembly
from stickslip.problem.checks import frozen
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.sets import ProductSet
from stickslip.schemes.body_joints import JointRows
from stickslip.schemes.body_start import Start
from stickslip.schemes.body_world import Bodies
from stickslip.schemes.step import Memory
from stickslip.state import Array, IntArray, ModelError

NO_UNIT: Array = frozen(np.zeros(0))


@dataclass(frozen=True, eq=False, slots=True)
class Blocks:
    """Contacts and joints that act in a step."""

    contacts: ContactSet
    """The active ones, where they were when the rows were made."""
    bodies: IntArray
    """Rows of the mass matrix that each block acts on, -1 for a side that does not answer [-], (nb, 2)."""
    sides: IntArray
    """The same as bodies of the world, -1 for the inertial frame [-], shape (nb, 2)."""
    rows: Array
    """H' over both sides, of those too that do not answer [-, m], shape (p, 2, 6)."""
    K: ProductSet
    """Where the impulses live."""
    u_bias: Array
    """What restitution and sides that do not answer prescribe [m/s, rad/s], shape (p,)."""
    guess: Array
    """Impulses of the last step [N s, N m s], shape (p,)."""
    approach: Array
    """Normal velocities of the contacts before the step [m/s], shape (nc,)."""
    local: Array
    """Points of the contacts in the frames of the two bodies [m], shape (nc, 2, 3)."""
    joints: JointRows | None
    """Joints, whose blocks are the last."""
    unit: Array
    """What the rows of the joints are multiplied by: lengths where they turn, so that one problem has one
    unit and residuals weigh turning as they weigh sliding [-, m], of joints alone, shape (p - pc,)."""

    @property
    def count(self) -> int:
        """Number nc of contacts; joints come after them."""
        return len(self.contacts)

    @property
    def joint_rows(self) -> int:
        """First component of the joints."""
        return int(self.K.offset[self.count])

    @property
    def joint_names(self) -> tuple[Array, Array]:
        """Ids and sizes of the blocks of joints, as a memory keeps them [-], shape (m,)."""
        if self.joints is None:
            return NO_UNIT, NO_UNIT
        return self.joints.id.astype(float), self.joints.size.astype(float)

    def joint_impulses(self, r: Array) -> Array:
        """Of the joints, in their own units [N s, N m s], shape (p - pc,)."""
        return r[self.joint_rows :] * self.unit

    def problem(self, bodies: Bodies, f: Array) -> GlobalProblem:
        """The problem over the dynamic bodies, whose momenta are f [N s, N m s], shape (6 nd,)."""
        H = ContactBlocks.unchecked(self.bodies, self.rows, self.K.offset)
        return GlobalProblem.unchecked(bodies.M, f, H, self.u_bias, self.K)


def contact_blocks(found: ContactSet, start: Start, theta: float, newton: bool, memory: Memory) -> Blocks:
    """The contacts that take part in the step, as `kernels/bodies/assembly.py` says."""
    bodies, nc, count = start.bodies, found.id.shape[0], np.empty(3, np.int64)
    most = nc * bodies.most_rows
    kept_whole, kept = np.empty(5 * nc, np.int64), np.empty(23 * nc)
    whole, real = np.empty(8 * nc + 2, np.int64), np.empty(7 * nc + 14 * most)
    assembly.assemble(
        found.id, found.shape, found.body, found.point, found.frame, found.gap, found.law, SLOTS,
        *kept_of(memory), bodies.row, start.q_m, start.v_start, start.v_free, theta * start.h, start.slack,
        newton, count, kept_whole, kept, whole, real,
    )  # fmt: skip
    c, p, g = count.tolist()
    at = 2 * c + g
    u_bias, approach, ahead = real[at : at + p], real[at + 2 * p :][:c], real[at + 2 * p + c :][:c]
    if ahead.max(initial=0.0) > 0.0:
        gap, e = kept[12 * c : 13 * c], kept[13 * c : 17 * c].reshape(c, 4)[:, 3]
        _close(whole[3 * c : 4 * c], gap, approach, ahead, e, newton, start.h, u_bias)
    for array in (kept_whole, kept, whole, real):
        array.flags.writeable = False
    contacts = ContactSet(
        kept_whole[:c], kept_whole[c : 3 * c].reshape(c, 2), kept_whole[3 * c : 5 * c].reshape(c, 2),
        kept[: 3 * c].reshape(c, 3), kept[3 * c : 12 * c].reshape(c, 3, 3), kept[12 * c : 13 * c],
        kept[13 * c : 17 * c].reshape(c, 4),
    )  # fmt: skip
    if p == 3 * c > 0:
        K = ProductSet.coulomb_unchecked(*bodies.coulomb_cones(c), real[2 * c : at])
    else:
        K = ProductSet(
            whole[2 * c : 3 * c], whole[3 * c : 4 * c + 1], real[:c], real[c : 2 * c],
            whole[4 * c + 1 : 5 * c + 2], whole[5 * c + 2 : 5 * c + 2 + g], real[2 * c : at],
        )  # fmt: skip
    end = at + 2 * p + 2 * c
    return Blocks(
        contacts, whole[: 2 * c].reshape(c, 2), contacts.body, real[end : end + 12 * p].reshape(p, 2, 6), K,
        real[at : at + p], real[at + p : at + 2 * p], real[at + 2 * p : end - c],
        kept[17 * c : 23 * c].reshape(c, 2, 3), None, NO_UNIT,
    )  # fmt: skip


def _close(
    normal: IntArray, gap: Array, approach: Array, ahead: Array, e: Array, newton: bool, h: float,
    u_bias: Array,
) -> None:  # fmt: skip
    """u_bias <- with the gap over h in place of restitution, where `kernels/activation.py` wants it."""
    for i in np.flatnonzero(ahead > 0.0):
        rate = gap_rate(gap[i], approach[i], bool(e[i] > 0.0), h)
        if rate > 0.0:
            u_bias[normal[i]] += rate - (e[i] * min(approach[i], 0.0) if newton else 0.0)


def with_joints(blocks: Blocks, joints: JointRows, bodies: Bodies, v_free: Array, memory: Memory) -> Blocks:
    """The same, and the blocks of the joints after those of the contacts."""
    bias = joints.bias.copy()
    assembly.add_prescribed(joints.bodies, joints.size, joints.rows, bodies.row, v_free, bias)
    pairs = np.where(joints.bodies >= 0, bodies.row[joints.bodies], -1)
    turns = ~joints.rows[:, :, :3].any(axis=(1, 2))
    unit = np.where(turns, np.repeat(bodies.joint_length[joints.joint], joints.size), 1.0)
    first = unit[np.cumsum(joints.size) - joints.size]
    K, m = blocks.K, len(joints)
    K = ProductSet(
        np.concatenate([K.kind, joints.kind]),
        np.concatenate([K.offset, K.size + np.cumsum(joints.size)]),
        np.concatenate([K.lower, joints.lower / first]),
        np.concatenate([K.upper, joints.upper / first]),
        np.concatenate([K.group_offset, np.full(m, K.group_offset[-1])]),
        K.group_size,
        K.coefficient,
    )
    return replace(
        blocks,
        bodies=frozen(np.concatenate([blocks.bodies, pairs])),
        sides=frozen(np.concatenate([blocks.sides, joints.bodies])),
        rows=frozen(np.concatenate([blocks.rows, joints.rows * unit[:, None, None]])),
        K=K,
        u_bias=np.concatenate([blocks.u_bias, bias * unit]),
        guess=np.concatenate([blocks.guess, _last_impulses(joints, memory) / unit]),
        joints=joints,
        unit=unit,
    )


def _last_impulses(joints: JointRows, memory: Memory) -> Array:
    """Impulses of the last step, of the blocks that were there [N s, N m s], shape (n,)."""
    known, size, r = memory["joint_id"], memory["joint_size"].astype(np.int64), memory["joint_r"]
    if known.shape != size.shape or r.shape != (int(size.sum()),):
        raise ModelError(
            f"memory of joints: {known.size} blocks of {size.sum()} rows in all with {r.size} impulses"
        )
    if np.array_equal(known, joints.id):
        return r
    guess, new, old = np.zeros(joints.bias.size), np.cumsum(joints.size), np.cumsum(size)
    _, here, there = np.intersect1d(joints.id, known, assume_unique=True, return_indices=True)
    for i, j in zip(here, there, strict=True):  # stops that are reached or left: rare
        if joints.size[i] == size[j]:
            guess[new[i] - size[j] : new[i]] = r[old[j] - size[j] : old[j]]
    return guess
