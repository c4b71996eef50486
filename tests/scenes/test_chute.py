"""Chutes: that they touch, do not overlap, move down the slope, and push only on the bed."""

from types import ModuleType

import numpy as np
import pytest
from scipy.spatial import cKDTree

from stickslip.problem.fingerprint import fingerprint
from stickslip.problem.residuals import judge
from stickslip.scenes.packing import chute, deposit, moving_layer, slope_axes
from stickslip.scenes.scenario import GRAVITY

R = 0.01


@pytest.fixture(params=["rough", "smooth"])
def bed(request: pytest.FixtureRequest) -> str:
    return request.param


def test_contacts_touch_and_nothing_overlaps(bed: str) -> None:
    packing = deposit(300, seed=3)
    layer = moving_layer(packing, bed == "rough")
    reach = layer.arm[:, 1] - layer.arm[:, 0]
    first, second = layer.bodies.T
    pairs = second >= 0
    apart = layer.centre[first[pairs]] - layer.centre[second[pairs]]
    apart[:, :2] -= packing.width * np.round(apart[:, :2] / packing.width)
    np.testing.assert_allclose(apart, reach[pairs, None] * layer.normal[pairs], atol=1e-12 * R)
    n = layer.radius.size
    shifts = [packing.width * np.array([x, y, 0.0]) for x in (-1, 0, 1) for y in (-1, 0, 1)]
    images = np.concatenate([layer.centre + shift for shift in shifts])
    pair = cKDTree(layer.centre).sparse_distance_matrix(cKDTree(images), 2.4 * R, output_type="ndarray")
    pair = pair[pair["j"] != pair["i"] + 4 * n]
    assert (pair["v"] - layer.radius[pair["i"]] - layer.radius[pair["j"] % n]).min() > -1e-12 * R


def test_the_rough_bed_is_made_of_the_spheres_on_the_floor_and_what_carries_them() -> None:
    packing = deposit(300, seed=3)
    on_floor = np.isclose(packing.centre[:, 2], packing.radius, atol=1e-12 * R)
    layer = moving_layer(packing, True)
    moves = np.isin(packing.centre[:, 2], layer.centre[:, 2])
    assert not (moves & on_floor).any()
    assert (packing.centre[~moves, 2] < 1.2 * R + 1e-12).all()
    pairs = packing.bodies[packing.bodies[:, 1] >= 0]
    assert not (moves[pairs[:, 1]] & ~moves[pairs[:, 0]]).any()
    assert layer.bodies.shape[0] == moves[pairs[:, 0]].sum()
    np.testing.assert_array_equal(np.bincount(layer.bodies[:, 0]), 3)


def test_a_smooth_bed_keeps_every_contact_of_the_packing() -> None:
    packing = deposit(300, seed=3)
    layer = moving_layer(packing, False)
    np.testing.assert_array_equal(layer.bodies, packing.bodies)
    up = layer.normal[layer.bodies[:, 1] < 0]
    np.testing.assert_allclose(up, np.broadcast_to([0.0, 0.0, 1.0], up.shape), atol=1e-15)


def test_momentum_of_the_free_motion(bed: str) -> None:
    h, angle, speed, density = 2e-3, 30.0, 0.2, 1000.0
    layer = moving_layer(deposit(200, seed=1), bed == "rough")
    mass = density * 4.0 / 3.0 * np.pi * layer.radius**3
    problem = chute(spheres=200, seed=1, angle=angle, speed=speed, density=density, h=h, bed=bed)
    total = slope_axes(angle) @ problem.f.reshape(-1, 6)[:, :3].sum(axis=0)
    flow = (mass * speed * layer.centre[:, 2] / layer.centre[:, 2].max()).sum()
    sine, cosine = np.sin(np.radians(angle)), np.cos(np.radians(angle))
    weight = GRAVITY * h * mass.sum()
    np.testing.assert_allclose(total, [flow + weight * sine, 0.0, -weight * cosine], atol=1e-12 * weight)


def test_only_the_bed_changes_the_momentum(bed: str) -> None:
    problem = chute(spheres=150, mu_roll=1e-4, bed=bed)
    r = np.random.default_rng(2).normal(size=(problem.contacts, 5))
    total = (problem.H_sparse() @ r.ravel()).reshape(-1, 6)[:, :3].sum(axis=0)
    on_bed = problem.H.bodies[:, 1] < 0
    frame = problem.H.rows[:, 0, :3].reshape(problem.contacts, 5, 3)[on_bed, :3]
    np.testing.assert_allclose(total, np.einsum("ck,ckm->m", r[on_bed, :3], frame), atol=1e-11)


def test_spheres_that_roll_down_the_plane_do_not_slip_on_it() -> None:
    problem = chute(spheres=2, bed="smooth", angle=10.0, mu_roll=1e-4, seed=1)
    layer = moving_layer(deposit(2, seed=1), False)
    v = np.zeros((2, 6))
    turn = 3.0
    v[:, :3] = (turn * layer.radius)[:, None] * slope_axes(10.0)[0]
    v[:, 4] = turn
    u = (problem.H_sparse().T @ v.ravel()).reshape(-1, 5)[problem.H.bodies[:, 1] < 0]
    np.testing.assert_allclose(u[:, :3], 0.0, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(u[:, 3:], axis=1), turn)


def test_same_seed_same_bytes() -> None:
    assert fingerprint(chute(spheres=60, velocity=0.1)) == fingerprint(chute(spheres=60, velocity=0.1))
    assert fingerprint(chute(spheres=60)) != fingerprint(chute(spheres=60, seed=1))


def test_one_sphere_rolls_at_five_sevenths_of_its_free_fall(gauss_seidel: ModuleType) -> None:
    problem = chute(spheres=1, bed="smooth", angle=20.0, mu=0.5, speed=0.0, h=1e-3)
    solution = gauss_seidel.NSGS(tolerance=1e-12).solve(problem).or_raise()
    down = slope_axes(20.0)[0] @ solution.v[:3]
    assert down == pytest.approx(5.0 / 7.0 * GRAVITY * 1e-3 * np.sin(np.radians(20.0)), rel=1e-9)


def test_solver_certifies_a_small_chute(gauss_seidel: ModuleType, bed: str) -> None:
    problem = chute(spheres=25, bed=bed, mu_roll=2e-4)
    solution = gauss_seidel.NSGS(tolerance=1e-8).solve(problem).or_raise()
    assert judge(problem, solution.r).solved(1e-8)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("spheres", 0), ("spheres", 1.5), ("angle", 90.0), ("angle", -1.0), ("mu", -0.1), ("mu_roll", -1e-4),
        ("seed", -1), ("bed", "soft"), ("speed", float("nan")), ("velocity", -1.0), ("radius", 0.0),
        ("spread", 0.5), ("width", 0.04), ("density", -1.0), ("h", 0.0),
    ],
)  # fmt: skip
def test_bad_values_are_named(parameter: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"^{parameter} is .*; it must be"):
        chute(**{"spheres": 30, parameter: value})


def test_a_bed_without_anything_on_it_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^spheres is 1; it must be larger"):
        chute(spheres=1)
