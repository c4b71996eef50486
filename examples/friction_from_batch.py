"""Friction is identified from many slides at once, by one gradient of a batch for each round.

Purpose: a batch that makes the records and a batch step that is differentiated. Boxes are thrown onto a floor
at different speeds, and it is measured where they are after a while, to a millimetre. Each member has a row
of friction of its own, though all rows are alike: so one backward pass over the batch gives how each slide
changes with friction, and Gauss-Newton finds the friction of all.
"""

import numpy as np
import torch

import stickslip as ss

N, H, STEPS = 8, 0.015, 16
TRUE, FIRST, NOISE = 0.37, 0.1, 1e-3  # -, -, m
SCHEME = ss.schemes.SemiExplicitMoreauJean(correction=False)  # a correction of positions has no derivative


def slide():
    """A box on a floor."""
    b = ss.WorldBuilder()
    b.material("wood", mu=FIRST, e=0.0)
    b.body("floor", ss.Plane(), fixed=True, material="wood")
    b.body("box", ss.Cuboid((0.2, 0.2, 0.1)), position=(0, 0, 0.05), material="wood")
    return b.build()


def main():
    """Friction after each round [-], its standard error [-], and that without noise."""
    world, rng = slide(), np.random.default_rng(0)
    # 1. The records: some boxes stop, most still slide.
    v = np.zeros((N, 12))
    v[:, 6:8] = rng.uniform(0.5, 3.0, (N, 1)) * np.stack([np.cos(t := rng.uniform(0, 6, N)), np.sin(t)], 1)
    batch = ss.Batch(world, N, h=H, threads=2, scheme=SCHEME, parameters={"mu": TRUE}, tolerance=1e-12)
    batch.reset(v=v)
    ends = batch.step(STEPS).q[:, 7:9]
    way = np.linalg.norm(ends, axis=1)
    measured = way + NOISE * rng.standard_normal(N)
    # 2. The fit: only friction of the last pair of materials, wood on wood, counts.
    how = {"scheme": SCHEME, "steps": STEPS, "inputs": ("mu",), "tolerance": 1e-12}
    step = ss.step_function(world, H, "torch", batch=N, **how)
    q, speed = torch.tensor(world.start.q), torch.tensor(v)
    pairs = len(world.materials.pairs)

    def fitted(to, rounds=5):
        mu, passed, error = FIRST, [], np.inf
        for _ in range(rounds):
            rows = torch.full((N, pairs), mu, dtype=torch.float64, requires_grad=True)
            reached = torch.linalg.norm(step(q, speed, rows)[0][:, 7:9], dim=1)
            (slopes,) = torch.autograd.grad(reached.sum(), rows)
            slope, miss = slopes[:, -1].numpy(), to - reached.detach().numpy()
            mu += float(slope @ miss / (slope @ slope))
            error = NOISE / np.linalg.norm(slope)
            passed.append(mu)
        return passed, error

    return *fitted(measured), fitted(way)[0][-1]


def check(passed, error, exact):
    """Without noise the friction is exact; with noise it is right to three standard errors, and settled."""
    assert abs(exact - TRUE) < 1e-9
    assert abs(passed[-1] - TRUE) < 3.0 * error < 0.01
    assert abs(passed[-1] - passed[-2]) < 1e-9


if __name__ == "__main__":
    found = main()
    check(*found)
    print(f"friction {found[0][-1]:.5f} +- {found[1]:.5f} after {len(found[0])} rounds; it is {TRUE}")
