"""Calls on small problems of every form: one compiled call, the judge's word, and solutions told on
demand."""

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss
from stickslip.problem import ProblemError, free, interval, nonnegative, rolling
from stickslip.problem.box import BoxProblem, lcp
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.sets import coulomb
from stickslip.solvers.one_call import solve_in_one_call

CORNERS = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])


def stack(boxes, seed=0):
    """Boxes on each other, four corners each, as M, f, H and K: more impulses than the motion can tell
    apart."""
    rng = np.random.default_rng(seed)
    n, nv = 12 * boxes, 6 * boxes
    H = np.zeros((nv, n))
    for i in range(4 * boxes):
        x, y = CORNERS[i % 4]
        for body, z, sign in ((i // 4, -0.5, 1.0), (i // 4 - 1, 0.5, -1.0)):
            for k, axis in enumerate(((0, 0, 1), (1, 0, 0), (0, 1, 0))):
                if body >= 0:
                    H[6 * body : 6 * body + 6, 3 * i + k] = sign * np.array(
                        [*axis, *np.cross((x, y, z), axis)]
                    )
    M = np.diag(np.tile([1.0, 1.0, 1.0, 1 / 6, 1 / 6, 1 / 6], boxes))
    f = 0.05 * rng.normal(size=nv) - np.tile([0.0, 0.0, 0.05, 0.0, 0.0, 0.0], boxes)
    return M, M @ f, H, coulomb(rng.uniform(0.2, 0.7, 4 * boxes))


def in_one_call(problem, guess=None, tolerance=1e-9):
    found = solve_in_one_call(problem, guess, tolerance, "auto")
    assert found.solution is not None
    return found.solution


@pytest.mark.parametrize("boxes", [1, 2, 3])
@pytest.mark.parametrize("form", ["array", "sparse"])
def test_velocities_are_eliminated_and_the_judge_sees_the_global_problem(boxes, form):
    M, f, H, K = stack(boxes)
    if form == "sparse":
        M, H = sp.csr_array(M), sp.csr_array(H)
    problem = GlobalProblem(M, f, H, np.zeros(K.size), K)
    solution = in_one_call(problem)
    assert solution.residuals == ss.judge(problem, solution.r, solution.v)
    assert solution.residuals.equilibrium <= 1e-12
    np.testing.assert_allclose(M @ solution.v, f + H @ solution.r, atol=1e-14)


def test_a_global_problem_has_no_certificate_without_equilibrium():
    M, f, H, K = stack(1)
    problem = GlobalProblem(M, f, H, np.zeros(K.size), K)
    solution = in_one_call(problem)
    said = ss.judge(problem, solution.r, 1.001 * solution.v)
    assert said.equilibrium > 1e-6
    assert not said.solved(1e-9)


def local(boxes, seed=0):
    M, f, H, K = stack(boxes, seed)
    return ContactProblem(H.T @ np.linalg.solve(M, H), H.T @ np.linalg.solve(M, f), K)


def test_newton_ends_what_few_sweeps_begin():
    """Sweeps alone take hundreds for three boxes on each other."""
    problem = local(3)
    solution = in_one_call(problem)
    assert [stage.solver for stage in solution.tried] == ["nsgs", "newton-ac"]
    assert solution.tried[0].iterations <= 20
    swept = ss.solve(problem, "nsgs", tolerance=1e-9, max_iterations=50)
    assert not swept.ok


@pytest.mark.parametrize("boxes", [1, 3])
def test_blocks_and_arrays_have_the_same_answer_and_each_its_own_judge(boxes):
    dense = local(boxes)
    blocks = ContactProblem(sp.csr_array(dense.W.dense()), dense.u_free, dense.K)
    one, other = in_one_call(dense), in_one_call(blocks)
    assert one.residuals == ss.judge(dense, one.r)
    assert other.residuals == ss.judge(blocks, other.r)
    np.testing.assert_array_equal(one.r, other.r)


def test_an_unsymmetric_matrix_is_solved_as_it_is():
    """Recorded matrices are symmetric to their digits alone."""
    problem = local(1)
    W = problem.W.dense() * (1.0 + 1e-4 * np.random.default_rng(0).normal(size=(12, 12)))
    lopsided = ContactProblem(W, problem.u_free, problem.K)
    solution = in_one_call(lopsided)
    assert ss.judge(lopsided, solution.r).solved(1e-9)


MIXED = free(2) + interval([-0.3], [0.2]) + coulomb([0.5], 3) + nonnegative(1) + rolling([0.5], [0.1])


@pytest.mark.parametrize("guess", ["none", "answer", "near", "far", "buries"])
def test_any_guess_leads_to_a_certified_answer(guess):
    rng = np.random.default_rng(5)
    H = rng.normal(size=(MIXED.size + 3, MIXED.size))
    problem = ContactProblem(H.T @ H, rng.normal(size=MIXED.size), MIXED)
    cold = in_one_call(problem)
    start = {
        "none": None, "answer": cold.r, "near": cold.r + 1e-3, "far": 1e3 * rng.normal(size=cold.r.size),
        "buries": np.full(cold.r.size, 1e20),
    }[guess]  # fmt: skip
    warm = in_one_call(problem, start)
    assert warm.residuals.solved(1e-9)
    np.testing.assert_allclose(warm.r, cold.r, atol=1e-6 * np.abs(cold.r).max())
    if guess in ("none", "buries"):
        np.testing.assert_array_equal(warm.r, cold.r)


PROBLEMS = {
    "contacts": local(1),
    "blocks": ContactProblem(sp.csr_array(local(1).W.dense()), local(1).u_free, local(1).K),
    "global": GlobalProblem(*stack(1)[:3], np.zeros(12), stack(1)[3]),
    "box": lcp([[2.0, 0.0], [0.0, 1.0]], [-1.0, 1.0]),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_guess_that_is_not_finite_or_too_short_is_refused_by_name(name):
    problem = PROBLEMS[name]
    with pytest.raises(ProblemError, match=r"guess is not finite: entry .* is nan"):
        ss.solve(problem, guess=np.r_[0.0, np.nan, np.zeros(problem.size - 2)])
    with pytest.raises(ProblemError, match="guess has shape"):
        ss.solve(problem, guess=np.zeros(problem.size + 1))
    with pytest.raises(ProblemError, match="leave kappa out"):
        ss.solve(problem, kappa=1e-3)


def test_singular_complementarity_problems_need_no_stages():
    """Active sets meet a singular matrix; the proximal point method goes around it."""
    degenerate = lcp([[0.0, 1.0], [-1.0, 0.0]], [-1.0, 2.0])
    solution = in_one_call(degenerate)
    assert solution.residuals.solved(1e-9)
    np.testing.assert_allclose(solution.r, [2.0, 1.0], atol=1e-8)
    rank_one = lcp([[1.0, 1.0], [1.0, 1.0]], [-1.0, -1.0])
    assert in_one_call(rank_one).r.sum() == pytest.approx(1.0, abs=1e-8)


def test_arrays_and_sparse_matrices_are_judged_alike_between_bounds():
    rng = np.random.default_rng(2)
    A, b = rng.normal(size=(40, 40)), rng.normal(size=40)
    lower = np.where(np.arange(40) % 3 == 0, -np.inf, -0.5)
    dense, sparse = (BoxProblem(form, b, lower, np.inf) for form in (A, sp.csr_array(A)))
    z = rng.normal(size=40)
    one, other = ss.judge(dense, z), ss.judge(sparse, z)
    for measure in ("natural", "natural_scaled", "impulse", "velocity", "work", "approach"):
        assert getattr(one, measure) == pytest.approx(getattr(other, measure), rel=1e-13)
    assert one.worst == other.worst


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_a_solution_tells_is_made_when_it_is_asked_for(name):
    problem = PROBLEMS[name]
    solution = ss.solve(problem)
    assert "residuals" not in vars(solution)
    copy = pickle.loads(pickle.dumps(solution))
    assert solution.iterations == sum(stage.iterations for stage in solution.tried)
    assert "residuals" in vars(solution)
    assert solution.history[-1, 0] == solution.iterations
    assert solution.residuals == ss.judge(
        problem, solution.r, *((solution.v,) if solution.v is not None else ())
    )
    assert (copy.residuals, copy.tried) == (solution.residuals, solution.tried)
    assert solution.with_(reason="because").residuals == solution.residuals
    assert re.search(rf"iterations +{solution.iterations}\n", repr(solution))


def test_a_misspelt_attribute_is_an_error_that_names_it():
    solution = ss.solve(PROBLEMS["box"])
    with pytest.raises(AttributeError, match="a Solution has no attribute 'residual'"):
        solution.residual  # noqa: B018
    assert not hasattr(solution, "impulses")


def test_the_public_verb_and_the_solver_give_the_same_bits():
    for problem in (*PROBLEMS.values(), local(3)):
        one, other = ss.solve(problem), ss.solvers.Auto().solve(problem)
        assert one.r.tobytes() == other.r.tobytes()
        assert one.tried == other.tried


def test_hyperstatic_bodies_go_from_few_sweeps_to_newton_over_bodies():
    """A wall that slides: sweeps from the last impulses stall, and no more are made after those of the
    call."""
    scene = ss.scenes.make("masonry-wall", tilt=32.0, until=0.5)
    problems = []

    class Listener:
        tolerance = 1e-8

        def solve(self, problem, *, guess=None, progress=None):
            problems.append((problem, guess))
            return ss.solve(problem, guess=guess, tolerance=1e-8)

    ss.simulate(scene.system, until=12 * scene.h, h=scene.h, solver=Listener())
    problem, guess = problems[-1]
    solution = ss.solve(problem, guess=guess, tolerance=1e-8).or_raise()
    assert [stage.solver for stage in solution.tried] == ["nsgs", "prox"]
    assert solution.tried[0].iterations <= 60
