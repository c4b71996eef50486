"""The result of one time step (`Step`), and the protocols of schemes and solvers.

A scheme is a frozen set of options with three methods: `begin` returns the initial memory, `step` integrates
a state over one step of length h, and `levels` returns the derivative of y on which each interaction's law is
stated. A scheme has no hidden state, and the solver is an argument of `step`.
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
"""Data that a scheme passes from step to step in addition to the state (last multipliers for warm starts, the
previous q, ...): named float arrays of constant shape, so that a saved run resumes bit for bit."""

OVERLAP = "overlap kept [m]"
"""Name of a measure: the overlap of contacts that detection finds only at the end of a step of a world. The
step is kept without them because it has no solution with them."""
CONTACT_WORK = "contact work [J]"
"""Name of a measure: work of the contacts within a step, for schemes that compute it at inner instants."""


class Solver(Protocol):
    """Protocol of solvers, as schemes use them.

    Schemes also look for these optional attributes: `compiled_steps`, true if steps may run in compiled code
    that solves small problems itself; `takes_steps`, true if `solve` accepts a StepProblem; `on_path(kappa)`,
    which returns a solver that stops on the central path of steps; and `other_law`, true if the options
    choose another law than the exact one. Runs continue with solutions of that law, and are then relaxed.
    """

    def solve(self, problem: AnyProblem, *, guess: ArrayLike | None = None) -> Solution:
        """Return a solution with its status and residuals, starting from `guess`."""


Selector = Callable[[Solution], tuple[Solution, BoolArray]]
"""Selects among certified impulses with the same velocities. It returns the solution with the selected
impulses (`selection` is then `least`) or unchanged, and whether the impulse of each block is unique [-],
shape (nb,), bool."""


@dataclass(frozen=True, slots=True)
class Event:
    """Event at one instant of a step."""

    t: float
    """Time [s]."""
    kind: str
    """`impact`, `take-off`, `stick`, `slip`, `zeno`, `guard`, ..."""
    interaction: str
    """Name of the interaction or guard; empty if the event belongs to neither."""


@dataclass(frozen=True, eq=False, slots=True)
class Searched:
    """Inputs of a step of a system whose contacts are detected anew in every step."""

    system: NonsmoothSystem
    """The system with the contacts of the step."""
    features: Features
    """The geometric features that meet at these contacts."""
    memory: Memory
    """Memory of the previous step, restricted to these contacts."""


@dataclass(frozen=True, eq=False, slots=True)
class InteractionPart:
    """Part of a `Step` that is specific to systems of equations. Components and blocks are those of all
    interactions in order."""

    y: Array
    """Outputs at the end of the step [m, rad, or any], shape (size,)."""
    forecast: Array
    """Forecast gap by which a block is activated [m], shape (blocks,); -inf: the block is always active."""
    active: BoolArray
    """Whether a block entered the problem [-], shape (blocks,), bool."""
    levels: tuple[Level, ...]
    """The derivative of y on which the law of each interaction is stated."""
    components: tuple[IntArray, ...] = ()
    """Indices in r of the impulses of each of `solves`, bilateral ones last [-], shape (any,) each; empty
    if r does not consist of these impulses."""
    searched: Searched | None = None
    """Inputs of the step, for a system whose contacts are detected anew in every step; otherwise None."""


class _Of(Generic[Value]):
    """Descriptor: an attribute of one part of a step, read through the step."""

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
    """Result of one time step: fields common to all models, and one part for the kind of the model. The
    attributes of that part can also be read from the step itself (`step.y`, `step.contacts`).
    """

    state: State
    """State at the end of the step."""
    h: float
    """Length of the step [s]."""
    r: Array
    """Multipliers. Interactions: impulses over the step in mechanics [N s], lam in first order, shape
    (size,). Bodies: N, T1, T2 [N s], rolling about t1, t2, torsion about n [N m s], shape (nc, 6)."""
    u: Array
    """Variable that the law constrains. Interactions: ẏ at velocity level [m/s], y at position level [m],
    shape (size,). Bodies: relative velocities at the end of the step, ordered as r [m/s, rad/s], shape
    (nc, 6)."""
    memory: Memory
    """The scheme's memory at the end of the step."""
    interactions: InteractionPart | None = None
    """The part for systems of equations; None for worlds."""
    bodies: "BodyPart | None" = None
    """The part for worlds; None for systems of equations."""
    solves: tuple[Solution, ...] = ()
    """Solutions of the problems of the step, with the judge's residuals: one per set of coupled interactions,
    and per phase and part of an impact; for a Newton loop those of its last iteration."""
    newton: int = 0
    """Number of Newton iterations."""
    events: tuple[Event, ...] = ()
    """Events within the step."""
    reason: str = ""
    """Reason why the step failed in the scheme; empty if it did not."""
    measures: dict[str, float] = field(default_factory=dict)
    """Further measured quantities, by name with the unit: «projection [m]»."""
    relaxation: str = ""
    """Law that the scheme uses in place of the exact one; empty if it uses the exact one."""

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
        """Index sets I0, I1, ... of a step of a system of equations, up to the highest level of its laws [-],
        shape (blocks,) each, bool (Siconos Developer's Notes 2017, chapter 8). I0: all blocks. I1, at
        velocity level: blocks that entered the impulse problem; for the event-driven scheme, blocks that are
        closed at the end of the step. I2, at acceleration level: blocks held by forces at the end."""
        active, most = self.active, max((level.order for level in self.levels), default=0)
        closed = active | (self.forecast <= 0.0) if most == 2 else active
        return (np.ones(active.size, bool), closed, active)[: most + 1]

    @property
    def multipliers(self) -> dict[int, Array]:
        """Multipliers λ[i] of a step of a system of equations, by the derivative i of y on which laws are
        stated [as r], shape (size,) each. λ[i] is r; the event-driven scheme has the impulses λ[1] and the
        forces λ[2] at the end of the step [N]."""
        orders = {level.order for level in self.levels}
        impulses = {order: self.r for order in sorted(orders) if order < 2}
        return {**impulses, 1: self.r, 2: self.memory["lam"]} if 2 in orders else impulses

    @property
    def ok(self) -> bool:
        """Whether the step is certified: under the exact law every problem was solved to its tolerance, and
        every loop converged."""
        return not self.reason and not self.relaxation and all(solution.ok for solution in self.solves)

    @property
    def solved(self) -> bool:
        """Whether the scheme solved its problems, under its own law if it is a relaxed scheme. By default a
        run stops at a step that is not solved."""
        if self.reason:
            return False
        if not self.relaxation:
            return all(solution.ok for solution in self.solves)
        return all(solution.verdict is not Verdict.MISSED for solution in self.solves)

    @property
    def fault(self) -> str:
        """Reason why the step failed, from the scheme or from its first unsolved problem; otherwise empty."""
        return self.reason or next(
            (solution.reason or solution.status.value for solution in self.solves if not solution.ok), ""
        )

    @property
    def verdict(self) -> Verdict:
        """Verdict on the step: certified, relaxed or missed."""
        if self.ok:
            return Verdict.CERTIFIED
        if self.reason or any(solution.verdict is Verdict.MISSED for solution in self.solves):
            return Verdict.MISSED
        return Verdict.RELAXED

    @property
    def replaced(self) -> str:
        """Law that replaces the exact one, by the scheme or by the solver; empty if none does."""
        if self.relaxation or self.reason:
            return self.relaxation
        return next(
            (solution.status.value for solution in self.solves if solution.verdict is Verdict.RELAXED), ""
        )

    @property
    def natural(self) -> float:
        """Largest natural residual of the problems of the step [-]; 0 without problems."""
        return max((solution.residuals.natural for solution in self.solves), default=0.0)

    @property
    def natural_scaled(self) -> float:
        """Largest unit-free natural residual of the problems of the step [-]; 0 without problems."""
        return max((solution.residuals.natural_scaled for solution in self.solves), default=0.0)

    @property
    def iterations(self) -> int:
        """Number of solver iterations, summed over all problems of the step."""
        return sum(solution.iterations for solution in self.solves)


class Scheme(Protocol):
    """Protocol of schemes for systems: a frozen set of options with the methods `begin`, `step` and `levels`.

    Runs pass one `PreparedSystem` to all of them, so that data derived from the system are computed once.
    """

    def begin(self, system: PreparedSystem, state: State, h: float) -> Memory:
        """Return the memory for the first step; raise ModelError for an unsupported system."""

    def step(self, system: PreparedSystem, state: State, memory: Memory, h: float, solver: Solver) -> Step:
        """Return the step of length h that begins at `state`."""

    def levels(self, system: PreparedSystem) -> tuple[Level, ...]:
        """Return the derivative of y on which the law of each interaction is stated."""


def first_state(system: NonsmoothSystem, t: float = 0.0) -> State:
    """Return the initial state of a system, at time t."""
    return State(t, system.q0, system.v0, system.z0)


def frozen_state(t: float, q: Array, v: Array, z: Array) -> State:
    """Return a state with read-only arrays, which is safe to pass to users' functions."""
    for array in (q, v, z):
        array.flags.writeable = False
    return State(t, q, v, z)


def arrays(**named: Any) -> Memory:
    """Return a memory of named float arrays."""
    return {name: np.array(value, float) for name, value in named.items()}
