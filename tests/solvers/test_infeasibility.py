"""Finding certificates, and how a solver's claim becomes a status."""

import numpy as np
import pytest
from hard_problems import closing_walls, column, wall_against_a_fixed_body

from stickslip import BoxProblem, ContactProblem, Status, coulomb
from stickslip.problem import check_certificate, interval, nonnegative
from stickslip.problem.certificate import Certificate
from stickslip.problem.convert import reduce_to_contacts
from stickslip.problem.residuals import judge
from stickslip.solvers.certify import Attempt, certified
from stickslip.solvers.infeasibility import find_certificate, is_mechanical


def planted(seed, nc=25, velocities=30, closing=True, mu=0.5):
    """Contacts over random bodies; some of the normals are made to balance, the others are not."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(3 * nc, velocities)) * 10.0 ** rng.uniform(-1, 1, size=velocities)
    members = rng.choice(nc, 4, replace=False)
    weights = rng.uniform(0.5, 2.0, size=4)
    J[3 * members[0]] = -(weights[1:, None] * J[3 * members[1:]]).sum(axis=0) / weights[0]
    u_free = np.abs(rng.normal(size=3 * nc))  # everything else opens
    u_free[3 * members] = J[3 * members] @ rng.normal(size=velocities)
    u_free[3 * members[0]] += -0.5 if closing else 0.5
    return ContactProblem(J @ J.T, u_free, coulomb(np.full(nc, mu))), set(members.tolist())


@pytest.mark.parametrize("seed", range(20))
def test_a_planted_self_stress_is_found_and_is_the_only_one(seed):
    problem, members = planted(seed)
    found = find_certificate(problem)
    check = check_certificate(problem, found)
    assert check.accepted
    assert set(check.contacts) == members
    open_problem, _ = planted(seed, closing=False)
    assert find_certificate(open_problem) is None


def test_a_direction_in_which_impulses_grow_is_enough():
    problem, members = planted(3)
    _, vectors = np.linalg.eigh(problem.W.dense()[::3, ::3])
    direction = np.zeros(problem.size)
    direction[::3] = vectors[:, 0] * np.sign(vectors[:, 0].sum()) + 1e-6
    found = find_certificate(problem, direction)
    assert set(check_certificate(problem, found).contacts) == members
    assert find_certificate(problem, np.zeros(problem.size)) is not None


@pytest.mark.parametrize("dimension", [2, 3])
def test_cones_beyond_self_stress(dimension):
    """W_NN < 0: pushing closes the contact, whatever the friction, while mu |W_TN| <= -W_NN."""
    W = np.eye(dimension)
    W[0, :2] = -1.0, 0.8
    W[1, 0] = -0.3
    u_free = -np.ones(dimension)
    held = ContactProblem(W, u_free, coulomb([1.2], dimension))
    assert not is_mechanical(held.W)
    assert check_certificate(held, find_certificate(held)).accepted
    assert find_certificate(ContactProblem(W, u_free, coulomb([1.3], dimension))) is None


def test_bounded_forces_count():
    """u_0 = r_1 - 3 >= 0 needs r_1 >= 3."""
    for upper, proof in ((2.9, True), (3.1, False)):
        K = nonnegative(1) + interval([0.0], [upper])
        problem = ContactProblem([[0.0, 1.0], [-1.0, 0.0]], [-3.0, 0.0], K)
        found = find_certificate(problem)
        assert (found is not None) == proof


def test_nothing_to_look_at():
    assert find_certificate(ContactProblem(np.zeros((0, 0)), [], coulomb([]))) is None
    assert find_certificate(ContactProblem(np.eye(2), [1.0, -1.0], interval([-1.0] * 2, [1.0] * 2))) is None
    assert find_certificate(ContactProblem(np.eye(3), np.zeros(3), coulomb([0.5]))) is None
    assert find_certificate(ContactProblem(1e300 * np.eye(3), [-1e300, 0, 0], coulomb([0.5]))) is None


def claiming(certificate, status=Status.INFEASIBLE):
    def method(problem, guess, tolerance):
        claim = certificate(problem) if callable(certificate) else certificate
        return Attempt(np.zeros(problem.size), status, 1, 0.0, 0.0, certificate=claim)

    return method


JOINT = wall_against_a_fixed_body().problem
EQUATION = BoxProblem(
    np.array([[2.0, 0.0], [-1.0, 0.0]]), np.array([-2.0, -0.5]), np.array([-np.inf, 0.0]), np.full(2, np.inf)
)


@pytest.mark.parametrize(
    "problem",
    [
        closing_walls().problem,
        closing_walls(bodies=True).problem,
        reduce_to_contacts(closing_walls().problem).problem,
        column(np.ones(5), lid=0.1).problem,
        JOINT,
        EQUATION,
    ],
    ids=["global", "bodies", "local", "column", "joint", "box"],
)
@pytest.mark.parametrize("status", [Status.INFEASIBLE, Status.STALLED])
def test_an_accepted_certificate_is_the_status(problem, status):
    solution = certified("nsgs", claiming(find_certificate, status), problem, None, 1e-8)
    assert solution.status is Status.INFEASIBLE
    assert check_certificate(problem, solution.certificate).accepted
    assert "accepted" in solution.reason
    assert "INFEASIBLE" in repr(solution)


def test_a_claim_without_proof_is_a_stall():
    problem = reduce_to_contacts(closing_walls().problem).problem
    for claim in (None, Certificate(np.eye(9)[0])):
        solution = certified("nsgs", claiming(claim), problem, None, 1e-8)
        assert solution.status is Status.STALLED
        assert solution.certificate is None
        assert solution.reason
    kept = certified("nsgs", claiming(Certificate(np.eye(9)[0]), Status.MAX_ITERATIONS), problem, None, 1e-8)
    assert kept.status is Status.MAX_ITERATIONS


def test_a_solved_problem_is_solved_whatever_is_claimed():
    problem = ContactProblem(np.eye(3), [1.0, 0.0, 0.0], coulomb([0.5]))
    assert certified("nsgs", claiming(None), problem, None, 1e-8).status is Status.SOLVED


@pytest.mark.parametrize("size", [1e8, 1e14, 1e18])
def test_impulses_beside_which_closing_looks_like_rounding(size):
    """Found by a method or given as a guess: however large impulses are, walls that close are no answer."""
    problem, huge = reduce_to_contacts(closing_walls().problem).problem, np.tile([size, 0.0, 0.0], 3)

    def grown(problem, guess, tolerance, certificate=None):
        return Attempt(huge, Status.SOLVED, 100, 0.0, 0.0, certificate=certificate)

    def proving(problem, guess, tolerance):
        return grown(problem, guess, tolerance, find_certificate(problem))

    found = certified("nsgs", grown, problem, None, 1e-8)
    assert found.status is Status.STALLED
    assert "no solution" in found.reason
    assert certified("nsgs", grown, problem, huge, 1e-8).status is Status.STALLED
    assert not judge(problem, huge).solved(1e-8)
    assert certified("nsgs", proving, problem, None, 1e-8).status is Status.INFEASIBLE
