"""The solver of small problems: certified by the judge, or handed on."""

import numpy as np
import pytest

from stickslip.problem.box import BoxProblem, lcp, mlcp, relay
from stickslip.problem.contact import ContactProblem
from stickslip.problem.operator import DenseDelassus
from stickslip.problem.residuals import judge
from stickslip.problem.sets import coulomb, free, interval, nonnegative, rolling
from stickslip.schemes.quick import SMALL, Quick

SETS = {
    "one contact": nonnegative(1),
    "five contacts": nonnegative(5),
    "coulomb in 2D": coulomb([0.3, 0.6], 2),
    "coulomb in 3D": coulomb([0.3, 0.6], 3),
    "rolling": rolling([0.5], [0.1]),
    "mixed": free(2) + interval(-0.3, 0.2) + coulomb([0.5], 3) + nonnegative(1),
}


class Refused:
    """A solver that must not be asked."""

    def solve(self, problem, *, guess=None):
        raise AssertionError


class Asked:
    """A solver that says when it is asked."""

    def __init__(self):
        self.problems = []

    def solve(self, problem, *, guess=None):
        self.problems.append((problem, guess))
        return "handed on"


def contact_problem(K, seed=0):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(K.size + 3, K.size))
    return ContactProblem.unchecked(DenseDelassus(H.T @ H), rng.normal(size=K.size), K)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("seed", range(3))
def test_small_contact_problems_are_solved_and_judged(name, seed):
    problem = contact_problem(SETS[name], seed)
    solution = Quick(Refused(), 1e-10).solve(problem, guess=np.full(problem.size, 0.1))
    said = judge(problem, solution.r)
    assert solution.ok
    assert said.solved(1e-10)
    assert solution.residuals.natural == said.natural
    assert solution.residuals.natural_scaled == said.natural_scaled
    assert solution.residuals.work == said.work
    np.testing.assert_allclose(solution.u, problem.velocity(solution.r), atol=1e-13)
    assert not solution.r.flags.writeable


def test_the_guess_does_not_change_the_answer_of_one_contact():
    problem = contact_problem(nonnegative(1), 4)
    answers = [Quick(Refused(), 1e-10).solve(problem, guess=[g]).r for g in (0.0, 5.0, -3.0)]
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
    solution = Quick(Refused(), 1e-12).solve(problem, guess=np.zeros(problem.size))
    said = judge(problem, solution.r)
    assert solution.ok
    assert said.solved(1e-12)
    for measure in ("natural", "natural_scaled", "impulse", "velocity", "work"):
        assert getattr(solution.residuals, measure) == pytest.approx(getattr(said, measure), abs=1e-15)
    assert solution.residuals.worst == said.worst


def test_what_is_large_or_sparse_is_handed_on_as_it_came():
    asked = Asked()
    large = contact_problem(nonnegative(SMALL + 1))
    guess = np.ones(large.size)
    assert Quick(asked, 1e-10).solve(large, guess=guess) == "handed on"
    assert asked.problems == [(large, guess)]


def test_what_has_no_solution_is_handed_on():
    asked = Asked()
    wall = lcp([[0.0]], [-1.0])
    closing = ContactProblem.unchecked(DenseDelassus(np.zeros((1, 1))), np.array([-1.0]), nonnegative(1))
    cycle = BoxProblem(np.array([[0.0, 1.0], [-1.0, 0.0]]), [-1.0, -1.0], 0.0, np.inf)
    for problem in (wall, closing, cycle):
        Quick(asked, 1e-10).solve(problem)
    assert [problem for problem, _ in asked.problems] == [wall, closing, cycle]
