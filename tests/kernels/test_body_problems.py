"""The solver of a step's problem and the judge read the same data, which sweeps do not change."""

import numpy as np
import pytest

from stickslip.kernels import body_measures, body_problems, body_sweeps, residuals, schedule
from stickslip.kernels.cones import Cones
from stickslip.scenes import make


def problem_of(scene):
    problem = make(scene)
    K, H, M = Cones(*problem.K.arrays), problem.H, problem.M
    f = np.array(problem.f).reshape(len(M.matrix), -1)
    return body_measures.BodyProblem(
        K, H.bodies, H.rows, M.matrix, M.inverse_root, f, np.array(problem.u_bias)
    )


@pytest.mark.parametrize("scene", ["wall-problem", "packing-problem"])
def test_sweeps_do_not_change_what_the_judge_measures_against(scene):
    problem = problem_of(scene)
    free = body_measures.unloaded(problem)
    before = [np.array(each) for each in free]
    control, r = np.zeros(schedule.SLOTS), np.zeros(problem.u_bias.size)
    control[schedule.STATE], control[schedule.NEXT], control[schedule.ALLOWED] = schedule.NEW, 1.0, 20.0
    prepare, run = body_sweeps.prepare_coulomb3, body_sweeps.run_coulomb3
    body_problems.sweep(prepare, run, 0, problem, free, 1e-12, 20.0, control, r)
    for old, new in zip(before, free, strict=True):
        assert np.array_equal(old, new)


def test_what_a_solve_tells_is_what_the_judge_says_from_scratch():
    problem = problem_of("wall-problem")
    K, *rest = problem
    guess = np.zeros(problem.u_bias.size)
    r, v, u, told, control, _ = body_problems.solve_coulomb3(tuple(K), *rest, 1e-6, guess)
    assert control[schedule.STATE] == schedule.SOLVED
    measures, equilibrium, again = body_measures.measure(tuple(K), *rest, r, v)
    assert np.array_equal(told[: residuals.MEASURES], measures)
    assert told[residuals.MEASURES] == equilibrium
    assert np.array_equal(u, again)
