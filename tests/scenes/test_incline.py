"""The box on a slope: closed forms of its resultants, before and after it slides."""

import math
from types import ModuleType

import numpy as np
import pytest

from stickslip.problem.contact import GlobalProblem, Level
from stickslip.problem.residuals import judge
from stickslip.scenes.rigid import incline
from stickslip.scenes.scenario import GRAVITY

BOX = {"mass": 2.5, "h": 2e-3, "size": (0.3, 0.1, 0.2)}


def exact_impulses(
    angle: float, mu: float, mass: float, h: float, size: tuple[float, float, float]
) -> np.ndarray:
    """One exact answer, shape (4, 3): the lower corners carry more, friction as the normal parts."""
    length, _, height = size
    slope = math.radians(angle)
    grip = min(math.tan(slope), mu)
    N = mass * GRAVITY * h * math.cos(slope)
    ahead = grip * height / length  # of the normal resultant, in half lengths
    normal = N * np.array([1.0 - ahead, 1.0 - ahead, 1.0 + ahead, 1.0 + ahead]) / 4.0
    return np.stack([normal, -grip * normal, np.zeros(4)], axis=1)


@pytest.mark.parametrize("angle", [0.0, 10.0, 25.0, 26.0, 27.0, 45.0, 80.0])
@pytest.mark.parametrize("mu", [0.0, 0.5, 1.5])
def test_closed_form_solves_the_problem(angle: float, mu: float) -> None:
    problem = incline(angle=angle, mu=mu, **BOX)
    r = exact_impulses(angle, mu, **BOX)
    assert judge(problem, r).solved(1e-14)
    v = problem.M.solve(problem.f + problem.H_sparse() @ r.ravel())
    slope = math.radians(angle)
    speed = max(0.0, GRAVITY * BOX["h"] * (math.sin(slope) - mu * math.cos(slope)))
    down = np.array([math.cos(slope), 0.0, -math.sin(slope)])
    scale = GRAVITY * BOX["h"]
    np.testing.assert_allclose(v[:3], speed * down, atol=1e-14 * scale)
    np.testing.assert_allclose(v[3:], 0.0, atol=1e-13 * scale / 0.1)


@pytest.mark.parametrize(("angle", "mu"), [(0.0, 0.5), (25.0, 0.5), (40.0, 0.5), (30.0, 0.0)])
def test_solver_finds_the_known_sums(gauss_seidel: ModuleType, angle: float, mu: float) -> None:
    problem = incline(angle=angle, mu=mu, **BOX)
    solution = gauss_seidel.NSGS(tolerance=1e-12).solve(problem).or_raise()
    known = exact_impulses(angle, mu, **BOX).sum(axis=0)
    np.testing.assert_allclose(solution.contact_impulses.sum(axis=0), known, atol=1e-10 * known[0])


def test_problem_is_four_contacts_of_one_body() -> None:
    problem = incline()
    assert isinstance(problem, GlobalProblem)
    assert problem.level is Level.VELOCITY
    assert problem.is_matrix_free
    assert problem.contacts == 4
    assert problem.M.matrix.shape == (1, 6, 6)
    np.testing.assert_array_equal(problem.H.bodies, [[0, -1]] * 4)
    np.testing.assert_array_equal(problem.u_bias, 0.0)
    np.testing.assert_allclose(problem.f, [0.0, 0.0, -GRAVITY * 1e-3, 0.0, 0.0, 0.0])


def test_inertia_turns_with_the_box() -> None:
    length, width, height = 0.3, 0.1, 0.2
    flat = incline(angle=0.0, **BOX).M.matrix[0, 3:, 3:]
    moments = 2.5 / 12.0 * np.array([width**2 + height**2, length**2 + height**2, length**2 + width**2])
    np.testing.assert_allclose(flat, np.diag(moments), atol=1e-18)
    turned = incline(angle=30.0, **BOX).M.matrix[0, 3:, 3:]
    down = np.array([math.cos(math.pi / 6.0), 0.0, -0.5])
    np.testing.assert_allclose(turned @ down, moments[0] * down, atol=1e-17)
    np.testing.assert_allclose(turned[1], [0.0, moments[1], 0.0], atol=1e-17)


def test_corner_velocities_under_any_motion() -> None:
    angle = math.radians(35.0)
    problem = incline(angle=35.0, mu=0.2, **BOX)
    down = np.array([math.cos(angle), 0.0, -math.sin(angle)])
    normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
    across = np.array([0.0, 1.0, 0.0])
    random = np.random.default_rng(3)
    v, omega = random.normal(size=3), random.normal(size=3)
    corners = [0.15 * i * down + 0.05 * j * across - 0.1 * normal for i in (-1, 1) for j in (-1, 1)]
    expected = [[(v + np.cross(omega, p)) @ e for e in (normal, down, across)] for p in corners]
    u = problem.H_sparse().T @ np.concatenate([v, omega])
    np.testing.assert_allclose(u.reshape(4, 3), expected, atol=1e-15)


@pytest.mark.parametrize(
    ("angle", "mu", "size"),
    [(60.0, 2.0, (0.1, 0.1, 0.1)), (80.0, 1.2, (0.1, 0.1, 0.1)), (25.0, 0.5, (0.1, 0.1, 0.3))],
)
def test_a_box_that_tips_is_refused(angle: float, mu: float, size: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match=r"size is \(0\.1, .*tips"):
        incline(angle=angle, mu=mu, size=size)


def test_a_box_on_the_verge_of_tipping_stands_on_its_lower_edge() -> None:
    problem = incline(angle=60.0, mu=0.5, size=(0.1, 0.1, 0.2))
    r = exact_impulses(60.0, 0.5, 1.0, 1e-3, (0.1, 0.1, 0.2))
    np.testing.assert_array_equal(r[:2], 0.0)
    assert judge(problem, r).solved(1e-14)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("angle", -1.0), ("angle", 90.0), ("angle", float("nan")), ("mu", float("nan")), ("mu", -0.1),
        ("mass", -1.0), ("mass", 0.0), ("mass", "heavy"), ("h", 0.0), ("h", float("inf")),
        ("size", (0.1, 0.1)), ("size", (0.1, 0.0, 0.1)), ("size", 0.1),
    ],
)  # fmt: skip
def test_bad_values_are_named(parameter: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"^{parameter}\b.* is .*; it must be"):
        incline(**{parameter: value})
