"""Sweeps by domains: those of one thread in another order, with the same bits for any number of threads."""

import numpy as np
import pytest

import stickslip as ss
from stickslip import scenes
from stickslip.compilation import JIT
from stickslip.kernels import domains
from stickslip.problem.contact import ContactProblem
from stickslip.problem.convert import reduce_to_contacts
from stickslip.problem.operator import BodyDelassus
from stickslip.problem.sets import coulomb
from stickslip.solvers import registry

pytestmark = pytest.mark.skipif(not JIT, reason="domains are for compiled kernels")


@pytest.fixture(scope="module")
def packing():
    return scenes.make("packing-problem", spheres=7_100, velocity=1.0)


@pytest.fixture(scope="module")
def local(packing):
    return reduce_to_contacts(packing).problem


def reordered(problem, order):
    """The same contacts in another order."""
    W, rows = problem.W, (3 * order[:, None] + np.arange(3)).reshape(-1)
    other = BodyDelassus(W.offset, W.bodies[order], W.rows[rows], W.count)
    return ContactProblem(other, problem.u_free[rows], coulomb(problem.K.coefficient[order])), rows


def on_threads(number, solve):
    with ss.use_threads(number):
        return solve()


@pytest.mark.parametrize("name", ["nsgs", "anderson"])
def test_one_thread_sweeps_the_same_in_the_order_of_the_domains(local, name, monkeypatch):
    assert local.contacts >= domains.LARGE
    solver = registry.make(name, tolerance=1e-10, max_iterations=12)
    found = solver.solve(local)
    order, start = domains.partition(local.W.bodies, local.W.count)
    assert len(start) > 4
    other, rows = reordered(local, order)
    monkeypatch.setattr(domains, "LARGE", local.contacts + 1)
    plain = solver.solve(other)
    if name == "nsgs":
        np.testing.assert_array_equal(found.r[rows], plain.r)
    else:  # products of vectors are added in another order
        np.testing.assert_allclose(found.r[rows], plain.r, atol=1e-9 * np.abs(plain.r).max())


@pytest.mark.parametrize("name", ["nsgs", "anderson"])
def test_bits_do_not_depend_on_the_number_of_threads(local, name):
    solver = registry.make(name, tolerance=1e-10, max_iterations=25)
    one, *others = (on_threads(number, lambda: solver.solve(local)) for number in (1, 2, 3))
    for other in others:
        assert one.r.tobytes() == other.r.tobytes()
        assert one.history.tobytes() == other.history.tobytes()


def test_auto_solves_bodies_by_domains_with_the_same_bits(packing):
    one, two = (on_threads(number, lambda: ss.solve(packing, tolerance=1e-3)) for number in (1, 2))
    assert one.ok
    assert one.r.tobytes() == two.r.tobytes()
    assert one.v.tobytes() == two.v.tobytes()
    residuals = ss.judge(packing, one.r, one.v)
    assert residuals.error == one.residuals.error
    # From the answer: nothing to do, or a few sweeps for its last digits.
    again = ss.solve(packing, tolerance=1e-3, guess=one.r)
    assert again.ok
    assert again.iterations <= 8
    assert again.residuals.error <= one.residuals.error
