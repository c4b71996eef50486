"""Joints beside contacts in one problem: chains, loops, redundant rows, dry friction, stops."""

import numpy as np
import pytest

from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.jacobian import contact_blocks
from stickslip.problem.sets import coulomb, free, interval, nonnegative
from stickslip.solvers.registry import make

LINK, H = 0.1, 1e-3
"""Length of a link [m] and of a step [s]."""


def turned(x: np.ndarray) -> np.ndarray:
    """The matrix of x × ·, shape (3, 3)."""
    return np.cross(np.eye(3), x)


def held_points(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Rows of the velocity of a point at `first` and `second` of the centres of two bodies, (3, 2, 6)."""
    rows = np.zeros((3, 2, 6))
    for side, (arm, sign) in enumerate(((first, 1.0), (second, -1.0))):
        rows[:, side, :3], rows[:, side, 3:] = sign * np.eye(3), -sign * turned(arm).T
    return rows


def about(axes: tuple[int, ...]) -> np.ndarray:
    """Rows of the relative spin about these axes, shape (len(axes), 2, 6)."""
    rows = np.zeros((len(axes), 2, 6))
    for row, axis in enumerate(axes):
        rows[row, 0, 3 + axis], rows[row, 1, 3 + axis] = 1.0, -1.0
    return rows


def chain(
    links: int, *, hinge: bool = True, heavy: float = 1.0, friction: float = 0.0, stops: bool = False,
    loop: bool = False,
) -> GlobalProblem:  # fmt: skip
    """A chain along x that hangs by its first end, from random velocities; `loop` holds its last end too."""
    half, mass = np.array([0.5 * LINK, 0.0, 0.0]), np.ones(links)
    mass[-1] = heavy
    M = np.zeros((links, 6, 6))
    M[:, range(6), range(6)] = mass[:, None] * np.array([1.0, 1.0, 1.0, 1e-4, 1e-3, 1e-3])
    pairs, rows, sets = [], [], []
    for i in range(links):
        held = held_points(-half, half)
        held = np.concatenate([held, about((0, 2))]) if hinge else held
        pairs.append((i, i - 1))
        rows.append(held)
        sets.append(free(held.shape[0]))
        if friction:
            pairs.append((i, i - 1))
            rows.append(about((1,)))
            sets.append(interval(-H * friction, H * friction))
        if stops and i % 2:
            pairs.append((i, i - 1))
            rows.append(about((1,)))
            sets.append(nonnegative(1))
    if loop:
        pairs.append((links - 1, -1))
        rows.append(np.concatenate([held_points(half, half), about((0, 2))]))
        sets.append(free(5))
    K = sets[0]
    for one in sets[1:]:
        K = K + one
    v = np.random.default_rng(1).normal(scale=0.1, size=(links, 6))
    f = np.einsum("bij,bj->bi", M, v)
    f[:, 2] -= 9.81 * H * mass
    H_blocks = contact_blocks(np.array(pairs), np.concatenate(rows), K)
    return GlobalProblem(M, f.reshape(-1), H_blocks, np.zeros(K.size), K)


@pytest.mark.parametrize("links", [10, 100])
@pytest.mark.parametrize("kind", [{"hinge": False}, {}, {"heavy": 100.0}, {"loop": True}])
def test_joints_alone_are_one_linear_solve(links, kind):
    problem = chain(links, **kind)
    solution = make("auto", tolerance=1e-8).solve(problem)
    assert solution.ok
    assert [stage.solver for stage in solution.tried] == ["prox"]
    assert solution.iterations <= 3
    v_free = problem.M.solve(problem.f)
    u, u_free = (problem.H_sparse().T @ v for v in (solution.v, v_free))
    assert np.linalg.norm(u) < 1e-8 * max(np.linalg.norm(u_free), np.linalg.norm(solution.r))


@pytest.mark.parametrize(
    "kind", [{"friction": 1e-3}, {"friction": 1.0}, {"stops": True}, {"friction": 0.3, "stops": True}]
)
def test_chains_with_friction_and_stops_are_solved_without_sweeps(kind):
    for links in (10, 100):
        solution = make("auto", tolerance=1e-8).solve(chain(links, **kind))
        assert solution.ok
        assert {stage.solver for stage in solution.tried} <= {"prox", "ipm"}


def test_redundant_rows_have_bounded_impulses():
    """A bar on a plane's four hinges about one axis: 20 rows of rank 5, loads of order one."""
    M = np.diag([2.0, 2.0, 2.0, 0.1, 0.2, 0.3])[None]
    rows = [
        np.concatenate([held_points(np.array([0.0, y, 0.0]), np.zeros(3)), about((0, 2))]) for y in range(4)
    ]
    K = free(5, 5, 5, 5)
    H_blocks = contact_blocks(np.tile([0, -1], (4, 1)), np.concatenate(rows), K)
    problem = GlobalProblem(M, np.arange(1.0, 7.0), H_blocks, np.zeros(20), K)
    solution = make("auto", tolerance=1e-10).solve(problem)
    assert solution.ok
    assert np.abs(solution.r).max() < 10.0
    np.testing.assert_allclose(solution.v, [0, 0, 0, 0, 5.0 / 0.2, 0], atol=1e-8)


def test_contradicting_rows_are_not_called_solved():
    """Two joints that want one body at different speeds."""
    K = free(1, 1)
    problem = ContactProblem(np.ones((2, 2)), [1.0, -1.0], K)
    assert not make("auto", tolerance=1e-8).solve(problem).ok


def test_few_joints_among_many_contacts_leave_the_sweeps_first():
    rng = np.random.default_rng(3)
    K = coulomb(np.full(40, 0.5)) + free(3)
    J = rng.normal(size=(K.size, 200))
    problem = ContactProblem(J @ J.T / 200.0, rng.normal(size=K.size), K)
    solution = make("auto", tolerance=1e-8).solve(problem)
    assert solution.ok
    assert solution.tried[0].solver == "nsgs"


def test_the_interior_point_with_the_shift_takes_intervals():
    """Two bounds, a lower, an upper and none, against proximal Newton."""
    rng = np.random.default_rng(5)
    K = (
        interval([-0.3, 0.1, -np.inf, -np.inf, -0.2], [0.2, np.inf, 0.3, np.inf, 0.2])
        + coulomb([0.5])
        + free(2)
    )
    J = rng.normal(size=(K.size, 2 * K.size))
    problem = ContactProblem(J @ J.T, rng.normal(scale=5.0, size=K.size), K)
    found = make("ipm", tolerance=1e-10, algorithm="shift").solve(problem)
    assert found.ok
    np.testing.assert_allclose(found.r, make("prox", tolerance=1e-12).solve(problem).r, atol=1e-7)
