"""Wrong arguments of robots, and data that users change: errors in one sentence, and nothing lost."""

import mujoco
import numpy as np
import pytest
from robot_models import gripper, scene

import stickslip as ss
from stickslip import Robot
from stickslip.state import UnknownNameError

ARM = scene(
    '<geom name="floor" type="plane" size="9 9 .1"/><body name="hand" mocap="true" pos="3 0 0"/>'
    '<body name="arm" pos="0 0 1"><joint name="elbow" axis="0 1 0"/>'
    '<geom name="tip" size=".1" pos=".3 0 0"/></body>',
    '<actuator><motor name="motor" joint="elbow"/></actuator>',
)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda r: r.state(["a"]), r"qpos is \['a'\]; give real numbers"),
        (lambda r: r.state([np.nan]), r"qpos\[0\] is nan"),
        (lambda r: r.state([0.0, 1.0]), r"qpos has shape \(2,\), expected shape \(1,\)"),
        (lambda r: r.state(qvel=[np.inf]), r"qvel\[0\] is inf"),
        (lambda r: r.state(ctrl=[1.0, 2.0]), r"ctrl has shape \(2,\)"),
        (lambda r: r.state(t=np.nan), "t is nan"),
        (lambda r: r.names("limb"), "unknown kind 'limb' of names; known: body, joint"),
        (lambda r: r.with_pair("floor", "tip", friction="ice"), "friction is 'ice'"),
        (lambda r: r.with_pair("floor", "tip", restitution="high"), "restitution is 'high'"),
        (lambda r: Robot.load(ARM, restitution={"tip": "high"}), "restitution: 'tip' is 'high'"),
        (lambda r: Robot.load("<mujoco>\ud800</mujoco>"), "malformed text"),
        (lambda r: Robot.load(ARM, search=3), "search is 3; expected paths of folders"),
    ],
)
def test_wrong_numbers_and_names_are_told(wrong, said):
    with pytest.raises((ss.ModelError, UnknownNameError), match=said):
        wrong(Robot.load(ARM))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("motor", [1.0, 2.0], "input 'motor': 2 numbers were given; expected a number"),
        ("motor", "full", "input 'motor': .* give real numbers"),
        ("motor", np.nan, "input 'motor': .* finite"),
        ("hand", [1.0, 2.0], "input 'hand': 2 numbers were given; expected a position"),
        ("mottor", 1.0, "unknown input 'mottor'; known: motor, hand; did you mean 'motor'"),
    ],
)
def test_wrong_inputs_are_told(name, value, said):
    live = Robot.load(ARM).live()
    with pytest.raises((ss.ModelError, UnknownNameError), match=said):
        live.inputs[name] = value
    live.step()


def test_a_mocap_body_without_an_orientation_is_told():
    live = Robot.load(ARM).live()
    live.data.mocap_quat[:] = 0.0
    with pytest.raises(ss.ModelError, match="the quaternion of a mocap body is zero"):
        live.step()


@pytest.mark.parametrize("solver", ["auto", "nsgs"])
def test_positions_that_are_written_between_steps_are_not_passed_over(solver):
    robot = Robot.load(ARM)
    live = robot.live(solver=solver)
    live.step(3)
    live.data.qpos[0] = 1.0
    with pytest.raises(ss.ModelError, match=r"data.qpos.*call live.reset\(robot.state"):
        live.step()
    live.reset(robot.state([1.0]))
    live.step()
    assert live.state.q[0] == pytest.approx(1.0, abs=1e-3)
    with pytest.raises(ss.ModelError, match=r"data\.qpos"):
        ss.simulate(robot, until=0.1, solver=solver, control=lambda data: mujoco.mj_step(robot.model, data))


