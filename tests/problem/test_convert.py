"""Conversions in pairs: the recovered answer solves the original equations."""

import numpy as np
import pytest
import scipy.sparse as sp
from closed_forms import KNOWN

from stickslip import BoxProblem, ContactProblem, GlobalProblem, ProblemError, coulomb, judge, solve
from stickslip.problem import contact_blocks, free, interval, nonnegative, rolling
from stickslip.problem.convert import box_to_contacts, contacts_to_box, reduce_to_contacts, rescale, unit_free


def jointed(seed=0, redundant=False, blocks=False):
    """Five bodies in a chain of joints, random contacts."""
    rng = np.random.default_rng(seed)
    nv, nc, p = 30, 6, 8
    A = rng.normal(size=(nv, nv))
    M = A @ A.T / nv + np.eye(nv)
    G = rng.normal(size=(nv, p))
    if redundant:
        G = np.concatenate([G, G[:, :2] + G[:, 2:4]], axis=1)
    if blocks:
        M, G = np.eye(nv), sp.block_diag([rng.normal(size=(15, 3)), rng.normal(size=(15, 2))])
    bias = G.T @ rng.normal(size=nv)
    return GlobalProblem(
        M,
        rng.normal(size=nv),
        rng.normal(size=(nv, 3 * nc)),
        rng.normal(size=3 * nc) * 0.1,
        coulomb(np.full(nc, 0.4)),
        G,
        bias,
    )


@pytest.mark.parametrize("joints", ["eliminate", "blocks"])
@pytest.mark.parametrize("redundant", [False, True])
def test_joints_hold_in_both_ways_of_reducing(joints, redundant):
    problem = jointed(redundant=redundant)
    conversion = reduce_to_contacts(problem, joints=joints)
    answer = conversion.recover(solve(conversion.problem, tolerance=1e-12).or_raise().r)
    residuals = judge(problem, answer.r, answer.v, answer.lam)
    assert residuals.error <= 1e-10
    M, v = problem.M.sparse.toarray(), answer.v
    H, G = problem.H_sparse().toarray(), problem.G_sparse().toarray()
    np.testing.assert_allclose(M @ v, problem.f + H @ answer.r + G @ answer.lam, atol=1e-9)
    np.testing.assert_allclose(G.T @ v + problem.g_bias, 0.0, atol=1e-9)


def test_both_ways_give_one_motion_and_uncoupled_joints_make_separate_blocks():
    problem = jointed(blocks=True)
    ways = [reduce_to_contacts(problem, joints=j) for j in ("eliminate", "blocks")]
    assert ways[1].problem.K.census == {"free": 2, "coulomb3d": 6}
    motions = [w.recover(solve(w.problem, tolerance=1e-12).or_raise().r).v for w in ways]
    np.testing.assert_allclose(motions[0], motions[1], atol=1e-9)
    assert ways[1].guess(np.ones(18)).size == 23


def test_matrix_free_joints_are_blocks_of_the_same_problem():
    """A pendulum of two bodies on a ball joint, over the ground."""
    rng = np.random.default_rng(1)
    K, KG = coulomb([0.5, 0.5]), free(3)
    M = np.tile(np.diag([1.0, 1.0, 1.0, 0.1, 0.1, 0.1]), (2, 1, 1))
    H = contact_blocks([[0, -1], [1, -1]], rng.normal(size=(6, 2, 6)), K)
    G = contact_blocks([[0, 1]], rng.normal(size=(3, 2, 6)), KG)
    f = rng.normal(size=12)
    problem = GlobalProblem(M, f, H, np.zeros(6), K, G, np.zeros(3))
    assert problem.is_matrix_free
    free_form = solve(problem, tolerance=1e-12).or_raise()
    plain = GlobalProblem(
        problem.M.sparse, f, problem.H_sparse(), np.zeros(6), K, problem.G_sparse(), np.zeros(3)
    )
    np.testing.assert_allclose(free_form.v, solve(plain, tolerance=1e-12).or_raise().v, atol=1e-9)
    assert free_form.lam.shape == (3,)


def test_contradicting_joints_are_refused():
    G = np.array([[1.0, 1.0], [0.0, 0.0]])
    problem = GlobalProblem(
        np.eye(2), [0.0, 0.0], np.zeros((2, 3)), np.zeros(3), coulomb([0.1]), G, [0.0, 1.0]
    )
    with pytest.raises(ProblemError, match="bilateral constraints contradict each other"):
        reduce_to_contacts(problem)
    with pytest.raises(ProblemError, match="joints is 'weld'"):
        reduce_to_contacts(problem, joints="weld")


def test_reduction_is_the_textbook_formula():
    problem = KNOWN["table with four legs"].problem
    reduced = reduce_to_contacts(problem).problem
    M, H = problem.M.sparse.toarray(), problem.H_sparse().toarray()
    np.testing.assert_allclose(reduced.W.dense(), H.T @ np.linalg.solve(M, H), atol=1e-13)
    np.testing.assert_allclose(reduced.u_free, H.T @ np.linalg.solve(M, problem.f), atol=1e-15)


