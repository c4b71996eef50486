"""The cam and its follower: the profile, the two forms, compiled and plain functions."""

import numpy as np
import pytest

import stickslip as ss
from stickslip import scenes
from stickslip.scenes import cam
from stickslip.scenes.cam_profiles import circle, reach

POINTS = tuple(0.3 + 0.05 * np.sin(np.arange(12.0)) ** 2)
PROFILES = {"disc": {}, "arcs": {}, "points": {"points": POINTS}}


def turning(profile="disc", **given):
    """The cam of a scene."""
    made = scenes.make("cam", profile=profile, **PROFILES[profile], **given)
    return cam.Turning(made.system.z0)


def test_profile_is_the_disc() -> None:
    """The point of the cam under the follower lies on the disc, whose centre turns about the axle."""
    made = turning(rpm=660.0, phase=0.3, rest=0.16)
    for t in np.linspace(0.0, 0.09, 17):
        beta = 2.0 * np.pi * 11.0 * t + 0.3
        centre = -0.1 * np.array([np.sin(beta), np.cos(beta)])
        point = np.array([0.0, cam.cam_place(t, made.z) + 0.16])
        assert np.linalg.norm(point - centre) == pytest.approx(0.3, rel=1e-14)


def test_arcs_are_those_of_the_published_example() -> None:
    """Base of 0.4 m for a quarter turn, flank from a centre 0.45 m behind the axle, nose of 0.15 m from one
    at 0.40393320723821 m, high dwell at 0.55393320723821 m from 160 degrees on; flank and nose meet at
    90 + 1.050328174371336 rad."""
    row = turning("arcs").z[cam.OWN :]
    assert row[4:9].tolist() == pytest.approx(
        [1.050328174371336, 0.45, 0.85, 0.40393320723821, 0.15], rel=1e-9
    )
    for angle, r in ((80.0, 0.4), (165.0, 0.55393320723821), (195.0, 0.55393320723821), (280.0, 0.4)):
        found = reach(np.radians(angle), row)
        assert found[0] == pytest.approx(r, rel=1e-12)
        assert found[1:] == (0.0, 0.0)
    for edge in (np.pi / 2, np.pi / 2 + row[4], np.radians(160.0)):
        before, after = reach(edge - 1e-9, row), reach(edge + 1e-9, row)
        assert before[:2] == pytest.approx(after[:2], abs=1e-8)  # they touch: no step, no corner


def test_spline_goes_through_its_points() -> None:
    row = turning("points").z[cam.OWN :]
    at = [reach(2.0 * np.pi * k / 12, row)[0] for k in range(24)]
    assert at == pytest.approx(2 * list(POINTS), rel=1e-12)


@pytest.mark.parametrize("profile", PROFILES)
def test_derivatives_of_the_profile(profile) -> None:
    made, step = turning(profile, rpm=660.0, phase=0.3), 1e-7
    z = made.z
    for t in np.linspace(0.0, 0.09, 17):
        velocity = (cam.cam_place(t + step, z) - cam.cam_place(t - step, z)) / (2.0 * step)
        acceleration = (cam.cam_velocity(t + step, z) - cam.cam_velocity(t - step, z)) / (2.0 * step)
        assert cam.cam_velocity(t, z) == pytest.approx(velocity, abs=1e-6 * z[0])
        assert cam.cam_acceleration(t, z) == pytest.approx(acceleration, abs=1e-5 * z[0] ** 2)


def test_detachment_in_closed_form() -> None:
    """The disc is left at its top, where m ω² ε (1 + ε / ρ) is the spring's force; arcs where the nose
    begins, whose curve is sharper while the spring presses less."""
    disc = turning(valve=20.0)
    load = cam.STIFFNESS * (0.3 + 0.1 - 0.17) + 20.0
    assert disc.detachment() == pytest.approx(np.sqrt(load / (cam.MASS * 0.1 * (1.0 + 0.1 / 0.3))), rel=1e-9)
    arcs = turning("arcs")
    row = arcs.z[cam.OWN :]
    place, _, second = circle(row[4] - row[3], row[7], row[8])
    expected = np.sqrt(cam.STIFFNESS * (place - 0.3) / (cam.MASS * -second))
    assert arcs.detachment() == pytest.approx(expected, rel=1e-6)
    assert turning(damping=30.0).detachment() != pytest.approx(turning().detachment(), rel=1e-3)
    assert turning(rest=0.25).detachment() == 0.0  # the spring lifts it off a cam that stands


