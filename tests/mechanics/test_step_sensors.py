"""Sensors of steps: weights, impacts, free fall, spin; the same however steps are made."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.kernels.steps.tables import JointTable
from stickslip.mechanics.sensors import Reading
from stickslip.mechanics.step_sensors import (
    Accelerometer,
    ContactSensor,
    ForceSensor,
    Gyroscope,
    TorqueSensor,
)
from stickslip.simulation.joint_view import joint_view
from stickslip.state import ModelError

G = 9.81


def boxes(*sensors):
    """A box of 3 kg that lies on the floor, off its middle a box of 1 kg upon it, and a ball that falls."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    b.body("box", ss.Cuboid((1, 1, 0.2)), position=(0, 0, 0.1), mass=3.0)
    b.body("lid", ss.Cuboid((0.4, 0.4, 0.2)), position=(0.1, 0, 0.3), mass=1.0)
    b.body("ball", ss.Sphere(0.1), position=(3, 0, 0.3), quaternion=ss.rotation((1, 0, 0), 0.5 * np.pi))
    for sensor in sensors:
        b.sensor(sensor)
    return b.build()


ALL = (
    ForceSensor("floor on box", body="box", other="floor"),
    ForceSensor("all on box", body="box"),
    TorqueSensor("turning lid", body="lid"),
    TorqueSensor("turning box", body="box", other="lid"),
    ContactSensor("under box", "box", "floor"),
    ContactSensor("ball", "ball"),
    Accelerometer("on ball", "ball"),
    Accelerometer("on lid", "lid", (0.3, 0, 0.4)),
    Gyroscope("spin", "ball"),
    ss.sensors.Sensor("normal", lambda reading: reading.r[:, 0].sum()),
    ss.sensors.Sensor("height", lambda world, state: world.pose(state, "ball")[0][2]),
)


def test_boxes_at_rest_and_a_ball_that_falls():
    run = ss.simulate(boxes(*ALL), until=0.1, h=1e-3)
    shown = run.sensors
    for name in ("floor on box", "all on box", "turning lid", "under box", "ball"):
        assert not shown[name][0].any()  # no step was made yet
    np.testing.assert_allclose(shown["on lid"][0], (0, 0, G))
    np.testing.assert_allclose(shown["floor on box"][-1], (0, 0, 4 * G), atol=1e-6)
    np.testing.assert_allclose(shown["all on box"][-1], (0, 0, 3 * G), atol=1e-6)
    np.testing.assert_allclose(shown["turning lid"][-1], 0.0, atol=1e-6)
    np.testing.assert_allclose(shown["turning box"][-1], (0, 0.1 * G, 0), atol=1e-6)
    np.testing.assert_allclose(shown["under box"][-1], (1, 4 * G, 4), atol=1e-6)
    np.testing.assert_allclose(shown["on lid"][-1], (0, 0, G), atol=1e-6)
    np.testing.assert_allclose(shown["on ball"][1:], 0.0, atol=1e-9)  # falls freely
    np.testing.assert_allclose(shown["on ball"][0], (0, G, 0), atol=1e-12)  # in its own frame
    np.testing.assert_array_equal(run.forces_on("box").shape, shown["all on box"].shape)


def test_an_impact_shows_as_its_change_of_velocity_over_the_step():
    run = ss.simulate(boxes(*ALL), until=0.3, h=1e-3)
    hit = int(np.flatnonzero(run.sensors["ball"][:, 0])[0])
    v = run.body("ball").centre_velocity[:, 2]
    felt = (v[hit] - v[hit - 1]) / 1e-3 + G
    assert felt > 1000.0
    np.testing.assert_allclose(run.sensors["on ball"][hit], (0, felt, 0), atol=1e-9 * felt)
    mass = run.model.mass[run.model.body("ball")]
    np.testing.assert_allclose(run.sensors["ball"][hit], (1, mass * felt, 1), rtol=1e-6)


