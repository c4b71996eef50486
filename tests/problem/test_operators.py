"""W in three forms behind one interface: the same numbers from each."""

import numpy as np
import pytest
import scipy.sparse as sp

from stickslip import ContactProblem, GlobalProblem, coulomb, fingerprint
from stickslip.problem import contact_blocks, free, nonnegative, rolling
from stickslip.problem.convert import reduce_to_contacts
from stickslip.problem.operator import BlockDelassus, BodyDelassus, DenseDelassus

MIXED = coulomb([0.3, 0.2]) + nonnegative(3) + free(2, 1) + rolling([0.1], [0.2])


def sparse_matrix(K, seed=0, density=0.2):
    rng = np.random.default_rng(seed)
    return sp.csr_array(sp.random_array((K.size, K.size), density=density, rng=rng) + sp.eye_array(K.size))


def body_problem(K, seed=1, count=4):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, count, len(K))
    second = np.where(rng.random(len(K)) < 0.3, -1, (first + 1) % count)
    A = rng.normal(size=(count, 6, 6))
    M = A @ A.transpose(0, 2, 1) + np.eye(6)
    H = contact_blocks(np.stack([first, second], 1), rng.normal(size=(K.size, 2, 6)), K)
    return GlobalProblem(M, rng.normal(size=6 * count), H, rng.normal(size=K.size), K)


@pytest.mark.parametrize("K", [coulomb(np.ones(5)), MIXED, coulomb([])], ids=["uniform", "mixed", "empty"])
def test_dense_and_blocks_agree(K):
    matrix = sparse_matrix(K) if K.size else sp.csr_array((0, 0))
    blocks, dense = (
        ContactProblem(matrix, np.ones(K.size), K),
        ContactProblem(matrix.toarray(), np.ones(K.size), K),
    )
    assert isinstance(blocks.W, BlockDelassus)
    assert isinstance(dense.W, DenseDelassus)
    r = np.random.default_rng(2).normal(size=K.size)
    np.testing.assert_allclose(blocks.velocity(r), dense.velocity(r), atol=1e-14)
    assert (blocks.W.diagonal() == dense.W.diagonal()).all()
    assert (blocks.W.dense() == dense.W.dense()).all()
    again = dense.W.blocks(K)
    for ours, theirs in zip(again.arrays, blocks.W.arrays, strict=True):
        assert ours.shape == theirs.shape
        assert (ours == theirs).all()
    assert fingerprint(blocks) == fingerprint(dense)
    assert blocks.W.blocks(K) is blocks.W


def test_blocks_follow_another_partition():
    K = coulomb(np.ones(2))
    W = ContactProblem(sparse_matrix(K), np.zeros(6), K).W
    other = W.blocks(nonnegative(6))
    assert (other.dense() == W.dense()).all()
    assert (np.diff(other.offset) == 1).all()


@pytest.mark.parametrize("K", [coulomb(np.ones(6)), MIXED], ids=["uniform", "mixed"])
def test_matrix_free_over_bodies_is_the_same_operator(K):
    problem = body_problem(K)
    reduced = reduce_to_contacts(problem).problem
    assert isinstance(reduced.W, BodyDelassus)
    plain = GlobalProblem(problem.M.sparse, problem.f, problem.H_sparse(), problem.u_bias, K)
    formed = reduce_to_contacts(plain).problem
    assert not isinstance(formed.W, BodyDelassus)
    np.testing.assert_allclose(reduced.W.dense(), formed.W.dense(), atol=1e-12)
    np.testing.assert_allclose(reduced.W.diagonal(), np.diag(formed.W.dense()), atol=1e-12)
    np.testing.assert_allclose(reduced.u_free, formed.u_free, atol=1e-12)
    r = np.random.default_rng(3).normal(size=K.size)
    np.testing.assert_allclose(reduced.velocity(r), formed.velocity(r), atol=1e-11)
    np.testing.assert_allclose(reduced.W.blocks(K).dense(), formed.W.dense(), atol=1e-12)


def test_mass_matrix_in_three_forms():
    problem = body_problem(coulomb(np.ones(4)))
    M = problem.M
    v = np.random.default_rng(0).normal(size=M.size)
    for form in (M.sparse, M.sparse.toarray()):
        other = GlobalProblem(form, problem.f, problem.H_sparse(), problem.u_bias, problem.K).M
        np.testing.assert_allclose(other.multiply(v), M.multiply(v), atol=1e-13)
        np.testing.assert_allclose(other.solve(v), M.solve(v), atol=1e-12)
    F = M.inverse_root
    np.testing.assert_allclose(np.linalg.inv(M.matrix), F @ F.transpose(0, 2, 1), atol=1e-12)
    np.testing.assert_allclose(M.multiply(M.solve(v)), v, atol=1e-12)


def test_large_coupled_mass_goes_through_sparse_factors():
    n = 300
    M = sp.diags_array(
        [np.full(n - 1, -1.0), np.full(n, 2.5), np.full(n - 1, -1.0)], offsets=[-1, 0, 1]
    ).tocsr()
    H = sp.csr_array(np.eye(n)[:, :6])
    problem = GlobalProblem(M, np.ones(n), H, np.zeros(6), coulomb([0.3, 0.3]))
    W = reduce_to_contacts(problem).problem.W.dense()
    np.testing.assert_allclose(W, np.linalg.inv(M.toarray())[:6, :6], atol=1e-12)


def test_fingerprint_sees_every_number_and_no_storage():
    K = coulomb([0.3, 0.2])
    W, q = sparse_matrix(K).toarray(), np.arange(6.0)
    base = fingerprint(ContactProblem(W, q, K))
    padded = sp.csr_array(W)
    assert fingerprint(ContactProblem(padded, q, K)) == base
    assert fingerprint(ContactProblem(W, np.nextafter(q, 9.0), K)) != base
    assert fingerprint(ContactProblem(W, q, coulomb([0.3, 0.3]))) != base
    assert fingerprint(ContactProblem(W, q, K, "acceleration")) != base
