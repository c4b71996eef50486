"""Time-stepping over inputs that jump at known times: steps are cut there, and the order is kept."""

import math

import numpy as np
import pytest

import stickslip as ss

HALF = 0.3 / math.sqrt(2.0)
"""Half a period [s], which no step divides."""


def edges(t):
    """The next edge of the wave."""
    return HALF * (math.floor(t / HALF) + 1)


def wave(t):
    """1 and 0 in turn."""
    return 1.0 - math.floor(t / HALF) % 2


def loaded(cut=True, half=HALF):
    """A capacitor of time constant 2 s behind a square wave."""
    rc = ss.FirstOrder("rc", f=lambda t, x: (1.0 - math.floor(t / half) % 2 - x) / 2.0, x0=0.0)
    return ss.NonsmoothSystem([rc], edges=(lambda t: half * (math.floor(t / half) + 1)) if cut else None)


def level(t, half=HALF):
    """Of the capacitor, in closed form."""
    x, k = 0.0, 0
    while t > 0.0:
        part = min(t, half)
        x, t, k = (k % 2 == 0) + (x - (k % 2 == 0)) * math.exp(-part / 2.0), t - half, k + 1
    return x


def pushed(cut=True, stiffness=0.0, **more):
    """A mass of 1 kg pushed by the wave, on a spring."""
    mass = ss.Lagrangian("mass", M=1.0, q0=0.0, F_ext=wave, F_int=lambda q: stiffness * q, **more)
    return ss.NonsmoothSystem([mass], edges=edges if cut else None)


def slope(errors):
    """Of errors with steps that are halved from one to the next."""
    return np.log2(np.array(errors[:-1]) / np.array(errors[1:]))


def test_a_square_wave_keeps_the_second_order_of_the_trapezoidal_rule():
    end, h = 1.3, 0.1
    how = {"until": end, "scheme": ss.schemes.EulerMoreau(theta=0.5, gamma=0.5)}
    cut, over = (
        [abs(ss.simulate(loaded(one), h=h / 2**k, **how).q[-1, 0] - level(end)) for k in range(5)]
        for one in (True, False)
    )
    assert (slope(cut)[1:] > 1.85).all(), cut
    assert cut[-1] < 1e-6 < 1e-4 < over[-1]


def test_edges_at_the_ends_of_steps_are_asked_from_the_side_of_the_step():
    """0.3 and 3 times 0.1 differ by rounding; a step that ends there must not see what comes after."""
    how = {"until": 1.2, "scheme": ss.schemes.EulerMoreau(theta=0.5, gamma=0.5)}
    errors = [
        abs(ss.simulate(loaded(half=0.3), h=h, **how).q[-1, 0] - level(1.2, 0.3)) for h in (0.1, 0.05, 0.025)
    ]
    assert (slope(errors) > 1.9).all(), errors


@pytest.mark.parametrize("record", [1, 7])
def test_moreau_jean_is_exact_under_forces_that_are_constant_between_edges(record):
    """Parabolas: the trapezoidal rule has no error; records stay where h has them."""
    run = ss.simulate(pushed(), until=1.0, h=0.01, scheme="moreau-jean", record=record)
    np.testing.assert_allclose(run.t[:-1], 0.01 * record * np.arange(len(run.t) - 1), atol=1e-14)
    fine = np.linspace(0.0, 1.0, 2001)
    speed = [sum(min(max(t - 2 * k * HALF, 0.0), HALF) for k in range(3)) for t in run.t]
    np.testing.assert_allclose(run.v[:, 0], speed, atol=1e-13)
    grid = np.union1d(fine, HALF * np.arange(1, 5))
    exact = ss.simulate(pushed(cut=False), grid=grid, scheme="event-driven")
    assert abs(run.q[-1, 0] - exact.q[-1, 0]) < 1e-6
    assert run.steps == 104


@pytest.mark.parametrize("scheme", ["moreau-jean", "variational", "schatzman-paoli"])
def test_schemes_of_second_order_keep_it_across_edges(scheme):
    options = {"schatzman-paoli": ss.schemes.SchatzmanPaoli(theta=0.0)}
    exact = ss.simulate(pushed(stiffness=30.0), until=1.0, h=0.1, scheme="event-driven").q[-1, 0]
    how = {"until": 1.0, "scheme": options.get(scheme, scheme)}
    ends = [ss.simulate(pushed(stiffness=30.0), h=0.02 / 2**k, **how).q[-1, 0] for k in range(4)]
    errors = np.abs(np.array(ends) - exact)
    assert slope(errors).mean() > 1.8, errors


def test_adaptive_steps_end_at_edges():
    adaptive = ss.schemes.Adaptive(tolerance=1e-6, h_max=0.1)
    run = ss.simulate(pushed(stiffness=30.0), until=1.0, adaptive=adaptive, scheme="moreau-jean")
    for k in range(1, 5):
        assert np.abs(run.t - k * HALF).min() < 1e-14


def test_runs_go_on_and_are_made_step_by_step_alike():
    whole = ss.simulate(pushed(stiffness=30.0), until=1.0, h=0.01, scheme="moreau-jean")
    first = ss.simulate(pushed(stiffness=30.0), until=0.5, h=0.01, scheme="moreau-jean")
    rest = ss.simulate(pushed(stiffness=30.0), until=1.0, start=first.checkpoint())
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], rtol=1e-14)
    live = ss.live(pushed(stiffness=30.0), h=0.01, scheme="moreau-jean")
    for _ in range(100):
        live.step()
    np.testing.assert_allclose(live.state.q, whole.q[-1], rtol=1e-14)
    assert live.t == whole.t[-1]


def test_derivatives_of_runs_over_edges_are_refused():
    loss = ss.gradients.AtEnd(lambda state: (state.q[0], np.ones(1), None))
    with pytest.raises(ss.ModelError, match=r"edge at 0\.212132 s"):
        ss.gradient(pushed(), loss, until=1.0, h=0.01, by=("v",))
    assert ss.gradient(pushed(), loss, until=0.2, h=0.01, by=("v",)).gradient["v"][0] == pytest.approx(0.2)
