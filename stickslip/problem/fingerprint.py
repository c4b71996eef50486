"""Hash of a problem: equal numbers have equal hashes, whatever their storage."""

import hashlib
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from stickslip.problem.box import BoxProblem
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.operator import BlockDelassus, BodyDelassus


def fingerprint(problem: ContactProblem | GlobalProblem | BoxProblem) -> str:
    """Return the SHA-256 hash of the numbers of a problem.

    Stored zeros and the storage of matrices do not affect the hash. A matrix-free W is identified by its rows
    over bodies, without forming their product.

    Example:

        problem = ss.ContactProblem(np.eye(3), [-1.0, 0.0, 0.0], ss.coulomb([0.5]))
        print(ss.fingerprint(problem)[:12])
    """
    digest = hashlib.sha256(type(problem).__name__.encode())
    for array in _arrays(problem):
        digest.update(str(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _arrays(problem: ContactProblem | GlobalProblem | BoxProblem) -> Iterator[np.ndarray]:
    if isinstance(problem, BoxProblem):
        yield from _matrix(problem.A)
        yield from (problem.b, problem.lower, problem.upper)
        return
    yield np.frombuffer(problem.level.value.encode(), np.uint8)
    yield from problem.K.arrays
    if isinstance(problem, ContactProblem):
        W = problem.W
        if isinstance(W, BodyDelassus):
            yield np.frombuffer(b"over bodies", np.uint8)
            yield from _matrix(W.sparse())
        else:
            yield from _matrix(W.sparse() if isinstance(W, BlockDelassus) else W.dense())
        yield problem.u_free
        return
    for matrix in (problem.M.sparse, problem.H_sparse(), problem.G_sparse()):
        yield from _matrix(matrix)
    yield from (problem.f, problem.u_bias, problem.g_bias)


def _matrix(matrix: np.ndarray | sp.csr_array) -> Iterator[np.ndarray]:
    csr = sp.csr_array(matrix, copy=True)
    csr.sum_duplicates()
    csr.eliminate_zeros()
    yield np.array(csr.shape, np.int64)
    yield from (csr.indptr.astype(np.int64), csr.indices.astype(np.int64), csr.data.astype(np.float64))
