"""Runs of robots are runs: the same bits again, resumed, step by step; records, contacts and problems."""

from functools import partial

import numpy as np
import pytest
from robot_models import ball, gripper, pendulum

import stickslip as ss
from stickslip import Robot
from stickslip.kernels.steps.guard import LEVEL, TEXT, WARNING


def hold(data):
    return (0.05 * np.sin(5.0 * data.time), 8.0, 8.0)


def test_a_run_resumes_bit_for_bit():
    robot = Robot.load(gripper())
    whole = ss.simulate(robot, until=0.6, control=hold)
    half = ss.simulate(robot, until=0.3, control=hold)
    rest = ss.simulate(robot, until=0.6, start=half.checkpoint(), control=hold)
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()
    assert rest.v[-1].tobytes() == whole.v[-1].tobytes()
    assert rest.dissipated[-1] == whole.dissipated[-1]


def test_steps_one_by_one_are_those_made_together():
    robot = Robot.load(ball(0.3), restitution=0.5)
    together = ss.simulate(robot, until=0.5, h=1e-3)
    live = ss.live(robot, h=1e-3)
    for _ in range(500):
        live.step()
    assert live.run().q.tobytes() == together.q.tobytes()
    assert live.state.q.tobytes() == together.q[-1].tobytes()
    again = robot.live(h=1e-3)
    again.step(500)
    assert again.state.q.tobytes() == together.q[-1].tobytes()
    assert again.data.qpos.tolist() == together.q[-1].tolist()


@pytest.mark.parametrize("record", [1, 7, 10**6])
@pytest.mark.parametrize("asks", [False, True])
def test_long_runs_step_by_step_keep_what_was_handed_out(record, asks):
    """Memory of steps is used again, but for what somebody has."""
    robot = Robot.load(ball(0.3), restitution=0.8)
    every = ss.simulate(robot, until=3.5, h=1e-3)
    live = ss.live(robot, h=1e-3, record=record)
    states, checkpoints = {}, {}
    for k in range(1, 3501):
        state = live.step()
        if asks:
            assert live.residual <= 1e-8
        if k % 450 == 0 or 990 < k < 1010:
            states[k] = state
            checkpoints[k] = live.checkpoint() if k % 450 == 0 else None
    for k, state in states.items():
        assert state.q.tobytes() == every.q[k].tobytes()
        assert state.t == every.t[k]
    run = live.run()
    assert run.steps == 3500
    kept = np.arange(0, 3501, record)
    assert run.q.tobytes() == every.q[kept].tobytes()
    assert run.t.tolist() == every.t[kept].tolist()
    live.reset(checkpoints[450])
    live.step(3050)
    assert live.state.q.tobytes() == every.q[-1].tobytes()


def test_a_step_as_data_is_that_of_the_march():
    """Arrow by arrow, with `auto` outside: the same motion to the tolerance."""
    robot = Robot.load(gripper())
    live = ss.live(robot, start=robot.start)
    live.inputs["close_a"] = live.inputs["close_b"] = 8.0
    live.step(50)
    step = live.last_step
    assert step.state.q == pytest.approx(live.state.q, abs=1e-9)
    assert step.ok
    problem = live.problem()
    assert ss.solve(problem).ok
    assert live.residual <= 1e-8
    assert len(live.contacts) == len(step.contacts)


def test_an_unknown_sensor_is_named():
    sensor = '<sensor><jointpos name="swing" joint="hinge"/></sensor></mujoco>'
    run = ss.simulate(Robot.load(pendulum().replace("</mujoco>", sensor)), until=0.01)
    with pytest.raises(ss.ModelError, match="no 'swnig' among sensors; known: swing; did you mean 'swing'"):
        run.sensors["swnig"]
    with pytest.raises(KeyError, match="no 'knee' among inputs; known: none"):
        run.inputs["knee"]