@pytest.mark.parametrize("solver", ["auto", "nsgs"])
@pytest.mark.parametrize(
    "called", ["mj_forward", "mj_inverse", "mj_collision", "mj_makeConstraint", "mj_kinematics"]
)
def test_functions_of_mujoco_on_the_data_change_no_step(called, solver):
    """They leave contacts and constraints of MuJoCo's soft contact in the data."""
    robot = Robot.load(gripper())
    start, function = robot.state(ctrl=[0.0, 8.0, 8.0]), getattr(mujoco, called)
    how = {"until": 0.02, "start": start, "solver": solver}
    plain = ss.simulate(robot, **how)
    run = ss.simulate(robot, **how, control=lambda data: function(robot.model, data))
    assert run.q.tobytes() == plain.q.tobytes()
    np.testing.assert_array_equal(run.energy, plain.energy)
    live = robot.live(start=start, solver=solver)
    for _ in range(10):
        live.step()
        function(robot.model, live.data)
    assert live.state.q.tobytes() == plain.q[10].tobytes()


def test_reset_teleports_mocap_bodies_without_a_velocity():
    text = scene(
        '<body name="tray" mocap="true" pos="0 0 .5"><geom type="box" size=".3 .3 .02"/></body>'
        '<body name="box" pos="0 0 .57"><freejoint/><geom type="box" size=".05 .05 .05"/></body>',
        '<keyframe><key name="far" mpos="2 0 .5" qpos="2 0 .57 1 0 0 0"/></keyframe>',
    )
    robot = Robot.load(text)
    live = robot.live()
    live.data.mocap_pos[0] = (0.2, 0.0, 0.5)
    live.step()
    assert abs(live.state.v).max() > 1e-3  # the tray drags the box
    for state, place in ((robot.state(), 0.0), (robot.key("far"), 2.0)):
        live.reset(state)
        assert live.data.mocap_pos[0].tolist() == [place, 0.0, 0.5]
        live.step()
        assert abs(live.state.v).max() < 1e-9


def test_mocap_bodies_may_be_moved_and_looked_at():
    """A hand pushes a ball that lies on the floor."""
    slippery = '<default><geom size=".1" friction=".2"/></default>'
    hand = '<body name="hand" mocap="true" pos="-.25 0 .1"><geom/></body>'
    ball = '<body name="ball" pos="0 0 .1"><freejoint/><geom mass="1"/></body>'
    robot = Robot.load(scene(f'<geom type="plane" size="9 9 .1"/>{hand}{ball}', slippery))
    ends = []
    for looked in (False, True):
        live = robot.live()
        for k in range(100):
            live.data.mocap_pos[0, 0] = -0.25 + 0.001 * (k + 1)
            if looked:
                mujoco.mj_forward(robot.model, live.data)
            live.step()
        ends.append(live.state.q)
    assert ends[0][0] > 0.04
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize("solver", ["auto", "nsgs"])
def test_an_equality_constraint_may_be_released_and_the_run_goes_on_bit_for_bit(solver, tmp_path):
    """A ball that hangs on a connect falls from the step on before which it is let go."""
    ball = '<body name="ball" pos="0 0 1"><freejoint/><geom size=".1" mass="2"/></body>'
    hook = '<equality><connect name="hook" body1="ball" anchor="0 0 0"/></equality>'
    robot = Robot.load(scene(ball, hook, h=1e-3))
    live = robot.live(solver=solver)
    live.step(10)
    assert live.state.q[2] == pytest.approx(1.0, abs=1e-12)
    live.data.eq_active[0] = False
    live.step(10)
    assert live.state.v[2] == pytest.approx(-9.81 * 10e-3, rel=1e-9)
    live.run().save(tmp_path / "half.h5")
    starts = live.checkpoint(), ss.read_trajectory(tmp_path / "half.h5").checkpoint()
    live.step(10)
    for start in starts:
        rest = robot.live(solver=solver, start=start)
        rest.step(10)
        assert rest.state.q.tobytes() == live.state.q.tobytes()
    live.reset()
    live.step(10)
    assert live.state.q[2] == pytest.approx(1.0, abs=1e-12)  # it holds again
