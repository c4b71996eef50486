"""Sensors: what they show at a known place, and along a motion by differences."""

import numpy as np
import pytest

from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.given import rotation
from stickslip.mechanics.sensors import (
    DistanceSensor,
    JointSensor,
    PositionSensor,
    Reading,
    Sensor,
    VelocitySensor,
)
from stickslip.mechanics.shapes import Cuboid, Sphere
from stickslip.state import ModelError, State

SPIN = 1.5


def door(limits=None) -> WorldBuilder:
    """A door in the plane z = 0 on a hinge at (1, 0, 0), its tip at (1, 2, 0), and a ball above."""
    b = WorldBuilder()
    b.body("door", Cuboid((0.1, 2, 0.1)), position=(1, 1, 0), velocity=(-SPIN, 0, 0), spin=(0, 0, SPIN))
    b.body("ball", Sphere(1.0), position=(1, 2, 4))
    b.joint("hinge", "hinge", "door", point=(1, 0, 0), axis=(0, 0, 2), limits=limits)
    b.joint("rod", "distance", "door", "ball", point=(1, 2, 0))
    b.joint("ball", "ball", "ball", point=(0, 0, 0))
    return b


def turned(world, angle):
    """The door turned by `angle` about its hinge."""
    q = world.start.q.copy()
    q[:7] = (1 - np.sin(angle), np.cos(angle), 0, *rotation((0, 0, 1), angle))
    v = world.start.v.copy()
    v[:3] = SPIN * np.array((-np.cos(angle), -np.sin(angle), 0))
    return State(1.0, q, v)


def test_sensors_of_a_door():
    b = door()
    b.sensor(PositionSensor("tip", "door", (1, 2, 0)))
    b.sensor(VelocitySensor("speed", "door", (1, 2, 0)))
    b.sensor(JointSensor("angle", "hinge"))
    b.sensor(DistanceSensor("reach", "door", "ball", first_point=(1, 2, 0)))
    b.sensor(DistanceSensor("mark", "ball", second_point=(1, 2, 1)))
    b.sensor(JointSensor("length", "rod"))
    b.sensor(Sensor("height", lambda world, state: world.pose(state, "ball")[0][2]))
    world = b.build()
    state, s, c = turned(world, 2.5), np.sin(2.5), np.cos(2.5)
    shown = {sensor.name: sensor.read(Reading.at(world, state)) for sensor in world.sensors}
    np.testing.assert_allclose(shown["tip"], (1 - 2 * s, 2 * c, 0), atol=1e-15)
    np.testing.assert_allclose(shown["speed"], (-2 * SPIN * c, -2 * SPIN * s, 0), atol=1e-15)
    np.testing.assert_allclose(shown["angle"], (2.5, SPIN), rtol=1e-14)
    reach = np.linalg.norm((-2 * s, 2 * c - 2, -4))
    assert shown["reach"] == pytest.approx(reach)
    assert shown["mark"] == 3.0
    rate = np.array((-2 * s, 2 * c - 2, -4)) @ (-2 * SPIN * c, -2 * SPIN * s, 0) / reach
    np.testing.assert_allclose(shown["length"], (reach, rate), rtol=1e-13)
    assert shown["height"].shape == ()


def test_an_angle_with_stops_is_counted_between_them():
    b = door(limits=(-0.5, 5.0))
    b.sensor(JointSensor("angle", "hinge"))
    world = b.build()
    for angle in (-0.4, 0.0, 3.0, 3.5, 4.9):
        assert world.sensors[0].read(Reading.at(world, turned(world, angle)))[0] == pytest.approx(
            angle, abs=1e-13
        )


SENSORS = {
    "sensor 's': unknown body 'dor'; known: door, ball": PositionSensor("s", "dor"),
    "sensor 's': unknown joint 'hing'; known: hinge, rod, ball": JointSensor("s", "hing"),
    "sensor 's': joint 'ball' is a ball joint, which has no coordinate": JointSensor("s", "ball"),
    "sensor 's': joint 'rod' is a distance joint, which has no angle": JointSensor("s", "rod", turn=True),
    "sensor 's': second_point is missing": DistanceSensor("s", "door"),
    "sensor 's': 3 is not a function": Sensor("s", 3),
    "sensor 's' at t = 0 s shows 'high'": Sensor("s", lambda world, state: "high"),
}


@pytest.mark.parametrize(("message", "sensor"), SENSORS.items(), ids=list(SENSORS))
def test_a_sensor_that_cannot_be_is_refused_by_name(message, sensor):
    b = door()
    b.sensor(sensor)
    with pytest.raises(ModelError, match=message):
        b.build()


def test_a_user_hears_whose_function_failed():
    b = door()
    b.sensor(Sensor("s", lambda world, state: state.nothing))
    with pytest.raises(AttributeError) as caught:
        b.build()
    assert caught.value.__notes__ == ["in function of sensor 's', at t = 0 s"]
    with pytest.raises(ModelError, match="'x' is not a sensor; known: PositionSensor"):
        b.sensor("x")
