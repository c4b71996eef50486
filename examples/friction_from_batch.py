"""Identify friction from many sliding boxes at once, with one gradient of a batch per iteration.

Purpose: simulate with a batch, and differentiate a batch step. Boxes start on a floor at different speeds,
and their displacements after a fixed time are measured to a millimetre. Each member of the batch has its own
row of friction coefficients, all equal: one backward pass then gives the derivative of each displacement, and
Gauss-Newton iterations find the common coefficient.
"""

import numpy as np
import torch

import stickslip as ss

N, H, STEPS = 8, 0.015, 16
TRUE, FIRST, NOISE = 0.37, 0.1, 1e-3  # -, -, m
SCHEME = ss.schemes.SemiExplicitMoreauJean(correction=False)  # a correction of positions has no derivative


def slide():
    """World of a box on a floor."""
    b = ss.WorldBuilder()
    b.material("wood", mu=FIRST, e=0.0)
    b.body("floor", ss.Plane(), fixed=True, material="wood")
    b.body("box", ss.Cuboid((0.2, 0.2, 0.1)), position=(0, 0, 0.05), material="wood")
    return b.build()


def main():
    """Friction after each iteration [-], its standard error [-], and the fit to data without noise [-]."""
    world, rng = slide(), np.random.default_rng(0)
    # 1. Simulate the measurements: some boxes stop, most still slide.
    v = np.zeros((N, 12))
    v[:, 6:8] = rng.uniform(0.5, 3.0, (N, 1)) * np.stack([np.cos(t := rng.uniform(0, 6, N)), np.sin(t)], 1)
    batch = ss.Batch(world, N, h=H, threads=2, scheme=SCHEME, parameters={"mu": TRUE}, tolerance=1e-12)
    batch.reset(v=v)
    ends = batch.step(STEPS).q[:, 7:9]
    distance = np.linalg.norm(ends, axis=1)
    measured = distance + NOISE * rng.standard_normal(N)
    # 2. Fit the friction of the last pair of materials, wood on wood.
    options = {"scheme": SCHEME, "steps": STEPS, "inputs": ("mu",), "tolerance": 1e-12}
    step = ss.step_function(world, H, "torch", batch=N, **options)
    q, speed = torch.tensor(world.start.q), torch.tensor(v)
    pairs = len(world.materials.pairs)

    def fit(data, rounds=5):
        mu, estimates, error = FIRST, [], np.inf
        for _ in range(rounds):
            rows = torch.full((N, pairs), mu, dtype=torch.float64, requires_grad=True)
            distances = torch.linalg.norm(step(q, speed, rows)[0][:, 7:9], dim=1)
            (slopes,) = torch.autograd.grad(distances.sum(), rows)
            slope, residual = slopes[:, -1].numpy(), data - distances.detach().numpy()
            mu += float(slope @ residual / (slope @ slope))
            error = NOISE / np.linalg.norm(slope)
            estimates.append(mu)
        return estimates, error

    return *fit(measured), fit(distance)[0][-1]


def check(estimates, error, exact):
    """The fit is exact without noise; with noise it has converged, to within three standard errors."""
    assert abs(exact - TRUE) < 1e-9
    assert abs(estimates[-1] - TRUE) < 3.0 * error < 0.01
    assert abs(estimates[-1] - estimates[-2]) < 1e-9


if __name__ == "__main__":
    result = main()
    check(*result)
    print(f"friction {result[0][-1]:.5f} +- {result[1]:.5f} after {len(result[0])} rounds; true value {TRUE}")
