"""Coordinates about a pose: how q of bodies, 7 numbers each, changes along the 6 of a small displacement.

A displacement (δx, δθ) of a body moves its centre of mass by δx and turns it by δθ in its own frame:
p ⊕ δθ = p ∘ (1, δθ / 2) to first order. Functions of q are taken as functions of x and p / |p|, so that they
have derivatives by all seven numbers.
"""

from typing import Any

import numpy as np

from stickslip.rotations import exponential, exponential_slope, matrices, rates
from stickslip.state import Array


def to_displacements(q: Array, change: Array) -> Array:
    """Displacements, shape (6 n, k), from changes of q, shape (7 n, k); what stretches p is left out."""
    return _applied(_backwards(q).transpose(0, 2, 1), change)


def to_coordinates(q: Array, displacement: Array) -> Array:
    """Changes of q, shape (7 n, k), from displacements, shape (6 n, k)."""
    return _applied(rates(q.reshape(-1, 7)[:, 3:]), displacement)


def weights_of_displacements(q: Array, weights: Array) -> Array:
    """The transpose of `to_coordinates`: weights of displacements, (6 n, k), from those of q, (7 n, k)."""
    return _applied(rates(q.reshape(-1, 7)[:, 3:]).transpose(0, 2, 1), weights)


def weights_of_coordinates(q: Array, weights: Array) -> Array:
    """The transpose of `to_displacements`: weights of q, (7 n, k), from those of displacements, (6 n, k)."""
    return _applied(_backwards(q), weights)


def _backwards(q: Array) -> Array:
    """∂δθ/∂p, transposed, shape (n, 4, 3)."""
    p = q.reshape(-1, 7)[:, 3:]
    length = np.linalg.norm(p, axis=1)[:, None, None]
    return np.asarray(4.0 * rates(p) / length**2)


def _applied(turning: Array, x: Array) -> Array:
    """x (n (3 + b), k) with its turning part multiplied by blocks (n, a, b), shape (n (3 + a), k)."""
    given = x.reshape(turning.shape[0], 3 + turning.shape[2], x.shape[1])
    out = np.concatenate([given[:, :3], np.matmul(turning, given[:, 3:])], axis=1)
    return out.reshape(out.shape[0] * out.shape[1], x.shape[1])


class JointChart:
    """Coordinates of a robot about a pose: qpos of MuJoCo, nq numbers, along displacements, nv numbers.

    Displacements are those of `mj_integratePos`: of slide and hinge joints the change of the coordinate, of
    ball joints δθ in the frame of the body, of free joints δx in the inertial frame, and δθ.
    """

    def __init__(self, model: Any):
        free, ball = 0, 1  # MuJoCo's types of joints
        of_q: list[int] = []
        of_v: list[int] = []
        turns = []
        places = (model.jnt_type.tolist(), model.jnt_qposadr.tolist(), model.jnt_dofadr.tolist())
        for kind, q, v in zip(*places, strict=True):
            straight = 3 if kind == free else 0 if kind == ball else 1
            of_q += range(q, q + straight)
            of_v += range(v, v + straight)
            if kind in (free, ball):
                turns.append((q + straight, v + straight))
        self.nq, self.nv = int(model.nq), int(model.nv)
        self._straight = np.array(of_q, np.int64), np.array(of_v, np.int64)
        self._turns = [(slice(q, q + 4), slice(v, v + 3)) for q, v in turns]

    def normalised(self, q: Array) -> Array:
        """q with unit quaternions [m, -, rad], shape (nq,); those that are 0 stay."""
        out = np.array(q)
        for p, _ in self._turns:
            out[p] /= np.linalg.norm(q[p]) or 1.0
        return out

    def slopes(self, q: Array) -> tuple[Array, Array]:
        """How q changes with displacements, shape (nq, nv), and these with q, shape (nv, nq)."""
        out, back = np.zeros((self.nq, self.nv)), np.zeros((self.nv, self.nq))
        out[self._straight] = 1.0
        back.T[self._straight] = 1.0
        for p, turn in self._turns:
            out[p, turn] = rates(q[p])
            back[turn, p] = 4.0 * rates(q[p]).T / (q[p] @ q[p])
        return out, back

    def end_slopes(self, h: float, v: Array, w: Array) -> tuple[Array, Array, Array]:
        """How displacements of the end q ∘ h v ∘ h w change with those of q, with v and with w, each of shape
        (nv, nv)."""
        by_q, by_v, by_w = np.eye(self.nv), h * np.eye(self.nv), h * np.eye(self.nv)
        for _, turn in self._turns:
            first, second = (matrices(exponential(h * one[turn])) for one in (v, w))
            by_q[turn, turn] = (first @ second).T
            by_v[turn, turn] = h * second.T @ exponential_slope(h * v[turn])
            by_w[turn, turn] = h * exponential_slope(h * w[turn])
        return by_q, by_v, by_w
