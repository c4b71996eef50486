"""Models of the families study, and runs of a model by a scheme."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Concatenate, ParamSpec

import numpy as np

from stickslip.laws import NewtonImpact
from stickslip.schemes.compliant import Compliant
from stickslip.simulation.failure import SimulationFailure
from stickslip.simulation.loop import simulate
from stickslip.simulation.trajectory import Trajectory
from stickslip.solvers import registry
from stickslip.state import ModelError
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem

GRAVITY = 9.81
"""Acceleration of gravity [m/s²]."""
STIFFNESS = 1e6
"""Default stiffness of the compliant family [N/m]."""
TOLERANCE = 1e-10
"""Tolerance of the contact problems [-]."""
FAMILIES: dict[str, str] = {
    "moreau-jean": "time-stepping, velocities",
    "schatzman-paoli": "time-stepping, positions",
    "event-driven": "event-driven",
    "compliant": "smooth",
}
"""Schemes by name, and the family of each."""


@dataclass
class Calls:
    """Counter of the calls of a model's forces."""

    count: int = 0
    """Number of calls."""

    def force(self, value: Sequence[float]) -> Callable[[float], np.ndarray]:
        """Return a constant force that counts its calls."""
        constant = np.array(value, float)

        def F_ext(t: float) -> np.ndarray:
            self.count += 1
            return constant

        return F_ext


@dataclass(frozen=True, eq=False)
class Run:
    """Run of a model by a scheme."""

    scheme: str
    """Name of the scheme."""
    trajectory: Trajectory | None
    """Trajectory; None if the run could not start."""
    reason: str
    """Reason why the run ended early; empty if it did not."""
    seconds: float
    """Processor time [s]."""
    calls: int
    """Number of calls of the forces of all bodies."""
    totals: dict[str, float] = field(default_factory=dict)
    """Iterations, Newton iterations, events and penetration [m]."""
    facets: int = 0
    """Facets of the pyramids instead of cones; 0 for cones."""

    @property
    def energy(self) -> np.ndarray:
        """Sum of kinetic, potential and spring energy [J], shape (n,)."""
        path = self.path
        springs = path.measures.get("spring energy [J]")
        return path.kinetic + path.potential + (0.0 if springs is None else np.nan_to_num(springs))

    @property
    def path(self) -> Trajectory:
        """Trajectory of a run that started."""
        assert self.trajectory is not None, self.reason
        return self.trajectory


def run(
    build: Callable[[Calls], NonsmoothSystem], name: str, *, until: float, h: float,
    stiffness: float = STIFFNESS, facets: int = 0,
) -> Run:  # fmt: skip
    """Simulate a model by the scheme `name`; with `facets`, pyramids replace cones and the solver is
    `lemke`."""
    calls = Calls()
    system, scheme = build(calls), Compliant(stiffness=stiffness) if name == "compliant" else name
    pyramids = {"facets": facets} if facets else {}
    solver = registry.make("lemke" if facets else "auto", tolerance=TOLERANCE, **pyramids)
    reason, trajectory = "", None
    begin, calls.count = time.process_time(), 0
    try:
        trajectory = simulate(system, until=until, h=h, scheme=scheme, solver=solver)
    except (SimulationFailure, ModelError) as error:
        reason, trajectory = str(error), getattr(error, "trajectory", None)
    seconds = time.process_time() - begin
    return Run(name, trajectory, reason, seconds, calls.count, _totals(system, trajectory), facets)


def _totals(system: NonsmoothSystem, path: Trajectory | None) -> dict[str, float]:
    """Return the totals of a trajectory, see `Run.totals`."""
    if path is None:
        return {}
    gaps = np.concatenate([each.components.start + each.law.normals for each in system.interactions])
    measured = path.measures.get("penetration [m]", np.zeros(1))
    return {
        "iterations": float(path.iterations.sum()),
        "newton": float(path.newton.sum()),
        "events": float(len(path.events)),
        "penetration": max(0.0, -float(path.y[:, gaps].min(initial=0.0)), float(np.nanmax(measured))),
    }


P = ParamSpec("P")
Model = Callable[[Calls], NonsmoothSystem]
"""Function that returns a system whose forces count their calls."""


def model(build: Callable[Concatenate[Calls, P], NonsmoothSystem]) -> Callable[P, Model]:
    """Decorator: a function of the parameters of a model that returns a `Model`."""
    return lambda *given, **named: lambda calls: build(calls, *given, **named)


def _ball(calls: Calls, k: int, z: float) -> Lagrangian:
    """Return a ball of 1 kg at the height z [m]."""
    return Lagrangian(
        f"ball{k}", M=1.0, q0=z, F_ext=calls.force([-GRAVITY]), potential=lambda q: GRAVITY * q[0]
    )


