"""Inputs that once gave a wrong answer, or might: never SOLVED unless it is."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss
from stickslip.problem.convert import reduce_to_contacts
from stickslip.problem.operator import BodyDelassus

ONE = ss.coulomb([0.5])


@pytest.mark.parametrize("scale", [1e160, 1e-163, 1e300, 1e-300])
def test_numbers_whose_squares_vanish_or_overflow_are_not_certified(scale):
    problem = ss.ContactProblem(np.eye(3), [-scale, scale, 0.0], ONE)
    assert ss.solve(problem).status.name == "NOT_FINITE"
    assert not ss.judge(problem, np.zeros(3)).solved(0.5)
    stiff = ss.ContactProblem((np.eye(3) + 0.1) * 1e200, [-1.0, 1.0, 0.0], ONE)
    assert ss.solve(stiff).status.name == "NOT_FINITE"


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_far_scales_are_still_solved(scale):
    problem = ss.ContactProblem(np.eye(3) + 0.1, [-scale, scale, 0.0], ONE)
    assert ss.solve(problem, tolerance=1e-12).ok


@pytest.mark.parametrize(
    "K", [ss.problem.nonnegative(2), ss.coulomb([0.3, 0.3])], ids=["frictionless", "friction"]
)
@pytest.mark.parametrize("tolerance", [1e-3, 1e-4])
def test_a_body_between_closing_walls_has_no_solution(K, tolerance):
    """u_1 + u_2 = -2 for every r: impulses grow, the maps go to zero, the walls close all the same."""
    H = np.array([[1.0, -1.0]]) if K.dimension == 1 else np.array([[1.0, 0, 0, -1.0, 0, 0]])
    bias = np.zeros(K.size)
    bias[[0, K.size // 2]] = -1.0
    problem = ss.GlobalProblem(np.eye(1), [0.0], H, bias, K)
    solution = ss.solve(problem, tolerance=tolerance)
    assert solution.status.name == "INFEASIBLE"
    assert ss.problem.check_certificate(problem, solution.certificate).accepted
    local = reduce_to_contacts(problem).problem
    assert ss.solve(local, tolerance=tolerance).status.name == "INFEASIBLE"
    swept = ss.solve(problem, "nsgs", tolerance=tolerance)
    assert "no solution" in swept.reason or swept.status.name == "MAX_ITERATIONS"
    assert swept.residuals.approach > 0.5
    assert "closing 2.00e+00 of V" in repr(swept)


def test_contacts_of_a_mechanism_with_one_freedom():
    """W of rank one: the tangential part is rounding, and must not be divided by."""
    for seed in range(300):
        j = np.random.default_rng(seed).normal(size=3)
        problem = ss.ContactProblem(np.outer(j, j), -0.6 * j * np.sign(j[0]), ss.coulomb([1.0]))
        assert ss.solve(problem).ok, seed


def test_redundant_joints_are_told_from_contradicting_ones():
    for seed in (542, 560, 1, 2, 3):
        rng = np.random.default_rng(seed)
        nv, rank = rng.integers(8, 30), rng.integers(1, 4)
        p = rank + rng.integers(1, 10)
        A = rng.normal(size=(nv, nv))
        M = A @ A.T + np.eye(nv) * 10.0 ** rng.uniform(-2, 2)
        G = rng.normal(size=(nv, rank)) @ rng.normal(size=(rank, p))
        f, H, v = M @ rng.normal(size=nv), rng.normal(size=(nv, 3)), rng.normal(size=nv)
        problem = ss.GlobalProblem(M, f, H, np.zeros(3), ss.coulomb([0.4]), G=G, g_bias=-G.T @ v)
        assert ss.solve(problem).ok, seed


def test_a_jammed_contact_of_three_groups_is_not_called_solved():
    rng = np.random.default_rng(42)
    mu, rank = rng.uniform(0, 1, 3), int(rng.integers(1, 7))
    A, q = rng.normal(size=(7, rank)), rng.normal(size=7)
    q[0] = -abs(q[0])
    solution = ss.solve(ss.ContactProblem(A @ A.T, q, ss.problem.friction((1, 3, 2), [mu])))
    assert solution.status.name in ("STALLED", "MAX_ITERATIONS")


def test_small_units_do_not_make_a_box_problem_solved():
    problem = ss.problem.lcp(1e-9 * np.array([[2, 1.9], [1.9, 2]]), [-1e-9, -1e-9])
    assert not ss.judge(problem, [0.0, 0.0]).solved(1e-8)
    np.testing.assert_allclose(ss.solve(problem, tolerance=1e-10).or_raise().r, 1 / 3.9, rtol=1e-8)


@pytest.mark.parametrize("guess", [[np.nan] * 3, [np.inf, 0.0, 0.0]])
def test_a_guess_that_is_not_finite_is_refused(guess):
    with pytest.raises(ss.ProblemError, match="guess is not finite"):
        ss.solve(ss.ContactProblem(np.eye(3), [-1.0, 0.0, 0.0], ONE), guess=guess)


def test_an_operator_over_other_blocks_is_refused():
    K = ss.coulomb([0.5, 0.5])
    H = ss.problem.contact_blocks([[0, -1], [0, -1]], np.ones((6, 2, 6)), K)
    problem = reduce_to_contacts(ss.GlobalProblem(np.eye(6)[None], np.ones(6), H, np.zeros(6), K)).problem
    with pytest.raises(ss.ProblemError, match="block sizes that differ"):
        dataclasses.replace(problem, K=ss.problem.nonnegative(6))
    for change, text in (
        ({"bodies": np.array([[0, -1]])}, "inconsistent contact blocks"),
        ({"bodies": np.array([[0, -3], [0, -1]])}, "names a body -3"),
        ({"rows": np.full((6, 2, 6), np.nan)}, "not finite"),
        ({"rows": np.zeros((6, 2, 0))}, "without velocities"),
    ):
        with pytest.raises(ss.ProblemError, match=text):
            ss.GlobalProblem(np.eye(6), np.ones(6), dataclasses.replace(H, **change), np.zeros(6), K)


def test_sparse_input_is_copied_and_checked():
    A = sp.csr_array(2.0 * np.eye(3))
    box, K = ss.problem.lcp(A, [-1.0, -1.0, -1.0]), ss.coulomb([0.5])
    whole = ss.GlobalProblem(A, [-1.0, 1.0, 0.0], A, np.zeros(3), K)
    before = ss.fingerprint(box), ss.fingerprint(whole)
    A.data[:] = np.nan
    assert (ss.fingerprint(box), ss.fingerprint(whole)) == before
    for name, value in (("A", 1j * np.eye(3)), ("A", np.diag([np.inf, 1.0, 1.0]))):
        with pytest.raises(ss.ProblemError, match=name):
            ss.problem.lcp(sp.csr_array(value), np.zeros(3))
    twice = sp.coo_array(([1e308, 1e308], ([0, 0], [0, 0])), shape=(3, 3))
    with np.errstate(over="ignore"), pytest.raises(ss.ProblemError, match="W is not finite"):
        ss.ContactProblem(twice, np.zeros(3), K)


def test_different_operators_have_different_fingerprints():
    rows = np.stack([2 * np.eye(3), 0 * np.eye(3)], 1)
    bodies = BodyDelassus(ONE.offset, np.array([[0, -1]]), rows, 1)
    free_form, dense = (
        ss.ContactProblem(bodies, [-1, 1, 0], ONE),
        ss.ContactProblem(2 * np.eye(3), [-1, 1, 0], ONE),
    )
    assert ss.fingerprint(free_form) != ss.fingerprint(dense)


def test_numbers_of_numpy_are_options_and_other_things_are_no_problem():
    problem = ss.ContactProblem(np.eye(3), [-1.0, 0.0, 0.0], ONE)
    assert ss.solve(problem, tolerance=np.float32(1e-3), max_iterations=np.int64(5)).ok
    with pytest.raises(TypeError, match="a problem is needed, not int"):
        ss.solve(3)
    empty = ss.solve(ss.ContactProblem(np.zeros((0, 0)), [], ss.coulomb([])))
    assert len(empty.contact_impulses) == 0


WALLS = np.array([[1.0, -1.0], [-1.0, 1.0]])
CONTRADICTIONS = {
    "free, W = 0": (np.zeros((1, 1)), [1.0], ss.problem.free(1)),
    "free, rank one": (np.ones((2, 2)), [1.0, -1.0], ss.problem.free(2)),
    "closing walls as intervals": (WALLS, [-1.0, -1.0], ss.problem.interval([0.0, 0.0], [np.inf, np.inf])),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_impulses_that_outgrow_a_contradiction_do_not_solve_it(case):
    """u = u_free whatever r (or u_1 + u_2 = -2), and |u| = |u_free| where it should be 0 or not negative."""
    assert not ss.solve(ss.ContactProblem(*CONTRADICTIONS[case])).ok