def test_records_are_those_of_every_run():
    robot = Robot.load(gripper())
    run = ss.simulate(robot, until=0.5, control=hold, record=10)
    assert len(run) == 26
    assert run.verdicts.max() == 0
    assert run.natural_scaled.max() <= 1e-8
    table = run.contact_table("box")
    # Both pads carry the box's weight and its acceleration.
    last = table.t == run.t[-1]
    assert set(table.other[last]) == {"pad_a", "pad_b"}
    assert run.body("hand").position.shape == (26, 3)
    assert run.joint("lift").position.shape == (26,)
    with pytest.raises(ss.ModelError, match="lifts"):
        run.joint("lifts")


def test_the_contacts_of_a_box_at_rest_carry_its_weight():
    robot = Robot.load(ball(0.05))
    run = ss.simulate(robot, until=0.1, h=1e-3)
    assert run.forces_on("ball")[-1] == pytest.approx([0.0, 0.0, 9.81], abs=1e-7)
    assert run.penetration[-1] < 1e-9


def test_inputs_are_checked():
    live = ss.live(Robot.load(gripper()))
    with pytest.raises(ss.ModelError, match="close_b"):
        live.inputs["close_c"] = 1.0
    with pytest.raises(ss.ModelError, match="it must be finite"):
        live.inputs["close_a"] = np.nan
    with pytest.raises(ss.ModelError, match="3 finite numbers"):
        ss.simulate(Robot.load(gripper()), until=0.1, control=lambda data: (1.0, 2.0))


def test_other_schemes_are_refused():
    robot = Robot.load(pendulum())
    for scheme in ("variational", "event-driven"):
        with pytest.raises(ss.ModelError, match="does not apply to robots"):
            ss.simulate(robot, until=1.0, scheme=scheme)


def test_robots_have_the_forces_of_the_solver_only():
    robot = Robot.load(ball(1.0))
    assert ss.simulate(robot, until=0.01).forces == "solver"
    assert ss.simulate(robot, until=0.01, forces="solver").forces == "solver"
    for run in (partial(ss.simulate, until=0.01), ss.live):
        with pytest.raises(ss.ModelError, match="forces is 'least', which does not apply to robots"):
            run(robot, forces="least")


def test_fast_bodies_are_looked_for_further_away():
    """A ball at 30 m/s is not missed with steps of 5 ms."""
    robot = Robot.load(ball(2.0))
    start = robot.state(None, [0.0, 0.0, -30.0, 0.0, 0.0, 0.0])
    run = ss.simulate(robot, until=0.2, h=5e-3, start=start)
    assert run.body("ball").position[:, 2].min() > 0.05 - 1e-3


def test_a_run_is_saved_with_its_robot_and_goes_on_from_the_file(tmp_path):
    robot = Robot.load(gripper(), restitution=0.2)
    path = tmp_path / "run.h5"
    half = ss.simulate(robot, until=0.2, control=hold, out=path)
    whole = ss.simulate(robot, until=0.4, control=hold)
    found = ss.read_trajectory(path)
    assert found.q.tobytes() == half.q.tobytes()
    assert found.joint("lift").position.tobytes() == half.joint("lift").position.tobytes()
    assert found.body("box").position.tobytes() == half.body("box").position.tobytes()
    again = found.source
    assert again.restitution.tolist() == robot.restitution.tolist()
    rest = ss.simulate(again, until=0.4, start=found.checkpoint(), control=hold)
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()
    # The same in the file that it goes on in.
    ss.simulate(robot, until=0.4, start=found.checkpoint(), control=hold, out=path)
    assert ss.read_trajectory(path).q.tobytes() == whole.q.tobytes()


def test_a_run_is_the_same_when_it_is_watched():
    robot, seen = Robot.load(gripper()), []
    plain = ss.simulate(robot, until=0.1, control=hold, record=5)
    told = ss.simulate(robot, until=0.1, control=hold, record=5, watch=seen.append)
    assert told.q.tobytes() == plain.q.tobytes()
    assert [record.t for record in seen] == pytest.approx(plain.t.tolist())
    assert seen[-1].poses.tobytes() == plain.poses[-1].tobytes()


def test_its_scheme_carries_robots_alone():
    ball_ = ss.Lagrangian("ball", M=1.0, q0=1.0)
    with pytest.raises(ss.ModelError, match="applies to robots, not to systems"):
        ss.simulate(ss.NonsmoothSystem([ball_], []), until=1.0, h=0.1, scheme="moreau-jean-reduced")


