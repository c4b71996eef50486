"""Round rocks roll out on level ground; larger rocks roll farther.

Purpose: use rolling friction, a torque of at most mu_roll N against rolling. A sphere that rolls without
slipping has the effective mass 7/5 m: it decelerates by (5/7) mu_roll g / R and stops after 7 R v² / (10
mu_roll g), independent of its density. On a slope it stays at rest up to tan a = mu_roll / R.
"""

import math

import numpy as np

import stickslip as ss

G, SPEED, MU_ROLL = 9.81, 1.0, 0.02  # m/s², m/s, m
RADII = (0.1, 0.15, 0.2, 0.25)  # m


def roll(slope, speed, until, h):
    """Simulate four rocks side by side on ground that descends along x by the angle `slope` [rad]."""
    b = ss.WorldBuilder(gravity=(G * math.sin(slope), 0.0, -G * math.cos(slope)))
    b.material("stone", mu=0.8, mu_roll=MU_ROLL)
    b.body("ground", ss.Plane(), fixed=True, material="stone")
    for k, R in enumerate(RADII):
        b.body(
            f"rock {k}",
            ss.Sphere(R),
            position=(0.0, 0.6 * k, R),
            velocity=(speed, 0.0, 0.0),
            spin=(0.0, speed / R, 0.0),  # rolling from the start
            density=2600.0,
            material="stone",
        )
    return ss.simulate(b.build(), until=until, h=h)


def main():
    """Distance of each rock on level ground [m], and on a slope between the limits of two rocks [m]."""
    level = roll(0.0, SPEED, until=2.2, h=2e-3)
    slope = math.atan(MU_ROLL / (0.5 * (RADII[1] + RADII[2])))
    started = roll(slope, 0.0, until=0.5, h=5e-3)
    names = [f"rock {k}" for k in range(len(RADII))]
    return tuple(np.array([run.body(name).position[-1, 0] for name in names]) for run in (level, started))


def check(level, slope):
    """The distances on level ground, and which rocks stay on the slope."""
    np.testing.assert_allclose(level, 0.7 * np.array(RADII) * SPEED**2 / (MU_ROLL * G), atol=2e-5)
    assert (np.abs(slope[:2]) < 1e-8).all()
    assert (slope[2:] > 1e-3).all()


if __name__ == "__main__":
    on_level, on_slope = main()
    check(on_level, on_slope)
    for R, far, down in zip(RADII, on_level, on_slope, strict=True):
        print(f"R = {R:4.2f} m rolls {far:.4f} m on level ground, {down:.4f} m down the slope from rest")