def test_boxes_and_contacts_without_friction_are_one():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    lower = np.array([-np.inf, 0.0, -1.0, 0.0, -np.inf, 0.5])
    upper = np.array([np.inf, np.inf, 1.0, 0.0, 2.0, np.inf])
    box = BoxProblem(A @ A.T + np.eye(6), rng.normal(size=6), lower, upper)
    there = box_to_contacts(box)
    assert there.problem.K.census == {"nonnegative": 1, "interval": 4}
    z = there.recover(solve(there.problem, tolerance=1e-12).or_raise().r).r
    assert judge(box, z).error <= 1e-11
    np.testing.assert_allclose(there.recover(there.guess(z)).r, z, atol=1e-12)
    back = contacts_to_box(there.problem)
    assert judge(back.problem, there.guess(z)).error <= 1e-11
    np.testing.assert_allclose(solve(box, tolerance=1e-12).or_raise().r, z, atol=1e-10)


def test_equations_that_do_not_determine_their_unknowns_stay_as_a_block():
    A = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])
    box = BoxProblem(A, [-1.0, -2.0, 3.0], [-np.inf, -np.inf, 0.0], np.full(3, np.inf))
    there = box_to_contacts(box)
    assert there.problem.K.census == {"free": 1, "nonnegative": 1}
    z = np.array([4.0, 2.0, 1.0])
    assert judge(box, z).error == 0.0
    assert judge(there.problem, there.guess(z)).error <= 1e-15
    assert (there.recover(there.guess(z)).r == z).all()


def test_friction_does_not_fit_into_a_box():
    problem = ContactProblem(np.eye(4), np.zeros(4), nonnegative(1) + coulomb([0.5]))
    with pytest.raises(
        ProblemError, match="contact 1 is coulomb3d: a box problem cannot contain friction cones"
    ):
        contacts_to_box(problem)


@pytest.mark.parametrize(
    "case", ["slide", "coupled slip", "sliding and rolling", "spinning top", "mixed blocks"]
)
def test_other_units_same_answer(case):
    known = KNOWN[case]
    change = rescale(known.problem, impulse=1e-3, velocity=1e2, length=1e-3)
    answer = change.recover(solve(change.problem, tolerance=1e-13).or_raise().r)
    np.testing.assert_allclose(answer.r, known.r, atol=1e-10)
    with pytest.raises(ProblemError, match="length is 0"):
        rescale(known.problem, 1.0, 1.0, 0)


def test_intervals_keep_their_meaning_under_rescaling():
    problem = ContactProblem([[1.0]], [-5.0], interval([-1.0], [2.0]))
    assert rescale(problem, impulse=10.0, velocity=1.0).problem.K.upper[0] == pytest.approx(0.2)


def test_a_problem_in_its_own_units_is_the_same_problem():
    """Mean diagonal 1, the same judgement, whatever form W has."""
    rng = np.random.default_rng(3)
    K = coulomb([0.3, 0.5]) + nonnegative(1) + interval([-2.0], [5.0]) + free(2) + rolling([0.4], [0.02])
    A = rng.normal(size=(K.size, K.size)) * 10.0 ** rng.uniform(-2, 2, K.size)[:, None]
    dense = ContactProblem(A @ A.T, rng.normal(size=K.size), K)
    for problem in (dense, ContactProblem(sp.csr_array(A @ A.T), dense.u_free, K)):
        own = unit_free(problem)
        diagonal = own.problem.W.diagonal()
        assert diagonal[:3].mean() == pytest.approx(1.0)
        assert diagonal[6] == pytest.approx(1.0)
        assert diagonal[-2:].mean() == pytest.approx(1.0), "rolling has a length of its own"
        z = rng.normal(size=K.size)
        r = own.recover(z).r
        np.testing.assert_allclose(own.guess(r), z)
        u, y = problem.velocity(r), own.problem.velocity(z)
        assert r @ u == pytest.approx(z @ y), "work is the same"
        scaled = judge(own.problem, z)
        assert scaled.natural == pytest.approx(scaled.natural_scaled), "one measure is left"


def test_own_units_of_a_matrix_free_problem():
    K = coulomb([0.3, 0.5])
    rows = np.random.default_rng(0).normal(size=(6, 2, 6))
    H = contact_blocks([[0, -1], [1, 0]], rows, K)
    problem = reduce_to_contacts(
        GlobalProblem(np.tile(3.0 * np.eye(6), (2, 1, 1)), np.ones(12), H, np.zeros(6), K)
    ).problem
    own = unit_free(problem)
    blocks = unit_free(ContactProblem(problem.W.dense(), problem.u_free, K))
    np.testing.assert_allclose(own.problem.W.dense(), blocks.problem.W.dense(), atol=1e-14)
    np.testing.assert_allclose(own.problem.u_free, blocks.problem.u_free, atol=1e-14)
