"""Facts of unit quaternions, and their derivatives against differences."""

import numpy as np
import pytest

from stickslip import rotations as qs

RNG = np.random.default_rng(11)


def unit():
    p = RNG.normal(size=4)
    return p / np.linalg.norm(p)


@pytest.mark.parametrize("_", range(5))
def test_the_facts_of_the_rate_map(_):
    p = unit()
    psi = qs.rates(p)
    assert psi.T @ psi == pytest.approx(np.eye(3) / 4.0)
    assert psi @ psi.T == pytest.approx((np.eye(4) - np.outer(p, p)) / 4.0)
    omega = RNG.normal(size=3)
    assert psi @ omega == pytest.approx(0.5 * qs.product(p, np.array([0.0, *omega])))
    assert p @ psi == pytest.approx(np.zeros(3))


@pytest.mark.parametrize("_", range(5))
def test_a_rotation_is_a_product(_):
    p, q, x = unit(), unit(), RNG.normal(size=3)
    R = qs.matrices(p)
    assert np.allclose(R @ R.T, np.eye(3))
    assert np.linalg.det(R) == pytest.approx(1.0)
    turned = qs.product(qs.product(p, np.array([0.0, *x])), qs.conjugate(p))
    assert turned == pytest.approx([0.0, *(R @ x)])
    assert qs.matrices(qs.product(p, q)) == pytest.approx(R @ qs.matrices(q))
    assert qs.product(p, qs.conjugate(p)) == pytest.approx([1.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("_", range(5))
def test_derivatives_of_turned_vectors(_):
    p, a, step = unit(), RNG.normal(size=3), 1e-6
    forward, back = np.empty((3, 4)), np.empty((3, 4))
    for j in range(4):
        d = step * np.eye(4)[j]
        forward[:, j] = (qs.matrices(p + d) - qs.matrices(p - d)) @ a / (2.0 * step)
        back[:, j] = (qs.matrices(p + d) - qs.matrices(p - d)).T @ a / (2.0 * step)
    assert qs.turned_dp(p, a) == pytest.approx(forward, abs=1e-9)
    assert qs.turned_back_dp(p, a) == pytest.approx(back, abs=1e-9)
    assert qs.turned_back_dp(p, a) @ qs.rates(p) == pytest.approx(qs.skew(qs.matrices(p).T @ a))
    assert qs.turned_dp(p, a) @ qs.rates(p) == pytest.approx(-qs.matrices(p) @ qs.skew(a))


def test_the_derivative_written_out():
    """The 12 entries of ∂(Φ(p)'m)/∂p, term by term."""
    p0, p1, p2, p3 = p = unit()
    m1, m2, m3 = m = RNG.normal(size=3)
    entries = [
        [2*p3*m2-2*p2*m3, 2*p2*m2+2*p3*m3, -4*p2*m1+2*p1*m2-2*p0*m3, -4*p3*m1+2*p0*m2+2*p1*m3],
        [-2*p3*m1+2*p1*m3, 2*p2*m1-4*p1*m2+2*p0*m3, 2*p1*m1+2*p3*m3, -2*p0*m1-4*p3*m2+2*p2*m3],
        [2*p2*m1-2*p1*m2, 2*p3*m1-2*p0*m2-4*p1*m3, 2*p0*m1+2*p3*m2-4*p2*m3, 2*p1*m1+2*p2*m2],
    ]  # fmt: skip
    assert qs.turned_back_dp(p, m) == pytest.approx(np.array(entries))


def test_a_turn_about_an_axis():
    R = qs.matrices(qs.about([0.0, 0.0, 2.0], np.pi / 2.0))
    assert np.allclose(R @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])


@pytest.mark.parametrize("_", range(5))
def test_frames_are_right_handed(_):
    n = RNG.normal(size=3)
    n /= np.linalg.norm(n)
    E = qs.frame(n)
    assert np.allclose(E @ E.T, np.eye(3))
    assert np.linalg.det(E) == pytest.approx(1.0)
    assert E[0].tolist() == n.tolist()


def test_products_of_vectors():
    a, b = RNG.normal(size=3), RNG.normal(size=3)
    assert qs.cross(a, b) == pytest.approx(np.cross(a, b))
    assert qs.skew(a) @ b == pytest.approx(np.cross(a, b))
