"""How far contacts and limits are looked for: as far as what is fast moves in a step, and not further."""

import numpy as np
import pytest

import stickslip as ss

H = 2e-3
BALL = """<mujoco><option timestep="0.002" gravity="0 0 0"/><worldbody>
<geom name="wall" type="plane" size="9 9 0.1"/>
<body name="ball" pos="0 0 {z}"><joint name="z" type="slide" axis="0 0 1" {limit}/>
<geom size="0.05" mass="1"/></body>
<body name="far" pos="3 0 0.4"><freejoint/><geom size="0.05" mass="1"/></body>
{more}</worldbody></mujoco>"""


def flies(robot, speed, steps):
    """A live run of the ball that flies down."""
    v = np.zeros(robot.model.nv)
    v[0] = -speed
    live = ss.live(robot, h=H, start=robot.state(qvel=v))
    for _ in range(steps):
        live.step()
    return live


@pytest.mark.parametrize("speed", [0.1, 3.0, 100.0])
def test_what_is_fast_stops_where_it_touches(speed):
    way = 3.5 * speed * H  # it arrives in the fourth step
    robot = ss.Robot.load(BALL.format(z=0.05 + way, limit="", more=""))
    run = flies(robot, speed, 6).run()
    height = run.body("ball").position[:, 2] - 0.05
    assert height[4] == pytest.approx(0.0, abs=1e-9 * speed)
    assert np.abs(run.v[5:, 0]).max() <= 1e-7 * speed
    assert run.penetration.max() <= 1e-9 * speed


def test_a_joint_that_is_fast_stops_at_its_limit():
    limit = 'limited="true" range="-0.5 1"'
    robot = ss.Robot.load(BALL.format(z=9.0, limit=limit, more=""))
    run = flies(robot, 70.0, 8).run()
    assert run.joint("z").position[4:] == pytest.approx(-0.5, abs=1e-7)


@pytest.mark.parametrize("speed", [0.5, 40.0])
def test_what_a_fast_mocap_body_meets_goes_with_it(speed):
    more = '<body name="ram" mocap="true" pos="3 0 0"><geom type="box" size="0.2 0.2 0.05"/></body>'
    text = BALL.format(z=9.0, limit="", more=more).replace(
        '<geom name="wall" type="plane" size="9 9 0.1"/>', ""
    )
    robot = ss.Robot.load(text.replace("3 0 0.4", f"3 0 {0.1 + 2.5 * speed * H}"))
    live = ss.live(robot, h=H)
    for k in range(1, 6):
        live.data.mocap_pos[0, 2] = k * speed * H
        live.step()
    run = live.run()
    assert run.v[2, 3] == pytest.approx(0.0, abs=1e-9)
    assert run.v[3, 3] == pytest.approx(0.5 * speed, rel=1e-6)  # it is met in the middle of the step
    assert run.v[4:, 3] == pytest.approx(speed, rel=1e-6)
    assert run.penetration.max() <= 1e-9 * speed


def test_limits_and_contacts_that_stay_far_are_not_looked_at():
    robot = ss.Robot.load(BALL.format(z=0.4, limit='limited="true" range="-9 9"', more=""))
    assert flies(robot, 5.0, 2).data.ncon == 0
    assert flies(robot, 100.0, 1).data.ncon == 1  # the ball alone: what is far rests
