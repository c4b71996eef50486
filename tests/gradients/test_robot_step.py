"""Derivatives of steps of robots, against differences of whole steps."""

import numpy as np
import pytest
from robot_differences import differences, matrix
from robot_models import FLOOR, ball, four_bar, gripper, pendulum, scene, slope

import stickslip as ss
from stickslip.state import ModelError

INPUTS = ("q", "v", "act", "ctrl", "force", "mass", "friction", "h")

ARM = scene(
    f"""{FLOOR}<body pos="0 0 .5"><joint name="slide" type="slide" axis="1 0 0" damping="2" range="-.2 .2"/>
    <geom type="box" size=".05 .05 .05" mass="1" contype="0" conaffinity="0"/>
    <body pos="0 0 -.1"><joint name="ball" type="ball" damping=".05"/>
    <geom type="capsule" fromto="0 0 0 .1 0 -.25" size=".03" mass=".5"/>
    <body pos=".1 0 -.25"><joint name="hinge" axis="0 1 0" frictionloss=".01" stiffness="3"/>
    <geom name="tip" type="sphere" pos="0 0 -.1" size=".0499" mass=".2" friction=".6 .005 .0001" condim="6"/>
    </body></body></body>""",
    """<actuator><position joint="slide" kp="200" kv="5"/>
    <general joint="hinge" dyntype="filter" dynprm=".02" gainprm="4"/></actuator>""",
)
"""A slide with a servo and limits, a ball joint, and a hinge with dry friction, a spring and an actuator that
lags behind; its tip is .1 mm above the floor."""


def _robots():
    ball_near, gaping = ss.Robot.load(ball(0.05 + 1e-5)), ss.Robot.load(ball(0.15))
    q = ball_near.model.qpos0
    low = q - [0, 0, 1e-4, 0, 0, 0, 0]
    bouncing = ss.Robot.load(ball(0.05 + 1e-5), restitution=0.5)
    swing = ss.Robot.load(pendulum(friction=0.5, damping=0.1))
    text = '<joint name="hinge" axis="0 1 0" range="-1 .3" limited="true"'
    stopped = ss.Robot.load(pendulum().replace('<joint name="hinge" axis="0 1 0"', text).replace("<mujoco>",
                            '<mujoco><compiler angle="radian"/>'))  # fmt: skip
    arm, bars, unlike = (ss.Robot.load(text) for text in (ARM, four_bar(), four_bar(rocker=0.3)))
    jointly = ss.Robot.load(ARM, cone="joint")
    moving, slow = [0.3, 0.2, 1.4, 0.5, 0.7], [0.05, 0.0, 1.5, 0.0, -1.4]
    hand = ss.Robot.load(gripper())
    closing = hand._state(hand.model.qpos0, [0.0, -0.06, -0.07, *[0.0] * 6], ctrl=np.array([0.01, 8.0, 8.0]))
    box, incline = ss.Robot.load(slope(0.5, 0.3)), [0.3, 0.0, -0.16, 0.0, 0.0, 0.0]
    above = box.model.qpos0 + 1e-5 * np.array([0.48, 0, 0.88, 0, 0, 0, 0])
    return {
        "slides": (ball_near, ball_near.state(q, [1.0, 0.3, -0.2, 0.5, 1.0, 2.0]), 1e-3),
        "sticks": (ball_near, ball_near.state(q, [0.1, 0.0, -0.2, 0.0, 2.0, 0.0]), 1e-3),
        "overlaps": (ball_near, ball_near.state(low, [1.0, 0.3, -0.2, 0.5, 1.0, 2.0]), 1e-3),
        "separates": (gaping, gaping.state(None, [0.1, 0.0, -0.2, 1.0, 2.0, 0.5]), 1e-3),
        "bounces": (bouncing, bouncing.state(q, [1.0, 0.3, -0.5, 0.5, 1.0, 2.0]), 1e-3),
        "dry friction slips": (swing, swing.state([0.4], [1.0]), 1e-3),
        "dry friction sticks": (swing, swing.state([0.01], [0.0]), 1e-3),
        "limit": (stopped, stopped.state([0.2999], [2.0]), 1e-3),
        "equality": (bars, bars.state(None, [0.5, 0.0, 0.0]), 1e-3),
        "unlike bars": (unlike, unlike.state(None, [3.0, -3.0, 5.0]), 1e-3),
        "arm rubs": (arm, arm.state(None, moving), 2e-3),
        "arm rubs, one cone": (jointly, jointly.state(None, moving), 2e-3),
        "arm lands": (arm, arm.state(None, slow), 2e-3),
        "gripper closes": (hand, closing, 2e-3),
        "box slides": (box, box.state(above, incline), 2e-3),
    }  # fmt: skip


ROBOTS = _robots()


