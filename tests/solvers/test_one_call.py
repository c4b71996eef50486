"""Small problems in one call: certified by the judge, or left to the stages of `auto`."""

import numpy as np
import pytest

from stickslip.kernels.small_contacts import SMALL
from stickslip.problem.box import BoxProblem, lcp, mlcp, relay
from stickslip.problem.contact import ContactProblem
from stickslip.problem.operator import DenseDelassus
from stickslip.problem.residuals import judge
from stickslip.problem.sets import coulomb, free, interval, nonnegative, rolling
from stickslip.solvers.one_call import solve_in_one_call
from stickslip.solvers.registry import make

SETS = {
    "one contact": nonnegative(1),
    "five contacts": nonnegative(5),
    "coulomb in 2D": coulomb([0.3, 0.6], 2),
    "coulomb in 3D": coulomb([0.3, 0.6], 3),
    "rolling": rolling([0.5], [0.1]),
    "mixed": free(2) + interval(-0.3, 0.2) + coulomb([0.5], 3) + nonnegative(1),
}


def in_one_call(problem, tolerance, guess=None):
    """The answer of one call, which must find it."""
    found = solve_in_one_call(problem, None if guess is None else np.asarray(guess, float), tolerance, "auto")
    assert found.solution is not None
    return found.solution


def contact_problem(K, seed=0):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(K.size + 3, K.size))
    return ContactProblem.unchecked(DenseDelassus(H.T @ H), rng.normal(size=K.size), K)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("seed", range(3))
def test_small_contact_problems_are_solved_and_judged(name, seed):
    problem = contact_problem(SETS[name], seed)
    solution = in_one_call(problem, 1e-10, np.full(problem.size, 0.1))
    said = judge(problem, solution.r)
    assert solution.ok
    assert said.solved(1e-10)
    assert solution.residuals == said
    np.testing.assert_allclose(solution.u, problem.velocity(solution.r), atol=1e-13)
    assert not solution.r.flags.writeable


def test_the_guess_does_not_change_the_answer_of_one_contact():
    problem = contact_problem(nonnegative(1), 4)
    answers = [in_one_call(problem, 1e-10, [g]).r for g in (0.0, 5.0, -3.0)]
    assert answers[0] == answers[1] == answers[2]


BOXES = {
    "one diode": lcp([[2.0]], [-3.0]),
    "one diode that blocks": lcp([[2.0]], [3.0]),
    "relay": relay([[2.0, 0.5], [-0.5, 1.0]], [0.4, -3.0]),
    "equations": mlcp([[3.0, 1.0, -0.5], [0.0, 2.0, 1.0], [1.0, -1.0, 4.0]], [-1.0, 2.0, -3.0], [1, 0, 0]),
}


@pytest.mark.parametrize("name", BOXES)
def test_small_box_problems_are_solved_and_judged(name):
    problem = BOXES[name]
    solution = in_one_call(problem, 1e-12, np.zeros(problem.size))
    said = judge(problem, solution.r)
    assert solution.ok
    assert said.solved(1e-12)
    assert solution.residuals == said


def test_large_and_sparse_problems_are_left_as_they_came():
    large = contact_problem(nonnegative(SMALL + 1))
    guess = np.ones(large.size)
    found = solve_in_one_call(large, guess, 1e-10, "auto")
    assert found.solution is None
    np.testing.assert_array_equal(found.guess, guess)
    assert found.tried == ()


def test_problems_without_solution_are_left_to_the_stages():
    wall = lcp([[0.0]], [-1.0])
    closing = ContactProblem.unchecked(DenseDelassus(np.zeros((1, 1))), np.array([-1.0]), nonnegative(1))
    cycle = BoxProblem(np.array([[0.0, 1.0], [-1.0, 0.0]]), [-1.0, -1.0], 0.0, np.inf)
    for problem in (wall, closing, cycle):
        found = solve_in_one_call(problem, None, 1e-10, "auto")
        assert found.solution is None
        assert found.tried


def test_work_in_vain_is_counted():
    closing = ContactProblem(np.zeros((1, 1)), np.array([-1.0]), nonnegative(1))
    first = solve_in_one_call(closing, None, 1e-10, "auto")
    whole = make("auto", tolerance=1e-10).solve(closing)
    assert not whole.ok
    assert whole.tried[0] == first.tried[0]
    assert whole.iterations >= first.tried[0].iterations
