"""One block under three contact models: exact, relaxed and compliant.

Purpose: show the effect of the contact model on a motion. A block is thrown up a slope on which friction can
hold it. Under Coulomb's law it slides s = v² / (2 g (sin a + mu cos a)) and sticks. The convex relaxation
(Anitescu 2006) requires u_N >= mu |u_T|: a sliding block jumps (in codes that add gap / h, it floats at
mu |u_T| h). With springs and regularised friction it sinks by m g cos a / k and creeps without end.
"""

import math
import sys

import numpy as np

import stickslip as ss
from stickslip.view import Curve, Figure, Panel, draw

M, G, MU, SPEED, H = 1.0, 9.81, 0.5, 1.0, 1e-3  # kg, m/s², -, m/s, s
SLOPE = math.radians(20.0)
K, SLIP = 1e6, 1e-4  # N/m, m/s
LIFT, PULL = G * math.cos(SLOPE), G * math.sin(SLOPE)
STOP = SPEED**2 / (2.0 * (PULL + MU * LIFT))  # m


def main():
    """Runs by contact model; the coordinates are along the slope and normal to it."""
    block = ss.Lagrangian("block", M=M, q0=[0.0, 0.0], v0=[SPEED, 0.0], F_ext=[-M * PULL, -M * LIFT])
    touch = ss.Scleronomous(lambda q: q[1:], dy_dq=[[0.0, 1.0], [1.0, 0.0]])
    slope = ss.Interaction("slope", "block", touch, ss.NewtonImpact(e=0.0, mu=MU, dimension=2))
    system = ss.NonsmoothSystem([block], [slope])
    springs = ss.schemes.Compliant(stiffness=K, slip_velocity=SLIP)
    return {
        "exact": ss.simulate(system, until=0.3, h=H),
        "relaxed": ss.simulate(system, until=0.3, h=H, solver="apgd", on_failure="accept"),
        "compliant": ss.simulate(system, until=0.3, h=H, scheme=springs),
    }


def check(runs):
    """The closed form of each model; only the first is Coulomb's law."""
    (x, y), (v, _) = (runs["exact"].system("block").q.T, runs["exact"].system("block").v.T)
    assert runs["exact"].ok.all()
    assert abs(x[-1] - STOP) < 1e-5
    assert np.abs(y).max() == 0.0
    assert abs(v[-1]) < 1e-12

    assert runs["relaxed"].verdict == "relaxed"  # the judge rejects the sliding steps
    jump = ((SPEED - H * PULL) - MU * H * LIFT) / (1.0 + MU * MU)  # onto the ray u_N = mu u_T
    np.testing.assert_allclose(runs["relaxed"].system("block").v[1], [jump, MU * jump], atol=1e-6)

    x, y = runs["compliant"].system("block").q.T
    share = PULL / (MU * LIFT)  # used share of friction: u / sqrt(u² + SLIP²)
    assert abs((x[-1] - x[-51]) / (50 * H) + SLIP * share / math.sqrt(1.0 - share**2)) < 1e-7
    assert abs(y[-1] + M * LIFT / K) < 1e-8


def picture(runs, path):
    """Draw the height above the slope, and the displacement along it after the stop."""
    q = {name: (run.t, run.system("block").q) for name, run in runs.items()}
    height = [Curve(name, t, 1e3 * x[:, 1]) for name, (t, x) in q.items()]
    creep = [Curve(name, t[t > 0.13], 1e6 * (x[t > 0.13, 0] - STOP)) for name, (t, x) in q.items()]
    panels = [
        Panel("Height above the slope", "t [s]", "[mm]", height),
        Panel("Position after the stop, relative to the exact one", "t [s]", "[µm]", creep),
    ]
    draw(Figure("A block thrown up a slope that can hold it, under three contact models", panels), path)


if __name__ == "__main__":
    runs = main()
    check(runs)
    for name, run in runs.items():
        block = run.system("block")
        print(f"{name}: rises {1e3 * block.q[:, 1].max():.2f} mm, creeps {1e6 * block.v[-1, 0]:.1f} µm/s")
    if len(sys.argv) > 1:
        picture(runs, f"{sys.argv[1]}/three_contact_models.png")
