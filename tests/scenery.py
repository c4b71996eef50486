"""A small world and its run, for tests of views."""

import stickslip as ss

HOSTILE = '</script><img src=x onerror="window.hurt=1"><b>'
"""Name of a body that contains markup."""


def world():
    """Return a box at rest, a ball that falls beside it, and a ball that slides towards it."""
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body(HOSTILE, ss.Cuboid((0.4, 0.4, 0.4)), position=(0.0, 0.0, 0.2), density=500.0)
    builder.body("ball", ss.Sphere(0.2), position=(0.6, 0.0, 0.9), density=500.0)
    builder.body("slider", ss.Sphere(0.2), position=(-1.2, 0.0, 0.2), velocity=(1.0, 0.0, 0.0), density=500.0)
    return builder.build()


def fall():
    """Return a run of this world over 0.4 s."""
    return ss.simulate(world(), until=0.4, h=0.01)
