"""The identities of the Jordan algebra of second-order cones (Nguyen 2021, annex), on several at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag

from stickslip.kernels import jordan

SETTINGS = settings(max_examples=60, deadline=None, derandomize=True)


class Cones:
    def __init__(self, sizes, seed):
        self.size = np.array(sizes, np.int64)
        self.start = np.cumsum(self.size) - self.size
        self.width, self.n = int(self.size.max()), int(self.size.sum())
        self.rng = np.random.default_rng(seed)

    @property
    def at(self):
        return self.start, self.size

    def any(self):
        return self.rng.normal(size=self.n)

    def inside(self, depth=(0.05, 3.0)):
        x = self.any()
        for o, m in zip(*self.at, strict=True):
            x[o] = np.linalg.norm(x[o + 1 : o + m]) + self.rng.uniform(*depth)
        return x

    def matrix(self, blocks):
        return block_diag(*[blocks[i, :m, :m] for i, m in enumerate(self.size)])

    def blocks(self):
        return np.zeros((self.size.size, self.width, self.width))

    def __getattr__(self, name):
        """A kernel by name, on vectors, with a vector out."""

        def kernel(*arguments):
            out = np.full(self.n, np.nan)
            getattr(jordan, name)(*self.at, *arguments, out)
            return out

        return kernel

    def quadratic_matrix(self, x):
        Q = self.blocks()
        jordan.quadratic(*self.at, x, Q)
        return self.matrix(Q)

    def arrow_matrix(self, x):
        """arw(x), with arw(x) y = x o y."""
        arrows = []
        for o, m in zip(*self.at, strict=True):
            A = x[o] * np.eye(m)
            A[0], A[:, 0] = x[o : o + m], x[o : o + m]
            arrows.append(A)
        return block_diag(*arrows)

    def det(self, x):
        """Product of the eigenvalues of each cone."""
        return np.array([np.prod(spectrum(x[o : o + m])[0]) for o, m in zip(*self.at, strict=True)])

    def scaling(self, x, z, by_point):
        G, F, F_inverse, lam = self.blocks(), self.blocks(), self.blocks(), np.zeros(self.n)
        if by_point:
            jordan.scale_by_point(*self.at, x, z, (G, F, F_inverse, lam), np.zeros((3, self.n)))
        else:
            jordan.scale(*self.at, x, z, (G, F, F_inverse, lam))
        return (*(self.matrix(B) for B in (G, F, F_inverse)), lam)


def spectrum(x):
    """Eigenvalues x_0 ± |x_rest| of one cone and their frame: x = value @ frame."""
    length = np.linalg.norm(x[1:])
    along = x[1:] / length if length else np.eye(1, x.size - 1)[0]
    return x[0] + length * np.array([1.0, -1.0]), 0.5 * np.array([[1.0, *along], [1.0, *-along]])


cones = st.builds(Cones, st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(0, 10**6))


def close(a, b, rtol=1e-9):
    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(np.abs(b).max(initial=0.0), 1e-300))


@SETTINGS
@given(cones)
def test_the_product_commutes_has_a_unit_and_is_that_of_the_arrow(c):
    x, y, e = c.any(), c.any(), np.zeros(c.n)
    e[c.start] = 1.0
    np.testing.assert_array_equal(c.product(x, y), c.product(y, x))
    close(c.product(x, e), x)
    close(c.arrow_matrix(x) @ y, c.product(x, y))
    close(c.product(x, c.divide(x, y)), y, 1e-6)


@SETTINGS
@given(cones)
def test_powers_associate_though_the_product_does_not(c):
    x = c.any()
    x2 = c.product(x, x)
    close(c.product(c.product(x2, x), x2), c.product(x2, c.product(x2, x)))
    close(c.product(c.product(x2, x), x), c.product(x2, x2))
    x = c.inside()
    close(c.product(c.power(x, 0.5), c.power(x, 0.5)), x)
    close(c.product(c.power(x, 1.5), c.power(x, 0.5)), c.product(x, x))


def test_the_product_does_not_associate():
    c = Cones([3], 0)
    x, y, z = c.any(), c.any(), c.any()
    assert np.abs(c.product(x, c.product(y, z)) - c.product(c.product(x, y), z)).max() > 0.1


@SETTINGS
@given(cones)
def test_inverse_and_root_have_the_inverse_and_the_root_of_the_spectrum(c):
    x = c.inside()
    root, inverse = c.power(x, 0.5), c.inverse(x)
    for o, m in zip(*c.at, strict=True):
        part = slice(o, o + m)
        if m == 1:
            close(root[part], np.sqrt(x[part]))
            close(inverse[part], 1.0 / x[part])
            continue
        value, frame = spectrum(x[part])
        close(value @ frame, x[part])
        close(np.sqrt(value) @ frame, root[part])
        close((1.0 / value) @ frame, inverse[part])
    e = np.zeros(c.n)
    e[c.start] = 1.0
    close(c.product(x, inverse), e)
    close(c.power(x, -1.0), inverse)


@SETTINGS
@given(cones)
def test_x_is_in_the_cone_exactly_when_its_arrow_is_positive_semidefinite(c):
    for x in (c.any(), c.inside(), c.inside((0.0, 0.0))):
        least = np.linalg.eigvalsh(c.arrow_matrix(x))[0]
        inside = min(x[o] - np.linalg.norm(x[o + 1 : o + m]) for o, m in zip(*c.at, strict=True))
        assert least == pytest.approx(inside, abs=1e-12)


@SETTINGS
@given(cones)
def test_quadratic_representation(c):
    x, y = c.inside(), c.inside()
    Qx, Qy = c.quadratic_matrix(x), c.quadratic_matrix(y)
    arrow = c.arrow_matrix(x)
    close(Qx, 2.0 * arrow @ arrow - c.arrow_matrix(c.product(x, x)))
    close(Qx @ y, c.quadratic_product(x, y))
    close(Qx @ y, 2.0 * c.product(x, c.product(x, y)) - c.product(c.product(x, x), y))
    close(c.quadratic_matrix(c.product(x, x)), Qx @ Qx, 1e-7)
    close(c.quadratic_matrix(c.power(x, 3.0)), Qx @ Qx @ Qx, 1e-7)
    close(c.quadratic_matrix(c.inverse(x)) @ Qx, np.eye(c.n), 1e-7)
    close(c.quadratic_matrix(c.power(x, 0.5)) @ c.quadratic_matrix(c.power(x, 0.5)), Qx, 1e-7)
    close(c.quadratic_matrix(Qy @ x), Qy @ Qx @ Qy, 1e-7)
    close(c.det(c.quadratic_product(x, y)), c.det(x) ** 2 * c.det(y), 1e-6)
    close(c.inverse(c.quadratic_product(x, y)), c.quadratic_product(c.inverse(x), c.inverse(y)), 1e-6)


@SETTINGS
@given(cones)
def test_the_gradient_of_the_barrier_is_twice_the_inverse(c):
    x, dx = c.inside((1.0, 3.0)), 1e-5 * c.any()
    difference = np.log(c.det(x + dx)).sum() - np.log(c.det(x - dx)).sum()
    assert difference == pytest.approx(4.0 * c.inverse(x) @ dx, rel=1e-5, abs=1e-12)


@SETTINGS
@given(cones)
def test_both_scalings_are_the_one_of_nesterov_and_todd(c):
    x, z = c.inside(), c.inside()
    G, F, F_inverse, lam = c.scaling(x, z, by_point=False)
    by_point = c.scaling(x, z, by_point=True)
    for one, other in zip((G, F, F_inverse, lam), by_point, strict=True):
        close(other, one, 1e-7)
    close(F @ x, lam)
    close(F_inverse @ z, lam, 1e-8)
    close(F @ F_inverse, np.eye(c.n), 1e-8)
    close(F_inverse @ F_inverse, G, 1e-8)
    close(F, F.T)
    assert np.linalg.eigvalsh(F)[0] > 0.0
    close(c.quadratic_matrix(lam), F @ c.quadratic_matrix(x) @ F, 1e-7)
    out = np.empty(c.n)
    jordan.apply(*c.at, np.ones((c.size.size, c.width, c.width)), x, out)
    for o, m in zip(*c.at, strict=True):
        close(out[o : o + m], np.full(m, x[o : o + m].sum()))


@SETTINGS
@given(cones)
def test_the_longest_step_ends_on_the_boundary(c):
    x, dx = c.inside(), c.any()
    t = jordan.longest_step(*c.at, x, dx)
    if np.isinf(t):
        assert all(dx[o] >= np.linalg.norm(dx[o + 1 : o + m]) - 1e-12 for o, m in zip(*c.at, strict=True)), (
            "only directions of the cone go on for ever"
        )
        return
    assert np.abs(c.det(x + t * dx)).min() <= 1e-9 * (1.0 + t * t * (dx @ dx))
    assert c.det(x + 0.999 * t * dx).min() > 0.0


def test_moving_inside_raises_only_what_is_not():
    x = np.array([1.0, 0.0, 3.0, 4.0, 0.2])
    start, size = np.array([0, 1, 4]), np.array([1, 3, 1])
    jordan.move_inside(start, size, x, 0.5)
    np.testing.assert_allclose(x, [1.0, 5.5, 3.0, 4.0, 0.5])


def test_components_outside_the_cones_are_left_alone():
    start, size = np.array([0, 2, 3]), np.array([2, 0, 2])
    x, out = np.arange(1.0, 7.0), np.full(6, 7.0)
    jordan.product(start, size, x, x, out)
    np.testing.assert_array_equal(out, [5.0, 4.0, 7.0, 41.0, 40.0, 7.0])
