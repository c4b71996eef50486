"""Contacts along directions: where they are, their frames and rows, in closed form.

Points of spheres, capsules and cuboids against planes (centre, ends of the axis, corners, with a radius about
them), and pairs of spheres; conventions are those of detection. Contacts of other shapes have no closed form:
where one bears, or may bear, the derivative is refused; an open one does not matter and stands still.
"""

from dataclasses import dataclass

import numpy as np

from stickslip.detection.contacts import ContactSet
from stickslip.gradients.moreau_jean_inputs import Complex, Inputs
from stickslip.gradients.moreau_jean_motion import dot, times, times_back
from stickslip.kernels.bodies.frames import basis
from stickslip.kernels.jit import formula
from stickslip.mechanics.parameters import lengths, material_pairs
from stickslip.mechanics.shapes import Capsule, Cuboid, Plane, Shape, Sphere
from stickslip.mechanics.world import World
from stickslip.rotations import cross, matrices
from stickslip.state import Array, BoolArray, IntArray, ModelError

BASIS = formula(basis)
AGREE = 1e-9
"""Largest difference of a gap in closed form from the detected one, as a share of the size of things."""


@dataclass(frozen=True, eq=False, slots=True)
class Features:
    """What touches in each contact. A feature is a point at `fraction` of the edges of a shape, and a ball
    about it."""

    fraction: Array
    """Of both sides, along each axis of the shape [-], shape (nc, 2, 3)."""
    edge: IntArray
    """Which number of `size` each fraction is of [-], shape (nc, 2, 3)."""
    round: IntArray
    """Which number of `size` is the radius, -1 for none [-], shape (nc, 2)."""
    plane: IntArray
    """The side that is a plane, -1 for none [-], shape (nc,)."""
    known: BoolArray
    """Whether there is a closed form [-], shape (nc,)."""
    pair: IntArray
    """Pair of materials [-], shape (nc,)."""


@dataclass(frozen=True, eq=False, slots=True)
class Touching:
    """Contacts along directions."""

    gap: Complex
    """[m], shape (k, nc)."""
    point: Complex
    """[m], shape (k, nc, 3)."""
    frame: Complex
    """Rows n, t1, t2 [-], shape (k, nc, 3, 3)."""
    rows: Complex
    """Along n, t1, t2 and about t1, t2, n, over both sides [-, m], shape (k, nc, 6, 2, 6)."""
    law: Complex
    """mu, mu_roll, mu_spin, e [-, m, m, -], shape (k, nc, 4)."""


def features_of(world: World, contacts: ContactSet, bears: BoolArray, q: Array) -> Features:
    """The features of contacts at q, shape (n, 7); `bears`, shape (nc,): which must be known."""
    nc, shapes = len(contacts), world.shapes
    first = np.cumsum([0, *(lengths(shape).size for shape in shapes.shape)])
    pairs = np.zeros((len(world.materials.names),) * 2, np.int64)
    for number, (i, j) in enumerate(material_pairs(world.materials).tolist()):
        pairs[i, j] = pairs[j, i] = number
    fraction, edge = np.zeros((nc, 2, 3)), np.zeros((nc, 2, 3), np.int64)
    ball, plane, known = np.full((nc, 2), -1), np.full(nc, -1), np.ones(nc, bool)
    for c in range(nc):
        sides = [shapes.shape[s] for s in contacts.shape[c]]
        flat = [isinstance(side, Plane) for side in sides]
        if not (any(flat) and _has_points(sides[flat.index(False)])) and not _are_spheres(sides):
            if bears[c]:
                raise _refusal(world, contacts, c, sides)
            known[c] = False
            continue
        if any(flat):
            plane[c] = flat.index(True)
        for side, shape in enumerate(sides):
            if side == plane[c]:
                continue
            s = int(contacts.shape[c, side])
            edge[c, side] = first[s] + _edges(shape)
            ball[c, side] = first[s] if isinstance(shape, Sphere | Capsule) else -1
            fraction[c, side] = _nearest(world, contacts, c, side, shape, q)
    pair = pairs[shapes.material[contacts.shape[:, 0]], shapes.material[contacts.shape[:, 1]]].reshape(nc)
    return Features(fraction, edge, ball, plane, known, pair)


def contacts_along(
    world: World, contacts: ContactSet, features: Features, given: Inputs, q: Complex
) -> Touching:
    """The contacts at q, shape (k, n, 7), along directions."""
    x, R = q[..., :3], matrices(q[..., 3:])
    gap, point, n = _places(world, contacts, features, given, x, R)
    frame = _frames(n)
    return Touching(
        gap, point, frame, contact_rows(contacts, point, frame, x, R), given.law[:, features.pair]
    )


def contact_rows(contacts: ContactSet, point: Complex, frame: Complex, x: Complex, R: Complex) -> Complex:
    """Rows along n, t1, t2 and about t1, t2, n over both sides [-, m], shape (k, nc, 6, 2, 6); x and R of all
    bodies, shape (k, n, 3) and (k, n, 3, 3)."""
    k, nc = max(len(point), len(R)), len(contacts)
    rows = np.zeros((k, nc, 6, 2, 6), complex)
    for side, sign in ((0, 1.0), (1, -1.0)):
        b = contacts.body[:, side]
        arm, turn = (point - x[:, b])[:, :, None], R[:, b, None]
        rows[:, :, :3, side, :3] = sign * frame
        rows[:, :, :3, side, 3:] = sign * times_back(turn, cross(arm, frame))
        rows[:, :, 3:, side, 3:] = sign * times_back(turn, frame[:, :, [1, 2, 0]])
    return rows


