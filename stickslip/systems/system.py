"""A nonsmooth system: dynamical systems by name, and the interactions between them."""

import copy
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from stickslip.laws import Law
from stickslip.names import alternatives
from stickslip.problem.checks import Array, IntArray
from stickslip.state import ModelError, State, check_numbers
from stickslip.systems.couplings import Coupling, Integrated, joined, tied
from stickslip.systems.dynamics import Dynamics, FirstOrderDynamics, SecondOrderDynamics, vector
from stickslip.systems.guards import BoundGuard, Edges, Guard, checked_guards
from stickslip.systems.interactions import Bound as Bound
from stickslip.systems.interactions import Interaction as Interaction
from stickslip.systems.interactions import described
from stickslip.systems.ports import Port, Reach, members
from stickslip.systems.reached_outputs import OfRates, Reached, law_of_rates
from stickslip.systems.relations import Binding, FirstOrderOutput, Relation

Thing = TypeVar("Thing")

UNIT = 1e-6
"""Largest difference between an entry of a quaternion of a state and of the normalised quaternion [-];
heuristic."""


@dataclass(frozen=True, eq=False)
class Place:
    """Positions of the variables of one system in the flat arrays of a state."""

    q: slice
    v: slice
    z: slice


class NonsmoothSystem:
    """Model of systems, interactions and couplings, which `simulate` takes.

    Interactions and couplings refer to systems and to `ports` by name. A port is a set of coordinates that
    are functions of the coordinates of systems.

    guards   jumps of the state, for the event-driven scheme
    edges    times at which functions of time jump [s], in increasing order, or a function of t that returns
             the next such time; a step ends at an edge, and evaluates no function beyond it

    Example:

        ball = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)
        floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.9))
        print(ss.NonsmoothSystem([ball], [floor]))
    """

    def __init__(
        self, systems: Iterable[Dynamics], interactions: Iterable[Interaction] = (),
        couplings: Iterable[Coupling] = (), ports: Iterable[Port] = (), *,
        guards: Iterable[Guard] = (), edges: ArrayLike | Callable[[float], float] | None = None,
    ):  # fmt: skip
        given_systems = _tuple("systems", systems)
        for system in given_systems:
            if not isinstance(system, FirstOrderDynamics | SecondOrderDynamics):
                raise ModelError(f"{described(system)} is not a system such as Lagrangian or FirstOrder")
        if not given_systems:
            raise ModelError("a nonsmooth system needs at least one system")
        between = _tuple("couplings", couplings)
        for coupling in between:
            if not isinstance(coupling, Coupling):
                raise ModelError(f"{described(coupling)} is not a Coupling")
        _unique("coupling", [coupling.name for coupling in between])
        self.ports = {port.name: port for port in ports}
        """Ports by name."""
        leaves = [leaf.name for system in given_systems for leaf in getattr(system, "members", (system,))]
        _unique("system", [*leaves, *self.ports])
        self.systems = joined(given_systems, between, self.ports)
        """The systems; systems with couplings between them are joined to one."""
        self.members = members(self.systems)
        """All systems by name, including the members of joined systems."""
        self.number = {system.name: i for i, system in enumerate(self.systems)}
        """Index of each system in `systems`, by name."""
        sizes = np.array([(s.start.q.size, s.start.v.size, s.start.z.size) for s in self.systems])
        ends = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(sizes, axis=0)])
        self.places = tuple(
            Place(*(slice(int(a), int(b)) for a, b in zip(ends[i], ends[i + 1], strict=True)))
            for i in range(len(self.systems))
        )
        """Positions of the variables of each system in the flat arrays of a state."""
        self.q0: Array = np.concatenate([s.start.q for s in self.systems])
        """Coordinates at the start [m, rad, or any], shape (nq,)."""
        self.v0: Array = np.concatenate([s.start.v for s in self.systems])
        """Velocities at the start [m/s, rad/s], shape (nv,)."""
        self.z0: Array = np.concatenate([s.start.z for s in self.systems])
        """Discrete parameters at the start [any], shape (nz,)."""
        placed = tuple(zip(self.systems, self.places, strict=True))
        self.mechanical = tuple((s, p) for s, p in placed if isinstance(s, SecondOrderDynamics))
        """Second-order systems, each with the positions of its variables."""
        self.flows = tuple((s, p) for s, p in placed if isinstance(s, FirstOrderDynamics))
        """First-order systems, each with the positions of its variables."""
        items = _tuple("interactions", interactions)
        for interaction in items:
            if not isinstance(interaction, Interaction):
                raise ModelError(f"{described(interaction)} is not an Interaction")
        _unique("interaction", [i.name for i in items])
        bound: list[Bound] = []
        for interaction in items:
            bound.append(self._bound(interaction, bound))
        self._tie(bound)
        self.guards = tuple(self._guarded(guard) for guard in checked_guards(guards))
        """Guards, at whose zeros the state jumps."""
        self.edges = None if edges is None else Edges(edges)
        """Times at which functions of time jump; None if they are not given."""

    def _tie(self, bound: Sequence[Bound]) -> None:
        """Set the interactions, and compute sizes and connected components."""
        self.interactions = tuple(bound)
        self.interaction = {interaction.name: interaction for interaction in bound}
        """Interactions by name."""
        self.size, self.blocks = _ends(bound)
        """Number of components of r, u and y, and of blocks, over all interactions."""
        count = len(self.systems)
        groups = tied([*((i,) for i in range(count)), *(interaction.systems for interaction in bound)])
        self.parts = tuple(tuple(i for i in group if i < count) for group in groups)
        """Connected components of the graph of systems and interactions: one tuple of system indices each."""

    def part(self, numbers: Sequence[int], kind: "type[NonsmoothSystem] | None" = None) -> "NonsmoothSystem":
        """Return the subsystem of the systems with these indices and of their interactions.

        The systems must be closed under interactions: a union of `parts`.
        """
        subsystem = (kind or NonsmoothSystem)([self.systems[i] for i in numbers])
        renumbered = {number: k for k, number in enumerate(numbers)}
        bound: list[Bound] = []
        for interaction in self.interactions:
            if interaction.systems[0] not in renumbered:
                continue
            systems = tuple(renumbered[k] for k in interaction.systems)
            q, v, z = (subsystem.where(systems, key) for key in ("q", "v", "z"))
            components, blocks = _next(bound, interaction.law)
            bound.append(
                replace(interaction, systems=systems, q=q, v=v, z=z, components=components, blocks=blocks)
            )
        subsystem._tie(bound)
        subsystem._watch(self, renumbered)
        return subsystem

    def with_relations(self, relations: Mapping[str, Relation]) -> "NonsmoothSystem":
        """Return a copy in which the named interactions have these relations; laws and systems are
        unchanged."""
        other = copy.copy(self)
        bound: list[Bound] = []
        for interaction in self.interactions:
            if interaction.name in relations:
                replacement = Interaction(
                    interaction.name, interaction.names, relations[interaction.name], interaction.law
                )
                bound.append(self._bound(replacement, bound))
            else:
                bound.append(interaction)
        other._tie(bound)
        return other

    def _watch(self, whole: "NonsmoothSystem", renumbered: Mapping[int, int]) -> None:
        """Copy guards and edges from the system `whole`, of which this is a part.

        renumbered: index in this system of each of its systems, by its index in `whole`.
        """
        self.edges = whole.edges
        guards = []
        for guard in whole.guards:
            numbers = tuple(renumbered[i] for i in guard.systems if i in renumbered)
            if numbers and len(numbers) < len(guard.systems):
                names = ", ".join(repr(whole.systems[i].name) for i in guard.systems)
                raise ModelError(f"guard {guard.name!r} watches {names}, which have different schemes")
            if numbers:
                q, v, z = (self.where(numbers, key) for key in ("q", "v", "z"))
                guards.append(replace(guard, systems=numbers, q=q, v=v, z=z))
        self.guards = tuple(guards)

    def update(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Discrete parameters for the step that starts at t [any], shape (nz,)."""
        if not z.shape[0]:
            return z
        parts = zip(self.systems, self.places, strict=True)
        values = np.concatenate([s.update(t, q[p.q], v[p.v], z[p.z]) for s, p in parts])
        if not np.isfinite(values).all():
            owner = self._owner("z", values)
            raise ModelError(f"{owner}: at t = {t:.9g} s, z_update is not finite")
        return values

    def check_state(self, state: State) -> None:
        """Raise a ModelError for an invalid state of this system: wrong sizes, non-finite values, or
        quaternions that are not of unit length."""
        sizes = {"q": self.q0.size, "v": self.v0.size, "z": self.z0.size}
        check_numbers(state, sizes, self._owner_of)
        for body, place in self.mechanical:
            with np.errstate(over="ignore"):
                error = float(np.abs(state.q[place.q] - body.normalized(state.q[place.q])).max(initial=0.0))
            if not error <= UNIT:
                raise ModelError(
                    f"system {body.name!r}: at t = {state.t:.9g} s, the quaternion of q is not of length 1,"
                    f" by {error:.3g} in an entry; give p / |p|"
                )

    def explain(self, t: float, q: Array, v: Array, z: Array) -> None:
        """Raise a ModelError for the first non-finite value, naming system or interaction, time and
        quantity."""
        for name, array in (("q", q), ("v", v)):
            if not np.isfinite(array).all():
                raise ModelError(f"at t = {t:.9g} s, {name} of {self._owner(name, array)} is not finite")
        for system, place in zip(self.systems, self.places, strict=True):
            system.explain(t, q[place.q], v[place.v], z[place.z])
        for interaction in self.interactions:
            lam = np.zeros(interaction.law.size)
            for quantity in interaction.output.quantities:
                value = quantity(t, q[interaction.q], lam, z[interaction.z])
                if not np.isfinite(value).all():
                    raise ModelError(
                        f"interaction {interaction.name!r}: at t = {t:.9g} s, {quantity.name} is not finite:"
                        f" {value}"
                    )

    def check_jacobians(self, t: float, q: ArrayLike | None = None, v: ArrayLike | None = None) -> float:
        """Return the largest relative difference between Jacobians and central differences [-], over all
        systems and interactions, at q and v (default: initial values) and at multipliers 1.

        Raise a ModelError that names the worst entry where a Jacobian is wrong.
        """
        at_q = self.q0 if q is None else vector("check_jacobians", "q", q, self.q0.size)
        at_v = self.v0 if v is None else vector("check_jacobians", "v", v, self.v0.size)
        worst = 0.0
        for system, place in zip(self.systems, self.places, strict=True):
            worst = max(worst, system.check_jacobians(t, at_q[place.q], at_v[place.v]))
        for interaction in self.interactions:
            lam = np.ones(interaction.law.size)
            worst = max(
                worst, interaction.output.check_jacobians(t, at_q[interaction.q], lam, self.z0[interaction.z])
            )
        return worst

    @property
    def is_compiled(self) -> bool:
        """Whether compiled steps are possible: all quantities are constant or compiled with Numba."""
        return all(one.is_compiled for one in (*self.systems, *(i.output for i in self.interactions)))

    def _owner(self, name: str, array: Array) -> str:
        return self._owner_of(name, int(np.flatnonzero(~np.isfinite(array))[0]))

    def _owner_of(self, name: str, k: int) -> str:
        """Return the name of the system to which entry k of the array `name` (q, v or z) belongs."""
        for system, place in zip(self.systems, self.places, strict=True):
            where = getattr(place, name)
            if where.start <= k < where.stop:
                return f"system {system.name!r}"
        return "an unknown system"

    def _guarded(self, guard: Guard) -> BoundGuard:
        """Return the guard bound to its systems."""
        for name in guard.systems:
            if name not in self.number:
                raise ModelError(
                    f"guard {guard.name!r} names the unknown system {name!r}; "
                    f"{alternatives(name, self.number)}"
                )
        numbers = tuple(self.number[name] for name in guard.systems)
        first = all(isinstance(self.systems[i], FirstOrderDynamics) for i in numbers)
        q, v, z = (self.where(numbers, key) for key in ("q", "v", "z"))
        return BoundGuard.of(guard, numbers, first, (q, v, z), (self.q0, self.v0, self.z0))

    def _bound(self, interaction: Interaction, before: Sequence[Bound]) -> Bound:
        """Return the interaction bound to its systems; before: the interactions that precede it."""
        owner = f"interaction {interaction.name!r}"
        if not all(name in self.number for name in interaction.systems):
            return self._reached(interaction, before)
        numbers = tuple(self.number[name] for name in interaction.systems)
        orders = {isinstance(self.systems[i], FirstOrderDynamics) for i in numbers}
        self._check_orders(owner, interaction.systems)
        where = {key: self.where(numbers, key) for key in ("q", "v", "z")}
        nq, nv, nz = (sum(_length(getattr(self.places[i], key)) for i in numbers) for key in ("q", "v", "z"))
        law = interaction.law
        to = Binding(
            owner, law, nq, nv, nz, self._kinematics(numbers),
            self.q0[where["q"]], self.z0[where["z"]],
        )  # fmt: skip
        output = interaction.relation.bound(to)
        if isinstance(output, FirstOrderOutput) != orders.pop():
            raise ModelError(
                f"interaction {interaction.name!r}: {type(interaction.relation).__name__} has another"
                f" order than its systems {', '.join(interaction.systems)}"
            )
        return Bound(
            interaction.name, interaction.relation, law, output, numbers, where["q"], where["v"], where["z"],
            *_next(before, law), interaction.systems,
        )  # fmt: skip

    def _check_orders(self, owner: str, names: tuple[str, ...]) -> None:
        first = [isinstance(self.members[name].dynamics, FirstOrderDynamics) for name in names]
        if any(first) and not all(first):
            raise ModelError(
                f"{owner} connects first-order with second-order systems: {', '.join(names)}; connect"
                " them by a Coupling, or write the mechanical ones as first-order systems"
            )

    def _reached(self, interaction: Interaction, before: Sequence[Bound]) -> Bound:
        """Return an interaction bound to members of joined systems, or to ports."""
        law, owner = interaction.law, f"interaction {interaction.name!r}"
        reach = Reach(owner, interaction.systems, self.members, self.ports)
        self._check_orders(owner, reach.names)
        q, v, z = (self.where(reach.systems, key) for key in ("q", "v", "z"))
        q0, z0 = reach.q(0.0, self.q0[q]), reach.z(self.z0[z])
        to = Binding(owner, law, reach.nq, reach.nv, reach.nz, reach.kinematics, q0, z0)
        output = interaction.relation.bound(to)
        if isinstance(output, FirstOrderOutput):
            if not all(isinstance(self.members[name].dynamics, Integrated) for name in reach.names):
                raise ModelError(
                    f"{owner}: {type(interaction.relation).__name__} has another order than its"
                    f" systems {', '.join(interaction.systems)}"
                )
            law = law_of_rates(owner, law)
            output = OfRates(owner, output, reach.nq, law.size, z0)
        return Bound(
            interaction.name, interaction.relation, law, Reached(output, reach), reach.systems, q, v, z,
            *_next(before, law), reach.names,
        )  # fmt: skip

    def where(self, numbers: tuple[int, ...], key: str) -> slice | IntArray:
        """Positions of `q`, `v` or `z` (key) of the systems with these indices: a slice where they are
        contiguous, otherwise an array of indices."""
        places = [getattr(self.places[i], key) for i in numbers]
        if all(a.stop == b.start for a, b in itertools.pairwise(places)):
            return slice(places[0].start, places[-1].stop)
        return np.concatenate([np.arange(p.start, p.stop) for p in places])

    def _kinematics(self, numbers: tuple[int, ...]) -> Callable[[Array], Array | None]:
        """Return the function T(q) of these systems, block diagonal; None for the identity."""
        systems = [(self.systems[i], self.places[i]) for i in numbers]
        parts = [(s, place) for s, place in systems if isinstance(s, SecondOrderDynamics)]
        if all(system.kinematics(system.start.q) is None for system, _ in parts):
            return lambda q: None

        def kinematics(q: Array) -> Array | None:
            maps, start = [], 0
            for system, place in parts:
                size = _length(place.q)
                maps.append((system.kinematics(q[start : start + size]), size, _length(place.v)))
                start += size
            out = np.zeros((start, sum(nv for _, _, nv in maps)))
            i = j = 0
            for T, nq, nv in maps:
                out[i : i + nq, j : j + nv] = np.eye(nq) if T is None else T
                i, j = i + nq, j + nv
            return out

        return kinematics

    def __repr__(self) -> str:
        names = ", ".join(s.name for s in self.systems)
        ties = ", ".join(i.name for i in self.interactions)
        guards = f"; guards: {', '.join(one.name for one in self.guards)}" if self.guards else ""
        return f"NonsmoothSystem(systems: {names}; interactions: {ties or 'none'}{guards})"


def _tuple(name: str, values: Iterable[Thing]) -> tuple[Thing, ...]:
    if not isinstance(values, Iterable):
        raise ModelError(f"{name} is {described(values)}; give a list")
    return tuple(values)


def _ends(bound: Sequence[Bound]) -> tuple[int, int]:
    """Return the numbers of components and of blocks of all these interactions."""
    return (bound[-1].components.stop, bound[-1].blocks.stop) if bound else (0, 0)


def _next(before: Sequence[Bound], law: Law) -> tuple[slice, slice]:
    """Return the components and blocks of an interaction with this law that follows those of `before`."""
    component, block = _ends(before)
    return slice(component, component + law.size), slice(block, block + len(law.K))


def _length(part: slice) -> int:
    return int(part.stop - part.start)


def _unique(kind: str, names: Sequence[str]) -> None:
    for name in names:
        if not isinstance(name, str) or not name:
            raise ModelError(f"a {kind} is named {name!r}; names must be non-empty text")
        if names.count(name) > 1:
            raise ModelError(f"two {kind}s are named {name!r}")
