"""Ten boxes on each other stand still, and every step proves it.

Purpose: read the certificate of a run. A solver without an exact law lets a stack creep or sink a little in
every step; here each step is judged apart from the solver, the deepest overlap and the balance of energy are
kept, and contact k carries the weight of the 10 - k boxes above it.
"""

import numpy as np

import stickslip as ss

BOXES, SIZE, G = 10, 0.1, 9.81  # -, m, m/s²


def main():
    """The run: one second of standing."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    for k in range(BOXES):
        b.body(f"box {k}", ss.Cuboid((SIZE, SIZE, SIZE)), position=(0.0, 0.0, SIZE * (k + 0.5)))
    return ss.simulate(b.build(), until=1.0, h=5e-3)


def check(run):
    """Nothing creeps, nothing sinks, every step is certified, and forces are those of statics."""
    weight = 1000.0 * SIZE**3 * G  # density times volume times g
    assert run.ok.all()
    assert run.natural.max() <= run.tolerance
    assert np.abs(run.q - run.q[0]).max() < 1e-8  # metres and quaternions alike
    assert run.penetration.max() < 1e-9
    assert np.abs(run.balance).max() < 1e-9
    below = run.contact_table("box 0")
    below = below.normal_force[(below.t == run.t[-1]) & (below.other == "floor")].sum()
    assert abs(below - BOXES * weight) < 1e-6 * BOXES * weight


if __name__ == "__main__":
    stack = main()
    check(stack)
    print(stack)
