"""One step of time as data: state in, step out, nothing hidden.

A scheme is a frozen set of options and three verbs: `begin` makes its memory, `step` carries a state over
h, `levels` says which derivative of y each interaction's law is stated on. The solver arrives as an argument.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import Level
from stickslip.problem.solution import AnyProblem, Solution, Verdict
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.state import BoolArray, State
from stickslip.systems.searches import Features
from stickslip.systems.system import NonsmoothSystem

if TYPE_CHECKING:
    from stickslip.detection.contacts import ContactSet
    from stickslip.schemes.body_step import BodyPart, EnergyTerms

Value = TypeVar("Value")

Memory = dict[str, Array]
"""What a scheme carries from step to step beside the state (last multipliers for warm starts, the previous
q, ...): named float arrays whose shapes never change, so that a saved step resumes bit for bit."""

OVERLAP = "overlap kept [m]"
"""Measure of a step of a world whose answer is kept although detection finds more contacts at its end, which
overlap by so much: with them the step had no answer."""
CONTACT_WORK = "contact work [J]"
"""Measure of a scheme that knows what contacts did within a step, at instants that its ends do not show."""


class Solver(Protocol):
    """What a scheme needs of a solver.

    A solver may have more, which schemes ask for: `compiled_steps`, true where steps may be made in compiled
    code that solves small problems itself; `takes_steps`, true where `solve` takes a StepProblem;
    `on_path(kappa)`, the solver that stops on the central path of steps; and `other_law`, true where its
    options ask for another law than the exact one: runs go on with answers of that law, and are relaxed.
    """

    def solve(self, problem: AnyProblem, *, guess: ArrayLike | None = None) -> Solution:
        """The certified answer."""


Selector = Callable[[Solution], tuple[Solution, BoolArray]]
"""Chooses among certified impulses with the same velocities: the answer with those that it chooses
(`selection` is then `least`), or as it is, and which blocks have no others [-], shape (nb,), bool."""


@dataclass(frozen=True, slots=True)
class Event:
    """Event at one instant of a step."""

    t: float
    """Time [s]."""
    kind: str
    """`impact`, `take-off`, `stick`, `slip`, `zeno`, `guard`, ..."""
    interaction: str
    """Name of the interaction, or of the guard; empty where it is none's."""


@dataclass(frozen=True, eq=False, slots=True)
class Searched:
    """What a step was made with where contacts are found anew in every step."""

    system: NonsmoothSystem
    """The system with the contacts of the step."""
    features: Features
    """What meets at them."""
    memory: Memory
    """That of the step before, without what it knows of other contacts."""


@dataclass(frozen=True, eq=False, slots=True)
class InteractionPart:
    """What a step of a system of equations leaves beside; components and blocks are those of all interactions
    in order."""

    y: Array
    """Outputs at the end of the step [m, rad, or any], shape (size,)."""
    forecast: Array
    """What decided whether a block is active: its forecast gap [m], shape (blocks,); -inf: it always is."""
    active: BoolArray
    """Blocks that entered the problem [-], shape (blocks,), bool."""
    levels: tuple[Level, ...]
    """Which derivative of y each interaction's law was stated on."""
    components: tuple[IntArray, ...] = ()
    """Where the impulses of each of `solves`, bilateral ones last, stand in r [-], shape (any,) each; empty
    where r is not made of them."""
    searched: Searched | None = None
    """Of a system whose contacts are found anew in every step."""


