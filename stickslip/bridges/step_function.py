"""Steps of a world, robot or system as functions of plain arrays, with forward and transposed derivatives."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stickslip.gradients.charts import JointChart, to_coordinates, to_displacements
from stickslip.gradients.step import checked_kappa, checked_solver, scheme_to_differentiate
from stickslip.gradients.system_step import scheme_of_system
from stickslip.gradients.trajectory import gradient_along
from stickslip.gradients.trajectory_robot import CONTROLS as ROBOT_CONTROLS
from stickslip.gradients.trajectory_robot import RobotRun, input_shapes
from stickslip.gradients.trajectory_run import Flagged, Point, Run, checked_inputs
from stickslip.gradients.trajectory_schedule import checked_kept
from stickslip.gradients.trajectory_sensitivity import sensitivity_along
from stickslip.gradients.trajectory_steps import CONTROLS, Steps, checked_controls
from stickslip.gradients.trajectory_system import SystemSteps
from stickslip.mechanics.parameters import BEYOND_CONTACTS, Parameters
from stickslip.mechanics.world import World
from stickslip.names import alternatives
from stickslip.robots.numbers import ROBOT_NUMBERS, robot_with
from stickslip.robots.robot import Robot
from stickslip.schemes.body_step import BodyScheme
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.registry import chosen_for_robots
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.step import Memory, Solver, first_state
from stickslip.simulation.clock import length
from stickslip.state import Array, ModelError, State
from stickslip.systems.family import Family
from stickslip.systems.system import NonsmoothSystem

ON_KINK = ("accept", "raise")
"""Actions for a step without a derivative."""


class NoDerivative(RuntimeError):  # noqa: N818 (a kink is not an error of the caller)
    """A step has no derivative; raised with `on_kink="raise"`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ArraysFunction(ABC):
    """Function (q, v, *inputs) -> (q, v) after `steps` steps of length h."""

    h: float
    """Length of the steps [s]."""
    solver: Solver
    scheme: Any = None
    """A name, a scheme, or None for `moreau-jean-semi-explicit`."""
    inputs: Sequence[str] = ()
    """Names of the arguments after q and v."""
    steps: int = 1
    """Number of steps of a call."""
    path: bool = False
    """Whether to return q and v after each step, with a first axis of steps, or after the last step only."""
    continues: bool = True
    """Whether v is the velocity of a previous step of length h, or the initial velocity of a run; the
    variational
    scheme distinguishes these."""
    kappa: float = 0.0
    """Smoothing of contact and friction in derivatives; 0 for exact ones."""
    on_kink: str = "accept"
    """Action for a step without a derivative: `accept` the derivative of one side, or `raise`
    NoDerivative."""
    checkpoints: int | None = None
    """Largest number of states stored for a derivative over several steps."""

    def __post_init__(self) -> None:
        checked_solver(self.solver)
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or self.steps < 1:
            raise ModelError(f"steps is {self.steps!r}; expected a whole number from 1")
        if self.on_kink not in ON_KINK:
            raise ModelError(f"on_kink is {self.on_kink!r}; {alternatives(self.on_kink, ON_KINK)}")
        names = (self.inputs,) if isinstance(self.inputs, str) else tuple(self.inputs)
        known = self.known()
        for name in names:
            if name not in known:
                raise ModelError(f"unknown input {name!r}; {alternatives(name, known)}")
        if len(set(names)) < len(names):
            raise ModelError(f"inputs are named twice: {', '.join(names)}")
        checked_kept(self.checkpoints, self.steps)
        self.set(inputs=names, h=length("h", self.h), kappa=checked_kappa(self.kappa))

    def set(self, **fields: Any) -> None:
        """Set checked values of fields."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @abstractmethod
    def known(self) -> tuple[str, ...]:
        """Return the names that `inputs` may contain."""

    @abstractmethod
    def shapes(self, name: str) -> list[tuple[int, ...]]:
        """Return the shapes that an argument may have; results have the first shape of `q` and `v`."""

    @abstractmethod
    def run(self, q: Array, v: Array, inputs: dict[str, Array]) -> Run:
        """Return the run from q and v with these inputs; arguments are not checked."""

    @abstractmethod
    def displaced(self, q: Array, dq: Array) -> Array:
        """Return displacements for changes of the numbers of q."""

    @abstractmethod
    def changed(self, q: Array, displacement: Array) -> Array:
        """Return changes of the numbers of q for displacements."""

    @property
    def results(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shapes of the returned q and v."""
        q, v = self.shapes("q")[0], self.shapes("v")[0]
        return ((self.steps, *q), (self.steps, *v)) if self.path else (q, v)

    def check(self, shapes: Sequence[tuple[int, ...]]) -> None:
        """Raise a ModelError for a wrong number or wrong shapes of arguments."""
        names = ("q", "v", *self.inputs)
        if len(shapes) != len(names):
            raise ModelError(f"{len(shapes)} arguments are given; expected {', '.join(names)}")
        for name, shape in zip(names, shapes, strict=True):
            known = self.shapes(name)
            if tuple(shape) not in known:
                raise ModelError(f"{name} has shape {tuple(shape)}, expected {' or '.join(map(str, known))}")

    def value(self, q: Array, v: Array, *inputs: Array) -> tuple[Array, Array]:
        """Return q and v after the steps."""
        steps = self._steps(q, v, inputs)
        point, passed = steps.start, []
        for k in range(len(steps)):
            point = steps.make(k, point)
            if self.path:
                passed.append(point.state)
        if not self.path:
            return np.array(point.state.q), np.array(point.state.v)
        return np.array([one.q for one in passed]), np.array([one.v for one in passed])

    def transposed(self, q: Array, v: Array, inputs: Sequence[Array], dq: Array, dv: Array) -> list[Array]:
        """Return weights of q, v and the inputs, for weights of the results."""
        steps = self._steps(q, v, tuple(inputs))
        rows = (dq[None], dv[None]) if not self.path else (dq, dv)

        def loss(k: int, state: State) -> tuple[float, Array, Array] | None:
            at = k - 1 if self.path else k - len(steps)
            return (0.0, rows[0][at], rows[1][at]) if at >= 0 else None

        answer = gradient_along(steps, loss, ("q", "v", *self.inputs), self.checkpoints)
        self._look(answer, len(steps), answer.notes)
        by_q = steps.coordinates(np.asarray(q, float), answer.gradient["q"])
        return [by_q, answer.gradient["v"], *(answer.gradient[name] for name in self.inputs)]

    def tangent(self, q: Array, v: Array, inputs: Sequence[Array], *changes: Array) -> tuple[Array, Array]:
        """Return the changes of the results for changes of q, v and the inputs."""
        steps = self._steps(q, v, tuple(inputs))
        dq, dv, *others = (np.asarray(one, float) for one in changes)
        by = {"q": self.displaced(np.asarray(q, float), dq), "v": dv}
        for name, change in zip(self.inputs, others, strict=True):
            axes = (len(steps), -1, 1) if name in steps.controls else (-1, 1)
            by[name] = change.reshape(axes)
        answer = sensitivity_along(steps, by, 1 if self.path else len(steps))
        self._look(answer, len(steps), answer.notes)
        pairs = zip(answer.q[1:], answer.dq[1:, :, 0], strict=True)
        end_q = np.array([self.changed(at, change) for at, change in pairs])
        return (end_q, answer.dv[1:, :, 0]) if self.path else (end_q[-1], answer.dv[-1, :, 0])

    def _look(self, found: Flagged, steps: int, notes: Sequence[str]) -> None:
        """Raise NoDerivative for a derivative that does not exist, if `on_kink` is "raise"."""
        if self.on_kink == "raise" and not found.exists:
            why = f": {notes[0]}" if notes else ""
            raise NoDerivative(f"{len(found.kinks)} of {steps} steps have no derivative{why}")

    def _steps(self, q: Array, v: Array, inputs: tuple[Array, ...]) -> Run:
        self.check([np.shape(one) for one in (q, v, *inputs)])
        for name, one in zip(("q", "v", *self.inputs), (q, v, *inputs), strict=True):
            if not np.isfinite(one).all():
                raise ModelError(f"{name} is not finite: {one}")
        values = dict(zip(self.inputs, (np.array(one, float) for one in inputs), strict=True))
        return self.run(np.array(q, float), np.array(v, float), values)

    def times(self, t: float) -> tuple[Array, Array, Array]:
        """Return times, lengths and shares (see `Run`) of the steps from t."""
        count = self.steps
        return np.array([t + k * self.h for k in range(count + 1)]), np.full(count, self.h), np.ones(count)


