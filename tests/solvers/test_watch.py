"""The watch: looks, best iterate, stall, limit, and what it says of relaxed answers."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.solvers.watch import LONGEST_GAP, Watch

SLIDING = ss.ContactProblem(np.eye(3), [-1.0, 2.0, 0.0], ss.coulomb([0.5]))
ANSWER = np.array([1.0, -0.5, 0.0])
RELAXED = np.array([1.6, -0.8, 0.0])
"""N = (1 + mu 2) / (1 + mu²) of the relaxation, on the cone."""


def test_it_keeps_the_best_and_stops_when_solved():
    with Watch(SLIDING, 1e-8, 100) as watch:
        watch.look(ANSWER + 0.1, 0)
        watch.look(ANSWER + 0.5)
        assert watch.goes_on
        np.testing.assert_array_equal(watch.best, ANSWER + 0.1)
        watch.look(ANSWER)
        assert not watch.goes_on
    attempt = watch.attempt()
    assert attempt.status is ss.Status.SOLVED
    assert attempt.iterations == 2
    assert attempt.history.shape == (3, 3)
    np.testing.assert_array_equal(attempt.r, ANSWER)


def test_gaps_grow_and_keep_the_limit():
    with Watch(SLIDING, 1e-8, 1000) as watch:
        gaps = []
        while watch.goes_on:
            gaps.append(watch.gap)
            watch.look(ANSWER + 0.1, watch.gap)
    assert gaps[:4] == [1, 1, 1, 1]
    assert max(gaps) == LONGEST_GAP
    assert sum(gaps) == 1000
    assert watch.attempt().status is ss.Status.MAX_ITERATIONS


def test_a_stall_is_a_number_of_iterations_without_halving():
    with Watch(SLIDING, 1e-8, 1000, patience=10) as watch:
        while watch.goes_on:
            watch.look(ANSWER + 0.1)
    assert watch.attempt().status is ss.Status.STALLED
    assert watch.iterations == 11


def test_what_is_not_finite_ends_it_without_a_warning():
    with Watch(SLIDING, 1e-8, 1000) as watch:
        watch.look(np.array([1e300, 1e300, 0.0]) * 1e10)
    attempt = watch.attempt()
    assert attempt.status is ss.Status.NOT_FINITE
    np.testing.assert_array_equal(attempt.r, np.zeros(3))


def test_relaxed_answers_are_called_relaxed():
    with Watch(SLIDING, 1e-8, 10, relaxed=True) as watch:
        assert watch.look(RELAXED) <= 1e-15
    assert watch.attempt().status is ss.Status.RELAXED
    assert ss.judge(SLIDING, RELAXED).natural > 0.1
    plain = ss.problem.lcp([[1.0]], [-1.0])
    with Watch(
        ss.ContactProblem(np.eye(1), [-1.0], ss.problem.nonnegative(1)), 1e-8, 10, relaxed=True
    ) as watch:
        watch.look(np.ones(1))
    assert watch.attempt().status is ss.Status.SOLVED, "without friction there is nothing to relax"
    assert ss.solve(plain, "apgd").ok


def test_a_relaxed_answer_that_is_nearly_exact_goes_on():
    """A block that sticks: the two laws agree, and the exact one is only a little behind."""
    sticking = ss.ContactProblem(np.eye(3), [-1.0, 0.2, 0.0], ss.coulomb([0.5]))
    answer = np.array([1.0, -0.2, 0.0])
    off = answer + np.array([0.0, 0.99e-8, 0.0])
    exact, relaxed = ss.judge(sticking, off), ss.judge(sticking, off, relaxed=True)
    assert relaxed.error < exact.error
    with Watch(sticking, (relaxed.error * exact.error) ** 0.5, 10, relaxed=True) as watch:
        watch.look(off)
        assert watch.goes_on
        watch.look(answer)
        assert not watch.goes_on
    assert watch.attempt().status.name == "RELAXED"
    with Watch(sticking, (relaxed.error * exact.error) ** 0.5, 1, relaxed=True) as watch:
        watch.look(off)
    assert watch.attempt().status is ss.Status.RELAXED, "the limit came first"
    with pytest.raises(ss.SolverFailure, match="convex relaxation"):
        ss.solve(SLIDING, "apgd").or_raise()
