"""One-contact solvers by choice: they agree with each other and with the law on 100,000 contacts."""

import math

import numpy as np
import pytest

from benchmarks.one_contact import solve_each as solve_all
from stickslip.compilation import JIT
from stickslip.kernels import one_contact, one_slips, polynomial
from stickslip.kernels.contact_law import TOLERANCE, Contact
from stickslip.kernels.jit import jit
from stickslip.kernels.one_iterations import alart_curnier, direction

COUNT = 20_000 if JIT else 200
"""Contacts of each of the five kinds."""
KINDS = ("regular", "nearly singular", "coupled", "uneven", "diagonal")
CHOSEN = one_contact.METHODS[1:]
RIGHT = 1e-13
"""Largest natural_scaled of any answer of any method."""
AGREE = {"projection": 1e-10, "newton": 4e-12, "quartic": 2e-12, "enumeration": 2e-12}
"""Largest difference of velocities, as a share of the largest of u_free and W_ii r. Projection stops at
its tolerance, the others go on to rounding."""


def random_contacts(kind, d, count, seed=0):
    """W (count, d, d) positive definite, q, mu from 0 to 10; one contact in ten parts."""
    rng = np.random.default_rng(seed)
    if kind == "nearly singular":  # condition up to 1e12
        Q = np.linalg.qr(rng.normal(size=(count, d, d)))[0]
        values = 10.0 ** rng.uniform(-12, 0, size=(count, d))
        values[:, 0] = 1.0
        W = (Q * values[:, None, :]) @ Q.transpose(0, 2, 1)
    elif kind == "coupled":  # W_NT up to 0.999 of what keeps W definite
        W = np.tile(np.eye(d), (count, 1, 1))
        W[:, 1:, 1:] *= 10.0 ** rng.uniform(-1, 1, size=(count, 1, 1))
        v = rng.normal(size=(count, d - 1))
        v *= (rng.uniform(0.9, 0.999, size=count) * np.sqrt(W[:, 1, 1]) / np.linalg.norm(v, axis=1))[:, None]
        W[:, 0, 1:] = W[:, 1:, 0] = v
        v = rng.normal(size=(count, d - 1))
        W[:, 1:, 1:] += rng.uniform(0, 1, size=(count, 1, 1)) * v[:, :, None] * v[:, None, :]
    elif kind == "diagonal":  # no coupling; every other one with equal tangents
        W = np.zeros((count, d, d))
        W[:, range(d), range(d)] = 10.0 ** rng.uniform(-2, 2, size=(count, d))
        W[::2, 1:, 1:] = np.eye(d - 1)
    else:
        A = rng.normal(size=(count, d, d + 2))
        if kind == "uneven":  # units of the components a million apart
            A *= 10.0 ** rng.uniform(-3, 3, size=(count, d, 1))
        W = A @ A.transpose(0, 2, 1)
    W = 0.5 * (W + W.transpose(0, 2, 1))
    q = rng.normal(size=(count, d))
    q[::2] = (W[::2] @ q[::2, :, None])[:, :, 0]
    q[:, 0] = -np.abs(q[:, 0])
    q[::10, 0] *= -1.0
    mu = rng.choice([0.0, 1e-3, 0.1, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0], size=count) * rng.uniform(
        0.9, 1.0, count
    )
    return W, q, mu


@jit
def count_each(W, q, mu, out):
    """How many impulses obey the law: parting, sticking and every slip, W_ii positive definite."""
    for i in range(W.shape[0]):
        c = one_contact.contact_of(W[i].reshape(9), 0, 3, q[i], mu[i])
        sticks, r = one_slips.stick(c)
        out[i] = 1
        if c.mu > 0.0:
            pressing = r[0] > 0.0 and r[1] * r[1] + r[2] * r[2] <= c.mu * c.mu * r[0] * r[0]
            out[i] = one_slips.slips_of(c)[2] + (c.q0 >= 0.0) + (sticks and pressing)


def solutions(W, q, mu):
    """How many answers each contact has; 2D contacts with a second tangent that nothing moves."""
    if W.shape[1] == 2:
        wide = np.zeros((len(W), 3, 3))
        wide[:, :2, :2], wide[:, 2, 2] = W, W[:, 1, 1]
        W, q = wide, np.concatenate([q, np.zeros((len(q), 1))], axis=1)
    out = np.zeros(len(W), np.int64)
    count_each(W, q, mu, out)
    return out