@dataclass(frozen=True, eq=False, kw_only=True)
class StepFunction(ArraysFunction):
    """Function of steps of a world. Inputs are fields of `Parameters`, with their shapes; `effort` and
    `wrench`
    may have one row for each step.

    q has 7 numbers for each body, as `State.q`, and v has 6. Quaternions are normalised first, so that the
    function has derivatives by all their numbers. Each call starts at the start time of `world`. A scheme by
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
        shape = getattr(self._prepared.parameters, name).shape
        return [shape, (self.steps, *shape)] if name in CONTROLS else [shape]

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

    def displaced(self, q: Array, dq: Array) -> Array:
        return to_displacements(q, dq[:, None])[:, 0]

    def changed(self, q: Array, displacement: Array) -> Array:
        return to_coordinates(q, displacement[:, None])[:, 0]

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
    """Function of steps of a `NonsmoothSystem` from t = 0; inputs are numbers of a family."""

    prepared: PreparedSystem

    def __post_init__(self) -> None:
        super().__post_init__()
        self.set(scheme=scheme_of_system(self.scheme, self.prepared.system))

    def known(self) -> tuple[str, ...]:
        return () if self.prepared.family is None else tuple(self.prepared.family.numbers)

    def shapes(self, name: str) -> list[tuple[int, ...]]:
        if name in ("q", "v"):
            system = self.prepared.system
            return [(system.q0 if name == "q" else system.v0).shape]
        assert self.prepared.family is not None
        return [self.prepared.family.numbers[name].shape]

    def run(self, q: Array, v: Array, inputs: dict[str, Array]) -> SystemSteps:
        prepared, scheme = self.prepared, self.scheme
        if inputs:
            family = prepared.family
            assert family is not None
            prepared = PreparedSystem(Family(family.make, **{**family.numbers, **inputs}))
        begin = first_state(prepared.system)
        state = State(begin.t, q, v, begin.z)
        memory = _going_on(scheme.begin(prepared, state, self.h), self)
        return SystemSteps(
            prepared, scheme, self.solver, Point(state, memory), *self.times(begin.t), {}, self.kappa
        )

    def displaced(self, q: Array, dq: Array) -> Array:
        return dq

    def changed(self, q: Array, displacement: Array) -> Array:
        return displacement


@dataclass(frozen=True, eq=False, kw_only=True)
class RobotStepFunction(ArraysFunction):
    """Function of steps of a robot, with activations, controls and mocap bodies of its start. Inputs are
    `ctrl`
    and `force`, which may have one row for each step, `mass` of bodies, `friction` and `restitution` of
    geoms,
    and `limit_restitution`.

    q and v are qpos and qvel of MuJoCo. Quaternions are normalised first.
    """

    robot: Robot
    _prepared: PreparedRobot = field(init=False, repr=False)
    _chart: JointChart = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        prepared, scheme = PreparedRobot(self.robot), chosen_for_robots(self.scheme)
        self.set(scheme=scheme, _prepared=prepared, _chart=JointChart(self.robot.model))

    def known(self) -> tuple[str, ...]:
        return (*ROBOT_CONTROLS, *ROBOT_NUMBERS)

    def shapes(self, name: str) -> list[tuple[int, ...]]:
        shape = (self.robot.model.nq,) if name == "q" else input_shapes(self.robot)[name]
        return [shape, (self.steps, *shape)] if name in ROBOT_CONTROLS else [shape]

    def run(self, q: Array, v: Array, inputs: dict[str, Array]) -> RobotRun:
        numbers = {k: inputs[k] for k in ROBOT_NUMBERS if k in inputs}
        prepared = PreparedRobot(robot_with(self.robot, **numbers)) if numbers else self._prepared
        start, m = self.robot.start, self.robot.model
        shapes = {name: self.shapes(name)[0] for name in ROBOT_CONTROLS}
        controls = {k: inputs[k] for k in shapes if k in inputs and inputs[k].ndim > 1}
        z = np.array(start.z)
        if "ctrl" in inputs and "ctrl" not in controls:
            z[m.na : m.na + m.nu] = inputs["ctrl"]
        state = State(start.t, self._chart.normalised(q), v, z)
        self.robot.check_state(state)
        memory = self.scheme.begin(prepared, state, self.h)
        if "force" in inputs and "force" not in controls:
            memory["qfrc_applied"] = inputs["force"]
        return RobotRun(
            prepared, self.scheme, self.solver, Point(state, memory), *self.times(start.t),
            checked_inputs(controls, shapes, self.steps), self.kappa,
        )  # fmt: skip

    def displaced(self, q: Array, dq: Array) -> Array:
        return np.asarray(self._chart.slopes(q)[1] @ dq)

    def changed(self, q: Array, displacement: Array) -> Array:
        return np.asarray(self._chart.slopes(q)[0] @ displacement)


def _going_on(memory: Memory, how: ArraysFunction) -> Memory:
    """The memory of a first step, or of one after a step of the same length."""
    return {**memory, "h": np.array([how.h])} if how.continues and "h" in memory else dict(memory)


def function_of(
    thing: World | NonsmoothSystem | Family | Robot, h: float, solver: Solver, how: dict[str, Any]
) -> ArraysFunction:
    """The function of steps of a world, a robot, a system or a family."""
    if isinstance(thing, Robot):
        return RobotStepFunction(robot=thing, h=h, solver=solver, **how)
    if isinstance(thing, NonsmoothSystem | Family):
        return SystemStepFunction(prepared=PreparedSystem(thing), h=h, solver=solver, **how)
    return StepFunction(world=thing, h=h, solver=solver, **how)
