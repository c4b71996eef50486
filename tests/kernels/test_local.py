"""One contact by itself: the answer solves the law to rounding, whatever W_ii and mu."""

import numpy as np
import pytest

from stickslip import ContactProblem, coulomb, judge
from stickslip.problem import free, friction, interval, nonnegative
from stickslip.solvers.gauss_seidel import NSGS

FAMILIES = [(1,), (2,), (2, 2), (2, 1), (2, 2, 1), (1, 1, 1)]


def random_contact(rng, size, kind):
    """W_ii, q of one contact that presses: regular, ill-conditioned, unsymmetric or singular."""
    A = rng.normal(size=(size, size + 2))
    if kind == "ill-conditioned":
        A *= 10.0 ** rng.uniform(-3, 3, size=(size, 1))
    if kind == "singular":
        A = A[:, : size - 1]
    W = A @ A.T
    if kind == "unsymmetric":
        noise = rng.normal(size=(size, size))
        W += 0.5 * np.linalg.eigvalsh(W)[0] / np.linalg.norm(noise) * noise  # still positive definite
    q = rng.normal(size=size)
    if kind == "singular":
        q = W @ q
    q *= -np.sign(q[0])
    return W, q


@pytest.mark.parametrize("groups", FAMILIES, ids=str)
@pytest.mark.parametrize("kind", ["regular", "ill-conditioned", "unsymmetric"])
def test_one_sweep_solves_one_contact_to_rounding(groups, kind):
    rng = np.random.default_rng(sum(groups) + len(kind))
    solver = NSGS(tolerance=1e-12, max_iterations=1)
    worst = 0.0
    for _ in range(400):
        W, q = random_contact(rng, 1 + sum(groups), kind)
        mu = 10.0 ** rng.uniform(-2, 1, size=len(groups))
        mu[rng.random(len(groups)) < 0.1] = 0.0
        solution = solver.solve(ContactProblem(W, q, friction(groups, [mu])))
        worst = max(worst, solution.residuals.natural_scaled)
    loose = kind == "ill-conditioned" and groups not in ((1,), (2,))
    assert worst <= (1e-9 if loose else 1e-13)


@pytest.mark.parametrize("groups", [(1,), (2,)], ids=str)
def test_singular_coulomb_contacts_are_solved_in_one_sweep(groups):
    rng = np.random.default_rng(5)
    solver = NSGS(tolerance=1e-12, max_iterations=1)
    for _ in range(1000):
        W, q = random_contact(rng, 1 + sum(groups), "singular")
        mu = 10.0 ** rng.uniform(-2, 1)
        solution = solver.solve(ContactProblem(W, q, friction(groups, [[mu]])))
        assert solution.ok, solution


@pytest.mark.parametrize("groups", [(2, 2), (2, 1)], ids=str)
def test_singular_cones_of_several_groups_take_a_few_proximal_sweeps(groups):
    """A tangent that cannot move, as when a 2D problem is written in 3D."""
    rng = np.random.default_rng(6)
    size = 1 + sum(groups)
    for _ in range(200):
        W, q = random_contact(rng, size, "regular")
        W[2, :], W[:, 2], q[2] = 0.0, 0.0, 0.0
        mu = rng.uniform(0.1, 1.0, size=len(groups))
        problem = ContactProblem(W, q, friction(groups, [mu]))
        assert NSGS(tolerance=1e-10, max_iterations=50).solve(problem).ok


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1e6])
@pytest.mark.parametrize("W_ii", [np.eye(3), np.diag([1.0, 2.0, 3.0]), np.ones((3, 3)) + np.eye(3)], ids=str)
def test_stick_slip_and_separation_in_any_units(scale, W_ii):
    q = np.array([-1.0, 0.8, 0.6])
    states = []
    for mu in (0.01, 0.2, 5.0):
        solution = NSGS(tolerance=1e-12).solve(ContactProblem(W_ii * scale, q, coulomb([mu])))
        assert solution.ok
        states.append(solution.states[0])
    assert states[0] == "slipping"
    assert states[-1] == "sticking"
    apart = NSGS().solve(ContactProblem(W_ii * scale, -q, coulomb([0.5])))
    assert apart.states[0] == "separating"
    assert (apart.r == 0.0).all()


def test_a_contact_that_cannot_move_stays_at_zero_and_the_judge_says_so():
    pressed = ContactProblem(np.zeros((3, 3)), [-1.0, 0.0, 0.0], coulomb([0.5]))
    solution = NSGS().solve(pressed)
    assert not solution.ok
    assert solution.status.name == "STALLED"
    assert judge(pressed, solution.r).natural == pytest.approx(1.0)
    apart = ContactProblem(np.zeros((3, 3)), [1.0, 0.2, 0.0], coulomb([0.5]))
    assert NSGS().solve(apart).ok


@pytest.mark.parametrize("w", [2.0, 0.0, -1.5])
@pytest.mark.parametrize("q", [-1.0, 0.0, 1.0])
def test_one_component_boxes_of_any_sign(w, q):
    for K in (nonnegative(1), interval([-2.0], [3.0]), interval([1.0], [1.0])):
        problem = ContactProblem([[w]], [q], K)
        solution = NSGS().solve(problem)
        solvable = K.upper[0] < np.inf or w > 0.0 or q >= 0.0
        assert solution.ok == solvable, (w, q, K, solution)


def test_free_blocks_are_solved_whole_even_when_singular():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(6, 4))
    problem = ContactProblem(A @ A.T, A @ rng.normal(size=4), free(6))
    assert NSGS(tolerance=1e-12, max_iterations=2).solve(problem).ok
