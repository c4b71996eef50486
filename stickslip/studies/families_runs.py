"""The models of the families study, and one run of one of them by one scheme."""

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
"""[m/s²]."""
STIFFNESS = 1e6
"""Of the compliant family, where no other is named [N/m]."""
TOLERANCE = 1e-10
"""Of the contact problems [-]."""
FAMILIES: dict[str, str] = {
    "moreau-jean": "time-stepping, velocities",
    "schatzman-paoli": "time-stepping, positions",
    "event-driven": "event-driven",
    "compliant": "smooth",
}
"""Schemes by name, and the family of each."""


@dataclass
class Calls:
    """Counts how often a model's forces were asked for."""

    count: int = 0

    def force(self, value: Sequence[float]) -> Callable[[float], np.ndarray]:
        """A constant force that counts its calls."""
        constant = np.array(value, float)

        def F_ext(t: float) -> np.ndarray:
            self.count += 1
            return constant

        return F_ext


@dataclass(frozen=True, eq=False)
class Run:
    """What one scheme made of one model."""

    scheme: str
    """Its name."""
    trajectory: Trajectory | None
    """What was recorded; None where it could not start."""
    reason: str
    """Why it did not come to its end, where it did not."""
    seconds: float
    """Time of the processor [s]."""
    calls: int
    """How often the forces were asked for, over all bodies."""
    totals: dict[str, float] = field(default_factory=dict)
    """Iterations, Newton iterations, events and penetration [m]."""
    facets: int = 0
    """Sides of the pyramids that stood in the place of cones; 0 where none did."""

    @property
    def energy(self) -> np.ndarray:
        """Kinetic, potential and (where there are springs) spring energy [J], shape (n,)."""
        path = self.path
        springs = path.measures.get("spring energy [J]")
        return path.kinetic + path.potential + (0.0 if springs is None else np.nan_to_num(springs))

    @property
    def path(self) -> Trajectory:
        """The trajectory, which must be there."""
        assert self.trajectory is not None, self.reason
        return self.trajectory


def run(
    of: Callable[[Calls], NonsmoothSystem], name: str, *, until: float, h: float,
    stiffness: float = STIFFNESS, facets: int = 0,
) -> Run:  # fmt: skip
    """Simulate a model by the scheme `name`; with `facets` its cones are pyramids, by Lemke's pivots."""
    calls = Calls()
    system, scheme = of(calls), Compliant(stiffness=stiffness) if name == "compliant" else name
    pyramids = {"facets": facets} if facets else {}
    solver = registry.make("lemke" if facets else "auto", tolerance=TOLERANCE, **pyramids)
    reason, found = "", None
    begun, calls.count = time.process_time(), 0
    try:
        found = simulate(system, until=until, h=h, scheme=scheme, solver=solver)
    except (SimulationFailure, ModelError) as error:
        reason, found = str(error), getattr(error, "trajectory", None)
    seconds = time.process_time() - begun
    return Run(name, found, reason, seconds, calls.count, _totals(system, found), facets)


def _totals(system: NonsmoothSystem, path: Trajectory | None) -> dict[str, float]:
    if path is None:
        return {}
    gaps = np.concatenate([one.components.start + one.law.normals for one in system.interactions])
    measured = path.measures.get("penetration [m]", np.zeros(1))
    return {
        "iterations": float(path.iterations.sum()),
        "newton": float(path.newton.sum()),
        "events": float(len(path.events)),
        "penetration": max(0.0, -float(path.y[:, gaps].min(initial=0.0)), float(np.nanmax(measured))),
    }


P = ParamSpec("P")
Model = Callable[[Calls], NonsmoothSystem]
"""Makes a system whose forces count their calls."""


def model(build: Callable[Concatenate[Calls, P], NonsmoothSystem]) -> Callable[P, Model]:
    """The numbers of a model first, and what counts its calls when it is made."""
    return lambda *given, **named: lambda calls: build(calls, *given, **named)


def _ball(calls: Calls, k: int, z: float) -> Lagrangian:
    """Of 1 kg at the height z [m]."""
    return Lagrangian(
        f"ball{k}", M=1.0, q0=z, F_ext=calls.force([-GRAVITY]), potential=lambda q: GRAVITY * q[0]
    )


def _floor(name: str, ball: str, e: float) -> Interaction:
    return Interaction(name, ball, Scleronomous(lambda q: q, dy_dq=np.eye(1)), NewtonImpact(e=e))