@pytest.mark.parametrize("name", ROBOTS)
def test_steps(name):
    robot, state, h = ROBOTS[name]
    found = ss.differentiate(robot, state, h=h, tolerance=1e-13)
    assert found.exists, found.notes
    for by in INPUTS:
        size = int(np.prod(found.by[by]))
        # Impulses at eight corners cannot follow a box that turns between two pads: some would open.
        followed = [j for j in range(size) if found.mismatch(**{by: np.eye(size)[j]}) < 1e-6]
        assert len(followed) == size or (name, by) == ("gripper closes", "q")
        expected = differences(robot, state, h, by, size)[:, followed]
        scale = max(np.abs(expected).max(initial=0.0), 1e-3)
        np.testing.assert_allclose(
            matrix(found, by)[:, followed], expected, rtol=0, atol=1e-5 * scale, err_msg=by
        )
    assert (found.step.r.any() or found.step.memory["r"].any()) == (name != "separates")


@pytest.mark.parametrize("name", ["arm rubs", "gripper closes", "equality", "overlaps"])
@pytest.mark.parametrize("kappa", [0.0, 1e-5])
def test_backwards_is_the_transpose(name, kappa):
    robot, state, h = ROBOTS[name]
    found, rng = ss.differentiate(robot, state, h=h, kappa=kappa), np.random.default_rng(3)
    changes = {key: rng.normal(size=shape) for key, shape in found.by.items()}
    weights = {key: rng.normal(size=shape) for key, shape in found.of.items()}
    there, back = found.jvp(**changes), found.vjp(**weights)
    left = sum(float(np.sum(weights[key] * there[key])) for key in found.of)
    right = sum(float(np.sum(back[key] * changes[key])) for key in found.by)
    assert left == pytest.approx(right, rel=1e-9)


def test_what_overlaps_is_moved_apart():
    """Four corners of a box .1 mm in the slope: the correction is swept to 1e-3 of it, the derivative is that
    of what the sweeps go to."""
    robot = ss.Robot.load(slope(0.5, 0.3))
    state = robot.state(robot.model.qpos0 - [0, 0, 1e-4, 0, 0, 0, 0], [0.3, 0.0, -0.1636, 0.0, 0.0, 0.0])
    found = ss.differentiate(robot, state, h=2e-3, tolerance=1e-13)
    assert found.step.correction > 1e-5
    expected = differences(robot, state, 2e-3, "q", 6)
    np.testing.assert_allclose(matrix(found, "q"), expected, atol=2e-3 * np.abs(expected).max())
    normal = np.array([np.sin(0.5), 0.0, np.cos(0.5)])
    np.testing.assert_allclose(normal @ found.jacobian("q", "q")[:3, :3] @ normal, 0.0, atol=1e-8)


def test_a_robot_that_stands_has_two_sides_by_q_alone():
    robot = ss.Robot.load(ball(0.05))
    found = ss.differentiate(robot, h=1e-3)
    assert not found.exists
    assert "gap of 0" in found.notes[0]
    assert "geoms 'floor' and 'skin'" in found.notes[0]
    expected = differences(robot, robot.start, 1e-3, "force", 6)
    np.testing.assert_allclose(matrix(found, "force"), expected, atol=1e-9)
    # The side that is taken: what overlaps is moved apart, and has no velocity of it.
    assert found.jacobian("v", "q")[2, 2] == 0.0
    assert found.jacobian("q", "q")[2, 2] == pytest.approx(0.0, abs=1e-9)


def test_the_edge_of_sliding_is_a_kink():
    robot = ss.Robot.load(slope(0.5, float(np.tan(0.5))))
    state = robot.state(robot.model.qpos0 - [0, 0, 1e-5, 0, 0, 0, 0])
    assert not ss.differentiate(robot, state, h=2e-3).exists
    free = robot.state(robot.model.qpos0 - [0, 0, 1e-5, 0, 0, 0, 0], [0.3, 0.0, -0.1636, 0.0, 0.0, 0.0])
    assert ss.differentiate(robot, free, h=2e-3).exists


def test_geoms_of_the_same_friction_share_its_derivative():
    robot, state, h = ROBOTS["slides"]
    found = ss.differentiate(robot, state, h=h)
    by = found.jacobian("v", "friction").reshape(6, 2, 3)
    np.testing.assert_allclose(by[:, 0, 0], by[:, 1, 0])
    assert found.exists
    assert "half of the derivative" in found.notes[-1]


def _bounces():
    """A ball that slides off a floor of another restitution, or of the same, and a pendulum at its stop."""
    q, v = ss.Robot.load(ball(0.05 + 1e-5)).model.qpos0, [1.0, 0.3, -0.5, 0.5, 1.0, 2.0]
    text = '<joint name="hinge" axis="0 1 0" range="-1 .3" limited="true"'
    stopped = pendulum().replace('<joint name="hinge" axis="0 1 0"', text)
    stopped = stopped.replace("<mujoco>", '<mujoco><compiler angle="radian"/>')
    rebounds = ss.Robot.load(stopped, limit_restitution=0.4)
    made = {
        "both": ss.Robot.load(ball(0.05 + 1e-5), restitution=0.5),
        "smaller": ss.Robot.load(ball(0.05 + 1e-5), restitution={"floor": 0.9, "skin": 0.6}),
        "none": ss.Robot.load(ball(0.05 + 1e-5)),
    }
    made["pair"] = made["smaller"].with_pair("floor", "skin", restitution=0.3)
    return {
        **{name: (robot, robot.state(q, v)) for name, robot in made.items()},
        "limit": (rebounds, rebounds.state([0.2999], [2.0])),
    }


