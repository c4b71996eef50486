"""Conversions between box problems and contact problems without friction."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.problem.box import BoxProblem
from stickslip.problem.certificate import Certificate
from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.contact import ContactProblem
from stickslip.problem.convert.conversion import Answer, Conversion, placed
from stickslip.problem.operator import delassus
from stickslip.problem.sets import free, interval, nonnegative


def box_to_contacts(problem: BoxProblem) -> Conversion[ContactProblem]:
    """Convert a box problem with z as impulses: 0 <= z becomes nonnegative blocks, bounds become intervals.

    Free unknowns are eliminated by their equations if these determine them; otherwise they stay as one free
    block.
    """
    # 1. Classes of unknowns: free, nonnegative, bounded.
    low, high = problem.lower, problem.upper
    is_free = (low == -np.inf) & (high == np.inf)
    positive = (low == 0.0) & (high == np.inf)
    f, c = np.flatnonzero(is_free), np.flatnonzero(~is_free)
    c = c[np.argsort(~positive[c], kind="stable")]  # nonnegative ones first
    count = int(positive.sum())
    K = nonnegative(count) + interval(low[c[count:]], high[c[count:]])
    # 2. Equations that do not determine the free unknowns: one free block.
    A = problem.A
    inverse = _regular_inverse(A[f][:, f])
    if inverse is None:
        order = np.concatenate([f, c])
        K = free(f.size) + K
        contact = ContactProblem.unchecked(delassus("A", A[order][:, order], K), problem.b[order], K)
        return Conversion(
            contact,
            lambda x: Answer(placed(order, x)),
            lambda z: z[order],
            lambda new: Certificate(placed(order, new.y)),
        )
    # 3. Otherwise: Schur complement of the free unknowns.
    to_free, from_free = inverse @ A[f][:, c], A[c][:, f]
    constant = inverse @ problem.b[f]
    W = A[c][:, c] - from_free @ to_free if f.size else A[c][:, c]
    order = np.concatenate([f, c])

    def recover(x: Array) -> Answer:
        return Answer(placed(order, np.concatenate([-constant - to_free @ x, x])))

    def certificate(new: Certificate) -> Certificate:  # weights of the equations, so that A'y is 0 at them
        return Certificate(placed(order, np.concatenate([-inverse.T @ (from_free.T @ new.y), new.y])))

    u_free = problem.b[c] - from_free @ constant
    return Conversion(
        ContactProblem.unchecked(delassus("A", W, K), np.ascontiguousarray(u_free), K),
        recover,
        lambda z: z[c],
        certificate,
    )


def _regular_inverse(block: Any) -> Array | None:
    """Return the inverse of a small matrix; None if it is singular to working precision."""
    dense = block.toarray() if sp.issparse(block) else np.asarray(block)
    if dense.size and np.linalg.cond(dense) > 1e12:
        return None
    return np.linalg.inv(dense)


def contacts_to_box(problem: ContactProblem) -> Conversion[BoxProblem]:
    """Convert a problem without friction to a BoxProblem, component by component."""
    K = problem.K
    if K.group_size.size:
        i = int(np.flatnonzero(np.diff(K.group_offset))[0])
        raise ProblemError(f"contact {i} is {K.kind_name(i)}: a box problem cannot contain friction cones")
    sizes = np.diff(K.offset)
    box = BoxProblem(problem.W.dense(), problem.u_free, np.repeat(K.lower, sizes), np.repeat(K.upper, sizes))
    return Conversion(box, Answer, lambda r: r)
