"""Derivatives of runs of robots, against differences of runs."""

import mujoco
import numpy as np
import pytest
from robot_models import FLOOR, ball, pendulum, scene

import stickslip as ss
from stickslip.robots.numbers import robot_with
from stickslip.state import ModelError

PUSHER = scene(
    f"""{FLOOR}<body pos="-.2 0 .06"><joint name="push" type="slide" axis="1 0 0" damping="1"/>
    <geom name="finger" type="sphere" size=".05" mass=".5" friction=".1 .005 .0001"/></body>
    <body pos="0 0 .049"><freejoint name="puck"/>
    <geom name="puck" type="sphere" size=".05" mass=".3" condim="4" friction=".2 .004 .0001"/></body>""",
    '<actuator><motor name="push" joint="push"/></actuator>',
    h=5e-3,
)
"""A finger that rolls a ball on the floor, which it hits after .1 s; the ball begins 1 mm in the floor."""
STEPS, H = 40, 5e-3


def efforts(rng):
    return 12.0 + rng.normal(size=(STEPS, 1))


def way(state):
    """Where the ball is, and its derivative by the numbers of q."""
    dq = np.zeros(state.q.size)
    dq[1] = 1.0
    return state.q[1], dq, None


def test_controls_through_an_impact():
    robot, rng = ss.Robot.load(PUSHER), np.random.default_rng(0)
    ctrl, end = efforts(rng), ss.gradients.AtEnd(way)
    how = {"until": STEPS * H, "h": H, "tolerance": 1e-12}
    found = ss.gradient(robot, end, by=("ctrl", "q", "v", "mass", "friction"), controls={"ctrl": ctrl}, **how)
    assert found.value > 0.02
    assert found.exists, found.notes
    rows = iter(ctrl)
    run = ss.simulate(robot, until=STEPS * H, h=H, control=lambda data: next(rows))
    assert found.end.q == pytest.approx(run.q[-1], abs=1e-9)

    def value(ctrl, robot=robot):
        return ss.gradient(robot, end, by=("v",), controls={"ctrl": ctrl}, **how).value

    for k in (0, 10, 30):
        change = np.zeros((STEPS, 1))
        change[k] = 1e-4
        slope = (value(ctrl + change) - value(ctrl - change)) / 2e-4
        assert found.gradient["ctrl"][k, 0] == pytest.approx(slope, rel=1e-5), k
    mass = np.array(robot.model.body_mass)
    heavier = np.array([0.0, 0.0, 1e-6])
    slope = (
        value(ctrl, robot_with(robot, mass=mass + heavier))
        - value(ctrl, robot_with(robot, mass=mass - heavier))
    ) / 2e-6
    assert found.gradient["mass"][2] == pytest.approx(slope, rel=1e-5)
    # The numbers of q: none stretches the quaternion of the ball.
    assert found.coordinates.shape == (8,)
    assert found.coordinates[4:] @ found.start.q[4:] == pytest.approx(0.0, abs=1e-12)


def test_sensitivity_and_gradient_agree():
    robot, rng = ss.Robot.load(PUSHER), np.random.default_rng(1)
    ctrl = efforts(rng)
    how = {"until": STEPS * H, "h": H, "controls": {"ctrl": ctrl}}
    back = ss.gradient(robot, ss.gradients.AtEnd(way), by=("v", "friction"), **how)
    there = ss.sensitivity(robot, by=("v", "friction"), **how)
    assert there.dq.shape == (STEPS + 1, 7, 7 + 9)
    both = there.dq[-1][1]
    np.testing.assert_allclose(both[there.columns["v"]], back.gradient["v"], atol=1e-10)
    np.testing.assert_allclose(both[there.columns["friction"]], back.gradient["friction"].ravel(), atol=1e-10)


def test_a_ball_joint_over_a_run():
    """Displacements of the end are MuJoCo's."""
    text = pendulum().replace('<joint name="hinge" axis="0 1 0"', '<joint name="hinge" type="ball"')
    robot = ss.Robot.load(text)
    begin = robot.state([1.0, 0.0, 0.0, 0.0], [0.5, 1.0, 0.7])
    found = ss.sensitivity(robot, until=0.05, h=1e-3, by=("q", "v"), start=begin)
    for j in range(6):
        ends = []
        for sign in (1.0, -1.0):
            q, v = np.array(begin.q), np.array(begin.v)
            change = np.zeros(3)
            change[j % 3] = sign * 1e-6
            if j < 3:
                mujoco.mj_integratePos(robot.model, q, change, 1.0)
            else:
                v += change
            ends.append(ss.simulate(robot, until=0.05, h=1e-3, start=robot.state(q, v)).q[-1])
        dq = np.zeros(3)
        mujoco.mj_differentiatePos(robot.model, dq, 2e-6, ends[1], ends[0])
        np.testing.assert_allclose(found.dq[-1][:, j], dq, atol=1e-6)


def test_a_run_that_stands_has_its_kink_at_the_start_alone():
    """After the first step a gap of 0 is one that the step before left, whatever was changed."""
    found = ss.gradient(
        ss.Robot.load(ball(0.05)), ss.gradients.AtEnd(lambda s: (s.q[0], None, None)), until=0.01, h=1e-3
    )
    assert found.kinks == (0,)


def test_activations_are_carried():
    text = pendulum(damping=0.3).replace(
        "</mujoco>",
        '<actuator><general joint="hinge" dyntype="filter" dynprm=".02" gainprm="4"/></actuator></mujoco>',
    )
    robot = ss.Robot.load(text)
    rng = np.random.default_rng(2)
    ctrl, end = rng.normal(size=(20, 1)), ss.gradients.AtEnd(lambda s: (s.q[0], [1.0], None))
    how = {"until": 0.02, "h": 1e-3, "by": ("ctrl",)}
    found = ss.gradient(robot, end, controls={"ctrl": ctrl}, **how)
    change = rng.normal(size=(20, 1))
    up, down = (
        ss.gradient(robot, end, controls={"ctrl": ctrl + s * change}, **how).value for s in (1e-3, -1e-3)
    )
    assert np.sum(found.gradient["ctrl"] * change) == pytest.approx((up - down) / 2e-3, rel=1e-6)


def test_what_is_given_wrongly():
    robot = ss.Robot.load(PUSHER)
    end = ss.gradients.AtEnd(way)
    with pytest.raises(ModelError, match=r"control ctrl has shape \(3,\)"):
        ss.gradient(robot, end, until=0.1, controls={"ctrl": [1.0, 2.0, 3.0]})
    with pytest.raises(ModelError, match="unknown control 'effort'"):
        ss.gradient(robot, end, until=0.1, controls={"effort": [1.0]})
    with pytest.raises(ModelError, match="no derivative by 'mu'"):
        ss.gradient(robot, end, until=0.1, by=("mu",))
