"""The masonry wall: its geometry, and that it stands."""

from types import ModuleType

import numpy as np
import pytest
from scipy.optimize import nnls

from stickslip.problem.contact import GlobalProblem
from stickslip.problem.residuals import judge
from stickslip.scenes.rigid import running_bond, wall
from stickslip.scenes.scenario import GRAVITY

H = 2e-3
WEIGHT = 6 * 8 * 0.4 * 0.2 * 0.2 * 2000.0 * GRAVITY


def ground_impulse(problem: GlobalProblem, r: np.ndarray) -> float:
    return float(r.reshape(-1, 3)[problem.H.bodies[:, 1] < 0, 0].sum())


@pytest.mark.parametrize("mu", [0.6, 0.0])
@pytest.mark.parametrize("head_joints", [False, True])
def test_rest_solves_the_problem_with_normal_impulses_alone(mu: float, head_joints: bool) -> None:
    problem = wall(mu=mu, h=H, head_joints=head_joints)
    normal = problem.H_sparse()[:, ::3].toarray()
    scale = np.abs(problem.f).max()
    r = np.zeros((problem.contacts, 3))
    r[:, 0], miss = nnls(normal, -problem.f / scale)
    r *= scale
    assert miss < 1e-12
    assert judge(problem, r).solved(1e-13)
    v = problem.M.solve(problem.f + problem.H_sparse() @ r.ravel())
    assert np.abs(v).max() < 1e-11 * GRAVITY * H
    assert ground_impulse(problem, r) == pytest.approx(WEIGHT * H, rel=1e-12)


@pytest.mark.parametrize("head_joints", [False, True])
def test_solver_finds_the_wall_at_rest(gauss_seidel: ModuleType, head_joints: bool) -> None:
    problem = wall(h=H, head_joints=head_joints)
    solution = gauss_seidel.NSGS(tolerance=1e-10).solve(problem).or_raise()
    weight = -problem.f.reshape(-1, 6)[:, 2].sum()
    assert np.abs(solution.v).max() < 1e-5 * GRAVITY * H
    assert ground_impulse(problem, solution.r) == pytest.approx(weight, rel=1e-8)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (2, 1), (5, 4), (6, 8)])
def test_counts(rows: int, columns: int) -> None:
    bed = 4 * columns + 8 * columns * (rows - 1)
    head = 4 * (columns - 1) * ((rows + 1) // 2) + 4 * columns * (rows // 2)
    assert wall(rows=rows, columns=columns).contacts == bed
    assert wall(rows=rows, columns=columns, head_joints=True).contacts == bed + head


def test_defaults_have_a_few_hundred_contacts() -> None:
    assert 300 <= wall().contacts <= 500


def test_courses_are_full_and_do_not_overlap() -> None:
    bond = running_bond(5, 4, 0.4, 0.2, 0.25)
    low, high = bond.centre - bond.size / 2, bond.centre + bond.size / 2
    for course in range(5):
        here = bond.course == course
        np.testing.assert_allclose(low[here, 0][1:], high[here, 0][:-1], atol=1e-15)
        assert low[here, 0][0] == pytest.approx(0.0, abs=1e-15)
        assert high[here, 0][-1] == pytest.approx(1.6)
        np.testing.assert_allclose(low[here, 2], 0.25 * course, atol=1e-15)
        halves = bond.size[here, 0] < 0.3
        np.testing.assert_array_equal(np.flatnonzero(halves), [0, 4] if course % 2 else [])


def test_only_the_first_course_is_on_the_ground_and_the_first_body_is_above() -> None:
    bond = running_bond(6, 8, 0.4, 0.2, 0.2)
    problem = wall()
    upper, lower = problem.H.bodies.T
    np.testing.assert_array_equal(bond.course[upper[lower < 0]], 0)
    np.testing.assert_array_equal(bond.course[upper[lower >= 0]], bond.course[lower[lower >= 0]] + 1)
    assert (np.diff(upper) >= 0).all()


def test_a_rigid_motion_of_all_blocks_moves_no_joint() -> None:
    bond = running_bond(6, 8, 0.4, 0.2, 0.2)
    problem = wall(head_joints=True)
    random = np.random.default_rng(0)
    v, omega = random.normal(size=3), random.normal(size=3)
    motion = np.concatenate([v + np.cross(omega, bond.centre), np.tile(omega, (len(bond.centre), 1))], axis=1)
    u = (problem.H_sparse().T @ motion.ravel()).reshape(-1, 3)
    np.testing.assert_allclose(u[problem.H.bodies[:, 1] >= 0], 0.0, atol=1e-13)


def test_joints_open_along_their_normals() -> None:
    problem = wall(rows=2, columns=2, head_joints=True)
    bond = running_bond(2, 2, 0.4, 0.2, 0.2)
    apart = np.zeros((len(bond.centre), 6))
    apart[:, [0, 2]] = bond.centre[:, [0, 2]]  # an expansion: every joint opens, none shears along x or z
    u = (problem.H_sparse().T @ apart.ravel()).reshape(-1, 3)
    assert (u[:, 0] > 0.05).all()


def test_impulses_between_blocks_cancel() -> None:
    problem = wall(head_joints=True)
    bond = running_bond(6, 8, 0.4, 0.2, 0.2)
    r = np.random.default_rng(1).normal(size=(problem.contacts, 3))
    r[problem.H.bodies[:, 1] < 0] = 0.0
    on_blocks = (problem.H_sparse() @ r.ravel()).reshape(-1, 6)
    moment = on_blocks[:, 3:] + np.cross(bond.centre, on_blocks[:, :3])
    np.testing.assert_allclose(on_blocks[:, :3].sum(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(moment.sum(axis=0), 0.0, atol=1e-12)


def test_mass_and_weight() -> None:
    problem = wall(h=H)
    assert problem.M.matrix[:, 0, 0].sum() * GRAVITY == pytest.approx(WEIGHT)
    assert -problem.f.reshape(-1, 6)[:, 2].sum() == pytest.approx(WEIGHT * H)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("rows", 0), ("rows", 2.5), ("rows", True), ("columns", 0), ("columns", -3), ("mu", float("nan")),
        ("mu", -1.0), ("h", 0.0), ("block", (0.4, 0.2)), ("block", (0.4, -0.2, 0.2)), ("density", 0.0),
        ("head_joints", "yes"),
    ],
)  # fmt: skip
def test_bad_values_are_named(parameter: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"^{parameter}\b.* is .*; it must be"):
        wall(**{parameter: value})
