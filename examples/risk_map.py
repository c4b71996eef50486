"""Rocks that roll down a slope: how many of 2,000 reach the road, and from where.

Purpose: one sweep with samples, its exceedance curve and its map.

A ball of radius R rolls down a slope and out on level ground. Rolling friction brakes it: with m = mu_roll/R
it gains (g / 1.4) (sin a - m cos a) on the slope and loses g m / 1.4 on the level. Where the two meet it
keeps the share (0.4 + cos a - m sin a) / 1.4 of its speed, for the impulse acts at the new contact alone.
"""

import math
import sys

import numpy as np

import stickslip as ss
from stickslip.sweeps import SweepResult, Uniform, report
from stickslip.view import draw

ANGLE, RADIUS, GRAVITY, ROAD = math.radians(30.0), 0.5, 9.81, 15.0


def rock(release: float = 10.0, mu_roll: float = 0.1) -> ss.World:
    """A ball at rest, `release` metres up the slope from where it meets the level."""
    b = ss.WorldBuilder(gravity=(0.0, 0.0, -GRAVITY))
    b.material("default", mu=0.9, mu_roll=mu_roll)
    b.body("level", ss.Plane(), fixed=True)
    b.body("slope", ss.Plane(), fixed=True, quaternion=ss.rotation((0.0, 1.0, 0.0), ANGLE))
    x, z = -release * math.cos(ANGLE), RADIUS + release * math.sin(ANGLE)
    b.body("rock", ss.Sphere(RADIUS), position=(foot() + x, 0.0, z))
    return b.build()


def foot() -> float:
    """Where the centre is when the ball touches both planes [m]."""
    return RADIUS * math.tan(0.5 * ANGLE)


def way(run: ss.Trajectory) -> dict[str, float]:
    """How far the rock came on the level, and how fast it was at the foot and is at the end."""
    v = run.body("rock").velocity
    return {
        "runout [m]": run.body("rock").position[-1, 0] - foot(),
        "largest speed [m/s]": float(np.linalg.norm(v, axis=1).max()),
        "speed at the end [m/s]": float(np.linalg.norm(v[-1])),
    }


def main(count: int = 16, executor: str = "here") -> SweepResult:
    """Samples of where rocks start and of rolling friction, and the way of each rock."""
    parameters = {"release": Uniform(5.0, 25.0), "mu_roll": Uniform(0.06, 0.2)}
    return ss.sweep(
        rock, parameters, way, samples=count, method="sobol", seed=0, executor=executor, until=25.0, h=5e-3
    )  # fmt: skip


def check(found: SweepResult) -> None:
    """Every rock stops where the formulas say, and as many reach the road."""
    assert found.complete
    assert found.solved.all()
    release, m = found.parameters["release"], found.parameters["mu_roll"] / RADIUS
    squared = 2.0 * GRAVITY / 1.4 * (math.sin(ANGLE) - m * math.cos(ANGLE)) * release
    kept = (0.4 + math.cos(ANGLE) - m * math.sin(ANGLE)) / 1.4
    known = kept**2 * squared / (2.0 * GRAVITY * m / 1.4)
    runout = found.column("runout")
    assert np.abs(found.column("speed at the end")).max() < 1e-3
    assert np.abs(runout / known - 1.0).max() < 0.02
    assert np.mean(known > 1.02 * ROAD) <= np.mean(runout > ROAD) <= np.mean(known > 0.98 * ROAD)


if __name__ == "__main__":
    rocks = main(2000, "processes")
    check(rocks)
    print(rocks, f"\nreach the road at {ROAD:g} m: {np.mean(rocks.column('runout') > ROAD):.1%}")
    if len(sys.argv) > 1:
        page = report(rocks, ["runout"])
        for section in page.sections:
            if section.title in ("Heat maps", "Exceedance curves"):
                draw(section.figures[0], f"{sys.argv[1]}/risk_map_{section.title.split()[0].lower()}.png")