def check_agreement(world: World, contacts: ContactSet, features: Features, found: Touching) -> None:
    """Refuse contacts that are not where the closed form has them."""
    reach = np.array([shape.reach for shape in world.shapes.shape])[contacts.shape]
    size = np.where(np.isfinite(reach), reach, 0.0).max(axis=1, initial=0.0)
    size = np.maximum(size, np.abs(contacts.point).max(axis=1, initial=0.0))
    off = np.abs(found.gap[0].real - contacts.gap) + np.abs(found.point[0].real - contacts.point).max(axis=1)
    off = np.maximum(off, size * np.abs(found.frame[0].real - contacts.frame).max(axis=(1, 2)))
    bad = np.flatnonzero(features.known & (off > AGREE * size))
    if bad.size:
        c = int(bad[0])
        one, other = (world.names[b] for b in contacts.body[c])
        raise ModelError(
            f"bodies {one!r} and {other!r}: their contact was found {off[c]:.2g} m from where its closed form"
            " is, so that it has no derivative; give shapes of ordinary proportions"
        )


def _places(
    world: World, contacts: ContactSet, features: Features, given: Inputs, x: Complex, R: Complex
) -> tuple[Complex, Complex, Complex]:
    """Gaps, points and normals along directions; what is not known stands still."""
    shapes, nc = world.shapes, len(contacts)
    centre, radius, normal = [], [], []
    for side in (0, 1):
        s, b = contacts.shape[:, side], contacts.body[:, side]
        turn = matrices(shapes.quaternion[s])
        own = features.fraction[:, side] * _sized(given, features.edge[:, side])
        local = given.place[:, s] + times(turn, own)
        centre.append(x[:, b] + times(R[:, b], local))
        ball = features.round[:, side]
        radius.append(np.where(ball >= 0, _sized(given, np.maximum(ball, 0)), 0.0))
        normal.append(times(R[:, b], turn[..., 2]))
    between = centre[0] - centre[1]
    alone = (features.plane < 0)[:, None]
    sign = np.where(features.plane == 1, 1.0, -1.0)[:, None]
    upward = np.where((features.plane == 1)[:, None], normal[1], normal[0])
    square = np.where(features.plane < 0, dot(between, between), 1.0)
    square = np.where(square.real > 0.0, square, 1.0)
    n = np.where(alone, between / np.sqrt(square)[..., None], sign * upward)
    gap = dot(between, n) - radius[0] - radius[1]
    # midway between the surfaces, from the second where both are round and from the first over a plane
    from_second = centre[1] + (radius[1] + 0.5 * gap)[..., None] * n
    from_first = centre[0] - (radius[0] + 0.5 * gap)[..., None] * n
    point = np.where((features.plane == 1)[:, None], from_first, from_second)
    known = features.known
    gap = np.where(known, gap, contacts.gap)
    point = np.where(known[:, None], point, contacts.point)
    return gap, point, np.where(known[:, None], n, contacts.frame[:, 0].reshape(nc, 3))


def _sized(given: Inputs, index: IntArray) -> Complex:
    """Those numbers of `size`; a world without any has zeros."""
    if not given.size.shape[1]:
        return np.zeros((1, *index.shape), complex)
    return given.size[:, index]


def _frames(n: Complex) -> Complex:
    """Rows n, t1, t2."""
    x, y, z = n[..., 0], n[..., 1], n[..., 2]
    return np.stack([x, y, z, *BASIS(x, y, z)], axis=-1).reshape(*n.shape, 3)


def _has_points(shape: Shape) -> bool:
    return isinstance(shape, Sphere | Capsule | Cuboid)


def _are_spheres(sides: list[Shape]) -> bool:
    return all(isinstance(side, Sphere) for side in sides)


def _edges(shape: Shape) -> IntArray:
    """Which of the lengths of a shape its points are fractions of, by axis."""
    return np.array({Cuboid: (0, 1, 2), Capsule: (0, 0, 1), Sphere: (0, 0, 0)}[type(shape)])


def _candidates(shape: Shape) -> Array:
    """Points of a shape that touch planes, as fractions of its edges, shape (m, 3)."""
    if isinstance(shape, Cuboid):
        return np.array(np.indices((2, 2, 2)).reshape(3, 8).T - 0.5)
    return np.array([[0.0, 0.0, 0.5], [0.0, 0.0, -0.5]]) if isinstance(shape, Capsule) else np.zeros((1, 3))


def _nearest(world: World, contacts: ContactSet, c: int, side: int, shape: Shape, q: Array) -> Array:
    """The fractions of the point of a shape that is next to its contact."""
    choices = _candidates(shape)
    if len(choices) == 1:
        return choices[0]
    shapes, s = world.shapes, int(contacts.shape[c, side])
    b = int(shapes.body[s])
    turn, R = (matrices(p) for p in (shapes.quaternion[s], q[b, 3:]))
    all_of = lengths(shape)
    local = shapes.position[s] + (choices * all_of[_edges(shape)]) @ turn.T
    sign = 1.0 if side == 0 else -1.0
    radius = float(all_of[0]) if isinstance(shape, Capsule) else 0.0
    there = contacts.point[c] + sign * (radius + 0.5 * contacts.gap[c]) * contacts.frame[c, 0]
    away = q[b, :3] + local @ R.T - there
    nearest: Array = choices[int(np.argmin((away * away).sum(axis=1)))]
    return nearest


def _refusal(world: World, contacts: ContactSet, c: int, sides: list[Shape]) -> ModelError:
    one, other = (world.names[b] for b in contacts.body[c])
    kinds = " with a ".join(type(side).__name__.lower() for side in sides)
    return ModelError(
        f"bodies {one!r} and {other!r} touch, a {kinds}: steps have derivatives where spheres, capsules and"
        " cuboids touch planes, and spheres each other"
    )
