"""One step as data: gaps are used up exactly, joints are taken back in one step."""

import numpy as np
import pytest
import scipy.sparse as sp

from stickslip import ProblemError, coulomb, scenes, solve
from stickslip.problem import free, interval, nonnegative, velocity_step

H_FALL = np.array([[0.0, 1.0], [1.0, 0.0]])
"""A point mass (x, z) over the ground: normal z, tangent x."""


def test_a_falling_body_closes_its_gap_and_no_more():
    """gap 1e-3 m, h = 1e-2 s, v = -0.2 m/s: it would go 2e-3 m down and stops at the ground."""
    gap, h, v = 1e-3, 1e-2, np.array([0.0, -0.2])
    problem = velocity_step(np.eye(2), v, np.zeros(2), h, H_FALL, coulomb([0.5], 2), [gap])
    solution = solve(problem, tolerance=1e-14)
    assert gap + h * solution.v[1] == pytest.approx(0.0, abs=1e-17)
    assert solution.r[0] == pytest.approx(0.1)
    far = velocity_step(np.eye(2), v, np.zeros(2), h, H_FALL, coulomb([0.5], 2), [3e-3])
    np.testing.assert_allclose(solve(far, tolerance=1e-14).v, v)


def test_a_penetration_is_undone_in_one_step():
    problem = velocity_step(np.eye(2), [0.0, 0.0], [0.0, -9.81], 1e-2, H_FALL, coulomb([0.5], 2), [-1e-4])
    assert 1e-2 * solve(problem, tolerance=1e-14).v[1] == pytest.approx(1e-4, abs=1e-17)


def test_a_joint_is_closed_in_one_step():
    """Two masses 1.002 m apart on a rod of 1 m that grows at 0.3 m/s: after the step the rod fits."""
    h, x, rod, growth = 1e-2, np.array([0.0, 1.002]), 1.0, 0.3
    G = np.array([[-1.0], [1.0]])  # of g = x_1 - x_0 - rod
    problem = velocity_step(
        np.diag([1.0, 2.0]), [0.1, -0.4], [3.0, 1.0], h, np.zeros((2, 0)), coulomb([]), [],
        G=G, g=[x[1] - x[0] - rod], g_t=[-growth],
    )  # fmt: skip
    solution = solve(problem, tolerance=1e-13)
    after = x + h * solution.v
    assert after[1] - after[0] == pytest.approx(rod + h * growth, abs=1e-15)
    momentum = np.array([0.1, -0.8]) + h * np.array([3.0, 1.0])
    assert np.diag([1.0, 2.0]) @ solution.v @ [1.0, 1.0] == pytest.approx(momentum.sum())


def test_the_sign_of_g_is_a_choice_that_only_turns_lam():
    data = (np.diag([1.0, 2.0]), [0.1, -0.4], [3.0, 1.0], 1e-2, np.zeros((2, 0)), coulomb([]), [])
    G, g, g_t = np.array([[-1.0], [1.0]]), np.array([2e-3]), np.array([-0.3])
    one, other = (
        solve(velocity_step(*data, G=s * G, g=s * g, g_t=s * g_t), tolerance=1e-13) for s in (1.0, -1.0)
    )
    np.testing.assert_allclose(one.v, other.v, atol=1e-14)
    np.testing.assert_allclose(one.lam, -other.lam, atol=1e-14)


def test_it_is_the_step_of_the_scenes():
    scene = scenes.make("incline-problem", angle=25.0, mu=0.3, h=1e-3)
    force = np.array([0.0, 0.0, -9.81, 0.0, 0.0, 0.0])
    problem = velocity_step(scene.M, np.zeros(6), force, 1e-3, scene.H, scene.K, np.zeros(4))
    assert problem.is_matrix_free
    np.testing.assert_allclose(problem.f, scene.f, atol=1e-18)


def test_numbers_stand_where_they_belong():
    K = coulomb([0.5]) + nonnegative(1) + interval(-1.0, 1.0) + free(2)
    H, G = np.arange(21.0).reshape(3, 7), sp.csr_array(np.arange(6.0).reshape(3, 2))
    M = np.diag([1.0, 2.0, 4.0])
    problem = velocity_step(
        M, [1.0, 1.0, 1.0], [8.0, 0.0, 0.0], 0.5, H, K, [0.1, 0.2, 0.0, 0.0], G=G, g=[0.1, 0.2]
    )
    np.testing.assert_allclose(problem.f, [5.0, 2.0, 4.0])
    np.testing.assert_allclose(problem.u_bias, [0.2, 0.0, 0.0, 0.4, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(problem.g_bias, [0.2, 0.4])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"h": 0.0}, "h is 0.0; a time step must be positive and finite"),
        ({"h": np.nan}, "a time step must be positive and finite"),
        ({"h": -1.0}, "a time step must be positive and finite"),
        ({"h": 1e-320}, "u_bias is not finite"),
        ({"v": [1.0]}, "v has shape"),
        ({"force": [1.0, np.inf]}, "force is not finite"),
        ({"gap": [1.0, 2.0]}, "gap has shape .*one per block"),
        ({"gap": [np.nan]}, "gap is not finite: block 0"),
        ({"K": free(2)}, "gap of block 0 is 0.001, but it is free"),
        ({"K": 0.5}, "K is float"),
        ({"M": np.zeros((2, 2))}, "M is not positive definite"),
        ({"H": np.zeros((3, 2))}, "H has shape"),
        ({"G": np.zeros((3, 1))}, "G has shape"),
        ({"G": np.zeros(3)}, "G has shape"),
        ({"G": np.ones((2, 1)), "g": [1.0, 2.0]}, "g has shape"),
        ({"G": np.ones((2, 1)), "g_t": [np.nan]}, "g_t is not finite"),
        ({"g": [1.0]}, "g has 1 entries, but there is no G"),
    ],
)
def test_what_is_wrong_is_named(change, said):
    data = {
        "M": np.eye(2),
        "v": [0.0, -0.2],
        "force": [0.0, 0.0],
        "h": 1e-2,
        "H": H_FALL,
        "K": coulomb([0.5], 2),
    }
    with pytest.raises(ProblemError, match=said):
        velocity_step(**{**data, "gap": [1e-3], **change})
