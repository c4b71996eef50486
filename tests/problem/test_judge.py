"""The judge: zero on answers, not zero on anything else, and the same in any unit."""

import numpy as np
import pytest
from closed_forms import KNOWN
from hypothesis import given
from hypothesis import strategies as st

from stickslip import BoxProblem, ContactProblem, GlobalProblem, coulomb, judge
from stickslip.problem import free, interval, lcp, nonnegative, rolling, torsional
from stickslip.problem.convert import rescale

LOCAL = [
    name for name, known in KNOWN.items() if known.r is not None and isinstance(known.problem, ContactProblem)
]


@pytest.mark.parametrize("case", LOCAL)
def test_exact_answers_have_no_residual(case):
    known = KNOWN[case]
    residuals = judge(known.problem, known.r)
    assert residuals.error <= 1e-15
    assert max(residuals.impulse, residuals.velocity, residuals.work) <= 1e-14
    assert residuals.solved(1e-14)


@pytest.mark.parametrize("case", [c for c in LOCAL if c != "no contact"])
def test_wrong_answers_are_seen(case):
    """Moving r by delta leaves a residual of order delta, where W is not singular."""
    known = KNOWN[case]
    scale = max(np.abs(known.r).max(), 1.0)
    for seed in range(5):
        wrong = known.r + 1e-3 * scale * np.random.default_rng(seed).normal(size=known.r.size)
        residuals = judge(known.problem, wrong)
        assert residuals.natural > 1e-6
        assert residuals.natural_scaled > 1e-6


def test_natural_is_the_formula_of_the_design():
    """|r - P_K(r - u_hat)| / max(|u_free|, |r|, |u|), and with rho = 1 / mean diag W_ii."""
    rng = np.random.default_rng(0)
    K = coulomb([0.3, 0.7, 0.0])
    A = rng.normal(size=(9, 9))
    problem = ContactProblem(A @ A.T, rng.normal(size=9), K)
    r = rng.normal(size=9)
    u, W = problem.velocity(r), problem.W.dense()
    norm = np.linalg.norm
    natural = norm(r - K.project(r - K.shifted(u))) / max(norm(problem.u_free), norm(r), norm(u))
    rho = np.repeat([3.0 / np.trace(W[i : i + 3, i : i + 3]) for i in (0, 3, 6)], 3)
    gap = r - K.project(r - rho * K.shifted(u))
    scaled = norm(gap) / max(norm(r), norm(rho * problem.u_free), norm(rho * u))
    found = judge(problem, r)
    assert found.natural == pytest.approx(natural, rel=1e-13)
    assert found.natural_scaled == pytest.approx(scaled, rel=1e-13)
    assert found.worst == int(np.argmax(norm(gap.reshape(3, 3), axis=1)))
    assert found.impulse == pytest.approx(norm((r - K.project(r)).reshape(3, 3), axis=1).max())
    u_hat = K.shifted(u)
    assert found.velocity == pytest.approx(norm((u_hat - K.project_dual(u_hat)).reshape(3, 3), axis=1).max())
    assert found.work == pytest.approx(np.abs((r * u_hat).reshape(3, 3).sum(axis=1)).max())


@given(
    st.floats(-6, 6), st.floats(-6, 6), st.floats(-4, 4), st.integers(0, 100),
    st.sampled_from(["coulomb", "rolling", "torsional", "coulomb2d"]),
)  # fmt: skip
def test_natural_scaled_does_not_depend_on_units(impulse, velocity, length, seed, family):
    rng = np.random.default_rng(seed)
    mu, other = rng.uniform(0, 1, 3), rng.uniform(0, 0.1, 3)
    K = {
        "coulomb": lambda: coulomb(mu),
        "rolling": lambda: rolling(mu, other),
        "torsional": lambda: torsional(mu, other),
        "coulomb2d": lambda: coulomb(mu, 2),
    }[family]()
    A = rng.normal(size=(K.size, K.size))
    problem, r = ContactProblem(A @ A.T, rng.normal(size=K.size), K), rng.normal(size=K.size)
    change = rescale(problem, 10.0**impulse, 10.0**velocity, 10.0**length)
    before, after = judge(problem, r), judge(change.problem, change.guess(r))
    assert after.natural_scaled == pytest.approx(before.natural_scaled, rel=1e-9)
    assert after.worst == before.worst
    np.testing.assert_allclose(change.recover(change.guess(r)).r, r, rtol=1e-14)


