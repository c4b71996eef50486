"""Efforts of all actuators at once are those of each alone."""

from dataclasses import replace

import numpy as np

import stickslip as ss


def test_all_at_once_is_one_by_one():
    b, rng = ss.WorldBuilder(), np.random.default_rng(0)
    for k in range(3):
        b.body(f"b{k}", ss.Sphere(0.1), position=(k, 0.2 * k, 0))
    b.joint("h", "hinge", "b0", "b1", point=(0.5, 0, 0), axis=(1, 2, 3))
    b.joint("c", "cylindrical", "b2", "b1", point=(1.5, 0, 0), axis=(1, -2, 3))
    b.joint("s", "slider", "b2", None, point=(1.5, 0, 1), axis=(1, -2, 1))
    b.joint("d", "distance", "b0", None, point=(0.5, 0, 0), second_point=(0, 0, 3))
    given = ("h", 1.3, False), ("c", 0.7, False), ("c", -2.0, True), ("s", 0.4, False), ("d", 3.0, False)
    for k, (joint, effort, turn) in enumerate(given):
        b.force(ss.forces.Actuator(f"m{k}", joint, effort=effort, turn=turn))
    b.force(ss.forces.Actuator("written", "h", effort=lambda t: t))
    world = b.build()
    q = world.start.q.reshape(-1, 7).copy()
    turned = rng.normal(size=(3, 4))
    q[:, 3:] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
    at, v = q.reshape(-1), world.start.v
    together, alone = np.zeros((3, 3, 6)), np.zeros((3, 6))
    world.forces.add(0.5, at, v, together)
    for one in world.forces.written:
        each = np.zeros((3, 3, 6))
        replace(world.forces, written=(one,)).add(0.5, at, v, each)
        alone += each[2]
    assert np.abs(together[2] - alone).max() < 1e-14 * np.abs(alone).max() * 10
    assert not together[:2].any()
