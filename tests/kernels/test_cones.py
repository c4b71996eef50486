"""Projections on every set: membership, idempotence, Moreau, rotation, mu = 0, all scales."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stickslip import coulomb
from stickslip.problem import free, friction, interval, nonnegative, rolling, torsional

FAMILIES = [(1,), (2,), (2, 2), (2, 1), (2, 2, 1), (3,), (1, 1, 1)]
MU = st.one_of(st.just(0.0), st.floats(1e-6, 1e3), st.just(1.0))
SCALE = st.sampled_from([1e-200, 1e-12, 1.0, 1e9, 1e200])


@st.composite
def cone_and_point(draw):
    groups = draw(st.sampled_from(FAMILIES))
    mu = draw(st.lists(MU, min_size=len(groups), max_size=len(groups)))
    size = 1 + sum(groups)
    x = np.array(draw(st.lists(st.floats(-10, 10), min_size=size, max_size=size)))
    return friction(groups, [mu]), groups, np.array(mu), x * draw(SCALE)


def parts(groups, x):
    ends = np.cumsum((1, *groups))
    return x[0], [x[a:b] for a, b in pairwise(ends)]


def size(x):
    big = np.abs(x).max(initial=0.0)
    return big * np.linalg.norm(x / big) if big else 0.0


def in_cone(groups, mu, x, slack):
    n, tangents = parts(groups, x)
    return n >= -slack and all(size(t) <= m * n + slack * (1 + m) for m, t in zip(mu, tangents, strict=True))


def in_dual(groups, mu, y, slack):
    n, tangents = parts(groups, y)
    reach = sum(m * size(t) for m, t in zip(mu, tangents, strict=True))
    return reach <= n + slack * (1 + sum(mu))


@given(cone_and_point())
@example((friction((2,), [[0.0]]), (2,), np.array([0.0]), np.array([-1.0, 0.0, 0.0])))
@example((friction((2, 2), [[0.0, 0.0]]), (2, 2), np.zeros(2), np.array([-1.0, 0.0, 0.0, 0.0, 0.0])))
@example((friction((2, 2), [[0.0, 1.0]]), (2, 2), np.array([0.0, 1.0]), np.array([1.0, 3.0, 4.0, 2.0, 0.0])))
def test_projection_lands_in_the_cone_and_stays(case):
    K, groups, mu, x = case
    p = K.project(x)
    slack = 4e-15 * size(x)
    assert in_cone(groups, mu, p, slack)
    assert size(K.project(p) - p) <= slack


@given(cone_and_point())
def test_moreau_decomposition(case):
    """x = P_K(x) - P_K*(-x), and the two parts are orthogonal."""
    K, groups, mu, x = case
    scale = size(x) or 1.0
    p, d = K.project(x), K.project_dual(-x)
    assert size(x - (p - d)) <= 1e-14 * scale
    assert in_dual(groups, mu, d, 1e-14 * scale)
    assert abs((p / scale) @ (d / scale)) <= 1e-13 * (1 + mu.max())


@given(cone_and_point(), st.integers(0, 2**32 - 1))
def test_no_point_of_the_cone_is_nearer(case, seed):
    K, _, _, x = case
    scale = size(x) or 1.0
    p = K.project(x)
    rng = np.random.default_rng(seed)
    other = K.project(p + scale * rng.normal(size=x.size))
    assert size(x - p) <= size(x - other) * (1 + 1e-13) + 1e-14 * scale


@given(cone_and_point(), st.floats(0, 6.28))
def test_rotating_a_group_rotates_the_projection(case, angle):
    K, groups, _, x = case
    turn = np.eye(x.size)
    at = 1
    for g in groups:
        if g >= 2:
            c, s = np.cos(angle), np.sin(angle)
            turn[at : at + 2, at : at + 2] = [[c, -s], [s, c]]
        at += g
    assert size(K.project(turn @ x) - turn @ K.project(x)) <= 1e-14 * (size(x) or 1.0)


@given(cone_and_point())
def test_shift_brings_separating_velocities_into_the_dual(case):
    """u_N >= 0 exactly when the De Saxcé velocity lies in K*."""
    K, groups, mu, u = case
    shifted = K.shifted(u)
    reach = sum(m * size(t) for m, t in zip(mu, parts(groups, u)[1], strict=True))
    assert shifted[0] == pytest.approx(u[0] + reach, rel=1e-14, abs=0.0)
    assert (shifted[1:] == u[1:]).all()
    if u[0] >= 0.0:
        assert in_dual(groups, mu, shifted, 1e-14 * size(shifted))


def test_simple_blocks():
    K = free(2) + nonnegative(2) + interval([-1.0, 2.0], [1.0, np.inf])
    x = np.array([-3.0, 4.0, -5.0, 6.0, -7.0, 8.0])
    assert K.project(x).tolist() == [-3.0, 4.0, 0.0, 6.0, -1.0, 8.0]
    assert K.project_dual(x).tolist() == [0.0, 0.0, 0.0, 6.0, -7.0, 8.0]
    assert K.contains(K.project(x))
    assert not K.contains(x)


def test_joined_sets_project_block_by_block():
    rng = np.random.default_rng(3)
    pieces = [coulomb([0.3, 0.0]), rolling([0.5], [0.1]), torsional([0.2], [0.3]), coulomb([1.0], 2), free(3)]
    joined = pieces[0] + pieces[1] + pieces[2] + pieces[3] + pieces[4]
    x = rng.normal(size=joined.size)
    cut = np.split(x, np.cumsum([p.size for p in pieces])[:-1])
    expected = np.concatenate([p.project(part) for p, part in zip(pieces, cut, strict=True)])
    assert (joined.project(x) == expected).all()
    assert [b.kind for b in joined] == ["coulomb3d", "coulomb3d", "rolling", "torsional", "coulomb2d", "free"]
    assert joined.family is None
    assert coulomb([0.1, 0.2]).family == (2,)