@pytest.mark.parametrize("damping", [0.0, 30.0])
def test_the_follower_leaves_the_disc_beyond_that_speed_alone(damping) -> None:
    rpm = turning(damping=damping).detachment() * 60.0 / (2.0 * np.pi)
    for factor, leaves in ((0.99, False), (1.01, True)):
        made = scenes.make("cam", rpm=factor * rpm, gap0=0.0, rate0=0.0, e=0.0, damping=damping)
        run = ss.simulate(made.system, until=made.period, h=made.period / 100, scheme="event-driven")
        assert any(event.kind == "take-off" for event in run.events) == leaves


def test_the_follower_leaves_arcs_beyond_that_speed_alone() -> None:
    rpm = turning("arcs").detachment() * 60.0 / (2.0 * np.pi)
    for factor, leaves in ((0.98, False), (1.02, True)):
        made = scenes.make("cam", profile="arcs", rpm=factor * rpm, gap0=0.0, rate0=0.0, e=0.0)
        run = ss.simulate(made.system, until=made.period / 2, h=1e-5, scheme="moreau-jean")
        assert (np.count_nonzero(run.r[1:, 0] == 0.0) > 100) == leaves
        assert (run.y.max() > 1e-6) == leaves


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("scheme", ["moreau-jean", "event-driven"])
def test_facts_of_every_profile(profile, scheme) -> None:
    given = {"mass": 1.0, "stiffness": 1200.0, "damping": 4.0, **PROFILES[profile]}
    made = scenes.make("cam", profile=profile, until=0.3, **given)
    run = ss.simulate(made.system, until=0.3, h=1e-4 if scheme == "moreau-jean" else 5e-3, scheme=scheme)
    facts = made.facts(run)
    assert len(facts) > 3
    assert all(fact.ok for fact in facts), [fact for fact in facts if not fact.ok]


def test_free_flight_of_any_damping() -> None:
    for damping in (0.0, 10.0, 2.0 * np.sqrt(cam.MASS * cam.STIFFNESS), 200.0):
        made, s, d = turning(damping=damping, valve=7.0), 0.03, 1e-5
        (before, _), (u, v), (after, _) = (made.flight(s + k * d, 0.2, 3.0) for k in (-1, 0, 1))
        assert v == pytest.approx((after - before) / (2.0 * d), rel=1e-6)
        force = cam.MASS * (after - 2.0 * u + before) / d**2 + damping * v + cam.STIFFNESS * u + 7.0
        assert abs(force) < 1e-2
        assert made.flight(0.0, 0.2, 3.0) == pytest.approx((0.2, 3.0))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"profile": "egg"}, "profile is 'egg'; it must be one of: disc, arcs, points"),
        ({"profile": "points", "points": (0.3, 0.4)}, "it must be three or more distances"),
        ({"points": (0.3, 0.4, 0.3)}, "points are given, but profile is 'disc'"),
        ({"radius": 0.05}, "radius is 0.05; it must be finite and > 0.1"),
        ({"profile": "arcs", "dwell": 300.0}, "440 degrees; a turn has 360"),
        ({"profile": "arcs", "flank": 0.3}, "flank is 0.3; it must be > base, 0.4"),
        ({"profile": "arcs", "nose": 0.5}, "no nose of 0.5 m touches a flank"),
        ({"damping": -1.0}, "damping is -1.0"),
    ],
)
def test_refusals(given, words) -> None:
    with pytest.raises(ValueError, match=words):
        scenes.make("cam", **given)


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
