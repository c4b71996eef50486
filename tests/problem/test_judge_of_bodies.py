"""The judge's one call for contacts of bodies says what its general way says."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.problem.residuals import examine


def packed(seed):
    rng = np.random.default_rng(seed)
    count, nc = 5, 9
    M = np.array([A @ A.T + np.eye(6) for A in rng.normal(size=(count, 6, 6))])
    first = rng.integers(0, count, nc)
    second = np.where(rng.random(nc) < 0.4, -1, (first + rng.integers(1, count, nc)) % count)
    K = (
        ss.coulomb(rng.uniform(0.0, 1.0, nc))
        if seed % 2
        else ss.problem.rolling(np.full(nc, 0.5), np.full(nc, 0.1))
    )
    rows = rng.normal(size=(K.size, 2, 6))
    f, bias = rng.normal(size=6 * count), rng.normal(size=K.size)
    blocks = ss.problem.contact_blocks(np.stack([first, second], axis=1), rows, K)
    general = ss.GlobalProblem(M, f, blocks.sparse(count), bias, K)
    return ss.GlobalProblem(M, f, blocks, bias, K), general, rng.normal(size=K.size), rng.normal(size=f.size)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("given", [False, True])
def test_one_call_for_bodies_agrees_with_the_general_way(seed, given):
    bodies, general, r, v = packed(seed)
    found, u = examine(bodies, r, v if given else None, None)
    expected, u_general = examine(general, r, v if given else None, None)
    np.testing.assert_allclose(u, u_general, rtol=1e-11, atol=1e-12)
    for name in ("natural", "natural_scaled", "impulse", "velocity", "work", "approach", "local"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9), name
    assert found.worst == expected.worst
    if given:
        assert found.equilibrium == pytest.approx(expected.equilibrium, rel=1e-9)
    else:
        assert max(found.equilibrium, expected.equilibrium) < 1e-13


def test_a_velocity_that_is_not_the_impulses_is_seen():
    bodies, _, r, _ = packed(1)
    assert ss.judge(bodies, r).equilibrium < 1e-13
    assert ss.judge(bodies, r, v=np.zeros(30)).equilibrium > 0.1


def test_numbers_that_are_not_finite_are_not_judged_good():
    bodies, _, r, _ = packed(1)
    r[3] = np.nan
    assert ss.judge(bodies, r).error == np.inf
