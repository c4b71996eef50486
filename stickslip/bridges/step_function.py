"""A step, or several, as a function of plain arrays with a transposed derivative, whoever calls it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from stickslip.detection.detector import Detector
from stickslip.gradients.charts import weights_of_coordinates
from stickslip.gradients.step import checked_kappa, checked_solver, scheme_to_differentiate
from stickslip.gradients.trajectory import TrajectoryGradient, gradient_along
from stickslip.gradients.trajectory_run import Point
from stickslip.gradients.trajectory_schedule import checked_kept
from stickslip.gradients.trajectory_steps import CONTROLS, Steps, checked_controls
from stickslip.mechanics.parameters import Parameters
from stickslip.mechanics.world import World
from stickslip.schemes.body_step import BodyScheme
from stickslip.schemes.step import Memory, Solver
from stickslip.simulation.clock import length
from stickslip.state import Array, ModelError, State

ON_KINK = ("accept", "raise")
"""What may be done where a step has no derivative."""
BEYOND_CONTACTS = ("gravity", "mass", "inertia", *CONTROLS)
"""Parameters that change nothing of what a detector tells: where bodies touch, and of what materials."""


class MissingPackage(ImportError):  # noqa: N818 (a package that is not there is not an error of ours)
    """A framework that is not installed; the message says how to install it."""


class NoDerivative(RuntimeError):  # noqa: N818 (a kink is not an error of the caller)
    """A step has no derivative where it was asked for, and that was to be an exception."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StepFunction:
    """(q, v, *inputs) -> (q, v) after `steps` steps of length h.

    q has 7 numbers for each body, as `State.q`, and v has 6. Quaternions are normalised first, so that the
    function has derivatives by all of them. Each call starts at the time at which `world` starts.
    """

    world: World
    h: float
    """[s]."""
    solver: Solver
    scheme: Any = None
    """A name, a scheme such as `MoreauJeanBodies()`, or None for `moreau-jean`; by name without position
    correction, which has no derivative."""
    inputs: Sequence[str] = ()
    """Fields of `Parameters` that come after q and v, in their shapes there; `effort` and `wrench` may have a
    row for each step."""
    steps: int = 1
    path: bool = False
    """Whether to give q and v after each step, shapes (steps, 7 n) and (steps, 6 n), or after the last."""
    continues: bool = True
    """Whether v is the velocity of a step of length h before, or one to begin a run with: the variational
    scheme makes a difference."""
    kappa: float = 0.0
    """Smoothing of contact and friction in derivatives; 0 for exact ones."""
    on_kink: str = "accept"
    """What to do where a step has no derivative: `accept` that of one side, or `raise` NoDerivative."""
    checkpoints: int | None = None
    """Most states to keep for a derivative over several steps."""
    _memory: Memory = field(init=False, repr=False)
    _detector: Detector = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.world, World):
            raise ModelError(f"world is {type(self.world).__name__}; expected a World")
        checked_solver(self.solver)
        if isinstance(self.steps, bool) or not isinstance(self.steps, int) or self.steps < 1:
            raise ModelError(f"steps is {self.steps!r}; expected a whole number from 1")
        if self.on_kink not in ON_KINK:
            raise ModelError(f"on_kink is {self.on_kink!r}; known: {', '.join(ON_KINK)}")
        names = (self.inputs,) if isinstance(self.inputs, str) else tuple(self.inputs)
        for name in names:
            if name not in Parameters.names():
                raise ModelError(f"no input {name!r}; known: {', '.join(Parameters.names())}")
        if len(set(names)) < len(names):
            raise ModelError(f"inputs are named twice: {', '.join(names)}")
        checked_kept(self.checkpoints, self.steps)
        scheme: BodyScheme = scheme_to_differentiate(self.scheme)
        memory = dict(scheme.begin(self.world, self.world.start, length("h", self.h)))
        if self.continues and "h" in memory:  # the length of the step before
            memory["h"] = np.array([self.h])
        for key, value in (
            ("inputs", names), ("scheme", scheme), ("kappa", checked_kappa(self.kappa)), ("_memory", memory),
            ("_detector", Detector(self.world)),
        ):  # fmt: skip
            object.__setattr__(self, key, value)

    @property
    def results(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shapes of q and v that it gives."""
        n = len(self.world.names)
        return ((self.steps, 7 * n), (self.steps, 6 * n)) if self.path else ((7 * n,), (6 * n,))

    def check(self, shapes: Sequence[tuple[int, ...]]) -> None:
        """Refuse arguments whose number or shapes cannot be."""
        n, names = len(self.world.names), ("q", "v", *self.inputs)
        if len(shapes) != len(names):
            raise ModelError(f"{len(shapes)} arguments are given; expected {', '.join(names)}")
        parameters = Parameters.of(self.world)
        for name, shape in zip(names, shapes, strict=True):
            if name in ("q", "v"):
                known = [((7 if name == "q" else 6) * n,)]
            else:
                own = getattr(parameters, name).shape
                known = [own, (self.steps, *own)] if name in CONTROLS else [own]
            if tuple(shape) not in known:
                raise ModelError(f"{name} has shape {tuple(shape)}, expected {' or '.join(map(str, known))}")

    def value(self, q: Array, v: Array, *inputs: Array) -> tuple[Array, Array]:
        """q and v after the steps."""
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
        """Weights of q, v and the inputs, from weights of what it gives there."""
        steps = self._steps(q, v, tuple(inputs))
        rows = (dq[None], dv[None]) if not self.path else (dq, dv)

        def loss(k: int, state: State) -> tuple[float, Array, Array] | None:
            at = k - 1 if self.path else k - len(steps)
            return (0.0, rows[0][at], rows[1][at]) if at >= 0 else None

        found = gradient_along(steps, loss, ("q", "v", *self.inputs), self.checkpoints)
        self._look(found)
        by_q = weights_of_coordinates(np.asarray(q, float), found.gradient["q"][:, None])[:, 0]
        return [by_q, found.gradient["v"], *(found.gradient[name] for name in self.inputs)]

    def _steps(self, q: Array, v: Array, inputs: tuple[Array, ...]) -> Steps:
        """The steps from there, with those inputs."""
        self.check([np.shape(one) for one in (q, v, *inputs)])
        for name, one in zip(("q", "v", *self.inputs), (q, v, *inputs), strict=True):
            if not np.isfinite(one).all():
                raise ModelError(f"{name} is not finite: {one}")
        given = dict(zip(self.inputs, (np.array(one, float) for one in inputs), strict=True))
        base = Parameters.of(self.world)
        controls = {k: one for k, one in given.items() if one.ndim > getattr(base, k).ndim}
        fixed = {k: one for k, one in given.items() if k not in controls}
        world = base.with_(**fixed).applied(self.world) if fixed else self.world
        detector = self._detector if set(fixed) <= set(BEYOND_CONTACTS) else Detector(world)
        t = self.world.start.t
        state = State(t, self._normalised(q), np.array(v, float))
        state.v.flags.writeable = False
        return Steps(
            world, self.scheme, self.solver, detector, Point(state, self._memory),
            np.array([t + k * self.h for k in range(self.steps + 1)]), np.full(self.steps, self.h),
            np.ones(self.steps), checked_controls(world, controls, self.steps), self.kappa,
        )  # fmt: skip

    def _normalised(self, q: Array) -> Array:
        poses = np.array(q, float).reshape(-1, 7)
        norms = np.linalg.norm(poses[:, 3:], axis=1)
        for k in np.flatnonzero(norms == 0.0).tolist():
            raise ModelError(f"body {self.world.names[k]!r}: its quaternion is zero")
        poses[:, 3:] /= norms[:, None]
        flat = poses.reshape(-1)
        flat.flags.writeable = False
        return flat

    def _look(self, found: TrajectoryGradient) -> None:
        if self.on_kink == "raise" and not found.exists:
            why = f": {found.notes[0]}" if found.notes else ""
            raise NoDerivative(f"{len(found.kinks)} of {found.steps} steps have no derivative{why}")


def needed(package: str) -> Any:
    """The package of that name; `MissingPackage` with what to install where it is not there."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingPackage(
            f"this needs the package {package}, which cannot be imported ({error});"
            f' install it with: pip install "stickslip[{package}]"'
        ) from None
