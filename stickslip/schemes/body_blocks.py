"""The blocks of one step: active contacts, then joints; what enters the problem, and what comes back."""

from dataclasses import dataclass, replace

import numpy as np

from stickslip.detection.contacts import SLOTS, ContactSet
from stickslip.detection.tracking import kept_of
from stickslip.kernels.bodies import assembly, joint_blocks, layout
from stickslip.kernels.bodies.layout import Contacts, LastContacts, LastJoints, Span
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


def contact_blocks(
    found: ContactSet, start: Start, theta: float, newton: bool, memory: Memory, stabilised: bool = False
) -> Blocks:
    """The contacts that take part in the step, as `kernels/bodies/assembly.py` says."""
    bodies, h = start.bodies, start.h
    active = assembly.assemble(
        Contacts(*(getattr(found, name) for name in ContactSet.__slots__)), LastContacts(*kept_of(memory)),
        SLOTS, bodies.row, start.free, Span(h, theta * h), start.slack, newton, stabilised,
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
    contacts = layout.Acting(
        blocks.sides, blocks.bodies, blocks.K.arrays, blocks.u_bias, blocks.guess, blocks.rows, blocks.unit
    )
    last = last_joints(memory)
    found = joint_blocks.with_joints(bodies.linkage, contacts, joints.arrays, bodies.row, v_free, last)
    for array in found[:2] + found[3:6]:
        array.flags.writeable = False
    return replace(
        blocks, bodies=found.rows_of_M, sides=found.sides, rows=found.rows, K=ProductSet(*found.K),
        u_bias=found.u_bias, guess=found.guess, joints=joints, unit=found.unit,
    )  # fmt: skip


def last_joints(memory: Memory) -> LastJoints:
    """Blocks of joints of the last step."""
    known, size, r = memory["joint_id"], memory["joint_size"], memory["joint_r"]
    if known.shape != size.shape or r.shape != (int(size.sum()),):
        raise ModelError(
            f"memory of joints: {known.size} blocks of {int(size.sum())} rows in all with {r.size} impulses"
        )
    return LastJoints(known, size, r)
