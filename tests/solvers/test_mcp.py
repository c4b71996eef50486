"""The solver mcp: textbook problems at quadratic rate, the incline in closed form, recorded problems."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from closed_forms import KNOWN
from recorded import needs_recorded, recorded

import stickslip as ss
from stickslip.scenes.rigid import incline

MAPS = ("fischer-burmeister", "min")
ROOT = np.sqrt(6.0) / 2.0


def textbook(F2, F3):
    """The four functions that Kojima & Shindo 1986 and Josephy 1979 share, and two that they do not."""

    def F(z):
        a, b, c, d = z
        return np.array(
            [
                3 * a * a + 2 * a * b + 2 * b * b + c + 3 * d - 6,
                F2(z)[0],
                F3(z)[0],
                a * a + 3 * b * b + 2 * c + 3 * d - 3,
            ]
        )

    def J(z):
        a, b, _, _ = z
        return np.array(
            [[6 * a + 2 * b, 2 * a + 4 * b, 1, 3], F2(z)[1], F3(z)[1], [2 * a, 6 * b, 2, 3.0]], float
        )

    return ss.problem.NonlinearProblem(F, J, np.zeros(4), np.full(4, np.inf))


def kojima_shindo():
    """Solutions (√6/2, 0, 0, 1/2), degenerate, and (1, 0, 3, 0)."""
    return textbook(
        lambda z: (
            2 * z[0] ** 2 + z[0] + z[1] ** 2 + 10 * z[2] + 2 * z[3] - 2,
            [4 * z[0] + 1, 2 * z[1], 10, 2],
        ),
        lambda z: (
            3 * z[0] ** 2 + z[0] * z[1] + 2 * z[1] ** 2 + 2 * z[2] + 9 * z[3] - 9,
            [6 * z[0] + z[1], z[0] + 4 * z[1], 2, 9],
        ),
    )


def josephy():
    """One solution, (√6/2, 0, 0, 1/2), strictly complementary."""
    return textbook(
        lambda z: (
            2 * z[0] ** 2 + z[0] + z[1] ** 2 + 3 * z[2] + 2 * z[3] - 2,
            [4 * z[0] + 1, 2 * z[1], 3, 2],
        ),
        lambda z: (
            3 * z[0] ** 2 + z[0] * z[1] + 2 * z[1] ** 2 + 2 * z[2] + 3 * z[3] - 1,
            [6 * z[0] + z[1], z[0] + 4 * z[1], 2, 3],
        ),
    )


def obstacle(n, upper=np.inf):
    """-u'' + u³ = f over an obstacle, discretised, made to measure; monotone, so it has one solution."""
    x = np.linspace(0.0, 1.0, n + 2)[1:-1]
    A = sp.diags_array([-np.ones(n - 1), 2.0 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1]).tocsr()
    A = A * (n + 1.0) ** 2 / 100.0
    low = 0.3 - 2.0 * (x - 0.5) ** 2
    touches, presses = np.abs(x - 0.5) < 0.2, np.abs(x - 0.15) < 0.1
    z = np.where(touches, low, np.maximum(low, 0.0) + 0.4 * x * (1.0 - x) + 0.05)
    w = np.where(touches, 1.0, 0.0)
    high = np.full(n, np.inf)
    if np.isfinite(upper):
        high = np.where(presses, z, upper)
        w = np.where(presses, -1.0, w)
    f = A @ z + z**3 - w
    problem = ss.problem.NonlinearProblem(
        lambda y: A @ y + y**3 - f, lambda y: A + sp.diags_array(3.0 * y**2), low, high, title="obstacle"
    )
    return problem, z


@pytest.mark.parametrize("map_name", MAPS)
def test_textbook_problems(map_name):
    found = ss.solve(josephy(), "mcp", tolerance=1e-13, map=map_name).or_raise()
    np.testing.assert_allclose(found.r, [ROOT, 0.0, 0.0, 0.5], atol=1e-12)
    for guess in (np.zeros(4), np.ones(4), np.full(4, 10.0), [1.0, 0.0, 1.0, 0.0]):
        z = ss.solve(kojima_shindo(), "mcp", tolerance=1e-12, map=map_name, guess=guess).or_raise().r
        near = min(np.abs(z - one).max() for one in ([ROOT, 0, 0, 0.5], [1, 0, 3, 0]))
        assert near < 1e-6, "degenerate: the error of z is of the root of the residual"


@pytest.mark.parametrize("map_name", MAPS)
def test_the_last_steps_are_quadratic(map_name):
    """Strict complementarity and a regular Jacobian: each error is about the square of the one before."""
    cases = [
        (josephy(), [1.5, 0.1, 0.1, 0.8]),
        (obstacle(40)[0], None),
        (kojima_shindo(), [1.3, 0.1, 2.5, 0.2]),
    ]
    for problem, guess in cases:
        solution = ss.solve(problem, "mcp", tolerance=1e-13, map=map_name, guess=guess).or_raise()
        errors = solution.history[:, 1]
        last = errors[(errors < 0.1) & (errors > 1e-13)]
        assert solution.iterations <= 15
        for before, after in itertools.pairwise(last):
            assert after <= 20.0 * before**2 or after < 1e-13, (map_name, problem, errors)


@pytest.mark.parametrize("map_name", MAPS)
@pytest.mark.parametrize("upper", [np.inf, 3.0], ids=["one obstacle", "two"])
@pytest.mark.parametrize("n", [40, 400], ids=["dense", "sparse"])
def test_an_obstacle_problem_has_the_answer_it_was_made_with(n, upper, map_name):
    problem, z = obstacle(n, upper)
    solution = ss.solve(problem, "mcp", tolerance=1e-12, map=map_name).or_raise()
    np.testing.assert_allclose(solution.r, z, atol=1e-8)
    assert "at lower bound" in repr(solution)


@pytest.mark.parametrize("map_name", MAPS)
@pytest.mark.parametrize("mu", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("angle", [0.0, 5.0, 25.0, 30.0, 45.0])
def test_the_incline_at_all_angles(angle, mu, map_name):
    """Four redundant contacts: the Jacobian is singular at every solution, and the sums are unique."""
    problem = incline(angle=angle, mu=mu)
    solution = ss.solve(problem, "mcp", tolerance=1e-12, map=map_name).or_raise()
    N, T = 9.81e-3 * np.cos(np.radians(angle)), 9.81e-3 * np.sin(np.radians(angle))
    total = solution.contact_impulses.sum(axis=0)
    np.testing.assert_allclose(total, [N, -min(T, mu * N), 0.0], atol=1e-13)


def test_the_sliding_box_in_both_laws():
    """Melanz & Mazhar's box where it slides: 8.8909 N by Coulomb's law, 9.2978 N by its relaxation."""
    problem = incline(angle=25.0, mu=0.3)
    exact = ss.solve(problem, "mcp", tolerance=1e-12).or_raise()
    assert exact.contact_impulses[:, 0].sum() / 1e-3 == pytest.approx(8.890879391, abs=1e-9)
    relaxed = ss.solve(problem, "mcp", tolerance=1e-12, law="relaxed")
    assert relaxed.status is ss.Status.RELAXED
    assert ss.judge(problem, relaxed.r, relaxed.v, relaxed.lam, relaxed=True).solved(1e-12)
    assert relaxed.contact_impulses[:, 0].sum() / 1e-3 == pytest.approx(9.2978, abs=5e-5)
    sticks = ss.solve(incline(angle=10.0, mu=0.3), "mcp", tolerance=1e-10, law="relaxed")
    assert sticks.ok, "the laws agree where nothing slides"


@pytest.mark.parametrize("map_name", MAPS)
@pytest.mark.parametrize("case", KNOWN)
def test_closed_forms_by_both_maps(case, map_name):
    known = KNOWN[case]
    solution = ss.solve(known.problem, "mcp", tolerance=1e-12, map=map_name).or_raise()
    if known.r is not None:
        np.testing.assert_allclose(solution.r, known.r, atol=1e-10)


def test_what_has_no_solution_ends_and_is_not_called_solved():
    K, bias = ss.coulomb([0.3, 0.3]), np.array([-1.0, 0.0, 0.0, -1.0, 0.0, 0.0])
    walls = ss.GlobalProblem(np.eye(1), [0.0], [[1.0, 0, 0, -1.0, 0, 0]], bias, K)
    nothing = ss.problem.lcp([[-1.0]], [-1.0])
    weightless = ss.ContactProblem(np.zeros((3, 3)), [-1.0, 1.0, 0.0], ss.coulomb([0.5]))
    contradiction = ss.ContactProblem(np.ones((2, 2)), [1.0, 0.0], ss.problem.free(2))
    no_root = ss.problem.NonlinearProblem(
        lambda z: z**2 + 1.0, lambda z: np.diag(2.0 * z), [-np.inf], [np.inf]
    )
    for problem in (walls, nothing, weightless, contradiction, no_root):
        solution = ss.solve(problem, "mcp", tolerance=1e-6)
        assert solution.status is ss.Status.STALLED
        assert "Newton's iteration stalled" in solution.reason


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_numbers_beyond_squares_are_said_to_be_so(scale):
    problem = ss.ContactProblem(np.eye(3), [-scale, scale, 0.0], ss.coulomb([0.5]))
    assert ss.solve(problem, "mcp").status is ss.Status.NOT_FINITE


def test_a_residual_that_is_not_finite_ends_so():
    problem = ss.problem.NonlinearProblem(
        lambda z: np.sqrt(z - 4.0), lambda z: np.eye(1), [0.0], [np.inf], reference=[5.0]
    )
    assert ss.solve(problem, "mcp", guess=[1.0]).status is ss.Status.NOT_FINITE
    assert ss.solve(problem, "mcp", guess=[6.0], max_iterations=3).status is not ss.Status.SOLVED


@needs_recorded
@pytest.mark.parametrize("path", recorded("lcp", "mlcp"), ids=lambda p: p.name)
def test_recorded_complementarity_problems_to_1e_12(path):
    ss.solve(ss.read(path), "mcp", tolerance=1e-12).or_raise()


@needs_recorded
def test_recorded_friction_problems_of_up_to_eleven_contacts_to_1e_12():
    problems = {path.name: ss.read(path) for path in recorded("friction", "rolling")}
    small = {name: problem for name, problem in problems.items() if problem.contacts <= 11}
    errors = {name: ss.solve(p, "mcp", tolerance=1e-12).residuals.error for name, p in small.items()}
    assert len(errors) >= 20
    assert {name: error for name, error in errors.items() if not error <= 1e-12} == {}
