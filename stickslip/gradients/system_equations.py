"""The equations of a step of a system written as equations, as a function of all that it depends on.

With v⁺ the velocities at the end and r the impulses of the blocks that take part, a step is

    balance(x, v⁺, r) = 0,    law(x, v⁺, r) ⟂ r in K(x),    end of the step: q⁺(x, v⁺), ...

where x are state, length of the step, forces, and numbers of laws and systems. Schemes say what balance, law
and end are, in terms of the very parts that their steps are made of. Numbers of laws and forces are changes
here: 0 for those of the system.
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
"""Forecast gaps and velocities of approach that always count as 0, over the size of coordinates and
velocities."""
Inputs = Mapping[str, Array]
"""x: flat arrays by name."""


class Written(NamedTuple):
    """A step of a system, and where it begins."""

    prepared: PreparedSystem
    state: State
    memory: Memory
    h: float
    step: Step


class StepEquations(ABC):
    """The equations of one step that was made."""

    def __init__(self, made: Written):
        self.made, self.system, self.family = made, made.prepared.system, made.prepared.family

    @cached_property
    def inputs(self) -> dict[str, Array]:
        """x where the step was made; a number of a family may have the name of one of a law."""
        state, family = self.made.state, self.family
        own = {"q": np.array(state.q), "v": np.array(state.v), "h": np.array([self.made.h])}
        own["force"] = np.zeros(state.v.size)
        if state.z.size:
            own["z"] = np.array(state.z)
        own |= self.remembered()
        numbers = (
            {} if family is None else {name: np.array(one.ravel()) for name, one in family.numbers.items()}
        )
        for name in numbers:
            if name in own:
                raise ModelError(f"the family has a number {name!r}, which is also a name of the step")
        return own | {name: np.zeros(size) for name, size in self._law_sizes.items()} | numbers

    @cached_property
    def _law_sizes(self) -> dict[str, int]:
        return law_sizes(self.system, self.family)

    def size(self, name: str) -> Array:
        """What a change of that input is small beside, shape (numbers,)."""
        x = np.abs(self.inputs[name])
        return x if name in ("h", "h_before") else np.maximum(x, 1.0)

    @cached_property
    def whole(self) -> ProductSet:
        """The set of the multipliers of all blocks, in order."""
        return whole_set(self.system)

    @cached_property
    def coefficients(self) -> dict[str, IntArray]:
        """Groups of all blocks by the name of their coefficient: those that `mu` changes, and so on."""
        return coefficients_of(self.whole)

    @property
    @abstractmethod
    def on(self) -> IntArray:
        """Blocks that take part [-], shape (any,)."""

    @cached_property
    def keep(self) -> IntArray:
        """Where their components stand among those of all [-], shape (n,)."""
        return spans(self.whole.offset, self.on)

    @abstractmethod
    def weight(self, x: Inputs) -> float:
        """For how long forces count in the step [s]."""

    @abstractmethod
    def remembered(self) -> dict[str, Array]:
        """What the scheme carries beside the state, among the inputs."""

    @abstractmethod
    def outputs(self, x: Inputs, v: Array, r: Array) -> dict[str, Array]:
        """`balance` (nv,), `law` (n,), `q` (nq,), `z` (nz,) and what is remembered, for v⁺ and r (n,)."""

    @abstractmethod
    def kinks(self, presses: BoolArray, near: Array) -> list[str]:
        """Sentences about where the step has no derivative, beside what its laws say.

        Of all components, shape (size,): whether they take part and do not open, and velocities that are not
        told from 0 [m/s].
        """

    def system_at(self, x: Inputs) -> PreparedSystem:
        """The system, with the numbers of its family that x has."""
        return self.made.prepared.at(x)

    def bounds(self, x: Inputs) -> ProductSet:
        """The set of the impulses that take part."""
        K, w = whole_set(self.system_at(x).system), self.weight(x)
        coefficient = K.coefficient.copy()
        for name, groups in self.coefficients.items():
            coefficient[groups] += self._change(name, x)
        bounded = K.kind == cones.INTERVAL  # whose bounds are forces; those of others are 0 and infinite
        lower = np.where(bounded, w * (K.lower + self._change("lower", x)), K.lower)
        upper = np.where(bounded, w * (K.upper + self._change("upper", x)), K.upper)
        return blocks_of(
            ProductSet(K.kind, K.offset, lower, upper, K.group_offset, K.group_size, coefficient), self.on
        )

    def _change(self, name: str, x: Inputs) -> Array | float:
        """Of numbers of laws, in their order; 0 where there are none, or they are a family's."""
        return x[name] if name in self._law_sizes else 0.0

    def all_components(self, r: Array) -> Array:
        """Impulses of all blocks, those that take no part 0 [N s], shape (size,)."""
        out = np.zeros(self.system.size)
        out[self.keep] = r
        return out

    def bounced(self, one: Bound, x: Inputs, before: Array, came: BoolArray) -> Array:
        """What restitution prescribes [m/s], shape (m,): e u_N⁻ where `came` says that it was approached.

        `before`: velocities before the impact, shape (m,). A law with a bias of its own is asked.
        """
        law = one.law  # of the system that x tells
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
        """Interactions with blocks that do."""
        on = np.zeros(self.system.blocks, bool)
        on[self.on] = True
        return [one for one in self.system.interactions if on[one.blocks].any()]

    def name_of(self, block: int) -> str:
        """What a block is called in a sentence."""
        one = next(one for one in self.system.interactions if block < one.blocks.stop)
        number = block - one.blocks.start
        return f"interaction {one.name!r}" + (f", block {number}" if len(one.law.K) > 1 else "")


def whole_set(system: NonsmoothSystem) -> ProductSet:
    """The set of the multipliers of all interactions of a system, in order."""
    sets = [one.law.K for one in system.interactions]
    if not sets:
        none = np.zeros(0, np.int64)
        return ProductSet(none, np.zeros(1, np.int64), np.zeros(0), np.zeros(0), np.zeros(1, np.int64), none,
                          np.zeros(0))  # fmt: skip
    return reduce(add, sets)


def coefficients_of(K: ProductSet) -> dict[str, IntArray]:
    """Groups of K by the name of their coefficient, in order."""
    return {name: np.sort(groups) for name, (_, groups) in named_groups(K).items()}


def law_sizes(system: NonsmoothSystem, family: Family | None) -> dict[str, int]:
    """How many numbers of laws may be changed, by name; those that a family has are its own."""
    K = whole_set(system)
    found = {name: groups.size for name, groups in coefficients_of(K).items()}
    if any(one.law.impact == "newton" for one in system.interactions):
        found["e"] = system.blocks
    if (K.kind == cones.INTERVAL).any():
        found["lower"] = found["upper"] = system.blocks
    theirs = () if family is None else family.numbers
    return {name: size for name, size in found.items() if name not in theirs}


def input_shapes(system: NonsmoothSystem, family: Family | None) -> dict[str, tuple[int, ...]]:
    """What steps of a system can be differentiated by, whatever the scheme: names and shapes."""
    own = {"q": system.q0.shape, "v": system.v0.shape, "h": (1,), "force": system.v0.shape}
    if system.z0.size:
        own["z"] = system.z0.shape
    laws = {name: (size,) for name, size in law_sizes(system, family).items()}
    theirs = {} if family is None else {name: one.shape for name, one in family.numbers.items()}
    return {**own, **laws, **theirs}
