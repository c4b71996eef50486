"""A world for the functions of other frameworks, and their arguments."""

import numpy as np

import stickslip as ss
from stickslip.mechanics.parameters import Parameters

MOREAU = ss.schemes.SemiExplicitMoreauJean(correction=False)


def thrown(height=0.105, gravity=9.81, velocity=(1.5, 0.3, -0.8)):
    """Return a ball that strikes the floor and slides in its first steps."""
    builder = ss.WorldBuilder(gravity=(0, 0, -gravity))
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("ball", ss.Sphere(0.1), position=(0, 0, height), mass=0.7, velocity=velocity, spin=(2, 1, 3))
    world = builder.build()
    return Parameters.of(world).with_(mu=[0.15], e=[0.6]).applied(world)


def arguments(world, **inputs):
    """Return q and v of the start, and the inputs, as arrays."""
    return [
        np.array(world.start.q),
        np.array(world.start.v),
        *(np.array(value, float) for value in inputs.values()),
    ]
