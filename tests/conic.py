"""Direct solution of cone programs by Clarabel, for the tests of conversions."""

import clarabel
import numpy as np
import scipy.sparse as sp

from stickslip.problem.convert import friction_shift


def solve_program(program):
    """Return x and y of `program`, at the smallest tolerance from 1e-13 that Clarabel reaches.

    Clarabel's rows are A_c x + s = b with s in the cones, so A_c = -A.
    """
    product = [clarabel.ZeroConeT(program.zero), clarabel.NonnegativeConeT(program.nonnegative)]
    product += [clarabel.SecondOrderConeT(int(size)) for size in program.second_order]
    P, A = sp.csc_matrix(sp.triu(program.P)), sp.csc_matrix(-program.A)
    for tolerance in 10.0 ** np.arange(-13, -7):
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        result = clarabel.DefaultSolver(P, program.c, A, program.b, product, settings).solve()
        if str(result.status) == "Solved":
            break
    assert str(result.status) == "Solved", result.status
    return np.array(result.x), np.array(result.z)


def shift_loop(conversion, K, velocity, rounds=30, facets=0):
    """Return the answers of `conversion` for the iteration s <- sum mu_k |u_k|; velocity: returns u of an
    answer."""
    program, answers = conversion.problem, []
    for _ in range(rounds):
        answers.append(conversion.recover(*solve_program(program)))
        program = conversion.shifted(friction_shift(K, velocity(answers[-1]), facets), answers[-1])
    return answers
