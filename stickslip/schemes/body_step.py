"""One step of a world as data: state in, step out, nothing hidden."""

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
    """Where energy is after a step, and where it went in it: kinetic + potential + dissipated - work
    - lifted changes by `balance` alone, which is zero to the order that the scheme states."""

    kinetic: float
    """At the end of the step [J]."""
    potential: float
    """At the end of the step, gravity's and springs' [J]."""
    dissipated: float
    """In the step, by contacts, joints and dampers [J]."""
    work: float
    """In the step, of actuators, users' forces and kinematic bodies [J]."""
    lifted: float
    """Potential energy that the position correction gave in the step [J]."""
    balance: float
    """Change of kinetic + potential in the step + dissipated - work - lifted [J]."""

    @classmethod
    def of(cls, told: Energies, potential: float, *before: float, lifted: float = 0.0) -> "EnergyTerms":
        """From where energy went, potential energy after the step, and the parts of that before it [J]."""
        dissipated, work = told.lost + told.damped, told.driven + told.worked
        change = told.kinetic - told.kinetic_before + potential
        for part in before:
            change -= part
        return cls(told.kinetic, potential, dissipated, work, lifted, change + dissipated - work - lifted)


@dataclass(frozen=True, eq=False, slots=True)
class BodyPart:
    """What a step of a world leaves beside what every step does."""

    contacts: ContactSet
    """Contacts that entered the problem, where they were when it was made."""
    joint_r: Array
    """Impulses of the joints [N s, N m s], shape (p,), in the order of the scheme's joint rows."""
    energy: EnergyTerms
    penetration: float
    """Deepest overlap of contacts at the end of the step, >= 0 [m]."""
    opening: float
    """Largest error of a joint at the end of the step [m, rad]."""
    correction: float
    """Largest displacement of a contact or joint by the position correction [m]."""
    joint_unit: Array | None = None
    """What impulses of joints in the problems are multiplied by in `joint_r` [-, m], shape (p,); None: 1."""
    summed: bool = False
    """Whether `r` and `joint_r` are sums of the impulses of `solves`, contacts first, so that others may take
    their place."""
    choice: IntArray | None = None
    """How the impulse of each contact was chosen, a code of `body_forces.CHOICES` [-], shape (nc,); None: all
    are the solver's."""
    joint_id: IntArray | None = None
    """Which block of which joint each of `joint_r` is of, as `JointRows.id` [-], shape (p,); None: not
    told."""


class BodyScheme(Protocol):
    """Protocol of schemes for worlds: a frozen set of options with the methods `begin` and `step`.

    Runs pass one `PreparedWorld` to both, so that data derived from the world are computed once.
    """

    def begin(self, world: "PreparedWorld", state: State, h: float) -> Memory:
        """The memory of the first step; a ModelError where the scheme cannot carry the world."""

    def step(self, world: "PreparedWorld", state: State, memory: Memory, h: float, solver: Solver) -> Step:
        """The step of length h that begins at `state`."""
