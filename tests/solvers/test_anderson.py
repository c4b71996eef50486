"""Anderson-accelerated Gauss-Seidel: the answers of Gauss-Seidel in fewer sweeps, in both forms."""

import numpy as np
import pytest
from random_problems import MIXED, bodies_in_a_row, random_problem
from recorded import FOLDER, needs_recorded

from stickslip import ContactProblem, coulomb, judge, read, solve
from stickslip.problem import free, nonnegative
from stickslip.solvers.gauss_seidel import Anderson


@pytest.mark.parametrize("K", [coulomb(np.full(8, 0.5)), MIXED], ids=["coulomb", "mixed"])
def test_both_forms_are_one_method(K):
    problem = bodies_in_a_row(K)
    steps = [
        Anderson(form=form, tolerance=1e-13, max_iterations=7).solve(problem)
        for form in ("bodies", "delassus")
    ]
    np.testing.assert_allclose(steps[0].r, steps[1].r, atol=1e-9)
    done = [Anderson(form=form, tolerance=1e-9).solve(problem) for form in ("bodies", "delassus")]
    assert all(s.ok for s in done)
    np.testing.assert_allclose(done[0].v, done[1].v, atol=1e-7)


def test_bodies_form_needs_bodies():
    with pytest.raises(ValueError, match="form='bodies' needs a matrix-free problem"):
        Anderson(form="bodies").solve(random_problem())


def test_a_slow_chain_takes_a_tenth_of_the_sweeps():
    n = 60
    W = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    problem = ContactProblem(W, -np.ones(n), nonnegative(n))
    plain, fast = solve(problem, "nsgs", tolerance=1e-9), solve(problem, solver="anderson", tolerance=1e-9)
    assert fast.ok
    assert fast.iterations < 0.1 * plain.iterations
    np.testing.assert_allclose(fast.r, plain.r, rtol=1e-4)


def test_the_same_in_other_units():
    problem = random_problem(ridge=0.01)
    other = ContactProblem(problem.W.dense() * 1e6, problem.u_free * 1e-3, problem.K)
    first, second = (solve(p, solver="anderson", tolerance=1e-10) for p in (problem, other))
    assert first.ok
    assert second.ok
    np.testing.assert_allclose(second.u, 1e-3 * first.u, atol=1e-10)


@pytest.mark.parametrize("memory", [1, 3, 30])
def test_any_memory(memory):
    problem = random_problem(ridge=0.05)
    solution = solve(problem, solver="anderson", memory=memory, tolerance=1e-11).or_raise()
    np.testing.assert_allclose(solution.u, solve(problem, tolerance=1e-11).u, atol=1e-9)


def test_a_cycle_of_sweeps_is_accelerated_or_called_a_stall():
    W = np.array([[1.0, 2.0], [-2.0, 1.0]])
    problem = ContactProblem(W, [-1.0, -1.0], free(1, 1))
    solution = solve(problem, solver="anderson")
    assert solution.ok  # sweeps alone diverge; the mix of two solves a linear pair
    np.testing.assert_allclose(solution.r, -np.linalg.solve(W, problem.u_free), atol=1e-7)


def test_what_has_no_answer_ends_in_a_status():
    pressed = ContactProblem(np.zeros((3, 3)), [-1.0, 0.0, 0.0], coulomb([0.5]))
    assert solve(pressed, solver="anderson").status.name == "STALLED"
    wide = ContactProblem(np.array([[1.0, 1e200], [1e200, 1.0]]), [-1e200, -1e200], free(1, 1))
    solution = solve(wide, solver="anderson")
    assert solution.status.name in ("NOT_FINITE", "STALLED")
    assert np.isfinite(solution.r).all()


FASTER = {
    "LMGC_100_PR_PerioBox-i00361-60-03000.hdf5": 150,
    "KaplasTower-i1061-4.hdf5.dat": 250,
    "OneObject-i100000-316.hdf5.dat": 150,
}
"""Recorded problems on which sweeps alone take more than a thousand or never arrive: most sweeps here."""


@needs_recorded
@pytest.mark.parametrize("name", FASTER)
def test_recorded_problems_that_are_slow_for_sweeps(name):
    problem = read(FOLDER / "friction" / name)
    solution = solve(problem, solver="anderson", tolerance=1e-10).or_raise()
    assert solution.iterations <= FASTER[name]
    assert judge(problem, solution.r) == solution.residuals
