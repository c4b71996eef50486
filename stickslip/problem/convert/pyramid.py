"""Coulomb's law with friction pyramids as a linear complementarity problem (Stewart & Trinkle 1996).

The tangential impulse of a group is r_T = D d with d >= 0 over m directions, the corners of a polygon:

    0 <= r_N   ⟂  u_N                  >= 0
    0 <= d_j   ⟂  D_j·u_T + sigma      >= 0
    0 <= sigma ⟂  mu r_N - sum_j d_j   >= 0

where sigma is the sliding speed, max_j -D_j·u_T. This is Coulomb's law with the disk replaced by the polygon:
a sliding contact does not open, but its friction may deviate from the direction opposite to the motion by up
to half a side, and its size may be as small as cos(pi/m) mu r_N. The matrix is not symmetric.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import cones
from stickslip.problem.box import BoxProblem
from stickslip.problem.certificate import Certificate
from stickslip.problem.checks import Array, IntArray, ProblemError, flat
from stickslip.problem.contact import ContactProblem
from stickslip.problem.convert.conversion import Answer, Conversion
from stickslip.problem.convert.facets import check_facets, corners
from stickslip.problem.convert.units import group_starts
from stickslip.problem.operator import DenseDelassus
from stickslip.problem.sets import ProductSet


def pyramid_lcp(problem: ContactProblem, facets: int = 4) -> Conversion[BoxProblem]:
    """Return the problem with friction pyramids of `facets` sides (at least 3, even or odd); other blocks are
    unchanged.

    Unknowns, block by block: r of a block without friction; r_N and, for every group with mu > 0, its
    weights d [N s] and its speed sigma [m/s]. Groups of one component have two directions and are exact.
    """
    if not isinstance(problem, ContactProblem):
        raise ProblemError(
            f"pyramid_lcp takes a ContactProblem, not {type(problem).__name__};"
            " convert a GlobalProblem by reduce_to_contacts"
        )
    K = problem.K
    facets = check_facets(K, facets)
    places = _places(K, facets)
    B, sigma = _impulses_of_unknowns(K, places, facets), _speeds(K, places)
    W = problem.W.dense() if isinstance(problem.W, DenseDelassus) else problem.W.blocks(K).sparse()
    with np.errstate(all="ignore"):  # the box problem rejects an overflow
        A, b = B.T @ W @ B + sigma, B.T @ problem.u_free
    box = BoxProblem(A, b, *_bounds(K, places))

    def guess(r: Array) -> Array:
        return _unknowns(K, places, facets, r, problem.velocity(r))

    def certificate(new: Certificate) -> Certificate:
        y = np.zeros(K.size)
        y[places.plain] = new.y[places.of_plain]
        y[K.offset[:-1][places.friction]] = new.y[places.block[places.friction]]
        return Certificate(y)

    return Conversion(box, lambda z: Answer(B @ flat("z", z, box.size)), guess, certificate)


@dataclass(frozen=True)
class _Places:
    """Indices of the unknowns z."""

    block: IntArray
    """First unknown of each block, and the total."""
    friction: IntArray
    """Blocks with friction."""
    plain: IntArray
    """Components of r of the blocks without friction."""
    of_plain: IntArray
    """Unknowns of these components."""
    group: IntArray
    """Groups with mu > 0."""
    first: IntArray
    """First d of each of these groups; its sigma follows its last d."""
    width: IntArray
    """Number of d of each."""
    normal: IntArray
    """Unknown r_N of the contact of each."""


def _places(K: ProductSet, facets: int) -> _Places:
    owner = K.group_owner
    live = K.coefficient > 0.0
    width = np.where(K.group_size == 1, 2, facets)
    widths = np.where(live, width + 1, 0)
    friction = K.kind == cones.FRICTION
    count = np.where(friction, 1, np.diff(K.offset))
    np.add.at(count, owner, widths)
    block = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    before = np.concatenate([[0], np.cumsum(widths)])
    first = block[owner] + 1 + before[:-1] - before[K.group_offset[owner]]
    plain = np.flatnonzero(K.spread(~friction))
    plain_block = K.owner[plain]
    return _Places(
        block, np.flatnonzero(friction), plain, block[plain_block] + plain - K.offset[plain_block],
        np.flatnonzero(live), first[live], width[live], block[owner][live],
    )  # fmt: skip


def _impulses_of_unknowns(K: ProductSet, places: _Places, facets: int) -> sp.csr_array:
    """Return B with r = B z: 1 for kept components, D for the weights d, shape (n, size of z)."""
    friction = places.friction
    row, col = [places.plain, K.offset[:-1][friction]], [places.of_plain, places.block[friction]]
    val = [np.ones(places.plain.size + friction.size)]
    start = group_starts(K)[places.group]
    for size in np.unique(K.group_size).tolist():
        chosen = K.group_size[places.group] == size
        D = corners(size, facets)
        shape = (int(chosen.sum()), *D.shape)
        row.append(np.broadcast_to(start[chosen][:, None, None] + np.arange(size), shape).reshape(-1))
        column = places.first[chosen][:, None, None] + np.arange(D.shape[0])[:, None]
        col.append(np.broadcast_to(column, shape).reshape(-1))
        val.append(np.broadcast_to(D, shape).reshape(-1))
    place = np.concatenate(row), np.concatenate(col)
    return sp.coo_array((np.concatenate(val), place), shape=(K.size, int(places.block[-1]))).tocsr()


def _speeds(K: ProductSet, places: _Places) -> sp.csr_array:
    """Return A minus the part of W: sigma in the rows of d, mu r_N - sum d in the rows of sigma."""
    size = int(places.block[-1])
    sigma = places.first + places.width
    of_d = np.repeat(sigma, places.width)
    d = np.concatenate([np.zeros(0, np.int64), *map(np.arange, places.first, sigma)])
    ones = np.ones(d.size)
    row, col = np.concatenate([d, of_d, sigma]), np.concatenate([of_d, d, places.normal])
    value = np.concatenate([ones, -ones, K.coefficient[places.group]])
    return sp.coo_array((value, (row, col)), shape=(size, size)).tocsr()


def _bounds(K: ProductSet, places: _Places) -> tuple[Array, Array]:
    lower, upper = np.zeros(places.block[-1]), np.full(places.block[-1], np.inf)
    sizes = np.diff(K.offset)
    lower[places.of_plain] = np.repeat(K.lower, sizes)[places.plain]
    upper[places.of_plain] = np.repeat(K.upper, sizes)[places.plain]
    return lower, upper


def _unknowns(K: ProductSet, places: _Places, facets: int, r: Array, u: Array) -> Array:
    """Return z for impulses r and velocities u, with r_T split over the two adjacent corners."""
    z = np.zeros(places.block[-1])
    z[places.of_plain] = r[places.plain]
    z[places.block[places.friction]] = r[K.offset[:-1][places.friction]]
    start = group_starts(K)[places.group]
    for size in np.unique(K.group_size).tolist():
        chosen = np.flatnonzero(K.group_size[places.group] == size)
        D = corners(size, facets)
        component = start[chosen][:, None] + np.arange(size)
        d = places.first[chosen][:, None] + np.arange(D.shape[0])
        z[d] = _weights(r[component], D)
        z[d[:, -1] + 1] = np.maximum(-u[component] @ D.T, 0.0).max(axis=1, initial=0.0)
    return z


def _weights(r: Array, D: Array) -> Array:
    """Return d >= 0 with D'd = r, with at most two nonzeros in each row, shape (k, m) from (k, size)."""
    m, size = D.shape
    d: Any = np.zeros((r.shape[0], m))
    if size == 1:
        d[:, 0], d[:, 1] = np.maximum(r[:, 0], 0.0), np.maximum(-r[:, 0], 0.0)
        return d
    side = 2.0 * np.pi / m
    angle = np.mod(np.arctan2(r[:, 1], r[:, 0]), 2.0 * np.pi)
    j = np.minimum((angle / side).astype(np.int64), m - 1)
    rest, length, i = angle - j * side, np.linalg.norm(r, axis=1), np.arange(r.shape[0])
    d[i, j] = length * np.maximum(np.sin(side - rest), 0.0) / np.sin(side)
    d[i, (j + 1) % m] = length * np.maximum(np.sin(rest), 0.0) / np.sin(side)
    return d
