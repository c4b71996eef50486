"""Factorisations that threads share: the same bits for any number of threads, whatever the room."""

import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss
from stickslip import scenes
from stickslip.compilation import JIT
from stickslip.linalg.bodies import body_pattern
from stickslip.linalg.factor import NotPositiveDefinite
from stickslip.linalg.front_lu import BlockLU
from stickslip.linalg.symbolic import analyse

pytestmark = pytest.mark.skipif(not JIT, reason="threads are for compiled kernels")
SPHERES = 2_200


@pytest.fixture(scope="module")
def matrix():
    """M + H H' of a packing, its pattern and values."""
    problem = scenes.make("packing-problem", spheres=SPHERES)
    M = problem.M.matrix
    pattern = body_pattern(problem.H.bodies, SPHERES)
    values = pattern.values(M, problem.H, float(np.median(M[:, 0, 0])))
    return pattern, values, pattern.sparse(values)


def error(A, x, b):
    return float(np.abs(A @ x - b).max() / np.abs(b).max())


def test_cholesky_by_any_number_of_threads(matrix):
    pattern, values, A = matrix
    b, found = np.random.default_rng(0).normal(size=pattern.size), []
    for room in (1, 2):
        with ss.use_threads(room):
            symbolic = analyse(pattern)
        assert any(symbolic.sharing.is_above)
        assert len(symbolic.sharing.parts) > 4
        for threads in (1, 3):
            with ss.use_threads(threads):
                found.append(symbolic.cholesky(values).solve(b))
    assert error(A, found[0], b) < 1e-11
    assert all(x.tobytes() == found[0].tobytes() for x in found)


def test_lu_by_any_number_of_threads(matrix):
    pattern, _, A = matrix
    blocks = sp.bsr_array(sp.csr_array(A), blocksize=(6, 6))
    blocks.sort_indices()
    random = np.random.default_rng(0)
    data = blocks.data + 0.05 * np.abs(blocks.data).max() * random.normal(size=blocks.data.shape)
    A = sp.bsr_array((data, blocks.indices, blocks.indptr), shape=A.shape)
    b, found = random.normal(size=pattern.size), []
    for threads in (1, 2):
        with ss.use_threads(threads):
            lu = BlockLU(6 * np.arange(SPHERES + 1), blocks.indptr, blocks.indices)
            assert lu.refactor(np.ascontiguousarray(data).reshape(-1))
            found.append(lu.solve(b))
    assert lu.fallbacks == 0
    assert error(A, found[0], b) < 1e-9
    assert found[0].tobytes() == found[1].tobytes()


def test_a_matrix_that_is_not_definite_names_the_same_row_on_any_number_of_threads(matrix):
    pattern, values, _ = matrix
    changed, told = np.array(values), set()
    for row in (17, SPHERES // 2):
        changed[row] -= 1e3 * np.abs(values).max() * np.eye(6)
    for threads in (1, 2):
        with ss.use_threads(threads), pytest.raises(NotPositiveDefinite) as refusal:
            analyse(pattern).cholesky(changed)
        told.add(str(refusal.value))
    assert len(told) == 1
