"""The blocks of one step: active contacts, then joints; what enters the problem, and what comes back."""

from dataclasses import dataclass, replace

import numpy as np

from stickslip.detection.contacts import SLOTS, ContactSet
from stickslip.detection.tracking import kept_of
from stickslip.kernels.bodies import assembly, layout
from stickslip.kernels.bodies.layout import Contacts, LastContacts, Span
from stickslip.problem.checks import frozen
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.sets import ProductSet
from stickslip.schemes.body_joints import JointRows
from stickslip.schemes.body_redundancy import project_redundant_rows
from stickslip.schemes.body_start import Start
from stickslip.schemes.body_world import Bodies
from stickslip.schemes.step import Memory
from stickslip.state import Array, IntArray, ModelError

NO_UNIT: Array = frozen(np.zeros(0))
NO_ID: IntArray = frozen(np.zeros(0, np.int64))


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
    def arrays(self) -> layout.Blocks:
        """Rows as kernels take them."""
        return layout.Blocks(self.sides, self.K.offset, self.rows)

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

    @property
    def joint_ids(self) -> IntArray:
        """Id of the block of each row of the joints [-], shape (p - pc,)."""
        return NO_ID if self.joints is None else np.repeat(self.joints.id, self.joints.size)

    def joint_impulses(self, r: Array) -> Array:
        """Of the joints, in their own units [N s, N m s], shape (p - pc,)."""
        return r[self.joint_rows :] * self.unit

    def problem(self, bodies: Bodies, f: Array) -> GlobalProblem:
        """The problem over the dynamic bodies, whose momenta are f [N s, N m s], shape (6 nd,)."""
        H = ContactBlocks.unchecked(self.bodies, self.rows, self.K.offset)
        return GlobalProblem.unchecked(bodies.M, f, H, self.u_bias, self.K)


def contact_blocks(found: ContactSet, start: Start, theta: float, newton: bool, memory: Memory) -> Blocks:
    """The contacts that take part in the step, as `kernels/bodies/assembly.py` says."""
    bodies, h = start.bodies, start.h
    active = assembly.assemble(
        Contacts(*(getattr(found, name) for name in ContactSet.__slots__)), LastContacts(*kept_of(memory)),
        SLOTS, bodies.row, start.free, Span(h, theta * h), start.slack, newton,
    )  # fmt: skip
    for array in (*active.contacts, active.local, active.rows_of_M, *active.K, *active[4:]):
        array.flags.writeable = False
    contacts, c, K = ContactSet(*active.contacts), active.approach.size, active.K
    only_coulomb = active.u_bias.size == 3 * c > 0
    return Blocks(
        contacts, active.rows_of_M, contacts.body, active.rows,
        ProductSet.coulomb_unchecked(*K) if only_coulomb else ProductSet(*K),
        active.u_bias, active.guess, active.approach, active.local, None, NO_UNIT,
    )  # fmt: skip


def with_joints(blocks: Blocks, joints: JointRows, bodies: Bodies, v_free: Array, memory: Memory) -> Blocks:
    """The same, and the blocks of the joints after those of the contacts."""
    bias = joints.bias.copy()
    assembly.add_prescribed(joints.bodies, joints.size, joints.rows, bodies.row, v_free, bias)
    pairs = np.where(joints.bodies >= 0, bodies.row[joints.bodies], -1)
    turns = ~joints.rows[:, :, :3].any(axis=(1, 2))
    unit = np.where(turns, np.repeat(bodies.joint_length[joints.joint], joints.size), 1.0)
    first = unit[np.cumsum(joints.size) - joints.size]
    rows, bias, error = joints.rows * unit[:, None, None], bias * unit, joints.error * unit
    project_redundant_rows(
        bodies, joints.bodies, joints.joint, joints.part, joints.size, rows[None], bias[None], error
    )
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
        rows=frozen(np.concatenate([blocks.rows, rows])),
        K=K,
        u_bias=np.concatenate([blocks.u_bias, bias]),
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
