"""Tosses with known numbers, in the form of files, for those who have none to read."""

import numpy as np

from stickslip.state import Array, IntArray
from stickslip.studies.tosses_cube import Cube
from stickslip.studies.tosses_models import SOLID
from stickslip.studies.tosses_records import GRAVITY, HALF, RATE, UNIT, Site

KNOWN = np.array([0.2, 0.16, 0.26, 1.5 * SOLID, 1.46 * SOLID, 1.4 * SOLID, 0.0, 0.3e-3, 5.6e-3, 3.8e-3, 0, 0])
"""What the tosses are made with: the numbers of `Cube`, in their units, shape (12,)."""
SITE = Site(np.array([-0.07, 0.13, -GRAVITY]), np.array([8e-3, -4e-3]))
"""Where they are made: as crooked as where the measured ones were."""
NOISE = 3e-5, 7e-4
"""Scatter of places [m] and turns [rad], as the tracker's is."""


def made(count: int, frames: int, seed: int = 1) -> tuple[Array, IntArray]:
    """`rows`, in the units of files, shape (count frames, 13), and `start`, shape (count + 1,)."""
    rng, cube = np.random.default_rng(seed), Cube(SITE, KNOWN)
    rows = []
    for _ in range(count):
        turn = rng.normal(size=4)
        turn /= np.linalg.norm(turn)
        velocity = np.array([rng.uniform(0.7, 1.2), 0.0, rng.uniform(-0.5, 0.0)])
        place = np.array([-0.2, 0.0, 2.2 * HALF + rng.uniform(0.0, HALF)])
        ride = cube.carried(cube.state(place, turn, velocity, 4.0 * rng.normal(size=3)), frames)
        place = ride.place + NOISE[0] * rng.normal(size=ride.place.shape)
        turns = ride.turn + 0.5 * NOISE[1] * rng.normal(size=ride.turn.shape)
        turns /= np.linalg.norm(turns, axis=1, keepdims=True)
        rates = np.gradient(place, 1.0 / RATE, axis=0)
        rows.append(np.hstack([place / UNIT, turns, rates / UNIT, np.zeros_like(place)]))
    return np.vstack(rows), np.arange(count + 1) * frames
