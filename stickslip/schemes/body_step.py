"""Data of a step of a world, and the protocol of schemes for worlds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from stickslip.detection.contacts import ContactSet
from stickslip.kernels.bodies.layout import Energies
from stickslip.schemes.step import Memory, Solver, Step
from stickslip.state import Array, IntArray, State

if TYPE_CHECKING:
    from stickslip.schemes.body_world import PreparedWorld


@dataclass(frozen=True, slots=True)
class EnergyTerms:
    """Energy balance of a step. kinetic + potential + dissipated - work - lifted changes by `balance`, which
    is zero to the order that the scheme states."""

    kinetic: float
    """Kinetic energy at the end of the step [J]."""
    potential: float
    """Potential energy of gravity and springs at the end of the step [J]."""
    dissipated: float
    """Energy dissipated in the step by contacts, joints and dampers [J]."""
    work: float
    """Work of actuators, users' forces and kinematic bodies in the step [J]."""
    lifted: float
    """Potential energy added by the position correction in the step [J]."""
    balance: float
    """Change of kinetic + potential in the step + dissipated - work - lifted [J]."""

    @classmethod
    def of(cls, terms: Energies, potential: float, *before: float, lifted: float = 0.0) -> "EnergyTerms":
        """Return the balance from the kernel's terms, the potential energy after the step, and the parts of
        the potential energy before it [J]."""
        dissipated, work = terms.lost + terms.damped, terms.driven + terms.worked
        change = terms.kinetic - terms.kinetic_before + potential
        for part in before:
            change -= part
        return cls(terms.kinetic, potential, dissipated, work, lifted, change + dissipated - work - lifted)


@dataclass(frozen=True, eq=False, slots=True)
class BodyPart:
    """Part of a `Step` that is specific to worlds."""

    contacts: ContactSet
    """Contacts that entered the problem, at the configuration of its rows."""
    joint_r: Array
    """Impulses of the joints [N s, N m s], shape (p,), in the order of the scheme's joint rows."""
    energy: EnergyTerms
    """Energy balance."""
    penetration: float
    """Deepest overlap of contacts at the end of the step, >= 0 [m]."""
    opening: float
    """Largest error of a joint at the end of the step [m, rad]."""
    correction: float
    """Largest displacement of a contact or joint by the position correction [m]."""
    joint_unit: Array | None = None
    """Factors from the joint impulses of the problems to `joint_r` [-, m], shape (p,); None: 1."""
    summed: bool = False
    """Whether `r` and `joint_r` are sums of the impulses of `solves`, contacts first, so that the least
    impulses may replace them."""
    choice: IntArray | None = None
    """Origin of the impulse of each contact, a code of `body_forces.CHOICES` [-], shape (nc,); None: all are
    the solver's."""
    joint_id: IntArray | None = None
    """Identifier of the joint block of each component of `joint_r`, as `JointRows.id` [-], shape (p,); None:
    not known."""


class BodyScheme(Protocol):
    """Protocol of schemes for worlds: a frozen set of options with the methods `begin` and `step`.

    Runs pass one `PreparedWorld` to both, so that data derived from the world are computed once.
    """

    def begin(self, world: "PreparedWorld", state: State, h: float) -> Memory:
        """Return the memory for the first step; raise ModelError for an unsupported world."""

    def step(self, world: "PreparedWorld", state: State, memory: Memory, h: float, solver: Solver) -> Step:
        """Return the step of length h that begins at `state`."""
