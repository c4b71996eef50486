"""What schemes of systems of equations have in common: levels, refusals, and many steps in one call."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stickslip.interrupts import Interrupts
from stickslip.options import Options
from stickslip.problem.checks import Array
from stickslip.problem.contact import Level
from stickslip.schemes.march import March
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.searching import FEATURES, searched_step
from stickslip.schemes.step import Memory, Scheme, Solver, Step
from stickslip.state import ModelError, State
from stickslip.systems.searches import Search, search_of
from stickslip.systems.system import Bound, NonsmoothSystem

APART = 1e-3
"""A joint further open, or a contact further closed, than this at the start [m, rad] is a mistake in q0."""


def _search(prepared: PreparedSystem) -> Search | None:
    return search_of(prepared.system)


@dataclass(frozen=True, slots=True)
class SystemScheme(Options, Scheme):
    """A scheme that takes a system, or one that was prepared; laws are all stated on one derivative of y."""

    level: ClassVar[Level]
    takes_guards: ClassVar[bool] = False
    """Whether it finds where guards pass zero."""
    forgotten: ClassVar[Mapping[str, float]] = {}
    """What of the memory has an entry for each block or component, and what it is where a contact is new."""

    def levels(self, system: NonsmoothSystem | PreparedSystem) -> tuple[Level, ...]:
        return (self.level,) * len(PreparedSystem.of(system).system.interactions)

    def begin(self, system: NonsmoothSystem | PreparedSystem, state: State, h: float) -> Memory:
        prepared = PreparedSystem.of(system)
        for guard in () if self.takes_guards else prepared.system.guards:
            raise ModelError(
                f"guard {guard.name!r} needs the scheme event-driven, which locates its zeros;"
                f" {type(self).__name__} does not"
            )
        memory, search = self._begin(prepared, state, h), prepared.part(_search)
        return memory if search is None else {**memory, FEATURES: np.zeros(search.slots)}

    def step(
        self, system: NonsmoothSystem | PreparedSystem, state: State, memory: Memory, h: float, solver: Solver
    ) -> Step:
        prepared = PreparedSystem.of(system)
        search = prepared.part(_search)
        if search is None:
            return self._step(prepared, state, memory, h, solver)
        return searched_step(self, prepared, search, state, memory, h, solver)

    @abstractmethod
    def _begin(self, prepared: PreparedSystem, state: State, h: float) -> Memory: ...

    @abstractmethod
    def _step(
        self, prepared: PreparedSystem, state: State, memory: Memory, h: float, solver: Solver
    ) -> Step: ...


@dataclass(frozen=True, slots=True)
class MarchingScheme(SystemScheme):
    """One that makes many steps in one compiled call."""

    def march(
        self, system: NonsmoothSystem | PreparedSystem, state: State, memory: Memory, h: float, steps: int,
        tolerance: float, times: Sequence[float] | Array | None = None, interrupts: Interrupts | None = None,
    ) -> March | None:  # fmt: skip
        """At most `steps` steps of length h from `state`; None where the march knows not model or options, or
        contacts are found anew in every step.

        `times` are those at which the steps begin and the last one ends [s], `steps` + 1 of them: a clock
        that does not add up rounding. Without them each step begins where the one before ended. `interrupts`
        are those of the run that the march is part of, which hold signals back until its steps are kept.
        """
        if search_of(PreparedSystem.of(system).system) is not None:
            return None
        if interrupts is None:
            with Interrupts() as own:
                return self.march(system, state, memory, h, steps, tolerance, times, own)
        each = np.concatenate([[state.t], np.full(steps, h)])
        clock = np.cumsum(each) if times is None else np.array(times, float)
        return self._march(PreparedSystem.of(system), state, memory, h, clock, tolerance, interrupts)

    @abstractmethod
    def _march(
        self, prepared: PreparedSystem, state: State, memory: Memory, h: float, clock: Array,
        tolerance: float, interrupts: Interrupts,
    ) -> March | None:  # fmt: skip
        """The same, over the steps between the times of `clock` [s], shape (steps + 1,)."""


def require_second_order(system: NonsmoothSystem, scheme: str) -> None:
    """A ModelError that names a system of first order."""
    for flow, _ in system.flows:
        raise ModelError(
            f"system {flow.name!r} is of first order; {scheme} is for second order (use euler-moreau)"
        )


def require_closed(one: Bound, y: Array, t: float, remedy: str = "") -> None:
    """A ModelError where a joint is open at the start, y its outputs [m, rad], shape (m,)."""
    opened = float(np.abs(y[one.law.K.bilateral]).max(initial=0.0))
    if opened > APART:
        raise ModelError(
            f"interaction {one.name!r}: at t = {t:.9g} s, y is {opened:.3g}, but its law requires 0;"
            f" start where it holds{remedy}"
        )


def explain_step(system: NonsmoothSystem, state: State, z: Array, t: float, q: Array, v: Array) -> None:
    """Raise a ModelError that names what is not finite, at the start of a step or on the way to (t, q, v)."""
    system.explain(state.t, state.q, state.v, z)
    if np.isfinite(q).all() and np.isfinite(v).all():
        system.explain(t, q, v, z)
    raise ModelError(f"the step from t = {state.t:.9g} s is not finite; use a smaller h")


def edge_impulse(system: NonsmoothSystem, state: State, z: Array, before: float) -> Array | None:
    """Of a scheme with forces at nodes, where one is an edge: (F(t⁻) - F(t)) h₋/2, for the half of the step
    before it, of length `before` = h₋ [s], had the forces before the edge [N s], shape (nv,); None without
    one."""
    t = state.t
    earlier = t if system.edges is None or not before > 0.0 else system.edges.before(t)
    if earlier == t:
        return None
    found = np.zeros(state.v.shape)
    for body, place in system.mechanical:
        of = state.q[place.q], state.v[place.v], z[place.z]
        found[place.v] = 0.5 * before * (body.force(earlier, *of) - body.force(t, *of))
    return found
