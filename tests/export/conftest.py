"""Runs to export: bodies of several shapes, and equations."""

import pytest

import stickslip as ss

HOSTILE = 'a/b "c", <d>\n'
"""Name of a body that is no name in USD, no part of a path, and no plain value of a CSV file."""


def fall(**options):
    """A ball, a box, and an L of two boxes whose centre is not its origin, fall on a floor; 0.2 s."""
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("ball", ss.Sphere(0.1), position=(0.0, 0.0, 0.15), velocity=(1.0, 0.0, 0.0), density=500.0)
    builder.body(HOSTILE, ss.Cuboid((0.2, 0.3, 0.4)), position=(1.0, 0.0, 0.25), density=500.0)
    angle = ss.shapes.Compound(
        (ss.Cuboid((0.4, 0.1, 0.1)), (0.2, 0.0, 0.0)), (ss.Cuboid((0.1, 0.1, 0.4)), (0.0, 0.0, 0.2))
    )
    builder.body("angle", angle, position=(-1.0, 0.0, 0.2), spin=(0.0, 1.0, 2.0), density=500.0)
    builder.sensor(ss.sensors.PositionSensor("eye", "ball"))
    builder.sensor(ss.sensors.Sensor("tilt", lambda world, state: float(state.q[10])))
    return ss.simulate(builder.build(), until=0.2, h=5e-3, **options)


@pytest.fixture(scope="session")
def world():
    """See `fall`."""
    return fall()


@pytest.fixture(scope="session")
def rough():
    """The same with a tolerance by which most impulses are zero beside the largest."""
    return fall(tolerance=0.02)


@pytest.fixture(scope="session")
def system():
    """A block slides to rest on a floor, and a ball bounces on another; 0.2 s."""
    block = ss.Lagrangian(
        "block", M=[[1.0, 0.0], [0.0, 1.0]], q0=[0.0, 0.0], v0=[0.0, 0.3], F_ext=[-9.81, 0.0]
    )
    ball = ss.Lagrangian("ball", M=1.0, q0=0.02, F_ext=-9.81)
    rubs = ss.NewtonImpact(mu=0.3, dimension=2)
    ground = ss.Interaction("ground", "block", ss.Scleronomous(lambda q: q), rubs)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.5))
    return ss.simulate(ss.NonsmoothSystem([block, ball], [ground, floor]), until=0.2, h=2e-3)
