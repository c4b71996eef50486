"""Bifurcation diagrams against orbits and thresholds in closed form."""

import math

import numpy as np
import pytest

import stickslip as ss

G, W, E = 9.81, 2.0 * math.pi * 5.0, 0.5
PERIOD = 2.0 * math.pi / W
LEAST = math.pi * (1.0 - E) / (1.0 + E)
"""Least acceleration of the table [g] at which a ball can return once a period."""
DOUBLING = math.hypot(LEAST, 2.0 * (1.0 + E * E) / (1.0 + E) ** 2)
"""Where that orbit doubles its period [g]. With σ the table's acceleration at the impact the map of one
period has the determinant e² and the trace 1 + e² + (1 + e)² σ / g; it is -1 - e² where
σ = -2 g (1 + e²) / (1 + e)², and a period needs A ω² cos φ = g π (1 - e) / (1 + e)."""


def phase(gamma):
    """Phase of the table at the impacts of the period-one orbit [rad]."""
    return math.acos(LEAST / gamma)


def top(gamma):
    """Height of the top of that orbit, g T² / 8 above the table at an impact [m]."""
    return gamma * G / W**2 * math.sin(phase(gamma)) + G * PERIOD**2 / 8.0


def table(gamma, nudge=1e-3):
    """A ball above a table of the acceleration gamma g, beside the top of its period-one orbit, half a period
    before an impact."""
    a, phi = gamma * G / W**2, phase(gamma) - math.pi
    ball = ss.Lagrangian("ball", M=1.0, F_ext=-G, q0=top(gamma), v0=nudge)
    gap = ss.systems.Rheonomous(
        lambda t, q: q - a * math.sin(W * t + phi),
        dy_dq=[[1.0]],
        dy_dt=lambda t: -a * W * math.cos(W * t + phi),
    )
    return ss.NonsmoothSystem([ball], [ss.Interaction("table", "ball", gap, ss.NewtonImpact(e=E))])


def test_bouncing_ball_doubles_its_period_where_the_closed_form_says():
    gammas = [0.5 * (LEAST + DOUBLING), 0.98 * DOUBLING, 1.02 * DOUBLING]
    found = ss.bifurcation(
        table, gammas, period=PERIOD, transient=80, samples=8, steps=1, scheme="event-driven", follow=False,
        name="acceleration [g]",
    )  # fmt: skip
    assert found.repeats(1e-2).tolist() == [1, 1, 2]


def test_the_orbit_is_the_one_in_closed_form():
    gamma = 0.5 * (LEAST + DOUBLING)
    looks = {
        "height [m]": lambda run: run.q[-1, 0],
        "impacts [s]": lambda run: [event.t - run.t[0] for event in run.events if event.kind == "impact"],
        "impulse [N s]": lambda run: run.r[1:].sum(),
    }
    found = ss.bifurcation(
        table, [gamma], period=PERIOD, observe=looks, transient=40, samples=5, steps=4, scheme="event-driven"
    )
    np.testing.assert_allclose(found.observed["height [m]"][0], top(gamma), rtol=1e-7)
    np.testing.assert_allclose(found.observed["impacts [s]"][0], PERIOD / 2.0, rtol=1e-7)
    np.testing.assert_allclose(found.observed["impulse [N s]"][0], G * PERIOD, rtol=1e-7)
    assert found.ends["impacts [s]"][0].tolist() == [0, 1, 2, 3, 4]


def oscillator(v, ratio, e):
    """An oscillator that hits a wall once a period with speed v after it, at t = 0, T, 2T, ...: the force
    that makes it so. q = P cos(w t + φ) + B cos(n t) + C sin(n t) with q(0) = q(T) = 0, v(0) = v and
    v(T) = -v / e."""
    n = ratio * W
    c = v * (1.0 + 1.0 / e) / (2.0 * n)
    b = c / math.tan(n * PERIOD / 2.0)
    p, phi = math.hypot(b, v * (1.0 / e - 1.0) / (2.0 * W)), math.atan2(v * (1.0 / e - 1.0) / (2.0 * W), -b)
    force = p * (n * n - W * W)

    def motion(t):
        return p * math.cos(W * t + phi) + b * math.cos(n * t) + c * math.sin(n * t)

    def made(speed):
        mass = ss.LagrangianLinear(
            "mass", M=1.0, K=n * n, q0=0.0, v0=speed, F_ext=lambda t: [force * math.cos(W * t + phi)]
        )
        wall = ss.Interaction("wall", "mass", ss.Scleronomous(lambda q: q, 1.0), ss.NewtonImpact(e=e))
        return ss.NonsmoothSystem([mass], [wall])

    return made, motion


