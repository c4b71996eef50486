"""What interactions and couplings name: systems, whole or joined with others, and ports of them.

A port is a coordinate that is made of those of systems, such as the angle of a joint: y(t, q) with
ẏ = rows v + drift. What acts on it with a force f acts on its systems with rows' f.
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
    """Coordinates made of those of second-order systems."""

    name: str
    systems: tuple[str, ...]
    """Names of the systems, whose q and v it takes one after the other."""
    size: int
    """Number of its coordinates."""

    def coordinates(self, t: float, q: Array) -> Array:
        """y [m, rad], shape (size,)."""

    def rows(self, t: float, q: Array) -> Array:
        """∂ẏ/∂v [-, m], shape (size, nv)."""

    def drift(self, t: float, q: Array) -> Array | None:
        """Rates where nothing moves but by prescription [m/s, rad/s], shape (size,); None for none."""


@dataclass(frozen=True, eq=False)
class Member:
    """A system that may stand alone or among others in a joined one: where its numbers are in it."""

    dynamics: Dynamics
    system: int
    """Number of the system that it stands in."""
    q: IntArray
    """Its coordinates in those of that system [-], shape (nq,)."""
    v: IntArray
    """Its velocities in those of that system [-], shape (nv,)."""
    z: IntArray
    """Its discrete parameters in those of that system [-], shape (nz,)."""


def members(systems: Iterable[Dynamics]) -> dict[str, Member]:
    """All systems by name, those within joined ones in their place."""
    found: dict[str, Member] = {}
    for number, system in enumerate(systems):
        ends = np.zeros(3, np.int64)
        for one in getattr(system, "members", (system,)):
            sizes = np.array([one.start.q.size, one.start.v.size, one.start.z.size])
            q, v, z = (np.arange(a, b) for a, b in zip(ends, ends + sizes, strict=True))
            found[one.name] = Member(one, number, q, v, z)
            ends = ends + sizes
    return found


@dataclass(frozen=True, eq=False)
class _Part:
    """One name of a reach: a system, or a port of systems."""

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
    """From q, v and z of whole systems to those of what is named, one after the other, and back."""

    def __init__(
        self, owner: str, names: Sequence[str], known: Mapping[str, Member], ports: Mapping[str, Port]
    ):
        own = [(name,) if name in known else _port(owner, name, known, ports).systems for name in names]
        self.names = tuple(dict.fromkeys(name for one in own for name in one))
        """Names of the systems that are reached."""
        self.systems = tuple(dict.fromkeys(known[name].system for name in self.names))
        """Numbers of the whole systems."""
        sizes = np.zeros((len(self.systems) + 1, 3), np.int64)
        for one in known.values():
            if one.system in self.systems:
                sizes[self.systems.index(one.system) + 1] += (one.q.size, one.v.size, one.z.size)
        starts = np.cumsum(sizes, axis=0)
        self.whole = tuple(int(end) for end in starts[-1])
        """Coordinates, velocities and discrete parameters of the whole systems."""
        self.parts = tuple(
            self._part(ports.get(name) if name not in known else None, [known[x] for x in one], starts)
            for name, one in zip(names, own, strict=True)
        )
        self.nq, self.nv = (int(sum(part.sizes[k] for part in self.parts)) for k in (0, 1))
        self.nz = sum(part.z.size for part in self.parts)
        self.fixed = all(part.port is None for part in self.parts)
        """Whether it only picks numbers out, whatever they are."""
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
        """Coordinates of what is named [m, rad], shape (nq,)."""
        if self.fixed:
            return np.asarray(q[self._q])
        return np.concatenate(
            [q[one.q] if one.port is None else one.port.coordinates(t, q[one.q]) for one in self.parts]
        )

    def z(self, z: Array) -> Array:
        """Its discrete parameters [any], shape (nz,)."""
        return np.concatenate([z[one.z] for one in self.parts])

    def rates(self, t: float, q: Array, v: Array) -> Array:
        """Its velocities [m/s, rad/s], shape (nv,)."""
        if self.fixed:
            return np.asarray(v[self._v])
        found, drift = self.rows(t, q) @ v, self.drift(t, q)
        return found if drift is None else found + drift

    def rows(self, t: float, q: Array) -> Array:
        """∂(its velocities)/∂v [-, m], shape (nv, velocities of the whole)."""
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
        """Rows over its velocities, (m, nv), as rows over those of the whole [-, m]."""
        if not self.fixed:
            return np.asarray(rows @ self.rows(t, q))
        out = np.zeros((len(rows), self.whole[1]))
        out[:, self._v] = rows
        return out

    def drift(self, t: float, q: Array) -> Array | None:
        """What of its velocities no system makes [m/s, rad/s], shape (nv,); None where nothing."""
        if self.fixed:
            return None
        out, at, some = np.zeros(self.nv), 0, False
        for one in self.parts:
            size, found = one.sizes[1], None if one.port is None else one.port.drift(t, q[one.q])
            if found is not None:
                out[at : at + size], some = found, True
            at += size
        return out if some else None

    def dq(self, t: float, q: Array) -> Array:
        """∂(its coordinates)/∂q [-], shape (nq, coordinates of the whole)."""
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
        """T(q) of what is named, q its own coordinates [-], shape (nq, nv); None for the identity."""
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
    """L(q) with v = L(q) q̇ of several systems [-], shape (nv, nq)."""
    out, i, j = np.zeros((sum(one.start.v.size for one in dynamics), q.size)), 0, 0
    for one in dynamics:
        nq, nv = one.start.q.size, one.start.v.size
        T = one.kinematics(q[i : i + nq])
        out[j : j + nv, i : i + nq] = np.eye(nv) if T is None else np.linalg.pinv(T)
        i, j = i + nq, j + nv
    return out