def solve_each(name, W, q, mu):
    r, error, own = np.zeros(q.shape), np.empty(len(W)), np.empty(len(W))
    solve_all(one_contact.METHODS.index(name), W, q, mu, r, error, own)
    return r, error, own


def velocity(W, q, r):
    return (W @ r[:, :, None])[:, :, 0] + q


@pytest.mark.parametrize("d", [3, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_all_methods_agree_on_one_answer(kind, d):
    W, q, mu = random_contacts(kind, d, COUNT)
    reference, error, _ = solve_each("exact", W, q, mu)
    assert error.max() <= RIGHT
    single = solutions(W, q, mu) == 1
    assert single.mean() > 0.98
    stiffness = np.trace(W, axis1=1, axis2=2) / d
    scale = np.maximum(stiffness * np.linalg.norm(reference, axis=1), np.linalg.norm(q, axis=1))
    well = single & (np.linalg.cond(W) < 1e3)
    for name in CHOSEN:
        r, error, _ = solve_each(name, W, q, mu)
        assert error.max() <= RIGHT, name
        apart = np.linalg.norm(velocity(W, q, r) - velocity(W, q, reference), axis=1) / scale
        assert apart[single].max() <= AGREE[name], name
        apart = stiffness * np.linalg.norm(r - reference, axis=1) / scale
        assert apart[well].max(initial=0.0) <= 1e3 * AGREE[name], name


@pytest.mark.parametrize(
    ("name", "most"), [("newton", 0.2), ("quartic", 0.0), ("enumeration", 0.0), ("projection", 0.7)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_method_misses_is_counted_and_bounded(name, most, kind):
    """The quartic and enumeration never need the exact solver; the iterative ones do where W_ii is bad."""
    W, q, mu = random_contacts(kind, 3, COUNT)
    _, _, own = solve_each(name, W, q, mu)
    assert (~(own <= TOLERANCE)).mean() <= most


@pytest.mark.parametrize("kind", KINDS)
def test_the_number_of_answers_is_odd(kind):
    """As the index theorem has it for W_ii positive definite: an even number would be a root missed."""
    W, q, mu = random_contacts(kind, 3, COUNT)
    count = solutions(W, q, mu)
    assert (count % 2 == 1).all()
    assert set(np.unique(count)) <= {1, 3}


def contact(W, q, mu):
    return Contact(*map(float, np.reshape(W, 9)), *map(float, q), float(mu))


DEGENERATE = {
    "no coupling": ([[2.0, 0, 0], [0, 1.0, 0.3], [0, 0.3, 4.0]], [-1.0, 3.0, 2.0], 0.5),
    "equal eigenvalues": ([[2.0, 0.4, -0.3], [0.4, 1.0, 0], [-0.3, 0, 1.0]], [-1.0, 3.0, 2.0], 0.5),
    "all equal, no coupling": (np.eye(3), [-1.0, 3.0, 2.0], 0.5),
    "theta = pi": ([[2.0, 0.4, 0], [0.4, 1.0, 0], [0, 0, 3.0]], [-1.0, 3.0, 0.0], 0.5),
    "theta = 0": ([[2.0, 0.4, 0], [0.4, 1.0, 0], [0, 0, 3.0]], [-1.0, -3.0, 0.0], 0.5),
    "R_T1 = 0": ([[2.0, 0, 0.4], [0, 1.0, 0], [0.4, 0, 3.0]], [-1.0, 0.0, 3.0], 0.5),
    "parabola": ([[1.0, 1.0, 0], [1.0, 3.0, 0.5], [0, 0.5, 2.0]], [-1.0, 4.0, 3.0], 1.0),
    "hyperbola": ([[1.0, 0.9, 0], [0.9, 3.0, 0.5], [0, 0.5, 2.0]], [-1.0, -4.0, 3.0], 5.0),
    "no friction": ([[2.0, 0.4, 0], [0.4, 1.0, 0], [0, 0, 3.0]], [-1.0, 3.0, 0.0], 0.0),
    "unsymmetric": ([[2.0, 0.4, -0.1], [0.5, 1.0, 0.1], [0, -0.1, 1.0]], [-1.0, 3.0, 2.0], 0.5),
    "at the edge of sticking": (np.eye(3), [-1.0, 0.3, -0.4], 0.5),
    "grazing": (np.eye(3), [0.0, 0.3, -0.4], 0.5),
    "tiny": (1e-30 * np.eye(3), [-1e-40, 3e-40, 1e-41], 0.5),
}


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("case", DEGENERATE)
def test_degenerate_cases_of_the_quartic(name, case):
    W, q, mu = (np.array([given], float) for given in DEGENERATE[case])
    r, error, own = solve_each(name, W, q, mu)
    assert error[0] <= RIGHT
    assert own[0] <= RIGHT or name == "projection"
    exact, _, _ = solve_each("exact", W, q, mu)
    np.testing.assert_allclose(r, exact, rtol=1e-10, atol=1e-10 * np.abs(exact).max())


def test_the_quartic_is_that_of_the_notes_without_their_misprints():
    """(15.16) for W_TT = diag(d1, d2), corrected: e in front of the cosines of C, a = -M_1 / mu."""
    W, q, mu = np.array([[2.0, 0.4, -0.3], [0.4, 1.0, 0], [-0.3, 0, 1.7]]), np.array([-1.0, 3.0, 2.0]), 0.5
    p, phi = -mu * q[0] / W[0, 0], math.atan2(W[0, 2], W[0, 1])
    e = mu * math.hypot(W[0, 1], W[0, 2]) / W[0, 0]
    a1, a2 = -W[1, 0] / mu, -W[2, 0] / mu
    expected = [
        -e * q[2] * math.cos(phi),
        e * q[1] * math.sin(phi),
        (W[1, 1] - W[2, 2]) * p + e * (math.cos(phi) * q[1] - math.sin(phi) * q[2]),
        q[1] - p * a1,
        -q[2] + p * a2,
    ]
    np.testing.assert_allclose(one_slips.coefficients(contact(W, q, mu)), expected, rtol=1e-14)


@pytest.mark.parametrize("state", ["stick", "slip", "parting"])
def test_the_jacobian_of_alart_and_curnier_by_finite_differences(state):
    W = np.array([[2.0, 0.4, -0.3], [0.5, 1.5, 0.2], [-0.3, 0.2, 1.0]])
    q = np.array([{"stick": -1.0, "slip": -1.0, "parting": 4.0}[state], 0.5, 0.3])
    mu = {"stick": 5.0, "slip": 0.3, "parting": 0.5}[state]
    given, rho = contact(W, q, mu), (0.5, 0.8)
    r = np.array([0.3, 0.05, -0.1])

    def F(r):
        return np.array(alart_curnier(given, rho, tuple(map(float, r)))[0])

    J = np.array([(F(r + h) - F(r - h)) / 2e-6 for h in 1e-6 * np.eye(3)]).T
    step = direction(given, rho, *alart_curnier(given, rho, tuple(map(float, r))))
    np.testing.assert_allclose(J @ step, -F(r), atol=1e-8)


@pytest.mark.parametrize(
    "roots", [(-0.5, 0.1, 0.2, 0.9), (0.3, 0.3, -0.7, 2.0), (0.25, 0.25, 0.25, 0.25), (1.0, -1.0, 0.0, 5.0)]
)
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_real_roots_of_polynomials_of_any_degree(roots, degree):
    roots = np.array(roots[:degree])
    c = np.zeros(5)
    c[: degree + 1] = np.polynomial.polynomial.polyfromroots(roots)
    found = np.array(polynomial.quartic_roots(*c, -1.0, 1.0))
    found = found[~np.isnan(found)]
    for root in roots[np.abs(roots) <= 1.0]:
        assert (
            np.abs(found - root).min(initial=1.0) <= 1e-3
        )  # a fourfold root is known to a quarter of the digits
    assert (np.abs(np.polynomial.polynomial.polyval(found, c)) <= 1e-8).all()
    assert np.isnan(polynomial.quartic_roots(1.0, 0.0, 0.0, 0.0, 0.0, -1.0, 1.0)).all()
