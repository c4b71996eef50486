"""Couplings: smooth forces between systems, and the joined systems that result from them.

Interactions connect systems by laws; a coupling connects them by a force that is a function of their state: a
spring, a controller, a motor between a circuit and a joint. Systems with couplings between them are joined to
one system, so that every scheme treats the forces of couplings as implicitly as other forces.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import block_diag

from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems import derivatives
from stickslip.systems.dynamics import EMPTY, Dynamics, FirstOrderDynamics, SecondOrderDynamics, Start
from stickslip.systems.ports import Member, Port, Reach, members
from stickslip.systems.quantities import MOTION, Given, Quantity, needed, quantity

COORDINATE, VELOCITY = 1, 2
"""Indices of q and v among the arguments (t, q, v, z)."""


class Pushing(ABC):
    """A coupling bound to the coordinates of its joined system."""

    potential_known = False
    quantities: tuple[Quantity, ...] = ()

    @abstractmethod
    def force(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Force on the velocities of the joined system [N, N m], shape (nv,)."""

    @abstractmethod
    def force_dq(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Derivative of the force by q [N/m], shape (nv, nq)."""

    @abstractmethod
    def force_dv(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Derivative of the force by v [N s/m], shape (nv, nv)."""

    def potential(self, t: float, q: Array, z: Array) -> float:
        """Potential energy [J]; 0 where it is unknown."""
        return 0.0


class Coupling:
    """Smooth force between systems, a function of any of (t, q, v, z).

    q, v and z are the concatenated variables of the named systems. A name may be that of a system, of a body
    of
    a world, or of a joint, whose q is its coordinate [m, rad] and whose force acts along it [N, N m]. For a
    first-order system v is its state x, and the force is added to its rate. Jacobians that are not given are
    computed by differences.

    Example:

        a, c = (ss.LagrangianLinear(name, M=1.0, q0=[x]) for name, x in (("a", 0.0), ("c", 1.0)))
        bond = ss.systems.Coupling("bond", ("a", "c"), lambda q: 4.0 * (q[1] - q[0]) * np.array([1.0, -1.0]))
        run = ss.simulate(ss.NonsmoothSystem([a, c], couplings=[bond]), until=0.1, h=1e-2)
    """

    def __init__(
        self, name: str, systems: str | Sequence[str], force: Given, *, dforce_dq: Given | None = None,
        dforce_dv: Given | None = None, potential: Given | None = None,
    ):  # fmt: skip
        self.name = name
        self.systems: tuple[str, ...] = (systems,) if isinstance(systems, str) else tuple(systems)
        if not self.systems or len(set(self.systems)) < len(self.systems):
            raise ModelError(f"{self.owner} must name systems, each once: {', '.join(self.systems)}")
        if force is None:
            raise ModelError(f"{self.owner}: force is missing")
        self.force, self.dforce_dq, self.dforce_dv = force, dforce_dq, dforce_dv
        self.potential = potential

    @property
    def owner(self) -> str:
        """Name of the coupling in messages."""
        return f"coupling {self.name!r}"

    def bound(self, reach: Reach) -> Pushing:
        """Return the coupling bound to a joined system; `reach` maps its variables to the named ones."""
        return _Written(self, reach)

    def __repr__(self) -> str:
        return f"Coupling({self.name!r}, {', '.join(self.systems)})"


class _Written(Pushing):
    """A coupling whose force is a user's function."""

    def __init__(self, given: Coupling, reach: Reach):
        owner = given.owner
        self.reach, self.slopes = reach, derivatives.differences(self.force, COORDINATE, reach.whole[1])
        self.given = needed(quantity(owner, "force", given.force, (reach.nv,), MOTION))
        self.energy = quantity(owner, "potential", given.potential, (), MOTION, ("t", "q", "z"))
        self.potential_known = self.energy is not None
        self.dq, self.dv = (
            derivatives.jacobian(owner, f"dforce_d{MOTION[which]}", one, self.given, which, size, MOTION)
            for which, one, size in (
                (COORDINATE, given.dforce_dq, reach.nq), (VELOCITY, given.dforce_dv, reach.nv),
            )
        )  # fmt: skip
        quantities = (self.given, self.energy, self.dq, self.dv)
        self.quantities = tuple(self._whole(one) for one in quantities if one is not None)

    def _named(self, t: float, q: Array, v: Array, z: Array) -> tuple[float, Array, Array, Array]:
        return t, self.reach.q(t, q), self.reach.rates(t, q, v), self.reach.z(z)

    def _whole(self, one: Quantity) -> Quantity:
        """Return a quantity of the named systems as a quantity of the joined system."""
        constant = one.constant if self.reach.fixed else None
        return Quantity(
            one.owner, one.name, one.shape, lambda t, q, v, z: one(*self._named(t, q, v, z)), constant
        )

    def force(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return np.asarray(self.reach.rows(t, q).T @ self.given(*self._named(t, q, v, z)))

    def force_dq(self, t: float, q: Array, v: Array, z: Array) -> Array:
        if not self.reach.fixed:  # the rows of a port depend on q
            return self.slopes(t, q, v, z)
        if self.dq is None:
            return np.zeros((self.reach.whole[1], self.reach.whole[0]))
        rows, J = self.reach.rows(t, q), self.dq(*self._named(t, q, v, z))
        return np.asarray(rows.T @ J @ self.reach.dq(t, q))

    def force_dv(self, t: float, q: Array, v: Array, z: Array) -> Array:
        if self.dv is None:
            return np.zeros((self.reach.whole[1], self.reach.whole[1]))
        rows = self.reach.rows(t, q)
        return np.asarray(rows.T @ self.dv(*self._named(t, q, v, z)) @ rows)

    def potential(self, t: float, q: Array, z: Array) -> float:
        if self.energy is None:
            return 0.0
        return float(self.energy(t, self.reach.q(t, q), EMPTY, self.reach.z(z)))


class Integrated:
    """A first-order system M ẋ = f(t, x, z) + r as a second-order one: its velocity is x, and its coordinate
    the integral of x since the start (for a current, the charge)."""

    constant_mass = True
    potential_known = False

    def __init__(self, flow: FirstOrderDynamics):
        mass = getattr(flow, "M", None)
        if isinstance(mass, Quantity) and mass.constant is None:
            raise ModelError(
                f"system {flow.name!r}: M is a function; couplings with mechanical systems need"
                " first-order systems with constant M"
            )
        self.name, self.flow = flow.name, flow
        self.start = Start(np.zeros(flow.start.q.size), flow.start.q, flow.start.z)
        self._M = flow.mass(0.0, flow.start.q, flow.start.z)

    def mass(self, t: float, q: Array, z: Array) -> Array:
        return self._M

    def force(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return self.flow.rate(t, v, z)

    def force_dq(self, t: float, q: Array, v: Array, z: Array) -> Array | None:
        return None

    def force_dv(self, t: float, q: Array, v: Array, z: Array) -> Array | None:
        return self.flow.rate_dx(t, v, z)

    def kinematics(self, q: Array) -> Array | None:
        return None

    def potential(self, t: float, q: Array, z: Array) -> float:
        return 0.0

    def normalized(self, q: Array) -> Array:
        return q

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Empty: the quantities of the flow take x, not q and v; `explain` calls the flow."""
        return ()

    @property
    def is_compiled(self) -> bool:
        return False

    def check_jacobians(self, t: float, q: ArrayLike, v: ArrayLike) -> float:
        return self.flow.check_jacobians(t, v, EMPTY)

    def update(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return self.flow.update(t, v, EMPTY, z)

    def explain(self, t: float, q: Array, v: Array, z: Array) -> None:
        self.flow.explain(t, v, EMPTY, z)


class Joined:
    """Several second-order systems with couplings between them as one system, with concatenated variables."""

    def __init__(self, systems: Sequence[Dynamics], couplings: Iterable[Coupling], ports: Mapping[str, Port]):
        self.members: tuple[SecondOrderDynamics, ...] = tuple(
            Integrated(one) if isinstance(one, FirstOrderDynamics) else one for one in systems
        )
        self.name = " + ".join(one.name for one in self.members)
        starts = [one.start for one in self.members]
        self.start = Start(*(np.concatenate([getattr(s, key) for s in starts]) for key in ("q", "v", "z")))
        known = members([self])
        self._places = [known[one.name] for one in self.members]
        self.constant_mass = all(one.constant_mass for one in self.members)
        self._curved = any(one.kinematics(one.start.q) is not None for one in self.members)
        self.couplings = tuple(one.bound(Reach(one.owner, one.systems, known, ports)) for one in couplings)
        """The couplings, bound to this system."""
        self.explain(0.0, self.start.q, self.start.v, self.start.z)

    def _each(self, q: Array, v: Array, z: Array) -> Iterable[tuple[SecondOrderDynamics, Member, Any]]:
        for one, at in zip(self.members, self._places, strict=True):
            yield one, at, (q[at.q], v[at.v], z[at.z])

    def mass(self, t: float, q: Array, z: Array) -> Array:
        each = zip(self.members, self._places, strict=True)
        return np.asarray(block_diag(*(one.mass(t, q[at.q], z[at.z]) for one, at in each)))

    def force(self, t: float, q: Array, v: Array, z: Array) -> Array:
        F = np.concatenate([one.force(t, *arguments) for one, _, arguments in self._each(q, v, z)])
        for coupling in self.couplings:
            F += coupling.force(t, q, v, z)
        return F

    def force_dq(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return self._tangent("force_dq", [at.q for at in self._places], t, q, v, z)

    def force_dv(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return self._tangent("force_dv", [at.v for at in self._places], t, q, v, z)

    def _tangent(self, name: str, columns: list[Any], t: float, q: Array, v: Array, z: Array) -> Array:
        """Return `force_dq` or `force_dv` (name), shape (nv, nq) or (nv, nv); columns: those of each
        member."""
        J = np.zeros((v.size, q.size if name == "force_dq" else v.size))
        for (one, at, arguments), place in zip(self._each(q, v, z), columns, strict=True):
            block = getattr(one, name)(t, *arguments)
            if block is not None:
                J[np.ix_(at.v, place)] = block
        for coupling in self.couplings:
            J += getattr(coupling, name)(t, q, v, z)
        return J

    def kinematics(self, q: Array) -> Array | None:
        if not self._curved:
            return None
        out = np.zeros((q.size, self.start.v.size))
        for one, at in zip(self.members, self._places, strict=True):
            T = one.kinematics(q[at.q])
            out[np.ix_(at.q, at.v)] = np.eye(at.q.size) if T is None else T
        return out

    def potential(self, t: float, q: Array, z: Array) -> float:
        each = zip(self.members, self._places, strict=True)
        total = sum(one.potential(t, q[at.q], z[at.z]) for one, at in each)
        return total + sum(coupling.potential(t, q, z) for coupling in self.couplings)

    @property
    def potential_known(self) -> bool:
        """Whether the potential covers all members and all couplings."""
        is_known = all(one.potential_known for one in self.members)
        return is_known and all(one.potential_known for one in self.couplings)

    def normalized(self, q: Array) -> Array:
        each = zip(self.members, self._places, strict=True)
        return np.concatenate([one.normalized(q[at.q]) for one, at in each])

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Quantities of the couplings; those of members are accessed through the members."""
        return tuple(one for coupling in self.couplings for one in coupling.quantities)

    @property
    def is_compiled(self) -> bool:
        """False: a joined system is never compiled."""
        return False

    def check_jacobians(self, t: float, q: ArrayLike, v: ArrayLike) -> float:
        """Return the largest relative difference between Jacobians and central differences [-]; raise a
        ModelError where a Jacobian is wrong."""
        at_q, at_v, z = np.asarray(q, float), np.asarray(v, float), self.start.z
        error = max(one.check_jacobians(t, a, b) for one, _, (a, b, _) in self._each(at_q, at_v, z))
        for slope, which in ((self.force_dq, COORDINATE), (self.force_dv, VELOCITY)):
            J = slope(t, at_q, at_v, z)
            other = derivatives.differences(self.force, which, at_v.size)(t, at_q, at_v, z)
            scale = max(1.0, float(np.abs(other).max(initial=0.0)))
            worst = float(np.abs(J - other).max(initial=0.0)) / scale
            if not worst <= derivatives.AGREEMENT:
                raise ModelError(
                    f"system {self.name!r}: at t = {t:.9g} s, the derivative of the forces by"
                    f" {MOTION[which]} differs by {worst:.3g} from finite differences"
                )
            error = max(error, worst)
        return error

    def update(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return np.concatenate([one.update(t, *arguments) for one, _, arguments in self._each(q, v, z)])

    def explain(self, t: float, q: Array, v: Array, z: Array) -> None:
        for one, _, arguments in self._each(q, v, z):
            one.explain(t, *arguments)
        for quantity_ in self.quantities:
            value = quantity_(t, q, v, z)
            if not np.isfinite(value).all():
                raise ModelError(
                    f"{quantity_.owner}: at t = {t:.9g} s, {quantity_.name} is not finite: {value}"
                )


def joined(
    systems: Sequence[Dynamics], couplings: Sequence[Coupling], ports: Mapping[str, Port]
) -> tuple[Dynamics, ...]:
    """Return the systems, with coupled ones joined to one system at the position of its first member."""
    if not couplings:
        return tuple(systems)
    known, number = members(systems), {one.name: i for i, one in enumerate(systems)}
    reached = [Reach(one.owner, one.systems, known, ports).names for one in couplings]
    ties = [tuple(number[name] for name in names) for names in reached]
    groups = tied([*((i,) for i in range(len(systems))), *ties])
    dynamics: list[Dynamics] = []
    for group in groups:
        coupled = [k - len(systems) for k in group if k >= len(systems)]
        group_systems = [systems[k] for k in group if k < len(systems)]
        dynamics.append(
            Joined(group_systems, [couplings[k] for k in coupled], ports) if coupled else group_systems[0]
        )
    return tuple(dynamics)


def tied(ties: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the connected components of ties: lists of indices of ties that share members, directly or
    indirectly, in order.

    Union-find with the smaller index as the root.
    """
    root: dict[int, int] = {}

    def find(i: int) -> int:
        root.setdefault(i, i)
        while root[i] != i:
            i = root[i]
        return i

    for first, *others in ties:
        for other in others:
            a, b = sorted((find(first), find(other)))
            root[b] = a
    groups: dict[int, list[int]] = {}
    for k, tie in enumerate(ties):
        groups.setdefault(find(tie[0]), []).append(k)
    return list(groups.values())
