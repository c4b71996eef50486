"""NonlinearProblem: what it accepts, what it refuses, its Jacobian's check, and the judge's word on it."""

import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss
from stickslip.problem.nonlinear import box_as_nonlinear


def cubic(jacobian=None):
    """0 <= z ⟂ z³ - 8 >= 0, solved by z = 2."""
    return ss.problem.NonlinearProblem(
        lambda z: z**3 - 8.0, jacobian or (lambda z: np.diag(3.0 * z**2)), [0.0], [np.inf]
    )


def test_a_right_jacobian_passes_its_check_dense_or_sparse():
    assert cubic().check_jacobian([1.3]).error < 1e-8
    assert cubic(lambda z: sp.diags_array(3.0 * z**2)).check_jacobian([1.3]).error < 1e-8


def test_a_wrong_jacobian_is_found_where_it_is():
    def F(z):
        return np.array([z[0] * z[1], z[1] ** 2, z[2]])

    def J(z):
        return np.array([[z[1], z[0], 0.0], [0.0, z[1], 0.0], [0.0, 0.0, 1.0]])  # 2 z_1 in the middle

    found = ss.problem.NonlinearProblem(F, J, np.zeros(3), np.full(3, np.inf)).check_jacobian([1.0, 5.0, 2.0])
    assert (found.row, found.column) == (1, 1)
    assert found.error == pytest.approx(1.0, rel=1e-6)
    assert "row 1, column 1: 5 given, 10 by differences" in str(found)


def test_what_is_wrong_is_named():
    with pytest.raises(ss.ProblemError, match=r"bounds of angle are \[2\.0, 1\.0\]"):
        ss.problem.NonlinearProblem(
            lambda z: z, lambda z: np.eye(2), [0.0, 2.0], [1.0, 1.0], names=("x", "angle")
        )
    with pytest.raises(ss.ProblemError, match="names has 1 entries, expected 2"):
        ss.problem.NonlinearProblem(lambda z: z, lambda z: np.eye(2), [0.0, 0.0], 1.0, names=("x",))
    with pytest.raises(ss.ProblemError, match="residual is ndarray, expected a function of z"):
        ss.problem.NonlinearProblem(np.zeros(1), lambda z: np.eye(1), [0.0], [1.0])
    wrong = ss.problem.NonlinearProblem(lambda z: z[:1], lambda z: np.eye(3), [0.0, 0.0], 1.0)
    with pytest.raises(ss.ProblemError, match=r"residual gives float64 of shape \(1,\), expected \(2,\)"):
        wrong.value(np.zeros(2))
    with pytest.raises(ss.ProblemError, match=r"Jacobian has shape \(3, 3\), expected \(2, 2\)"):
        wrong.slope(np.zeros(2))
    with pytest.raises(ss.ProblemError, match="z has shape"):
        wrong.value(np.zeros(3))


def test_the_reference_point_must_have_a_finite_residual():
    def F(z):
        with np.errstate(divide="ignore"):
            return np.log(z)

    problem = ss.problem.NonlinearProblem(F, lambda z: np.diag(1.0 / z), [0.0], [np.inf], names=("ratio",))
    with pytest.raises(
        ss.ProblemError, match="F is -inf for ratio at the reference point; give a `reference`"
    ):
        ss.judge(problem, [1.0])
    given = ss.problem.NonlinearProblem(F, lambda z: np.diag(1.0 / z), [0.0], [np.inf], reference=[2.0])
    assert ss.judge(given, [1.0]).natural == 0.0
    assert ss.solve(given, "mcp", tolerance=1e-12).r[0] == pytest.approx(1.0, abs=1e-12)


def test_the_judge_measures_an_affine_one_as_a_box_problem():
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(5, 5)), 7.0 * rng.normal(size=5)
    lower = np.array([0.0, -np.inf, -1.0, 0.5, -np.inf])
    upper = np.array([np.inf, np.inf, 1.0, 2.0, 0.0])
    box = ss.BoxProblem(A, b, lower, upper)
    nonlinear = box_as_nonlinear(box)
    for _ in range(5):
        z = rng.normal(size=5)
        one, other = ss.judge(box, z), ss.judge(nonlinear, z)
        assert one.natural == other.natural == other.natural_scaled
        assert one.impulse == other.impulse
        # A z is summed in another order.
        assert (one.velocity, one.work) == pytest.approx((other.velocity, other.work), rel=1e-14)


def test_the_judge_says_nan_where_the_residual_does():
    problem = ss.problem.NonlinearProblem(lambda z: np.sqrt(1.0 - z), lambda z: np.eye(1), [0.0], [9.0])
    assert np.isnan(ss.judge(problem, [5.0]).natural)
    assert not ss.judge(problem, [5.0]).solved(0.5)


def test_other_solvers_say_that_they_do_not_take_it():
    for name in ("auto", "nsgs", "ipm", "s-loop"):
        with pytest.raises(ss.ProblemError, match=f"{name} does not take a NonlinearProblem; mcp does"):
            ss.solve(cubic(), name)


def test_its_solution_prints_well():
    solution = ss.solve(cubic(), "mcp")
    shown = repr(solution)
    assert "mcp: SOLVED" in shown
    assert "NonlinearProblem(1 unknowns, 0 of them free)" in shown
    assert "1 touching" in shown
    assert solution.contact_impulses.shape == (1, 1)
    assert repr(cubic()) == "NonlinearProblem(1 unknowns, 0 of them free)"