class _Of(Generic[Value]):
    """An attribute of a part of a step, read from the step itself."""

    def __init__(self, part: str):
        self.part, self.name = part, ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, step: "Step", owner: type | None = None) -> Value:
        part = getattr(step, self.part)
        if part is None:
            kind = "a world" if step.interactions is None else "a system of equations"
            raise AttributeError(f"a step of {kind} has no {self.name}")
        value: Value = getattr(part, self.name)
        return value


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """Result of one step: common fields, and a part for the kind of the model, whose attributes can also be
    read from the step itself (`step.y`, `step.contacts`).
    """

    state: State
    """At the end of the step."""
    h: float
    """Length of the step [s]."""
    r: Array
    """Multipliers. Of interactions: impulses over the step in mechanics [N s], lam in first order, shape
    (size,). Of bodies: N, T1, T2 [N s], rolling about t1, t2, torsion about n [N m s], shape (nc, 6)."""
    u: Array
    """What the law constrained. Of interactions: ẏ at velocity level [m/s], y at position level [m], shape
    (size,). Of bodies: relative velocities at the end of the step, as r [m/s, rad/s], shape (nc, 6)."""
    memory: Memory
    """The scheme's memory at the end of the step."""
    interactions: InteractionPart | None = None
    """Of a step of a system of equations."""
    bodies: "BodyPart | None" = None
    """Of a step of a world."""
    solves: tuple[Solution, ...] = ()
    """The problems that the answer rests on, one per set of coupled interactions, phase and part of an
    impact, with the judge's word; for a Newton loop those of its last iteration."""
    newton: int = 0
    """Newton iterations."""
    events: tuple[Event, ...] = ()
    """What happened within the step."""
    reason: str = ""
    """Why the step is not good, where it is not."""
    measures: dict[str, float] = field(default_factory=dict)
    """What else was measured, by name with its unit: «projection [m]»."""
    relaxation: str = ""
    """What the scheme puts in the place of the exact law; empty where it puts nothing."""

    y = _Of[Array]("interactions")
    forecast = _Of[Array]("interactions")
    active = _Of[BoolArray]("interactions")
    levels = _Of[tuple[Level, ...]]("interactions")
    components = _Of[tuple[IntArray, ...]]("interactions")
    searched: ClassVar[_Of["Searched | None"]] = _Of("interactions")
    contacts: ClassVar[_Of["ContactSet"]] = _Of("bodies")
    joint_r = _Of[Array]("bodies")
    energy: ClassVar[_Of["EnergyTerms"]] = _Of("bodies")
    penetration = _Of[float]("bodies")
    opening = _Of[float]("bodies")
    correction = _Of[float]("bodies")
    joint_unit = _Of["Array | None"]("bodies")
    summed = _Of[bool]("bodies")
    choice = _Of["IntArray | None"]("bodies")
    joint_id = _Of["IntArray | None"]("bodies")

    @property
    def index_sets(self) -> tuple[BoolArray, ...]:
        """Index sets I0, I1, ... of a step of a system of equations, as many as its scheme knows levels
        [-], shape (blocks,) each, bool: I0 all blocks; from velocities on I1, those that entered its problem
        of impulses, and of the event-driven scheme those that are closed at its end; on accelerations I2,
        those that forces hold there (Siconos Developer's Notes 2017, chapter 8)."""
        active, most = self.active, max((level.order for level in self.levels), default=0)
        closed = active | (self.forecast <= 0.0) if most == 2 else active
        return (np.ones(active.size, bool), closed, active)[: most + 1]

    @property
    def multipliers(self) -> dict[int, Array]:
        """λ[i] of a step of a system of equations, by the derivative i of y that laws are stated on [as r],
        shape (size,) each: r, of the interactions that have that level, and of the event-driven scheme beside
        its impulses λ[1] the forces λ[2] at the end of the step [N]."""
        orders = {level.order for level in self.levels}
        found = {order: self.r for order in sorted(orders) if order < 2}
        return {**found, 1: self.r, 2: self.memory["lam"]} if 2 in orders else found

    @property
    def ok(self) -> bool:
        """Whether the step is certified: under the exact law every problem was solved to its tolerance, and
        every loop converged."""
        return not self.reason and not self.relaxation and all(one.ok for one in self.solves)

    @property
    def solved(self) -> bool:
        """Whether the scheme solved what it set out to solve; of a relaxed scheme that is its own law. A run
        stops at a step that is not solved, unless it is told otherwise."""
        if self.reason:
            return False
        if not self.relaxation:
            return all(one.ok for one in self.solves)
        return all(one.verdict is not Verdict.MISSED for one in self.solves)

    @property
    def fault(self) -> str:
        """Reason why the step failed, by itself or by its first unsolved problem; otherwise empty."""
        return self.reason or next((one.reason or one.status.value for one in self.solves if not one.ok), "")

    @property
    def verdict(self) -> Verdict:
        """Verdict on the step: certified, relaxed or missed."""
        if self.ok:
            return Verdict.CERTIFIED
        if self.reason or any(one.verdict is Verdict.MISSED for one in self.solves):
            return Verdict.MISSED
        return Verdict.RELAXED

    @property
    def replaced(self) -> str:
        """Law that replaces the exact one, by the scheme or by the solver; empty if none does."""
        if self.relaxation or self.reason:
            return self.relaxation
        return next((one.status.value for one in self.solves if one.verdict is Verdict.RELAXED), "")

    @property
    def natural(self) -> float:
        """Largest natural residual of its problems [-]; 0 where there was none."""
        return max((one.residuals.natural for one in self.solves), default=0.0)

    @property
    def natural_scaled(self) -> float:
        """Largest unit-free natural residual of its problems [-]; 0 where there was none."""
        return max((one.residuals.natural_scaled for one in self.solves), default=0.0)

    @property
    def iterations(self) -> int:
        """Iterations of the solver, over all problems."""
        return sum(one.iterations for one in self.solves)


class Scheme(Protocol):
    """Protocol of schemes for systems: a frozen set of options with the methods `begin`, `step` and `levels`.

    Runs pass one `PreparedSystem` to all of them, so that data derived from the system are computed once.
    """

    def begin(self, system: PreparedSystem, state: State, h: float) -> Memory:
        """The memory before the first step; a ModelError where the scheme cannot carry the system."""

    def step(self, system: PreparedSystem, state: State, memory: Memory, h: float, solver: Solver) -> Step:
        """The step of length h that begins at `state`."""

    def levels(self, system: PreparedSystem) -> tuple[Level, ...]:
        """Which derivative of y each interaction's law is stated on."""


def first_state(system: NonsmoothSystem, t: float = 0.0) -> State:
    """The state from which a system starts."""
    return State(t, system.q0, system.v0, system.z0)


def frozen_state(t: float, q: Array, v: Array, z: Array) -> State:
    """A state whose arrays can no longer be written to: users' functions are given them."""
    for array in (q, v, z):
        array.flags.writeable = False
    return State(t, q, v, z)


def arrays(**named: Any) -> Memory:
    """A memory of named arrays."""
    return {name: np.array(value, float) for name, value in named.items()}
