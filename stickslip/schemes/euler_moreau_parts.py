"""Partition of first-order systems into parts that are coupled by interactions, with their index maps.

The parts are independent problems. Each block of the matrix of a part's mixed problem is a sum over the
systems that two interactions share (Siconos Developer's Notes 2017, (1.15) and (1.16)).
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
    """A system as a member of a part."""

    system: FirstOrderDynamics
    """The system."""
    place: Place
    """Its slices of the flat state."""
    x: slice
    """Its states among those of the part."""


@dataclass(frozen=True, eq=False)
class Tie:
    """An interaction as a member of a part."""

    bound: Bound
    """The interaction."""
    x: IntArray
    """Indices of its states among those of the part, in the order of its systems [-], shape (nx,)."""
    columns: dict[int, slice]
    """States of each of its systems among its own, by the index of the flow in the part."""
    lam: slice
    """Its multipliers among those of the part."""


@dataclass(frozen=True, eq=False)
class Part:
    """Coupled systems and the interactions between them."""

    flows: tuple[Flow, ...]
    """The systems."""
    ties: tuple[Tie, ...]
    """The interactions."""
    x: IntArray
    """Indices of its states in the flat state [-], shape (nx,)."""
    lam: IntArray
    """Indices of its multipliers among those of all interactions [-], shape (m,)."""
    K: ProductSet | None
    """Set of the multipliers; None without interactions."""
    lower: Array | None
    """Lower bounds of the multipliers [unit of lam], shape (m,); None if some blocks are cones."""
    upper: Array | None
    """Upper bounds of the multipliers [unit of lam], shape (m,); None if some blocks are cones."""
    constant: bool
    """Whether masses and all Jacobians are constant, so that linearisations can be cached."""
    kept: dict[Any, Any] = field(default_factory=dict)
    """Cached linearisations, by step length and weights."""

    @property
    def names(self) -> str:
        """Names of its systems, for messages."""
        many = len(self.flows) > 1
        return ("systems " if many else "system ") + ", ".join(repr(f.system.name) for f in self.flows)

    def problem(self, A: Array, b: Array) -> BoxProblem | ContactProblem:
        """Return the problem of lam with -(A lam + b) in the normal cone of K at lam (friction cones: De
        Saxcé's law)."""
        if self.lower is not None and self.upper is not None:
            return BoxProblem.unchecked(A, b, self.lower, self.upper)
        assert self.K is not None
        return ContactProblem(A, b, self.K, level=Level.POSITION)  # type: ignore[arg-type]


def parts(prepared: PreparedSystem) -> tuple[Part, ...]:
    """Return the parts of a first-order system, in the order of their first systems."""
    system = prepared.system
    ties = {i: group for group in coupled(system.interactions) for one in group for i in one.systems}
    return tuple(_part(system, numbers, ties.get(numbers[0], [])) for numbers in system.parts)


def _part(system: NonsmoothSystem, numbers: tuple[int, ...], bounds: list[Bound]) -> Part:
    """Return the part of these systems, by number, and interactions."""
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
            places = flows[k].x
            states.append(np.arange(places.start, places.stop))
            columns[k] = slice(column, column + places.stop - places.start)
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
    """Whether M and ∂f/∂x of a system are constant."""
    if not isinstance(system, FirstOrder):
        return False
    derivatives = (system.df_dx, system.dinput_dx, system.dinput_dxdot)
    slopes = (slope for slope in derivatives if slope is not None)
    return system.M.constant is not None and all(slope.constant is not None for slope in slopes)


class Factors:
    """LU factors of a matrix; `singular` if a pivot is exactly zero."""

    def __init__(self, W: Array):
        self._lu, self._pivots, info = lapack.dgetrf(W)
        self.singular = info != 0

    def solve(self, b: Array) -> Array:
        """Return W⁻¹ b [unit of b over that of W], shape of b."""
        if not b.size:
            return np.zeros(b.shape)
        x, _ = lapack.dgetrs(self._lu, self._pivots, b)
        return np.asarray(x)
