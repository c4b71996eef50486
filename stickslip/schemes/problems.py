"""From active interactions to problems: coupled ones together, uncoupled ones apart.

Interactions are coupled when they share a system; blocks of uncoupled ones meet only zeros in W, so each set
of coupled ones is a problem of its own. Its W is assembled system by system: with C_α^j the rows and B_α^j
the forces of interaction α on system j, and A_j the iteration matrix of that system,

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
    """The interactions in groups that share systems, directly or through others, in their order."""
    if len(interactions) <= 1:
        return [list(interactions)] if interactions else []
    return [[interactions[k] for k in group] for group in tied([one.systems for one in interactions])]


def components_of(one: Bound, on: BoolArray, weight: float) -> tuple[IntArray, ProductSet]:
    """Components of the blocks that are on, in the flat r, and their set; forces count for `weight`."""
    K, which = one.law.impulses(weight), np.flatnonzero(on)
    return one.components.start + spans(K.offset, which), blocks_of(K, which)


def problem_of(
    W: Array, u_free: Array, K: ProductSet, level: Level, symmetric: bool
) -> ContactProblem | BoxProblem:
    """u = W r + u_free with r in K; between bounds where W is not symmetric and no block has friction."""
    if symmetric or (K.kind == cones.FRICTION).any():
        return ContactProblem(W, u_free, K, level)  # type: ignore[arg-type]
    sizes = np.diff(K.offset)
    return BoxProblem(W, u_free, np.repeat(K.lower, sizes), np.repeat(K.upper, sizes))


@dataclass(frozen=True, eq=False)
class Share:
    """What one system has to do with a pattern: its interactions, and where their components stand."""

    system: int
    """Number of the system."""
    parts: tuple[tuple[int, slice], ...]
    """Position of each interaction in the pattern, and the columns of its rows that are this system's."""
    components: IntArray | None
    """Their components in the problem [-], shape (any,); None for all of them."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """Coupled interactions with some of their blocks active: where everything stands in their problem."""

    ties: tuple[Bound, ...]
    """The interactions."""
    keep: tuple[IntArray | None, ...]
    """Components of each that are active [-], shape (any,); None for all."""
    place: tuple[slice, ...]
    """Where those stand in the problem."""
    components: IntArray
    """Where the problem's components stand among those of all interactions [-], shape (n,)."""
    K: ProductSet
    """The set of the impulses."""
    shares: tuple[Share, ...]
    """What each system has to do with it."""
    is_box: bool
    """Whether no block is a friction cone."""
    free: IntArray
    """Components of free blocks [-], shape (any,): bilateral rows of the global form."""
    other: IntArray
    """The other components [-], shape (any,)."""
    K_other: ProductSet
    """The set of the other components."""
    kept: dict[str, Any] = field(default_factory=dict)
    """What depends on the pattern alone, made once."""

    @property
    def systems(self) -> tuple[int, ...]:
        """Numbers of the systems."""
        return tuple(share.system for share in self.shares)


def pattern(system: NonsmoothSystem, ties: Sequence[Bound], on: Sequence[IntArray], h: float) -> Pattern:
    """The pattern of those interactions with the blocks `on` of each active, over a step h."""
    sets, keep, place, components, start = [], [], [], [], 0
    for one, blocks in zip(ties, on, strict=True):
        K, whole = one.law.impulses(h), len(blocks) == len(one.law.K)
        kept = spans(K.offset, blocks)
        sets.append(K if whole else blocks_of(K, blocks))
        keep.append(None if whole else kept)
        place.append(slice(start, start + kept.size))
        components.append(kept + one.components.start)
        start += kept.size
    K = reduce(add, sets)
    shares = []
    for number in sorted({i for one in ties for i in one.systems}):
        parts = [(k, _columns(system, one, number)) for k, one in enumerate(ties) if number in one.systems]
        mine = np.concatenate([np.arange(place[k].start, place[k].stop) for k, _ in parts])
        shares.append(Share(number, tuple(parts), None if mine.size == start else mine))
    is_free = K.kind == cones.FREE
    other = np.flatnonzero(~is_free)
    return Pattern(
        tuple(ties), tuple(keep), tuple(place), np.concatenate(components), K, tuple(shares),
        not (K.kind == cones.FRICTION).any(), spans(K.offset, np.flatnonzero(is_free)),
        spans(K.offset, other), blocks_of(K, other),
    )  # fmt: skip


def _columns(system: NonsmoothSystem, one: Bound, number: int) -> slice:
    """Which columns of an interaction's rows belong to a system."""
    sizes = [system.places[i].v.stop - system.places[i].v.start for i in one.systems]
    at = one.systems.index(number)
    return slice(sum(sizes[:at]), sum(sizes[: at + 1]))
