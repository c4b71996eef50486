"""Newton's impact in parts: it ends as in one, and its friction follows the slip as it turns."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.schemes.bodies import SemiExplicitMoreauJean
from stickslip.solvers import registry

H, MU, E, RADIUS = 1e-6, 0.3, 0.4, 0.1
CENTRE, INERTIA = np.array([0.03, 0.05, 0.01]), np.array([2e-3, 4e-3, 3e-3])
VELOCITY, SPIN = np.array([0.4, 0.3, -2.0]), np.array([1.0, -2.0, 3.0])


def struck(parts, gravity=0.0, fall=-2.0):
    """A step of a loaded ball of 1 kg on a floor, and its velocity and spin (inertial) after it."""
    b = ss.WorldBuilder(gravity=(0, 0, -gravity))
    b.material("hard", mu=MU, e=E)
    b.body("floor", ss.Plane(), fixed=True, material="hard")
    velocity = (*VELOCITY[:2], fall)
    b.body("ball", ss.Sphere(RADIUS), position=(0, 0, RADIUS), velocity=velocity, spin=SPIN, mass=1.0,
           inertia=INERTIA, centre=CENTRE, material="hard")  # fmt: skip
    world = b.build()
    scheme = SemiExplicitMoreauJean(parts=parts, correction=False)
    memory, solver = scheme.begin(world, world.start, H), registry.make("auto", tolerance=1e-12)
    return scheme.step(world, world.start, memory, H, solver), world.start.v[6:]


def followed(v, steps=5_000):
    """The same by small normal impulses, each with friction against the slip there is."""
    arm = np.array([0.0, 0.0, -RADIUS]) - CENTRE
    v, w = v[:3].copy(), v[3:].copy()
    slip = lambda: v + np.cross(w, arm)  # noqa: E731
    end = -E * slip()[2]
    dr = 4.0 / steps
    while slip()[2] < end:
        u = slip()
        way = u[:2] / np.hypot(*u[:2])
        r = dr * np.array([*(-MU * way), 1.0])
        v, w = v + r, w + np.cross(arm, r) / INERTIA
    return np.concatenate([v, w])


@pytest.mark.parametrize("parts", [2, 5, 20])
def test_ends_as_newton_wants(parts):
    one, _ = struck(1)
    many, start = struck(parts)
    assert len(many.solves) == parts
    assert all(solution.ok for solution in many.solves)
    np.testing.assert_allclose(many.u[0, 0], one.u[0, 0], rtol=1e-9)
    arm = np.array([0.0, 0.0, -RADIUS]) - CENTRE
    np.testing.assert_allclose(many.u[0, 0], -E * (start[:3] + np.cross(start[3:], arm))[2], rtol=1e-4)


def test_friction_follows_the_slip():
    end = followed(struck(1)[1])
    off = [np.abs(struck(parts)[0].state.v[6:] - end).max() for parts in (1, 4, 16, 64)]
    assert off[0] > 0.1
    assert off[1] < 0.5 * off[0]
    assert off[2] < 0.4 * off[1]
    assert off[3] < 0.4 * off[2]


def test_what_only_rests_is_one_problem():
    step, _ = struck(8, gravity=9.81, fall=-1e-6)
    assert len(step.solves) == 1