def test_a_contact_without_mass_and_zero_over_zero():
    problem = ContactProblem(np.zeros((3, 3)), np.zeros(3), coulomb([0.5]))
    assert judge(problem, np.zeros(3)).error == 0.0
    half = ContactProblem(
        np.diag([2.0, 2.0, 2.0, 0.0, 0.0, 0.0]), [-1.0, 0, 0, -1.0, 0, 0], coulomb([0.5, 0.5])
    )
    residuals = judge(half, [0.5, 0, 0, 0, 0, 0])
    # rho of the second contact stands in from the first, 1/2: the miss is |rho u_N| = 1/2
    assert residuals.natural_scaled == pytest.approx(0.5 / np.hypot(0.5, 0.5))
    assert residuals.worst == 1


def test_empty_problem_is_solved():
    residuals = judge(ContactProblem(np.zeros((0, 0)), [], coulomb([])), [])
    assert (residuals.error, residuals.worst) == (0.0, -1)
    empty = GlobalProblem(np.eye(2), [1.0, 2.0], np.zeros((2, 0)), [], coulomb([]))
    assert judge(empty, []).error <= 1e-16


def test_nan_is_never_solved():
    problem = KNOWN["slide"].problem
    residuals = judge(problem, [np.nan, 0.0, 0.0])
    assert not residuals.solved(0.5)
    assert residuals.error == np.inf
    box = judge(lcp(np.eye(2), [-1.0, -1.0]), [1.0, np.nan])
    assert not box.solved(0.5)
    assert box.error == np.inf


@pytest.mark.parametrize("K", [coulomb([0.5]), rolling([0.5], [0.1]), free(2), nonnegative(2)], ids=str)
def test_nan_alone_in_a_problem_of_zeros_is_not_solved(K):
    problem = ContactProblem(np.zeros((K.size, K.size)), np.zeros(K.size), K)
    for r in (np.full(K.size, np.nan), np.eye(K.size)[0] * np.nan):
        residuals = judge(problem, r)
        assert not residuals.solved(0.5)
        assert np.isnan(residuals.impulse)


def test_simple_blocks_one_by_one():
    K = free(1) + nonnegative(1) + interval([-1.0], [2.0])
    problem = ContactProblem(np.eye(3), [0.0, 0.0, 0.0], K)
    residuals = judge(problem, [0.0, -0.5, 3.0])
    assert residuals.impulse == 1.0  # 3 is one above its bound
    assert residuals.velocity == 0.5  # u = -0.5 of a nonnegative block
    assert residuals.worst == 2


def test_box_measure_is_the_design_formula():
    """|z - P(z - (A z + b))|_inf / max(1, |b|_inf)."""
    problem = BoxProblem([[2.0, 0.0], [0.0, 1.0]], [-8.0, 3.0], [0.0, -1.0], [np.inf, 1.0])
    z = np.array([3.0, 0.5])
    w = problem.value(z)
    expected = np.abs(z - np.clip(z - w, problem.lower, problem.upper)).max() / 8.0
    assert judge(problem, z).natural == pytest.approx(expected)
    assert judge(problem, [4.0, -1.0]).error == 0.0


def test_global_problems_answer_for_equilibrium_and_joints():
    known = KNOWN["two masses on a rod"]
    problem = known.problem
    lam = np.array([0.0, 2.0 * 9.81 * 1e-2])
    good = judge(problem, known.r, np.zeros(4), -lam)
    wrong = judge(problem, known.r, np.zeros(4), lam)
    best = good if good.equilibrium < wrong.equilibrium else wrong
    assert best.error <= 1e-15
    assert max(good.equilibrium, wrong.equilibrium) > 0.1
    broken = judge(problem, known.r, np.array([0.0, 0.0, 0.0, -0.1]), lam)
    assert broken.joints > 0.1
    table = KNOWN["table with four legs"].problem
    r = np.tile([0.05, 0.0, 0.0], 4)
    assert judge(table, r).equilibrium <= 1e-15  # v computed from r
    assert judge(table, r, np.zeros(6)).equilibrium > 1e-3


