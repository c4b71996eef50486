"""Contacts and joints of a world as relations between its bodies, and coordinates of joints as ports.

A relation has one or two dynamic bodies. Its other body, if any, is fixed or kinematic, with a pose that
depends on time alone.
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
"""Length of the intervals over which paths of kinematic bodies are integrated [s]."""
RTOL, ATOL = 1e-10, 1e-12
"""Tolerances of these paths, relative and absolute [m, -]."""
Evaluate = Callable[[Array], tuple[Array, Array]]
"""Function from q (2, 7) of a pair of bodies to y (m,) and the rows of both sides (m, 2, 6)."""


class Paths:
    """Poses of bodies without dynamics as functions of time: fixed bodies, and kinematic bodies on the paths
    of their prescribed velocities from the start of the world."""

    def __init__(self, world: World):
        n = len(world.names)
        self._start, self._q = world.start.t, world.start.q.reshape(n, 7)
        self._motion = dict(zip(world.motions.body, world.motions.motions, strict=True))
        self._names, self._done = world.names, dict[int, list[Callable[[float], Array]]]()

    def moves(self, body: int) -> bool:
        """Whether a body is kinematic."""
        return body in self._motion

    def velocity(self, body: int, t: float) -> tuple[Array, Array]:
        """Return velocity [m/s] and spin [rad/s] in the inertial frame, shape (3,) each."""
        return velocities(f"body {self._names[body]!r}", self._motion[body], t)

    def pose(self, body: int, t: float) -> Array:
        """Return the pose of a body without dynamics [m, -], shape (7,)."""
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
            path = solve_ivp(
                lambda t, q: self._rate(body, t, q), (at, at + CHUNK), begin, method="DOP853",
                rtol=RTOL, atol=ATOL, dense_output=True, max_step=0.1 * CHUNK,
            )  # fmt: skip
            chunks.append(path.sol)
        q = np.array(chunks[k](t))
        q[3:] /= np.linalg.norm(q[3:])
        return q

    def places(self, t: float) -> Array:
        """Return the poses of all bodies, dynamic ones as at the start [m, -], shape (n, 7)."""
        q = np.array(self._q)
        for body in self._motion:
            q[body] = self.pose(body, t)
        return q

    def twists(self, t: float) -> Array:
        """Return the velocities of all bodies, 0 for all but kinematic ones [m/s, rad/s], shape (n, 6)."""
        v = np.zeros((len(self._names), 6))
        for body in self._motion:
            v[body] = self.twist(body, t)
        return v

    def _rate(self, body: int, t: float, q: Array) -> Array:
        """Return the rate of the pose of a kinematic body [m/s, 1/s], shape (7,)."""
        velocity, spin = self.velocity(body, t)
        p = q[3:] / np.linalg.norm(q[3:])
        return np.concatenate([velocity, rotations.rates(p) @ (rotations.matrices(p).T @ spin)])

    def twist(self, body: int, t: float) -> Array:
        """Return velocity and spin, the latter in the frame of the body [m/s, rad/s], shape (6,); 0 for a
        fixed body."""
        if body not in self._motion:
            return np.zeros(6)
        velocity, spin = self.velocity(body, t)
        return np.concatenate([velocity, rotations.matrices(self.pose(body, t)[3:]).T @ spin])


class Sides:
    """The two bodies of a contact or joint: dynamic ones, and the poses of others."""

    def __init__(self, world: World, paths: Paths, body: IntArray):
        """body: numbers of the first and the second, -1 for the inertial frame [-], shape (2,)."""
        self.paths, self.body = paths, [int(b) for b in body]
        bodies = [k for k in (0, 1) if self.body[k] >= 0]
        self.dynamic = [k for k in bodies if world.kind[self.body[k]] == BodyKind.DYNAMIC]
        """Indices of the dynamic sides."""
        self.names = tuple(world.names[self.body[k]] for k in self.dynamic)
        """Names of the dynamic bodies."""
        self._moving = [k for k in bodies if paths.moves(self.body[k])]
        self._q = np.zeros((2, 7))
        self._q[:, 3] = 1.0
        for k in bodies:
            if k not in self.dynamic and k not in self._moving:
                self._q[k] = paths.pose(self.body[k], 0.0)

    def q(self, t: float, q: Array) -> Array:
        """Return the poses of both bodies, from the coordinates of the dynamic ones [m, -], shape (2, 7)."""
        if len(self.dynamic) == 2:
            return np.ascontiguousarray(q).reshape(2, 7)
        out = self._q.copy()
        out[self.dynamic[0]] = q
        for k in self._moving:
            out[k] = self.paths.pose(self.body[k], t)
        return out

    def rows(self, both: Array) -> Array:
        """Return the rows of the dynamic bodies from those of both (m, 2, 6) [-, m], shape (m, 6 or 12)."""
        return both.reshape(-1, 12) if len(self.dynamic) == 2 else both[:, self.dynamic[0]]

    def drift(self, t: float, both: Callable[[], Array]) -> Array | None:
        """Return the rates due to kinematic bodies, from the rows of both [m/s, rad/s], shape (m,); None
        without kinematic bodies."""
        if not self._moving:
            return None
        rows = both()
        return np.asarray(sum(rows[:, k] @ self.paths.twist(self.body[k], t) for k in self._moving))


@dataclass(frozen=True, eq=False)
class PairRelation:
    """Relation between the bodies of a contact or joint."""

    kind: str
    """`contact` or `joint`, for messages."""
    sides: Sides
    """The bodies."""
    evaluate: Evaluate
    """Function that returns y and rows."""
    held: slice
    """Components whose rows are derivatives of y."""
    inside: Callable[[Array], bool] | None = None
    """Test whether the contact points at q (2, 7) are within the borders of their features; None without
    borders."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return PairOutput(to, self)


