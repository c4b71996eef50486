"""Derivatives of local problems against central differences, for every law and every case."""

import numpy as np
import pytest
from random_problems import MIXED
from solution_differences import random_local, solved, worst_difference

from stickslip import ContactProblem, ModelError, coulomb
from stickslip.gradients.solution import solution_derivative
from stickslip.problem import (
    free,
    friction,
    interval,
    lcp,
    nonnegative,
    relay,
    rolling,
    torsional,
)  # fmt: skip

LAWS = {
    "coulomb2d": coulomb([0.3, 0.5, 0.7], 2),
    "coulomb3d": coulomb([0.3, 0.5, 0.9]),
    "rolling": rolling([3.0, 0.1, 0.4, 3.0], [0.1, 3.0, 0.1, 3.0]),
    "torsional": torsional([3.0, 0.1, 0.4, 3.0], [0.1, 3.0, 0.1, 3.0]),
    "one-dimensional groups": friction((1, 1), np.array([[0.4, 0.1], [0.6, 0.3], [0.7, 0.5]])),
    "nonnegative": nonnegative(5),
    "interval": interval([-0.2, -0.1, 0.1, -np.inf, -np.inf], [0.3, 0.2, np.inf, 0.2, np.inf]),
    "free": free(3, 1),
    "mixed": MIXED + torsional([0.5], [0.1]) + interval([-0.2], [0.3]),
}
SEEDS = range(4)


@pytest.fixture(scope="module")
def cases():
    """Every law with several random problems: their solutions and derivatives."""
    made = {}
    for law, K in LAWS.items():
        problems = [random_local(K, seed, pressed=seed % 2 == 1) for seed in SEEDS]
        made[law] = [(p, s, solution_derivative(s)) for p in problems for s in [solved(p)]]
    return made


@pytest.mark.parametrize("law", LAWS)
def test_against_central_differences(cases, law):
    rng = np.random.default_rng(5)
    for problem, _, derivative in cases[law]:
        assert derivative.exists
        assert derivative.unique
        assert not derivative.notes
        for name in derivative.by:
            error, transposed = worst_difference(derivative, problem, name, rng)
            assert error <= 1e-6, name
            assert transposed <= 1e-12, name


def test_every_case_is_among_them(cases):
    seen = {law: {state for _, s, _ in made for state in s.states.name} for law, made in cases.items()}
    assert {"separating", "sticking", "slipping"} <= seen["coulomb3d"]
    assert {"separating", "sticking", "slipping"} <= seen["coulomb2d"]
    assert {"separating", "sticking", "sliding", "rolling", "sliding and rolling"} <= seen["rolling"]
    assert {"separating", "sticking", "sliding", "spinning", "sliding and spinning"} <= seen["torsional"]
    assert {"at lower bound", "at upper bound", "inside bounds"} <= seen["interval"]
    assert {"separating", "touching"} <= seen["nonnegative"]


def test_the_jacobian_is_made_of_its_columns(cases):
    problem, _, derivative = cases["mixed"][0]
    n = problem.size
    columns = [derivative.jvp(u_free=e)["r"] for e in np.eye(n)]
    np.testing.assert_allclose(derivative.jacobian("r", "u_free"), np.transpose(columns), atol=1e-13)
    assert derivative.jacobian("u", "W").shape == (n, n * n)