def _row(count: int, apart: float, e: float) -> list[Interaction]:
    """Impacts of each ball with the next, whose centres are `apart` [m] when they touch."""
    between = Scleronomous(lambda q: [q[1] - q[0] - apart], dy_dq=[[-1.0, 1.0]])
    return [
        Interaction(f"c{k}", (f"ball{k}", f"ball{k + 1}"), between, NewtonImpact(e=e))
        for k in range(count - 1)
    ]


@model
def balls(calls: Calls, heights: Sequence[float], e: float) -> NonsmoothSystem:
    """Balls of 1 kg, each over its own floor."""
    bodies = [_ball(calls, k, z) for k, z in enumerate(heights)]
    return NonsmoothSystem(bodies, [_floor(f"floor{k}", b.name, e) for k, b in enumerate(bodies)])


@model
def column(calls: Calls, n: int, e: float, gap: float = 0.01) -> NonsmoothSystem:
    """Balls of 1 kg and 0.1 m one over the other, `gap` [m] apart, falling on a floor."""
    bodies = [_ball(calls, k, gap + k * (0.1 + gap)) for k in range(n)]
    return NonsmoothSystem(bodies, [_floor("floor", "ball0", e), *_row(n, 0.1, e)])


@model
def cradle(calls: Calls, gap: float, e: float = 1.0) -> NonsmoothSystem:
    """Three balls of 1 kg in a row, the second and third `gap` [m] apart, the first arriving at 1 m/s."""
    bodies = [
        Lagrangian(f"ball{k}", M=1.0, q0=x, v0=1.0 if k == 0 else 0.0, F_ext=calls.force([0.0]))
        for k, x in enumerate((-0.2 - 0.0123, 0.0, 0.2 + gap))
    ]
    return NonsmoothSystem(bodies, _row(3, 0.2, e))


@model
def rocking(
    calls: Calls, mass: float = 1.0, half: float = 0.1, inertia: float = 0.02, angle: float = 0.05
) -> NonsmoothSystem:
    """A tall block on two feet `half` [m] from its middle, tilted by a small `angle` [rad].

    While it turns about one foot the other strikes, with the first one still touching.
    """
    body = Lagrangian(
        "block", M=np.diag([mass, inertia]), q0=[half * angle, angle],
        F_ext=calls.force([-mass * GRAVITY, 0.0]), potential=lambda q: mass * GRAVITY * q[0],
    )  # fmt: skip
    feet = Scleronomous(lambda q: [q[0] - half * q[1], q[0] + half * q[1]], dy_dq=[[1.0, -half], [1.0, half]])
    return NonsmoothSystem([body], [Interaction("feet", "block", feet, NewtonImpact(e=0.0, contacts=2))])


@model
def puck(calls: Calls, angle: float, mu: float, v0: float) -> NonsmoothSystem:
    """A point of 1 kg on level ground, sent at v0 [m/s] at an `angle` [rad] to the first tangent."""
    body = Lagrangian(
        "puck", M=np.eye(3), q0=np.zeros(3), v0=[0.0, v0 * math.cos(angle), v0 * math.sin(angle)],
        F_ext=calls.force([-GRAVITY, 0.0, 0.0]), potential=lambda q: GRAVITY * q[0],
    )  # fmt: skip
    plane = Scleronomous(lambda q: q, dy_dq=np.eye(3))
    return NonsmoothSystem([body], [Interaction("plane", "puck", plane, NewtonImpact(mu=mu))])


@model
def block(calls: Calls, slope: float, mu: float, v0: float) -> NonsmoothSystem:
    """A block of 1 kg on a plane at `slope` [rad], sent downhill at v0 [m/s]."""
    force = [GRAVITY * math.sin(slope), -GRAVITY * math.cos(slope)]
    body = Lagrangian(
        "block", M=1.0, q0=[0.0, 0.0], v0=[v0, 0.0], F_ext=calls.force(force),
        potential=lambda q: -float(np.dot(force, q)),
    )  # fmt: skip
    plane = Scleronomous(lambda q: q[1:], dy_dq=[[0.0, 1.0], [1.0, 0.0]])
    return NonsmoothSystem([body], [Interaction("plane", "block", plane, NewtonImpact(mu=mu, dimension=2))])
