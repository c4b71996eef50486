"""Order of convergence of every second-order scheme, in smooth motion and through an impact.

Impact times lie anywhere within a step, so errors of time-stepping are taken as root mean squares over
starts whose impacts fall at different parts of it. (Euler-Moreau: tests/schemes/test_euler_moreau_order.py.)
"""

import math

import numpy as np
import pytest

import stickslip as ss

G, E = 9.81, 0.5
STARTS = [1.0 + 0.003 * k for k in range(8)]
"""Heights from which the ball is dropped [m]."""


def order(steps, errors):
    """Slope of the errors over the steps in a double logarithmic plot."""
    return float(np.polyfit(np.log(steps), np.log(errors), 1)[0])


def oscillator():
    return ss.NonsmoothSystem([ss.LagrangianLinear("mass", M=1.0, K=9.0, q0=1.0, v0=0.5)])


def oscillation_error(scheme, h):
    run = ss.simulate(oscillator(), until=1.0, h=h, scheme=scheme)
    exact = math.cos(3.0) + 0.5 / 3.0 * math.sin(3.0)
    return abs(float(run.q[-1, 0]) - exact)


def ball(height):
    one = ss.Lagrangian("ball", M=1.0, q0=height, F_ext=-G)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q, 1.0), ss.NewtonImpact(e=E))
    return ss.NonsmoothSystem([one], [floor])


def bounce_error(scheme, h, heights=STARTS):
    """Root mean square error of the height at 0.8 s, after one impact [m]."""
    errors = []
    for height in heights:
        fall = math.sqrt(2.0 * height / G)
        left = 0.8 - fall
        exact = E * G * fall * left - 0.5 * G * left**2
        errors.append(float(ss.simulate(ball(height), until=0.8, h=h, scheme=scheme).q[-1, 0]) - exact)
    return float(np.sqrt(np.mean(np.square(errors))))


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        (ss.schemes.MoreauJean(theta=0.5), 2.0),
        (ss.schemes.MoreauJean(theta=1.0), 1.0),
        (ss.schemes.MoreauJean(variant="complete"), 2.0),
        (ss.schemes.MoreauJean(variant="semi-explicit"), 1.0),
        (ss.schemes.SchatzmanPaoli(theta=0.0), 2.0),
        (ss.schemes.SchatzmanPaoli(theta=1.0), 1.0),
        (ss.schemes.Compliant(), 2.0),
    ],
    ids=lambda x: f"{type(x).__name__}" if not isinstance(x, float) else str(x),
)
def test_smooth_motion(scheme, expected):
    steps = [2e-2, 1e-2, 5e-3]
    assert order(steps, [oscillation_error(scheme, h) for h in steps]) == pytest.approx(expected, abs=0.15)


@pytest.mark.parametrize(
    "scheme",
    [ss.schemes.MoreauJean(), ss.schemes.MoreauJean(theta=1.0), ss.schemes.SchatzmanPaoli(theta=0.0)],
)
def test_time_stepping_is_of_first_order_through_an_impact(scheme):
    steps = [8e-3, 4e-3, 2e-3, 1e-3]
    assert order(steps, [bounce_error(scheme, h) for h in steps]) == pytest.approx(1.0, abs=0.35)


def test_the_error_of_the_event_driven_scheme_is_that_of_its_integrator():
    for h in (0.2, 0.05):
        assert oscillation_error("event-driven", h) < 1e-9
        assert bounce_error("event-driven", h, STARTS[:2]) < 1e-10
    coarse, fine = (
        oscillation_error(ss.schemes.EventDriven(method="RK45", rtol=r, atol=r), 1.0) for r in (1e-4, 1e-8)
    )
    assert fine < 1e-2 * coarse


def test_compliant_contact_tends_to_the_rigid_one_like_the_time_of_contact():
    """A contact of stiffness k lasts π √(m / k), so the error is of order k^(-1/2)."""
    stiffness = [1e4, 1e5, 1e6]
    errors = [
        bounce_error(ss.schemes.Compliant(stiffness=k, points=100), 1e-3, STARTS[:1]) for k in stiffness
    ]
    assert order(stiffness, errors) == pytest.approx(-0.5, abs=0.15)
