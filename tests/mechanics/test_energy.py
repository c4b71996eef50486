"""Energy and momentum of bodies, against sums over their points."""

import numpy as np
import pytest

from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.energy import kinetic, momentum, potential
from stickslip.mechanics.given import rotation
from stickslip.mechanics.shapes import Cuboid, Plane
from stickslip.rotations import matrices


def test_energy_and_momentum_of_a_body_are_those_of_its_points():
    b = WorldBuilder(gravity=(1, 2, -9.0))
    size, n = np.array((1.0, 2.0, 3.0)), 24
    spin, velocity, turn = np.array((1, -2, 0.5)), np.array((3, 2, 1.0)), rotation((1, 1, 2), 0.9)
    b.body("still", Plane(), fixed=True)
    b.body("a", Cuboid(size), position=(4, 5, 6), quaternion=turn, mass=2.0, velocity=velocity, spin=spin)
    world = b.build()
    ticks = (np.arange(n) + 0.5) / n - 0.5  # the midpoint rule: second moments are low by 1/n²
    grid = np.stack(np.meshgrid(ticks, ticks, ticks, indexing="ij"), -1).reshape(-1, 3) * size
    arms = grid @ matrices(turn).T / np.sqrt(1.0 - 1.0 / n**2)
    dm, rates = 2.0 / len(grid), velocity + np.cross(spin, arms)
    q, v = world.start.q, world.start.v
    assert kinetic(world, v) == pytest.approx(0.5 * dm * np.sum(rates**2), rel=1e-12)
    assert potential(world, 0.0, q) == pytest.approx(-2.0 * (4 + 10 - 54))
    linear, angular = momentum(world, q, v)
    np.testing.assert_allclose(linear, 2.0 * velocity)
    np.testing.assert_allclose(
        angular, dm * np.cross(arms + np.array((4, 5, 6)), rates).sum(axis=0), rtol=1e-11
    )
