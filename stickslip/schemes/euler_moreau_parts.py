"""First-order systems in parts: what is tied together by interactions, and where its numbers stand.

Each part is a problem of its own. Within it the matrix of the mixed problem is a sum over shared systems,
block by block (Siconos Developer's Notes 2017, (1.15) and (1.16)).
"""

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from scipy.linalg import lapack

from stickslip.kernels import cones
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, IntArray, frozen
from stickslip.problem.contact import ContactProblem, Level
from stickslip.problem.sets import ProductSet
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.problems import coupled
from stickslip.systems.dynamics import FirstOrderDynamics
from stickslip.systems.first_order import FirstOrder
from stickslip.systems.system import Bound, NonsmoothSystem, Place


@dataclass(frozen=True, eq=False)
class Flow:
    """A system in its part."""

    system: FirstOrderDynamics
    place: Place
    """Where its numbers stand in the flat state."""
    x: slice
    """Its states among those of the part."""


@dataclass(frozen=True, eq=False)
class Tie:
    """An interaction in its part."""

    bound: Bound
    x: IntArray
    """Its states among those of the part [-], shape (nx,), in the order of its systems."""
    columns: dict[int, slice]
    """By the number of a flow of the part: that system's states among its own."""
    lam: slice
    """Its multipliers among those of the part."""


@dataclass(frozen=True, eq=False)
class Part:
    """Systems tied together, and the interactions that tie them."""

    flows: tuple[Flow, ...]
    ties: tuple[Tie, ...]
    x: IntArray
    """Its states in the flat state [-], shape (nx,)."""
    lam: IntArray
    """Its multipliers among those of all interactions [-], shape (m,)."""
    K: ProductSet | None
    """The set of its multipliers; None without interactions."""
    lower: Array | None
    """Lower bounds of the multipliers [unit of lam], shape (m,); None where some blocks are cones."""
    upper: Array | None
    """Upper bounds of the multipliers [unit of lam], shape (m,); None where some blocks are cones."""
    constant: bool
    """Whether masses and all Jacobians depend on nothing, so that they need not be asked for again."""
    kept: dict[Any, Any] = field(default_factory=dict)
    """What was made of them, by the length of a step and its weights."""

    @property
    def names(self) -> str:
        """Its systems, as errors name them."""
        many = len(self.flows) > 1
        return ("systems " if many else "system ") + ", ".join(repr(f.system.name) for f in self.flows)

    def problem(self, A: Array, b: Array) -> BoxProblem | ContactProblem:
        """Find lam with -(A lam + b) in the normal cone of K at lam (friction cones: De Saxcé's law)."""
        if self.lower is not None and self.upper is not None:
            return BoxProblem.unchecked(A, b, self.lower, self.upper)
        assert self.K is not None
        return ContactProblem(A, b, self.K, level=Level.POSITION)  # type: ignore[arg-type]


def parts(prepared: PreparedSystem) -> tuple[Part, ...]:
    """The parts of a system of first order, in the order of their first systems."""
    system = prepared.system
    ties = {i: group for group in coupled(system.interactions) for one in group for i in one.systems}
    return tuple(_part(system, numbers, ties.get(numbers[0], [])) for numbers in system.parts)


def _part(system: NonsmoothSystem, numbers: tuple[int, ...], bounds: list[Bound]) -> Part:
    flows, start = [], 0
    for i in numbers:
        one = system.systems[i]
        assert isinstance(one, FirstOrderDynamics)
        size = one.start.q.shape[0]
        flows.append(Flow(one, system.places[i], slice(start, start + size)))
        start += size
    x = np.concatenate([np.arange(f.place.q.start, f.place.q.stop) for f in flows])
    ties, component = [], 0
    for bound in bounds:
        columns, column, states = {}, 0, []
        for i in bound.systems:
            k = numbers.index(i)
            mine = flows[k].x
            states.append(np.arange(mine.start, mine.stop))
            columns[k] = slice(column, column + mine.stop - mine.start)
            column = columns[k].stop
        ties.append(Tie(bound, np.concatenate(states), columns, slice(component, component + bound.law.size)))
        component += bound.law.size
    lam = [np.arange(b.components.start, b.components.stop) for b in bounds]
    K = reduce(add, [bound.law.K for bound in bounds]) if bounds else None
    lower = upper = None
    if K is not None and not (K.kind == cones.FRICTION).any():
        sizes = np.diff(K.offset)
        lower, upper = frozen(np.repeat(K.lower, sizes)), frozen(np.repeat(K.upper, sizes))
    indices = np.concatenate(lam) if lam else np.zeros(0, np.int64)
    constant = all(_constant(f.system) for f in flows) and all(b.flow.constant for b in bounds)
    return Part(tuple(flows), tuple(ties), x, indices, K, lower, upper, constant)


def _constant(system: FirstOrderDynamics) -> bool:
    """Whether M and ∂f/∂x of a system depend on nothing."""
    if not isinstance(system, FirstOrder):
        return False
    found = (system.df_dx, system.dinput_dx, system.dinput_dxdot)
    slopes = (one for one in found if one is not None)
    return system.M.constant is not None and all(one.constant is not None for one in slopes)


class Factors:
    """LU of a matrix; `singular` where a pivot is exactly zero."""

    def __init__(self, W: Array):
        self._lu, self._pivots, info = lapack.dgetrf(W)
        self.singular = info != 0

    def solve(self, b: Array) -> Array:
        """W⁻¹ b [unit of b over that of W], shape of b."""
        if not b.size:
            return np.zeros(b.shape)
        x, _ = lapack.dgetrs(self._lu, self._pivots, b)
        return np.asarray(x)
