"""References of interactions and couplings: systems, members of joined systems, and ports.

A port is a set of coordinates that are functions of the coordinates of systems, such as the angle of a joint:
y(t, q) with ẏ = rows v + drift. A force f on a port acts on its systems as rows' f.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from stickslip.names import LISTED, alternatives
from stickslip.problem.checks import Array, IntArray
from stickslip.state import ModelError
from stickslip.systems.dynamics import Dynamics, SecondOrderDynamics


class Port(Protocol):
    """Coordinates that are functions of the coordinates of second-order systems."""

    name: str
    systems: tuple[str, ...]
    """Names of the systems; the port takes their concatenated q and v."""
    size: int
    """Number of coordinates."""

    def coordinates(self, t: float, q: Array) -> Array:
        """Coordinates y [m, rad], shape (size,)."""

    def rows(self, t: float, q: Array) -> Array:
        """∂ẏ/∂v [-, m], shape (size, nv)."""

    def drift(self, t: float, q: Array) -> Array | None:
        """Rates ∂y/∂t of prescribed motion at v = 0 [m/s, rad/s], shape (size,); None for zero."""


@dataclass(frozen=True, eq=False)
class Member:
    """A system, alone or as a member of a joined system, with the positions of its variables there."""

    dynamics: Dynamics
    system: int
    """Index of the system that contains it."""
    q: IntArray
    """Positions of its coordinates in those of that system [-], shape (nq,)."""
    v: IntArray
    """Positions of its velocities in those of that system [-], shape (nv,)."""
    z: IntArray
    """Positions of its discrete parameters in those of that system [-], shape (nz,)."""


def members(systems: Iterable[Dynamics]) -> dict[str, Member]:
    """Return all systems by name, including the members of joined systems."""
    by_name: dict[str, Member] = {}
    for number, system in enumerate(systems):
        ends = np.zeros(3, np.int64)
        for one in getattr(system, "members", (system,)):
            sizes = np.array([one.start.q.size, one.start.v.size, one.start.z.size])
            q, v, z = (np.arange(a, b) for a, b in zip(ends, ends + sizes, strict=True))
            by_name[one.name] = Member(one, number, q, v, z)
            ends = ends + sizes
    return by_name


@dataclass(frozen=True, eq=False)
class _Part:
    """One named part of a reach: a system, or a port."""

    port: Port | None
    dynamics: tuple[SecondOrderDynamics, ...]
    q: IntArray
    v: IntArray
    z: IntArray

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of coordinates and of velocities."""
        return (self.q.size, self.v.size) if self.port is None else (self.port.size, self.port.size)


