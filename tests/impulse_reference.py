"""Impulses of least norm by a cone program with explicit faces, solved by Clarabel, as a reference."""

import clarabel
import numpy as np
import scipy.sparse as sp

from stickslip.kernels import cones
from stickslip.problem.contact import ContactProblem
from stickslip.problem.residuals import delassus_diagonal, metric


def program(problem, r, u, cut):
    """Return the units of r, and rows and cones of {z : same velocities, z in the faces at u} in them."""
    K, local = problem.K, isinstance(problem, ContactProblem)
    scales = metric(K, problem.W.diagonal() if local else delassus_diagonal(problem))
    y = np.repeat(scales.rho, np.diff(K.offset)) * scales.length * u
    A = (problem.W.dense() if local else problem.H_sparse().toarray()) * scales.length
    _, s, Vt = np.linalg.svd(A, full_matrices=False)
    basis = Vt[s > 1e-12 * s.max()]
    one = np.eye(K.size)
    equal, value = [basis], [basis @ (r / scales.length)]
    above, bound, second = [np.zeros((0, K.size))], [], []
    for i, block in enumerate(K):
        a, b = K.offset[i], K.offset[i + 1]
        if K.kind[i] == cones.FREE:
            continue
        if K.kind[i] != cones.FRICTION:
            low, high = block.lower, block.upper
            if abs(y[a]) > cut:
                equal.append(one[a : a + 1])
                value.append([low if y[a] > 0.0 else high])
                continue
            for sign, limit in ((-1.0, -low), (1.0, high)):
                if np.isfinite(limit):
                    above.append(sign * one[a : a + 1])
                    bound.append(limit)
        elif y[a] > cut:
            equal.append(one[a:b])
            value.append(np.zeros(b - a))
        else:
            above.append(-one[a : a + 1])
            bound.append(0.0)
            first = a + 1
            for g in range(K.group_offset[i], K.group_offset[i + 1]):
                part, mu = slice(first, first + K.group_size[g]), scales.coefficient[g]
                speed = np.linalg.norm(y[part])
                if speed > cut:
                    equal.append(one[part] + mu * np.outer(y[part] / speed, one[a]))
                    value.append(np.zeros(K.group_size[g]))
                else:
                    second.append(np.vstack([-mu * one[a], -one[part]]))
                first = part.stop
    rows = np.vstack([*equal, *above, *second])
    right = np.concatenate([*value, bound, np.zeros(sum(map(len, second)))])
    product = [clarabel.ZeroConeT(sum(map(len, equal))), clarabel.NonnegativeConeT(len(bound))]
    product += [clarabel.SecondOrderConeT(len(x)) for x in second]
    return scales.length, rows, right, product


def solved(P, q, rows, right, product):
    """Return the minimiser of x'P x/2 + q'x, or None if Clarabel fails."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    result = clarabel.DefaultSolver(
        sp.csc_matrix(P), q, sp.csc_matrix(rows), right, product, settings
    ).solve()
    return np.array(result.x) if str(result.status) == "Solved" else None


def least(problem, r, u, cut):
    """Return the impulses of least norm [N s], shape (n,), or None."""
    length, *rest = program(problem, r, u, cut)
    z = solved(np.eye(length.size), np.zeros(length.size), *rest)
    return None if z is None else length * z


def spread(problem, r, u, cut):
    """Return the extent of the set of solutions, sampled by r and extreme points in some directions [N s],
    shape (n,)."""
    length, *rest = program(problem, r, u, cut)
    rng, points = np.random.default_rng(0), [r]
    for _ in range(4):
        z = solved(1e-3 * np.eye(length.size), rng.normal(size=length.size), *rest)
        if z is None:
            return None
        points.append(length * z)
    return np.ptp(points, axis=0)
