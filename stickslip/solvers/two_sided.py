"""Blocks with two bounds as pairs of blocks with one, for methods that know cones only.

-u ∈ N_[lower, upper](r) is, with s = r - lower and the push p of the upper bound in units of impulses,

    0 <= s ⟂ W (s + lower) + u_free + w p >= 0,      0 <= p ⟂ w (upper - lower - s) >= 0,      w = W_ii,

a problem in (s, p) with W beside a skew part: as monotone as W is (Cottle, Pang & Stone 1992, 1.5).
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import cones
from stickslip.problem.checks import Array, frozen
from stickslip.problem.contact import ContactProblem
from stickslip.problem.operator import BodyDelassus, block_delassus
from stickslip.problem.sets import ProductSet


class OneSided(NamedTuple):
    """A problem without intervals, and the way back."""

    problem: ContactProblem
    """In s where r has a finite lower bound alone or both, -s of an upper one alone, then p."""
    shift: Array
    """r = sign s + shift [N s], shape (n,)."""
    sign: Array
    """1, -1 for blocks with an upper bound alone [-], shape (n,)."""

    def impulses(self, x: Array) -> Array:
        """r of the unknowns of the problem [N s], shape (n,)."""
        return self.sign * x[: self.shift.size] + self.shift


def one_sided(problem: ContactProblem) -> OneSided:
    """`problem` with every interval as one or two blocks of one bound; itself where there are none."""
    K, n = problem.K, problem.size
    bounded = K.kind == cones.INTERVAL
    shift, sign = np.zeros(n), np.ones(n)
    if not bounded.any():
        return OneSided(problem, shift, sign)
    below, above = np.isfinite(K.lower) & bounded, np.isfinite(K.upper) & bounded
    first = K.offset[:-1]
    shift[first[below]], shift[first[above & ~below]] = K.lower[below], K.upper[above & ~below]
    sign[first[above & ~below]] = -1.0
    W = _sparse(problem)
    both = below & above
    rows, m = first[both], int(both.sum())
    weight = W.diagonal()[rows]
    weight[weight <= 0.0] = 1.0
    turn = sp.diags_array(sign)
    link = sp.csr_array((weight, (rows, np.arange(m))), shape=(n, m))
    matrix = sp.csr_array(sp.block_array([[turn @ W @ turn, link], [-link.T, None]]))
    u_free = np.concatenate([sign * (problem.u_free + W @ shift), weight * (K.upper - K.lower)[both]])
    kind = np.where(bounded & (below | above), cones.NONNEGATIVE, np.where(bounded, cones.FREE, K.kind))
    held = kind == cones.NONNEGATIVE
    wide = ProductSet(
        np.concatenate([kind, np.full(m, cones.NONNEGATIVE)]),
        np.concatenate([K.offset, n + 1 + np.arange(m)]),
        np.concatenate([np.where(held, 0.0, np.where(kind == cones.FREE, -np.inf, K.lower)), np.zeros(m)]),
        np.concatenate([np.where(bounded, np.inf, K.upper), np.full(m, np.inf)]),
        np.concatenate([K.group_offset, np.full(m, K.group_offset[-1])]),
        K.group_size, K.coefficient,
    )  # fmt: skip
    found = ContactProblem(block_delassus(matrix, wide), u_free, wide, problem.level)
    return OneSided(found, frozen(shift), frozen(sign))


def _sparse(problem: ContactProblem) -> sp.csr_array:
    W = problem.W
    if isinstance(W, BodyDelassus):
        J = W.sparse()
        return sp.csr_array(J @ J.T)
    return W.blocks(problem.K).sparse()