class Reach:
    """Map between q, v and z of containing systems and the concatenated q, v and z of named parts."""

    def __init__(
        self, owner: str, names: Sequence[str], known: Mapping[str, Member], ports: Mapping[str, Port]
    ):
        systems = [(name,) if name in known else _port(owner, name, known, ports).systems for name in names]
        self.names = tuple(dict.fromkeys(name for one in systems for name in one))
        """Names of all systems involved."""
        self.systems = tuple(dict.fromkeys(known[name].system for name in self.names))
        """Indices of the containing systems."""
        sizes = np.zeros((len(self.systems) + 1, 3), np.int64)
        for one in known.values():
            if one.system in self.systems:
                sizes[self.systems.index(one.system) + 1] += (one.q.size, one.v.size, one.z.size)
        starts = np.cumsum(sizes, axis=0)
        self.whole = tuple(int(end) for end in starts[-1])
        """Numbers of coordinates, velocities and discrete parameters of the containing systems."""
        self.parts = tuple(
            self._part(ports.get(name) if name not in known else None, [known[x] for x in one], starts)
            for name, one in zip(names, systems, strict=True)
        )
        self.nq, self.nv = (int(sum(part.sizes[k] for part in self.parts)) for k in (0, 1))
        self.nz = sum(part.z.size for part in self.parts)
        self.fixed = all(part.port is None for part in self.parts)
        """Whether the map is a constant selection of variables: there are no ports."""
        self._q, self._v = (np.concatenate([getattr(part, key) for part in self.parts]) for key in ("q", "v"))
        self.is_curved = any(
            _curved(one) for part in self.parts if part.port is None for one in part.dynamics
        )

    def _part(self, port: Port | None, among: Sequence[Member], starts: IntArray) -> _Part:
        first = [starts[self.systems.index(one.system)] for one in among]
        q, v, z = (
            np.concatenate([getattr(one, key) + at[k] for one, at in zip(among, first, strict=True)])
            for k, key in enumerate(("q", "v", "z"))
        )
        dynamics = tuple(one.dynamics for one in among)
        return _Part(port, dynamics, q, v, z if port is None else z[:0])  # type: ignore[arg-type]

    def q(self, t: float, q: Array) -> Array:
        """Coordinates of the named parts [m, rad], shape (nq,)."""
        if self.fixed:
            return np.asarray(q[self._q])
        return np.concatenate(
            [q[one.q] if one.port is None else one.port.coordinates(t, q[one.q]) for one in self.parts]
        )

    def z(self, z: Array) -> Array:
        """Discrete parameters of the named parts [any], shape (nz,)."""
        return np.concatenate([z[one.z] for one in self.parts])

    def rates(self, t: float, q: Array, v: Array) -> Array:
        """Velocities of the named parts [m/s, rad/s], shape (nv,)."""
        if self.fixed:
            return np.asarray(v[self._v])
        velocities, drift = self.rows(t, q) @ v, self.drift(t, q)
        return velocities if drift is None else velocities + drift

    def rows(self, t: float, q: Array) -> Array:
        """Derivative of these velocities by v [-, m], shape (nv, velocities of the containing systems)."""
        out, at = np.zeros((self.nv, self.whole[1])), 0
        for one in self.parts:
            size = one.sizes[1]
            if one.port is None:
                out[np.arange(at, at + size), one.v] = 1.0
            else:
                out[at : at + size, one.v] = one.port.rows(t, q[one.q])
            at += size
        return out

    def spread(self, t: float, q: Array, rows: Array) -> Array:
        """Return rows over these velocities, (m, nv), as rows over v of the containing systems [-, m]."""
        if not self.fixed:
            return np.asarray(rows @ self.rows(t, q))
        out = np.zeros((len(rows), self.whole[1]))
        out[:, self._v] = rows
        return out

    def drift(self, t: float, q: Array) -> Array | None:
        """Part of these velocities that is prescribed by ports [m/s, rad/s], shape (nv,); None for zero."""
        if self.fixed:
            return None
        out, at, some = np.zeros(self.nv), 0, False
        for one in self.parts:
            size, rate = one.sizes[1], None if one.port is None else one.port.drift(t, q[one.q])
            if rate is not None:
                out[at : at + size], some = rate, True
            at += size
        return out if some else None

    def dq(self, t: float, q: Array) -> Array:
        """Derivative of these coordinates by q [-], shape (nq, coordinates of the containing systems)."""
        out, at = np.zeros((self.nq, self.whole[0])), 0
        for one in self.parts:
            size = one.sizes[0]
            if one.port is None:
                out[np.arange(at, at + size), one.q] = 1.0
            else:
                out[at : at + size, one.q] = one.port.rows(t, q[one.q]) @ _back(one.dynamics, q[one.q])
            at += size
        return out

    def kinematics(self, q: Array) -> Array | None:
        """T(q) of the named parts at their coordinates q [-], shape (nq, nv); None for the identity."""
        if not self.is_curved:
            return None
        out, i, j = np.zeros((self.nq, self.nv)), 0, 0
        for part in self.parts:
            nq, nv = part.sizes
            T = part.dynamics[0].kinematics(q[i : i + nq]) if part.port is None else None
            out[i : i + nq, j : j + nv] = np.eye(nq) if T is None else T
            i, j = i + nq, j + nv
        return out


def _port(owner: str, name: str, known: Mapping[str, Member], ports: Mapping[str, Port]) -> Port:
    if name not in ports:
        raise ModelError(
            f"{owner} names the unknown system {name!r}; {alternatives(name, [*known, *ports], most=LISTED)}"
        )
    return ports[name]


def _curved(one: Dynamics) -> bool:
    return isinstance(one, SecondOrderDynamics) and one.kinematics(one.start.q) is not None


def _back(dynamics: Sequence[SecondOrderDynamics], q: Array) -> Array:
    """Return L(q) with v = L(q) q̇ of several systems [-], shape (nv, nq)."""
    out, i, j = np.zeros((sum(one.start.v.size for one in dynamics), q.size)), 0, 0
    for one in dynamics:
        nq, nv = one.start.q.size, one.start.v.size
        T = one.kinematics(q[i : i + nq])
        out[j : j + nv, i : i + nq] = np.eye(nv) if T is None else np.linalg.pinv(T)
        i, j = i + nq, j + nv
    return out
