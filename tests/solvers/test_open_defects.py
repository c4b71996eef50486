"""Facts that do not hold yet; each leaves this file when it does."""

import os
import subprocess
import sys

import numpy as np
import pytest

import stickslip as ss

WALLS = np.array([[1.0, -1.0], [-1.0, 1.0]])
TURN = np.array([[0.0, 1.0], [-1.0, 0.0]])
CONTRADICTIONS = {
    "free, W = 0": (np.zeros((1, 1)), [1.0], ss.free(1)),
    "free, rank one": (np.ones((2, 2)), [1.0, -1.0], ss.free(2)),
    "closing walls as intervals": (WALLS, [-1.0, -1.0], ss.interval([0.0, 0.0], [np.inf, np.inf])),
}
ONE_SOLVE = """
import sys, numpy as np, stickslip as ss
A = np.random.default_rng(5).normal(size=(180, 100))
W = np.einsum("ik,jk->ij", A, A, optimize=False)
problem = ss.ContactProblem(W, -np.ones(180), ss.coulomb(np.full(60, 0.5)))
solution = ss.solve(problem, sys.argv[1], max_iterations=30)
print(ss.fingerprint(problem), solution.r.tobytes().hex())
"""


@pytest.mark.xfail(strict=True, reason="approach looks at friction and nonnegative blocks only")
@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_impulses_that_outgrow_a_contradiction_do_not_solve_it(case):
    """u = u_free whatever r (or u_1 + u_2 = -2), and |u| = |u_free| where it should be 0 or not negative."""
    assert not ss.solve(ss.ContactProblem(*CONTRADICTIONS[case])).ok


@pytest.mark.xfail(strict=True, reason="without a diagonal, 1 kg stands in for rho")
def test_units_do_not_decide_where_w_has_no_diagonal():
    """r = (1, 1) / unit solves both."""
    for unit in (1.0, 1e-30):
        problem = ss.ContactProblem(unit * TURN, [-1.0, 1.0], ss.nonnegative(2))
        assert ss.solve(problem).ok, unit


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
@pytest.mark.xfail(strict=False, reason="BLAS adds in another order with more threads")
@pytest.mark.parametrize("solver", ["admm", "ipm"])
def test_the_number_of_threads_changes_no_bit(solver):
    answers = set()
    for threads in ("1", "2"):
        run = subprocess.run(
            [sys.executable, "-c", ONE_SOLVE, solver], env={**os.environ, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        answers.add(run.stdout)
    assert len(answers) == 1
