"""A double pendulum of two rods on hinges: its two normal modes, and its energy in chaotic motion.

Purpose: use joints. The linearised equations of two equal rods of length l have the normal modes a of K a =
w² M a with M = [[4/3, 1/2], [1/2, 1/3]] and K = (g / l) [[3/2, 0], [0, 1/2]]. Released in one of them, the
rods return to the start after 2 pi / w. From large angles the motion is chaotic, and energy is conserved.
"""

import math

import numpy as np
from scipy.linalg import eigh

import stickslip as ss

L, WIDTH, G = 1.0, 1e-3, 9.81  # m, m, m/s²


def swing(angles, until, h):
    """Simulate two thin rods released at these angles from the vertical [rad]; return run and angles."""
    b = ss.WorldBuilder()
    hinge, upper = np.zeros(3), None
    for k, angle in enumerate(angles):
        direction = np.array([math.sin(angle), 0.0, -math.cos(angle)])
        rod = b.body(
            f"rod {k}",
            ss.Cuboid((WIDTH, WIDTH, L)),
            position=hinge + 0.5 * L * direction,
            quaternion=ss.rotation((0, 1, 0), -angle),
            density=1e6,
        )
        b.joint(f"hinge {k}", "hinge", rod, upper, point=hinge, axis=(0, 1, 0))
        hinge, upper = hinge + L * direction, rod
    run = ss.simulate(b.build(), until=until, h=h)
    p = [run.body(f"rod {k}").quaternion for k in range(2)]
    return run, np.stack([-2.0 * np.arctan2(q[:, 2], q[:, 0]) for q in p], axis=1)


def main():
    """For each mode: frequency [rad/s] and angles before and after a period [rad]; and a chaotic run."""
    squares, modes = eigh(G / L * np.diag([1.5, 0.5]), [[4.0 / 3.0, 0.5], [0.5, 1.0 / 3.0]])
    results = []
    for square, mode in zip(squares, modes.T, strict=True):
        w, start = math.sqrt(square), 1e-3 * mode / np.abs(mode).max()
        _, angles = swing(start, until=2.0 * math.pi / w, h=5e-3)
        results.append((w, start, angles[-1]))
    chaotic, _ = swing((2.0, 2.5), until=2.0, h=2e-3)
    return results, chaotic


def check(results, chaotic):
    """Both modes are periodic; the chaotic run conserves energy, and its hinges stay closed."""
    for _, before, after in results:
        np.testing.assert_allclose(after, before, atol=1e-7)
    assert np.ptp(chaotic.energy) < 1e-3 * np.ptp(chaotic.kinetic)
    assert chaotic.opening.max() < 1e-4


if __name__ == "__main__":
    small, run = main()
    check(small, run)
    for w, _, _ in small:
        print(f"mode of {w:.5f} rad/s returns after {2.0 * math.pi / w:.5f} s")
    print(f"chaotic: energy conserved to {np.ptp(run.energy):.1e} of {np.ptp(run.kinetic):.0f} J")
