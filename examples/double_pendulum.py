"""A double pendulum of two rods on hinges: its two small oscillations, and its energy when it goes wild.

Purpose: joints. Two equal rods of length l have the normal modes a of K a = w² M a (Lagrange's equations,
linearised) with M = [[4/3, 1/2], [1/2, 1/3]] and K = (g / l) [[3/2, 0], [0, 1/2]]. Let go in one of them, the
rods are back where they began, at rest, after 2 pi / w. From high up the motion is chaotic; energy is kept.
"""

import math

import numpy as np
from scipy.linalg import eigh

import stickslip as ss

L, WIDTH, G = 1.0, 1e-3, 9.81  # m, m, m/s²


def swing(angles, until, h):
    """The run of two thin rods let go at these angles from the vertical [rad], and their angles over time."""
    b = ss.WorldBuilder()
    end, above = np.zeros(3), None
    for k, angle in enumerate(angles):
        along = np.array([math.sin(angle), 0.0, -math.cos(angle)])
        rod = b.body(
            f"rod {k}",
            ss.Cuboid((WIDTH, WIDTH, L)),
            position=end + 0.5 * L * along,
            quaternion=ss.rotation((0, 1, 0), -angle),
            density=1e6,
        )
        b.joint(f"hinge {k}", "hinge", rod, above, point=end, axis=(0, 1, 0))
        end, above = end + L * along, rod
    run = ss.simulate(b.build(), until=until, h=h)
    p = [run.body(f"rod {k}").quaternion for k in range(2)]
    return run, np.stack([-2.0 * np.arctan2(q[:, 2], q[:, 0]) for q in p], axis=1)


def main():
    """Per mode its frequency [rad/s] and the angles before and after a period [rad]; and a wild run."""
    squares, modes = eigh(G / L * np.diag([1.5, 0.5]), [[4.0 / 3.0, 0.5], [0.5, 1.0 / 3.0]])
    found = []
    for square, mode in zip(squares, modes.T, strict=True):
        w, start = math.sqrt(square), 1e-3 * mode / np.abs(mode).max()
        _, angles = swing(start, until=2.0 * math.pi / w, h=5e-3)
        found.append((w, start, angles[-1]))
    wild, _ = swing((2.0, 2.5), until=2.0, h=2e-3)
    return found, wild


def check(found, wild):
    """Both modes come back; the wild run keeps energy and hinges, to second order in h."""
    for _, before, after in found:
        np.testing.assert_allclose(after, before, atol=1e-7)
    assert np.ptp(wild.energy) < 1e-3 * np.ptp(wild.kinetic)
    assert wild.opening.max() < 1e-4


if __name__ == "__main__":
    small, run = main()
    check(small, run)
    for w, _, _ in small:
        print(f"mode of {w:.5f} rad/s comes back after {2.0 * math.pi / w:.5f} s")
    print(f"wild: energy kept to {np.ptp(run.energy):.1e} of {np.ptp(run.kinetic):.0f} J")
