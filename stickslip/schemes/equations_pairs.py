"""Contacts and joints of a world as relations between its bodies, and coordinates of joints as ports.

A relation is between one or two dynamic bodies; what else takes part in it (a fixed body, a kinematic one) is
where the world says at every time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.integrate import solve_ivp

from stickslip import rotations
from stickslip.kernels.bodies import pairs as kernels
from stickslip.kernels.bodies.gaps import Forms
from stickslip.kernels.bodies.layout import JointArrays
from stickslip.mechanics.motions import velocities
from stickslip.mechanics.world import BodyKind, World
from stickslip.problem.checks import Array, IntArray
from stickslip.systems.body_outputs import BodyOutput
from stickslip.systems.relations import Binding, MechanicalOutput

Table = TypeVar("Table", Forms, JointArrays)
CHUNK = 0.1
"""Time over which the path of a kinematic body is integrated at once [s]."""
RTOL, ATOL = 1e-10, 1e-12
"""Errors of these paths, relative and absolute [m, -]."""
Evaluate = Callable[[Array], tuple[Array, Array]]
"""(y, rows of both sides (m, 2, 6)) of a pair of bodies at q (2, 7)."""


class Paths:
    """Where bodies are that are not dynamic, at every time: fixed ones, and kinematic ones along the path
    that their prescribed velocities make from the start of the world."""

    def __init__(self, world: World):
        n = len(world.names)
        self._start, self._q = world.start.t, world.start.q.reshape(n, 7)
        self._motion = dict(zip(world.motions.body, world.motions.motions, strict=True))
        self._names, self._done = world.names, dict[int, list[Callable[[float], Array]]]()

    def moves(self, body: int) -> bool:
        """Whether a body is kinematic."""
        return body in self._motion

    def velocity(self, body: int, t: float) -> tuple[Array, Array]:
        """Velocity [m/s] and spin [rad/s], both inertial, shape (3,)."""
        return velocities(f"body {self._names[body]!r}", self._motion[body], t)

    def pose(self, body: int, t: float) -> Array:
        """Of a body that is not dynamic [m, -], shape (7,)."""
        start = self._q[body]
        if body not in self._motion:
            return start
        if not callable(self._motion[body]):
            (velocity, spin), span = self.velocity(body, t), t - self._start
            turned = rotations.product(rotations.exponential(span * spin), start[3:])
            return np.concatenate([start[:3] + span * velocity, turned])
        chunks, k = self._done.setdefault(body, []), max(int((t - self._start) // CHUNK), 0)
        while len(chunks) <= k:
            at = self._start + CHUNK * len(chunks)
            begin = chunks[-1](at) if chunks else start
            found = solve_ivp(
                lambda t, q: self._rate(body, t, q), (at, at + CHUNK), begin, method="DOP853",
                rtol=RTOL, atol=ATOL, dense_output=True, max_step=0.1 * CHUNK,
            )  # fmt: skip
            chunks.append(found.sol)
        q = np.array(chunks[k](t))
        q[3:] /= np.linalg.norm(q[3:])
        return q

    def places(self, t: float) -> Array:
        """Of all bodies, dynamic ones as at the start [m, -], shape (n, 7)."""
        q = np.array(self._q)
        for body in self._motion:
            q[body] = self.pose(body, t)
        return q

    def twists(self, t: float) -> Array:
        """Of all bodies, 0 of those that are not kinematic [m/s, rad/s], shape (n, 6)."""
        v = np.zeros((len(self._names), 6))
        for body in self._motion:
            v[body] = self.twist(body, t)
        return v

    def _rate(self, body: int, t: float, q: Array) -> Array:
        velocity, spin = self.velocity(body, t)
        p = q[3:] / np.linalg.norm(q[3:])
        return np.concatenate([velocity, rotations.rates(p) @ (rotations.matrices(p).T @ spin)])

    def twist(self, body: int, t: float) -> Array:
        """Velocity and spin in the frame of the body [m/s, rad/s], shape (6,); 0 of a fixed one."""
        if body not in self._motion:
            return np.zeros(6)
        velocity, spin = self.velocity(body, t)
        return np.concatenate([velocity, rotations.matrices(self.pose(body, t)[3:]).T @ spin])


class Sides:
    """The two bodies of a contact or joint: those that are dynamic, and where the others are."""

    def __init__(self, world: World, paths: Paths, body: IntArray):
        """body: numbers of the first and the second, -1 for the inertial frame [-], shape (2,)."""
        self.paths, self.body = paths, [int(b) for b in body]
        there = [k for k in (0, 1) if self.body[k] >= 0]
        self.dynamic = [k for k in there if world.kind[self.body[k]] == BodyKind.DYNAMIC]
        """Which of the two are dynamic."""
        self.names = tuple(world.names[self.body[k]] for k in self.dynamic)
        """Names of those."""
        self._moving = [k for k in there if paths.moves(self.body[k])]
        self._q = np.zeros((2, 7))
        self._q[:, 3] = 1.0
        for k in there:
            if k not in self.dynamic and k not in self._moving:
                self._q[k] = paths.pose(self.body[k], 0.0)

    def q(self, t: float, q: Array) -> Array:
        """Where both are, from the coordinates of the dynamic ones [m, -], shape (2, 7)."""
        if len(self.dynamic) == 2:
            return np.ascontiguousarray(q).reshape(2, 7)
        out = self._q.copy()
        out[self.dynamic[0]] = q
        for k in self._moving:
            out[k] = self.paths.pose(self.body[k], t)
        return out

    def rows(self, both: Array) -> Array:
        """Rows of the dynamic ones from those of both, (m, 2, 6) [-, m], shape (m, 6 or 12)."""
        return both.reshape(-1, 12) if len(self.dynamic) == 2 else both[:, self.dynamic[0]]

    def drift(self, t: float, both: Callable[[], Array]) -> Array | None:
        """What kinematic ones add to the rates, from rows of both [m/s, rad/s], shape (m,); None for none."""
        if not self._moving:
            return None
        rows = both()
        return np.asarray(sum(rows[:, k] @ self.paths.twist(self.body[k], t) for k in self._moving))


@dataclass(frozen=True, eq=False)
class PairRelation:
    """A relation between the bodies of a contact or joint."""

    kind: str
    """What it is, for errors."""
    sides: Sides
    evaluate: Evaluate
    held: slice
    """Components whose rows are derivatives of y."""
    inside: Callable[[Array], bool] | None = None
    """Whether what meets at q (2, 7) is within the borders of its features; None where they have none."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return PairOutput(to, self)


