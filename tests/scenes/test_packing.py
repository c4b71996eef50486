"""Sphere packings: that they touch, do not overlap, are carried, and come out the same again."""

import os
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
from scipy.spatial import cKDTree

from stickslip.problem.fingerprint import fingerprint
from stickslip.problem.residuals import judge
from stickslip.scenes.packing import Packing, deposit, sphere_packing, z_order
from stickslip.scenes.scenario import GRAVITY

R = 0.01
CASES = {
    "default": {"spheres": 500},
    "many": {"spheres": 20_000, "seed": 5},
    "equal": {"spheres": 2000, "spread": 0.0, "seed": 1},
    "wide spread": {"spheres": 2000, "spread": 0.4, "seed": 2},
    "narrow": {"spheres": 200, "width": 4.001 * R * 1.2, "seed": 3},
    "one layer": {"spheres": 300, "width": 60 * R, "seed": 4},
    "one sphere": {"spheres": 1},
}


@pytest.fixture(scope="module", params=CASES)
def packing(request: pytest.FixtureRequest) -> Packing:
    return deposit(**CASES[request.param])


def neighbours(packing: Packing) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of spheres and images that come near, found apart from the grid: first, second, gap [m]."""
    c, L, n = packing.centre, packing.width, packing.radius.size
    shifts = [np.array([x * L, y * L, 0.0]) for x in (-1, 0, 1) for y in (-1, 0, 1)]
    images = np.concatenate([c + shift for shift in shifts])
    lists = cKDTree(c).query_ball_tree(cKDTree(images), 2.0 * packing.radius.max() + 1e-6 * R)
    i = np.repeat(np.arange(n), [len(near) for near in lists])
    k = np.concatenate([np.array(near, int) for near in lists])
    i, k = i[k != i + 4 * n], k[k != i + 4 * n]
    gap = np.linalg.norm(c[i] - images[k], axis=1) - packing.radius[i] - packing.radius[k % n]
    return i, k % n, gap


def test_contacts_have_no_gap(packing: Packing) -> None:
    assert np.abs(packing.gap).max() < 1e-12 * R


def test_no_spheres_overlap(packing: Packing) -> None:
    _, _, gap = neighbours(packing)
    assert gap.min(initial=0.0) > -1e-12 * R
    assert (packing.centre[:, 2] - packing.radius).min() > -1e-12 * R


def test_touching_spheres_are_contacts(packing: Packing) -> None:
    i, j, gap = neighbours(packing)
    touching = {
        (min(a, b), max(a, b)) for a, b in zip(*(x[gap < 1e-12 * R].tolist() for x in (i, j)), strict=True)
    }
    listed = [tuple(sorted(pair)) for pair in packing.bodies.tolist() if pair[1] >= 0]
    assert touching == set(listed)
    assert len(set(listed)) == len(listed)


def test_every_sphere_is_carried(packing: Packing) -> None:
    """On the floor, or by three pushes from its supports that balance the weight."""
    normal = packing.branch / np.linalg.norm(packing.branch, axis=1, keepdims=True)
    first, second = packing.bodies.T
    grounded = np.bincount(first[second < 0], minlength=packing.radius.size) > 0
    count = np.bincount(first, minlength=packing.radius.size)
    assert count.min() >= 1
    assert (count[~grounded] == 3).all()
    of_three = normal[~grounded[first]].reshape(-1, 3, 3)
    push = np.linalg.solve(of_three.transpose(0, 2, 1), np.tile([[0.0], [0.0], [1.0]], (len(of_three), 1, 1)))
    assert push.min(initial=1.0) > -1e-9


def test_order_of_contacts(packing: Packing) -> None:
    first, second = packing.bodies.T
    assert (np.lexsort((second, first)) == np.arange(first.size)).all()
    assert ((packing.centre[:, :2] >= 0.0) & (packing.centre[:, :2] <= packing.width)).all()


def test_a_large_packing_is_random_loose() -> None:
    """Visscher & Bolsterli 1972: density 0.582 for equal spheres, coordination 6."""
    packing = deposit(20_000, spread=0.0, seed=7)
    z = packing.centre[:, 2]
    bulk = (z > 0.1 * z.max()) & (z < 0.8 * z.max())
    volume = packing.width**2 * 0.7 * z.max()
    solid = (4.0 / 3.0 * np.pi * packing.radius[bulk] ** 3).sum()
    assert solid / volume == pytest.approx(0.582, abs=0.01)
    touches = np.bincount(packing.bodies[packing.bodies >= 0], minlength=z.size)
    assert touches[bulk].mean() == pytest.approx(6.0, abs=0.05)


def test_z_order_visits_the_octants_of_a_cube() -> None:
    cells = np.array([[x, y, z] for x in range(2) for y in range(2) for z in range(2)])
    assert [tuple(c) for c in cells[z_order(cells)][:3].tolist()] == [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
    far = np.array([[5, 0, 0], [0, 3, 0], [1, 1, 1], [0, 0, 0]])
    np.testing.assert_array_equal(z_order(far), [3, 2, 1, 0])
    np.testing.assert_array_equal(z_order(np.zeros((4, 3), np.int64)), [0, 1, 2, 3])


def test_same_seed_same_bytes() -> None:
    print_of = [fingerprint(sphere_packing(spheres=300, seed=s, velocity=0.1)) for s in (1, 1, 2)]
    assert print_of[0] == print_of[1]
    assert print_of[0] != print_of[2]


def test_friction_and_velocity_leave_the_packing_alone() -> None:
    plain = sphere_packing(spheres=100)
    other = sphere_packing(spheres=100, mu=0.7, velocity=1.0, h=1e-2, density=1000.0)
    np.testing.assert_array_equal(plain.H.bodies, other.H.bodies)
    np.testing.assert_array_equal(plain.H.rows, other.H.rows)


def test_plain_python_gives_the_same_bytes() -> None:
    code = (
        "from stickslip.problem.fingerprint import fingerprint\n"
        "from stickslip.scenes.packing import sphere_packing\n"
        "print(fingerprint(sphere_packing(spheres=60, mu_roll=1e-4)))"
    )
    environment = {**os.environ, "STICKSLIP_JIT": "0"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == fingerprint(sphere_packing(spheres=60, mu_roll=1e-4))


def test_rows_are_velocities_of_the_touching_points() -> None:
    packing = deposit(80, seed=2)
    problem = sphere_packing(spheres=80, seed=2, mu_roll=1e-4)
    v = np.random.default_rng(0).normal(size=(80, 6))
    u = (problem.H_sparse().T @ v.ravel()).reshape(-1, 5)
    first, second = packing.bodies.T
    n = packing.branch / np.linalg.norm(packing.branch, axis=1, keepdims=True)
    still = (second < 0)[:, None]
    w = np.where(still, 0.0, v[second])
    at_first = v[first, :3] + np.cross(v[first, 3:], -packing.radius[first, None] * n)
    at_second = w[:, :3] + np.cross(w[:, 3:], packing.radius[second, None] * n)
    frame = problem.H.rows[:, 0, :3].reshape(-1, 5, 3)[:, :3]
    np.testing.assert_allclose(frame[:, 0], n, atol=1e-14)
    np.testing.assert_allclose(
        frame @ frame.transpose(0, 2, 1), np.tile(np.eye(3), (len(n), 1, 1)), atol=1e-14
    )
    np.testing.assert_allclose(np.linalg.det(frame), 1.0, atol=1e-14)
    expected = np.einsum("ckm,cm->ck", frame, at_first - at_second)
    np.testing.assert_allclose(u[:, :3], expected, atol=1e-13)
    turning = np.einsum("ckm,cm->ck", frame[:, 1:], v[first, 3:] - w[:, 3:])
    np.testing.assert_allclose(u[:, 3:], turning, atol=1e-13)


def test_normal_rows_are_rates_of_the_gap() -> None:
    packing = deposit(80, seed=2)
    problem = sphere_packing(spheres=80, seed=2)
    v = np.random.default_rng(1).normal(size=(80, 6))
    u = (problem.H_sparse().T @ v.ravel()).reshape(-1, 3)
    dt = 1e-6 * R

    def moved(t: float) -> np.ndarray:
        centre = packing.centre + t * v[:, :3]
        return Packing(centre, packing.radius, packing.width, packing.bodies, packing.image).gap

    np.testing.assert_allclose((moved(dt) - moved(-dt)) / (2.0 * dt), u[:, 0], atol=1e-7)


def test_a_common_motion_moves_no_contact_between_spheres() -> None:
    packing = deposit(80, seed=2)
    problem = sphere_packing(spheres=80, seed=2, mu_roll=1e-4)
    inside = (packing.bodies[:, 1] >= 0) & (packing.image == 0).all(axis=1)
    across = (packing.image != 0).any(axis=1)
    assert across.any()
    v, omega = np.array([0.3, -1.0, 0.7]), np.array([1.0, 2.0, -0.5])
    turn = np.concatenate([v + np.cross(omega, packing.centre), np.tile(omega, (80, 1))], axis=1)
    u = (problem.H_sparse().T @ turn.ravel()).reshape(-1, 5)
    np.testing.assert_allclose(u[inside], 0.0, atol=1e-13)
    shift = np.tile(np.concatenate([v, np.zeros(3)]), 80)
    u = (problem.H_sparse().T @ shift).reshape(-1, 5)
    np.testing.assert_allclose(u[inside | across], 0.0, atol=1e-13)


@pytest.mark.parametrize("mu_roll", [None, 1e-4])
def test_only_the_floor_changes_the_momentum(mu_roll: float | None) -> None:
    problem = sphere_packing(spheres=150, mu_roll=mu_roll)
    r = np.random.default_rng(2).normal(size=(problem.contacts, 3 if mu_roll is None else 5))
    total = (problem.H_sparse() @ r.ravel()).reshape(-1, 6)[:, :3].sum(axis=0)
    floor = problem.H.bodies[:, 1] < 0
    frame = problem.H.rows[:, 0, :3].reshape(problem.contacts, -1, 3)[floor, :3]
    np.testing.assert_allclose(total, np.einsum("ck,ckm->m", r[floor, :3], frame), atol=1e-11)


def test_masses_inertia_and_free_momentum() -> None:
    packing = deposit(50, seed=1)
    problem = sphere_packing(spheres=50, seed=1, density=1000.0, h=2e-3)
    mass = 1000.0 * 4.0 / 3.0 * np.pi * packing.radius**3
    diagonal = np.einsum("bii->bi", problem.M.matrix)
    np.testing.assert_allclose(diagonal[:, :3], mass[:, None] * np.ones(3))
    np.testing.assert_allclose(diagonal[:, 3:], (0.4 * mass * packing.radius**2)[:, None] * np.ones(3))
    np.testing.assert_allclose(problem.f.reshape(-1, 6)[:, 2], -2e-3 * GRAVITY * mass)
    fast = sphere_packing(spheres=50, seed=1, density=1000.0, h=2e-3, velocity=0.5)
    v = problem.M.solve(fast.f - problem.f).reshape(-1, 6)
    assert v[:, :3].std() == pytest.approx(0.5, rel=0.2)
    assert (v[:, 3:] * packing.radius[:, None]).std() == pytest.approx(0.5, rel=0.2)


def test_rolling_contacts() -> None:
    problem = sphere_packing(spheres=50, mu=0.4, mu_roll=2e-4)
    assert problem.K.family == (2, 2)
    np.testing.assert_array_equal(problem.K.friction(0), 0.4)
    np.testing.assert_array_equal(problem.K.friction(1), 2e-4)


def test_thirteen_contacts() -> None:
    assert sphere_packing(spheres=7, seed=0).contacts == 13


@pytest.mark.parametrize("mu_roll", [None, 5e-4])
@pytest.mark.parametrize("velocity", [0.0, 0.05])
def test_solver_certifies_a_small_packing(
    gauss_seidel: ModuleType, mu_roll: float | None, velocity: float
) -> None:
    problem = sphere_packing(spheres=7, mu_roll=mu_roll, velocity=velocity)
    solution = gauss_seidel.NSGS(tolerance=1e-8).solve(problem).or_raise()
    assert judge(problem, solution.r).solved(1e-8)
    floor = problem.H.bodies[:, 1] < 0
    gained = (problem.M.multiply(solution.v) - problem.f).reshape(-1, 6)[:, 2].sum()
    assert gained == pytest.approx(solution.contact_impulses[floor, 0].sum(), rel=1e-10)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("spheres", 0), ("spheres", 1.5), ("mu", float("nan")), ("mu", -0.1), ("mu_roll", -1e-4),
        ("seed", -1), ("radius", 0.0), ("spread", 0.5), ("spread", -0.1), ("width", 0.04),
        ("width", float("nan")), ("density", -1.0), ("h", 0.0), ("velocity", -1.0),
    ],
)  # fmt: skip
def test_bad_values_are_named(parameter: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"^{parameter} is .*; it must be"):
        sphere_packing(**{"spheres": 5, parameter: value})
