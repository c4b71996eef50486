"""Shading of pictures: sunlight with shadows, ambient occlusion of the sky, and dark outlines of bodies."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from stickslip.state import Array, IntArray
from stickslip.view.casting import NOTHING, Camera, Hits, Solid, depths

SKY = 32
"""Number of directions of sky light."""
SUN, AMBIENT = 0.62, 0.56
"""Intensities of sun and sky [-]; heuristic."""
MAP = 1400
"""Largest number of pixels along an edge of the shadow map of the sun; maps of the sky have a quarter."""
COARSE = 5
"""Spacing of the pixels at which the sky light is computed; it is interpolated between them."""
LINE = 0.22
"""Brightness factor of outlines [-]; heuristic."""
CREASE = 0.85
"""Cosine between two neighbouring normals below which there is an edge [-]; heuristic."""

LightMap = tuple[Camera, Array]
"""Shadow map: a camera that looks along the light, and the depths of its pixels."""


def shaded(
    hits: Hits, camera: Camera, casters: Sequence[Solid], colours: Array, up: Array, lined: np.ndarray
) -> Array:
    """Red, green and blue light of every pixel [0 to 1], shape (rows, columns, 3); white without a hit.

    casters: solids that cast shadows. colours: reflectances of the solids, shape (n, 3). lined: whether each
    solid has outlines.
    """
    seen = hits.solid != NOTHING
    normal = hits.normal[seen].astype(float) @ camera.axes
    points = _points(hits, camera, seen)
    right, level = camera.axes[0], np.cross(camera.axes[0], up)
    sun = 1.2 * up - 0.8 * right + 0.5 * level
    sun /= np.linalg.norm(sun)
    resolution = min(MAP, max(camera.shape))
    light = (
        SUN * np.maximum(normal @ sun, 0.0) * _lit(_map(casters, camera, sun, up, resolution), points, normal)
    )
    light += AMBIENT * _sky(hits, camera, casters, up)[seen]
    image = np.ones((*hits.solid.shape, 3), np.float32)
    reflectance = colours.astype(np.float32)[hits.solid[seen]]
    image[seen] = np.clip(reflectance * light.astype(np.float32)[:, None], 0.0, 1.0)
    image[_edges(hits, lined)] *= LINE
    return image


def _points(hits: Hits, camera: Camera, seen: np.ndarray) -> Array:
    """Points hit by the rays of some pixels [m], shape (n, 3)."""
    return np.asarray(camera.centre + camera.met(hits.depth, np.flatnonzero(seen)) @ camera.axes)


def _sky(hits: Hits, camera: Camera, casters: Sequence[Solid], up: Array) -> Array:
    """Sky light of every pixel, 1 without occlusion, shape (rows, columns).

    It is computed on a coarse grid of pixels and interpolated between pixels of the same face. Pixels without
    such neighbours are computed directly.
    """
    grid = np.zeros(hits.solid.shape, bool)
    grid[COARSE // 2 :: COARSE, COARSE // 2 :: COARSE] = True
    count = min(MAP, max(camera.shape)) // 4
    maps = [_map(casters, camera, direction, up, count) for direction in _directions(camera, up)]
    light, known = _spread(hits, grid & (hits.solid != NOTHING), camera, maps, up)
    rest = (hits.solid != NOTHING) & ~known
    normal = hits.normal[rest].astype(float) @ camera.axes
    light[rest] = _sky_at(_points(hits, camera, rest), normal, maps, up)
    return light


def _spread(
    hits: Hits, grid: np.ndarray, camera: Camera, maps: Sequence[LightMap], up: Array
) -> tuple[Array, np.ndarray]:
    """Interpolate the sky light from the grid pixels `some`; return it, and where it is known."""
    rows, columns = hits.solid.shape
    values = np.zeros(hits.solid.shape)
    normal = hits.normal[grid].astype(float) @ camera.axes
    values[grid] = _sky_at(_points(hits, camera, grid), normal, maps, up)
    half = COARSE // 2
    at = ((np.arange(rows) - half) / COARSE)[:, None], (np.arange(columns) - half) / COARSE
    light, weight = np.zeros(hits.solid.shape), np.zeros(hits.solid.shape)
    for i, j, share in _around(*at):
        i, j = (np.clip(k * COARSE + half, 0, size - 1) for k, size in ((i, rows), (j, columns)))
        same = (hits.solid[i, j] == hits.solid) & grid[i, j]
        same &= np.einsum("ijk,ijk->ij", hits.normal[i, j], hits.normal) > CREASE
        light += share * same * values[i, j]
        weight += share * same
    known = weight > 1e-3
    return np.where(known, light / np.where(known, weight, 1.0), 0.0), known


def _directions(camera: Camera, up: Array) -> Array:
    """Uniformly distributed directions of the upper half sphere [-], shape (SKY, 3)."""
    k = np.arange(SKY)
    height, turn = (k + 0.5) / SKY, k * math.pi * (3.0 - math.sqrt(5.0))  # golden-angle spiral
    right = camera.axes[0]
    level = np.cross(right, up)
    across = np.cos(turn)[:, None] * right + np.sin(turn)[:, None] * level
    return np.asarray(height[:, None] * up + np.sqrt(1.0 - height**2)[:, None] * across)


def _sky_at(points: Array, normal: Array, maps: Sequence[LightMap], up: Array) -> Array:
    """Sky light at points, shape (n,)."""
    total, unoccluded = np.zeros(len(points)), 0.0
    for light_map in maps:
        direction = light_map[0].axes[2]
        total += np.maximum(normal @ direction, 0.0) * _lit(light_map, points, normal)
        unoccluded += max(float(up @ direction), 0.0)
    # Surfaces that face downwards receive light reflected by the ground.
    return total / unoccluded + 0.25 * (1.0 - normal @ up) / 2.0


def _map(casters: Sequence[Solid], camera: Camera, light: Array, up: Array, count: int) -> LightMap:
    """Shadow map of light from a direction."""
    sideways = np.cross(up if abs(light @ up) < 0.99 else camera.axes[1], light)
    sideways /= np.linalg.norm(sideways)
    axes = np.stack([sideways, np.cross(light, sideways), light])
    wide = camera.pixel * np.array(camera.shape[::-1])
    reach = 0.75 * float(np.hypot(*wide))
    offset = np.array(camera.low) + 0.5 * wide
    centre = camera.centre + offset @ camera.axes[:2]
    view = Camera(centre, axes, (-reach, -reach), 2.0 * reach / count, (count, count))
    return view, depths(casters, view)[0]


def _lit(light_map: LightMap, points: Array, normal: Array) -> Array:
    """Share of the light of a shadow map that reaches points [0 to 1], shape (n,)."""
    view, depth = light_map
    pixel, count = view.pixel, view.shape[0]
    # Points are moved off their surface, to prevent self-shadowing between pixels.
    at = view.seen(points + 1.5 * pixel * normal)
    column, row = ((at[:, :2] - view.low) / pixel - 0.5).T
    share = np.zeros(len(points))
    for i, j, weight in _around(row, column):
        i, j = np.clip(i, 0, count - 1), np.clip(j, 0, count - 1)
        share += weight * (depth[i, j] <= at[:, 2] + 0.5 * pixel)
    return share


def _around(row: Array, column: Array) -> Iterator[tuple[IntArray, IntArray, Array]]:
    """Yield rows and columns of the four grid points around each position, and their bilinear weights."""
    i, j = np.floor(row).astype(int), np.floor(column).astype(int)
    for dy, dx in ((0, 0), (0, 1), (1, 0), (1, 1)):
        yield i + dy, j + dx, np.abs(1 - dy - (row - i)) * np.abs(1 - dx - (column - j))


def _edges(hits: Hits, lined: np.ndarray) -> np.ndarray:
    """Pixels of outlines: at the border of a body, and at sharp edges."""
    solid = hits.solid
    with_line = np.concatenate([lined, [False]])[solid]  # NOTHING is the last
    edges = np.zeros(solid.shape, bool)
    for here, there in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1, :], np.s_[1:, :])):
        other = solid[here] != solid[there]
        bent = np.einsum("ijk,ijk->ij", hits.normal[here], hits.normal[there]) < CREASE
        nearer = hits.depth[here] >= hits.depth[there]
        line = (other | bent) & np.where(nearer, with_line[here], with_line[there])
        edges[here] |= line & nearer
        edges[there] |= line & ~nearer
    return edges
