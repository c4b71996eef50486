"""The blocks of one step: active contacts, then joints; what enters the problem, and what comes back."""

from dataclasses import dataclass, fields

import numpy as np

from stickslip.detection.contacts import ContactSet
from stickslip.kernels.bodies import assembly
from stickslip.problem.checks import frozen
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.sets import ProductSet
from stickslip.schemes.body_world import Bodies
from stickslip.schemes.step import Memory
from stickslip.state import Array, IntArray

FIELDS = tuple(one.name for one in fields(ContactSet))


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

    @property
    def count(self) -> int:
        """Number nc of contacts; joints come after them."""
        return len(self.contacts)

    @property
    def joint_rows(self) -> int:
        """First component of the joints."""
        return int(self.K.offset[self.count])

    def problem(self, bodies: Bodies, f: Array) -> GlobalProblem:
        """The problem over the dynamic bodies, whose momenta are f [N s, N m s], shape (6 nd,)."""
        H = ContactBlocks(self.bodies, self.rows, self.K.offset)
        return GlobalProblem.unchecked(bodies.M, f, H, self.u_bias, self.K)

    def by_contact(self, x: Array) -> Array:
        """Components of the contacts: N, T1, T2, rolling about t1, t2, torsion about n, shape (nc, 6)."""
        out = np.zeros((self.count, 6))
        assembly.by_contact(self.K.offset, self.contacts.law, x, out)
        return out


def contact_blocks(
    found: ContactSet, bodies: Bodies, q: Array, v_start: Array, v_free: Array, reach: float, newton: bool,
    memory: Memory,
) -> Blocks:  # fmt: skip
    """The contacts that close by the end of the step, as `kernels/bodies/assembly.py` says."""
    (
        active, pairs, sides, rows, kind, offset, lower, upper, group_offset, group_size, coefficient,
        u_bias, guess, approach,
    ) = assembly.assemble(
        found.id, found.body, found.point, found.frame, found.gap, found.law, bodies.row, q, v_start, v_free,
        reach, newton, memory["id"], memory["r"],
    )  # fmt: skip
    if active.size < len(found):
        found = ContactSet(*(getattr(found, name)[active] for name in FIELDS))
    K = ProductSet(kind, offset, lower, upper, group_offset, group_size, coefficient)
    return Blocks(found, pairs, sides, frozen(rows), K, u_bias, guess, approach)
