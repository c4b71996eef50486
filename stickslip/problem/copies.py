"""Copies of a problem that are as hard as the problem: nothing in a solver may tell them apart.

`permuted` and `rotated` are conversions, with `rescale` of `convert.py` as the third: the same
problem with its contacts in another order, its tangents turned, its units changed, and the way back.
`perturbed` is another problem that the same bodies could meet: it has its own answer, and no way back.
Everything random comes from the seed given.
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
    """The same problem with its blocks in another order."""
    K = problem.K
    order = np.random.default_rng(seed).permutation(len(K))
    moved = blocks_of(K, order)
    component = spans(K.offset, order)
    ones, row = np.ones(K.size), np.arange(K.size)
    P = sp.csr_array((ones, (row, component)), shape=(K.size, K.size))
    return change_coordinates(problem, moved, P, P.T.tocsr(), order=order)


def rotated(problem: Contacts, seed: int) -> Conversion[Contacts]:
    """The same problem with the tangents of each friction cone turned at random.

    Each contact has its own orthogonal matrix, for all its groups of that size; in 2D that is a sign.
    """
    K, rng = problem.K, np.random.default_rng(seed)
    parts, at = [], 0
    start = group_starts(K)
    for i in range(len(K)):
        turns: dict[int, Array] = {}
        for g in range(int(K.group_offset[i]), int(K.group_offset[i + 1])):
            size = int(K.group_size[g])
            if size not in turns:
                turns[size] = np.linalg.qr(rng.normal(size=(size, size)))[0] * rng.choice([-1.0, 1.0])
            parts += [np.eye(int(start[g]) - at), turns[size]]
            at = int(start[g]) + size
    parts.append(np.eye(K.size - at))
    Q = sp.block_diag([part for part in parts if part.size] or [np.eye(0)], format="csr")
    return change_coordinates(problem, K, sp.csr_array(Q), sp.csr_array(Q.T))


def perturbed(problem: Contacts, size: float, seed: int) -> Contacts:
    """Another problem: free velocities u_free + W noise, with normal noise of deviation `size` [N s].

    The noise is an impulse, in every component (moments take the same number, in N m s); so what is
    added stays in the range of W, as any motion of the same bodies would. For a GlobalProblem it is
    f + H noise.
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
    """Mean size of the first component, the normal one of contacts, over all blocks [N s]."""
    return float(np.abs(r[K.offset[:-1]]).mean()) if len(K) else 0.0
