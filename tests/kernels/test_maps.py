"""Nonsmooth maps of one block: their Jacobians against finite differences, their roots against the law."""

import numpy as np
import pytest

from stickslip.kernels import cone_maps, maps
from stickslip.problem import free, friction, interval, nonnegative

MAPS = {
    "alart_curnier": maps.alart_curnier,
    "jean_moreau": maps.jean_moreau,
    "natural_newton": cone_maps.natural_newton,
    "fischer_burmeister": cone_maps.fischer_burmeister,
}
ELIMINATE = [name for name in MAPS if name != "fischer_burmeister"]
"""Maps under which an open contact has F = r."""
FAMILIES = [(1,), (2,), (2, 2), (2, 1)]


def per_group(groups, values):
    """One value per component, the same within a group; values[0] for the normal."""
    return np.repeat(values, [1, *groups])


def evaluate(name, K, rho, r, u):
    """(state, F, A, B) of block 0."""
    F, A, B = np.empty(K.size), np.full((K.size, K.size), np.nan), np.full((K.size, K.size), np.nan)
    state = MAPS[name](0, K.arrays, rho, r, u, maps.Mapped(F, A, B))
    return state, F, A, B


def slopes(name, K, rho, r, u, scale_r, scale_u):
    """A, B by central differences, steps in the scale of the components."""
    A, B = np.empty((K.size, K.size)), np.empty((K.size, K.size))
    for k in range(K.size):
        for slope, x, h in ((A, r, 1e-6 * scale_r[k]), (B, u, 1e-6 * scale_u[k])):
            there = x[k]
            x[k] = there + h
            _, ahead, _, _ = evaluate(name, K, rho, r, u)
            x[k] = there - h
            _, behind, _, _ = evaluate(name, K, rho, r, u)
            x[k] = there
            slope[:, k] = (ahead - behind) / (2.0 * h)
    return A, B


def draw(rng, groups, wanted):
    """mu, rho, r, u of a contact in the wanted state, at a random scale; and the scales of r and u."""
    scale = 10.0 ** rng.uniform(-6, 6)
    rho = 10.0 ** rng.uniform(-6, 6) * per_group(groups, rng.uniform(0.5, 2.0, 1 + len(groups)))
    mu = rng.uniform(0.2, 1.0, len(groups))
    r, u = rng.normal(size=rho.size), rng.normal(size=rho.size)
    u[0] = rng.uniform(-1.0, 0.4)
    r[0] = rng.uniform(0.5, 1.0)
    if wanted == "open":
        r[0], u[0] = -0.3, rng.uniform(0.2, 1.0)
        r[1:], u[1:] = 0.05 * r[1:], 0.01 * u[1:]
    elif wanted == "stick":
        r[1:] *= 0.02
        u[1:] = np.sign(u[1:]) * rng.uniform(0.01, 0.03, size=u.size - 1)
    else:
        r[1:] = np.sign(r[1:]) * rng.uniform(5.0, 8.0, size=r.size - 1)
    return mu, rho, scale * r, scale * u / rho, scale * np.ones(rho.size), scale / rho


@pytest.mark.parametrize("wanted", ["open", "stick", "slip", "frictionless"])
@pytest.mark.parametrize(
    ("name", "groups"),
    [(name, g) for name in MAPS for g in FAMILIES if len(g) == 1 or name != "fischer_burmeister"],
    ids=str,
)
def test_jacobians_agree_with_finite_differences(name, groups, wanted):
    rng = np.random.default_rng(len(name) + sum(groups) + len(wanted))
    states = set()
    for _ in range(40):
        mu, rho, r, u, scale_r, scale_u = draw(rng, groups, wanted)
        K = friction(groups, [0.0 * mu if wanted == "frictionless" else mu])
        state, _, A, B = evaluate(name, K, rho, r, u)
        states.add(state)
        A_slope, B_slope = slopes(name, K, rho, r, u, scale_r, scale_u)
        assert np.abs(A - A_slope).max() <= 1e-7 * max(1.0, mu.max())
        assert np.abs((B - B_slope) / rho.max()).max() <= 1e-7
    slipping = 1 + sum(2 << g for g in range(len(groups)))
    expected = {"open": 0, "stick": 1, "slip": slipping, "frictionless": slipping}[wanted]
    assert expected in states if name in ELIMINATE else states == {1}


