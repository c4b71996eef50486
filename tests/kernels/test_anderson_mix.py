"""Anderson's mix on a linear map: as exact as theory says, whatever the units, and continued bit for bit."""

import numpy as np
import pytest

from stickslip import ContactProblem, coulomb
from stickslip.kernels import anderson, schedule
from stickslip.problem import free
from stickslip.solvers.gauss_seidel import Anderson, first_look


def linear_problem(n=12, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    return ContactProblem(A @ A.T / n + 0.05 * np.eye(n), rng.normal(size=n), free(*[1] * n))


def test_a_linear_map_is_solved_in_as_many_sweeps_as_it_has_dimensions():
    """Walker & Ni 2011, theorem 2.2: with full memory Anderson is GMRES, done after n + 1 steps."""
    problem = linear_problem()
    solution = Anderson(memory=14, tolerance=1e-9).solve(problem).or_raise()
    assert solution.iterations <= problem.size + 3
    np.testing.assert_allclose(solution.r, -np.linalg.solve(problem.W.dense(), problem.u_free), atol=1e-7)


def test_least_squares_are_those_of_numpy():
    rng = np.random.default_rng(1)
    n, m, held, newest = 30, 6, 5, 2
    columns, weight, f = rng.normal(size=(m, n)), rng.uniform(0.1, 2.0, n), rng.normal(size=n)
    gram = (columns * weight) @ columns.T
    by_age = [(newest - a) % m for a in range(held)]
    rhs, gamma, factor = np.zeros(m), np.zeros(m), np.zeros((m, m))
    rhs[:held] = (columns[by_age] * weight) @ f
    anderson.least_squares(gram, m, held, newest, rhs, factor, gamma)
    root = np.sqrt(weight)
    expected = np.linalg.lstsq((columns[by_age] * root).T, root * f, rcond=None)[0]
    np.testing.assert_allclose(gamma[:held], expected, atol=1e-5)


@pytest.mark.parametrize("copies", [2, 4])
def test_equal_columns_are_shared_and_zero_columns_left_out(copies):
    gram = np.ones((5, 5))
    gram[copies:], gram[:, copies:] = 0.0, 0.0
    rhs, gamma, factor = np.zeros(5), np.zeros(5), np.zeros((5, 5))
    rhs[5 - copies :] = 1.0  # newest at place 4: ages 0.. are places 4, 3, ...
    anderson.least_squares(gram, 5, 5, 4, rhs, factor, gamma)
    assert np.isfinite(gamma).all()
    assert (gamma[: 5 - copies] == 0.0).all()
    assert gamma.sum() == pytest.approx(1.0, abs=1e-4)


def test_a_mix_that_makes_things_worse_is_taken_back():
    memory = anderson.Memory(
        np.ones(2), np.zeros(anderson.SLOTS), np.zeros((3, 3)), np.zeros((9, 2)), np.zeros((5, 3))
    )
    mix = memory.mix
    anderson.begin(mix)
    for x, g in ([0.0, 0.0], [1.0, 0.0]), ([1.0, 0.0], [1.5, 0.0]):
        memory.vectors[6] = x
        anderson.learn(memory, 1.0, np.array(g))
    assert mix[anderson.HELD] == 1
    memory.vectors[6] = [1.7, 0.0]
    r = np.array([9.0, 0.0])
    anderson.learn(memory, 1.0, r)
    assert r.tolist() == [1.5, 0.0]
    assert (mix[anderson.HELD], mix[anderson.RESTARTS]) == (0, 1)


def test_a_run_in_pieces_is_the_same_run():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(60, 60))
    problem = ContactProblem(A @ A.T / 60 + 0.01 * np.eye(60), rng.normal(size=60), coulomb(np.full(20, 0.5)))
    ends = []
    for budgets in ([40.0], [1.0, 7.0, 20.0, 40.0]):
        run = Anderson(memory=5).prepare(problem)
        r, best, control, history = np.zeros(60), np.zeros(60), np.zeros(schedule.SLOTS), np.empty((512, 3))
        control[schedule.STATE], control[schedule.NEXT] = schedule.NEW, first_look(problem, None)
        for budget in budgets:
            run(1e-15, budget, (r, best, control, history))
        ends.append((control[schedule.SWEEPS], r.tobytes()))
    assert ends[0] == ends[1]
