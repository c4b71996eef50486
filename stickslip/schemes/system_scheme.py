"""Base classes of schemes for systems of equations, and checks that they share."""

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
"""Largest opening of a joint, or overlap of a contact, at the start [m, rad] (heuristic); larger values are
errors in q0."""


def _search(prepared: PreparedSystem) -> Search | None:
    """Return the search for contacts of a system; None without one."""
    return search_of(prepared.system)


@dataclass(frozen=True, slots=True)
class SystemScheme(Options, Scheme):
    """Base class of schemes for systems of equations; all laws are stated on the same derivative of y."""

    level: ClassVar[Level]
    """Derivative of y on which laws are stated."""
    takes_guards: ClassVar[bool] = False
    """Whether the scheme locates the zeros of guards."""
    forgotten: ClassVar[Mapping[str, float]] = {}
    """Entries of the memory by block or component, with their values for new contacts."""

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
    """Base class of schemes that can make many steps in one compiled call."""

    def march(
        self, system: NonsmoothSystem | PreparedSystem, state: State, memory: Memory, h: float, steps: int,
        tolerance: float, times: Sequence[float] | Array | None = None, interrupts: Interrupts | None = None,
    ) -> March | None:  # fmt: skip
        """Make at most `steps` steps of length h from `state`; return None for unsupported models and
        options, and for contacts that are detected anew in every step.

        times: the starts of the steps and the end of the last one [s], `steps` + 1 numbers, from a clock that
        does not accumulate rounding; default: each step starts at the end of the previous one. interrupts:
        those of the run, which defer signals until its steps are recorded.
        """
        if search_of(PreparedSystem.of(system).system) is not None:
            return None
        if interrupts is None:
            with Interrupts() as new:
                return self.march(system, state, memory, h, steps, tolerance, times, new)
        each = np.concatenate([[state.t], np.full(steps, h)])
        clock = np.cumsum(each) if times is None else np.array(times, float)
        return self._march(PreparedSystem.of(system), state, memory, h, clock, tolerance, interrupts)

    @abstractmethod
    def _march(
        self, prepared: PreparedSystem, state: State, memory: Memory, h: float, clock: Array,
        tolerance: float, interrupts: Interrupts,
    ) -> March | None:  # fmt: skip
        """Make the steps between the times of `clock` [s], shape (steps + 1,); None for unsupported models
        and options."""


def require_second_order(system: NonsmoothSystem, scheme: str) -> None:
    """Raise ModelError if a system is of first order."""
    for flow, _ in system.flows:
        raise ModelError(
            f"system {flow.name!r} is of first order; {scheme} is for second order (use euler-moreau)"
        )


def require_closed(one: Bound, y: Array, t: float, remedy: str = "") -> None:
    """Raise ModelError if a joint with outputs y [m, rad], shape (m,), is open at the start."""
    opened = float(np.abs(y[one.law.K.bilateral]).max(initial=0.0))
    if opened > APART:
        raise ModelError(
            f"interaction {one.name!r}: at t = {t:.9g} s, y is {opened:.3g}, but its law requires 0;"
            f" start where it holds{remedy}"
        )


def explain_step(system: NonsmoothSystem, state: State, z: Array, t: float, q: Array, v: Array) -> None:
    """Raise ModelError that names the non-finite quantity, at the start of a step or at its end (t, q, v)."""
    system.explain(state.t, state.q, state.v, z)
    if np.isfinite(q).all() and np.isfinite(v).all():
        system.explain(t, q, v, z)
    raise ModelError(f"the step from t = {state.t:.9g} s is not finite; use a smaller h")


def edge_impulse(system: NonsmoothSystem, state: State, z: Array, before: float) -> Array | None:
    """Return (F(t⁻) - F(t)) h₋/2 for schemes with forces at nodes if the node is an edge [N s], shape (nv,):
    half of the previous step, of length `before` = h₋ [s], had the forces before the edge. None without an
    edge."""
    t = state.t
    earlier = t if system.edges is None or not before > 0.0 else system.edges.before(t)
    if earlier == t:
        return None
    impulse = np.zeros(state.v.shape)
    for body, place in system.mechanical:
        of = state.q[place.q], state.v[place.v], z[place.z]
        impulse[place.v] = 0.5 * before * (body.force(earlier, *of) - body.force(t, *of))
    return impulse