@pytest.mark.parametrize("name", ELIMINATE)
def test_an_open_contact_leaves_nothing_but_its_impulse(name):
    K, rho = friction((2, 2), [[0.4, 0.1]]), np.full(5, 2.0)
    r, u = np.array([0.0, 1e-3, -2e-3, 0.0, 1e-3]), np.array([1.0, 0.1, 0.2, 0.3, 0.0])
    state, F, A, B = evaluate(name, K, rho, r, u)
    assert state == 0
    np.testing.assert_array_equal(F, r)
    np.testing.assert_array_equal(A, np.eye(5))
    np.testing.assert_array_equal(B, np.zeros((5, 5)))


@pytest.mark.parametrize("name", MAPS)
def test_the_map_vanishes_on_coulombs_law_and_only_there(name):
    """Stick, slip and separation in closed form; turning the slip or pulling breaks it."""
    K, rho = friction((2,), [[0.5]]), np.array([3.0, 0.7, 0.7])
    lawful = [
        ([2.0, 0.3, -0.4], [0.0, 0.0, 0.0]),
        ([2.0, -0.6, 0.8], [0.0, 3.0, -4.0]),
        ([0.0, 0.0, 0.0], [1.0, -2.0, 0.5]),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    ]
    unlawful = [
        ([2.0, 0.6, 0.8], [0.0, 3.0, -4.0]),
        ([2.0, -0.3, 0.4], [0.0, 3.0, -4.0]),
        ([2.0, 0.3, -0.4], [0.1, 0.0, 0.0]),
        ([-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ([0.0, 0.0, 0.0], [-1.0, 0.0, 0.0]),
    ]
    for cases, holds in ((lawful, True), (unlawful, False)):
        for r, u in cases:
            _, F, _, _ = evaluate(name, K, rho, np.array(r), np.array(u))
            assert (np.abs(F).max() <= 1e-14) == holds, (r, u, F)


@pytest.mark.parametrize("name", MAPS)
def test_blocks_without_friction(name):
    u = np.array([0.5, -1.0])
    state, F, A, B = evaluate(name, free(2), np.array([2.0, 2.0]), np.array([7.0, 8.0]), u)
    assert state == 1
    np.testing.assert_array_equal(F, 2.0 * u)
    np.testing.assert_array_equal(A, np.zeros((2, 2)))
    np.testing.assert_array_equal(B, 2.0 * np.eye(2))
    for K, r, u in (
        (nonnegative(1), 1.0, 0.1),
        (nonnegative(1), 0.1, 1.0),
        (interval([-1.0], [2.0]), 0.5, 0.1),
        (interval([-1.0], [2.0]), 0.5, -3.0),
        (interval([-1.0], [2.0]), 0.5, 3.0),
    ):
        rho, r, u = np.array([1.5]), np.array([r]), np.array([u])
        _, _, A, B = evaluate(name, K, rho, r, u)
        A_slope, B_slope = slopes(name, K, rho, r, u, np.ones(1), np.ones(1))
        np.testing.assert_allclose(A, A_slope, atol=1e-8)
        np.testing.assert_allclose(B, B_slope, atol=1e-8)


def test_slopes_of_fischer_burmeister_are_finite_where_it_has_a_kink():
    """x² + y² on the boundary of its cone: at the origin, and with r and u_hat on the same ray."""
    K, rho = friction((2,), [[0.5]]), np.ones(3)
    for r, u in (
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        ([2.0, 0.6, 0.8], [0.0, 0.0, 0.0]),
        ([2.0, 0.6, 0.8], [0.0, 0.6, 0.8]),
        ([0.0, 0.0, 0.0], [0.0, 3.0, 4.0]),
    ):
        _, F, A, B = evaluate("fischer_burmeister", K, rho, np.array(r), np.array(u))
        assert np.isfinite(F).all()
        assert np.abs(A).max() < 10.0
        assert np.abs(B).max() < 10.0
        assert np.linalg.matrix_rank(np.hstack([A, B])) == 3
