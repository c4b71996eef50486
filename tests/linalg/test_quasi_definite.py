"""K = [M H; H' -D]: solved to rounding for D over sixteen decades, D = 0, and redundant contacts."""

import numpy as np
import pytest
import qdldl
import scipy.sparse as sp
from block_graphs import GRAPHS, dense, part, positive_definite

import stickslip as ss
from stickslip.linalg.bodies import saddle_pattern
from stickslip.linalg.factor import Regularisation
from stickslip.linalg.pattern import block_pattern
from stickslip.linalg.symbolic import analyse
from stickslip.problem.jacobian import contact_blocks
from stickslip.scenes import make


def saddle(spheres=40, D=1.0, copies=1):
    """(pattern, values) of a packing: its bodies, then its contacts, each `copies` times."""
    problem = make("packing-problem", spheres=spheres, seed=3)
    bodies, rows = np.tile(problem.H.bodies, (copies, 1)), np.tile(problem.H.rows, (copies, 1, 1))
    H = contact_blocks(bodies, rows, ss.coulomb(np.full(bodies.shape[0], 0.3)))
    pattern = saddle_pattern(H.bodies, H.offset, spheres)
    return pattern, pattern.values(problem.M.matrix, H, np.repeat(np.broadcast_to(D, bodies.shape[0]), 3))


def order_of(name, pattern):
    bodies, contacts = np.flatnonzero(~pattern.negative), np.flatnonzero(pattern.negative)
    if name == "AMD":
        return analyse(block_pattern(pattern.widths, pattern.one, pattern.other)).order
    return {"chosen": None, "bodies first": [*bodies, *contacts]}[name]


