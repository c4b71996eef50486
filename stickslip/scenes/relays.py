"""Relays: convergence in finite time, a spiral that ends in a point, and sliding mode without chattering.

The law is lam = -level for y > 0, lam = level for y < 0, and lam in [-level, level] for y = 0. At the end of
the step (implicit Euler) lam takes the value that keeps y = 0; at its beginning (explicit Euler) y changes
sign for ever (Acary & Brogliato 2010, Systems & Control Letters 59, 284-293).
"""

import math
from collections.abc import Iterator

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.laws import Relay
from stickslip.problem.checks import Array
from stickslip.scenes.measures import zero
from stickslip.scenes.parameters import checked, number
from stickslip.scenes.scenario import SWITCHED, Fact, Scenario, over_time, scene
from stickslip.simulation.trajectory import Trajectory
from stickslip.systems.first_order import FirstOrderLinear
from stickslip.systems.first_order_relations import FirstOrderLinearRelation
from stickslip.systems.system import Interaction, NonsmoothSystem

IMPLICIT = {"theta": 1.0, "gamma": 1.0, "relation": "end"}
"""Options of implicit Euler."""


@checked
def relay(*, x0: float = 1.003, drift: float = 0.5, h: float = 1e-2, until: float = 4.0) -> Scenario:
    """ẋ = drift - sgn(x): the state reaches the origin in finite time and stays there.

    x0: initial state [-], > 0.
    drift: constant rate away from the origin [1/s], >= 0, < 1.

    x = x0 - (1 - drift) t until T = x0 / (1 - drift); then x = 0 and lam = -drift.
    """
    plant = FirstOrderLinear("plant", A=0.0, b=drift, x0=x0)
    switch = Interaction("relay", "plant", FirstOrderLinearRelation(C=[[1.0]], B=[[1.0]]), Relay(1.0))
    reached = x0 / (1.0 - drift)

    def exact(t: Array) -> Array:
        return np.maximum(x0 - (1.0 - drift) * t, 0.0)

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        t, x = trajectory.t, trajectory.system("plant").x[:, 0]
        after = t > reached + 1.5 * h
        lam = trajectory.interaction("relay").r[after, 0]
        at_rest = np.flatnonzero(np.abs(x) <= 1e-12)
        yield zero("largest error of x, closed form", x - exact(t), h)
        if after.any():
            yield Fact("time at the origin [s], x0 / (1 - drift)",
                       float(t[at_rest[0]]) if at_rest.size else math.nan, reached, h)  # fmt: skip
            yield zero("largest |x| after that time", x[after], 1e-12)
            yield Fact("lam after that time, -drift", lam[np.argmax(np.abs(lam + drift))], -drift, 1e-9)

    def figure(trajectory: Trajectory) -> Figure:
        t, x = trajectory.t, trajectory.system("plant").x[:, 0]
        lam = trajectory.interaction("relay").r[1:, 0]
        explicit = [x0]
        for dt in np.diff(t):
            explicit.append(explicit[-1] + dt * (drift - np.sign(explicit[-1])))
        return Figure("Relay: the origin in finite time", [
            over_time("State", "x", t,
                      {"run": x, "exact": (exact(t), "--"), "explicit Euler": (np.array(explicit), ":")}),
            over_time("Relay", "lam", t[1:], {"run": lam}),
        ])  # fmt: skip

    return scene("relay", "A relay brings a state to zero in finite time and keeps it there.",
                 NonsmoothSystem([plant], [switch]), until, h, facts, figure, SWITCHED,
                 IMPLICIT)  # fmt: skip


@checked
def filippov(*, x1: float = 1.0, x2: float = 1.0, h: float = 2e-3) -> Scenario:
    """ẋ₁ = -sgn x₁ + 2 sgn x₂, ẋ₂ = -2 sgn x₁ - sgn x₂: a spiral into the origin.

    x1: first coordinate at the start [-].
    x2: second coordinate at the start [-].

    |x₁| + |x₂| decreases at the rate 2, so the state reaches the origin at T = (|x₁| + |x₂|) / 2, after
    infinitely many switches; every quarter turn takes a third of the time of the previous one.
    """
    arrival = 0.5 * (abs(x1) + abs(x2))
    if arrival == 0.0:
        raise ValueError("x1 and x2 are both 0: the state is at the origin already")
    plant = FirstOrderLinear("plant", A=np.zeros((2, 2)), x0=[x1, x2])
    relation = FirstOrderLinearRelation(C=np.eye(2), B=[[1.0, -2.0], [2.0, 1.0]])
    switch = Interaction("relays", "plant", relation, Relay(1.0, components=2))

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        t, x = trajectory.t, trajectory.system("plant").x
        size = np.abs(x).sum(axis=1)
        at_origin = np.flatnonzero(np.abs(x).max(axis=1) <= 1e-12)
        # A corner delays by up to two steps; about log3(arrival / h) quarter turns are longer than a step.
        delay = 2.0 * h * (2.0 + max(0.0, math.log(arrival / h, 3.0)))
        after = t > arrival + delay
        yield zero("largest error of |x₁| + |x₂|, which decreases at the rate 2",
                   size - np.maximum(2.0 * (arrival - t), 0.0), delay)  # fmt: skip
        yield Fact("time at the origin [s], (|x₁| + |x₂|) / 2",
                   float(t[at_origin[0]]) if at_origin.size else math.nan, arrival, delay)  # fmt: skip
        yield zero("largest |x| after that time", x[after], 1e-12)

    def figure(trajectory: Trajectory) -> Figure:
        t, x = trajectory.t, trajectory.system("plant").x
        lam = trajectory.interaction("relays").r
        return Figure("Two relays: a spiral that ends", [
            Panel("Plane", "x₁", "x₂", [Curve("run", x[:, 0], x[:, 1])]),
            over_time("Distance", "|x₁| + |x₂|", t,
                      {"run": np.abs(x).sum(axis=1), "exact": (np.maximum(2.0 * (arrival - t), 0.0), "--")}),
            over_time("Relays", "lam", t[1:], {"first": lam[1:, 0], "second": lam[1:, 1]}, steps=True),
        ])  # fmt: skip

    return scene("filippov", "Two relays in a plane: a spiral that reaches the origin in finite time.",
                 NonsmoothSystem([plant], [switch]), 1.5 * arrival, h, facts, figure, SWITCHED,
                 IMPLICIT)  # fmt: skip


