"""A stack of ten boxes stands still, and every step is certified.

Purpose: read the certificate of a run. With a relaxed law a stack creeps or sinks a little in every step.
Here the judge checks each step independently of the solver, the run records the deepest penetration and the
energy balance, and contact k carries the weight of the 10 - k boxes above it.
"""

import numpy as np

import stickslip as ss

BOXES, SIZE, G = 10, 0.1, 9.81  # -, m, m/s²


def main():
    """The run of one second."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    for k in range(BOXES):
        b.body(f"box {k}", ss.Cuboid((SIZE, SIZE, SIZE)), position=(0.0, 0.0, SIZE * (k + 0.5)))
    return ss.simulate(b.build(), until=1.0, h=5e-3)


def check(run):
    """No creep, no penetration, every step is certified, and the floor carries the weight."""
    weight = 1000.0 * SIZE**3 * G  # density * volume * g
    assert run.ok.all()
    assert run.natural.max() <= run.tolerance
    assert np.abs(run.q - run.q[0]).max() < 1e-8  # positions [m] and quaternions
    assert run.penetration.max() < 1e-9
    assert np.abs(run.balance).max() < 1e-9
    below = run.contact_table("box 0")
    below = below.normal_force[(below.t == run.t[-1]) & (below.other == "floor")].sum()
    assert abs(below - BOXES * weight) < 1e-6 * BOXES * weight


if __name__ == "__main__":
    stack = main()
    check(stack)
    print(stack)
