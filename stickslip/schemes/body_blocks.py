"""The blocks of one step: active contacts, then joints; what enters the problem, and what comes back."""

from dataclasses import dataclass, replace

import numpy as np

from stickslip.compilation import JIT
from stickslip.detection.contacts import SLOTS, ContactSet
from stickslip.detection.tracking import kept_of
from stickslip.kernels import domains
from stickslip.kernels.bodies import assembly, joint_blocks, layout
from stickslip.kernels.bodies.layout import Contacts, LastContacts, LastJoints, Span
from stickslip.problem.checks import frozen
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.parts import Graph, are_coulomb
from stickslip.problem.sets import ProductSet
from stickslip.schemes import body_parts
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
    H: ContactBlocks
    """Over the rows of the mass matrix, -1 for a side that does not answer, whose rows are there as well."""
    sides: IntArray
    """The same as bodies of the world, -1 for the inertial frame [-], shape (nb, 2)."""
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
    def rows(self) -> Array:
        """H' over both sides, of those too that do not answer [-, m], shape (p, 2, 6)."""
        return self.H.rows

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
        return GlobalProblem.unchecked(bodies.M, f, self.H, self.u_bias, self.K)

    def parts(self, bodies: Bodies) -> Graph | None:
        """What the ends of steps with many contacts are worked on in parts by; None where they are not."""
        return Graph.of(self.H, len(bodies.M.matrix)) if are_coulomb(self.K, self.H) else None


def contact_blocks(
    found: ContactSet, start: Start, theta: float, newton: bool, memory: Memory, stabilised: bool = False
) -> Blocks:
    """The contacts that take part in the step, as `kernels/bodies/assembly.py` says."""
    bodies, h = start.bodies, start.h
    contacts = Contacts(*(getattr(found, name) for name in ContactSet.__slots__))
    last, rest = LastContacts(*kept_of(memory)), (start.free, Span(h, theta * h), start.slack)
    if JIT and len(found) >= domains.LARGE:
        active = body_parts.assemble(contacts, last, SLOTS, bodies.arrays, *rest, newton, stabilised)
    else:
        active = assembly.assemble(contacts, last, SLOTS, bodies.row, *rest, newton, stabilised)
    for array in (*active.contacts, active.local, active.rows_of_M, *active.K, *active[4:]):
        array.flags.writeable = False
    acting, c, K = ContactSet(*active.contacts), active.approach.size, active.K
    only_coulomb = active.u_bias.size == 3 * c > 0
    H = ContactBlocks.unchecked(active.rows_of_M, active.rows, K.offset)
    return Blocks(
        acting, H, acting.body,
        ProductSet.coulomb_unchecked(*K) if only_coulomb else ProductSet(*K),
        active.u_bias, active.guess, active.approach, active.local, None, NO_UNIT,
    )  # fmt: skip


def with_joints(blocks: Blocks, joints: JointRows, bodies: Bodies, v_free: Array, memory: Memory) -> Blocks:
    """The same, and the blocks of the joints after those of the contacts."""
    contacts = layout.Acting(
        blocks.sides, blocks.H.bodies, blocks.K.arrays, blocks.u_bias, blocks.guess, blocks.rows, blocks.unit
    )
    last = last_joints(memory)
    found = joint_blocks.with_joints(bodies.linkage, contacts, joints.arrays, bodies.row, v_free, last)
    for array in found[:2] + found[3:6]:
        array.flags.writeable = False
    K = ProductSet(*found.K)
    return replace(
        blocks, H=ContactBlocks.unchecked(found.rows_of_M, found.rows, K.offset), sides=found.sides, K=K,
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