ORDERS = ["chosen", "AMD", "bodies first"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("decades", [0, 8, 16])
def test_d_over_many_decades(decades, order):
    rng = np.random.default_rng(decades)
    nc = make("packing-problem", spheres=40, seed=3).contacts
    pattern, values = saddle(D=10.0 ** rng.uniform(-decades / 2, decades / 2, nc))
    symbolic = analyse(pattern, order=order_of(order, pattern))
    factor = symbolic.quasi_definite(values)
    K, b = pattern.sparse(values), rng.normal(size=pattern.size)
    x = factor.solve(b)
    assert factor.backward_error < 1e-14
    assert factor.residual < 1e-10
    assert factor.replaced == 0
    np.testing.assert_allclose(np.abs(K @ x - b).max() / np.abs(b).max(), factor.residual, atol=1e-11)
    reference = np.linalg.solve(K.toarray(), b)
    np.testing.assert_allclose(x, reference, rtol=1e-4, atol=1e-6 * np.abs(reference).max())


def test_agrees_with_qdldl():
    pattern, values = saddle()
    b = np.random.default_rng(0).normal(size=pattern.size)
    x = analyse(pattern).quasi_definite(values).solve(b)
    expected = qdldl.Solver(sp.csc_matrix(pattern.sparse(values))).solve(b)
    np.testing.assert_allclose(x, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("zeros", ["some", "all"])
def test_d_of_zero(zeros, order):
    """Contacts without compliance; the packing is isostatic, so K is regular."""
    nc = make("packing-problem", spheres=40, seed=3).contacts
    D = np.zeros(nc) if zeros == "all" else np.where(np.arange(nc) % 3 == 0, 0.0, 1e-3)
    pattern, values = saddle(D=D)
    symbolic = analyse(pattern, order=order_of(order, pattern))
    factor = symbolic.quasi_definite(values)
    # A right-hand side that has a solution, should contacts be redundant.
    K = pattern.sparse(values)
    b = K @ np.random.default_rng(1).normal(size=pattern.size)
    x = factor.solve(b)
    assert factor.residual < 1e-10, (factor.residual, factor.refinements)
    np.testing.assert_allclose(K @ x, b, atol=1e-10 * np.abs(b).max())


@pytest.mark.parametrize("static", [0.0, 1e-10])
@pytest.mark.parametrize("order", ["chosen", "AMD"])
def test_contacts_fifty_times_with_d_of_zero(order, static):
    pattern, values = saddle(spheres=6, D=0.0, copies=50)
    symbolic = analyse(pattern, order=order_of(order, pattern))
    factor = symbolic.quasi_definite(values, regularisation=Regularisation(static=static))
    if static == 0.0:
        assert factor.replaced > 0
    K = pattern.sparse(values)
    b = K @ np.random.default_rng(1).normal(size=pattern.size)
    x = factor.solve(b)
    assert np.isfinite(x).all()
    assert factor.residual < 1e-8, (factor.residual, factor.refinements)


def test_units_do_not_matter():
    """Metres to millimetres: the same pivots are small, the answer is the same in the new unit."""
    pattern, values = saddle(D=0.0)
    unit = np.where(np.repeat(pattern.negative, pattern.widths), 2.0**30, 2.0**-20)
    scaled = values.copy()
    for k in range(pattern.one.size):
        at = slice(pattern.source[k], pattern.source[k + 1])
        i = unit[pattern.offset[pattern.one[k]]] * unit[pattern.offset[pattern.other[k]]]
        scaled[at] *= i
    b = pattern.sparse(values) @ np.ones(pattern.size)
    symbolic = analyse(pattern)
    x = symbolic.quasi_definite(values).solve(b)
    y = symbolic.quasi_definite(scaled).solve(unit * b)
    np.testing.assert_allclose(y * unit, x, rtol=1e-12, atol=0)


def test_a_locked_packing_has_velocity_zero():
    """H' v = 0 with more contacts than velocities: rows without anything to compare a residual with."""
    problem = make("packing-problem", spheres=50)
    pattern = saddle_pattern(problem.H.bodies, problem.H.offset, 50)
    factor = analyse(pattern).quasi_definite(pattern.values(problem.M.matrix, problem.H, 0.0))
    x = factor.solve(np.concatenate([problem.f, np.zeros(problem.H.size)]))
    assert np.abs(x[:300]).max() < 1e-14
    assert factor.residual < 1e-14
    assert factor.backward_error < 1e-15


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_right_hand_sides_beyond_numbers_have_no_residual(bad):
    pattern, values = saddle(spheres=4)
    factor = analyse(pattern).quasi_definite(values)
    b = np.ones((pattern.size, 2))
    b[3, 1] = bad
    x = factor.solve(b)
    assert not np.isfinite(factor.residual) or (np.isfinite(x).all() and factor.residual < 1e-10)
    np.testing.assert_allclose(x[:, 0], factor.solve(b[:, 0]), rtol=1e-10)
    assert factor.residual < 1e-10


def test_rows_of_zeros_get_a_pivot():
    pattern, values = saddle(D=0.0)
    contact = int(np.flatnonzero(pattern.negative)[4])
    for k in np.flatnonzero((pattern.one == contact) | (pattern.other == contact)):
        part(pattern, values, k)[:] = 0.0
    factor = analyse(pattern).quasi_definite(values, regularisation=Regularisation(static=0.0))
    assert factor.replaced >= 3
    x = factor.solve(pattern.sparse(values) @ np.ones(pattern.size))
    assert factor.residual < 1e-8
    assert np.isfinite(x).all()


@pytest.mark.parametrize("name", GRAPHS)
def test_signs_on_any_graph(name):
    n, edges = GRAPHS[name]
    pattern, values = positive_definite(n, edges, "mixed")
    negative = np.random.default_rng(n).random(n) < 0.5
    for k in np.flatnonzero(negative):
        part(pattern, values, k)[:] *= -1.0
    factor = analyse(pattern, negative=negative).quasi_definite(values)
    b = np.random.default_rng(1).normal(size=(pattern.size, 3))
    x = factor.solve(b)
    np.testing.assert_allclose(dense(pattern, values) @ x, b, atol=1e-11)
    assert factor.replaced == 0
    np.testing.assert_allclose(factor.solve(b[:, 0]), x[:, 0], rtol=1e-9, atol=1e-12)


def test_wide_fronts_of_both_signs():
    """Where regularisation is never needed, many columns go through BLAS in chunks."""
    n = 40
    edges = [(i, j) for i in range(n) for j in range(i)]
    pattern, values = positive_definite(n, edges, 6)
    negative = np.arange(n) % 2 == 0
    for k in np.flatnonzero(negative):
        part(pattern, values, k)[:] *= -1.0
    factor = analyse(pattern, negative=negative).quasi_definite(
        values, regularisation=Regularisation(static=0.0)
    )
    b = np.random.default_rng(1).normal(size=pattern.size)
    np.testing.assert_allclose(dense(pattern, values) @ factor.solve(b), b, atol=1e-11)


def test_refactor_reuses_and_repeats_bit_for_bit():
    pattern, values = saddle()
    symbolic = analyse(pattern)
    factor, b = symbolic.quasi_definite(values), np.ones(pattern.size)
    first = factor.solve(b)
    values_given = values.copy()
    factor.refactor(values_given * 3.0)
    np.testing.assert_allclose(3.0 * factor.solve(b), first, rtol=1e-8, atol=1e-12)
    factor.refactor(values_given)
    values_given[:] = np.nan  # the factor has a copy for its refinement
    assert factor.solve(b).tobytes() == first.tobytes()