class PairOutput(BodyOutput):
    """A `PairRelation` that is bound to a system."""

    def __init__(self, to: Binding, relation: PairRelation):
        super().__init__(to, relation.kind, (to.law.size,))
        self.relation, self.sides = relation, relation.sides

    def y(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self.relation.evaluate(self.sides.q(t, q))[0]

    def body_rows(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self.sides.rows(self.relation.evaluate(self.sides.q(t, q))[1])

    def applies(self, t: float, q: Array) -> bool:
        """Whether the contact exists at q; see `Bound.applies`."""
        inside = self.relation.inside
        return inside is None or inside(self.sides.q(t, q))

    def drift(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        return self.sides.drift(t, lambda: self.relation.evaluate(self.sides.q(t, q))[1])

    @property
    def holonomic(self) -> slice:
        return self.relation.held


class JointPort:
    """Port of the free coordinates of a joint: slide [m], angle [rad], or both in this order."""

    def __init__(self, name: str, sides: Sides, joints: JointArrays, columns: tuple[int, ...]):
        self.name, self.systems, self.size = name, sides.names, len(columns)
        self._sides, self._joints, self._columns = sides, joints, columns

    def _at(self, t: float, q: Array) -> tuple[Array, Array]:
        """Return the coordinates and the rows of both sides."""
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
    """Return the function of gap and rows of contact i of `Forms`; components: those of the six that its law
    has."""
    form = _row(forms, i)._replace(body=np.array([[0, 1]]))

    def evaluate(q: Array) -> tuple[Array, Array]:
        frame, points, rows = np.empty((3, 3)), np.empty((2, 3)), np.empty((6, 2, 6))
        y = np.zeros(components.size)
        y[0] = kernels.contact_of_pair(form, q, frame, points, rows)
        return y, rows[components]

    return evaluate


def places_of_contact(forms: Forms, i: int) -> Callable[[Array], tuple[Array, Array]]:
    """Return the function from q (2, 7) to the points of contact i of `Forms` on the surfaces of its first
    and second body, in the inertial frame [m], shape (3,) each."""
    form = _row(forms, i)._replace(body=np.array([[0, 1]]))

    def evaluate(q: Array) -> tuple[Array, Array]:
        frame, points, rows = np.empty((3, 3)), np.empty((2, 3)), np.empty((6, 2, 6))
        gap = kernels.contact_of_pair(form, q, frame, points, rows)
        return points[0], points[0] - gap * frame[0]

    return evaluate


def joint_pair(joints: JointArrays, part: int) -> Evaluate:
    """Return the function of errors or gap, and rows, of one part of one joint."""

    def evaluate(q: Array) -> tuple[Array, Array]:
        rows, value = np.empty((6, 2, 6)), np.empty(6)
        n = kernels.joint_of_pair(joints, part, q, rows, value)
        return value[:n], rows[:n]

    return evaluate


def joint_alone(joints: JointArrays, j: int) -> JointArrays:
    """Return joint j as a table of one joint, between bodies 0 and 1, or 0 and the inertial frame."""
    return _row(joints, j)._replace(body=np.array([[0, 1 if joints.body[j, 1] >= 0 else -1]]))


def _row(table: Table, i: int) -> Table:
    """Return row i of a table of columns, as a table."""
    columns: Any = [np.ascontiguousarray(column[i : i + 1]) for column in table]
    return type(table)(*columns)