def test_a_motion_that_blows_up_is_an_error_and_not_a_record():
    live = ss.live(Robot.load(ball(1.0)), h=1e-3)
    live.data.qfrc_applied[0] = np.inf
    with pytest.raises(ss.ModelError, match="not finite"):
        live.step(10)
    assert np.isfinite(live.run().q).all()


def test_what_mujoco_warns_of_in_a_step_is_an_error():
    """As its handler leaves it; `test_robot_memory.py` has warnings that MuJoCo gives itself."""
    live = ss.live(Robot.load(ball(0.05)), h=1e-3)
    live.step()
    frame, text = live._steps.prepared._frame, b"nconmax is too small\0"
    frame[TEXT : TEXT + len(text)] = np.frombuffer(text, np.uint8)
    frame[LEVEL] = WARNING
    with pytest.raises(ss.ModelError, match=r"at t = 0\.001 s MuJoCo warns: nconmax is too small"):
        live.step()


def pushed(every, h=2e-3, steps=60):
    """A run of a gripper of which a body and a coordinate are pushed from step 20 to step 39."""
    robot = Robot.load(gripper())
    live = robot.live(h=h, start=robot.start, record=every)
    for k in range(steps):
        live.data.xfrc_applied[2, 0] = 0.01 * k if 20 <= k < 40 else 0.0
        live.data.qfrc_applied[0] = 0.5 if 20 <= k < 40 else 0.0
        live.step()
    return live


@pytest.mark.parametrize("every", [1, 7])
def test_forces_written_to_the_data_are_inputs_of_the_run(every):
    run = pushed(every).run()
    on = (run.index >= 21) & (run.index <= 40)
    general, bodies = run.inputs["qfrc_applied"], run.inputs["xfrc_applied"]
    np.testing.assert_array_equal(general[:, 0], np.where(on, 0.5, 0.0))
    np.testing.assert_array_equal(bodies[:, 2, 0], np.where(on, 0.01 * (run.index - 1), 0.0))
    assert np.count_nonzero(bodies) == np.count_nonzero(bodies[:, 2, 0])


def test_runs_of_which_nobody_pushes_anything_have_no_columns_of_forces():
    robot = Robot.load(gripper())
    run = ss.simulate(robot, until=0.02, start=robot.start)
    assert not {"qfrc_applied", "xfrc_applied"} & set(run.inputs)


def test_forces_written_to_the_data_are_in_the_file_of_a_run(tmp_path):
    """Records that were written before the first force have none."""

    def push(data):
        data.xfrc_applied[2, 0] = 1.0 if data.time > 0.0059 else 0.0

    robot, path = Robot.load(gripper()), tmp_path / "pushed.h5"
    h, start = 2e-3, robot.start
    for out in (None, path):
        run = ss.simulate(robot, until=6 * h, h=h, start=start, control=push, out=out, flush=0.0)
        np.testing.assert_array_equal(run.inputs["xfrc_applied"][:, 2, 0], [0, 0, 0, 0, 1, 1, 1])
    table = ss.read_trajectory(path).to_frame("inputs")
    assert table["value"].sum() == run.inputs["xfrc_applied"].sum() + sum(
        one.sum() for name, one in run.inputs.items() if name != "xfrc_applied"
    )


def test_a_run_goes_on_with_the_forces_of_its_last_step():
    """Written anew since then, they belong to the next step and not to the record."""
    live = pushed(1, steps=30)
    run = live.run()
    assert run.checkpoint().memory["xfrc_applied"][2, 0] == 0.01 * 29
    live.data.xfrc_applied[2, 0] = 7.0
    assert live.run().checkpoint().memory["xfrc_applied"][2, 0] == 0.01 * 29


def test_the_last_step_as_data_has_the_forces_of_then():
    """Forces and controls that are written afterwards change the next step alone."""
    live = pushed(1, steps=30)
    end = live.state
    live.data.xfrc_applied[2, 0], live.data.ctrl[:] = 50.0, 3.0
    again = live.last_step
    np.testing.assert_array_equal(again.state.q, end.q)
    np.testing.assert_array_equal(again.state.v, end.v)
