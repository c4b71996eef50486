"""Sensors and inputs of worlds around robots: they are those of the world alone."""

import numpy as np
import pytest
from robot_models import pendulum

import stickslip as ss
from stickslip import Robot
from stickslip.forces import BodyForce, Input
from stickslip.sensors import (
    Accelerometer,
    ContactSensor,
    DistanceSensor,
    ForceSensor,
    Gyroscope,
    PositionSensor,
    Sensor,
    VelocitySensor,
)

H = 1e-3


def room():
    """A box that slides on a floor until it sticks, a kite in the wind, and a crate on a belt."""
    b = ss.WorldBuilder()
    b.material("wood", mu=0.4)
    b.body("floor", ss.Plane(), position=(0, 0, -3), fixed=True, material="wood")
    b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(2, 0, -2.9), velocity=(0.5, 0, 0), material="wood")
    b.body("kite", ss.Sphere(0.1), position=(4, 0, 0), spin=(0, 0, 2.0))
    b.body("belt", ss.Cuboid((1, 1, 0.1)), position=(8, 0, -2), motion=Input(), material="wood")
    b.body("crate", ss.Cuboid((0.2, 0.2, 0.2)), position=(8, 0, -1.85), material="wood")
    b.force(BodyForce("wind", "kite", force=Input((1.0, 0, 0))))
    for sensor in (
        PositionSensor("place", "box", point=(2.1, 0, -2.9)), VelocitySensor("speed", "box"),
        ContactSensor("touch", "box"), ForceSensor("weight", body="box", other="floor"),
        Accelerometer("felt", "box"), Gyroscope("spin", "kite"), DistanceSensor("far", "box", "kite"),
        Sensor("height", lambda world, state: world.pose(state, "box")[0][2]),
        Sensor("pushes", lambda reading: reading.r[:, 0].sum()),
    ):  # fmt: skip
        b.sensor(sensor)
    return b.build()


def driven(model, **how):
    """A live run with wind and a belt that are set at 0.1 s."""
    live = ss.live(model, h=H, **how)
    for k in range(200):
        if k == 100:
            live.inputs["wind"] = (0.0, 3.0, 0.0)
            live.inputs["belt"] = (0.2, 0, 0, 0, 0, 0)
        live.step()
    return live


def around(world):
    return Robot.load(pendulum()).with_world(world)


@pytest.mark.parametrize("every", [1, 7])
def test_sensors_and_inputs_are_those_of_the_world_alone(every):
    world = room()
    run, alone = driven(around(world), record=every).run(), driven(world, record=every).run()
    assert set(alone.sensors) <= set(run.sensors)
    for name, value in alone.sensors.items():
        size = max(float(np.abs(value).max()), 1.0)
        np.testing.assert_allclose(run.sensors[name], value, atol=2e-3 * size, err_msg=name)
    for name, value in alone.inputs.items():
        np.testing.assert_array_equal(run.inputs[name], value)
    for name in ("kite", "crate"):
        # Positions of both schemes differ by half a step of gravity.
        np.testing.assert_allclose(run.body(name).position, alone.body(name).position, atol=9.81 * H * 0.2)
    assert run.body("kite").velocity[-1, 1] == pytest.approx(alone.body("kite").velocity[-1, 1], rel=1e-9)
    assert run.body("crate").velocity[-1, 0] == pytest.approx(0.2, abs=1e-9)  # the belt carries it


def test_a_run_with_inputs_of_the_world_goes_on_bit_for_bit(tmp_path):
    robot = around(room())
    whole, half = driven(robot), driven(robot)
    rest = ss.live(robot, h=H, start=half.checkpoint())
    np.testing.assert_array_equal(rest.inputs["wind"], (0.0, 3.0, 0.0))
    half.run().save(tmp_path / "half.h5")
    read = ss.live(robot, h=H, start=ss.read_trajectory(tmp_path / "half.h5").checkpoint())
    for live in (whole, rest, read):
        live.step(50)
    assert rest.state.q.tobytes() == whole.state.q.tobytes()
    assert read.state.q.tobytes() == whole.state.q.tobytes()
    assert rest.state.v.tobytes() == whole.state.v.tobytes()


def test_inputs_go_back_to_their_defaults_with_the_run():
    robot = around(room())
    live = driven(robot)
    live.reset()
    np.testing.assert_array_equal(live.inputs["wind"], (1.0, 0.0, 0.0))
    np.testing.assert_array_equal(live.inputs["belt"], np.zeros(6))


def test_inputs_are_checked():
    live = around(room()).live(h=H)
    with pytest.raises(ss.ModelError, match="wind"):
        live.inputs["wind"] = (1.0, 2.0)
    with pytest.raises(ss.ModelError, match="wind"):
        live.inputs["wind"] = (1.0, 2.0, np.inf)


def test_a_sensor_that_shows_nonsense_is_an_error_that_names_it():
    b = ss.WorldBuilder()
    b.body("box", ss.Sphere(0.1), position=(2, 0, 0))
    b.sensor(Sensor("broken", lambda world, state: np.nan if state.t > 0.005 else 0.0))
    with pytest.raises(ss.ModelError, match=r"'broken': at t = 0\.006 s"):
        ss.simulate(around(b.build()), until=0.1, h=H)
