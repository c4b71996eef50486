"""Selection of the reported impulses of a run, if several are certified with the same velocities: least norm.

The velocities of the least impulses differ from those of the solver by up to its tolerance. A run continues
with the solver's velocities, so the least impulses are corrected by the δ of least norm, relative to the
normal impulse of each contact, with which they have the same effect on the bodies as the solver's,

    A (r + δ) = A r_solver,   A = (H, G), or W of a local problem.

If the judge rejects the result, the solver's impulses are reported, because forces must agree with the
motion.
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
"""Number of components up to which δ is computed by a dense factorisation."""
ACCURACY = 1e-9
"""Relative accuracy of an iterative δ, itself of the size of the tolerance [-]."""
ROUNDING = 1e-14
"""Rounding of the effect of impulses on bodies, relative to the largest impulse [-]."""


@single_threaded
def least_of_many(solution: Solution) -> tuple[Solution, BoolArray]:
    """Return a certified solution with impulses of least norm, and which blocks are unique [-], shape (nb,).

    The effect of the impulses on the bodies is that of the original ones, to rounding. The solution is
    returned unchanged if all blocks are unique, or if the least impulses are not certified.
    """
    sets = impulse_sets(solution, solution.tolerance)  # as accurate as the previous steps of the run
    first = next(sets)
    unique = first[1].unique
    if unique.all():
        return solution, unique
    least = least_among(solution, chain([first], sets))
    return (_balanced(solution, least) if least.selection == "least" else least), unique


def _balanced(solution: Solution, least: Solution) -> Solution:
    """Return the least impulses, corrected to the effect of the solver's, with the solver's velocities."""
    problem = solution.problem
    if not isinstance(problem, ContactProblem | GlobalProblem):
        return least
    # 1. Difference of the effect on the bodies from the solver's; zero for most problems with v.
    A, z, pushing = _pushes(problem), _impulses(least), _impulses(solution)
    missing = A @ (pushing - z)
    if least.v is solution.v is not None and _largest(missing) <= ROUNDING * _largest(pushing):
        return least
    # 2. Correction, relative to the normal impulses of the contacts: open ones stay open.
    weight = _weights(problem.K, z)
    if z.size <= DENSE:
        dense = A.toarray() if sp.issparse(A) else A
        change = np.linalg.lstsq(dense * weight, missing)[0]
    else:
        change = lsqr(A @ sp.diags_array(weight), missing, atol=ACCURACY, btol=ACCURACY)[0]
    z = frozen(z + weight * change)
    # 3. Examination by the judge.
    r, lam = z[: problem.size], None if solution.lam is None else z[problem.size :]
    residuals, u = examine(problem, r, solution.v, lam)
    if not residuals.solved(solution.tolerance):
        return solution
    return least.with_(r=r, u=u, v=solution.v, lam=lam, residuals=residuals)


def _largest(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))


def _impulses(solution: Solution) -> Array:
    """Return r, followed by lam if there is any [N s], shape (n + p,)."""
    return solution.r if solution.lam is None else np.concatenate([solution.r, solution.lam])


def _pushes(problem: ContactProblem | GlobalProblem) -> Any:
    """Return the matrix from impulses to momenta of bodies, or to contact velocities, shape (any, n + p)."""
    if isinstance(problem, GlobalProblem):
        H = problem.H_sparse()
        return H if problem.G is None else sp.csr_array(sp.hstack([H, problem.G_sparse()]))
    W = problem.W
    return W.matrix if isinstance(W, DenseDelassus) else W.blocks(problem.K).sparse()


def _weights(K: ProductSet, z: Array) -> Array:
    """Return the weight of each impulse: normal impulse of contacts, else RMS [N s], shape (n + p,)."""
    usual = float(np.sqrt(np.mean(z * z))) if z.size else 0.0
    presses = (K.kind == cones.NONNEGATIVE) | (K.kind == cones.FRICTION)
    each = np.where(presses, np.maximum(z[K.offset[:-1]], 0.0), usual)
    weight = np.full(z.size, usual)
    weight[: K.size] = K.spread(each)
    return weight