@pytest.mark.parametrize("name", _bounces())
def test_derivatives_by_restitution(name):
    """Those of whole steps; nothing where it is 0, or given for the pair. The ball leaves with -e u⁻."""
    robot, state = _bounces()[name]
    found = ss.differentiate(robot, state, h=1e-3, tolerance=1e-13)
    for by in ("restitution", "limit_restitution"):
        size = int(np.prod(found.by[by]))
        own = matrix(found, by)
        if name == "none":
            assert not own.any()
            continue
        expected = differences(robot, state, 1e-3, by, size)
        scale = max(np.abs(expected).max(initial=0.0), 1e-3)
        np.testing.assert_allclose(own, expected, rtol=0, atol=1e-5 * scale, err_msg=by)
    assert found.exists, found.notes
    if name in ("both", "smaller"):
        share = [0.25, 0.25] if name == "both" else [0.0, 0.5]
        np.testing.assert_allclose(found.jacobian("v", "restitution")[2], share, rtol=1e-9)
        assert any("smaller coefficient" in note for note in found.notes) == (name == "both")


def test_controls_at_their_limits_have_two_slopes():
    text = pendulum().replace("</mujoco>", '<actuator><motor name="m" joint="hinge" ctrllimited="true"'
                              ' ctrlrange="-1 1"/></actuator></mujoco>')  # fmt: skip
    robot = ss.Robot.load(text)
    found = {}
    for ctrl in (0.5, 1.0, 2.0):
        state = robot._state(robot.model.qpos0, np.zeros(1), ctrl=np.array([ctrl]))
        found[ctrl] = ss.differentiate(robot, state, h=1e-3)
    assert [one.exists for one in found.values()] == [True, False, True]
    assert found[1.0].notes == ("there are two slopes by ctrl of actuator 'm'",)
    assert found[0.5].jacobian("v", "ctrl")[0, 0] == pytest.approx(1e-3, rel=1e-5)
    assert found[2.0].jacobian("v", "ctrl")[0, 0] == 0.0


BLOCK = scene(
    f"""{FLOOR}<body pos="0 0 .049"><joint name="x" type="slide" axis="1 0 0"/>
    <joint name="z" type="slide" axis="0 0 1"/><geom size=".05" mass="2" friction=".5 .005 .0001"/></body>"""
)


@pytest.mark.parametrize("push", [1.0, 9.0, 20.0])
def test_smoothed_friction_in_closed_form(push):
    """A block of 2 kg on the floor: gamma u_N = kappa, b = -R u_T / eta, with mu = 1, the floor's."""
    h, kappa, m = 2e-3, 1e-5, 2.0
    robot = ss.Robot.load(BLOCK)
    state = robot.state()
    memory = {**ss.differentiate(robot, state).step.memory, "qfrc_applied": np.array([push, 0.0])}
    found = ss.differentiate(robot, state, memory=memory, kappa=kappa)
    assert found.exists

    def speed(push):
        # gamma = m (u_N + g h), u_N = kappa / gamma
        gamma = 0.5 * (m * 9.81 * h + np.sqrt((m * 9.81 * h) ** 2 + 4.0 * m * kappa))
        low, high = 0.0, h * push / m
        for _ in range(200):
            u = 0.5 * (low + high)
            eta = 0.5 * (kappa / gamma + np.sqrt((kappa / gamma) ** 2 + 4.0 * u * u))
            low, high = (u, high) if m * u - h * push + gamma * u / eta < 0.0 else (low, u)
        return u

    slope_ = (speed(push + 1e-4) - speed(push - 1e-4)) / 2e-4
    assert found.jacobian("v", "force")[0, 0] == pytest.approx(slope_, rel=1e-5)
    exact = ss.differentiate(robot, state, memory=memory)
    assert exact.jacobian("v", "force")[0, 0] == pytest.approx(h / m if push > m * 9.81 else 0.0, abs=1e-12)


def test_what_is_given_wrongly():
    robot = ss.Robot.load(ball(0.5))
    with pytest.raises(ModelError, match="does not apply to robots"):
        ss.differentiate(robot, scheme="variational")
    with pytest.raises(ModelError, match="expected a State"):
        ss.differentiate(robot, [0.0])
    with pytest.raises(ModelError, match="memory has no 'key'"):
        ss.differentiate(robot, memory={})
    with pytest.raises(ModelError, match="no derivative by 'mu'"):
        ss.differentiate(robot).jacobian("v", "mu")
