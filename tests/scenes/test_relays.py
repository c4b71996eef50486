"""Relays: finite-time convergence in closed form, and sliding modes without chattering."""

import numpy as np
import pytest

import stickslip as ss
from stickslip import scenes
from stickslip.schemes import registry

RELAYS = ["relay", "filippov", "sliding-mode"]


def run(scenario, **changes):
    scheme = registry.make(scenario.scheme, **scenario.options)
    return ss.simulate(
        scenario.system, **{"until": scenario.until, "h": scenario.h, "scheme": scheme, **changes}
    )


@pytest.mark.parametrize("name", RELAYS)
def test_facts_and_figure(name: str) -> None:
    scenario = scenes.make(name)
    trajectory = run(scenario)
    for fact in scenario.facts(trajectory):
        assert fact.ok, fact
    for panel in scenario.figure(trajectory).panels:
        for curve in panel.curves:
            assert curve.x.shape == curve.y.shape


def test_a_relay_arrives_in_finite_time() -> None:
    """ẋ = d - sgn x: T = x0 / (1 - d) to one step, whatever the step; lam then is -d."""
    for h in (0.1, 0.01):
        trajectory = run(scenes.make("relay", drift=0.5, x0=1.003, h=h), h=h)
        t, x = trajectory.t, trajectory.system("plant").x[:, 0]
        arrived = t[np.flatnonzero(np.abs(x) < 1e-12)[0]]
        assert 2.006 <= arrived <= 2.006 + h
        after = t > arrived + 0.5 * h
        np.testing.assert_allclose(trajectory.interaction("relay").r[after, 0], -0.5, atol=1e-9)


def test_the_spiral_of_filippov_ends_when_it_should() -> None:
    """|x₁| + |x₂| falls at the rate 2; each of the log(1 / h) corners costs a step or two."""
    errors = []
    for h in (1.6e-2, 4e-3):
        trajectory = run(scenes.make("filippov", x1=1.0, x2=1.0, h=h), h=h)
        x = trajectory.system("plant").x
        away = np.abs(np.abs(x).sum(axis=1) - np.maximum(2.0 - 2.0 * trajectory.t, 0.0))
        errors.append(away.max())
        assert np.abs(x[-1]).max() <= 1e-12
    assert errors[1] < 0.6 * errors[0]


def chatter(h: float, until: float = 3.0) -> float:
    """Largest |y| of explicit Euler on the surface, after one second."""
    x, largest = np.array([1.0, 0.0]), 0.0
    for k in range(round(until / h)):
        y = 2.0 * x[0] + x[1]
        if k * h > 1.0:
            largest = max(largest, abs(y))
        x = x + h * np.array([x[1], -3.0 * np.sign(y) + np.sin(3.0 * k * h)])
    return largest


def test_sliding_without_chattering() -> None:
    """On the surface y is zero to rounding, u is smooth; explicit Euler jumps across it by about h u."""
    for h in (1e-2, 2.5e-3):
        trajectory = run(scenes.make("sliding-mode", h=h), h=h, until=3.0)
        t, x = trajectory.t, trajectory.system("plant").x
        y, u = x @ [2.0, 1.0], trajectory.interaction("switch").r[:, 0]
        on = t > 1.0
        assert np.abs(y[on]).max() <= 1e-12
        signs = np.sign(u[on])
        assert (signs[1:] != signs[:-1]).sum() <= 3
        assert np.abs(np.diff(u[on])).max() <= 10.0 * h
        np.testing.assert_allclose(u[on], -2.0 * x[on, 1] - np.sin(3.0 * t[on]), atol=1e-9)
        assert h * 1.5 <= chatter(h) <= h * 5.0
