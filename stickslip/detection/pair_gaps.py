"""Gaps between the shapes of two bodies as functions of their poses, with first and second derivatives.

`smooth_gaps(world, first, second, q)` finds the pairs of features at which two bodies are close at q. Each
`SmoothGap` is the gap between one such pair as a function of arbitrary poses:

    gap = smooth_gaps(world, "box", "floor")[0]
    value, gradient, hessian = gap(pose_of_box, pose_of_floor)
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.detection.contacts import ContactSet
from stickslip.detection.detector import Detector
from stickslip.detection.features import shape_features
from stickslip.kernels.bodies.feature_pairs import place_rows
from stickslip.kernels.bodies.features import BORDER, LOOSE, RIM, ROUGH, Rows, ShapeFeatures
from stickslip.kernels.bodies.gaps import Forms, gap_rows
from stickslip.mechanics.world import World
from stickslip.names import alternatives
from stickslip.rotations import rates
from stickslip.state import Array, UnknownNameError

EPSILON = 1e-30
"""Step of complex differentiation: imaginary part of a unit displacement [-]."""
FEATURES = ("corner", "edge", "face")
"""Names of features; a ball, an ellipsoid and the rim of a cylinder are round corners, the side of a cylinder
and the middle of a capsule are edges with a radius."""


class GapValue(NamedTuple):
    """A gap and its derivatives by displacements of both bodies, first body first: δx [m] inertial, δθ [rad]
    in the frame of the body."""

    value: float
    """Gap [m]."""
    gradient: Array
    """First derivatives [-, m], shape (12,)."""
    hessian: Array
    """Second derivatives by displacements x + δx, R exp(δθ) [1/m, -, m], shape (12, 12), symmetric."""


@dataclass(frozen=True, eq=False, slots=True)
class SmoothGap:
    """Gap between a feature of a body and a feature of another, as a function of their poses."""

    first: str
    """Name of the first body."""
    second: str
    """Name of the second body."""
    features: tuple[str, str]
    """Features that meet (see `FEATURES`), of the first and of the second body."""
    border: bool
    """Whether the features met on the border of one of them, where a neighbouring feature takes over. There
    the gap of the shapes has a kink; the gap of the features is smooth."""
    forms: Forms
    """The contact between bodies 0 and 1, as arrays for kernels."""
    swapped: bool
    """Whether body 0 of `forms` is the second body."""

    def __call__(self, first: ArrayLike, second: ArrayLike) -> GapValue:
        """Return gap, gradient and Hessian at poses (x, p) of both bodies [m, -], shape (7,) each.

        p is a unit quaternion. The Hessian is computed by complex differentiation of the gradient.
        """
        q = self._places(first, second)
        ways = np.zeros((12, 2, 7))
        for b in range(2):
            for k in range(3):
                ways[6 * b + k, b, k] = 1.0
            ways[6 * b + 3 : 6 * b + 6, b, 3:] = rates(q[b, 3:]).T
        rows, gap = np.empty((12, 2, 6), complex), np.empty(12, complex)
        gap_rows(self.forms, q + 1j * EPSILON * ways, rows, gap)
        order = np.r_[6:12, 0:6] if self.swapped else np.arange(12)
        slope = rows.imag.reshape(12, 12)[np.ix_(order, order)] / EPSILON
        return GapValue(float(gap[0].real), rows[0].real.reshape(12)[order], 0.5 * (slope + slope.T))

    def value(self, first: ArrayLike, second: ArrayLike) -> float:
        """Return the gap [m]."""
        rows, gap = np.empty((1, 2, 6)), np.empty(1)
        gap_rows(self.forms, self._places(first, second)[None], rows, gap)
        return float(gap[0])

    def _places(self, first: ArrayLike, second: ArrayLike) -> Array:
        q = np.array([first, second], float).reshape(2, 7)
        return np.ascontiguousarray(q[::-1]) if self.swapped else q


def smooth_gaps(
    world: World, first: str, second: str, q: ArrayLike | None = None, *, within: float | None = None
) -> tuple[SmoothGap, ...]:
    """Return the gaps between the closest features of two bodies at q, shape (7 n,), by default at the start.

    within   largest distance of features [m], by default a tenth of the size of the smaller body

    The features are those at the contacts that detection finds. For separated boxes, detection searches along
    an axis of one box.
    """
    for name in (first, second):
        if name not in world.names:
            raise UnknownNameError(f"unknown body {name!r}; {alternatives(name, world.names)}")
    q_flat = world.start.q if q is None else np.array(q, float).reshape(-1)
    pair = sorted((world.names.index(first), world.names.index(second)))
    if within is None:
        reach = [
            shape.reach for shape, b in zip(world.shapes.shape, world.shapes.body, strict=True) if b in pair
        ]
        within = 0.1 * min((r for r in reach if np.isfinite(r)), default=1.0)
    detected = Detector(world).find(q_flat, within)
    chosen = np.flatnonzero((np.sort(detected.body, axis=1) == pair).all(axis=1))
    contacts = ContactSet(*(getattr(detected, name)[chosen] for name in ContactSet.__slots__))
    rows = feature_rows(shape_features(world), q_flat, contacts)
    gaps = []
    for k in range(len(rows.kind)):
        contact, flip = int(rows.contact[k]), bool(rows.flip[k])
        swapped = flip != (world.names[contacts.body[contact, 0]] != first)
        columns = (rows.point, rows.normal, rows.axis, rows.radius, rows.round)
        forms = Forms(rows.kind[[k]], np.array([[0, 1]]), *(np.array(column[[k]]) for column in columns))
        names = [FEATURES[feature] for feature in rows.feature[k]]
        features = (names[1], names[0]) if swapped else (names[0], names[1])
        border = bool(rows.mark[k] & (BORDER | ROUGH | LOOSE))
        gaps.append(SmoothGap(first, second, features, border, forms, swapped))
    return tuple(gaps)


def feature_rows(
    tables: ShapeFeatures, q: Array, contacts: ContactSet, *, turn: Array | None = None, alone: bool = False
) -> Rows:
    """Return the features that meet at detected contacts at q, shape (7 n,).

    turn    angle by which each shape may turn while these features stay in contact [rad], shape (ns,);
            default 0
    alone   return one row for each contact
    """
    least = RIM + (2.0 * turn if turn is not None else np.zeros(len(tables.body)))
    arrays = (q.reshape(-1, 7), contacts.shape, contacts.point, contacts.frame[:, 0], contacts.gap)
    rows, count = place_rows(tables, *(np.ascontiguousarray(x) for x in arrays), least, alone)
    return Rows(*(column[:count] for column in rows))
