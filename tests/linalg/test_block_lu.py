"""Block LU over graphs of bodies and joints against dense factors, and its fill."""

import numpy as np
import pytest

from stickslip.kernels.variational import block_lu as kernels
from stickslip.linalg.block_lu import block_plan


def factored(plan, blocks, shift=0.0):
    """Factors of a matrix with `shift` (N, 6) on its diagonal, and how many singular blocks."""
    lu = kernels.LU(plan.arrays, blocks.copy(), np.empty((plan.count, 6), np.int64))
    lu.blocks[: plan.count, np.arange(6), np.arange(6)] += shift
    return lu, kernels.factor(lu)


def made(seed):
    """Blocks of a random graph of bodies and joints, and the same matrix dense."""
    rng = np.random.default_rng(seed)
    bodies, joints = int(rng.integers(1, 8)), int(rng.integers(0, 6))
    pairs = []
    for j in range(joints):
        a, b = rng.integers(bodies, size=2)
        pairs.append((int(a), bodies + j))
        if a != b:
            pairs.append((bodies + j, int(b)))
    for a, b in rng.integers(bodies, size=(3, 2)):
        if a != b:
            pairs += [(int(a), int(b)), (int(b), int(a))]
    count = bodies + joints
    plan = block_plan(count, pairs, np.arange(count) >= bodies)
    blocks, dense = np.zeros((plan.blocks, 6, 6)), np.zeros((6 * count, 6 * count))
    held = int(rng.integers(1, 6))  # rows of every joint; the others are padding
    for k in range(count):
        blocks[k] = rng.normal(size=(6, 6)) + 5.0 * np.eye(6)
        if k >= bodies:
            blocks[k] = np.diag([0.0] * held + [1.0] * (6 - held))
    for e, (a, b) in enumerate(pairs):
        if {a, b} in [set(pair) for pair in pairs[:e]]:
            continue
        for place, row, column in ((plan.places[e, 0], a, b), (plan.places[e, 1], b, a)):
            block = rng.normal(size=(6, 6))
            block[held:] *= row < bodies
            block[:, held:] *= column < bodies
            blocks[place] = block
            dense[6 * row : 6 * row + 6, 6 * column : 6 * column + 6] = block
    for k in range(count):
        dense[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = blocks[k]
    return plan, blocks, dense, rng.normal(size=(count, 6, 3))


@pytest.mark.parametrize("seed", [s for s in range(13) if s != 9])  # 9 holds more than it can move
def test_solves_agree_with_dense_ones(seed):
    plan, blocks, dense, b = made(seed)
    condition = np.linalg.cond(dense)
    assert condition < 1e9
    lu, singular = factored(plan, blocks)
    assert singular == 0
    bound = 1e-13 * condition
    for k in range(3):
        x = np.ascontiguousarray(b[:, :, k])
        kernels.solve(lu, x)
        expected = np.linalg.solve(dense, b[:, :, k].reshape(-1))
        np.testing.assert_allclose(x.reshape(-1), expected, atol=bound, rtol=bound)


def test_a_chain_has_no_fill_beyond_its_joints():
    n = 50
    pairs = [(i, n + i) for i in range(n)] + [(i, n + i + 1) for i in range(n - 1)]
    plan = block_plan(2 * n, pairs, np.arange(2 * n) >= n)
    assert plan.blocks == 2 * n + 2 * len(pairs)
    seen = {int(k): at for at, k in enumerate(plan.arrays.order)}
    first = {j: min(seen[a] for a, b in pairs if b == j) for j in range(n, 2 * n)}
    assert all(first[j] < seen[j] for j in first)  # a joint waits for one of its bodies


def test_redundant_rows_are_solved_by_refinement():
    rng = np.random.default_rng(3)
    plan = block_plan(3, [(0, 1), (0, 2)], [False, True, True])
    blocks, rows = np.zeros((plan.blocks, 6, 6)), rng.normal(size=(6, 6))
    blocks[0] = np.diag(rng.uniform(1, 2, 6))
    dense = np.zeros((3, 6, 3, 6))
    for k in range(2):  # the same three rows twice
        blocks[plan.places[k, 0]][:, :3], blocks[plan.places[k, 1]][:3] = -rows[:3].T, rows[:3]
        blocks[1 + k, 3:, 3:] = np.eye(3)
        dense[0, :, 1 + k], dense[1 + k, :, 0] = blocks[plan.places[k, 0]], blocks[plan.places[k, 1]]
    for k in range(3):
        dense[k, :, k] = blocks[k]
    shift = np.zeros((3, 6))
    shift[1:, :3] = -1e-10
    right = np.zeros((3, 6))
    right[0] = rng.normal(size=6)
    lu, _ = factored(plan, blocks, shift)
    x = np.zeros((3, 6))
    for _ in range(4):
        left = right - np.einsum("aibj,bj->ai", dense, x)
        kernels.solve(lu, left)
        x += left
    held = rows[:3] @ x[0]
    assert np.abs(held).max() < 1e-13
    pulled = blocks[0] @ x[0] - rows[:3].T @ (x[1, :3] + x[2, :3])
    np.testing.assert_allclose(pulled, right[0], atol=1e-9)


def test_what_is_no_graph_is_refused():
    for pairs, waits, said in (
        ([(0, 0)], [False, False], "itself"),
        ([(0, 2)], [False, False], "2 nodes"),
        ([(0, 1)], [False], "one per node"),
    ):
        with pytest.raises(ValueError, match=said):
            block_plan(2, pairs, waits)
