"""M + H D H' and [M H; H' -D] from contact blocks, straight into the blocks of the factor."""

import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss
from stickslip.linalg.bodies import body_pattern, saddle_pattern
from stickslip.linalg.symbolic import analyse
from stickslip.problem.jacobian import contact_blocks
from stickslip.scenes import make


@pytest.mark.parametrize("spheres", [1, 2, 30])
@pytest.mark.parametrize("mu_roll", [None, 1e-3])
@pytest.mark.parametrize("form", ["one number", "per component", "blocks", "flat"])
def test_is_what_scipy_makes_of_it(spheres, mu_roll, form):
    problem = make("packing-problem", spheres=spheres, mu_roll=mu_roll)
    H, M, n = problem.H, problem.M, problem.H.size
    rng, d = np.random.default_rng(0), 3 if mu_roll is None else 5
    random = rng.normal(size=(n // d, d, d))
    blocks = random @ random.transpose(0, 2, 1)
    D, full = {
        "one number": (2.5, 2.5 * sp.eye_array(n)),
        "per component": (np.arange(1.0, n + 1), sp.diags_array(np.arange(1.0, n + 1))),
        "blocks": (blocks, sp.block_diag(blocks)),
        "flat": (blocks.reshape(-1), sp.block_diag(blocks)),
    }[form]
    pattern = body_pattern(H.bodies, spheres)
    values = pattern.values(M.matrix, H, D)
    Hs = H.sparse(spheres)
    expected = (M.sparse + Hs @ full @ Hs.T).toarray()
    np.testing.assert_allclose(
        pattern.sparse(values).toarray(), expected, atol=1e-12 * np.abs(expected).max()
    )
    np.testing.assert_array_equal(pattern.values(M.matrix, H, D, out=np.empty_like(values)), values)
    b = np.ones(pattern.size)
    x = analyse(pattern).cholesky(values).solve(b)
    np.testing.assert_allclose(expected @ x, b, atol=1e-9)
    saddle = saddle_pattern(H.bodies, H.offset, spheres)
    expected = sp.block_array([[M.sparse, Hs], [Hs.T, -full]]).toarray()
    np.testing.assert_array_equal(saddle.sparse(saddle.values(M.matrix, H, D)).toarray(), expected)


def test_bodies_in_the_plane_contacts_of_two_widths_and_pairs_met_twice():
    rng = np.random.default_rng(0)
    K = ss.coulomb([0.3, 0.4], 2) + ss.problem.nonnegative(1) + ss.coulomb([0.1], 2)
    bodies = np.array([[0, 1], [1, 0], [2, -1], [-1, 1]])
    H = contact_blocks(bodies, rng.normal(size=(K.size, 2, 3)), K)
    mass = np.tile(np.eye(3), (3, 1, 1))
    full = [rng.normal(size=(d, d)) for d in (2, 2, 1, 2)]
    full = [a @ a.T for a in full]
    pattern = body_pattern(bodies, 3, 3)
    assert pattern.edge.tolist() == [3, 3, -1, -1]
    values = pattern.values(mass, H, np.concatenate([a.reshape(-1) for a in full]))
    Hs = H.sparse(3).toarray()
    expected = np.eye(9) + Hs @ sp.block_diag(full).toarray() @ Hs.T
    np.testing.assert_allclose(pattern.sparse(values).toarray(), expected, atol=1e-12)
    saddle = saddle_pattern(bodies, H.offset, 3, 3)
    for D, weight in ((2.0, 2.0 * np.eye(7)), (np.arange(7.0), np.diag(np.arange(7.0)))):
        expected = np.block([[np.eye(9), Hs], [Hs.T, -weight]])
        np.testing.assert_array_equal(saddle.sparse(saddle.values(mass, H, D)).toarray(), expected)
    flat = np.concatenate([a.reshape(-1) for a in full])
    expected = np.block([[np.eye(9), Hs], [Hs.T, -sp.block_diag(full).toarray()]])
    np.testing.assert_allclose(saddle.sparse(saddle.values(mass, H, flat)).toarray(), expected, atol=1e-14)
    assert saddle.negative.tolist() == [False] * 3 + [True] * 4


def test_nothing_at_all():
    pattern = body_pattern(np.empty((0, 2), int), 0)
    H = contact_blocks(np.empty((0, 2), int), np.empty((0, 2, 6)), ss.coulomb([]))
    factor = analyse(pattern).cholesky(pattern.values(np.empty((0, 6, 6)), H, 1.0))
    assert factor.solve(np.empty(0)).shape == (0,)


def test_what_does_not_fit_is_refused():
    problem = make("packing-problem", spheres=5)
    H, M = problem.H, problem.M.matrix
    pattern = body_pattern(H.bodies, 5)
    with pytest.raises(ValueError, match="M has shape"):
        pattern.values(M[1:], H, 1.0)
    with pytest.raises(ValueError, match="D has 2 numbers"):
        pattern.values(M, H, [1.0, 2.0])
    with pytest.raises(ValueError, match="offset must rise"):
        saddle_pattern(H.bodies, H.offset[1:], 5)
    with pytest.raises(ValueError, match="other widths"):
        saddle_pattern(H.bodies, 2 * np.arange(len(H.bodies) + 1), 5).values(M, H, 1.0)
    with pytest.raises(ValueError, match="contacts"):
        body_pattern(H.bodies[1:], 5).values(M, H, 1.0)
