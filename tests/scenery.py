"""A run that is drawn in tests, and where its bodies are on the screen."""

import math

import numpy as np

import stickslip as ss

HOSTILE = '</script><img src=x onerror="window.hurt=1"><b>'
"""Name of a body that would be markup."""


def world():
    """A box at rest, a ball that falls beside it, and one that slides towards it."""
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body(HOSTILE, ss.Cuboid((0.4, 0.4, 0.4)), position=(0.0, 0.0, 0.2), density=500.0)
    builder.body("ball", ss.Sphere(0.2), position=(0.6, 0.0, 0.9), density=500.0)
    builder.body("slider", ss.Sphere(0.2), position=(-1.2, 0.0, 0.2), velocity=(1.0, 0.0, 0.0), density=500.0)
    return builder.build()


def fall():
    """A run of it, 0.4 s."""
    return ss.simulate(world(), until=0.4, h=0.01)


def on_screen(painter, place, point, aside=0.0):
    """Where a point [m] is on a canvas that has the given left, top, width and height [px]."""
    camera, (left, top, width, height) = painter.camera(aside), place
    ahead = camera.look_at - camera.position
    ahead = ahead / np.linalg.norm(ahead)
    right = np.cross(ahead, camera.up)
    right /= np.linalg.norm(right)
    way = painter.drawn(np.asarray(point, float)) - camera.position
    scale = 0.5 * height / math.tan(0.5 * camera.angle) / (way @ ahead)
    return (
        left + 0.5 * width + scale * (way @ right),
        top + 0.5 * height - scale * (way @ np.cross(right, ahead)),
    )
