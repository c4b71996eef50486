"""Throw a box onto a target by gradient descent through its impacts.

Purpose: compute the gradient of a whole run. A box hits the floor with a corner, topples and slides to rest.
One backward pass of the adjoint gives the gradient of the squared distance to the target with respect to the
initial velocity, through every impact; the descent takes Polyak's steps, distance² / |gradient|².
"""

import math
import sys

import numpy as np

import stickslip as ss
from stickslip.view import Curve, Figure, Panel, draw

SIZE, MU, H, UNTIL = 0.2, 0.4, 0.02, 0.8  # m, -, s, s
TARGET = np.array([1.0, 0.3])  # m, on the floor
FIRST, NEAR, MOST = np.array([1.0, 0.0, 0.5]), 0.015, 20  # m/s, m, -


def throw(velocity):
    """World with the box at its release, tilted and with a small spin."""
    b = ss.WorldBuilder()
    b.material("wood", mu=MU)
    b.body("floor", ss.Plane(), fixed=True, material="wood")
    start = {"position": (0.0, 0.0, 0.6), "quaternion": ss.rotation((1, 1, 0), 0.4), "spin": (0.0, 1.0, 0.0)}
    b.body("box", ss.Cuboid((SIZE,) * 3), mass=1.0, material="wood", velocity=velocity, **start)
    return b.build()


def cost(state):
    """Squared distance of the box from the target, and its derivative by the coordinates of floor and box."""
    miss, dq = state.q[7:9] - TARGET, np.zeros(14)
    dq[7:9] = 2.0 * miss
    return miss @ miss, dq, None


def main():
    """Initial velocities of all iterations [m/s], shape (k, 3), and the gradient at each."""
    velocities, gradients = [FIRST], []
    for _ in range(MOST):
        world = throw(velocities[-1])
        g = ss.gradient(world, ss.gradients.AtEnd(cost), until=UNTIL, h=H, scheme="variational", by=("v",))
        gradients.append(g)
        if g.value < NEAR**2:
            break
        slope = g.gradient["v"][6:9]  # of the box; the floor is the first body
        velocities.append(velocities[-1] - g.value / (slope @ slope) * slope)
    return np.array(velocities), gradients


def check(velocities, gradients):
    """It hits; the first gradient agrees with finite differences; the box rests on the floor."""
    assert gradients[-1].value < NEAR**2 < gradients[0].value
    change = 1e-4 * gradients[0].gradient["v"][6:9]
    options = {"until": UNTIL, "h": H, "scheme": "variational", "tolerance": 1e-10}
    ends = [ss.simulate(throw(FIRST + sign * change), **options) for sign in (1.0, -1.0)]
    (up, *_), (down, *_) = (cost(run.checkpoint().state) for run in ends)
    assert abs((up - down) / (2.0 * gradients[0].gradient["v"][6:9] @ change) - 1.0) < 1e-2
    assert max(run.penetration.max() for run in ends) < 1e-8
    assert abs(gradients[-1].end.q[9] - 0.5 * SIZE) < 1e-6


if __name__ == "__main__":
    throws, gradients = main()
    check(throws, gradients)
    off = 1e3 * math.sqrt(gradients[-1].value)
    print(f"{len(throws)} throws, the last with {throws[-1]} m/s misses by {off:.1f} mm")
    if len(sys.argv) > 1:
        curves, misses = [], [1e3 * math.sqrt(g.value) for g in gradients]
        for k in sorted({0, 1, len(throws) - 1}):
            q = ss.simulate(throw(throws[k]), until=UNTIL, h=H, scheme="variational").body("box").position
            curves.append(Curve(f"throw {k + 1}", q[:, 0], q[:, 2]))
        side = Panel("Centre of the box, from the side", "x [m]", "z [m]", curves, equal=True)
        counts = np.arange(1.0, len(misses) + 1.0)
        fall = Panel("Miss", "throw", "[mm]", [Curve("miss", counts, np.array(misses))], log_y=True)
        draw(Figure("A box thrown onto a target", [side, fall]), f"{sys.argv[1]}/throw_box.png")
