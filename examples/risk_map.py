"""Rocks roll down a slope: how many of 2,000 reach the road, and from where.

Purpose: run a sweep with random samples; draw its exceedance curve and heat map.

A ball of radius R rolls down a slope and out on level ground. With m = mu_roll/R, rolling friction reduces
the acceleration to (g / 1.4) (sin a - m cos a) on the slope and decelerates by g m / 1.4 on the level. At the
foot it keeps the share (0.4 + cos a - m sin a) / 1.4 of its speed, as the impulse acts at the new contact
alone.
"""

import math
import sys

import numpy as np

import stickslip as ss
from stickslip.sweeps import SweepResult, Uniform, report
from stickslip.view import draw

ANGLE, RADIUS, GRAVITY, ROAD = math.radians(30.0), 0.5, 9.81, 15.0


def rock(release: float = 10.0, mu_roll: float = 0.1) -> ss.World:
    """World with a ball at rest, `release` metres up the slope from the foot."""
    b = ss.WorldBuilder(gravity=(0.0, 0.0, -GRAVITY))
    b.material("default", mu=0.9, mu_roll=mu_roll)
    b.body("level", ss.Plane(), fixed=True)
    b.body("slope", ss.Plane(), fixed=True, quaternion=ss.rotation((0.0, 1.0, 0.0), ANGLE))
    x, z = -release * math.cos(ANGLE), RADIUS + release * math.sin(ANGLE)
    b.body("rock", ss.Sphere(RADIUS), position=(foot() + x, 0.0, z))
    return b.build()


def foot() -> float:
    """Position x of the centre when the ball touches both planes [m]."""
    return RADIUS * math.tan(0.5 * ANGLE)


def measures(run: ss.Trajectory) -> dict[str, float]:
    """Measures of a run: distance on the level, largest speed (at the foot), and final speed."""
    v = run.body("rock").velocity
    return {
        "runout [m]": run.body("rock").position[-1, 0] - foot(),
        "largest speed [m/s]": float(np.linalg.norm(v, axis=1).max()),
        "speed at the end [m/s]": float(np.linalg.norm(v[-1])),
    }


def main(count: int = 16, executor: str = "here") -> SweepResult:
    """Sweep over samples of the release point and of rolling friction."""
    parameters = {"release": Uniform(5.0, 25.0), "mu_roll": Uniform(0.06, 0.2)}
    return ss.sweep(
        rock, parameters, measures, samples=count, method="sobol", seed=0, executor=executor, until=25.0,
        h=5e-3,
    )  # fmt: skip


def check(result: SweepResult) -> None:
    """The runouts agree with the closed form, and so does the number of rocks that reach the road."""
    assert result.complete
    assert result.solved.all()
    release, m = result.parameters["release"], result.parameters["mu_roll"] / RADIUS
    squared = 2.0 * GRAVITY / 1.4 * (math.sin(ANGLE) - m * math.cos(ANGLE)) * release
    share = (0.4 + math.cos(ANGLE) - m * math.sin(ANGLE)) / 1.4
    expected = share**2 * squared / (2.0 * GRAVITY * m / 1.4)
    runout = result.column("runout")
    assert np.abs(result.column("speed at the end")).max() < 1e-3
    assert np.abs(runout / expected - 1.0).max() < 0.02
    assert np.mean(expected > 1.02 * ROAD) <= np.mean(runout > ROAD) <= np.mean(expected > 0.98 * ROAD)


if __name__ == "__main__":
    rocks = main(2000, "processes")
    check(rocks)
    print(rocks, f"\nreach the road at {ROAD:g} m: {np.mean(rocks.column('runout') > ROAD):.1%}")
    if len(sys.argv) > 1:
        page = report(rocks, ["runout"])
        for section in page.sections:
            if section.title in ("Heat maps", "Exceedance curves"):
                draw(section.figures[0], f"{sys.argv[1]}/risk_map_{section.title.split()[0].lower()}.png")
