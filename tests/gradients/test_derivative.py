"""The base of all derivatives: names, shapes, and both directions of one matrix."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.gradients import charts
from stickslip.gradients.derivative import Derivative
from stickslip.mechanics.given import rotation
from stickslip.rotations import matrices


class Matrix(Derivative):
    """y = A x + B w, with y of shape (2, 2)."""

    def __init__(self):
        self.by, self.of = {"x": (3,), "w": (1, 6)}, {"y": (2, 2)}
        rng = np.random.default_rng(0)
        self.blocks = {"x": rng.normal(size=(4, 3)), "w": rng.normal(size=(4, 6))}

    def forward(self, tangents):
        return {"y": sum((self.blocks[name] @ value for name, value in tangents.items()), np.zeros((4, 1)))}

    def backward(self, cotangents, by):
        return {name: self.blocks[name].T @ cotangents["y"] for name in by}


def test_products_and_matrices_are_one_map():
    d, rng = Matrix(), np.random.default_rng(1)
    x, w, y = rng.normal(size=3), rng.normal(size=(1, 6)), rng.normal(size=(2, 2))
    out = d.jvp(x=x, w=w)["y"]
    assert out.shape == (2, 2)
    back = d.vjp(y=y)
    assert back["w"].shape == (1, 6)
    assert (out * y).sum() == pytest.approx(back["x"] @ x + (back["w"] * w).sum())
    for name in ("x", "w"):  # one has fewer columns than rows, the other more
        np.testing.assert_allclose(d.jacobian("y", name), d.blocks[name])


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda d: d.jvp(z=1.0), "no derivative by 'z'; known: x, w"),
        (lambda d: d.vjp(x=np.zeros(3)), "no derivative of 'x'; known: y"),
        (lambda d: d.jacobian("y", "y"), "no derivative by 'y'"),
        (lambda d: d.jvp(x=np.zeros(4)), "x has shape (4,), expected (3,)"),
        (lambda d: d.jvp(x=["a", "b", "c"]), "expected numbers"),
        (lambda d: d.jvp(x=[np.nan, 0.0, 0.0]), "x is not finite"),
        (lambda d: d.vjp(y=np.zeros((2, 2)), by=("v",)), "no derivative by 'v'"),
    ],
)
def test_a_wrong_name_or_shape_is_said_at_once(ask, words):
    with pytest.raises(ss.ModelError) as caught:
        ask(Matrix())
    assert words in str(caught.value)


def pose(seed):
    rng = np.random.default_rng(seed)
    return np.concatenate(
        [np.concatenate([rng.normal(size=3), rotation(rng.normal(size=3), 1.0 + k)]) for k in range(2)]
    )


def test_displacements_turn_bodies_in_their_own_frame():
    q, step = pose(0), 1e-6
    for axis in range(3):
        d = np.zeros((12, 1))
        d[3 + axis] = 1.0
        change = charts.to_coordinates(q, d)[:, 0]
        R = [matrices((q + sign * step * change)[3:7]) for sign in (1.0, -1.0)]
        spin = matrices(q[3:7]).T @ (R[0] - R[1]) / (2.0 * step)
        expected = np.cross(np.eye(3)[axis], np.eye(3)).T
        np.testing.assert_allclose(spin, expected, atol=1e-9)


def test_charts_are_inverse_and_transposes():
    q, rng = pose(3), np.random.default_rng(4)
    d, y = rng.normal(size=(12, 2)), rng.normal(size=(14, 2))
    np.testing.assert_allclose(charts.to_displacements(q, charts.to_coordinates(q, d)), d, atol=1e-14)
    assert (y * charts.to_coordinates(q, d)).sum() == pytest.approx(
        (charts.weights_of_displacements(q, y) * d).sum()
    )
    longer = 1.7 * q
    assert (d * charts.to_displacements(longer, y)).sum() == pytest.approx(
        (charts.weights_of_coordinates(longer, d) * y).sum()
    )