def test_a_block_on_a_slope_by_hand():
    """Slipping: r_N = -m u_N, r_T = -mu r_N; d u_T / d mu = -g h cos; sticking: u stays 0."""
    m, push = 2.0, 0.5
    slips = solution_derivative(solved(ContactProblem(np.eye(3) / m, [-1.0, push, 0.0], coulomb([0.2]))))
    np.testing.assert_allclose(slips.jacobian("u", "mu")[:, 0], [0.0, -1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(slips.jacobian("r", "mu")[:, 0], [0.0, -m, 0.0], atol=1e-12)
    turned = slips.jacobian("u", "u_free")[2, 2]  # a turn of u_free turns u with it
    np.testing.assert_allclose(turned, (push - 0.2) / push)
    sticks = solution_derivative(solved(ContactProblem(np.eye(3) / m, [-1.0, push, 0.0], coulomb([0.7]))))
    assert not sticks.jacobian("u", "u_free").any()
    assert not sticks.jacobian("r", "mu").any()
    np.testing.assert_allclose(sticks.jacobian("r", "u_free"), -m * np.eye(3), atol=1e-12)


def test_restitution_where_the_velocities_before_are_given():
    before, e = np.array([-1.0, -2.0, 0.5]), np.array([0.3, 0.6, 0.5])
    base = random_local(coulomb([0.3, 0.5, 0.4]), 2)
    start = base.u_free.copy()
    start[::3] = -0.5

    def with_restitution(e):
        u_free = start.copy()
        u_free[::3] += e * np.minimum(before, 0.0)
        return ContactProblem(base.W, u_free, base.K)

    derivative = solution_derivative(solved(with_restitution(e)), u_before=before)
    step = 1e-5
    for i in range(3):
        d = step * np.eye(3)[i]
        ends = solved(with_restitution(e + d)), solved(with_restitution(e - d))
        np.testing.assert_allclose(
            derivative.jacobian("r", "e")[:, i], (ends[0].r - ends[1].r) / (2 * step), atol=1e-7
        )
    np.testing.assert_allclose(derivative.vjp(r=np.ones(9))["e"], derivative.jacobian("r", "e").sum(axis=0))
    assert "e" not in solution_derivative(solved(base)).by


@pytest.mark.parametrize("kind", ["lcp", "relay"])
def test_box_problems(kind):
    rng = np.random.default_rng(3)
    A = rng.normal(size=(6, 6)) + 6.0 * np.eye(6)
    b = 6.0 * rng.normal(size=6)
    problem = lcp(A, b) if kind == "lcp" else relay(A, b)
    derivative = solution_derivative(solved(problem))
    assert tuple(derivative.of) == ("z", "w")
    assert set(derivative.by) == {"A", "b", "lower"} | ({"upper"} if kind == "relay" else set())
    for name in derivative.by:
        x = getattr(problem, name)
        dx, step = rng.normal(size=x.shape), 1e-5
        fields = {"A": A, "b": b, "lower": problem.lower, "upper": problem.upper}
        ends = [solved(type(problem)(**(fields | {name: x + s * step * dx}))) for s in (1.0, -1.0)]
        change = derivative.jvp(**{name: dx})
        np.testing.assert_allclose(change["z"], (ends[0].r - ends[1].r) / (2 * step), atol=1e-7)
        np.testing.assert_allclose(change["w"], (ends[0].u - ends[1].u) / (2 * step), atol=1e-7)


def test_the_derivative_does_not_depend_on_units():
    """Millimetres for metres: moments and rolling coefficients are scaled, and so are their derivatives."""
    K = rolling([0.5, 0.1], [0.1, 0.9])
    problem = random_local(K, 1)
    unit = np.tile([1.0, 1.0, 1.0, 1e3, 1e3], 2)  # r' = unit r, u' = u / unit
    scaled = ContactProblem(
        problem.W.dense() / np.outer(unit, unit), problem.u_free / unit, rolling([0.5, 0.1], [100.0, 900.0])
    )
    one, other = (solution_derivative(solved(p)).jacobian("r", "u_free") for p in (problem, scaled))
    np.testing.assert_allclose(other, one * np.outer(unit, unit), rtol=1e-8, atol=1e-8)


def test_what_cannot_be_differentiated_is_refused_in_a_sentence(cases):
    _, solution, derivative = cases["coulomb3d"][0]
    unsolved = solution.with_(status=type(solution.status).STALLED)
    with pytest.raises(ModelError, match=r"STALLED.*only a certified one"):
        solution_derivative(unsolved)
    with pytest.raises(ModelError, match="kappa is -1"):
        solution_derivative(solution, kappa=-1.0)
    with pytest.raises(ModelError, match="tolerance is 2"):
        solution_derivative(solution, tolerance=2.0)
    with pytest.raises(ValueError, match="u_before"):
        solution_derivative(solution, u_before=[1.0])
    with pytest.raises(ModelError, match="known: W, u_free, mu"):
        derivative.jvp(mu_roll=np.ones(3))