class PairOutput(BodyOutput):
    """The same, bound."""

    def __init__(self, to: Binding, relation: PairRelation):
        super().__init__(to, relation.kind, (to.law.size,))
        self.relation, self.sides = relation, relation.sides

    def y(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self.relation.evaluate(self.sides.q(t, q))[0]

    def body_rows(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self.sides.rows(self.relation.evaluate(self.sides.q(t, q))[1])

    def applies(self, t: float, q: Array) -> bool:
        """As `Bound.applies`."""
        inside = self.relation.inside
        return inside is None or inside(self.sides.q(t, q))

    def drift(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        return self.sides.drift(t, lambda: self.relation.evaluate(self.sides.q(t, q))[1])

    @property
    def holonomic(self) -> slice:
        return self.relation.held


class JointPort:
    """The coordinates that a joint leaves free: sliding [m], the angle [rad], or both in this order."""

    def __init__(self, name: str, sides: Sides, joints: JointArrays, columns: tuple[int, ...]):
        self.name, self.systems, self.size = name, sides.names, len(columns)
        self._sides, self._joints, self._columns = sides, joints, columns

    def _at(self, t: float, q: Array) -> tuple[Array, Array]:
        y, rows, both = np.empty(self.size), np.empty((self.size, 2, 6)), self._sides.q(t, q)
        for k, column in enumerate(self._columns):
            y[k] = kernels.coordinate_of_pair(self._joints, column, both, rows[k])
        return y, rows

    def coordinates(self, t: float, q: Array) -> Array:
        return self._at(t, q)[0]

    def rows(self, t: float, q: Array) -> Array:
        return self._sides.rows(self._at(t, q)[1])

    def drift(self, t: float, q: Array) -> Array | None:
        return self._sides.drift(t, lambda: self._at(t, q)[1])


def contact_pair(forms: Forms, i: int, components: IntArray) -> Evaluate:
    """Gap and rows of contact i of `Forms`; components: of its six those that its law has."""
    one = _row(forms, i)._replace(body=np.array([[0, 1]]))

    def evaluate(q: Array) -> tuple[Array, Array]:
        frame, points, rows = np.empty((3, 3)), np.empty((2, 3)), np.empty((6, 2, 6))
        y = np.zeros(components.size)
        y[0] = kernels.contact_of_pair(one, q, frame, points, rows)
        return y, rows[components]

    return evaluate


def places_of_contact(forms: Forms, i: int) -> Callable[[Array], tuple[Array, Array]]:
    """Where contact i of `Forms` is on the surface of its first body and of its second at q (2, 7), inertial
    frame [m], shape (3,) each."""
    one = _row(forms, i)._replace(body=np.array([[0, 1]]))

    def evaluate(q: Array) -> tuple[Array, Array]:
        frame, points, rows = np.empty((3, 3)), np.empty((2, 3)), np.empty((6, 2, 6))
        gap = kernels.contact_of_pair(one, q, frame, points, rows)
        return points[0], points[0] - gap * frame[0]

    return evaluate


def joint_pair(joints: JointArrays, part: int) -> Evaluate:
    """Errors or gap, and rows, of one part of one joint."""

    def evaluate(q: Array) -> tuple[Array, Array]:
        rows, value = np.empty((6, 2, 6)), np.empty(6)
        n = kernels.joint_of_pair(joints, part, q, rows, value)
        return value[:n], rows[:n]

    return evaluate


def joint_alone(joints: JointArrays, j: int) -> JointArrays:
    """Joint j by itself, between bodies 0 and 1, or 0 and the inertial frame."""
    return _row(joints, j)._replace(body=np.array([[0, 1 if joints.body[j, 1] >= 0 else -1]]))


def _row(table: Table, i: int) -> Table:
    """Row i of a table of columns, as a table."""
    columns: Any = [np.ascontiguousarray(column[i : i + 1]) for column in table]
    return type(table)(*columns)
