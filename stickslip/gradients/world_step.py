"""Derivative of a step of a world whose equations can be evaluated along directions.

At constant velocities and impulses, the equations of a step and its results change with each input
("effects");
the response of velocities and impulses to these changes is linear, and computed by the scheme's derivative.
The
matrices of effects are sparse: a row of the equations depends on two bodies, the momentum of a body on itself
and on bodies connected to it by forces. Bodies of one colour, no two of which share a row or a neighbour, are
therefore changed together, and the results are assigned by position (Curtis, Powell & Reid 1974). The cost is
proportional to the number of bodies.
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
"""Largest number of values held at once, which limits the number of directions of one evaluation;
heuristic."""
DENSE = 1_000_000
"""Largest number of entries of a dense matrix; heuristic."""
TOGETHER = ("q", "v", "effort")
"""Inputs whose matrices are computed together, because they are usually needed together."""
FEW = 12
"""Number of directions up to which equations are evaluated along them; for more, matrices are computed.
Heuristic."""


_NOTHING = np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64)


class Part(NamedTuple):
    """One part of the effects: items of equal width."""

    line: IntArray
    """Line of each value, -1 for none; values of equal lines are added [-], shape (items, width)."""
    side: IntArray
    """Bodies on which each item depends, -1 for none [-], shape (items, any)."""

    def entries(
        self, values: Array, colours: IntArray, colour: int, column: IntArray
    ) -> tuple[Array, IntArray, IntArray]:
        """Return the entries of a matrix for one colour, and their lines and columns (`kernels.entries`)."""
        value, line, at = np.empty(values.size), np.empty(values.size, int), np.empty(values.size, int)
        count = kernels.entries(values, self.line, self.side, colours, colour, column, (value, line, at))
        return value[:count], line[:count], at[:count]


class Equations(ABC):
    """Equations of one step, at constant velocities and impulses."""

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
        """Set groups of lines of these sizes; return the indices of all lines."""
        ends = np.cumsum([0, *sizes]).tolist()
        self.lines, self.size = [slice(*pair) for pair in pairwise(ends)], ends[-1]
        return np.arange(self.size)

    @abstractmethod
    def effects(self, given: Inputs) -> tuple[Array, ...]:
        """Return the changes of all parts, each of shape (k, items, width)."""

    def along(self, tangents: Mapping[str, Array]) -> Array:
        """Return the changes of all lines along the columns of `tangents`, shape (size, k)."""
        inputs = inputs_along(self.base, tangents)
        out = np.zeros((self.size, inputs.k))
        for part, value in zip(self.parts, self.effects(inputs), strict=True):
            kernels.add_lines(value, part.line, out)
        return out

    @cached_property
    def near(self) -> IntArray:
        """Each body and the bodies connected to it by forces, padded with -1 [-], shape (n, any)."""
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
        """Colours of the bodies, different for any two bodies on which one item depends [-], shape (n,)."""
        n = self.bodies.count
        apart: list[set[int]] = [set() for _ in range(n)]
        for table in {id(part.side): part.side for part in self.parts}.values():
            for group in set(map(tuple, table.tolist())):
                met = {i for i in group if i >= 0}
                for i in met:
                    apart[i] |= met - {i}
        colour = np.full(n, -1)
        for i in sorted(range(n), key=lambda i: -len(apart[i])):
            neighbours = {int(colour[j]) for j in apart[i]}
            colour[i] = next(c for c in range(n) if c not in neighbours)
        return colour

    def _bodies_of(self, name: str) -> IntArray | None:
        """Return the body of each number of an input, -2 for numbers without effect [-], shape (size,).

        Return None for inputs that belong to no body. Efforts belong to the first body of their joint,
        approach speeds to a body of their contact or stop.
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
        """Return the derivatives of all lines by inputs of these sizes, each (size, numbers), dense or
        sparse."""
        # 1. The body and the colour of each number.
        ends = np.cumsum([0, *sizes.values()]).tolist()
        where = {name: slice(*pair) for name, pair in zip(sizes, pairwise(ends), strict=True)}
        body = np.full(ends[-1], -1)
        for name, of in where.items():
            owner = self._bodies_of(name)
            if owner is not None:
                body[of] = owner
        entries: list[tuple[Array, IntArray, IntArray]] = []
        most = max(1, ENTRIES // max(sum(part.line.size for part in self.parts), 1))
        colours = np.append(self.colour, (-2, -1))[body]
        # 2. Effects: numbers that belong to no body one by one, the bodies of each colour together.
        for colour in (-1, *range(int(self.colour.max(initial=-1)) + 1)):
            numbers = np.flatnonzero(colours == colour)
            direction = np.arange(numbers.size) if colour < 0 else _within(body[numbers])
            for first in range(0, int(direction.max(initial=-1)) + 1, most):
                chosen = (direction >= first) & (direction < first + most)
                number, along = numbers[chosen], direction[chosen] - first
                unit = np.zeros((ends[-1], int(along.max()) + 1))
                unit[number, along] = 1.0
                tangents = {name: unit[of] for name, of in where.items() if unit[of].any()}
                column = np.full((self.bodies.count + 1, unit.shape[1]), -1)
                column[body[number], along] = number
                values = self.effects(inputs_along(self.base, tangents))
                for part, value in zip(self.parts, values, strict=True):
                    entries.append(part.entries(value, self.colour, colour, column))
        # 3. Matrices.
        shape = (self.size, ends[-1])
        value, line, at = (np.concatenate(x) for x in zip(*entries, strict=True)) if entries else _NOTHING
        if shape[0] * shape[1] <= DENSE:
            flat = np.bincount(line * shape[1] + at, value, shape[0] * shape[1])
            matrix: Any = flat.astype(float, copy=False).reshape(shape)
        else:
            matrix = sp.csc_array(sp.coo_array((value, (line, at)), shape=shape))
        return {name: matrix[:, of] for name, of in where.items()}


class WorldDerivative(EffectsDerivative, StepDerivative):
    """Derivative of a step of a world: effects of the inputs, and the response to them."""

    def __init__(self, equations: Equations):
        self._equations = equations
        n, numbers = equations.bodies.count, equations.prepared.parameters
        parameters = {name: getattr(numbers, name).shape for name in Parameters.names()}
        self.by = {"q": (6 * n,), "v": (6 * n,), "h": (1,), **parameters}
        self._matrices: dict[str, Any] = {}
        self._whole: dict[str, dict[str, Array]] = {}

    def forward(self, tangents: Mapping[str, Array]) -> dict[str, Array]:
        """Return the changes of all outputs, each of shape (size, k)."""
        k = max((x.shape[1] for x in tangents.values()), default=0)
        return self._along(tangents) if 0 < k <= FEW else super().forward(tangents)

    @single_threaded
    def _along(self, tangents: Mapping[str, Array]) -> dict[str, Array]:
        for name in tangents:
            known("by", self.by, name)
        return self._answered(self._equations.along(tangents))

    def jacobian(self, of: str, by: str) -> Array:
        """Return the Jacobian, shape (size of `of`, size of `by`), both flattened."""
        if of not in self.of or by not in self.by or self._size(by) > 6 * self._equations.bodies.count:
            return super().jacobian(of, by)
        if by not in self._whole:
            self._whole[by] = self._of_all(by)
        return self._whole[by][of].copy()

    @single_threaded
    def _of_all(self, by: str) -> dict[str, Array]:
        effects = self._effects(TOGETHER if by in TOGETHER else (by,))[by]
        return self._answered(effects if isinstance(effects, np.ndarray) else effects.toarray())

    def _size(self, by: str) -> int:
        return int(np.prod(self.by[by], dtype=int))

    def _effects(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the matrices of the effects of inputs; missing ones are computed together."""
        missing = {name: self._size(name) for name in names if name not in self._matrices}
        if missing:
            self._matrices |= self._equations.matrices(missing)
        return self._matrices


def _within(owner: IntArray) -> IntArray:
    """Index of each number among the numbers of its owner [-], shape (size,)."""
    order = np.argsort(owner, kind="stable")
    ordered, within = owner[order], np.empty(owner.size, np.int64)
    within[order] = np.arange(owner.size) - np.searchsorted(ordered, ordered)
    return within
