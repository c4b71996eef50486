"""Notes on a run of a world: bodies that fall off the ground or below all fixed bodies, and accepted steps
with a slight overlap of bodies at their end.

A lost body falls freely without end, although every step is certified. It is noted once, with its name and
the time, and the run continues.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from stickslip.mechanics.height_fields import HeightField
from stickslip.mechanics.shapes import Plane
from stickslip.mechanics.world import BodyKind, World
from stickslip.rotations import matrices
from stickslip.state import Array, BoolArray, IntArray, State

MOST = 20
"""Largest number of bodies that are noted by name; the others are counted."""
UPWARDS = 1e-6
"""Least cosine between a plane's normal and the upward direction with which it catches falling bodies [-]."""


class Lookout:
    """Checks the positions of dynamic bodies after each step."""

    def __init__(self, world: World, start: State):
        self._world, self._notes = world, dict[int, str]()
        strength = float(np.linalg.norm(world.gravity))
        self._up: Array = -world.gravity / strength if strength > 0.0 else np.zeros(3)
        """Upward direction, against gravity [-], shape (3,)."""
        self._bodies: IntArray = np.flatnonzero((world.kind == BodyKind.DYNAMIC) & ~_tied(world))
        self._noted: BoolArray = np.zeros(self._bodies.size, bool)
        self._fields, caught = _ground(world, start, self._up)
        self._bottom = -math.inf if caught or not strength else _bottom(world, start, self._up)
        """Height of the lowest fixed point [m]; -inf if a plane catches all falling bodies."""
        self._idle = not self._bodies.size or ((caught or not self._fields) and self._bottom == -math.inf)
        self._inside: BoolArray = np.ones(self._bodies.size, bool)
        self._start = start.t
        self._overlaps, self._deepest, self._first = 0, 0.0, math.inf
        """Number of accepted steps with a slight overlap, the largest overlap [m], and the end of the first
        of them [s]."""
        self.look(start)

    @property
    def idle(self) -> bool:
        """Whether no body can be lost."""
        return bool(self._idle)

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence for each lost body, in order of time, up to `MOST`, and the number of others."""
        sentences = list(self._notes.values())
        if len(sentences) > MOST:
            sentences = [*sentences[:MOST], f"and so did {len(sentences) - MOST} more bodies"]
        if self._overlaps:
            sentences.append(
                f"bodies overlap by up to {self._deepest:.1e} m at the end of {self._overlaps} steps, the"
                f" first at t = {self._first:.9g} s: with these contacts the step has no solution"
            )
        return tuple(sentences)

    def look(self, state: State, overlap: float = 0.0) -> None:
        """Note the bodies that are lost at `state` for the first time, and an accepted overlap [m]."""
        if overlap > 0.0:
            self._overlaps, self._deepest = self._overlaps + 1, max(self._deepest, overlap)
            self._first = min(self._first, state.t)
        if self._idle:
            return
        x = state.q.reshape(-1, 7)[self._bodies, :3]
        if self._fields:
            inside = self._over_ground(state, x)
            fallen = self._inside & ~inside & ~self._noted
            self._inside = inside
            if fallen.any():
                self._note(fallen, state.t, self._edge(state.t))
        if self._bottom > -math.inf:
            speed = state.v.reshape(-1, 6)[self._bodies, :3] @ self._up
            below = (x @ self._up < self._bottom) & (speed < 0.0) & ~self._noted
            if below.any():
                self._note(below, state.t, "fell below all fixed bodies")

    def _note(self, rows: BoolArray, t: float, predicate: str) -> None:
        """Note bodies with a sentence."""
        self._noted |= rows
        for k in np.flatnonzero(rows).tolist():
            body = int(self._bodies[k])
            self._notes[body] = f"body {self._world.names[body]!r} {predicate} at t = {t:.9g} s"

    def _edge(self, t: float) -> str:
        """Return the predicate of a body that is outside of the ground."""
        names = ", ".join(dict.fromkeys(repr(self._world.names[field.body]) for field in self._fields))
        if t == self._start:
            return f"is beside the ground of {names}, with nothing below it,"
        return f"left the ground of {names} over its edge, with nothing below it,"

    def _over_ground(self, state: State, x: Array) -> BoolArray:
        """Whether the centre of a body is above the rectangle of a height field [-], shape (k,), bool."""
        inside = np.zeros(x.shape[0], bool)
        for field in self._fields:
            place, axes = field.placed if field.placed is not None else field.at(state.q)
            inside |= (np.abs(x @ axes - place @ axes) <= field.half).all(axis=1)
        return inside


def _tied(world: World) -> BoolArray:
    """Whether joints connect a body to one without dynamics, directly or indirectly [-], shape (n,), bool."""
    held = world.kind != BodyKind.DYNAMIC
    pairs = np.asarray(world.joints.body).reshape(-1, 2)
    while True:
        known = np.append(held, True)  # -1: the inertial frame
        more = held.copy()
        for side in (0, 1):
            ends = pairs[known[pairs[:, 1 - side]], side]
            more[ends[ends >= 0]] = True
        if (more == held).all():
            return held
        held = more


@dataclass(frozen=True, eq=False, slots=True)
class _Field:
    """A height field, seen from above."""

    body: int
    position: Array
    """In the frame of its body [m], shape (3,)."""
    axes: Array
    """Its x and y there, as columns [-], shape (3, 2)."""
    half: Array
    """Half of its lengths [m], shape (2,)."""
    placed: tuple[Array, Array] | None = None
    """Inertial position and axes of one that is fixed."""

    def at(self, q: Array) -> tuple[Array, Array]:
        """Inertial position [m], shape (3,), and axes [-], shape (3, 2)."""
        pose = q[7 * self.body : 7 * self.body + 7]
        R = matrices(pose[3:])
        return pose[:3] + R @ self.position, R @ self.axes


def _ground(world: World, start: State, up: Array) -> tuple[list[_Field], bool]:
    """The height fields, and whether a plane catches all that falls beside them."""
    fields: list[_Field] = []
    caught, shapes = False, world.shapes
    for k, shape in enumerate(shapes.shape):
        body, R = int(shapes.body[k]), matrices(shapes.quaternion[k])
        if isinstance(shape, HeightField):
            field = _Field(body, shapes.position[k], R[:, :2], 0.5 * np.array(shape.size))
            still = world.kind[body] == BodyKind.FIXED
            fields.append(replace(field, placed=field.at(start.q)) if still else field)
        elif isinstance(shape, Plane):
            normal = matrices(start.q[7 * body + 3 : 7 * body + 7]) @ R[:, 2]
            caught = caught or bool(normal @ up > UPWARDS)
    return fields, caught


def _bottom(world: World, start: State, up: Array) -> float:
    """Return a lower bound on the height of fixed bodies [m]; -inf without any, or with kinematic bodies."""
    lowest, shapes = math.inf, world.shapes
    if (world.kind == BodyKind.KINEMATIC).any():
        return -math.inf
    for k, shape in enumerate(shapes.shape):
        body = int(shapes.body[k])
        if world.kind[body] != BodyKind.FIXED or isinstance(shape, Plane):
            continue
        pose = start.q[7 * body : 7 * body + 7]
        place = pose[:3] + matrices(pose[3:]) @ shapes.position[k]
        reach = shape.reach
        if isinstance(shape, HeightField):
            deepest = float(np.abs(shape.heights).max())
            reach = math.hypot(0.5 * shape.size[0], 0.5 * shape.size[1], deepest)
        lowest = min(lowest, float(place @ up) - reach)
    return -math.inf if lowest == math.inf else lowest