@checked
def sliding_mode(
    *, slope: float = 2.0, level: float = 3.0, push: float = 1.0, h: float = 1e-2, until: float = 4.0
) -> Scenario:
    """Sliding-mode control of ẍ = u + push sin 3t, without chattering.

    slope: c of the surface y = c x + ẋ = 0 [1/s], > 0.
    level: largest |u| [m/s²], > 0, > |push|.
    push: amplitude of the disturbance [m/s²].

    On the surface x decays as exp(-c t) for any disturbance, and u takes the value -c ẋ - push sin 3t that
    keeps y = 0. Explicit Euler, for comparison, crosses the surface by up to h (level + push).
    """
    push = number("push", push, "m/s²", above=-level, below=level)
    x0 = np.array([1.0, 0.0])
    plant = FirstOrderLinear(
        "plant", A=[[0.0, 1.0], [0.0, 0.0]], b=lambda t: [0.0, push * math.sin(3.0 * t)], x0=x0
    )
    relation = FirstOrderLinearRelation(C=[[slope, 1.0]], B=[[0.0], [1.0]])
    system = NonsmoothSystem([plant], [Interaction("switch", "plant", relation, Relay(level))])

    def explicit(t: Array) -> Array:
        """Return y by explicit Euler, with the sign at the beginning of the step, shape (n,)."""
        x, y = x0.copy(), []
        for k, now in enumerate(t):
            y.append(slope * x[0] + x[1])
            if k + 1 < t.size:
                u = -level * np.sign(y[-1])
                x = x + (t[k + 1] - now) * np.array([x[1], u + push * math.sin(3.0 * now)])
        return np.array(y)

    def surface(trajectory: Trajectory) -> tuple[int, Array]:
        """Return the first record on the surface, and y."""
        y = trajectory.system("plant").x @ [slope, 1.0]
        return int(np.argmax(np.abs(y) <= 1e-12)), y

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        t, x = trajectory.t, trajectory.system("plant").x
        k, y = surface(trajectory)
        lam = trajectory.interaction("switch").r[k + 1 :, 0]
        other = explicit(t)[k + 5 :]
        # u = -c ẋ - push sin 3t is smooth: it changes sign only with the disturbance, twice a period.
        natural = math.ceil((t[-1] - t[k]) * 3.0 / math.pi) + 1
        middle = h * level
        expected = -slope * x[k + 1 :, 1] - push * np.sin(3.0 * t[k + 1 :])
        yield zero("largest |y| after the surface is reached", y[k:], 1e-12)
        yield Fact("changes of sign of u after that, at most the disturbance's", _changes(lam), 0.0, natural)
        yield zero("largest error of x on the surface, against exp(-c t) [m]",
                   x[k:, 0] - x[k, 0] * np.exp(-slope * (t[k:] - t[k])),
                   0.25 * slope * h * abs(x[k, 0]))  # fmt: skip
        yield zero("largest error of u, against -c ẋ - push sin 3t [m/s²]", lam - expected, 1e-9 * level)
        yield Fact("explicit Euler, for comparison: largest |y| on the surface [m/s], h level",
                   np.abs(other).max(), middle, 0.6 * middle)  # fmt: skip

    def figure(trajectory: Trajectory) -> Figure:
        t, x = trajectory.t, trajectory.system("plant").x
        _, y = surface(trajectory)
        other = explicit(t)
        return Figure("Sliding mode: smooth control by the implicit scheme, chattering by the explicit one", [
            Panel("Plane", "x [m]", "ẋ [m/s]", [Curve("run", x[:, 0], x[:, 1])]),
            over_time("Surface", "y [m/s]", t, {"run": y, "explicit Euler": (other, ":")}),
            Panel("Control", "t [s]", "u [m/s²]",
                  [Curve("run", t[1:], trajectory.interaction("switch").r[1:, 0]),
                   Curve("-c ẋ - push sin 3t", t, -slope * x[:, 1] - push * np.sin(3.0 * t), "--")]),
            over_time("Distance from the surface", "|y| [m/s]", t,
                      {"run": np.maximum(np.abs(y), 1e-18),
                       "explicit Euler": (np.maximum(np.abs(other), 1e-18), ":")}, log_y=True),
        ])  # fmt: skip

    return scene("sliding-mode", "Sliding-mode control of a disturbed double integrator, without chattering.",
                 system, until, h, facts, figure, SWITCHED, IMPLICIT)  # fmt: skip


def _changes(lam: Array) -> int:
    """Return the number of changes of sign of lam."""
    signs = np.sign(lam[np.abs(lam) > 1e-9])
    return int((signs[1:] != signs[:-1]).sum())
