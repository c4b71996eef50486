"""A nonsmooth system: dynamical systems by name, and the interactions between them."""

import copy
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
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
from stickslip.systems.ports import Port, Reach, members
from stickslip.systems.quantities import Quantity
from stickslip.systems.reached_outputs import OfRates, Reached, law_of_rates
from stickslip.systems.relations import Binding, FirstOrderOutput, MechanicalOutput, Relation

Thing = TypeVar("Thing")

UNIT = 1e-6
"""Entries of the quaternions of a state are those of unit ones to this [-]."""


class Interaction:
    """Relation and law between one or several systems, which are given by name.

    Example:

        floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.9))
    """

    def __init__(self, name: str, systems: str | Sequence[str], relation: Relation, law: Law):
        self.name = name
        if not isinstance(systems, Iterable):
            raise ModelError(f"interaction {name!r}: give its systems by name")
        self.systems: tuple[str, ...] = (systems,) if isinstance(systems, str) else tuple(systems)
        self.relation, self.law = relation, law
        if not self.systems:
            raise ModelError(f"interaction {name!r} names no system")
        for system in self.systems:
            if not isinstance(system, str):
                raise ModelError(f"interaction {name!r}: give its systems by name, not {system!r}")
        if len(set(self.systems)) < len(self.systems):
            raise ModelError(f"interaction {name!r} names a system twice: {', '.join(self.systems)}")
        if not isinstance(law, Law):
            raise ModelError(
                f"interaction {name!r}: its law is {_called(law)}, expected a law such as NewtonImpact(e=0.5)"
            )
        if isinstance(relation, type) or not hasattr(relation, "bound"):
            raise ModelError(
                f"interaction {name!r}: its relation is {_called(relation)}, expected a relation such as"
                " Scleronomous(y)"
            )

    def __repr__(self) -> str:
        relation = type(self.relation).__name__
        return f"Interaction({self.name!r}, {', '.join(self.systems)}, {relation}, {self.law!r})"


@dataclass(frozen=True, eq=False)
class Place:
    """Where a system's numbers stand in the flat arrays of a state."""

    q: slice
    v: slice
    z: slice


@dataclass(frozen=True, eq=False)
class Bound:
    """An interaction in its system: which systems, where their numbers and its own stand."""

    name: str
    relation: Relation
    """As it was given."""
    law: Law
    output: MechanicalOutput | FirstOrderOutput
    systems: tuple[int, ...]
    """Numbers of its systems."""
    q: slice | IntArray
    """Its coordinates in the flat q [-]: a slice for one system, indices for several, shape (nq,)."""
    v: slice | IntArray
    """Its velocities in the flat v [-], as above, shape (nv,)."""
    z: slice | IntArray
    """Its discrete parameters in the flat z [-], as above, shape (nz,)."""
    components: slice
    """Its components in the flat r, u and y."""
    blocks: slice
    """Its blocks among those of all interactions."""
    names: tuple[str, ...]
    """Names of the systems that it ties, those within joined ones by themselves."""

    @property
    def mechanical(self) -> MechanicalOutput:
        """Its relation, between second-order systems."""
        return self.output  # type: ignore[return-value]

    @property
    def flow(self) -> FirstOrderOutput:
        """Its relation, between first-order systems."""
        return self.output  # type: ignore[return-value]

    @cached_property
    def zero(self) -> Array:
        """Multipliers of 0, not to be written to [any], shape (m,)."""
        zero = np.zeros(self.law.size)
        zero.flags.writeable = False
        return zero

    def y(self, t: float, q: Array, z: Array) -> Array:
        """Outputs between second-order systems at flat q and z, without multipliers [m, rad], shape (m,)."""
        return self.mechanical.y(t, q[self.q], self.zero, z[self.z])

    def rows(self, t: float, q: Array, z: Array) -> Array:
        """Rows of these by its velocities [-, m], shape (m, nv)."""
        return self.mechanical.rows(t, q[self.q], self.zero, z[self.z])

    def applies(self, t: float, q: Array) -> bool:
        """Whether its gap at flat q is one between the bodies themselves, not between what their features
        would be beyond their borders."""
        asked = getattr(self.output, "applies", None)
        return asked is None or bool(asked(t, q[self.q]))

    def rate(self, t: float, q: Array, v: Array, z: Array, rows: Array | None = None) -> Array:
        """ẏ = rows v + ∂y/∂t of these [m/s, rad/s], shape (m,); rows where they are known already."""
        u = (self.rows(t, q, z) if rows is None else rows) @ v[self.v]
        drift = self.mechanical.drift(t, q[self.q], self.zero, z[self.z])
        return u if drift is None else u + drift

    def bias(self, t: float, u_before: Array) -> Array:
        """What its law adds to the velocity after an impact at t [m/s], shape (m,); checked where the law is
        a user's own."""
        law = self.law
        if not law.has_own_bias:
            return law.bias(u_before)
        owner, none = f"interaction {self.name!r}", np.zeros(0)
        own = Quantity(owner, "bias of its law", (law.size,), lambda t, a, b, z: law.bias(a))
        value = own(t, u_before, none, none)
        if not np.isfinite(value).all():
            raise ModelError(f"{owner}: at t = {t:.9g} s, the bias of its law is not finite: {value}")
        return value


