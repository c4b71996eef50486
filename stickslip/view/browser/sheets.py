"""Planes as tiled squares about the scene, without what lies inside the solids of other planes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stickslip.mechanics.turns import matrices
from stickslip.mechanics.world import BodyKind
from stickslip.simulation.world_model import WorldModel
from stickslip.state import Array, IntArray
from stickslip.view.browser.meshes import Mesh
from stickslip.view.browser.poses import product, turned
from stickslip.view.browser.surroundings import Surroundings

TILES = 16
"""Squares of a sheet along an axis."""
FLOOR, WALL = 1.5, 0.75
"""Half the edge of a sheet that lies, and of one that stands, in sizes of the scene."""
RIM = 0.05
"""How far a sheet that stands reaches above the scene, in sizes of it."""
MOST_CUT = 32
"""Most planes that are cut at each other."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """Planes that are drawn alike."""

    rows: IntArray
    """Which shapes of the model they are [-], shape (n,)."""
    middle: Array
    """Of the sheet in the frame of each plane [m], shape (n, 3)."""
    scale: float
    """Half the edge [m]."""
    tiles: tuple[Mesh, Mesh]
    """Light and dark ones, of the square from -1 to 1 at z = 0, seen from above."""


def sheets_of(model: WorldModel, around: Surroundings, rows: IntArray) -> list[Sheet]:
    """The sheets of the shapes `rows`, planes; each about its point nearest to the scene's middle."""
    start = around.start[model.shape_body[rows]]
    place = start[:, :3] + turned(start[:, 3:], model.shape_position[rows])
    turns = matrices(product(start[:, 3:], model.shape_quaternion[rows]))
    middle = np.einsum("kji,kj->ki", turns, around.centre - place) * [1.0, 1.0, 0.0]
    lies = np.abs(turns[:, :, 2] @ around.up) > 0.6
    half = np.where(lies, FLOOR, WALL) * around.size
    top = float(np.abs(around.up) @ around.half) + RIM * around.size
    groups: dict[tuple[float, tuple[tuple[float, float, float], ...]], list[int]] = {}
    for k in range(rows.size):
        cuts = _cuts(model, rows, k, place, turns, middle[k], half[k]) if rows.size <= MOST_CUT else ()
        if not lies[k]:
            x, y, _ = (-turns[k].T @ around.up).tolist()
            high = around.up @ (place[k] + turns[k] @ middle[k] - around.centre)
            cuts = (*cuts, (x, y, float((high - top) / half[k])))
        groups.setdefault((float(half[k]), cuts), []).append(k)
    return [
        Sheet(rows[picks], middle[picks], scale, tiles(cuts))
        for (scale, cuts), picks in ((key, np.array(found)) for key, found in groups.items())
    ]


def tiles(cuts: Sequence[tuple[float, float, float]] = ()) -> tuple[Mesh, Mesh]:
    """Light and dark tiles of the square from -1 to 1, where a x + b y >= c for all cuts (a, b, c)."""
    ticks = np.linspace(-1.0, 1.0, TILES + 1)
    found: tuple[list[Array], list[Array]] = ([], [])
    for i in range(TILES):
        for j in range(TILES):
            (x, xx), (y, yy) = ticks[i : i + 2], ticks[j : j + 2]
            corners = np.array([[x, y], [xx, y], [xx, yy], [x, yy]])
            for a, b, c in cuts:
                corners = _cut(corners, corners @ [a, b] - c)
            if len(corners) >= 3:
                found[(i + j) % 2].append(corners)
    return _mesh(found[0]), _mesh(found[1])


def _cuts(
    model: WorldModel, rows: IntArray, k: int, place: Array, turns: Array, middle: Array, half: float
) -> tuple[tuple[float, float, float], ...]:
    """Where the solids of planes begin that keep their place to plane k, in units of its sheet."""
    body, fixed = model.shape_body[rows], model.kind[model.shape_body[rows]] == BodyKind.FIXED
    found = []
    for j in np.flatnonzero((body == body[k]) | (fixed & fixed[k])):
        normal = turns[k].T @ turns[j][:, 2]
        depth = normal @ (turns[k].T @ (place[j] - place[k]) - middle)
        if np.hypot(normal[0], normal[1]) > 1e-6:
            found.append((float(normal[0]), float(normal[1]), float(depth / half)))
    return tuple(found)


def _cut(corners: Array, height: Array) -> Array:
    """What of a convex polygon has heights above zero, which are linear in its plane (Sutherland and Hodgman
    1974)."""
    kept = []
    for k in range(len(corners)):
        here, there = height[k], height[k - 1]
        if (here >= 0.0) != (there >= 0.0):
            kept.append(corners[k - 1] + there / (there - here) * (corners[k] - corners[k - 1]))
        if here >= 0.0:
            kept.append(corners[k])
    return np.array(kept).reshape(-1, 2)


def _mesh(polygons: list[Array]) -> Mesh:
    """Convex polygons as fans of triangles."""
    vertices, triangles, count = [np.zeros((0, 3))], [np.zeros((0, 3), np.int64)], 0
    for corners in polygons:
        n = len(corners)
        vertices.append(np.column_stack([corners, np.zeros(n)]))
        fan = np.arange(1, n - 1)
        triangles.append(count + np.column_stack([0 * fan, fan, fan + 1]))
        count += n
    return Mesh(np.concatenate(vertices), np.concatenate(triangles))
