"""Matrices of bodies in contact: M + H D H' over bodies, and [M H; H' -D] over bodies and contacts."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from stickslip.linalg.kernels import assembly
from stickslip.linalg.pattern import BlockPattern, fixed
from stickslip.state import Array, IntArray


class ContactMap(Protocol):
    """Protocol of H in contact blocks, as in `stickslip.problem.jacobian.ContactBlocks`."""

    @property
    def bodies(self) -> IntArray:
        """First and second body of each contact, -1 for a fixed side, shape (nc, 2)."""

    @property
    def rows(self) -> Array:
        """Rows of H' over the velocities of the two bodies, shape (n, 2, k)."""

    @property
    def offset(self) -> IntArray:
        """First row of each contact, and the total, shape (nc + 1,)."""


@dataclass(frozen=True, eq=False)
class BodyPattern(BlockPattern):
    """Pattern of M + H D H' over bodies: a block per body, then a block per pair of bodies in contact."""

    edge: IntArray
    """Index of the block of the pair of each contact, -1 if one side is fixed [-], shape (nc,)."""

    def values(self, M: ArrayLike, H: ContactMap, D: ArrayLike, out: Array | None = None) -> Array:
        """Return the blocks of M + H D H', shape (nnzb, k, k), in `out` if it is not None.

        M: blocks (bodies, k, k). D: a number, a number per component (n,), blocks (nc, d, d), or blocks of
        several sizes, flat, one after another, each row-major.
        """
        n, k = self.widths.size, int(self.widths[0]) if self.widths.size else 0
        mass = _mass(M, n, k)
        _check_contacts(H, self.edge.size, n, k)
        weight = _weights(D, H.offset)
        if out is None:
            out = np.empty((self.one.size, k, k))
        if n:
            work = np.empty((int(np.diff(H.offset).max(initial=1)), k))
            assembly.body_values(mass, H.bodies, H.offset, H.rows, weight, self.edge, work, out)
        return out


@dataclass(frozen=True, eq=False)
class SaddlePattern(BlockPattern):
    """Pattern of [M H; H' -D] over bodies and contacts; block rows are the bodies, then the contacts.

    Blocks are those of the bodies, of the contacts, of H' of first sides, and of H' of second sides; fixed
    sides have no blocks.
    """

    graph: BodyPattern
    """Pattern of the bodies after elimination of the contacts."""

    @property
    def negative(self) -> np.ndarray:
        """Whether each block row has negative pivots: contacts do [-], shape (n,)."""
        return np.arange(self.widths.size) >= self.graph.widths.size

    def values(self, M: ArrayLike, H: ContactMap, D: ArrayLike) -> Array:
        """Return the blocks of [M H; H' -D], flat; M and D as in `BodyPattern.values`."""
        n, k = self.graph.widths.size, int(self.graph.widths[0]) if self.graph.widths.size else 0
        mass = _mass(M, n, k)
        _check_contacts(H, self.graph.edge.size, n, k)
        width = np.diff(H.offset)
        if not np.array_equal(width, self.widths[n:]):
            raise ValueError("H has contacts of other widths than the pattern")
        weight = _weights(D, H.offset)
        entries = int((width * width).sum())
        if weight.size != entries or (width == 1).all():
            within = np.arange(entries) - np.repeat(np.cumsum(width * width) - width * width, width * width)
            wide = np.repeat(width, width * width)
            on_diagonal = within % (wide + 1) == 0
            blocks = np.zeros(entries)
            blocks[on_diagonal] = weight
            weight = blocks
        moving = H.bodies >= 0
        first, second = (np.repeat(moving[:, side], width) for side in range(2))
        return np.concatenate(
            [mass.reshape(-1), -weight, H.rows[first, 0].reshape(-1), H.rows[second, 1].reshape(-1)]
        )


def body_pattern(bodies: ArrayLike, count: int, width: int = 6) -> BodyPattern:
    """Return the pattern of M + H D H' for `count` bodies with `width` velocities.

    bodies (nc, 2): first and second body of each contact, -1 for a fixed side.
    """
    pairs = _pairs(bodies, count)
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    touching = low >= 0
    keys, name = np.unique(high[touching] * count + low[touching], return_inverse=True)
    edge = np.full(pairs.shape[0], -1)
    edge[touching] = count + name
    every = np.arange(count)
    one = np.concatenate([every, keys // max(count, 1)])
    other = np.concatenate([every, keys % max(count, 1)])
    return BodyPattern(fixed(np.full(count, width)), fixed(one), fixed(other), fixed(edge))


def saddle_pattern(bodies: ArrayLike, offset: ArrayLike, count: int, width: int = 6) -> SaddlePattern:
    """Pattern of [M H; H' -D]; `offset` (nc + 1,) first component of each contact, the rest as above."""
    pairs, contacts = _pairs(bodies, count), np.diff(np.asarray(offset, dtype=np.int64))
    nc = pairs.shape[0]
    if contacts.shape != (nc,) or (contacts < 1).any():
        raise ValueError(
            f"offset must rise {nc} times, once for each contact, got {np.asarray(offset).shape}"
        )
    first, second = (np.flatnonzero(pairs[:, side] >= 0) for side in range(2))
    every = np.arange(count + nc)
    one = np.concatenate([every, count + first, count + second])
    other = np.concatenate([every, pairs[first, 0], pairs[second, 1]])
    widths = np.concatenate([np.full(count, width), contacts])
    return SaddlePattern(fixed(widths), fixed(one), fixed(other), body_pattern(pairs, count, width))


def _pairs(bodies: ArrayLike, count: int) -> IntArray:
    pairs = np.ascontiguousarray(bodies, dtype=np.int64).reshape(-1, 2)
    if pairs.size and (pairs.max() >= count or pairs.min() < -1):
        wrong = pairs.max() if pairs.max() >= count else pairs.min()
        raise ValueError(f"bodies names body {wrong}; there are {count}, and -1 is a fixed side")
    same = (pairs[:, 0] == pairs[:, 1]) & (pairs[:, 0] >= 0)
    if same.any():
        i = int(np.argmax(same))
        raise ValueError(f"contact {i} joins body {pairs[i, 0]} to itself; give each body one side")
    return pairs


def _mass(M: ArrayLike, n: int, k: int) -> Array:
    mass = np.ascontiguousarray(M, dtype=np.float64)
    if n and mass.shape != (n, k, k):
        raise ValueError(f"M has shape {mass.shape}, expected ({n}, {k}, {k})")
    return fixed(mass)


def _check_contacts(H: ContactMap, contacts: int, n: int, k: int) -> None:
    if H.bodies.shape != (contacts, 2) or (n and H.rows.shape[1:] != (2, k)):
        raise ValueError(
            f"H has {H.bodies.shape[0]} contacts, rows {H.rows.shape}; the pattern has {contacts} contacts"
            f" over bodies of {k} velocities"
        )


def _weights(D: ArrayLike, offset: IntArray) -> Array:
    """Return D for kernels: a number (1,), a number per component (n,), or flat blocks."""
    weight = np.ascontiguousarray(D, dtype=np.float64).reshape(-1)
    width, n = np.diff(offset), int(offset[-1])
    entries = int((width * width).sum())
    if weight.size not in (1, n, entries):
        raise ValueError(f"D has {weight.size} numbers, expected 1, {n} or {entries}")
    return fixed(weight)
