"""K = [M H; H' -D]: solved to rounding for D over sixteen decades, D = 0, and redundant contacts."""

import numpy as np
import pytest
import qdldl
import scipy.sparse as sp
from block_graphs import GRAPHS, dense, part, positive_definite

from stickslip.linalg.factor import Regularisation
from stickslip.linalg.pattern import block_pattern
from stickslip.linalg.symbolic import analyse
from stickslip.scenes import make


def saddle(spheres=40, D=1.0, copies=1):
    """(pattern, values, negative) of a packing: its bodies, then its contacts, each `copies` times."""
    problem = make("packing", spheres=spheres, seed=3)
    H, M = problem.H, problem.M.matrix
    nb = M.shape[0]
    bodies = np.tile(H.bodies, (copies, 1))
    rows = np.tile(H.rows.reshape(-1, 3, 2, 6), (copies, 1, 1, 1))
    nc = bodies.shape[0]
    first, second = bodies.T
    two = np.flatnonzero(second >= 0)
    one = np.concatenate([np.arange(nb + nc), nb + np.arange(nc), nb + two])
    other = np.concatenate([np.arange(nb + nc), first, second[two]])
    pattern = block_pattern(np.repeat([6, 3], [nb, nc]), one, other)
    blocks = -np.eye(3) * np.broadcast_to(D, nc)[:, None, None]
    values = np.concatenate([part.reshape(-1) for part in (M, blocks, rows[:, :, 0], rows[two, :, 1])])
    return pattern, values, np.arange(nb + nc) >= nb


def orders(pattern, negative):
    bodies, contacts = np.flatnonzero(~negative), np.flatnonzero(negative)
    return {"AMD": None, "contacts first": [*contacts, *bodies], "bodies first": [*bodies, *contacts]}


@pytest.mark.parametrize("order", ["AMD", "contacts first", "bodies first"])
@pytest.mark.parametrize("decades", [0, 8, 16])
def test_d_over_many_decades(decades, order):
    rng = np.random.default_rng(decades)
    nc = make("packing", spheres=40, seed=3).contacts
    pattern, values, negative = saddle(D=10.0 ** rng.uniform(-decades / 2, decades / 2, nc))
    symbolic = analyse(pattern, negative=negative, order=orders(pattern, negative)[order])
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
    pattern, values, negative = saddle()
    b = np.random.default_rng(0).normal(size=pattern.size)
    x = analyse(pattern, negative=negative).quasi_definite(values).solve(b)
    expected = qdldl.Solver(sp.csc_matrix(pattern.sparse(values))).solve(b)
    np.testing.assert_allclose(x, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("order", ["AMD", "contacts first", "bodies first"])
@pytest.mark.parametrize("zeros", ["some", "all"])
def test_d_of_zero(zeros, order):
    """Contacts without compliance; the packing is isostatic, so K is regular."""
    nc = make("packing", spheres=40, seed=3).contacts
    D = np.zeros(nc) if zeros == "all" else np.where(np.arange(nc) % 3 == 0, 0.0, 1e-3)
    pattern, values, negative = saddle(D=D)
    symbolic = analyse(pattern, negative=negative, order=orders(pattern, negative)[order])
    factor = symbolic.quasi_definite(values)
    # A right-hand side that has a solution, should contacts be redundant.
    K = pattern.sparse(values)
    b = K @ np.random.default_rng(1).normal(size=pattern.size)
    x = factor.solve(b)
    assert factor.residual < 1e-10, (factor.residual, factor.refinements)
    np.testing.assert_allclose(K @ x, b, atol=1e-10 * np.abs(b).max())


@pytest.mark.parametrize("static", [0.0, 1e-10])
@pytest.mark.parametrize("order", ["AMD", "contacts first"])
def test_contacts_fifty_times_with_d_of_zero(order, static):
    pattern, values, negative = saddle(spheres=6, D=0.0, copies=50)
    symbolic = analyse(pattern, negative=negative, order=orders(pattern, negative)[order])
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
    pattern, values, negative = saddle(D=0.0)
    unit = np.where(np.repeat(negative, pattern.widths), 2.0**30, 2.0**-20)
    scaled = values.copy()
    for k in range(pattern.one.size):
        at = slice(pattern.source[k], pattern.source[k + 1])
        i = unit[pattern.offset[pattern.one[k]]] * unit[pattern.offset[pattern.other[k]]]
        scaled[at] *= i
    b = pattern.sparse(values) @ np.ones(pattern.size)
    symbolic = analyse(pattern, negative=negative)
    x = symbolic.quasi_definite(values).solve(b)
    y = symbolic.quasi_definite(scaled).solve(unit * b)
    np.testing.assert_allclose(y * unit, x, rtol=1e-12, atol=0)


def test_rows_of_zeros_get_a_pivot():
    pattern, values, negative = saddle(D=0.0)
    contact = int(np.flatnonzero(negative)[4])
    for k in np.flatnonzero((pattern.one == contact) | (pattern.other == contact)):
        part(pattern, values, k)[:] = 0.0
    factor = analyse(pattern, negative=negative).quasi_definite(
        values, regularisation=Regularisation(static=0.0)
    )
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
    pattern, values, negative = saddle()
    symbolic = analyse(pattern, negative=negative)
    factor, b = symbolic.quasi_definite(values), np.ones(pattern.size)
    first = factor.solve(b)
    values_given = values.copy()
    factor.refactor(values_given * 3.0)
    np.testing.assert_allclose(3.0 * factor.solve(b), first, rtol=1e-8, atol=1e-12)
    factor.refactor(values_given)
    values_given[:] = np.nan  # the factor has a copy for its refinement
    assert factor.solve(b).tobytes() == first.tobytes()
