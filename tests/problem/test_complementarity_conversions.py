"""Box problems as LCPs and quadratic programs as LCPs, each checked on the original equations."""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss
from stickslip.problem.certificate import check_certificate
from stickslip.problem.convert import box_to_contacts, box_to_lcp, lcp_to_qp, qp_to_lcp, symmetric_lcp_to_qp
from stickslip.problem.convert.complementarity import is_monotone, pivot_set
from stickslip.problem.exhaustion import exhaust
from stickslip.problem.program import ConeProgram, judge_program
from stickslip.solvers.infeasibility import find_certificate
from stickslip.solvers.lemke import Lemke


def random_box(seed):
    """Every kind of bound, integer matrices for ties and singular blocks in every second one."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 6))
    A = rng.integers(-3, 4, size=(n, n)).astype(float) if seed % 2 else rng.normal(size=(n, n))
    b = rng.integers(-3, 4, size=n).astype(float)
    lower, upper = rng.choice([-np.inf, 0.0, -1.0], size=n), rng.choice([np.inf, 1.0, 2.0], size=n)
    if seed % 7 == 0:
        upper[0] = lower[0] = 0.5
    return ss.BoxProblem(A, b, lower, upper)


@pytest.mark.parametrize("block", range(4))
def test_solutions_of_a_box_problem_and_of_its_lcp_are_the_same(block):
    for seed in range(50 * block, 50 * block + 50):
        box = random_box(seed)
        conversion = box_to_lcp(box)
        assert conversion.problem.kind == "lcp"
        here, there = exhaust(box, 1e-10, 10**6), exhaust(conversion.problem, 1e-10, 10**6)
        assert bool(here.solutions) == bool(there.solutions)
        assert here.proves_none == there.proves_none
        for x in there.solutions:
            assert ss.judge(box, conversion.recover(x).r).solved(1e-9)
        for z in here.solutions:
            x = conversion.guess(z)
            assert ss.judge(conversion.problem, x).solved(1e-9)
            np.testing.assert_allclose(conversion.recover(x).r, z, atol=1e-9)


def test_monotone_problems_stay_monotone():
    rng = np.random.default_rng(3)
    for _ in range(50):
        n = int(rng.integers(2, 8))
        B = rng.normal(size=(n, max(1, n // 2)))
        S = rng.normal(size=(n, n))
        lower = rng.choice([-np.inf, 0.0, -1.0], size=n)
        box = ss.BoxProblem(B @ B.T + S - S.T, rng.normal(size=n), lower, rng.choice([np.inf, 1.0], size=n))
        assert is_monotone(np.asarray(box_to_lcp(box).problem.A))


def test_free_unknowns_that_their_own_equations_do_not_determine():
    """A saddle point: the block of the free unknowns is zero, pairs are pivoted with them."""
    A = np.array([[0.0, 1.0, 1.0], [-1.0, 2.0, 0.0], [-1.0, 0.0, 2.0]])
    problem = ss.problem.mlcp(A, [-2.0, 0.0, 0.0], [True, False, False])
    S = pivot_set(A, np.array([True, False, False]))
    assert 0 in S
    assert S.size == 2
    solution = Lemke(tolerance=1e-12).solve(problem).or_raise()
    np.testing.assert_allclose(solution.r, [2.0, 1.0, 1.0], atol=1e-14)


def test_a_free_unknown_that_appears_nowhere_is_split():
    A = np.array([[0.0, 0.0], [0.0, 1.0]])
    for constant, status in ((0.0, "SOLVED"), (1.0, "INFEASIBLE")):
        solution = Lemke(tolerance=1e-12).solve(ss.problem.mlcp(A, [constant, -1.0], [True, False]))
        assert solution.status.name == status


def test_a_certificate_comes_back():
    rng, seen = np.random.default_rng(8), 0
    for _ in range(80):
        n = 4
        S = rng.normal(size=(n, n))
        lower = np.where(np.arange(n) < rng.integers(0, 3), -np.inf, 0.0)
        box = ss.BoxProblem(S - S.T, rng.normal(size=n), lower, np.full(n, np.inf))
        conversion = box_to_lcp(box)
        inner = box_to_contacts(conversion.problem)
        found = find_certificate(inner.problem)
        if found is not None:
            seen += 1
            assert check_certificate(box, conversion.certificate(inner.certificate(found))).accepted
    assert seen > 10


def random_program(seed, n=5, m=3):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n, n - 1))
    A = rng.normal(size=(m, n))
    return B @ B.T, rng.normal(size=n), A, A @ rng.uniform(0.0, 1.0, size=n) - rng.uniform(0.0, 1.0, size=m)


@pytest.mark.parametrize("seed", range(12))
def test_a_quadratic_program_by_its_lcp(seed):
    P, c, A, b = random_program(seed)
    c = c - np.minimum(c.min(), 0.0)  # bounded below
    conversion = qp_to_lcp(P, c, A, b)
    answer = conversion.recover(Lemke(tolerance=1e-12).solve(conversion.problem).or_raise().r)
    x, y = answer.r, answer.lam
    program = ConeProgram(
        sp.csr_array(P), c, sp.csr_array(np.vstack([A, np.eye(5)])), np.concatenate([-b, np.zeros(5)]),
        nonnegative=8,
    )  # fmt: skip
    assert judge_program(program, x, np.concatenate([y, P @ x + c - A.T @ y])).error <= 1e-12
    assert conversion.guess(x).shape == (8,)


def test_an_unbounded_or_infeasible_program_is_an_lcp_without_solution():
    unbounded = qp_to_lcp(np.zeros((1, 1)), [-1.0], np.zeros((1, 1)), [0.0])
    empty = qp_to_lcp(np.eye(1), [0.0], [[-1.0]], [1.0])
    for conversion in (unbounded, empty):
        assert Lemke().solve(conversion.problem).status is ss.Status.INFEASIBLE


def clarabel_optimum(program):
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cones = [clarabel.NonnegativeConeT(program.nonnegative)]
    P = sp.csc_matrix(sp.triu(program.P))
    result = clarabel.DefaultSolver(
        P, program.c, sp.csc_matrix(-program.A), program.b, cones, settings
    ).solve()
    return np.array(result.x)


@pytest.mark.parametrize("seed", range(6))
def test_an_lcp_by_its_quadratic_programs(seed):
    rng = np.random.default_rng(seed)
    B, S = rng.normal(size=(5, 5)), rng.normal(size=(5, 5))
    symmetric = B @ B.T + 0.1 * np.eye(5)
    monotone = ss.problem.lcp(symmetric + S - S.T, rng.normal(size=5))
    program = lcp_to_qp(monotone)
    z = Lemke(tolerance=1e-12).solve(monotone).or_raise().r
    assert abs(program.problem.objective(z)) <= 1e-12, "the optimum is 0"
    assert judge_program(program.problem, z, np.concatenate([z, monotone.value(z)])).error <= 1e-12
    assert ss.judge(monotone, program.recover(clarabel_optimum(program.problem)).r).error <= 1e-4
    problem = ss.problem.lcp(symmetric, monotone.b)
    program = symmetric_lcp_to_qp(problem)
    z = Lemke(tolerance=1e-12).solve(problem).or_raise().r
    assert judge_program(program.problem, z, problem.value(z)).error <= 1e-12
    assert ss.judge(problem, program.recover(clarabel_optimum(program.problem)).r).error <= 1e-4


def test_what_is_no_convex_program_is_refused():
    with pytest.raises(ss.ProblemError, match="negative eigenvalue"):
        lcp_to_qp(ss.problem.lcp([[-1.0]], [1.0]))
    with pytest.raises(ss.ProblemError, match="not symmetric"):
        symmetric_lcp_to_qp(ss.problem.lcp([[1.0, 1.0], [0.0, 1.0]], [1.0, 1.0]))
    with pytest.raises(ss.ProblemError, match="convert it by box_to_lcp"):
        lcp_to_qp(ss.problem.relay(np.eye(1), [1.0]))
    with pytest.raises(ss.ProblemError, match="negative eigenvalue"):
        qp_to_lcp([[-1.0]], [0.0], [[1.0]], [0.0])
    with pytest.raises(ss.ProblemError, match="expected"):
        qp_to_lcp(np.eye(2), [0.0], [[1.0]], [0.0])
