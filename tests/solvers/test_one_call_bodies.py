"""Contacts of bodies in one call: answers of other solvers, certified, or left to the stages of `auto`."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.problem import free, friction, interval, nonnegative, rolling, torsional
from stickslip.solvers.one_call import solve_in_one_call


def in_one_call(problem, tolerance, guess=None):
    """The answer of one call, which must find it."""
    start = np.zeros(problem.size) if guess is None else guess
    found = solve_in_one_call(problem, start, tolerance, "auto")
    assert found.solution is not None
    return found.solution


def mixture(kinds, seed=0):
    """Bodies tied and touching at random, pressed together."""
    rng = np.random.default_rng(seed)
    count, K = 4, {
        "coulomb": ss.coulomb(np.full(5, 0.4)),
        "all": ss.coulomb([0.3, 0.6]) + free(1, 5) + rolling([0.5], [0.05]) + interval([-0.2], [0.2])
        + friction((2, 2, 1), [[0.4, 0.02, 0.03]]) + nonnegative(1) + torsional([0.5], [0.1]),
    }[kinds]  # fmt: skip
    first = np.arange(len(K)) % count
    second = np.where(np.arange(len(K)) % 3 == 0, -1, (first + 1) % count)
    rows = rng.normal(size=(K.size, 2, 6))
    M = np.array([np.diag([2.0, 2.0, 2.0, 0.3, 0.4, 0.5])] * count)
    H = ss.problem.contact_blocks(np.stack([first, second], axis=1), rows, K)
    return ss.GlobalProblem(M, rng.normal(size=6 * count), H, np.zeros(K.size), K)


@pytest.mark.parametrize("kinds", ["coulomb", "all"])
def test_sweeps_give_the_answer_of_the_general_solver(kinds):
    problem = mixture(kinds)
    quick = in_one_call(problem, 1e-9)
    general = ss.solve(problem, "prox", tolerance=1e-11)
    assert quick.ok
    assert general.ok
    assert ss.judge(problem, quick.r, quick.v).solved(1e-9)
    np.testing.assert_allclose(quick.v, general.v, atol=1e-7 * np.abs(general.v).max())
    again = in_one_call(problem, 1e-4, quick.r)
    assert again.iterations == 0  # it is better than asked for by far
    np.testing.assert_allclose(again.r, quick.r, atol=1e-9 * np.abs(quick.r).max())  # put back on the cone


def test_an_answer_that_is_barely_good_enough_is_made_better():
    """Taken as it stands in every step of bodies at rest, its error would add up in their velocities."""
    problem = mixture("coulomb")
    rough = in_one_call(problem, 1e-4)
    barely = 1.5 * rough.residuals.error
    again = in_one_call(problem, barely, rough.r)
    assert again.iterations > 0
    assert again.residuals.error <= 0.1 * barely


@pytest.mark.parametrize(("h", "size"), [(1e-2, (1, 1, 1)), (1e-3, (1, 1, 1)), (5e-3, (0.01, 0.02, 0.01))])
def test_a_box_that_slides_and_stops_takes_few_sweeps(h, size):
    """At rest its last impulses are the answer: no sweeps, or the few that take back what a step has left."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    b.body("box", ss.Cuboid(size), position=(0, 0, size[2] / 2), velocity=(2 * size[0], 0, 0))
    run = ss.simulate(b.build(), until=max(0.5, 60 * h), h=h)
    rests = run.t > 2 * size[0] / (0.5 * 9.81) + 10 * h
    assert run.iterations[rests].mean() <= 4
    assert run.iterations.sum() <= 6 * run.steps
    assert np.abs(run.v[rests]).max() <= 1e-9


def test_the_stages_go_on_from_the_best_of_the_sweeps():
    problem = mixture("coulomb")
    closing = ss.GlobalProblem(
        problem.M, problem.f,
        ss.problem.contact_blocks([[0, -1]] * 2, np.stack([WALL, -WALL]).reshape(6, 2, 6),
        ss.coulomb([0.5, 0.5])), np.array([-1.0, 0, 0, -1.0, 0, 0]), ss.coulomb([0.5, 0.5]),
    )  # fmt: skip
    found = solve_in_one_call(closing, np.zeros(6), 1e-9, "auto")
    assert found.solution is None
    assert found.guess is None or np.isfinite(found.guess).all()


WALL = np.stack([np.eye(6)[:3], np.zeros((3, 6))], axis=1)
"""Rows of a contact between a body and something fixed."""
