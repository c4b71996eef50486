"""Steps of a world, or of a system written as equations, as functions of plain arrays."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.bridges.arrays_function import ArraysFunction
from stickslip.gradients.charts import weights_of_coordinates
from stickslip.gradients.step import scheme_to_differentiate
from stickslip.gradients.system_step import scheme_of_system
from stickslip.gradients.trajectory_run import Point
from stickslip.gradients.trajectory_steps import CONTROLS, Steps, checked_controls
from stickslip.gradients.trajectory_system import SystemSteps
from stickslip.mechanics.parameters import Parameters
from stickslip.mechanics.world import World
from stickslip.schemes.body_step import BodyScheme
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import Memory, Scheme, Solver, first_state
from stickslip.state import Array, ModelError, State
from stickslip.systems.family import Family
from stickslip.systems.system import NonsmoothSystem

BEYOND_CONTACTS = ("gravity", "mass", "inertia", *CONTROLS)
"""Parameters that change nothing of what a detector tells: where bodies touch, and of what materials."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StepFunction(ArraysFunction):
    """Of a world; inputs are fields of `Parameters` in their shapes there, and `effort` and `wrench` may have
    a row for each step.

    q has 7 numbers for each body, as `State.q`, and v has 6. Quaternions are normalised first, so that the
    function has derivatives by all of them. Each call starts at the time at which `world` starts. A scheme by
    name is without position correction, which has no derivative.
    """

    world: World
    _memory: Memory = field(init=False, repr=False)
    _prepared: PreparedWorld = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.world, World):
            raise ModelError(f"world is {type(self.world).__name__}; expected a World")
        super().__post_init__()
        scheme: BodyScheme = scheme_to_differentiate(self.scheme)
        prepared = PreparedWorld(self.world)
        memory = _going_on(scheme.begin(prepared, self.world.start, self.h), self)
        self.set(scheme=scheme, _memory=memory, _prepared=prepared)

    def known(self) -> tuple[str, ...]:
        return Parameters.names()

    def shapes(self, name: str) -> list[tuple[int, ...]]:
        n = len(self.world.names)
        if name in ("q", "v"):
            return [((7 if name == "q" else 6) * n,)]
        own = getattr(self._prepared.parameters, name).shape
        return [own, (self.steps, *own)] if name in CONTROLS else [own]

    def run(self, q: Array, v: Array, inputs: dict[str, Array]) -> Steps:
        prepared, base = self._prepared, self._prepared.parameters
        controls = {k: one for k, one in inputs.items() if one.ndim > getattr(base, k).ndim}
        fixed = {k: one for k, one in inputs.items() if k not in controls}
        if fixed:
            like = prepared if set(fixed) <= set(BEYOND_CONTACTS) else None
            prepared = PreparedWorld(base.with_(**fixed).applied(self.world), like)
        t = self.world.start.t
        state = State(t, self._normalised(q), v)
        state.v.flags.writeable = False
        return Steps(
            prepared, self.scheme, self.solver, Point(state, self._memory), *self.times(t),
            checked_controls(prepared, controls, self.steps), self.kappa,
        )  # fmt: skip

    def coordinates(self, q: Array, on_q: Array) -> Array:
        return weights_of_coordinates(q, on_q[:, None])[:, 0]

    def _normalised(self, q: Array) -> Array:
        poses = q.reshape(-1, 7)
        norms = np.linalg.norm(poses[:, 3:], axis=1)
        for k in np.flatnonzero(norms == 0.0).tolist():
            raise ModelError(f"body {self.world.names[k]!r}: its quaternion is zero")
        poses[:, 3:] /= norms[:, None]
        flat = poses.reshape(-1)
        flat.flags.writeable = False
        return flat


@dataclass(frozen=True, eq=False, kw_only=True)
class SystemStepFunction(ArraysFunction):
    """Of a system written as equations, from t = 0 on; inputs are numbers of a family."""

    given: NonsmoothSystem | Family

    def __post_init__(self) -> None:
        super().__post_init__()
        system = self.given.system if isinstance(self.given, Family) else self.given
        self.set(scheme=scheme_of_system(self.scheme, system))

    def known(self) -> tuple[str, ...]:
        return tuple(self.given.numbers) if isinstance(self.given, Family) else ()

    def shapes(self, name: str) -> list[tuple[int, ...]]:
        system = self.given.system if isinstance(self.given, Family) else self.given
        if name in ("q", "v"):
            return [(system.q0 if name == "q" else system.v0).shape]
        assert isinstance(self.given, Family)
        return [self.given.numbers[name].shape]

    def run(self, q: Array, v: Array, inputs: dict[str, Array]) -> SystemSteps:
        given = self.given
        if inputs:
            assert isinstance(given, Family)
            given = Family(given.make, **{**given.numbers, **inputs})
        system = given.system if isinstance(given, Family) else given
        scheme: Scheme = self.scheme
        begin = first_state(system)
        state = State(begin.t, q, v, begin.z)
        memory = _going_on(scheme.begin(system, state, self.h), self)
        known = {"q": q.shape, "v": v.shape, **{name: one.shape for name, one in inputs.items()}}
        return SystemSteps(
            given, scheme, self.solver, Point(state, memory), *self.times(begin.t), {}, known, self.kappa
        )

    def coordinates(self, q: Array, on_q: Array) -> Array:
        return on_q


def _going_on(memory: Memory, how: ArraysFunction) -> Memory:
    """The memory of a first step, or of one after a step of the same length."""
    return {**memory, "h": np.array([how.h])} if how.continues and "h" in memory else dict(memory)


def function_of(
    thing: World | NonsmoothSystem | Family, h: float, solver: Solver, how: dict[str, Any]
) -> ArraysFunction:
    """The function of steps of a world, a system or a family."""
    if isinstance(thing, NonsmoothSystem | Family):
        return SystemStepFunction(given=thing, h=h, solver=solver, **how)
    return StepFunction(world=thing, h=h, solver=solver, **how)
