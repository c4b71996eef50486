"""Contacts of condim 1, 3, 4 and 6 with either cone: a ball that slides, rolls and spins."""

import numpy as np
import pytest
from robot_models import FLOOR, scene

import stickslip as ss
from stickslip import Robot

G, H, R = 9.81, 1e-3, 0.1
CONES = ("groups", "joint")


def ball(condim, friction, cone):
    """A ball of 1 kg on the floor."""
    text = scene(
        f"""{FLOOR.replace("/>", f' condim="{condim}" friction="{friction}"/>')}
        <body name="ball" pos="0 0 {R}"><freejoint name="ball"/>
        <geom size="{R}" mass="1" condim="{condim}" friction="{friction}"/></body>"""
    )
    return Robot.load(text, cone=cone)


def run_of(robot, v, until=1.0):
    run = ss.simulate(robot, until=until, h=H, start=robot.state(None, v))
    assert run.verdicts.max() == 0
    return run, run.joint("ball").speed


@pytest.mark.parametrize("cone", CONES)
def test_condim_1_has_no_friction(cone):
    _, v = run_of(ball(1, "1 1 1", cone), [1, 0, 0, 0, 2, 3])
    assert v[-1] == pytest.approx([1, 0, 0, 0, 2, 3], abs=1e-9)


@pytest.mark.parametrize("cone", CONES)
def test_condim_3_slides_and_then_rolls(cone):
    """From v without spin: mu g until it rolls with 5/7 v, after 2 v / (7 mu g); other spin stays."""
    mu, v0 = 0.2, 1.0
    _, v = run_of(ball(3, f"{mu} .005 .0001", cone), [v0, 0, 0, 0, 0, 4])
    stop = 2.0 * v0 / (7.0 * mu * G)
    half = int(0.5 * stop / H)
    assert v[half, 0] == pytest.approx(v0 - mu * G * half * H, rel=1e-9)
    assert v[-1, 0] == pytest.approx(5.0 / 7.0 * v0, rel=1e-9)
    # Spins are in the frame of the ball: about the vertical nothing changes.
    assert np.linalg.norm(v[-1, 3:]) == pytest.approx(np.hypot(5.0 / 7.0 * v0 / R, 4.0), rel=1e-3)


@pytest.mark.parametrize("cone", CONES)
def test_condim_4_stops_spin_about_the_normal(cone):
    """With mu_t g m / J until it stands."""
    torsion, spin, J = 2e-3, 5.0, 0.4 * R * R
    _, v = run_of(ball(4, f"1 {torsion} .0001", cone), [0, 0, 0, 0, 0, spin], until=1.5)
    rate = torsion * G / J
    half = int(0.5 * spin / rate / H)
    assert v[half, 5] == pytest.approx(spin - rate * half * H, rel=1e-9)
    assert np.abs(v[-1]).max() < 1e-9


def test_condim_6_stops_rolling():
    """Rolling friction takes mu_r m g: it slows down with 5/7 mu_r g / R while it rolls."""
    roll, v0 = 5e-3, 0.5
    _, v = run_of(ball(6, f"1 .005 {roll}", "groups"), [v0, 0, 0, 0, v0 / R, 0], until=2.0)
    rate = 5.0 / 7.0 * roll * G / R
    half = int(0.5 * v0 / rate / H)
    assert v[half, 0] == pytest.approx(v0 - rate * half * H, rel=1e-3)
    assert np.abs(v[-1]).max() < 1e-9


def test_condim_6_with_one_ellipsoid_stops_rolling_too():
    """There rolling and sliding share one limit: it slips a little as it rolls, and comes to rest."""
    roll, v0 = 5e-3, 0.5
    run, v = run_of(ball(6, f"1 .005 {roll}", "joint"), [v0, 0, 0, 0, v0 / R, 0], until=2.5)
    assert np.abs(v[-1]).max() < 1e-9
    assert np.diff(run.kinetic).max() < 1e-12


@pytest.mark.parametrize("cone", CONES)
def test_friction_along_axes_is_that_of_the_pair(cone):
    """A box pushed along two axes slides with the coefficient of each."""
    text = scene(
        f"""{FLOOR}<body name="box" pos="0 0 .05"><freejoint name="box"/>
        <geom name="box" type="box" size=".1 .1 .05" mass="1"/></body>""",
        '<contact><pair geom1="floor" geom2="box" condim="3" friction="0.6 0.2 .005 .0001 .0001"/></contact>',
    )
    lost = {}
    for axis in (0, 1):
        robot = Robot.load(text, cone=cone)
        start = np.zeros(6)
        start[axis] = 1.0
        run = ss.simulate(robot, until=0.1, h=H, start=robot.state(None, start))
        lost[axis] = (1.0 - run.joint("box").speed[-1, axis]) / (0.1 * G)
    assert sorted(lost.values()) == pytest.approx([0.2, 0.6], rel=1e-6)