@pytest.mark.parametrize("forces", ["solver", "least"])
@pytest.mark.parametrize("record", [1, 3])
def test_readings_are_the_same_bits_however_steps_are_made(record, forces):
    how = {"until": 0.3, "h": 1e-3, "record": record, "forces": forces}
    together = ss.simulate(boxes(*ALL), **how)
    alone = ss.simulate(boxes(*ALL), **how, watch=lambda record: None)
    np.testing.assert_array_equal(together.q, alone.q)
    for name, shown in together.sensors.items():
        np.testing.assert_array_equal(shown, alone.sensors[name], err_msg=name)


def test_a_point_that_goes_round_feels_the_centre():
    b = ss.WorldBuilder(gravity=(0, 0, 0))
    b.body("wheel", ss.Cylinder(0.5, 0.1), spin=(0, 0, 4.0))
    b.sensor(Accelerometer("rim", "wheel", (0, 0.5, 0)))
    b.sensor(Gyroscope("gyro", "wheel"))
    run = ss.simulate(b.build(), until=1.0, h=1e-3)
    np.testing.assert_allclose(run.sensors["rim"][1:], [[0, -8.0, 0]] * 1000, atol=1e-4)
    np.testing.assert_allclose(run.sensors["gyro"], [[0, 0, 4.0]] * 1001, atol=1e-9)


@pytest.mark.parametrize("record", [1, 4])
def test_joints_are_felt_as_views_show_them(record):
    b = ss.WorldBuilder()
    b.body("post", ss.Cuboid((0.1, 0.1, 1)), position=(0, 0, 0.5), mass=1.0)
    b.body("arm", ss.Cuboid((1, 0.1, 0.1)), position=(0.5, 0, 1), mass=2.0)
    b.joint("foot", "fixed", "post", point=(0, 0, 0))
    b.joint("elbow", "hinge", "arm", "post", point=(0, 0, 1), axis=(0, 1, 0))
    for joint in ("foot", "elbow"):
        b.sensor(ForceSensor(f"force {joint}", joint=joint))
        b.sensor(TorqueSensor(f"moment {joint}", joint=joint))
    run = ss.simulate(b.build(), until=0.2, h=1e-3, record=record, forces="solver")
    columns = (run.t, run.h, run.q, run.v, JointTable(run.joint_offset, run.joint_id, run.joint_r))
    for joint in ("foot", "elbow"):
        view = joint_view(run.model, joint, *columns)
        np.testing.assert_array_equal(run.sensors[f"force {joint}"], view.force)
        np.testing.assert_array_equal(run.sensors[f"moment {joint}"], view.moment)
    lifted = run.sensors["force foot"] - run.sensors["force elbow"]  # on the post, which stands still
    np.testing.assert_allclose(lifted[1:], [[0, 0, G]] * (len(run) - 1), atol=1e-6)


WRONG = {
    "sensor 's': give a joint, or a body": ForceSensor("s"),
    "sensor 's': give a joint, or a body and optionally": ForceSensor("s", joint="pin", body="box"),
    "sensor 's': unknown joint 'pin'": TorqueSensor("s", joint="pin"),
    "sensor 's': unknown body 'bix'; known: floor, box, lid": ContactSensor("s", "bix"),
    "sensor 's': unknown body 'bax'": ContactSensor("s", "box", "bax"),
    "sensor 's': unknown body 'bux'": Accelerometer("s", "bux"),
    "sensor 's': unknown body 'bex'": Gyroscope("s", "bex"),
    "sensor 's': 3 is not a function of": ss.sensors.Sensor("s", 3),
}


@pytest.mark.parametrize(("message", "sensor"), WRONG.items(), ids=list(WRONG))
def test_a_sensor_that_cannot_be_is_refused_by_name(message, sensor):
    with pytest.raises(ModelError, match=message):
        boxes(sensor)


def test_a_state_by_itself_has_no_step():
    world = boxes(Accelerometer("a", "ball"), ContactSensor("c", "ball"))
    reading = Reading.at(world, world.start)
    assert reading.h == 0.0
    assert reading.before is reading.state
    np.testing.assert_array_equal(world.sensors[1].read(reading), np.zeros(3))
