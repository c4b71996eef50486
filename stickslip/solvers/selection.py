"""Which of several certified impulses with the same velocities a run tells: those of least norm.

The least impulses belong to velocities that those of the solver miss by its tolerance. A run goes on with the
solver's, so that what it tells is changed by as little as that: by the δ of least norm, relative to what each
contact presses, with which impulses push the bodies as those of the solver do,

    A (r + δ) = A r_solver,   A = (H, G), or W of a local problem.

Where the judge does not accept that, the solver's impulses are told: forces that do not fit the motion are
none.
"""

from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsqr

from stickslip.kernels import cones
from stickslip.problem.checks import Array, frozen
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.operator import DenseDelassus
from stickslip.problem.residuals import examine
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import Solution
from stickslip.solvers.impulses import impulse_sets, least_among
from stickslip.state import BoolArray
from stickslip.threads import single_threaded

DENSE = 150
"""Components up to which δ is found by a dense factorisation."""
ACCURACY = 1e-9
"""Relative accuracy of an iterative δ, itself of the size of the tolerance [-]."""
ROUNDING = 1e-14
"""Share of the largest impulse that is rounding of what impulses do to bodies [-]."""


@single_threaded
def least_of_many(solution: Solution) -> tuple[Solution, BoolArray]:
    """A certified answer with the impulses of least norm, and which blocks have no others [-], shape (nb,).

    What the impulses do to the bodies is what those of the answer do, to rounding. Where no block has other
    impulses the answer comes back as it is; where the least that do so are not certified as well.
    """
    sets = impulse_sets(solution, solution.tolerance)  # as accurate as the steps that led here
    first = next(sets)
    unique = first[1].unique
    if unique.all():
        return solution, unique
    least = least_among(solution, chain([first], sets))
    return (_balanced(solution, least) if least.selection == "least" else least), unique


def _balanced(solution: Solution, least: Solution) -> Solution:
    """The least answer with the velocities of the solver's, and impulses that lead to them."""
    problem = solution.problem
    if not isinstance(problem, ContactProblem | GlobalProblem):
        return least
    # 1. what is missing of the push of the solver's impulses; nothing, in most answers with its velocities
    A, z, pushing = _pushes(problem), _impulses(least), _impulses(solution)
    missing = A @ (pushing - z)
    if least.v is solution.v is not None and _largest(missing) <= ROUNDING * _largest(pushing):
        return least
    # 2. the change that gives it, relative to what contacts press: open ones stay open
    weight = _weights(problem.K, z)
    if z.size <= DENSE:
        dense = A.toarray() if sp.issparse(A) else A
        change = np.linalg.lstsq(dense * weight, missing)[0]
    else:
        change = lsqr(A @ sp.diags_array(weight), missing, atol=ACCURACY, btol=ACCURACY)[0]
    z = frozen(z + weight * change)
    # 3. the judge's word on it
    r, lam = z[: problem.size], None if solution.lam is None else z[problem.size :]
    residuals, u = examine(problem, r, solution.v, lam)
    if not residuals.solved(solution.tolerance):
        return solution
    return least.with_(r=r, u=u, v=solution.v, lam=lam, residuals=residuals)


def _largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


def _impulses(solution: Solution) -> Array:
    """r, and lam where there is one [N s], shape (n + p,)."""
    return solution.r if solution.lam is None else np.concatenate([solution.r, solution.lam])


def _pushes(problem: ContactProblem | GlobalProblem) -> Any:
    """What impulses do to bodies, or to the velocities of contacts: a matrix, shape (any, n + p)."""
    if isinstance(problem, GlobalProblem):
        H = problem.H_sparse()
        return H if problem.G is None else sp.csr_array(sp.hstack([H, problem.G_sparse()]))
    W = problem.W
    return W.matrix if isinstance(W, DenseDelassus) else W.blocks(problem.K).sparse()


def _weights(K: ProductSet, z: Array) -> Array:
    """Size of the impulse of each contact, and of all together where none presses [N s], shape (n + p,)."""
    usual = float(np.sqrt(np.mean(z * z))) if z.size else 0.0
    presses = (K.kind == cones.NONNEGATIVE) | (K.kind == cones.FRICTION)
    each = np.where(presses, np.maximum(z[K.offset[:-1]], 0.0), usual)
    weight = np.full(z.size, usual)
    weight[: K.size] = K.spread(each)
    return weight
