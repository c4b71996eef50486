"""Equivalent copies and perturbations of a problem, for tests of the robustness of solvers.

`permuted` and `rotated`, and `rescale` of `convert`, are conversions: the same problem with its contacts in
another order, its tangents rotated or its units changed, with the map back. `perturbed` is another problem of
the same bodies, with its own solution and no map back. All random numbers depend on the given seed.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.contact import ContactProblem
from stickslip.problem.convert import Contacts, Conversion, change_coordinates, group_starts
from stickslip.problem.sets import ProductSet, blocks_of, spans


def permuted(problem: Contacts, seed: int) -> Conversion[Contacts]:
    """Return the problem with its blocks in a random order."""
    K = problem.K
    order = np.random.default_rng(seed).permutation(len(K))
    moved = blocks_of(K, order)
    component = spans(K.offset, order)
    ones, row = np.ones(K.size), np.arange(K.size)
    P = sp.csr_array((ones, (row, component)), shape=(K.size, K.size))
    return change_coordinates(problem, moved, P, P.T.tocsr(), order=order)


def rotated(problem: Contacts, seed: int) -> Conversion[Contacts]:
    """Return the problem with the tangents of each friction cone rotated at random.

    Each contact has its own orthogonal matrix for all groups of the same size; in 2D it is a sign.
    """
    K, rng = problem.K, np.random.default_rng(seed)
    parts, end = [], 0
    start = group_starts(K)
    for i in range(len(K)):
        turns: dict[int, Array] = {}
        for g in range(int(K.group_offset[i]), int(K.group_offset[i + 1])):
            size = int(K.group_size[g])
            if size not in turns:
                turns[size] = np.linalg.qr(rng.normal(size=(size, size)))[0] * rng.choice([-1.0, 1.0])
            parts += [np.eye(int(start[g]) - end), turns[size]]
            end = int(start[g]) + size
    parts.append(np.eye(K.size - end))
    Q = sp.block_diag([part for part in parts if part.size] or [np.eye(0)], format="csr")
    return change_coordinates(problem, K, sp.csr_array(Q), sp.csr_array(Q.T))


def perturbed(problem: Contacts, size: float, seed: int) -> Contacts:
    """Return the problem with u_free + W noise, with normally distributed noise of deviation `size` [N s].

    The noise is an impulse in every component (moments in N m s), so the perturbation is in the range of W,
    like every motion of the bodies. A GlobalProblem gets f + H noise.
    """
    if not (size >= 0.0 and np.isfinite(size)):
        raise ProblemError(f"size of the noise is {size}; it must be finite and not negative")
    noise = size * np.random.default_rng(seed).normal(size=problem.size)
    if isinstance(problem, ContactProblem):
        u_free = problem.W.apply(noise, problem.u_free)
        local: Any = ContactProblem.unchecked(problem.W, u_free, problem.K, problem.level)
        return local
    return replace(problem, f=problem.f + problem.pushed(noise, np.zeros_like(problem.g_bias)))


def mean_impulse(K: ProductSet, r: Array) -> float:
    """Return the mean size of the first component of all blocks, the normal one of contacts [N s]."""
    return float(np.abs(r[K.offset[:-1]]).mean()) if len(K) else 0.0