@pytest.mark.parametrize("scheme", ["event-driven", "moreau-jean"])
def test_impact_oscillator_has_its_closed_form_orbit(scheme):
    made, motion = oscillator(1.0, 0.7, 0.6)
    assert min(motion(t) for t in np.linspace(0.01, 0.99, 99) * PERIOD) > 0.0
    steps = 8 if scheme == "event-driven" else 800
    found = ss.bifurcation(
        lambda nudge: made(1.0 + nudge), [1e-3], period=PERIOD, transient=20, samples=4, steps=steps,
        scheme=scheme, observe=lambda run: run.q[:-1, 0][:: steps // 8],
    )  # fmt: skip
    expected = [motion(k * PERIOD / 8) for k in range(8)]
    got = found.observed["observed"][0].reshape(4, 8)
    np.testing.assert_allclose(
        got, np.tile(expected, (4, 1)), atol=1e-7 if scheme == "event-driven" else 1e-3
    )


def test_the_same_bytes_a_frame_and_figures():
    how = {"period": PERIOD, "transient": 5, "samples": 6, "steps": 50, "name": "acceleration [g]"}
    first, second = (ss.bifurcation(table, [1.1, 1.3], **how) for _ in range(2))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first.states, second.states, strict=True))
    frame = first.to_frame()
    assert list(frame.columns) == ["acceleration [g]", "observed", "period", "value"]
    assert len(frame) == 12
    np.testing.assert_array_equal(frame["value"], np.concatenate(first.observed["q0"]))
    np.testing.assert_array_equal(first.figure().panels[0].curves[0].x, np.repeat([1.1, 1.3], 6))
    np.testing.assert_array_equal(first.section(1).panels[0].curves[0].y, first.states[1][:, 1])
    assert len(first.table().rows) == 2


def test_a_contact_that_lasts_is_no_impact():
    """A follower that rides on its cam meets it in no period that is kept, whatever the scheme remembers."""
    made = ss.scenes.make("cam", gap0=0.0, rate0=0.0, rpm=300.0)
    how = {"period": made.period, "observe": made.observe, "transient": 1, "samples": 2, "steps": 100}
    found = ss.bifurcation(
        lambda rpm: ss.scenes.make("cam", gap0=0.0, rate0=0.0, rpm=rpm).system, [300.0], **how
    )
    assert found.observed["approach [m/s]"][0].size == 0
    assert found.states[0].shape == (2, 2)


def test_each_value_begins_where_the_one_before_ended():
    how = {"period": PERIOD, "transient": 0, "samples": 3, "steps": 50}
    together = ss.bifurcation(table, [1.2, 1.25], **how)
    apart = ss.bifurcation(table, [1.2, 1.25], follow=False, **how)
    np.testing.assert_array_equal(together.states[0], apart.states[0])
    assert np.abs(together.states[1] - apart.states[1]).max() > 1e-6


def test_worlds_too():
    def drop(height):
        builder = ss.WorldBuilder()
        builder.body("floor", ss.Plane(), fixed=True)
        builder.body("ball", ss.Sphere(0.1), position=(0, 0, height))
        return builder.build()

    found = ss.bifurcation(
        drop, [0.5, 0.6], period=0.2, transient=4, samples=2, steps=20, observe=lambda run: run.q[-1, 9]
    )
    np.testing.assert_allclose(np.concatenate(found.observed["observed"]), 0.1, atol=1e-3)


def test_what_is_wrong_is_named():
    with pytest.raises(ss.ModelError, match="samples is 0; it must be a whole number >= 1"):
        ss.bifurcation(table, [1.2], period=PERIOD, samples=0)
    with pytest.raises(ss.ModelError, match="period is -1") as caught:
        ss.bifurcation(table, [1.2], period=-1.0)
    assert caught.value.__notes__ == ["at parameter = 1.2"]
    with pytest.raises(ss.ModelError, match="make is None; expected a function"):
        ss.bifurcation(None, [1.2], period=PERIOD)
    with pytest.raises(ss.ModelError, match="values is"):
        ss.bifurcation(table, [], period=PERIOD)
    with pytest.raises(ss.ModelError, match=r"observe\['x'\] is 3; expected a function"):
        ss.bifurcation(table, [1.2], period=PERIOD, observe={"x": 3})
