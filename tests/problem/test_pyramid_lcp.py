"""Friction on a pyramid: exact in 2D and along its corners, inside the cone everywhere."""

import numpy as np
import pytest
import scipy.sparse as sp
from closed_forms import KNOWN, block_on_slope
from conic import shift_loop
from random_problems import MIXED, bodies_in_a_row, random_problem

from stickslip import ContactProblem, ProblemError, coulomb, judge, scenes, solve
from stickslip.problem import dual_program, friction, interval, pyramid_lcp, torsional
from stickslip.problem.convert import change_coordinates, reduce_to_contacts, rescale

EVERY = (
    MIXED
    + interval([-1.0, -0.1, -np.inf], [0.7, 0.2, np.inf])
    + torsional([0.3, 0.0, 0.3], [0.2, 0.1, 0.0])
    + coulomb([0.0, 0.3], 2)
    + coulomb([0.0])
    + friction((2, 1, 2), [[0.2, 0.1, 0.05]])
)


def turned(problem, angle):
    """The same problem with tangents turned by `angle` [rad]."""
    c, s = np.cos(angle), np.sin(angle)
    Q = sp.block_diag([np.array([[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]])] * problem.contacts)
    return change_coordinates(problem, problem.K, sp.csr_array(Q), sp.csr_array(Q.T))


def on_pyramid(problem, facets, angle=0.0):
    """Impulses of `problem` with pyramids whose corners are turned by `angle` [rad]."""
    turn = turned(problem, angle)
    conversion = pyramid_lcp(turn.problem, facets)
    z = solve(conversion.problem, tolerance=1e-11).or_raise().r
    return turn.recover(conversion.recover(z).r).r


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("facets", [4, 10])
def test_two_dimensional_friction_is_exact(seed, facets):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(12, 12))
    problem = ContactProblem(
        A @ A.T / 12 + 0.5 * np.eye(12), rng.normal(size=12), coulomb(np.full(6, 0.4), 2)
    )
    conversion = pyramid_lcp(problem, facets)
    assert conversion.problem.size == 6 * 4
    assert conversion.problem.kind == "lcp"
    z = solve(conversion.problem, tolerance=1e-11).or_raise().r
    assert judge(problem, conversion.recover(z).r).error < 1e-9


@pytest.mark.parametrize(
    "name", ["slide 2D", "stick 2D", "stick", "slide", "frictionless", "spinning top", "mixed blocks"]
)
def test_closed_forms_that_a_pyramid_holds(name):
    """In 2D, sticking, without friction, and where everything slides along a corner."""
    known = KNOWN[name]
    conversion = pyramid_lcp(known.problem, 4)
    z = solve(conversion.problem, tolerance=1e-11).or_raise().r
    np.testing.assert_allclose(conversion.recover(z).r, known.r, atol=1e-9)


@pytest.mark.parametrize("facets", [3, 4, 5, 6, 7, 8, 16, 64])
def test_sliding_along_a_corner_is_exact_and_across_a_side_it_is_weaker(facets):
    """The box slides without opening whatever the pyramid; friction is cos(pi/m) mu N across a side, which an
    odd pyramid has where the other end of a corner would be."""
    whole = scenes.make("incline-problem", angle=25.0, mu=0.3)
    problem = rescale(reduce_to_contacts(whole).problem, 1e-3, 1e-3).problem
    N = 9.81 * np.cos(np.radians(25.0))
    shares = (1.0, np.cos(np.pi / facets))[:: -1 if facets % 2 else 1]
    for angle, share in zip((0.0, np.pi / facets), shares, strict=True):
        total = on_pyramid(problem, facets, angle).reshape(-1, 3).sum(axis=0)
        np.testing.assert_allclose(total, [N, -share * 0.3 * N, 0.0], atol=1e-7)


