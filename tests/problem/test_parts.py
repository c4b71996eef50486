"""The judge of many contacts, in parts: the numbers of one pass, the same bits for any number of threads."""

import numpy as np
import pytest

import stickslip as ss
from stickslip import judge, scenes
from stickslip.compilation import JIT
from stickslip.kernels import domains
from stickslip.problem import contact_blocks
from stickslip.problem.operator import BodyDelassus

pytestmark = pytest.mark.skipif(not JIT, reason="parts are for compiled kernels")


@pytest.fixture(scope="module")
def problem():
    return scenes.make("packing-problem", spheres=400, velocity=1.0)


def impulses(problem, seed=0):
    random = np.random.default_rng(seed)
    return 1e-3 * random.normal(size=problem.size) + np.tile([2e-3, 0.0, 0.0], len(problem.K))


def test_residuals_in_parts_are_those_of_one_pass(problem, monkeypatch):
    r = impulses(problem)
    v = problem.M.solve(problem.f + problem.pushed(r, np.zeros(0))) + 1e-3
    whole = judge(problem, r), judge(problem, r, v)
    monkeypatch.setattr(domains, "LARGE", 100)
    for expected, given in zip(whole, (None, v), strict=True):
        found = []
        for threads in (1, 2, 3, 8):
            with ss.use_threads(threads):
                found.append(judge(problem, r, given))
        assert all(one == found[0] for one in found)
        for name, value in vars(expected).items():
            assert getattr(found[0], name) == pytest.approx(value, rel=1e-12, abs=1e-15), name


def test_contacts_between_fixed_sides_are_judged_in_one_pass(problem, monkeypatch):
    """Where W_ii = 0 the scale of a contact follows from all others."""
    H = problem.H
    bodies, rows = H.bodies.copy(), H.rows.copy()
    bodies[7], rows[21:24] = -1, 0.0
    other = ss.GlobalProblem(
        problem.M, problem.f, contact_blocks(bodies, rows, problem.K), problem.u_bias, problem.K
    )
    r = impulses(other)
    whole = judge(other, r)
    monkeypatch.setattr(domains, "LARGE", 100)
    assert judge(other, r).natural_scaled == pytest.approx(whole.natural_scaled, rel=1e-12)


def test_an_impulse_that_is_no_number_is_no_solution(problem, monkeypatch):
    monkeypatch.setattr(domains, "LARGE", 100)
    r = impulses(problem)
    r[5] = np.nan
    assert judge(problem, r).error == np.inf


def test_products_in_parts_have_the_bits_of_one_pass(problem, monkeypatch):
    r, H = impulses(problem), problem.H
    count = problem.M.size // 6
    W = BodyDelassus(H.offset, H.bodies, H.rows, count)
    whole = H.impulses(r, count), W.apply(r, problem.u_bias)
    monkeypatch.setattr(domains, "LARGE", 100)
    with ss.use_threads(3):
        parts = H.impulses(r, count), W.apply(r, problem.u_bias)
    for one, other in zip(parts, whole, strict=True):
        np.testing.assert_array_equal(one, other)
