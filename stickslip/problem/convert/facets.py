"""Friction pyramids: polygons inside the disk of each group of components.

A polygon of m corners D_j on the circle is inside the disk, so the pyramid is inside the cone. A group of
one component (2D friction, torsion) is represented exactly by its two directions.
"""

import numpy as np

from stickslip.problem.checks import Array, ProblemError, count
from stickslip.problem.sets import ProductSet

MOST = 10_000
"""Largest number of sides of a pyramid; this polygon agrees with the circle to eight digits."""


def check_facets(K: ProductSet, facets: int) -> int:
    """Return `facets` if the cones of K can be replaced by such pyramids; raise a ProblemError otherwise."""
    facets = count("facets", facets, 0)
    if facets < 3:
        raise ProblemError(f"facets is {facets}; it must be at least 3")
    if facets > MOST:
        raise ProblemError(f"facets is {facets}; the limit is {MOST}, which matches the cone to eight digits")
    if K.group_size.size and K.group_size.max() > 2:
        g = int(np.argmax(K.group_size))
        i = int(np.searchsorted(K.group_offset, g, side="right") - 1)
        raise ProblemError(
            f"contact {i} has a group of {K.group_size[g]} components;"
            " pyramids are made of groups of 1 or 2: keep the cone (facets=0)"
        )
    return facets


def corners(size: int, facets: int) -> Array:
    """Return unit vectors D_j to the corners of the polygon [-], (m, size); D_{j + m/2} = -D_j if m is even.

    For odd m there is a side opposite to each corner.
    """
    if size == 1:
        return np.array([[1.0], [-1.0]])
    odd = facets % 2 == 1
    angle = 2.0 * np.pi * np.arange(facets if odd else facets // 2) / facets
    directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    directions[np.abs(directions) < 1e-15] = 0.0  # cos(pi / 2)
    return directions if odd else np.concatenate([directions, -directions])


def sides(size: int, facets: int) -> tuple[Array, float]:
    """Return normals a_j of the sides [-], shape (m, size), and their distance: a_j·x <= distance inside."""
    if size == 1:
        return corners(1, facets), 1.0
    turn = np.pi / facets
    c, s = np.cos(turn), np.sin(turn)
    return corners(2, facets) @ np.array([[c, s], [-s, c]]), float(c)


def reach(u: Array, facets: int) -> Array:
    """Return max_j -D_j·u of each row of u, |u| without facets [m/s], shape (k,) from (k, size)."""
    if facets == 0:
        return np.linalg.norm(u, axis=1)
    return (-u @ corners(u.shape[1], facets).T).max(axis=1, initial=0.0)