class NonsmoothSystem:
    """Systems, interactions and couplings, checked: the model that `simulate` takes.

    Interactions and couplings refer to systems by name, and to `ports`: coordinates that are functions of
    theirs.

    guards   jumps of the state, for the event-driven scheme
    edges    times at which functions of time jump [s], in increasing order, or a function of t that returns
             the next one; steps end at them, and no scheme evaluates functions beyond

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
                raise ModelError(f"{_called(system)} is not a system such as Lagrangian or FirstOrder")
        if not given_systems:
            raise ModelError("a nonsmooth system needs at least one system")
        between = _tuple("couplings", couplings)
        for one in between:
            if not isinstance(one, Coupling):
                raise ModelError(f"{_called(one)} is not a Coupling")
        _unique("coupling", [one.name for one in between])
        self.ports = {port.name: port for port in ports}
        """Ports by name."""
        inner = [one.name for system in given_systems for one in getattr(system, "members", (system,))]
        _unique("system", [*inner, *self.ports])
        self.systems = joined(given_systems, between, self.ports)
        """Those with couplings between them are one."""
        self.members = members(self.systems)
        """All systems by name, those within joined ones in their place."""
        self.number = {system.name: i for i, system in enumerate(self.systems)}
        sizes = np.array([(s.start.q.size, s.start.v.size, s.start.z.size) for s in self.systems])
        ends = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(sizes, axis=0)])
        self.places = tuple(
            Place(*(slice(int(a), int(b)) for a, b in zip(ends[i], ends[i + 1], strict=True)))
            for i in range(len(self.systems))
        )
        self.q0: Array = np.concatenate([s.start.q for s in self.systems])
        """Coordinates at the start [m, rad, or any], shape (nq,)."""
        self.v0: Array = np.concatenate([s.start.v for s in self.systems])
        """Velocities at the start [m/s, rad/s], shape (nv,)."""
        self.z0: Array = np.concatenate([s.start.z for s in self.systems])
        """Discrete parameters at the start [any], shape (nz,)."""
        placed = tuple(zip(self.systems, self.places, strict=True))
        self.mechanical = tuple((s, p) for s, p in placed if isinstance(s, SecondOrderDynamics))
        """The second-order systems, and where their numbers stand."""
        self.flows = tuple((s, p) for s, p in placed if isinstance(s, FirstOrderDynamics))
        """The first-order systems, and where their numbers stand."""
        given = _tuple("interactions", interactions)
        for interaction in given:
            if not isinstance(interaction, Interaction):
                raise ModelError(f"{_called(interaction)} is not an Interaction")
        _unique("interaction", [i.name for i in given])
        bound: list[Bound] = []
        for interaction in given:
            bound.append(self._bound(interaction, bound))
        self._tie(bound)
        self.guards = tuple(self._guarded(one) for one in checked_guards(guards))
        """Where the state jumps."""
        self.edges = None if edges is None else Edges(edges)
        """When functions of time jump; None where that is not known."""

    def _tie(self, bound: Sequence[Bound]) -> None:
        self.interactions = tuple(bound)
        self.interaction = {one.name: one for one in bound}
        """The interactions by name."""
        self.size, self.blocks = _ends(bound)
        """Number of components of r, u and y, and of blocks, over all interactions."""
        count = len(self.systems)
        groups = tied([*((i,) for i in range(count)), *(one.systems for one in bound)])
        self.parts = tuple(tuple(i for i in group if i < count) for group in groups)
        """Systems tied together by interactions, directly or through others: one tuple of numbers each."""

    def part(self, numbers: Sequence[int], kind: "type[NonsmoothSystem] | None" = None) -> "NonsmoothSystem":
        """Return some systems and their interactions, which connect no others, as a nonsmooth system."""
        own = (kind or NonsmoothSystem)([self.systems[i] for i in numbers])
        renumbered = {number: k for k, number in enumerate(numbers)}
        bound: list[Bound] = []
        for one in self.interactions:
            if one.systems[0] not in renumbered:
                continue
            systems = tuple(renumbered[k] for k in one.systems)
            q, v, z = (own.where(systems, key) for key in ("q", "v", "z"))
            components, blocks = _next(bound, one.law)
            bound.append(replace(one, systems=systems, q=q, v=v, z=z, components=components, blocks=blocks))
        own._tie(bound)
        own._watch(self, renumbered)
        return own

    def with_relations(self, relations: Mapping[str, Relation]) -> "NonsmoothSystem":
        """Return the system with other relations in some interactions, by name; laws and systems are
        unchanged."""
        other = copy.copy(self)
        bound: list[Bound] = []
        for one in self.interactions:
            if one.name in relations:
                given = Interaction(one.name, one.names, relations[one.name], one.law)
                bound.append(self._bound(given, bound))
            else:
                bound.append(one)
        other._tie(bound)
        return other

    def _watch(self, whole: "NonsmoothSystem", renumbered: Mapping[int, int]) -> None:
        """Take over guards and edges of the system that this is part of; renumbered: its own systems."""
        self.edges = whole.edges
        found = []
        for one in whole.guards:
            numbers = tuple(renumbered[i] for i in one.systems if i in renumbered)
            if numbers and len(numbers) < len(one.systems):
                names = ", ".join(repr(whole.systems[i].name) for i in one.systems)
                raise ModelError(f"guard {one.name!r} watches {names}, which have different schemes")
            if numbers:
                q, v, z = (self.where(numbers, key) for key in ("q", "v", "z"))
                found.append(replace(one, systems=numbers, q=q, v=v, z=z))
        self.guards = tuple(found)

    def update(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Discrete parameters for the step that begins at t [any], shape (nz,)."""
        if not z.shape[0]:
            return z
        parts = zip(self.systems, self.places, strict=True)
        found = np.concatenate([s.update(t, q[p.q], v[p.v], z[p.z]) for s, p in parts])
        if not np.isfinite(found).all():
            owner = self._owner("z", found)
            raise ModelError(f"{owner}: at t = {t:.9g} s, z_update is not finite")
        return found

    def check_state(self, state: State) -> None:
        """Raise a ModelError for an invalid state of this system: wrong sizes, numbers that are not finite,
        or quaternions that are not of unit length."""
        sizes = {"q": self.q0.size, "v": self.v0.size, "z": self.z0.size}
        check_numbers(state, sizes, self._owner_of)
        for body, place in self.mechanical:
            with np.errstate(over="ignore"):
                off = float(np.abs(state.q[place.q] - body.normalized(state.q[place.q])).max(initial=0.0))
            if not off <= UNIT:
                raise ModelError(
                    f"system {body.name!r}: at t = {state.t:.9g} s, the quaternion of q is not of length 1,"
                    f" by {off:.3g} in an entry; give p / |p|"
                )

    def explain(self, t: float, q: Array, v: Array, z: Array) -> None:
        """Raise a ModelError naming the system or interaction, the time and the quantity at fault, if any."""
        for name, array in (("q", q), ("v", v)):
            if not np.isfinite(array).all():
                raise ModelError(f"at t = {t:.9g} s, {name} of {self._owner(name, array)} is not finite")
        for system, place in zip(self.systems, self.places, strict=True):
            system.explain(t, q[place.q], v[place.v], z[place.z])
        for one in self.interactions:
            lam = np.zeros(one.law.size)
            for quantity in one.output.quantities:
                value = quantity(t, q[one.q], lam, z[one.z])
                if not np.isfinite(value).all():
                    raise ModelError(
                        f"interaction {one.name!r}: at t = {t:.9g} s, {quantity.name} is not finite: {value}"
                    )

    def check_jacobians(self, t: float, q: ArrayLike | None = None, v: ArrayLike | None = None) -> float:
        """Largest relative difference between Jacobians and central differences [-], over all systems and
        interactions, at q and v (those of the start unless given) and at multipliers 1.

        A ModelError that names the worst entry where one is wrong.
        """
        at_q = self.q0 if q is None else vector("check_jacobians", "q", q, self.q0.size)
        at_v = self.v0 if v is None else vector("check_jacobians", "v", v, self.v0.size)
        worst = 0.0
        for system, place in zip(self.systems, self.places, strict=True):
            worst = max(worst, system.check_jacobians(t, at_q[place.q], at_v[place.v]))
        for one in self.interactions:
            lam = np.ones(one.law.size)
            worst = max(worst, one.output.check_jacobians(t, at_q[one.q], lam, self.z0[one.z]))
        return worst

    @property
    def is_compiled(self) -> bool:
        """Whether compiled steps are possible: every quantity is constant or compiled with Numba."""
        return all(one.is_compiled for one in (*self.systems, *(i.output for i in self.interactions)))

    def _owner(self, name: str, array: Array) -> str:
        return self._owner_of(name, int(np.flatnonzero(~np.isfinite(array))[0]))

    def _owner_of(self, name: str, k: int) -> str:
        """Whose entry k of q, v or z is."""
        for system, place in zip(self.systems, self.places, strict=True):
            where = getattr(place, name)
            if where.start <= k < where.stop:
                return f"system {system.name!r}"
        return "an unknown system"

    def _guarded(self, guard: Guard) -> BoundGuard:
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
        """An interaction between systems within joined ones, or ports."""
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
        """Where `q`, `v` or `z` of those systems stand: a slice where they are neighbours, else indices."""
        places = [getattr(self.places[i], key) for i in numbers]
        if all(a.stop == b.start for a, b in itertools.pairwise(places)):
            return slice(places[0].start, places[-1].stop)
        return np.concatenate([np.arange(p.start, p.stop) for p in places])

    def _kinematics(self, numbers: tuple[int, ...]) -> Callable[[Array], Array | None]:
        tied = [(self.systems[i], self.places[i]) for i in numbers]
        parts = [(s, place) for s, place in tied if isinstance(s, SecondOrderDynamics)]
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


def _tuple(what: str, values: Iterable[Thing]) -> tuple[Thing, ...]:
    if not isinstance(values, Iterable):
        raise ModelError(f"{what} is {_called(values)}; give a list")
    return tuple(values)


def _called(thing: object) -> str:
    """What to call something that is not what it should be."""
    return f"the class {thing.__name__}" if isinstance(thing, type) else f"a {type(thing).__name__}"


def _ends(bound: Sequence[Bound]) -> tuple[int, int]:
    """Number of components and of blocks of interactions."""
    return (bound[-1].components.stop, bound[-1].blocks.stop) if bound else (0, 0)


def _next(before: Sequence[Bound], law: Law) -> tuple[slice, slice]:
    """Components and blocks of an interaction of that law, which comes after others."""
    component, block = _ends(before)
    return slice(component, component + law.size), slice(block, block + len(law.K))


def _length(part: slice) -> int:
    return int(part.stop - part.start)


def _unique(what: str, names: Sequence[str]) -> None:
    for name in names:
        if not isinstance(name, str) or not name:
            raise ModelError(f"a {what} is named {name!r}; names must be non-empty text")
        if names.count(name) > 1:
            raise ModelError(f"two {what}s are named {name!r}")
