"""Friction and restitution of pairs of geoms and bodies, instead of what MuJoCo makes of two geoms."""

import numpy as np
import pytest
from robot_models import ball, scene, slope

import stickslip as ss
from stickslip import Robot

G, H = 9.81, 1e-3


@pytest.mark.parametrize(("mu", "given"), [(0.7, 0.3), (0.3, 0.7)])
def test_friction_of_a_pair_is_the_one_given(mu, given):
    """tan 0.5 = 0.546: with 0.3 it slides with g (sin a - mu cos a), with 0.7 it stays."""
    angle = 0.5
    text = slope(angle, mu).replace('type="plane"', 'name="slope" type="plane"')
    robot = Robot.load(text).with_pair("slope", "box", friction=given)
    run = ss.simulate(robot, until=0.5, h=H)
    along = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    expected = 0.5 * max(0.0, G * (np.sin(angle) - given * np.cos(angle))) * 0.25
    moved = np.diff(run.body("box").position[[0, -1]], axis=0)[0] @ along
    assert moved == pytest.approx(expected, abs=3e-3 * expected + 1e-9)


def test_restitution_of_a_pair_is_the_one_given():
    robot = Robot.load(ball(0.55), restitution=1.0).with_pair("floor", "skin", restitution=0.5)
    run = ss.simulate(robot, until=0.7, h=H)
    speed = run.joint("ball").speed[:, 2]
    k = int(np.argmax(np.diff(speed)))
    assert speed[k + 1] / -speed[k] == pytest.approx(0.5, abs=5e-3)


def test_other_pairs_stay_as_they_were():
    """Of two balls on one floor one has a law of its own; the later of two laws of a pair holds."""
    text = scene(
        """<geom name="floor" type="plane" size="9 9 .1"/>
        <body name="a" pos="0 0 .2"><freejoint/><geom name="a" size=".05" mass="1"/></body>
        <body name="b" pos="1 0 .2"><freejoint/><geom name="b" size=".05" mass="1"/></body>"""
    )
    robot = Robot.load(text, restitution=0.8).with_pair("a", "floor", restitution=0.1)
    robot = robot.with_pair("floor", "a", restitution=0.0).with_pair("a", "b", friction=0.2)
    run = ss.simulate(robot, until=0.3, h=H)
    assert run.body("a").position[-1, 2] == pytest.approx(0.05, abs=1e-6)
    assert run.body("b").position[-1, 2] > 0.1


def test_torsion_stops_a_spinning_ball():
    """A ball with spin w about the normal and torsion mu_t [m]: it stops after w J / (mu_t m g)."""
    spin, J = 4.0, 0.4 * 0.05**2
    robot = Robot.load(ball(0.05)).with_pair("floor", "ball", friction=(1.0, 2e-3, 0.0), condim=4)
    run = ss.simulate(robot, until=0.5, h=H, start=robot.state(None, [0, 0, 0, 0, 0, spin]))
    found = run.joint("ball").speed[:, 5]
    stop = spin * J / (2e-3 * G)
    assert found[int(0.5 * stop / H)] == pytest.approx(0.5 * spin, abs=2 * spin * H / stop)
    assert abs(found[int(stop / H) + 2]) < 1e-9
    assert abs(found[int(stop / H) - 2]) > 1e-3


def test_mistakes_are_named():
    robot = Robot.load(ball(0.05))
    for given, said in (
        ({"friction": -0.1}, "friction is -0.1"),
        ({"friction": (0.1, 0.2)}, "1 number"),
        ({"restitution": 1.5}, "restitution is 1.5"),
        ({"condim": 2}, "condim is 2"),
        ({}, "give its friction"),
    ):
        with pytest.raises(ss.ModelError, match=said):
            robot.with_pair("floor", "skin", **given)
    with pytest.raises(ss.ModelError, match="'skin'"):
        robot.with_pair("floor", "skim", friction=0.1)
    text = ball(0.05).replace("type", 'condim="1" type').replace('size=".05"', 'size=".05" condim="1"')
    smooth = Robot.load(text)
    with pytest.raises(ss.ModelError, match="condim=3"):
        smooth.with_pair("floor", "skin", friction=0.5)
