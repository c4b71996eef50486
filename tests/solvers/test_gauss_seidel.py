"""What is particular to Gauss-Seidel: its two forms, warm starts, relaxation, and how it stops."""

import numpy as np
import pytest
from random_problems import MIXED, bodies_in_a_row, random_problem

from stickslip import ContactProblem, GlobalProblem, SolverFailure, coulomb, judge, solve
from stickslip.problem import contact_blocks, free, nonnegative
from stickslip.problem.convert import reduce_to_contacts
from stickslip.solvers.gauss_seidel import NSGS


@pytest.mark.parametrize("K", [coulomb(np.full(8, 0.5)), MIXED], ids=["coulomb", "mixed"])
def test_both_forms_are_one_method(K):
    problem = bodies_in_a_row(K)
    steps = [
        NSGS(form=form, tolerance=1e-13, max_iterations=7).solve(problem) for form in ("bodies", "delassus")
    ]
    np.testing.assert_allclose(steps[0].r, steps[1].r, atol=1e-12)
    done = [NSGS(form=form, tolerance=1e-9).solve(problem) for form in ("bodies", "delassus")]
    assert all(s.ok for s in done)
    np.testing.assert_allclose(done[0].v, done[1].v, atol=1e-7)


def test_bodies_of_three_velocities_too():
    """Planar bodies (x, z, angle) go through the general sweep."""
    K = coulomb([0.5, 0.5], 2)
    rows = np.array([[[0, 1, -0.5]], [[1, 0, 0.3]], [[0, 1, 0.5]], [[1, 0, 0.3]]], float)
    rows = np.concatenate([rows, np.zeros_like(rows)], axis=1)
    M = np.diag([2.0, 2.0, 0.1])[None]
    H = contact_blocks([[0, -1], [0, -1]], rows, K)
    solution = solve(GlobalProblem(M, [0.05, -0.2, 0.0], H, np.zeros(4), K), tolerance=1e-12).or_raise()
    assert solution.contact_impulses.sum(axis=0) == pytest.approx([0.2, -0.05], abs=1e-12)


def test_bodies_form_needs_bodies():
    with pytest.raises(ValueError, match="form='bodies' needs a matrix-free problem"):
        NSGS(form="bodies").solve(random_problem())


def test_a_warm_start_is_taken_and_looked_at_first():
    problem = random_problem()
    cold = solve(problem, "nsgs", tolerance=1e-10)
    warm = solve(problem, "nsgs", tolerance=1e-10, guess=cold.r)
    assert (warm.iterations, warm.status.name) == (0, "SOLVED")
    near = solve(problem, "nsgs", tolerance=1e-10, guess=cold.r * 1.001)
    assert 0 < near.iterations < cold.iterations
    outside = solve(problem, "nsgs", guess=-np.ones(problem.size))
    assert outside.ok
    with pytest.raises(ValueError, match="guess has shape"):
        solve(problem, "nsgs", guess=np.zeros(4))


@pytest.mark.parametrize("relaxation", [0.6, 1.0, 1.3])
def test_relaxation_changes_the_path_not_the_answer(relaxation):
    problem = random_problem()
    reference = solve(problem, "nsgs", tolerance=1e-12)
    solution = solve(problem, "nsgs", tolerance=1e-12, relaxation=relaxation)
    assert solution.ok
    np.testing.assert_allclose(solution.u, reference.u, atol=1e-9)


def test_iteration_limit_is_a_status_with_the_best_iterate():
    problem = random_problem(ridge=0.01)
    solution = solve(problem, "nsgs", max_iterations=3, tolerance=1e-14)
    assert (solution.status.name, solution.iterations) == ("MAX_ITERATIONS", 3)
    assert solution.residuals == judge(problem, solution.r)
    with pytest.raises(SolverFailure, match="max iterations after 3 iterations") as failure:
        solution.or_raise()
    assert failure.value.solution is solution


def test_a_cycle_is_called_a_stall_and_the_best_iterate_comes_back():
    """Two contacts on one skew-coupled pair: the sweeps go round for ever."""
    W = np.array([[1.0, 2.0], [-2.0, 1.0]])
    problem = ContactProblem(W, [-1.0, -1.0], free(1, 1))
    solution = solve(problem, "nsgs", max_iterations=100_000)
    assert solution.status.name in ("STALLED", "NOT_FINITE")
    assert solution.iterations < 5_000
    assert np.isfinite(solution.r).all()


def test_slow_progress_is_not_called_a_stall():
    """An ill-conditioned chain: thousands of sweeps, each a little better."""
    n = 60
    W = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    problem = ContactProblem(W, -np.ones(n), nonnegative(n))
    solution = solve(problem, "nsgs", tolerance=1e-9)
    assert solution.ok
    assert solution.iterations > 2_000


def test_drift_at_constant_residual_is_not_called_a_stall():
    """Impulses that the law does not see grow in a straight line until a contact changes its state."""
    W = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1e-5], [0.0, 1e-5, 1.0]])
    problem = ContactProblem(W, [-1.0, -1.0 - 1e-5, 0.5], nonnegative(2) + free(1))
    solution = solve(problem, "nsgs", tolerance=1e-12, max_iterations=200_000)
    assert solution.status.name != "STALLED"


def test_infinite_data_on_the_way_is_a_status():
    problem = ContactProblem(np.array([[1.0, 1e200], [1e200, 1.0]]), [-1e200, -1e200], free(1, 1))
    solution = solve(problem, "nsgs")
    assert solution.status.name in ("NOT_FINITE", "STALLED")
    assert "NaN" not in repr(solution.r)


def test_history_is_what_was_seen_and_stays_small():
    problem = random_problem(nc=5, ridge=0.01)
    solution = solve(problem, "nsgs", tolerance=1e-12)
    sweep, natural, scaled = solution.history.T
    assert (np.diff(sweep) > 0).all()
    assert sweep[-1] == solution.iterations
    assert max(natural[-1], scaled[-1]) == pytest.approx(solution.residuals.error, rel=1e-6, abs=1e-15)
    assert (
        len(solve(random_problem(ridge=1e-6), "nsgs", tolerance=1e-15, max_iterations=60_000).history) <= 512
    )


def test_progress_reports_do_not_change_the_answer():
    problem, calls = random_problem(ridge=1e-3), []
    solver = NSGS(tolerance=1e-12)
    reported = solver.solve(problem, progress=lambda sweeps, error: calls.append((sweeps, error)))
    assert calls
    assert reported.r.tobytes() == solver.solve(problem).r.tobytes()


def test_hyperstatic_velocities_agree_from_different_starts():
    """r is not unique, u is: two starts, one motion."""
    rng = np.random.default_rng(4)
    H = rng.normal(size=(6, 36))
    problem = GlobalProblem(np.eye(6), rng.normal(size=6), H, np.zeros(36), coulomb(np.full(12, 0.3)))
    first = solve(problem, "nsgs", tolerance=1e-11).or_raise()
    other = solve(problem, "nsgs", tolerance=1e-11, guess=rng.uniform(0, 1, 36)).or_raise()
    np.testing.assert_allclose(first.u, other.u, atol=1e-8)


def test_the_reduced_and_the_global_answer_are_one():
    problem = bodies_in_a_row(coulomb(np.full(8, 0.5)))
    conversion = reduce_to_contacts(problem)
    local, whole = (solve(p, "nsgs", tolerance=1e-11) for p in (conversion.problem, problem))
    np.testing.assert_allclose(conversion.recover(local.r).v, whole.v, atol=1e-9)
