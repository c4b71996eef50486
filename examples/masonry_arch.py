"""A masonry arch without mortar stands or falls as limit analysis predicts.

Purpose: compare a simulation with statics. A semicircular arch stands if a line of thrust fits into it: if at
each joint |M| <= N t / 2 and |T| <= mu N for some reactions. This is a linear program (Heyman 1966; for many
stones the limit is t = 0.1075 R, Milankovitch 1907). Just above the limit thickness the simulated arch stands
still to the tolerance of the solver; just below, it collapses.
"""

import sys

import numpy as np
from scipy.optimize import linprog

import stickslip as ss
from stickslip.view import draw_world

STONES, MU, DEPTH = 13, 0.7, 0.4  # -, -, m; the radius of the middle line is 1 m
JOINTS = np.pi * np.arange(STONES + 1) / STONES
X, Z = np.cos(JOINTS), np.sin(JOINTS)


def holds(t):
    """Whether reactions f_x, f_z, M at the first joint hold an arch of thickness t; stones of weight 1."""
    half = 0.5 * np.pi / STONES
    centres = np.cos(half) * (1.0 + t * t / 12.0) * np.cos(JOINTS[:-1] + half)
    left, right = [], []
    for j, (x, z) in enumerate(zip(X, Z, strict=True)):  # N, T, M of joint j = row @ (f_x, f_z, M, 1)
        N = np.array([-z, x, 0.0, -x * j])
        T = np.array([x, z, 0.0, -z * j])
        M = np.array([z, 1.0 - x, 1.0, -(centres[:j] - x).sum()])
        left += [M, -M, T, -T]
        right += [0.5 * t * N, 0.5 * t * N, MU * N, MU * N]
    rows = np.array(left) - np.array(right)
    return linprog(np.zeros(3), rows[:, :3], -rows[:, 3], bounds=(None, None)).status == 0


def limit():
    """Smallest thickness of an arch that stands [m], by bisection."""
    low, high = 0.01, 0.5
    while high - low > 1e-6:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def stand(t, until):
    """Simulate an arch of thickness t [m] between two abutments."""
    b = ss.WorldBuilder()
    b.material("stone", mu=MU)
    for name, x in (("left", -1.0), ("right", 1.0)):
        b.body(name, ss.Cuboid((0.4, 0.8, 0.2)), position=(x, 0.0, -0.1), fixed=True, material="stone")
    for k in range(STONES):
        ends = [(r * X[j], r * Z[j]) for r in (1.0 - 0.5 * t, 1.0 + 0.5 * t) for j in (k, k + 1)]
        hull = ss.ConvexHull([(x, y, z) for x, z in ends for y in (-0.5 * DEPTH, 0.5 * DEPTH)])
        b.body(f"stone {k}", hull, density=2000.0, material="stone")
    return ss.simulate(b.build(), until=until, h=4e-3)


def main(until=0.32):
    """The limit [m], and the runs of arches 3 % thicker and 3 % thinner."""
    least = limit()
    return least, stand(1.03 * least, until), stand(0.97 * least, until)


def check(least, thick, thin):
    """The limit is below Milankovitch's, as joints are few; the thick arch stands, the thin one falls."""
    assert 0.09 < least < 0.1075
    assert thick.ok.all()
    z, falling = (run.body(f"stone {STONES // 2}").centre[:, 2] for run in (thick, thin))  # the crown
    assert np.abs(z - z[0]).max() < 1e-6
    assert falling[0] - falling[-1] > 0.01


if __name__ == "__main__":
    result = main(until=0.6)
    check(*result)
    print(f"limit t / R = {result[0]:.5f}: 3 % above it the arch stands, 3 % below it falls")
    if len(sys.argv) > 1:
        picture = f"{sys.argv[1]}/masonry_arch.png"
        draw_world(result[2], picture, at=0.5, forces=True, size=(5.6, 3.2), azimuth=-70.0)
