"""Complementarity solvers against enumeration, on every class of matrix that matters to one of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from recorded import needs_recorded, recorded

import stickslip as ss
from stickslip.problem.certificate import Certificate, check_certificate
from stickslip.problem.exhaustion import count_bases, exhaust
from stickslip.solvers.enumeration import solutions
from stickslip.solvers.registry import make

BOX = ("lemke", "newton-min", "newton-fb", "ipm-lcp", "pgs", "enumerate")
NO_Q0 = ss.problem.lcp([[0.0, 1.0], [0.0, 1.0]], [-1.0, 1.0])
"""w = (z_1 - 1, z_1 + 1): feasible, but w_1 > 0 asks for z_1 = 0, and then w_0 < 0. No solution."""


def random_problem(kind, seed):
    """A box problem of one class, with at most 6 unknowns."""
    rng = np.random.default_rng([seed, sum(map(ord, kind))])
    n = int(rng.integers(1, 7))
    A, b = rng.normal(size=(n, n)), rng.normal(size=n)
    whole = rng.integers(-2, 3, size=(n, n)).astype(float), rng.integers(-1, 2, size=n).astype(float)
    lower, upper, k = np.zeros(n), np.full(n, np.inf), n // 2
    gram = A @ A.T / n + 0.05 * np.eye(n)
    if kind == "symmetric P":
        A = gram
    elif kind == "P, not symmetric":
        A = gram + 3.0 * (A - A.T)
    elif kind == "semidefinite":
        B = rng.normal(size=(n, max(1, k)))
        A = B @ B.T + A - A.T
    elif kind == "skew":
        A = A - A.T
    elif kind == "copositive":
        A = np.abs(A)
    elif kind == "degenerate":
        A, b = whole
    elif kind == "relay":
        lower, upper = -np.ones(n), np.ones(n)
    elif kind == "degenerate relay":
        (A, b), lower, upper = whole, -np.ones(n), np.ones(n)
    elif kind == "mixed, monotone":
        A = gram + A - A.T
        lower[:k] = -np.inf
    elif kind == "mixed, saddle":
        A = gram
        A[:k, :k], A[k:, :k] = 0.0, -A[:k, k:].T
        lower[:k] = -np.inf
    elif kind == "mixed, singular":
        A[:k, :k] = 0.0
        lower[:k] = -np.inf
    elif kind == "units":
        unit = 10.0 ** rng.uniform(-4.0, 4.0, size=n)
        A, b = unit[:, None] * gram * unit, unit * b
    elif kind == "any bounds":
        lower, upper = rng.choice([-np.inf, 0.0, -1.0], size=n), rng.choice([np.inf, 1.0], size=n)
    return ss.BoxProblem(A, b, lower, upper)


SURE = {
    "symmetric P": ("lemke", "newton-min", "newton-fb", "ipm-lcp", "pgs"),
    "P, not symmetric": ("lemke", "newton-min", "newton-fb", "ipm-lcp"),
    "semidefinite": ("lemke", "ipm-lcp"),
    "skew": ("lemke", "ipm-lcp"),
    "copositive": ("lemke",),
    "relay": ("lemke",),
    "degenerate relay": ("lemke",),
    "mixed, monotone": ("lemke", "newton-min", "ipm-lcp"),
    "mixed, saddle": ("lemke", "ipm-lcp"),
    "units": ("lemke", "newton-min", "ipm-lcp"),
}
"""What theory promises: a solution or the proof that there is none, of every problem of the class."""


@pytest.mark.parametrize("kind", SURE)
def test_what_theory_promises_is_kept(kind):
    for seed in range(20):
        problem = random_problem(kind, seed)
        truth = exhaust(problem, 1e-10, 10**6, first=True)
        assert truth.solutions or truth.proves_none
        for name in SURE[kind]:
            solution = make(name, tolerance=1e-12).solve(problem)
            assert solution.ok == bool(truth.solutions), (seed, solution)
            assert (solution.status is ss.Status.INFEASIBLE) == truth.proves_none
            assert not solution.ok or ss.judge(problem, solution.r).solved(1e-12)


@pytest.mark.parametrize("kind", ["any matrix", "degenerate", "mixed, singular", "any bounds"])
def test_nobody_contradicts_enumeration(kind):
    found = 0
    for seed in range(12):
        problem = random_problem(kind, seed)
        truth = exhaust(problem, 1e-10, 10**6)
        assert truth.solutions or truth.proves_none
        for name in ("lemke", "newton-min", "enumerate", "auto"):
            solution = make(name, tolerance=1e-10).solve(problem)
            if truth.proves_none:
                assert not solution.ok
            else:
                assert solution.status is not ss.Status.INFEASIBLE
                found += solution.ok
            if name in ("enumerate", "auto"):
                assert solution.ok == bool(truth.solutions)
                assert (solution.status is ss.Status.INFEASIBLE) == truth.proves_none
    assert found > 0


def test_all_solutions_of_a_problem_with_several():
    """w = b - z: each z_i is 0 or b_i, independently: 2^n solutions."""
    problem = ss.problem.lcp(-np.eye(3), [1.0, 2.0, 3.0])
    found = solutions(problem)
    assert len(found) == 8
    assert {tuple(z) for z in found} == {
        (i, j, k) for i in (0.0, 1.0) for j in (0.0, 2.0) for k in (0.0, 3.0)
    }
    with pytest.raises(ss.ProblemError, match="2097152 complementary bases, more than 262144"):
        solutions(ss.problem.lcp(np.eye(21), np.ones(21)))
    assert count_bases(ss.BoxProblem(np.eye(4), np.ones(4), [0, -1, -np.inf, 2], [np.inf, 1, np.inf, 2])) == 6


def test_a_continuum_of_solutions_is_found_in_its_singular_basis():
    problem = ss.problem.lcp(np.zeros((2, 2)), [0.0, 0.0])
    assert len(solutions(problem)) >= 1
    tied = ss.problem.lcp([[1.0, 1.0], [1.0, 1.0]], [-1.0, -1.0])
    for name in ("lemke", "newton-min", "ipm-lcp", "enumerate"):
        np.testing.assert_allclose(make(name, tolerance=1e-12).solve(tied).or_raise().r.sum(), 1.0)


def test_no_solution_is_said_exactly():
    lemke = ss.solve(NO_Q0, "lemke")
    assert lemke.status is ss.Status.STALLED
    assert "ended on a ray with 8 of 8 covering vectors" in lemke.reason
    assert "A is not known to be copositive-plus, so this proves nothing" in lemke.reason
    for name in ("enumerate", "auto"):
        solution = ss.solve(NO_Q0, name)
        assert solution.status is ss.Status.INFEASIBLE
        assert "no solution, all 4 complementary bases fail" in repr(solution)
        assert check_certificate(NO_Q0, solution.certificate).accepted
    monotone = ss.problem.lcp([[0.0, 1.0], [-1.0, 0.0]], [-1.0, 0.5])
    assert ss.solve(monotone, "lemke").ok
    empty = ss.solve(ss.problem.lcp(np.zeros((2, 2)), [1.0, -1.0]), "lemke")
    assert empty.status is ss.Status.INFEASIBLE
    assert empty.certificate.bases == 0, "Farkas, not exhaustion"


def test_a_solution_that_rounding_keeps_above_the_tolerance_is_said_to_be_that():
    """Free unknowns of 2e5 beside b of 1: |A z + b| cannot fall to 1e-12."""
    problem = random_problem("mixed, saddle", 108)
    assert make("lemke", tolerance=1e-10).solve(problem).ok
    assert "rounding limits its error" in make("lemke", tolerance=1e-12).solve(problem).reason


def test_a_false_claim_of_exhaustion_is_refused():
    solvable = ss.problem.lcp(np.eye(2), [-1.0, 1.0])
    claim = Certificate(np.zeros(2), bases=4)
    assert "one of the complementary bases gives a solution" in str(check_certificate(solvable, claim))
    assert "there are 4" in str(check_certificate(NO_Q0, Certificate(np.zeros(2), bases=8)))
    friction = ss.ContactProblem(np.eye(3), [-1.0, 0.0, 0.0], ss.coulomb([0.5]))
    assert "without friction" in str(check_certificate(friction, claim))
    contact = ss.ContactProblem([[0.0, 1.0], [0.0, 1.0]], [-1.0, 1.0], ss.problem.nonnegative(2))
    assert ss.solve(contact, "enumerate").status is ss.Status.INFEASIBLE


def murty(n):
    """Murty 1978: 1 on the diagonal and 2 below it."""
    return ss.problem.lcp(
        np.eye(n) + 2.0 * np.tril(np.ones((n, n)), -1), -np.exp2(n - np.arange(n, dtype=float))
    )


@pytest.mark.parametrize("name", ["lemke", "newton-min", "enumerate"])
def test_the_worst_case_of_pivoting_ends(name):
    problem = murty(9)
    solution = make(name, tolerance=1e-12).solve(problem).or_raise()
    expected = np.zeros(9)
    expected[0] = 2.0**9
    np.testing.assert_allclose(solution.r, expected, atol=1e-12)


@pytest.mark.parametrize("n", [3, 5, 7])
def test_ties_do_not_make_pivots_cycle(n):
    """Murty 1988, ch. 4: the cyclic P-matrix on which pivots without a rule go round; all ratios tie."""
    A = np.eye(n) + 2.0 * np.roll(np.eye(n), 1, axis=1)
    for b in (-np.ones(n), np.where(np.arange(n) % 2, -1.0, 0.0), np.zeros(n)):
        solution = make("lemke", tolerance=1e-12, covering="ones").solve(ss.problem.lcp(A, b)).or_raise()
        assert solution.iterations <= 4 * n
    np.testing.assert_allclose(make("lemke").solve(ss.problem.lcp(A, -np.ones(n))).r, np.full(n, 1.0 / 3.0))


@pytest.mark.parametrize("name", BOX)
def test_hard_inputs(name):
    solver = make(name, tolerance=1e-10)
    assert solver.solve(ss.problem.lcp(np.zeros((0, 0)), [])).ok
    fixed = ss.BoxProblem([[2.0]], [-1.0], [3.0], [3.0])
    assert solver.solve(fixed).or_raise().r == 3.0
    idle = solver.solve(ss.problem.lcp(np.zeros((3, 3)), [1.0, 0.0, 2.0]))
    assert idle.ok
    assert not idle.r[[0, 2]].any()
    huge = solver.solve(ss.problem.lcp(np.diag([1e-8, 1.0, 1e8]), [-1e-8, -1.0, 1e8]))
    np.testing.assert_allclose(huge.or_raise().r, [1.0, 1.0, 0.0], rtol=1e-2)
    beyond = solver.solve(ss.problem.lcp([[1e-200]], [-1e200]))
    assert beyond.status is not ss.Status.SOLVED
    with pytest.raises(ss.ProblemError, match="A"):
        solver.solve(ss.problem.lcp([[np.nan]], [1.0]))
    dense = random_problem("symmetric P", 5)
    sparse = ss.BoxProblem(sp.csr_array(dense.A), dense.b, dense.lower, dense.upper)
    np.testing.assert_allclose(solver.solve(sparse).or_raise().r, solver.solve(dense).r, atol=1e-8)


@pytest.mark.parametrize("name", BOX)
def test_same_problem_same_bytes_and_a_solution_as_guess(name):
    problem = random_problem("symmetric P", 11)
    solver = make(name, tolerance=1e-10)
    first, again = solver.solve(problem), solver.solve(problem)
    assert first.r.tobytes() == again.r.tobytes()
    assert solver.solve(problem, guess=first.r).iterations <= first.iterations


@pytest.mark.parametrize("name", ["lemke", "pgs", "newton-min", "ipm-lcp", "enumerate"])
def test_friction_is_refused_by_name_and_contacts_without_it_are_taken(name):
    friction = ss.ContactProblem(np.eye(3), [-1.0, 0.0, 0.0], ss.coulomb([0.5]))
    with pytest.raises(
        ss.ProblemError, match=rf"{name} does not take coulomb3d blocks; solvers that do: .*nsgs"
    ):
        make(name).solve(friction)
    M, H = np.diag([2.0, 4.0]), np.eye(2)
    bodies = ss.GlobalProblem(M, [-2.0, 4.0], H, np.zeros(2), ss.problem.nonnegative(2))
    solution = make(name, tolerance=1e-12).solve(bodies).or_raise()
    np.testing.assert_allclose(solution.r, [2.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(solution.v, [0.0, 1.0], atol=1e-12)


def test_sweeps_say_which_row_they_cannot_take():
    solution = ss.solve(ss.problem.lcp([[1.0, 2.0], [3.0, -1.0]], [-1.0, -1.0]), "pgs")
    assert solution.status is ss.Status.STALLED
    assert "row 1 has diagonal -1" in solution.reason


def test_overrelaxation_and_there_and_back_take_fewer_sweeps():
    n = 30
    A = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    problem = ss.BoxProblem(A, -np.ones(n), np.zeros(n), np.full(n, 60.0))
    plain = make("pgs").solve(problem).or_raise()
    faster = make("pgs", relaxation=1.7).solve(problem).or_raise()
    both = make("pgs", symmetric=True).solve(problem).or_raise()
    assert faster.iterations < 0.5 * plain.iterations
    assert both.iterations < plain.iterations
    np.testing.assert_allclose(faster.r, make("lemke").solve(problem).r, atol=1e-5)


MISSED = {"lcp_CPS_3.dat": {"lemke"}, "lcp_Pang_isolated_sol.dat": {"ipm-lcp"}}
"""Lemke ends on a ray from every covering vector; the other is not monotone."""


@needs_recorded
@pytest.mark.parametrize("path", recorded("lcp", "mlcp"), ids=lambda p: p.name)
def test_every_recorded_problem_is_solved_to_1e_10(path):
    problem = ss.read(path)
    for name in sorted({"lemke", "newton-min", "newton-fb", "ipm-lcp"} - MISSED.get(path.name, set())):
        assert ss.judge(problem, make(name, tolerance=1e-10).solve(problem).or_raise().r).solved(1e-10)
    if count_bases(problem) <= 1 << 14:
        assert make("enumerate", tolerance=1e-10).solve(problem).ok
