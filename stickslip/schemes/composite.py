"""Composite scheme: different schemes for different systems, with the same step length h.

Systems that share an interaction need the same scheme, because multipliers of different schemes differ in
kind, such as impulses and multipliers at position level (Siconos Developer's Notes 2017, 10.4). An
interaction between systems with different schemes raises a ModelError. Moreau-Jean schemes that differ only
in theta count as one scheme with one theta per system.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stickslip.names import alternatives
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import Level
from stickslip.schemes.moreau_jean import MoreauJean
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import CONTACT_WORK, InteractionPart, Memory, Scheme, Solver, Step, frozen_state
from stickslip.schemes.work import work_of
from stickslip.state import BoolArray, ModelError, State
from stickslip.systems.system import NonsmoothSystem

ADDED = ("spring energy [J]", "impacts [-]")
"""Measures that are summed over the parts, as is the work of contacts; for others the largest value
counts."""


@dataclass(frozen=True, eq=False)
class Part:
    """Systems with the same scheme, as a separate nonsmooth system, with the maps of their indices."""

    scheme: Scheme
    """The scheme."""
    system: PreparedSystem
    """The systems and their interactions."""
    q: IntArray
    """Their coordinates in the flat q [-], shape (any,)."""
    v: IntArray
    """Their velocities in the flat v [-], shape (any,)."""
    z: IntArray
    """Their discrete parameters in the flat z [-], shape (any,)."""
    components: IntArray
    """Components of their interactions [-], shape (any,)."""
    blocks: IntArray
    """Blocks of their interactions [-], shape (any,)."""
    interactions: tuple[int, ...]
    """Numbers of their interactions."""

    def state(self, of: State) -> State:
        """Return the state of these systems."""
        return frozen_state(of.t, of.q[self.q], of.v[self.v], of.z[self.z])


@dataclass(frozen=True, eq=False)
class Composite(Scheme):
    """A scheme for each system, by name."""

    schemes: Mapping[str, Scheme]
    """Scheme of every system, by the system's name."""

    def levels(self, system: NonsmoothSystem | PreparedSystem) -> tuple[Level, ...]:
        levels: dict[int, Level] = {}
        for part in self.parts(system):
            levels.update(zip(part.interactions, part.scheme.levels(part.system), strict=True))
        return tuple(levels[i] for i in range(len(levels)))

    def begin(self, system: NonsmoothSystem | PreparedSystem, state: State, h: float) -> Memory:
        memory: Memory = {}
        for i, part in enumerate(self.parts(system)):
            arrays = part.scheme.begin(part.system, part.state(state), h)
            memory.update({f"{i}/{name}": array for name, array in arrays.items()})
        return memory

    def step(
        self, system: NonsmoothSystem | PreparedSystem, state: State, memory: Memory, h: float, solver: Solver
    ) -> Step:
        prepared, steps = PreparedSystem.of(system), []
        parts = self.parts(prepared)
        for i, part in enumerate(parts):
            start = f"{i}/"
            arrays = {name[len(start) :]: array for name, array in memory.items() if name.startswith(start)}
            steps.append(part.scheme.step(part.system, part.state(state), arrays, h, solver))
        return _joined(prepared.system, state, h, parts, steps, self.levels(prepared))

    def parts(self, system: NonsmoothSystem | PreparedSystem) -> tuple[Part, ...]:
        """Return the parts of a system, computed once per prepared system."""
        return PreparedSystem.of(system).part(_parts, self)


def _parts(prepared: PreparedSystem, scheme: Composite) -> tuple[Part, ...]:
    """Return the parts of a system; raise ModelError for missing schemes and interactions between parts."""
    system = prepared.system
    for name in scheme.schemes:
        if name not in system.number:
            raise ModelError(
                f"a scheme is given for the unknown system {name!r}; {alternatives(name, system.number)}"
            )
    for name in system.number:
        if name not in scheme.schemes:
            raise ModelError(f"system {name!r} has no scheme; give one for every system, or one for all")
    groups = _merged(scheme.schemes, system)
    of = {number: k for k, (_, numbers) in enumerate(groups) for number in numbers}
    for one in system.interactions:
        if len({of[i] for i in one.systems}) > 1:
            under = (
                f"{system.systems[i].name!r} under {type(groups[of[i]][0]).__name__}" for i in one.systems
            )
            raise ModelError(
                f"interaction {one.name!r} ties systems under different schemes: {', '.join(under)};"
                " give them the same scheme"
            )
    return tuple(part(prepared, one, tuple(numbers)) for one, numbers in groups)


