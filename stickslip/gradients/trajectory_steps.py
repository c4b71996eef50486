"""Runs of worlds as steps that can be recomputed bitwise and differentiated."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from stickslip.gradients.charts import weights_of_coordinates, weights_of_displacements
from stickslip.gradients.step import (
    StepDerivative,
    checked_kappa,
    checked_solver,
    differentiated,
    scheme_to_differentiate,
)
from stickslip.gradients.trajectory_run import Point, SchemeRun, checked_inputs, checked_on_failure, divided
from stickslip.mechanics.parameters import Parameters, actuators
from stickslip.mechanics.world import BodyKind, World
from stickslip.mechanics.written_forces import JointEffort
from stickslip.schemes.body_step import BodyScheme
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import Solver
from stickslip.simulation.begun import begun_world
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.world_model import WorldModel
from stickslip.state import Array, ModelError, State

CONTROLS = ("effort", "wrench")
"""Parameters that may differ from step to step."""


@dataclass(frozen=True, eq=False)
class Steps(SchemeRun[PreparedWorld, BodyScheme]):
    """Run of a world."""

    @classmethod
    def of(
        cls, world: World | PreparedWorld, *, until: float, h: float | None, scheme: str | BodyScheme | None,
        solver: Solver, start: Checkpoint | State | None = None,
        controls: Mapping[str, ArrayLike] | None = None, kappa: float = 0.0, on_failure: str = "raise",
    ) -> "Steps":  # fmt: skip
        """Return the run that `simulate` would make; schemes by name are without position correction."""
        if not isinstance(world, World | PreparedWorld):
            raise ModelError(f"world is {type(world).__name__}; expected a World, as WorldBuilder makes it")
        checked_solver(solver)
        if scheme is not None or not isinstance(start, Checkpoint):
            scheme = scheme_to_differentiate(scheme)
        prepared = PreparedWorld.of(world)
        begun = begun_world(prepared, WorldModel.of(prepared.world), h, scheme, start)
        parts = divided(begun.clock, begun.state.t, until)
        return cls(
            prepared, begun.scheme, solver, Point(begun.state, begun.memory), *parts,
            checked_controls(prepared, controls or {}, parts[1].size), checked_kappa(kappa),
            checked_on_failure(on_failure),
        )  # fmt: skip

    @property
    def known(self) -> tuple[str, ...]:
        return ("q", "v", "h", *Parameters.names())

    def shape(self, name: str) -> tuple[int, ...]:
        n = len(self.prepared.world.names)
        shapes: dict[str, tuple[int, ...]] = {"q": (6 * n,), "v": (6 * n,), "h": (1,)}
        return shapes[name] if name in shapes else getattr(self.prepared.parameters, name).shape

    def displacements(self, state: State, dq: Array) -> Array:
        n = len(self.prepared.world.names)
        if dq.size == 7 * n:
            return weights_of_displacements(state.q, dq[:, None])[:, 0]
        return dq

    def coordinates(self, q: Array, on_q: Array) -> Array:
        return weights_of_coordinates(q, on_q[:, None])[:, 0]

    def make(self, k: int, point: Point) -> Point:
        """Make step k from `point`, and return its end."""
        world, h = self.world_of(k), float(self.lengths[k])
        step = self.scheme.step(world, point.state, point.memory, h, self.solver)
        return self.arrived(k, point, step)

    def differentiate(self, k: int, point: Point) -> tuple[StepDerivative, Point]:
        """Return the derivative of step k from `point`, and its end."""
        world, h = self.world_of(k), float(self.lengths[k])
        derivative = differentiated(self.scheme)(
            self.scheme, world, point.state, point.memory, h, self.solver, kappa=self.kappa
        )
        return derivative, self.arrived(k, point, derivative.step)

    def world_of(self, k: int) -> PreparedWorld:
        """Return the world with the controls of step k."""
        if not self.controls:
            return self.prepared
        return with_inputs(self.prepared, {name: value[k] for name, value in self.controls.items()})


def with_inputs(prepared: PreparedWorld, inputs: Mapping[str, Array]) -> PreparedWorld:
    """Return the world with these efforts and wrenches, which have the shapes of `Parameters`."""
    world, forces = prepared.world, prepared.world.forces
    if "effort" in inputs:
        value, driven = iter(inputs["effort"]), {id(one) for one in actuators(world)}
        written = tuple(
            _driven(one, next(value)) if isinstance(one, JointEffort) and id(one) in driven else one
            for one in forces.written
        )
        forces = replace(forces, written=written)
    if "wrench" in inputs:
        forces = replace(forces, wrench=inputs["wrench"])
    driven_world = prepared.with_forces(forces)
    driven_world.parameters = replace(prepared.parameters, **inputs)
    return driven_world


def _driven(one: JointEffort, effort: float) -> JointEffort:
    return replace(one, effort=replace(one.effort, constant=np.array(effort)))


def checked_controls(
    prepared: PreparedWorld, controls: Mapping[str, ArrayLike], steps: int
) -> dict[str, Array]:
    """Return inputs for every step as read-only arrays."""
    shapes = {name: getattr(prepared.parameters, name).shape for name in CONTROLS}
    inputs = checked_inputs(controls, shapes, steps)
    if "wrench" in inputs and inputs["wrench"][:, prepared.world.kind != BodyKind.DYNAMIC].any():
        raise ModelError("control wrench pushes a body that is not dynamic: no wrench moves it")
    return inputs