def test_rounding_of_unsymmetric_matrices_is_kept():
    """W is used as given: with (W + W')/2 the same r would not solve."""
    W = np.array([[1.0, 0.2], [0.0, 1.0]])
    problem = ContactProblem(W, [-1.2, -1.0], nonnegative(2))
    assert judge(problem, [1.0, 1.0]).error <= 1e-15


def test_rounding_is_not_taken_for_closing():
    """Normal velocities of rounding size beside tangential ones, or beside large impulses."""
    problem = ContactProblem(np.eye(3), [0.0, 0.1, 0.0], coulomb([0.5]))
    assert judge(problem, [1e-18, 0.0, 0.0]).solved(1e-8)
    nudged = ContactProblem(np.eye(3), [-1e-20, 0.1, 0.0], coulomb([0.5]))
    assert judge(nudged, np.zeros(3)).solved(1e-8)
    W = np.array([[1.0, -1.0], [-1.0, 1.0]])
    stressed = ContactProblem(W, [-1.0, 1.0 - 1e-12], nonnegative(2))  # closes by 1e-12, rounding of 1e4
    assert judge(stressed, [1e4 + 1.0, 1e4]).solved(1e-8)


def test_closing_is_seen_whatever_the_impulses():
    W = np.array([[1.0, -1.0], [-1.0, 1.0]])
    walls = ContactProblem(W, [-1.0, -1.0], nonnegative(2))
    for size in (1e8, 1e10):
        residuals = judge(walls, [size, size + 1.0])
        assert residuals.error < 1e-7
        assert residuals.approach == pytest.approx(2.0)  # it closes at twice the free velocity
        assert not residuals.solved(1e-6)
    beyond = judge(walls, [1e13, 1e13 + 1.0])  # nothing is left of u_free in W r + u_free
    assert beyond.approach == np.inf


def test_the_relaxation_is_measured_without_the_shift():
    """|r - P_K(r - u)|, by hand; the same as the exact law where nothing slides or mu = 0."""
    rng = np.random.default_rng(1)
    K = coulomb([0.3, 0.7]) + nonnegative(1) + interval([-1.0], [2.0]) + rolling([0.2], [0.1])
    A = rng.normal(size=(K.size, K.size))
    problem = ContactProblem(A @ A.T, rng.normal(size=K.size), K)
    r = rng.normal(size=K.size)
    u, norm = problem.velocity(r), np.linalg.norm
    natural = norm(r - K.project(r - u)) / max(norm(problem.u_free), norm(r), norm(u))
    relaxed = judge(problem, r, relaxed=True)
    assert relaxed.natural == pytest.approx(natural)
    assert relaxed.natural != pytest.approx(judge(problem, r).natural)
    assert relaxed.impulse == pytest.approx(judge(problem, r).impulse)
    other = rescale(problem, 1e3, 1e-2, 10.0)
    assert judge(other.problem, other.guess(r), relaxed=True).natural_scaled == pytest.approx(
        relaxed.natural_scaled
    )
    smooth = ContactProblem(
        problem.W,
        problem.u_free,
        coulomb([0.0] * 2) + nonnegative(1) + interval([-1.0], [2.0]) + rolling([0.0], [0.0]),
    )
    exact, same = judge(smooth, r), judge(smooth, r, relaxed=True)
    for name in ("natural", "natural_scaled", "impulse", "velocity", "work", "worst", "approach"):
        assert getattr(same, name) == pytest.approx(getattr(exact, name)), name
    box = lcp(np.eye(2), [-1.0, 1.0])
    assert judge(box, [0.5, 0.0], relaxed=True) == judge(box, [0.5, 0.0])
