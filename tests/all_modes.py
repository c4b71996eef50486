"""All solutions of small problems in 2D, mode by mode, as a reference for solvers and closed forms."""

from itertools import product

import numpy as np
from scipy.optimize import linprog

from stickslip import GlobalProblem
from stickslip.problem.convert import reduce_to_contacts


def modes_with_an_answer(problem):
    """Return (modes, r) for every combination of modes that solves a small problem in 2D, by linear programs.

    Contacts leave, stick, slip forwards or backwards; nonnegative blocks leave or stay. For given modes the
    law is linear, so the list is complete, and an empty list proves that there is no solution.
    """
    if isinstance(problem, GlobalProblem):
        problem = reduce_to_contacts(problem).problem
    W, q, K, n = problem.W.dense(), problem.u_free, problem.K, problem.size
    eye, solutions = np.eye(n), []
    choices = ["leaves", "sticks", "slips +", "slips -"] if K.dimension == 2 else ["leaves", "sticks"]
    for modes in product(choices, repeat=len(K)):
        A_eq, b_eq, A_ub, b_ub = [], [], [], []
        for i, mode in enumerate(modes):
            N, T, mu = K.offset[i], K.offset[i] + 1, K.friction()[i]
            A_ub.append(-eye[N])
            b_ub.append(0.0)
            if mode == "leaves":
                A_eq += list(eye[N : K.offset[i + 1]])
                b_eq += [0.0] * (K.offset[i + 1] - N)
                A_ub.append(-W[N])
                b_ub.append(q[N])
                continue
            A_eq.append(W[N])
            b_eq.append(-q[N])
            if K.dimension == 1:
                continue
            if mode == "sticks":
                A_eq.append(W[T])
                b_eq.append(-q[T])
                A_ub += [eye[T] - mu * eye[N], -eye[T] - mu * eye[N]]
                b_ub += [0.0, 0.0]
            else:
                sign = 1.0 if mode == "slips +" else -1.0
                A_eq.append(eye[T] + sign * mu * eye[N])
                b_eq.append(0.0)
                A_ub.append(-sign * W[T])
                b_ub.append(sign * q[T])
        result = linprog(np.zeros(n), A_ub, b_ub, A_eq, b_eq, bounds=(None, None), method="highs-ds")
        if result.status == 0:
            solutions.append((modes, result.x))
    return solutions
