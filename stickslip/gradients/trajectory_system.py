"""Runs of systems of equations as steps that can be recomputed and differentiated."""

from dataclasses import dataclass
from typing import Any

from stickslip.gradients.step import checked_kappa, checked_solver
from stickslip.gradients.system_equations import input_shapes
from stickslip.gradients.system_step import (
    SystemStepDerivative,
    checked_state,
    differentiated_step,
    scheme_of_system,
)
from stickslip.gradients.trajectory_run import Point, SchemeRun, checked_on_failure, divided
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import Scheme, Solver
from stickslip.simulation.begun import begun_system
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.clock import Clock, length
from stickslip.state import Array, ModelError, State
from stickslip.systems.family import Family
from stickslip.systems.system import NonsmoothSystem


@dataclass(frozen=True, eq=False)
class SystemSteps(SchemeRun[PreparedSystem, Scheme]):
    """Run of a system, or of a family at its numbers."""

    @classmethod
    def of(
        cls, system: NonsmoothSystem | Family | PreparedSystem, *, until: float, h: float | None, scheme: Any,
        solver: Solver, start: Checkpoint | State | None = None, controls: Any = None, kappa: float = 0.0,
        on_failure: str = "raise",
    ) -> "SystemSteps":  # fmt: skip
        """Return the run that `simulate` would make."""
        if controls:
            raise ModelError(
                "controls are for worlds; inputs of a system that differ from step to step are"
                " functions of t, and numbers of a Family"
            )
        checked_solver(solver)
        prepared = PreparedSystem.of(system)
        whole = prepared.system
        if isinstance(start, State):
            chosen, step = scheme_of_system(scheme, whole), length("h", h)  # type: ignore[arg-type]
            begin = checked_state(whole, start)
            point, clock = Point(begin, chosen.begin(prepared, begin, step)), Clock(begin.t, step)
        else:
            begun = begun_system(prepared, h, scheme, start)
            chosen = scheme_of_system(begun.scheme, whole)
            point, clock = Point(begun.state, begun.memory), begun.clock
        parts = divided(clock, point.state.t, until)
        if whole.edges is not None and (edge := whole.edges.after(point.state.t)) <= until:
            raise ModelError(
                f"functions of time have an edge at {edge:g} s, where steps are cut; runs cannot be"
                " differentiated across edges: end the run before it, and start another one there"
            )
        options = checked_kappa(kappa), checked_on_failure(on_failure)
        return cls(prepared, chosen, solver, point, *parts, {}, *options)

    @property
    def known(self) -> tuple[str, ...]:
        return tuple(input_shapes(self.prepared.system, self.prepared.family))

    def shape(self, name: str) -> tuple[int, ...]:
        return input_shapes(self.prepared.system, self.prepared.family)[name]

    def displacements(self, state: State, dq: Array) -> Array:
        return dq

    def coordinates(self, q: Array, on_q: Array) -> Array:
        return on_q

    def make(self, k: int, point: Point) -> Point:
        h = float(self.lengths[k])
        step = self.scheme.step(self.prepared, point.state, point.memory, h, self.solver)
        return self.arrived(k, point, step)

    def differentiate(self, k: int, point: Point) -> tuple[SystemStepDerivative, Point]:
        h = float(self.lengths[k])
        derivative = differentiated_step(
            self.scheme, self.prepared, point.state, point.memory, h, self.solver, self.kappa
        )
        return derivative, self.arrived(k, point, derivative.step)
