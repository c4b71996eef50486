"""What lengths and places of shapes change in a step: points and radii of its contacts."""

from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.gradients.variational_parts import contacts_of, matched
from stickslip.gradients.variational_right_sides import Columns
from stickslip.kernels.variational_derivatives.parts import SHAPES
from stickslip.mechanics.parameters import lengths
from stickslip.mechanics.shapes import Capsule, Cuboid, Sphere
from stickslip.rotations import matrices
from stickslip.state import Array

if TYPE_CHECKING:
    from stickslip.gradients.variational_columns import Linear


def by_size(linear: "Linear") -> Columns:
    """Of the lengths of shapes."""
    shapes, at, count = linear.world.shapes, 0, 0
    first: list[int] = []
    for shape in shapes.shape:
        first.append(at)
        at += lengths(shape).size
    count = at
    R, contacts = matrices(shapes.quaternion), linear.solved.problem.contacts
    ways: list[tuple[int, int, Array]] = []
    for i, pair in enumerate(linear.step.contacts.shape.tolist()):
        for side, s in enumerate(pair):
            shape = shapes.shape[s]
            local = R[s].T @ (contacts.point[i, side] - shapes.position[s])
            for k, way in enumerate(_growth(shape, local, side, R[s])):
                ways.append((i, first[s] + k, way))
    return _by_shapes(linear, ways, count)


def by_place(linear: "Linear") -> Columns:
    """Of the places of shapes in their bodies."""
    ways: list[tuple[int, int, Array]] = []
    for i, pair in enumerate(linear.step.contacts.shape.tolist()):
        for side, s in enumerate(pair):
            for k in range(3):
                way = np.zeros(8)
                way[3 * side + k] = 1.0
                ways.append((i, 3 * s + k, way))
    return _by_shapes(linear, ways, 3 * len(linear.world.shapes.shape))


def _by_shapes(linear: "Linear", ways: list[tuple[int, int, Array]], count: int) -> Columns:
    """Of changes of points and radii: (contact, column, direction of eight numbers)."""
    _, wrench, rate, came, opening = contacts_of(linear.solved, SHAPES)
    c, nc = linear.contacts, len(linear.contacts.body)
    e, right = np.zeros((nc, 2, 6, count)), np.zeros((nc, 6, count))
    speed = np.zeros((nc, count))
    closed = linear.solved.problem.contacts.kind != 2
    for i, k, way in ways:
        if not closed[i]:
            continue
        e[i, :, :, k] += (way @ wrench[i]).reshape(2, 6)
        u = way @ rate[i]
        u[0] = way @ opening[i]
        right[i, :, k] -= c.L_u[i] @ u
        speed[i, k] += way @ came[i]
    on = np.zeros((linear.nd + 1, 6, count))
    for side in (0, 1):
        np.add.at(on, linear.row_of[c.body[:, side]], e[:, side])
    lines = np.zeros((linear.m, count))
    lines[: linear.nk] = right[linear.contact, linear.component]
    _, here = matched(linear.step.memory["id"], linear.step.contacts.id)
    return Columns(on[: linear.nd].reshape(6 * linear.nd, count), lines, approach=-speed[here])


def _growth(shape: Any, local: Array, side: int, R: Array) -> list[Array]:
    """How the point and radius of a contact change with the lengths of its shape, eight numbers each."""
    ways = [np.zeros(8) for _ in range(lengths(shape).size)]
    if isinstance(shape, Sphere | Capsule):
        ways[0][6 + side] = 1.0
    if isinstance(shape, Capsule):
        ways[1][3 * side : 3 * side + 3] = 0.5 * np.sign(local[2]) * R[:, 2]
    if isinstance(shape, Cuboid):
        for k in range(3):
            ways[k][3 * side : 3 * side + 3] = 0.5 * np.sign(local[k]) * R[:, k]
    return ways