def _floor(name: str, ball: str, e: float) -> Interaction:
    """Return the impact of a ball with the floor."""
    return Interaction(name, ball, Scleronomous(lambda q: q, dy_dq=np.eye(1)), NewtonImpact(e=e))


def _row(count: int, apart: float, e: float) -> list[Interaction]:
    """Return the impacts of each ball with the next; their centres are `apart` [m] when they touch."""
    between = Scleronomous(lambda q: [q[1] - q[0] - apart], dy_dq=[[-1.0, 1.0]])
    return [
        Interaction(f"c{k}", (f"ball{k}", f"ball{k + 1}"), between, NewtonImpact(e=e))
        for k in range(count - 1)
    ]


@model
def balls(calls: Calls, heights: Sequence[float], e: float) -> NonsmoothSystem:
    """Balls of 1 kg, each above its own floor."""
    bodies = [_ball(calls, k, z) for k, z in enumerate(heights)]
    return NonsmoothSystem(bodies, [_floor(f"floor{k}", b.name, e) for k, b in enumerate(bodies)])


@model
def column(calls: Calls, n: int, e: float, gap: float = 0.01) -> NonsmoothSystem:
    """A vertical column of balls of 1 kg and 0.1 m with gaps of `gap` [m], falling on a floor."""
    bodies = [_ball(calls, k, gap + k * (0.1 + gap)) for k in range(n)]
    return NonsmoothSystem(bodies, [_floor("floor", "ball0", e), *_row(n, 0.1, e)])


@model
def cradle(calls: Calls, gap: float, e: float = 1.0) -> NonsmoothSystem:
    """Three balls of 1 kg in a row with `gap` [m] between the last two; the first arrives at 1 m/s."""
    bodies = [
        Lagrangian(f"ball{k}", M=1.0, q0=x, v0=1.0 if k == 0 else 0.0, F_ext=calls.force([0.0]))
        for k, x in enumerate((-0.2 - 0.0123, 0.0, 0.2 + gap))
    ]
    return NonsmoothSystem(bodies, _row(3, 0.2, e))


@model
def rocking(
    calls: Calls, mass: float = 1.0, half: float = 0.1, inertia: float = 0.02, angle: float = 0.05
) -> NonsmoothSystem:
    """A tall block on two feet at `half` [m] from its middle, tilted by a small `angle` [rad].

    The block rotates about one foot until the other hits the ground, while the first one still touches it.
    """
    body = Lagrangian(
        "block", M=np.diag([mass, inertia]), q0=[half * angle, angle],
        F_ext=calls.force([-mass * GRAVITY, 0.0]), potential=lambda q: mass * GRAVITY * q[0],
    )  # fmt: skip
    feet = Scleronomous(lambda q: [q[0] - half * q[1], q[0] + half * q[1]], dy_dq=[[1.0, -half], [1.0, half]])
    return NonsmoothSystem([body], [Interaction("feet", "block", feet, NewtonImpact(e=0.0, contacts=2))])


@model
def puck(calls: Calls, angle: float, mu: float, v0: float) -> NonsmoothSystem:
    """A point of 1 kg on level ground with the velocity v0 [m/s] at an `angle` [rad] to the first tangent."""
    body = Lagrangian(
        "puck", M=np.eye(3), q0=np.zeros(3), v0=[0.0, v0 * math.cos(angle), v0 * math.sin(angle)],
        F_ext=calls.force([-GRAVITY, 0.0, 0.0]), potential=lambda q: GRAVITY * q[0],
    )  # fmt: skip
    plane = Scleronomous(lambda q: q, dy_dq=np.eye(3))
    return NonsmoothSystem([body], [Interaction("plane", "puck", plane, NewtonImpact(mu=mu))])


@model
def block(calls: Calls, slope: float, mu: float, v0: float) -> NonsmoothSystem:
    """A block of 1 kg on a plane at `slope` [rad] with the velocity v0 [m/s] downhill."""
    force = [GRAVITY * math.sin(slope), -GRAVITY * math.cos(slope)]
    body = Lagrangian(
        "block", M=1.0, q0=[0.0, 0.0], v0=[v0, 0.0], F_ext=calls.force(force),
        potential=lambda q: -float(np.dot(force, q)),
    )  # fmt: skip
    plane = Scleronomous(lambda q: q[1:], dy_dq=[[0.0, 1.0], [1.0, 0.0]])
    return NonsmoothSystem([body], [Interaction("plane", "block", plane, NewtonImpact(mu=mu, dimension=2))])
