"""Light on what a camera sees: a sun with its shadows, a sky that less of is seen from between bodies, and a
fine dark line around every body."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from stickslip.state import Array, IntArray
from stickslip.view.casting import NOTHING, Camera, Hits, Solid, depths

SKY = 32
"""Directions from which the sky shines."""
SUN, AMBIENT = 0.62, 0.56
"""Shares of the light."""
MAP = 1400
"""Most pixels along an edge of the picture that is taken from the sun; those from the sky have fewer."""
COARSE = 5
"""Every how many rays the sky is looked at."""
LINE = 0.22
"""Light of lines around bodies."""
CREASE = 0.85
"""Cosine of two neighbouring normals below which there is an edge."""

LightMap = tuple[Camera, Array]
"""A camera that looks from where light comes, and the depth of what it sees."""


def shaded(
    hits: Hits, camera: Camera, casters: Sequence[Solid], colours: Array, up: Array, lined: np.ndarray
) -> Array:
    """Red, green and blue light from every pixel [0 to 1], shape (rows, columns, 3); white where nothing is.

    `casters` throw shadows, `colours` are how much of the light each solid gives back, shape (n, 3), and
    `lined` says which have lines around them.
    """
    seen = hits.solid != NOTHING
    normal = hits.normal[seen].astype(float) @ camera.axes
    points = _points(hits, camera, seen)
    right, level = camera.axes[0], np.cross(camera.axes[0], up)
    sun = 1.2 * up - 0.8 * right + 0.5 * level
    sun /= np.linalg.norm(sun)
    most = min(MAP, max(camera.shape))
    light = SUN * np.maximum(normal @ sun, 0.0) * _lit(_map(casters, camera, sun, up, most), points, normal)
    light += AMBIENT * _sky(hits, camera, casters, up)[seen]
    image = np.ones((*hits.solid.shape, 3), np.float32)
    given = colours.astype(np.float32)[hits.solid[seen]]
    image[seen] = np.clip(given * light.astype(np.float32)[:, None], 0.0, 1.0)
    image[_edges(hits, lined)] *= LINE
    return image


def _points(hits: Hits, camera: Camera, seen: np.ndarray) -> Array:
    """Where the rays meet what is seen [m], shape (n, 3)."""
    return np.asarray(camera.centre + camera.met(hits.depth, np.flatnonzero(seen)) @ camera.axes)


def _sky(hits: Hits, camera: Camera, casters: Sequence[Solid], up: Array) -> Array:
    """Light of the sky on every pixel, 1 where all of it is seen, shape (rows, columns).

    It changes slowly on a face: it is found on some pixels, and the others take it from those near them that
    show the same face.
    """
    some = np.zeros(hits.solid.shape, bool)
    some[COARSE // 2 :: COARSE, COARSE // 2 :: COARSE] = True
    count = min(MAP, max(camera.shape)) // 4
    maps = [_map(casters, camera, direction, up, count) for direction in _directions(camera, up)]
    light, known = _spread(hits, some & (hits.solid != NOTHING), camera, maps, up)
    left = (hits.solid != NOTHING) & ~known
    normal = hits.normal[left].astype(float) @ camera.axes
    light[left] = _sky_at(_points(hits, camera, left), normal, maps, up)
    return light


def _spread(
    hits: Hits, some: np.ndarray, camera: Camera, maps: Sequence[LightMap], up: Array
) -> tuple[Array, np.ndarray]:
    """Light of the sky where it can be told from `some` pixels, and where that is."""
    rows, columns = hits.solid.shape
    found = np.zeros(hits.solid.shape)
    normal = hits.normal[some].astype(float) @ camera.axes
    found[some] = _sky_at(_points(hits, camera, some), normal, maps, up)
    middle = COARSE // 2
    at = ((np.arange(rows) - middle) / COARSE)[:, None], (np.arange(columns) - middle) / COARSE
    light, weight = np.zeros(hits.solid.shape), np.zeros(hits.solid.shape)
    for i, j, share in _around(*at):
        i, j = (np.clip(k * COARSE + middle, 0, most - 1) for k, most in ((i, rows), (j, columns)))
        same = (hits.solid[i, j] == hits.solid) & some[i, j]
        same &= np.einsum("ijk,ijk->ij", hits.normal[i, j], hits.normal) > CREASE
        light += share * same * found[i, j]
        weight += share * same
    known = weight > 1e-3
    return np.where(known, light / np.where(known, weight, 1.0), 0.0), known


def _directions(camera: Camera, up: Array) -> Array:
    """Where the sky is, evenly [-], shape (SKY, 3)."""
    k = np.arange(SKY)
    height, turn = (k + 0.5) / SKY, k * math.pi * (3.0 - math.sqrt(5.0))  # points of a sunflower
    right = camera.axes[0]
    level = np.cross(right, up)
    across = np.cos(turn)[:, None] * right + np.sin(turn)[:, None] * level
    return np.asarray(height[:, None] * up + np.sqrt(1.0 - height**2)[:, None] * across)


def _sky_at(points: Array, normal: Array, maps: Sequence[LightMap], up: Array) -> Array:
    """Light of the sky at points, shape (n,)."""
    got, all_of_it = np.zeros(len(points)), 0.0
    for one in maps:
        direction = one[0].axes[2]
        got += np.maximum(normal @ direction, 0.0) * _lit(one, points, normal)
        all_of_it += max(float(up @ direction), 0.0)
    # What is turned away from the sky gets light from the ground.
    return got / all_of_it + 0.25 * (1.0 - normal @ up) / 2.0


def _map(casters: Sequence[Solid], camera: Camera, light: Array, up: Array, count: int) -> LightMap:
    """What is met first by light from a direction."""
    sideways = np.cross(up if abs(light @ up) < 0.99 else camera.axes[1], light)
    sideways /= np.linalg.norm(sideways)
    axes = np.stack([sideways, np.cross(light, sideways), light])
    wide = camera.pixel * np.array(camera.shape[::-1])
    reach = 0.75 * float(np.hypot(*wide))
    middle = np.array(camera.low) + 0.5 * wide
    centre = camera.centre + middle @ camera.axes[:2]
    view = Camera(centre, axes, (-reach, -reach), 2.0 * reach / count, (count, count))
    return view, depths(casters, view)[0]


def _lit(one: LightMap, points: Array, normal: Array) -> Array:
    """Whether light of a map reaches points, between 0 and 1, shape (n,)."""
    view, depth = one
    pixel, count = view.pixel, view.shape[0]
    # A point is lifted off its surface, lest that shadows itself between two pixels.
    at = view.seen(points + 1.5 * pixel * normal)
    column, row = ((at[:, :2] - view.low) / pixel - 0.5).T
    found = np.zeros(len(points))
    for i, j, weight in _around(row, column):
        i, j = np.clip(i, 0, count - 1), np.clip(j, 0, count - 1)
        found += weight * (depth[i, j] <= at[:, 2] + 0.5 * pixel)
    return found


def _around(row: Array, column: Array) -> Iterator[tuple[IntArray, IntArray, Array]]:
    """Rows and columns of the four grid points around each place, and their weights, bilinear."""
    i, j = np.floor(row).astype(int), np.floor(column).astype(int)
    for dy, dx in ((0, 0), (0, 1), (1, 0), (1, 1)):
        yield i + dy, j + dx, np.abs(1 - dy - (row - i)) * np.abs(1 - dx - (column - j))


def _edges(hits: Hits, lined: np.ndarray) -> np.ndarray:
    """Pixels beside another body, nothing, or a face that is turned otherwise."""
    solid = hits.solid
    with_line = np.concatenate([lined, [False]])[solid]  # NOTHING is the last
    found = np.zeros(solid.shape, bool)
    for here, there in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1, :], np.s_[1:, :])):
        other = solid[here] != solid[there]
        bent = np.einsum("ijk,ijk->ij", hits.normal[here], hits.normal[there]) < CREASE
        nearer = hits.depth[here] >= hits.depth[there]
        line = (other | bent) & np.where(nearer, with_line[here], with_line[there])
        found[here] |= line & nearer
        found[there] |= line & ~nearer
    return found
