"""Equations of a step of a `NonsmoothSystem`, as a function of the inputs of the step.

With v⁺ the velocities at the end and r the impulses of the active blocks, a step is

    balance(x, v⁺, r) = 0,    law(x, v⁺, r) ⟂ r in K(x),    end of the step: q⁺(x, v⁺), ...

where x are state, length of the step, forces, and parameters of laws and systems. Subclasses for schemes
define
balance, law and end, by the functions that the steps of the scheme use. Forces and parameters of laws are
relative to those of the system, so that their base value is 0.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property, reduce
from operator import add
from typing import NamedTuple

import numpy as np

from stickslip.gradients.solution import named_groups
from stickslip.kernels import cones
from stickslip.problem.checks import IntArray
from stickslip.problem.sets import ProductSet, blocks_of, spans
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import Memory, Step
from stickslip.state import Array, BoolArray, ModelError, State
from stickslip.systems.family import Family
from stickslip.systems.system import Bound, NonsmoothSystem

NEAR = 1e-9
"""Size below which forecast gaps and approach velocities count as 0, relative to coordinates and velocities
[-]; heuristic."""
Inputs = Mapping[str, Array]
"""Inputs x: flat arrays by name."""


class Written(NamedTuple):
    """A step of a system with its start: prepared system, state, memory, length and result."""

    prepared: PreparedSystem
    state: State
    memory: Memory
    h: float
    step: Step


class StepEquations(ABC):
    """Equations of one step that was made."""

    def __init__(self, made: Written):
        self.made, self.system, self.family = made, made.prepared.system, made.prepared.family

    @cached_property
    def inputs(self) -> dict[str, Array]:
        """Inputs x of the step; parameters of a family take precedence over parameters of laws of that
        name."""
        state, family = self.made.state, self.family
        values = {"q": np.array(state.q), "v": np.array(state.v), "h": np.array([self.made.h])}
        values["force"] = np.zeros(state.v.size)
        if state.z.size:
            values["z"] = np.array(state.z)
        values |= self.remembered()
        numbers = (
            {} if family is None else {name: np.array(one.ravel()) for name, one in family.numbers.items()}
        )
        for name in numbers:
            if name in values:
                raise ModelError(f"the family has a number {name!r}, which is also a name of the step")
        return values | {name: np.zeros(size) for name, size in self._law_sizes.items()} | numbers

    @cached_property
    def _law_sizes(self) -> dict[str, int]:
        return law_sizes(self.system, self.family)

    def size(self, name: str) -> Array:
        """Return the scale of changes of an input, shape (numbers,)."""
        x = np.abs(self.inputs[name])
        return x if name in ("h", "h_before") else np.maximum(x, 1.0)

    @cached_property
    def whole(self) -> ProductSet:
        """Set of the multipliers of all blocks, in order."""
        return whole_set(self.system)

    @cached_property
    def coefficients(self) -> dict[str, IntArray]:
        """Friction groups of all blocks, by the name of their coefficient (`mu`, ...)."""
        return coefficients_of(self.whole)

    @property
    @abstractmethod
    def on(self) -> IntArray:
        """Active blocks [-], shape (any,)."""

    @cached_property
    def keep(self) -> IntArray:
        """Positions of the components of active blocks among all components [-], shape (n,)."""
        return spans(self.whole.offset, self.on)

    @abstractmethod
    def weight(self, x: Inputs) -> float:
        """Return the time over which forces act in the step [s]."""

    @abstractmethod
    def remembered(self) -> dict[str, Array]:
        """Return the inputs that belong to the memory of the scheme."""

    @abstractmethod
    def outputs(self, x: Inputs, v: Array, r: Array) -> dict[str, Array]:
        """Return `balance` (nv,), `law` (n,), `q` (nq,), `z` (nz,) and new memory, for v⁺ and r (n,)."""

    @abstractmethod
    def kinks(self, presses: BoolArray, near: Array) -> list[str]:
        """Return sentences about kinks of the step, except those of its contact laws.

        presses   whether each component is active and does not open [-], shape (size,)
        near      velocities below which they cannot be distinguished from 0 [m/s], shape (size,)
        """

    def system_at(self, x: Inputs) -> PreparedSystem:
        """Return the system for the parameters of the family in x."""
        return self.made.prepared.at(x)

    def bounds(self, x: Inputs) -> ProductSet:
        """Return the set of the active impulses."""
        K, w = whole_set(self.system_at(x).system), self.weight(x)
        coefficient = K.coefficient.copy()
        for name, groups in self.coefficients.items():
            coefficient[groups] += self._change(name, x)
        bounded = (
            K.kind == cones.INTERVAL
        )  # their bounds are forces; the bounds of other blocks are 0 and infinite
        lower = np.where(bounded, w * (K.lower + self._change("lower", x)), K.lower)
        upper = np.where(bounded, w * (K.upper + self._change("upper", x)), K.upper)
        return blocks_of(
            ProductSet(K.kind, K.offset, lower, upper, K.group_offset, K.group_size, coefficient), self.on
        )

    def _change(self, name: str, x: Inputs) -> Array | float:
        """Return the change of a parameter of laws; 0 if it is not an input, or belongs to the family."""
        return x[name] if name in self._law_sizes else 0.0

    def all_components(self, r: Array) -> Array:
        """Return the impulses of all blocks, 0 for inactive ones [N s], shape (size,)."""
        out = np.zeros(self.system.size)
        out[self.keep] = r
        return out

    def bounced(self, one: Bound, x: Inputs, before: Array, came: BoolArray) -> Array:
        """Return the bias of restitution [m/s], shape (m,): e u_N⁻ for the normals in `came`.

        before   velocities before the impact [m/s], shape (m,)
        came     whether each normal was approached

        A user-defined law computes its own bias.
        """
        law = one.law  # at the parameters in x
        if law.has_own_bias:
            return law.bias(before)
        bias = np.zeros(law.size)
        if law.impact == "newton":
            e = law.restitution.copy()
            if "e" in self._law_sizes:
                e += x["e"][one.blocks]
            bias[law.normals] = np.where(came, e[law.unilateral] * before[law.normals], 0.0)
        return bias

    def taking_part(self) -> list[Bound]:
        """Return the interactions with active blocks."""
        on = np.zeros(self.system.blocks, bool)
        on[self.on] = True
        return [one for one in self.system.interactions if on[one.blocks].any()]

    def name_of(self, block: int) -> str:
        """Return the name of a block in messages."""
        one = next(one for one in self.system.interactions if block < one.blocks.stop)
        number = block - one.blocks.start
        return f"interaction {one.name!r}" + (f", block {number}" if len(one.law.K) > 1 else "")


def whole_set(system: NonsmoothSystem) -> ProductSet:
    """Return the set of the multipliers of all interactions of a system, in order."""
    sets = [one.law.K for one in system.interactions]
    if not sets:
        none = np.zeros(0, np.int64)
        return ProductSet(none, np.zeros(1, np.int64), np.zeros(0), np.zeros(0), np.zeros(1, np.int64), none,
                          np.zeros(0))  # fmt: skip
    return reduce(add, sets)


def coefficients_of(K: ProductSet) -> dict[str, IntArray]:
    """Return the friction groups of K by the name of their coefficient, in order."""
    return {name: np.sort(groups) for name, (_, groups) in named_groups(K).items()}


def law_sizes(system: NonsmoothSystem, family: Family | None) -> dict[str, int]:
    """Return the numbers of parameters of laws by name, except names that are parameters of the family."""
    K = whole_set(system)
    sizes = {name: groups.size for name, groups in coefficients_of(K).items()}
    if any(one.law.impact == "newton" for one in system.interactions):
        sizes["e"] = system.blocks
    if (K.kind == cones.INTERVAL).any():
        sizes["lower"] = sizes["upper"] = system.blocks
    family_names = () if family is None else family.numbers
    return {name: size for name, size in sizes.items() if name not in family_names}


def input_shapes(system: NonsmoothSystem, family: Family | None) -> dict[str, tuple[int, ...]]:
    """Return names and shapes of the inputs by which steps of all schemes can be differentiated."""
    states = {"q": system.q0.shape, "v": system.v0.shape, "h": (1,), "force": system.v0.shape}
    if system.z0.size:
        states["z"] = system.z0.shape
    laws = {name: (size,) for name, size in law_sizes(system, family).items()}
    parameters = {} if family is None else {name: one.shape for name, one in family.numbers.items()}
    return {**states, **laws, **parameters}