def _merged(schemes: Mapping[str, Scheme], system: NonsmoothSystem) -> list[tuple[Scheme, list[int]]]:
    """Return schemes with the numbers of their systems; Moreau-Jean schemes that differ only in theta are
    merged."""
    groups: list[tuple[Scheme, list[int]]] = []
    for number, one in enumerate(system.systems):
        scheme = schemes[one.name]
        for k, (other, numbers) in enumerate(groups):
            if isinstance(scheme, MoreauJean) and isinstance(other, MoreauJean):
                if replace(scheme, theta=0.5) == replace(other, theta=0.5):
                    names = [system.systems[i].name for i in numbers]
                    theta = {name: other.weight(name) for name in names} | {one.name: scheme.weight(one.name)}
                    groups[k] = (replace(other, theta=theta), [*numbers, number])
                    break
            elif scheme is other or (type(scheme) is type(other) and scheme == other):
                numbers.append(number)
                break
        else:
            groups.append((scheme, [number]))
    return groups


def part(
    prepared: PreparedSystem, scheme: Scheme, numbers: tuple[int, ...],
    kind: type[NonsmoothSystem] = NonsmoothSystem,
) -> Part:  # fmt: skip
    """Return some systems and their interactions, which are not coupled to others, as a separate system."""
    system = prepared.system
    interactions = [i for i, one in enumerate(system.interactions) if one.systems[0] in numbers]
    places = [system.places[i] for i in numbers]
    ties = [system.interactions[i] for i in interactions]
    return Part(
        scheme, PreparedSystem(system.part(numbers, kind)), _indices(place.q for place in places),
        _indices(place.v for place in places), _indices(place.z for place in places),
        _indices(one.components for one in ties), _indices(one.blocks for one in ties), tuple(interactions),
    )  # fmt: skip


def _indices(slices: Any) -> IntArray:
    """Return the indices of slices, concatenated."""
    return np.concatenate([np.arange(0), *(np.arange(s.start, s.stop) for s in slices)])


def _joined(
    system: NonsmoothSystem, state: State, h: float, parts: tuple[Part, ...], steps: list[Step],
    levels: tuple[Level, ...],
) -> Step:  # fmt: skip
    """Return the steps of all parts as one step."""

    def gathered(size: int, where: str, name: str) -> Array:
        out = np.empty(size)
        for part, step in zip(parts, steps, strict=True):
            out[getattr(part, where)] = getattr(step, name)
        return out

    q, v, z = np.empty_like(state.q), np.empty_like(state.v), np.empty_like(state.z)
    active: BoolArray = np.zeros(system.blocks, bool)
    for part, step in zip(parts, steps, strict=True):
        q[part.q], v[part.v], z[part.z] = step.state.q, step.state.v, step.state.z
        active[part.blocks] = step.active
    measures: dict[str, float] = {}
    for step in steps:
        for name, value in step.measures.items():
            if name in ADDED:
                measures[name] = value + measures.get(name, 0.0)
            else:
                measures[name] = max(value, measures.get(name, value))
    if CONTACT_WORK in measures:
        measures[CONTACT_WORK] = sum(
            _work(part, state, step) for part, step in zip(parts, steps, strict=True)
        )
    return Step(
        frozen_state(steps[0].state.t, q, v, z), h,
        gathered(system.size, "components", "r"), gathered(system.size, "components", "u"),
        {f"{i}/{name}": array for i, step in enumerate(steps) for name, array in step.memory.items()},
        InteractionPart(
            gathered(system.size, "components", "y"), gathered(system.blocks, "blocks", "forecast"), active,
            levels,
            tuple(
                place.components[x] for place, step in zip(parts, steps, strict=True) for x in step.components
            ),
        ),
        solves=tuple(solution for step in steps for solution in step.solves),
        newton=max(step.newton for step in steps),
        events=tuple(sorted((e for step in steps for e in step.events), key=lambda e: e.t)),
        reason="; ".join(step.reason for step in steps if step.reason), measures=measures,
        relaxation=", ".join(dict.fromkeys(step.relaxation for step in steps if step.relaxation)),
    )  # fmt: skip


def _work(part: Part, state: State, step: Step) -> float:
    """Return the work of a part's contacts [J], from the measures of its scheme or from its impulses."""
    if CONTACT_WORK in step.measures:
        return step.measures[CONTACT_WORK]
    return work_of(part.system.system, part.state(state), step.state, step.h, step.r)
