"""Contact problems of active interactions, one for each set of coupled interactions.

Interactions are coupled if they share a system. Blocks of W between uncoupled interactions are zero, so each
set of coupled interactions is a separate problem. Its W is assembled system by system: with the rows C_α^j
and forces B_α^j of interaction α on system j, and the iteration matrix A_j of that system,

    W_αβ = Σ_j C_α^j A_j⁻¹ B_β^j  over the systems j that α and β share

(Siconos Developer's Notes 2017, (1.39) and (1.40)).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem, Level
from stickslip.problem.sets import ProductSet, blocks_of, spans
from stickslip.state import BoolArray
from stickslip.systems.couplings import tied
from stickslip.systems.system import Bound, NonsmoothSystem


def coupled(interactions: Sequence[Bound]) -> list[list[Bound]]:
    """Return the interactions in groups that share systems, directly or indirectly, in their order."""
    if len(interactions) <= 1:
        return [list(interactions)] if interactions else []
    return [[interactions[k] for k in group] for group in tied([one.systems for one in interactions])]


def components_of(one: Bound, on: BoolArray, weight: float) -> tuple[IntArray, ProductSet]:
    """Return the components of the active blocks in the flat r, and their set; forces act for `weight`."""
    K, active = one.law.impulses(weight), np.flatnonzero(on)
    return one.components.start + spans(K.offset, active), blocks_of(K, active)


def problem_of(
    W: Array, u_free: Array, K: ProductSet, level: Level, symmetric: bool
) -> ContactProblem | BoxProblem:
    """Return the problem u = W r + u_free with r in K; a box problem if W is not symmetric and no block has
    friction."""
    if symmetric or (K.kind == cones.FRICTION).any():
        return ContactProblem(W, u_free, K, level)  # type: ignore[arg-type]
    sizes = np.diff(K.offset)
    return BoxProblem(W, u_free, np.repeat(K.lower, sizes), np.repeat(K.upper, sizes))


@dataclass(frozen=True, eq=False)
class Share:
    """Interactions of one system in a pattern, and the indices of their components."""

    system: int
    """Number of the system."""
    parts: tuple[tuple[int, slice], ...]
    """Index of each interaction in the pattern, and the columns of its rows for this system."""
    components: IntArray | None
    """Their components in the problem [-], shape (any,); None for all of them."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Coupled interactions with a set of active blocks, and the indices of their components in the
    problem."""

    ties: tuple[Bound, ...]
    """The interactions."""
    keep: tuple[IntArray | None, ...]
    """Active components of each interaction [-], shape (any,); None for all."""
    place: tuple[slice, ...]
    """Slices of the active components in the problem."""
    components: IntArray
    """Indices of the problem's components among those of all interactions [-], shape (n,)."""
    K: ProductSet
    """Set of the impulses."""
    shares: tuple[Share, ...]
    """Interactions of each system."""
    is_box: bool
    """Whether no block is a friction cone."""
    free: IntArray
    """Components of free blocks [-], shape (any,): bilateral rows of the global form."""
    other: IntArray
    """The other components [-], shape (any,)."""
    K_other: ProductSet
    """The set of the other components."""
    kept: dict[str, Any] = field(default_factory=dict)
    """Cached data that depend on the pattern alone."""

    @property
    def systems(self) -> tuple[int, ...]:
        """Numbers of the systems."""
        return tuple(share.system for share in self.shares)


def pattern(system: NonsmoothSystem, ties: Sequence[Bound], on: Sequence[IntArray], h: float) -> Pattern:
    """Return the pattern of interactions with the active blocks `on` of each, for a step h."""
    sets, keep, place, components, start = [], [], [], [], 0
    for one, blocks in zip(ties, on, strict=True):
        K, whole = one.law.impulses(h), len(blocks) == len(one.law.K)
        rows = spans(K.offset, blocks)
        sets.append(K if whole else blocks_of(K, blocks))
        keep.append(None if whole else rows)
        place.append(slice(start, start + rows.size))
        components.append(rows + one.components.start)
        start += rows.size
    K = reduce(add, sets)
    shares = []
    for number in sorted({i for one in ties for i in one.systems}):
        parts = [(k, _columns(system, one, number)) for k, one in enumerate(ties) if number in one.systems]
        indices = np.concatenate([np.arange(place[k].start, place[k].stop) for k, _ in parts])
        shares.append(Share(number, tuple(parts), None if indices.size == start else indices))
    is_free = K.kind == cones.FREE
    other = np.flatnonzero(~is_free)
    return Pattern(
        tuple(ties), tuple(keep), tuple(place), np.concatenate(components), K, tuple(shares),
        not (K.kind == cones.FRICTION).any(), spans(K.offset, np.flatnonzero(is_free)),
        spans(K.offset, other), blocks_of(K, other),
    )  # fmt: skip


def _columns(system: NonsmoothSystem, one: Bound, number: int) -> slice:
    """Return the columns of an interaction's rows that belong to a system."""
    sizes = [system.places[i].v.stop - system.places[i].v.start for i in one.systems]
    at = one.systems.index(number)
    return slice(sum(sizes[:at]), sum(sizes[: at + 1]))
