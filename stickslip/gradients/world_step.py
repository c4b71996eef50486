"""The derivative of a step of a world whose equations are known along directions.

With velocities and impulses of a step held, its equations and what it leaves change with every input; what
follows from that is linear, and the scheme answers it. Matrices of these effects cost in proportion to the
number of bodies: a row of the equations depends on its two bodies alone, the momentum of a body on itself and
on those that forces join it to. So bodies of one colour, no two of which meet in a row or at a body, are
changed together, and what comes of it is told apart by where it appears (Curtis, Powell & Reid 1974, on
sparse Jacobians).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from stickslip.detection.contacts import SLOTS
from stickslip.gradients.along import Inputs, inputs_along, inputs_of
from stickslip.gradients.derivative import EffectsDerivative, known
from stickslip.gradients.step import StepDerivative
from stickslip.kernels.derivatives import along as kernels
from stickslip.mechanics.parameters import Parameters, actuators, lengths
from stickslip.mechanics.written_forces import JointEffort
from stickslip.schemes.body_joints import PARTS
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import Memory
from stickslip.state import Array, IntArray, State
from stickslip.threads import single_threaded

ENTRIES = 2_000_000
"""Numbers of rows that are held at once: as many directions are taken together as fit."""
DENSE = 1_000_000
"""Most entries of dense matrices."""
TOGETHER = ("q", "v", "effort")
"""Inputs whose matrices are made together: who asks for one of them asks for others."""
FEW = 12
"""Directions up to which the equations are asked along them; along more, all matrices are made."""


_NOTHING = np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64)


class Part(NamedTuple):
    """Numbers among the effects that belong together."""

    line: IntArray
    """Where each stands among all lines, -1 for nowhere; equal ones are added [-], shape (items, width)."""
    side: IntArray
    """Bodies that each item depends on, -1 for none [-], shape (items, any)."""

    def entries(
        self, values: Array, colours: IntArray, colour: int, column: IntArray
    ) -> tuple[Array, IntArray, IntArray]:
        """Entries of a matrix, their lines and columns, as `kernels.entries` tells them."""
        value, line, at = np.empty(values.size), np.empty(values.size, int), np.empty(values.size, int)
        count = kernels.entries(values, self.line, self.side, colours, colour, column, (value, line, at))
        return value[:count], line[:count], at[:count]


class Equations(ABC):
    """The equations of one step that was made, with its velocities and impulses held."""

    parts: tuple[Part, ...]
    lines: list[slice]
    """Groups of lines."""
    size: int
    """Number of lines."""

    def __init__(self, prepared: PreparedWorld, state: State, memory: Memory, h: float):
        self.prepared, self.state, self.memory, self.h = prepared, state, memory, h
        self.world, self.bodies = prepared.world, prepared.bodies
        self.base = inputs_of(prepared, state, memory, h)

    def number(self, *sizes: int) -> IntArray:
        """Lay out groups of so many lines; numbers of all lines."""
        ends = np.cumsum([0, *sizes]).tolist()
        self.lines, self.size = [slice(*pair) for pair in pairwise(ends)], ends[-1]
        return np.arange(self.size)

    @abstractmethod
    def effects(self, given: Inputs) -> tuple[Array, ...]:
        """How all parts change, each of shape (k, items, width)."""

    def along(self, tangents: Mapping[str, Array]) -> Array:
        """All lines along the columns of `tangents`, shape (size, k)."""
        given = inputs_along(self.base, tangents)
        out = np.zeros((self.size, given.k))
        for part, value in zip(self.parts, self.effects(given), strict=True):
            kernels.add_lines(value, part.line, out)
        return out

    @cached_property
    def near(self) -> IntArray:
        """Each body, and those that forces join it to, -1 for no more [-], shape (n, any)."""
        forces = self.world.forces
        pairs = [table.body for table in (forces.springs, forces.dampers) if table is not None]
        pairs += [one.joints.body[[one.joint]] for one in forces.written if isinstance(one, JointEffort)]
        met = [[i] for i in range(self.bodies.count)]
        for i, j in (pair for table in pairs for pair in table.tolist()):
            for one, other in ((i, j), (j, i)):
                if min(i, j) >= 0 and other not in met[one]:
                    met[one].append(other)
        most = max((len(one) for one in met), default=1)
        return np.array([one + [-1] * (most - len(one)) for one in met], np.int64).reshape(-1, most)

    @cached_property
    def colour(self) -> IntArray:
        """Colours of the bodies: other ones for two that one item depends on [-], shape (n,)."""
        n = self.bodies.count
        apart: list[set[int]] = [set() for _ in range(n)]
        for table in {id(part.side): part.side for part in self.parts}.values():
            for group in set(map(tuple, table.tolist())):
                met = {i for i in group if i >= 0}
                for i in met:
                    apart[i] |= met - {i}
        colour = np.full(n, -1)
        for i in sorted(range(n), key=lambda i: -len(apart[i])):
            taken = {int(colour[j]) for j in apart[i]}
            colour[i] = next(c for c in range(n) if c not in taken)
        return colour

    def _bodies_of(self, name: str) -> IntArray | None:
        """The body that each number of an input belongs to, -2 where it moves nothing [-], shape (size,);
        None for those of no body.

        Efforts belong to the first body of their joint, speeds of approach to that of their contact or stop.
        """
        shapes, n, joints = self.world.shapes, self.bodies.count, self.world.joints
        pushed = np.where(self.bodies.row >= 0, np.arange(n), -2)
        if name in ("q", "v"):
            return np.repeat(np.arange(n), 6)
        if name in ("v_end", "inertia", "wrench"):
            return np.repeat(pushed, 6)
        if name == "mass":
            return pushed
        if name == "size":
            return np.repeat(shapes.body, [lengths(shape).size for shape in shapes.shape])
        if name == "place":
            return np.repeat(shapes.body, 3)
        if name == "effort":
            return np.array([one.joints.body[one.joint, 0] for one in actuators(self.world)], np.int64)
        if name == "approach":
            return shapes.body[self.memory["id"].astype(np.int64) // SLOTS // len(shapes.shape)]
        if name == "joint_approach":
            joint = self.memory["joint_id"].astype(np.int64) // len(PARTS)
            return np.where(joints.body[joint, 0] >= 0, joints.body[joint, 0], joints.body[joint, 1])
        return None

    def matrices(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        """How all lines change with these inputs of so many numbers, (size, numbers), dense or sparse."""
        ends = np.cumsum([0, *sizes.values()]).tolist()
        where = {name: slice(*pair) for name, pair in zip(sizes, pairwise(ends), strict=True)}
        body = np.full(ends[-1], -1)
        for name, of in where.items():
            owner = self._bodies_of(name)
            if owner is not None:
                body[of] = owner
        found: list[tuple[Array, IntArray, IntArray]] = []
        most = max(1, ENTRIES // max(sum(part.line.size for part in self.parts), 1))
        colours = np.append(self.colour, (-2, -1))[body]
        # 1. numbers that belong to no body, one by one; 2. those of the bodies of a colour together
        for colour in (-1, *range(int(self.colour.max(initial=-1)) + 1)):
            mine = np.flatnonzero(colours == colour)
            way = np.arange(mine.size) if colour < 0 else _within(body[mine])
            for first in range(0, int(way.max(initial=-1)) + 1, most):
                here = (way >= first) & (way < first + most)
                number, along = mine[here], way[here] - first
                unit = np.zeros((ends[-1], int(along.max()) + 1))
                unit[number, along] = 1.0
                tangents = {name: unit[of] for name, of in where.items() if unit[of].any()}
                column = np.full((self.bodies.count + 1, unit.shape[1]), -1)
                column[body[number], along] = number
                values = self.effects(inputs_along(self.base, tangents))
                for part, value in zip(self.parts, values, strict=True):
                    found.append(part.entries(value, self.colour, colour, column))
        shape = (self.size, ends[-1])
        value, line, at = (np.concatenate(x) for x in zip(*found, strict=True)) if found else _NOTHING
        if shape[0] * shape[1] <= DENSE:
            flat = np.bincount(line * shape[1] + at, value, shape[0] * shape[1])
            whole: Any = flat.astype(float, copy=False).reshape(shape)
        else:
            whole = sp.csc_array(sp.coo_array((value, (line, at)), shape=shape))
        return {name: whole[:, of] for name, of in where.items()}


class WorldDerivative(EffectsDerivative, StepDerivative):
    """The derivative of a step of a world: effects of the inputs, and the scheme's answer to them."""

    def __init__(self, equations: Equations):
        self._equations = equations
        n, given = equations.bodies.count, equations.prepared.parameters
        parameters = {name: getattr(given, name).shape for name in Parameters.names()}
        self.by = {"q": (6 * n,), "v": (6 * n,), "h": (1,), **parameters}
        self._matrices: dict[str, Any] = {}
        self._whole: dict[str, dict[str, Array]] = {}

    def forward(self, tangents: Mapping[str, Array]) -> dict[str, Array]:
        """Changes of all of `of`, each of shape (size, k)."""
        k = max((x.shape[1] for x in tangents.values()), default=0)
        return self._along(tangents) if 0 < k <= FEW else super().forward(tangents)

    @single_threaded
    def _along(self, tangents: Mapping[str, Array]) -> dict[str, Array]:
        for name in tangents:
            known("by", self.by, name)
        return self._answered(self._equations.along(tangents))

    def jacobian(self, of: str, by: str) -> Array:
        """The whole matrix, shape (size of `of`, size of `by`), both flat."""
        if of not in self.of or by not in self.by or self._size(by) > 6 * self._equations.bodies.count:
            return super().jacobian(of, by)
        if by not in self._whole:
            self._whole[by] = self._of_all(by)
        return self._whole[by][of].copy()

    @single_threaded
    def _of_all(self, by: str) -> dict[str, Array]:
        made = self._effects(TOGETHER if by in TOGETHER else (by,))[by]
        return self._answered(made if isinstance(made, np.ndarray) else made.toarray())

    def _size(self, by: str) -> int:
        return int(np.prod(self.by[by], dtype=int))

    def _effects(self, names: Iterable[str]) -> dict[str, Any]:
        """Matrices of the effects of these inputs, those that are not there yet made together."""
        missing = {name: self._size(name) for name in names if name not in self._matrices}
        if missing:
            self._matrices |= self._equations.matrices(missing)
        return self._matrices


def _within(owner: IntArray) -> IntArray:
    """Which of the numbers of its owner each is [-], shape (size,)."""
    order = np.argsort(owner, kind="stable")
    ordered, within = owner[order], np.empty(owner.size, np.int64)
    within[order] = np.arange(owner.size) - np.searchsorted(ordered, ordered)
    return within
