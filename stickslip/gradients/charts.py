"""Local coordinates about a pose: changes of q, 7 numbers per body, for displacements, 6 numbers per body.

A displacement (δx, δθ) of a body moves its centre of mass by δx and turns it by δθ in its own frame:
p ⊕ δθ = p ∘ (1, δθ / 2) to first order. Functions of q are extended to functions of x and p / |p|, which have
derivatives by all seven numbers.
"""

from typing import Any

import numpy as np

from stickslip.rotations import exponential, exponential_slope, matrices, rates
from stickslip.state import Array


def to_displacements(q: Array, change: Array) -> Array:
    """Return displacements, shape (6 n, k), for changes of q, shape (7 n, k); stretches of p are ignored."""
    return _applied(_backwards(q).transpose(0, 2, 1), change)


def to_coordinates(q: Array, displacement: Array) -> Array:
    """Return changes of q, shape (7 n, k), for displacements, shape (6 n, k)."""
    return _applied(rates(q.reshape(-1, 7)[:, 3:]), displacement)


def weights_of_displacements(q: Array, weights: Array) -> Array:
    """Transpose of `to_coordinates`: return weights of displacements, (6 n, k), for weights of q, (7 n,
    k)."""
    return _applied(rates(q.reshape(-1, 7)[:, 3:]).transpose(0, 2, 1), weights)


def weights_of_coordinates(q: Array, weights: Array) -> Array:
    """Transpose of `to_displacements`: return weights of q, (7 n, k), for weights of displacements, (6 n,
    k)."""
    return _applied(_backwards(q), weights)


def _backwards(q: Array) -> Array:
    """Transpose of ∂δθ/∂p, shape (n, 4, 3)."""
    p = q.reshape(-1, 7)[:, 3:]
    length = np.linalg.norm(p, axis=1)[:, None, None]
    return np.asarray(4.0 * rates(p) / length**2)


def _applied(turning: Array, x: Array) -> Array:
    """Multiply the rotational part of x, (n (3 + b), k), by blocks (n, a, b); return shape (n (3 + a), k)."""
    columns = x.reshape(turning.shape[0], 3 + turning.shape[2], x.shape[1])
    out = np.concatenate([columns[:, :3], np.matmul(turning, columns[:, 3:])], axis=1)
    return out.reshape(out.shape[0] * out.shape[1], x.shape[1])


class JointChart:
    """Local coordinates of a robot about a pose: MuJoCo's qpos, nq numbers, and displacements, nv numbers.

    Displacements are those of `mj_integratePos`: the change of the coordinate for slide and hinge joints, δθ
    in
    the frame of the body for ball joints, δx in the inertial frame and δθ for free joints.
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
        """Return q with unit quaternions [m, -, rad], shape (nq,); zero quaternions stay zero."""
        out = np.array(q)
        for p, _ in self._turns:
            out[p] /= np.linalg.norm(q[p]) or 1.0
        return out

    def slopes(self, q: Array) -> tuple[Array, Array]:
        """Return the derivatives of q by displacements, shape (nq, nv), and of these by q, shape (nv, nq)."""
        out, back = np.zeros((self.nq, self.nv)), np.zeros((self.nv, self.nq))
        out[self._straight] = 1.0
        back.T[self._straight] = 1.0
        for p, turn in self._turns:
            out[p, turn] = rates(q[p])
            back[turn, p] = 4.0 * rates(q[p]).T / (q[p] @ q[p])
        return out, back

    def end_slopes(self, h: float, v: Array, w: Array) -> tuple[Array, Array, Array]:
        """Return the derivatives of the displacement of q ∘ h v ∘ h w by that of q, by v and by w, each of
        shape (nv, nv)."""
        by_q, by_v, by_w = np.eye(self.nv), h * np.eye(self.nv), h * np.eye(self.nv)
        for _, turn in self._turns:
            first, second = (matrices(exponential(h * one[turn])) for one in (v, w))
            by_q[turn, turn] = (first @ second).T
            by_v[turn, turn] = h * second.T @ exponential_slope(h * v[turn])
            by_w[turn, turn] = h * exponential_slope(h * w[turn])
        return by_q, by_v, by_w
