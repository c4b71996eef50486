"""What runs of worlds refuse, and what they say when they stop."""

import numpy as np
import pytest

import stickslip as ss
from stickslip import scenes


def ball():
    """A ball above a floor."""
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("ball", ss.Sphere(0.1), position=(0, 0, 0.5))
    return builder


def test_a_ball_between_closing_plates_is_named():
    builder = ss.WorldBuilder()
    builder.body("table", ss.Plane(), fixed=True)
    builder.body("press", ss.Cuboid((1, 1, 0.1)), position=(0, 0, 0.26), motion=((0, 0, -0.5), (0, 0, 0)))
    builder.body("ball", ss.Sphere(0.1), position=(0, 0, 0.1))
    with pytest.raises(ss.SimulationFailure, match=r"worst where '(table|press)' and 'ball' touch") as caught:
        ss.simulate(builder.build(), until=0.1, h=1e-3)
    assert "close" in str(caught.value)
    assert caught.value.t == pytest.approx(0.02)


@pytest.mark.parametrize("spoilt", [{"t": "late"}, {"q": ["a"] * 14}, {"v": [{}] * 12}])
def test_a_start_that_is_no_numbers_is_refused(spoilt):
    world = ball().build()
    given = {"t": 0.0, "q": world.start.q, "v": world.start.v} | spoilt
    with pytest.raises(ss.ModelError, match="start"):
        ss.simulate(world, until=0.01, h=1e-3, start=ss.State(**given))


def test_a_sensor_shows_no_more_than_files_keep():
    builder = ball()
    builder.sensor(ss.sensors.Sensor("wide", lambda world, state: np.zeros((1,) * 9)))
    with pytest.raises(ss.ModelError, match=r"'wide'.*9 axes"):
        ss.simulate(builder.build(), until=0.01, h=1e-3)


def test_a_scene_of_too_many_bodies_is_refused_before_they_are_made():
    with pytest.raises(ValueError, match="bodies is 1000000000; it must be a whole number <= 1000000"):
        scenes.make("stack", bodies=1_000_000_000)
