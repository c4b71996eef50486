"""Derivatives of global problems against central differences: M, f, H, G, biases and coefficients."""

import numpy as np
import pytest
from random_problems import MIXED, bodies_in_a_row
from solution_differences import TOLERANCE, random_global, solved, worst_difference

from stickslip import GlobalProblem, coulomb
from stickslip.gradients import solution_factor, solution_linear
from stickslip.gradients.solution import solution_derivative
from stickslip.gradients.solution_linear import GlobalLinearisation
from stickslip.gradients.solution_rows import Causes
from stickslip.problem import contact_blocks, free, interval, rolling, torsional

WHOLE = MIXED + torsional([0.5], [0.1]) + interval([-0.2], [0.3])
PROBLEMS = {
    "coulomb2d": lambda: random_global(coulomb([0.3, 0.5, 0.7], 2), 0),
    "coulomb3d": lambda: random_global(coulomb([0.2, 0.5, 2.0]), 0),
    "rolling": lambda: random_global(rolling([3.0, 0.1, 0.4], [0.1, 3.0, 0.1]), 1),
    "mixed": lambda: random_global(WHOLE, 2),
    "joints": lambda: random_global(coulomb([0.3, 0.5, 0.7]) + interval([-0.1], [0.1]), 3, joints=3),
    "bodies": lambda: bodies_in_a_row(coulomb([0.3, 0.5, 0.7, 0.2]) + free(2), 1),
}


@pytest.fixture(scope="module", params=PROBLEMS)
def case(request):
    problem = PROBLEMS[request.param]()
    solution = solved(problem)
    return problem, solution, solution_derivative(solution)


def test_against_central_differences(case):
    problem, _, derivative = case
    assert derivative.exists
    assert derivative.unique
    rng = np.random.default_rng(7)
    for name in derivative.by:
        if name == "H" and problem.is_matrix_free:
            continue  # of contact blocks H is changed through its rows: below
        error, transposed = worst_difference(derivative, problem, name, rng)
        assert error <= 1e-6, name
        assert transposed <= 1e-12, name


def test_shapes(case):
    problem, _, derivative = case
    nv, n, p = problem.M.size, problem.size, problem.g_bias.size
    assert derivative.by["M"] == ((6, 6, 6) if problem.M.is_body_blocks else (nv, nv))
    assert derivative.by["H"] == (nv, n)
    assert dict(derivative.of) == {"r": (n,), "u": (n,), "v": (nv,)} | ({"lam": (p,)} if p else {})
    assert ("G" in derivative.by) == (p > 0)


def test_the_rows_of_contact_blocks():
    problem = PROBLEMS["bodies"]()
    rng = np.random.default_rng(2)
    H = problem.H
    step, change = 1e-5, rng.normal(size=H.rows.shape)

    def moved(s):
        return GlobalProblem(
            problem.M, problem.f, contact_blocks(H.bodies, H.rows + s * change, problem.K), problem.u_bias,
            problem.K,
        )  # fmt: skip

    ends = solved(moved(step)), solved(moved(-step))
    dense = (moved(1.0).H_sparse() - problem.H_sparse()).toarray()
    out = solution_derivative(solved(problem)).jvp(H=dense)
    for name in ("r", "u", "v"):
        difference = (getattr(ends[0], name) - getattr(ends[1], name)) / (2 * step)
        np.testing.assert_allclose(out[name], difference, atol=1e-6 * np.abs(difference).max())


def test_the_lower_level_is_its_own_transpose_and_fulfils_the_equations():
    problem = PROBLEMS["joints"]()
    solution = solved(problem)
    line = GlobalLinearisation(problem, solution.r, solution.lam, TOLERANCE)
    rng, k = np.random.default_rng(0), 3
    nv, n, p, nb = problem.M.size, problem.size, problem.g_bias.size, len(problem.K)
    shapes = {"momentum": nv, "velocity": n, "joint": p, "coefficient": 3, "lower": nb, "upper": nb}
    given = {name: rng.normal(size=(size, k)) for name, size in shapes.items()}
    dv, dlam, dr, du = line.forward(Causes(**given))
    H, G = problem.H_sparse().toarray(), problem.G_sparse().toarray()
    M = problem.M.matrix
    np.testing.assert_allclose(M @ dv - H @ dr - G @ dlam, given["momentum"], atol=1e-12)
    np.testing.assert_allclose(H.T @ dv + given["velocity"], du, atol=1e-12)
    np.testing.assert_allclose(G.T @ dv + given["joint"], 0.0, atol=1e-12)
    weights = {"v": nv, "lam": p, "r": n, "u": n}
    asked = {name: rng.normal(size=(size, k)) for name, size in weights.items()}
    causes = line.backward(**asked)._asdict()
    changes = {"v": dv, "lam": dlam, "r": dr, "u": du}
    forward = sum(asked[name].T @ changes[name] for name in changes)
    backward = sum(causes[name].T @ given[name] for name in given)
    np.testing.assert_allclose(forward, backward, atol=1e-11)
    assert line.forward(Causes(given["momentum"])).v.shape == (nv, k)
    assert not line.mismatch(Causes(**given)).any()


@pytest.mark.parametrize("name", ["bodies", "mixed"])
def test_large_problems_give_the_same_by_sparse_factors(monkeypatch, name):
    problem = PROBLEMS[name]()
    solution = solved(problem)
    dense = solution_derivative(solution)
    for module in (solution_factor, solution_linear):
        monkeypatch.setattr(module, "DENSE", 0)
    sparse = solution_derivative(solution)
    for by in ("f", "u_bias", "mu"):
        np.testing.assert_allclose(sparse.jacobian("v", by), dense.jacobian("v", by), atol=1e-10)
    np.testing.assert_allclose(
        sparse.vjp(r=np.ones(problem.size))["f"], dense.vjp(r=np.ones(problem.size))["f"]
    )


def test_no_contacts_at_all():
    problem = GlobalProblem(np.eye(3), np.ones(3), np.zeros((3, 0)), np.zeros(0), coulomb([]))
    derivative = solution_derivative(solved(problem))
    np.testing.assert_allclose(derivative.jacobian("v", "f"), np.eye(3))
    np.testing.assert_allclose(derivative.jvp(M=np.eye(3))["v"], -np.ones(3))
