"""The cam and its follower: the profile, the two forms, compiled and plain functions."""

import numpy as np
import pytest

import stickslip as ss
from stickslip import scenes
from stickslip.scenes import cam

Z = np.array([2.0 * np.pi * 660.0 / 60.0, 0.3, 0.1, 0.3, 0.16, 5.0])


def test_profile_is_the_disc() -> None:
    """The point of the cam under the follower lies on the disc, whose centre turns about the axle."""
    for t in np.linspace(0.0, 0.09, 17):
        beta = Z[0] * t + Z[1]
        centre = -Z[2] * np.array([np.sin(beta), np.cos(beta)])
        point = np.array([0.0, cam.cam_place(t, Z) + Z[4]])
        assert np.linalg.norm(point - centre) == pytest.approx(Z[3], rel=1e-14)


def test_derivatives_of_the_profile() -> None:
    step = 1e-6
    for t in np.linspace(0.0, 0.09, 17):
        velocity = (cam.cam_place(t + step, Z) - cam.cam_place(t - step, Z)) / (2.0 * step)
        acceleration = (cam.cam_velocity(t + step, Z) - cam.cam_velocity(t - step, Z)) / (2.0 * step)
        assert cam.cam_velocity(t, Z) == pytest.approx(velocity, abs=1e-7 * Z[0])
        assert cam.cam_acceleration(t, Z) == pytest.approx(acceleration, abs=1e-6 * Z[0] ** 2)


def test_forms_agree() -> None:
    """u - c(t) and û differ by what the quadrature of the cam's motion makes, of order h."""
    gaps = {}
    for form in cam.FORMS:
        for h in (4e-4, 2e-4):
            scenario = scenes.make("cam", rpm=700.0, form=form, h=h, until=0.2)
            run = ss.simulate(scenario.system, until=scenario.until, h=h, scheme="moreau-jean")
            gaps[form, h] = np.asarray(run.interaction("cam").y[:, 0])
    apart = [np.abs(gaps["rheonomous", h] - gaps["translated", h]).max() for h in (4e-4, 2e-4)]
    assert apart[0] < 1e-4
    assert apart[1] < 0.6 * apart[0]


def test_forms_agree_event_driven() -> None:
    gaps = []
    for form in cam.FORMS:
        scenario = scenes.make("cam", rpm=660.0, form=form, h=5e-3, until=0.3)
        run = ss.simulate(scenario.system, until=scenario.until, h=scenario.h, scheme="event-driven")
        gaps.append(np.asarray(run.interaction("cam").y[:, 0]))
    assert np.abs(gaps[0] - gaps[1]).max() < 1e-7


def test_time_stepping_converges_to_event_driven() -> None:
    """Before chaos parts them: of first order, with a constant that hangs on where impacts fall."""
    driven = scenes.make("cam", rpm=660.0, h=1e-2, until=0.2)
    exact = ss.simulate(driven.system, until=driven.until, h=driven.h, scheme="event-driven")
    errors = []
    for h in (1e-3, 2e-5):
        stepped = scenes.make("cam", rpm=660.0, h=h, until=0.2)
        run = ss.simulate(stepped.system, until=stepped.until, h=h, scheme="moreau-jean")
        every = round(1e-2 / h)
        errors.append(float(np.abs(run.q[::every, 0] - exact.q[:, 0]).max()))
    assert errors[1] < 0.2 * errors[0]
    assert errors[1] < 2e-3


def test_plain_functions_give_the_same_run() -> None:
    runs_ = []
    for compiled in (True, False):
        scenario = scenes.make("cam", until=0.05, compiled=compiled)
        runs_.append(ss.simulate(scenario.system, until=scenario.until, h=scenario.h, scheme="moreau-jean"))
    assert np.abs(runs_[0].q - runs_[1].q).max() < 1e-12
