"""Blocks of the contact problem of one step: active contacts first, then joints."""

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
"""Units of the joint rows of a world without joints."""
NO_ID: IntArray = frozen(np.zeros(0, np.int64))
"""Identifiers of the joint blocks of a world without joints."""


@dataclass(frozen=True, eq=False, slots=True)
class Blocks:
    """Active contacts and joints of a step."""

    contacts: ContactSet
    """Active contacts, at the configuration of their rows."""
    H: ContactBlocks
    """Rows of all blocks. Sides are rows of the mass matrix; -1 is a body without dynamics, whose rows are
    stored as well."""
    sides: IntArray
    """Bodies of the world on both sides, -1 for the inertial frame [-], shape (nb, 2)."""
    K: ProductSet
    """Set of admissible impulses."""
    u_bias: Array
    """Prescribed part of u, by restitution and by bodies without dynamics [m/s, rad/s], shape (p,)."""
    guess: Array
    """Impulses of the previous step [N s, N m s], shape (p,)."""
    approach: Array
    """Normal velocities of the contacts before the step [m/s], shape (nc,)."""
    local: Array
    """Points of the contacts in the frames of the two bodies [m], shape (nc, 2, 3)."""
    joints: JointRows | None
    """Joint rows, whose blocks follow those of the contacts; None without joints."""
    unit: Array
    """Factors of the joint rows: a length for rotational rows, so that the problem has one unit and residuals
    weigh rotations like translations [-, m], shape (p - pc,)."""

    @property
    def rows(self) -> Array:
        """H' over both sides, including bodies without dynamics [-, m], shape (p, 2, 6)."""
        return self.H.rows

    @property
    def count(self) -> int:
        """Number nc of contacts."""
        return len(self.contacts)

    @property
    def arrays(self) -> layout.Blocks:
        """Sides, offsets and rows as the named tuple of the kernels."""
        return layout.Blocks(self.sides, self.K.offset, self.rows)

    @property
    def joint_rows(self) -> int:
        """Index of the first component of the joints."""
        return int(self.K.offset[self.count])

    @property
    def joint_names(self) -> tuple[Array, Array]:
        """Identifiers and sizes of the joint blocks, as stored in a memory [-], shape (m,)."""
        if self.joints is None:
            return NO_UNIT, NO_UNIT
        return self.joints.id.astype(float), self.joints.size.astype(float)

    @property
    def joint_ids(self) -> IntArray:
        """Identifier of the block of each joint row [-], shape (p - pc,)."""
        return NO_ID if self.joints is None else np.repeat(self.joints.id, self.joints.size)

    def joint_impulses(self, r: Array) -> Array:
        """Return the impulses of the joints in their own units [N s, N m s], shape (p - pc,)."""
        return r[self.joint_rows :] * self.unit

    def problem(self, bodies: Bodies, f: Array) -> GlobalProblem:
        """Return the problem over the dynamic bodies with momenta f [N s, N m s], shape (6 nd,)."""
        return GlobalProblem.unchecked(bodies.M, f, self.H, self.u_bias, self.K)

    def parts(self, bodies: Bodies) -> Graph | None:
        """Return the graph by which the end of a large step is computed in parts; None for other steps."""
        return Graph.of(self.H, len(bodies.M.matrix)) if are_coulomb(self.K, self.H) else None


def contact_blocks(
    found: ContactSet, start: Start, theta: float, newton: bool, memory: Memory, stabilised: bool = False
) -> Blocks:
    """Return the blocks of the active contacts among those detected (`kernels/bodies/assembly.py`)."""
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
    """Return the blocks of the contacts followed by those of the joints."""
    contacts = layout.Acting(
        blocks.sides, blocks.H.bodies, blocks.K.arrays, blocks.u_bias, blocks.guess, blocks.rows, blocks.unit
    )
    last = last_joints(memory)
    acting = joint_blocks.with_joints(bodies.linkage, contacts, joints.arrays, bodies.row, v_free, last)
    for array in acting[:2] + acting[3:6]:
        array.flags.writeable = False
    K = ProductSet(*acting.K)
    return replace(
        blocks, H=ContactBlocks.unchecked(acting.rows_of_M, acting.rows, K.offset), sides=acting.sides, K=K,
        u_bias=acting.u_bias, guess=acting.guess, joints=joints, unit=acting.unit,
    )  # fmt: skip


def last_joints(memory: Memory) -> LastJoints:
    """Return the joint blocks of the previous step; raise ModelError if their sizes are inconsistent."""
    known, size, r = memory["joint_id"], memory["joint_size"], memory["joint_r"]
    if known.shape != size.shape or r.shape != (int(size.sum()),):
        raise ModelError(
            f"memory of joints: {known.size} blocks of {int(size.sum())} rows in all with {r.size} impulses"
        )
    return LastJoints(known, size, r)