def test_direction_of_friction_is_first_order_and_its_power_second_order_in_the_facets():
    """Friction stands at a corner, up to pi/m away from the motion; the power it takes is off by 1 - cos."""
    known = block_on_slope(0.8, 0.3)
    side, power = [], []
    for facets in (4, 8, 16, 64):
        r = on_pyramid(known.problem, facets, 0.6 * np.pi / facets)
        limit = 0.3 * r[0]
        side.append(np.linalg.norm(r[1:] - known.r[1:]) / limit)
        power.append(1.0 + r[1] / limit)
        assert side[-1] == pytest.approx(2.0 * np.sin(0.3 * np.pi / facets), abs=1e-9)
        assert power[-1] == pytest.approx(1.0 - np.cos(0.6 * np.pi / facets), abs=1e-9)
    orders = [np.log(x[2] / x[3]) / np.log(4.0) for x in (side, power)]
    np.testing.assert_allclose(orders, [1.0, 2.0], atol=0.01)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_pyramids_close_in_on_the_cone(seed):
    """Worst impulse over random contacts: at most of the order pi/m of the largest friction."""
    problem = random_problem(6, seed)
    exact = solve(problem, tolerance=1e-12).or_raise().r
    for facets in (4, 8, 16, 64):
        conversion = pyramid_lcp(problem, facets)
        z = solve(conversion.problem, guess=conversion.guess(exact), tolerance=1e-11).or_raise().r
        r = conversion.recover(z).r
        assert problem.K.contains(r, 1e-9)
        assert np.abs(r - exact).max() < np.pi / facets * np.abs(exact).max()


@pytest.mark.parametrize("facets", [4, 6, 8])
def test_it_is_the_pyramid_program_with_its_shift(facets):
    """Two roads to one law: the quadratic program with s = max_j mu D_j·u_T, and the LCP."""
    problem = reduce_to_contacts(bodies_in_a_row(EVERY, 1, 12)).problem
    loop = shift_loop(
        dual_program(problem, facets), problem.K, lambda a: problem.velocity(a.r), rounds=30, facets=facets
    )
    conversion = pyramid_lcp(problem, facets)
    z = conversion.guess(loop[-1].r)
    np.testing.assert_allclose(conversion.recover(z).r, loop[-1].r, atol=1e-15)
    assert judge(conversion.problem, z).error < 1e-8


def test_unknowns_stand_block_by_block():
    """(r_N, d, sigma) for each contact: complementarity as it is written, row by row."""
    problem = ContactProblem(np.diag([1.0, 2.0, 3.0, 4.0]), [-1.0, 5.0, -6.0, 7.0], torsional([0.5], [0.2]))
    box = pyramid_lcp(problem, 4).problem
    assert box.size == 1 + (4 + 1) + (2 + 1)
    z = np.array([2.0, 0.1, 0.2, 0.3, 0.4, 0.9, 0.05, 0.15, 0.7])
    u = problem.velocity([2.0, 0.1 - 0.3, 0.2 - 0.4, 0.05 - 0.15])
    expected = [
        u[0], u[1] + 0.9, u[2] + 0.9, -u[1] + 0.9, -u[2] + 0.9, 0.5 * 2.0 - 1.0,
        u[3] + 0.7, -u[3] + 0.7, 0.2 * 2.0 - 0.2,
    ]  # fmt: skip
    np.testing.assert_allclose(box.value(z), expected, atol=1e-15)


def test_sparse_stays_sparse_and_equals_dense():
    body = reduce_to_contacts(bodies_in_a_row(EVERY, 2, 12)).problem
    sparse, dense = (
        pyramid_lcp(p, 6).problem for p in (body, ContactProblem(body.W.dense(), body.u_free, body.K))
    )
    assert sp.issparse(sparse.A)
    assert not sp.issparse(dense.A)
    np.testing.assert_allclose(sparse.A.toarray(), dense.A, atol=1e-15)


def test_what_is_no_pyramid_is_refused():
    problem = KNOWN["slide"].problem
    for facets in (0, 1, 2, -4):
        with pytest.raises(ProblemError, match="facets"):
            pyramid_lcp(problem, facets)
    with pytest.raises(ProblemError, match="a group of 3 components"):
        pyramid_lcp(ContactProblem(np.eye(4), np.zeros(4), friction((3,), [[0.2]])))
    with pytest.raises(ProblemError, match="reduce_to_contacts"):
        pyramid_lcp(KNOWN["column of blocks"].problem)
    assert pyramid_lcp(KNOWN["no contact"].problem).problem.size == 0
