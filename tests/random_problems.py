"""Random contact problems with dense W and over a chain of bodies, shared by the tests of several solvers."""

import numpy as np

from stickslip import ContactProblem, GlobalProblem, coulomb
from stickslip.problem import contact_blocks, free, nonnegative, rolling


def random_problem(nc=20, seed=0, ridge=0.5, mu=0.5):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3 * nc, 3 * nc))
    W = A @ A.T / (3 * nc) + ridge * np.eye(3 * nc)
    return ContactProblem(W, rng.normal(size=3 * nc), coulomb(np.full(nc, mu)))


def bodies_in_a_row(K, seed=0, count=6):
    """Return a matrix-free problem of random contacts over a chain of bodies, fixed at its first side."""
    rng = np.random.default_rng(seed)
    nb = len(K)
    first = np.arange(nb) % count
    bodies = np.stack([first, first - 1], axis=1)
    M = np.stack([np.eye(6) * rng.uniform(0.5, 2.0) for _ in range(count)])
    H = contact_blocks(bodies, rng.normal(size=(K.size, 2, 6)), K)
    return GlobalProblem(M, rng.normal(size=6 * count), H, 0.1 * rng.normal(size=K.size), K)


MIXED = coulomb([0.3, 0.4]) + nonnegative(2) + free(2) + rolling([0.2], [0.1]) + coulomb([0.4], 2)
"""Blocks of five kinds in one problem."""
