"""Cone programs: the judge against closed forms, and what the door refuses."""

import numpy as np
import pytest
import scipy.sparse as sp

from stickslip.problem.checks import ProblemError
from stickslip.problem.program import ConeProgram, judge_program, nearest


def projection(point):
    """min ½|x - point|² over the second-order cone: x - point is the multiplier."""
    n = len(point)
    return ConeProgram(np.eye(n), -np.asarray(point, float), np.eye(n), np.zeros(n), second_order=[n])


@pytest.mark.parametrize("point", [[2.0, 1.0, 0.5], [0.5, 3.0, -4.0], [-9.0, 1.0, 2.0], [0.0, 0.0, 0.0]])
def test_the_projection_onto_a_cone_is_optimal_and_nothing_near_it_is(point):
    program = projection(point)
    x = nearest(program, np.asarray(point, float))
    y = x - point
    assert judge_program(program, x, y).error <= 1e-15
    assert judge_program(program, x + np.array([1e-3, 0.0, 0.0]), y).error >= 1e-6


def test_each_measure_sees_its_own_fault():
    # min ½(x₁² + x₂² + x₃²) with x₁ = 1, x₂ >= 2, (x₃ + 3; 0) in the cone: x = (1, 2, 0), y = (1, 2; 0, 0)
    A = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0, 0, 0]])
    program = ConeProgram(np.eye(3), np.zeros(3), A, [-1.0, -2.0, 3.0, 0.0], 1, 1, [2])  # type: ignore
    x, y = np.array([1.0, 2.0, 0.0]), np.array([1.0, 2.0, 0.0, 0.0])
    assert judge_program(program, x, y).error == 0.0
    assert judge_program(program, [1.1, 2.0, 0.0], y).primal == pytest.approx(0.1 / 3.0)
    assert judge_program(program, [1.0, 1.9, 0.0], y).primal == pytest.approx(0.1 / 3.0)
    assert judge_program(program, x, [1.0, 2.2, 0.0, 0.0]).stationarity == pytest.approx(0.2 / 2.2)
    assert judge_program(program, x, [-1.0, 2.0, 0.0, 0.0]).dual == 0.0, "multipliers of equations are free"
    assert judge_program(program, x, [1.0, -2.0, 0.0, 0.0]).dual == pytest.approx(1.0)
    assert judge_program(program, x, [1.0, 2.0, 0.0, 1.0]).dual == pytest.approx(0.25)
    assert judge_program(program, x, [1.0, 2.0, 1.0, 0.0]).gap > 0.3
    assert program.objective(x) == 2.5
    assert repr(program) == "ConeProgram(3 unknowns, 4 rows: 1 zero, 1 nonnegative, 1 second-order cones)"


def test_an_answer_of_zero_is_judged_by_the_size_it_could_have_had():
    program = projection([-3.0, 1.0, 1.0])
    assert judge_program(program, [-1e-9, 0.0, 0.0], [3.0, -1.0, -1.0]).error <= 1e-9
    inside = projection([3.0, 1.0, 1.0])
    assert judge_program(inside, [3.0, 1.0, 1.0], [-1e-9, 0.0, 0.0]).error <= 1e-9


def test_the_judge_does_not_depend_on_units():
    rng = np.random.default_rng(0)
    program = projection([0.5, 3.0, -4.0])
    x, y = rng.normal(size=3), rng.normal(size=3)
    big = ConeProgram(1e6 * np.eye(3), 1e9 * program.c, 1e2 * np.eye(3), np.zeros(3), second_order=[3])
    first, second = judge_program(program, x, y), judge_program(big, 1e3 * x, 1e7 * y)
    assert first.primal == pytest.approx(second.primal)
    assert first.stationarity == pytest.approx(second.stationarity)
    assert first.dual == pytest.approx(second.dual)
    assert first.gap == pytest.approx(second.gap)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"P": np.eye(2)}, r"P has shape \(2, 2\), expected \(3, 3\)"),
        ({"P": [[1.0, 2, 0], [0, 1, 0], [0, 0, 1]]}, "P is not symmetric: entries differ by 2"),
        ({"A": sp.eye_array(4)}, r"A has shape \(4, 4\), expected \(3, 3\)"),
        ({"c": [1.0, np.nan, 0.0]}, r"c is not finite: entry \(1,\) is nan"),
        ({"second_order": [2]}, "the cones have 2 rows in all, but A and b have 3"),
        ({"second_order": [3, 0]}, r"second-order cones have sizes \[3, 0\]; each must be a whole number"),
        ({"zero": -1}, "zero is -1; it must be an integer, 0 or more"),
    ],
)
def test_a_program_that_does_not_fit_together_is_refused(change, message):
    with pytest.raises(ProblemError, match=message):
        projection([1.0, 2.0, 3.0]).with_(**change)
