"""Linearised contact laws at a solution: A dz + B dy = (changes of coefficients and bounds).

z = r / length and y = push u are impulses and velocities in the judge's metric (`problem/residuals.py`): both
in units of impulse, with moments of rolling and torsion divided by a length. The case of each block is
determined from the solution:

- open (r_N = 0 < u_N): dz = 0;  closed (r_N > 0): dy_N = 0;
- each group of a closed friction cone separately: held (u_k = 0, |r_k| < mu_k r_N): dy_k = 0; moving:
  r_k = -mu_k r_N t with t = u_k / |u_k| is differentiated;
- one component in [lower, upper]: at a bound dz is the change of the bound, inside dy = 0; free: dy = 0.

On a border between two cases there are different derivatives on both sides (a kink). The cases open, held,
and
for intervals bounded on both sides inside, are then taken. If the data have limited accuracy ("doubt"),
borders
within it count as kinks too, and the case of the solution is taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from stickslip.gradients.solution_rows import (
    NONE,
    Causes,
    LawScales,
    family_rows,
    scalar_components,
    sparse_blocks,
)
from stickslip.kernels import cones
from stickslip.problem.sets import ProductSet
from stickslip.state import Array, BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class LawPart:
    """Linearised law of the blocks of one family, or of all one-component blocks."""

    rows: IntArray
    """Components [-], shape (count, d)."""
    A: Array
    """Coefficients of dz [-], shape (count, d, d)."""
    B: Array
    """Coefficients of dy [-], shape (count, d, d)."""
    residual: Array
    """Residual of the law, of which A and B are the derivatives [kg m/s], shape (count, d)."""
    group: IntArray
    """Groups of each block [-], shape (count, g)."""
    C: Array
    """Coefficients of changes of friction coefficients, on the right-hand side [kg m/s], shape (count, d,
    g)."""
    block: IntArray
    """Indices of one-component blocks [-], shape (count,), or empty."""
    bound: Array
    """Coefficients of changes of lower and upper bounds, on the right-hand side [-], shape (count, 2), or
    empty."""


@dataclass(frozen=True, eq=False)
class Slip:
    """Moving groups of several components, of contacts of one family."""

    rows: IntArray
    """Components [-], shape (count, m)."""
    normal: IntArray
    """Normal components of the contacts [-], shape (count,)."""
    turn: Array
    """Coefficients of dy in the rows of the law per unit of normal impulse [1/(kg m/s)], shape
    (count, m, m)."""


@dataclass(frozen=True, eq=False)
class Law:
    """Linearised law of a product set."""

    parts: Sequence[LawPart]
    scales: LawScales
    passive: BoolArray
    """Components whose change depends only on changes of their bounds [-], shape (n,)."""
    kinks: tuple[str, ...] = ()
    """One sentence for each block on a border."""
    notes: tuple[str, ...] = ()
    """Further sentences."""
    slips: tuple["Slip", ...] = ()
    """Moving groups of several components, whose direction may turn."""
    weight: Array = field(default_factory=lambda: np.ones(1))
    """Factors by which rows were multiplied for scaling [-], shape (n,), or (1,) if all are 1."""
    cases: bytes = b""
    """Cases of all blocks, for the comparison of two laws."""
    slowest: float = 1.0
    """Smallest |y| of a moving group relative to the size of all [-], which limits the accuracy of its
    direction."""
    doubt: Array = field(default_factory=lambda: np.zeros(1))
    """Errors of z and y due to the accuracy of the data [kg m/s], shape (n,), or (1,) if there are none."""
    opens: BoolArray = field(default_factory=lambda: np.zeros(1, bool))
    """Components of contacts that open, away from the border [-], shape (n,), or (1,) if none does."""

    def residual(self) -> Array:
        """Residual of the law [kg m/s], shape (n,)."""
        out = np.empty(self.passive.shape[0])
        for part in self.parts:
            out[part.rows] = part.residual
        return out

    def applied(self, dz: Array, dy: Array) -> Array:
        """A dz + B dy, shape (n,)."""
        out = np.empty(self.passive.shape[0])
        for part in self.parts:
            out[part.rows] = np.einsum("cij,cj->ci", part.A, dz[part.rows])
            out[part.rows] += np.einsum("cij,cj->ci", part.B, dy[part.rows])
        return out

    def turned(self, z: Array, dy: Array) -> Array:
        """Return the change of A dz + B dy for impulses changed by z: mu z_N Gamma(y) dy of slipping groups,
        shape (n, k)."""
        out = np.zeros(dy.shape)
        for slip in self.slips:
            across = slip.turn * z[slip.normal, None, None]
            out[slip.rows] = np.einsum("cij,cjk->cik", across, dy[slip.rows])
        return out

    def matrix(self, W: Array | sp.csr_array) -> Array | sp.csr_array:
        """Return A + B push W length, the matrix of dz; dense or sparse like W."""
        if sp.issparse(W):
            n = self.passive.shape[0]
            A, B = (sparse_blocks([(p.rows, getattr(p, name)) for p in self.parts], n) for name in "AB")
            scaled = sp.diags_array(self.scales.push) @ W @ sp.diags_array(self.scales.length)
            return sp.csr_array(A + B @ scaled)
        scaled = self.scales.push[:, None] * W * self.scales.length
        out = np.empty_like(scaled)
        for part in self.parts:
            out[part.rows] = np.einsum("cij,cjn->cin", part.B, scaled[part.rows])
            out[part.rows[:, :, None], part.rows[:, None, :]] += part.A
        return out

    def right_hand_side(self, given: Causes) -> Array:
        """Return the right-hand side of A dz + B dy = ..., for changes of u at constant r and of the law,
        shape (n, k)."""
        out = np.zeros(given.velocity.shape)
        y = self.scales.push[:, None] * given.velocity
        for part in self.parts:
            value = -np.einsum("cij,cjk->cik", part.B, y[part.rows])
            if given.coefficient.size and part.group.size:
                change = given.coefficient / self.scales.group_length[:, None]
                value += np.einsum("cig,cgk->cik", part.C, change[part.group])
            for side, bound in enumerate((given.lower, given.upper)):
                if bound.size and part.block.size:
                    factor = part.bound[:, side, None] / self.scales.length[part.rows]
                    value += (factor * bound[part.block])[:, None, :]
            out[part.rows] = value
        return out

    def right_hand_side_transposed(self, weights: Array, blocks: int) -> Causes:
        """Transpose of `right_hand_side`: return weights of velocity, coefficient, lower and upper."""
        k = weights.shape[1]
        velocity = np.zeros(weights.shape)
        coefficient = np.zeros((self.scales.coefficient.shape[0], k))
        bounds = np.zeros((2, blocks, k))
        for part in self.parts:
            weight = weights[part.rows]
            velocity[part.rows] = -np.einsum("cij,cik->cjk", part.B, weight)
            if part.group.size:
                coefficient[part.group] = np.einsum("cig,cik->cgk", part.C, weight)
            if part.block.size:
                factor = part.bound / self.scales.length[part.rows]
                for side in range(2):
                    np.add.at(bounds[side], part.block, factor[:, side, None] * weight[:, 0])
        coefficient /= self.scales.group_length[:, None]
        velocity *= self.scales.push[:, None]
        return Causes(velocity=velocity, coefficient=coefficient, lower=bounds[0], upper=bounds[1])


def exact_law(
    K: ProductSet, scales: LawScales, r: Array, u: Array, tolerance: float, doubt: Array | None = None
) -> Law:
    """Return the law linearised at r and u, with the cases of `Solution.states`: zero is below ten
    tolerances.

    doubt: errors of z and y due to the accuracy of the data [kg m/s], shape (n,); 0 by default.
    """
    z, y = r / scales.length, scales.push * u
    size = max(float(np.linalg.norm(z)), float(np.linalg.norm(y))) / np.sqrt(max(1, len(K)))
    cut = 10.0 * tolerance * size
    doubt = np.zeros(K.size) if doubt is None else doubt
    at = LawPoint(K, scales, z, y, cut, doubt)
    passive, opens = np.zeros(K.size, bool), np.zeros(K.size, bool)
    parts: list[LawPart] = []
    kinks: list[tuple[int, str]] = []
    notes: list[str] = []
    cases: list[bytes] = []
    slips: list[Slip] = []
    slowest = np.inf
    if (K.kind != cones.FRICTION).any():
        parts.append(_scalar_part(at, passive, opens, kinks))
        cases.append(parts[0].bound.tobytes())
    for groups, blocks in K.families().items():
        if groups:
            cone = _Cones(at, groups, blocks)
            parts.append(cone.part())
            passive[cone.rows[~cone.closed]] = True
            opens[cone.rows[cone.opens]] = True
            cases += [cone.closed.tobytes(), cone.moving.tobytes()]
            kinks += cone.kinks()
            notes += cone.notes()
            slips += cone.slips()
            slowest = min(slowest, cone.slowest())
    sentences = tuple(f"contact {i} {why}" for i, why in sorted(kinks))
    relative = slowest / size if slowest < np.inf else 1.0
    return Law(
        parts, scales, passive, sentences, tuple(notes), tuple(slips),
        cases=b"".join(cases), slowest=relative, doubt=doubt, opens=opens,
    )  # fmt: skip


class LawPoint(NamedTuple):
    """Point of linearisation of a law, and its tolerances."""

    K: ProductSet
    scales: LawScales
    z: Array
    """Scaled impulses [kg m/s], shape (n,)."""
    y: Array
    """Scaled velocities [kg m/s], shape (n,)."""
    cut: float = 0.0
    """Size below which a value counts as zero [kg m/s]."""
    doubt: Array = NONE
    """Errors of z and y due to the accuracy of the data [kg m/s], shape (n,)."""


def _scalar_part(
    given: LawPoint, passive: BoolArray, opens: BoolArray, kinks: list[tuple[int, str]]
) -> LawPart:
    rows, block, low, high = scalar_components(given.K)
    low, high = low / given.scales.length[rows], high / given.scales.length[rows]
    z, y, cut, edge = given.z[rows], given.y[rows], given.cut, np.maximum(given.cut, given.doubt[rows])
    at_low, at_high = z <= low + cut, z >= high - cut
    at_low &= ~(at_high & (y < 0.0))
    at_high &= ~at_low
    at = at_low | at_high
    zero = at & (np.abs(y) <= cut) & (low < high)
    inside = ~at | (zero & np.isfinite(low) & np.isfinite(high))
    for k in np.flatnonzero(at & (np.abs(y) <= edge) & (low < high)):
        side = "moves inside them" if inside[k] else "stays there"
        kinks.append((int(block[k]), f"is at a bound with no velocity (taken: it {side})"))
    for k in np.flatnonzero(~at & ((z <= low + edge) | (z >= high - edge))):
        kinks.append((int(block[k]), "is next to a bound (taken: it moves inside them)"))
    opens[rows] = at & (np.abs(y) > edge)
    passive[rows[~inside]] = True
    held = inside.astype(float)
    bound = np.stack([~inside & at_low, ~inside & at_high], axis=1).astype(float)
    with np.errstate(invalid="ignore"):
        away = np.where(at_low, z - low, z - high)
    residual = np.where(inside, y, away)
    return scalar_law(rows, block, 1.0 - held, held, residual, bound)


def scalar_law(rows: IntArray, block: IntArray, A: Array, B: Array, residual: Array, bound: Array) -> LawPart:
    """Return the law of one-component blocks from scalar coefficients, shape (count,) each."""
    count = rows.shape[0]
    return LawPart(
        rows[:, None], A[:, None, None], B[:, None, None], residual[:, None],
        np.zeros((count, 0), np.int64), np.zeros((count, 1, 0)), block, bound,
    )  # fmt: skip


class _Cones:
    """Friction cones of one family, and the cases of their groups."""

    def __init__(self, given: LawPoint, groups: tuple[int, ...], blocks: IntArray):
        self.blocks, cut = blocks, given.cut
        self.rows, self.group, self.slices = family_rows(given.K, groups, blocks)
        self.mu = given.scales.coefficient[self.group]
        self.z, self.y = given.z[self.rows], given.y[self.rows]
        speed = [np.linalg.norm(self.y[:, part], axis=1) for part in self.slices]
        force = [np.linalg.norm(self.z[:, part], axis=1) for part in self.slices]
        self.speed, self.force = np.stack(speed, axis=1), np.stack(force, axis=1)
        self.closed = self.z[:, 0] > cut
        # A velocity smaller than the residual of the slip law is an error: the group is held.
        off = np.stack([self._off(g, part) for g, part in enumerate(self.slices)], axis=1)
        self.moving = (self.speed > cut) & (off <= self.speed) & self.closed[:, None]
        self.idle = (self.mu == 0.0) & ~self.moving & self.closed[:, None]
        self.held = self.closed[:, None] & ~self.moving & ~self.idle
        doubt = given.doubt[self.rows]
        normal = doubt[:, 0]
        group = np.stack([doubt[:, part].max(axis=1) for part in self.slices], axis=1)
        edge = np.maximum(cut, normal)
        self.opens = ~self.closed & (self.y[:, 0] > edge)
        self.presses = self.closed & (self.z[:, 0] > edge)
        spare = np.maximum(cut, group + self.mu * normal[:, None])
        self.full = self.force >= self.mu * self.z[:, :1] - spare
        self.slow = (self.speed <= group) & (self.mu > 0.0)

    def _off(self, g: int, part: slice) -> Array:
        """Residual |r + mu r_N t| of the slip law of a group, 0 where its velocity is 0, shape (count,)."""
        speed = np.where(self.speed[:, g] > 0.0, self.speed[:, g], np.inf)
        slip = (self.mu[:, g] * self.z[:, 0] / speed)[:, None] * self.y[:, part]
        return np.where(self.speed[:, g] > 0.0, np.linalg.norm(self.z[:, part] + slip, axis=1), 0.0)

    def slips(self) -> list[Slip]:
        """Return the moving groups of several components, with mu (I - t t') / |y| weighted as in `_slip`."""
        out = []
        for g, part in enumerate(self.slices):
            moving = self.moving[:, g]
            if part.stop - part.start > 1 and moving.any():
                speed, mu = self.speed[moving, g], self.mu[moving, g]
                t = self.y[moving, part] / speed[:, None]
                weight = mu / (speed + mu * self.z[moving, 0])
                across = np.eye(t.shape[1]) - t[:, :, None] * t[:, None, :]
                turn = weight[:, None, None] * across
                out.append(Slip(self.rows[moving, part], self.rows[moving, 0], turn))
        return out

    def slowest(self) -> float:
        return float(self.speed[self.moving].min(initial=np.inf))

    def kinks(self) -> list[tuple[int, str]]:
        grazing, weak = ~self.closed & ~self.opens, self.closed & ~self.presses
        sentences = [(int(i), "touches without impulse (taken: it is open)") for i in self.blocks[grazing]]
        sentences += [(int(i), "bears next to nothing (taken: it is closed)") for i in self.blocks[weak]]
        for where, text in (
            (self.held & self.full, "holds with all its friction{}, about to slip (taken: it sticks)"),
            (self.moving & self.slow, "slips next to not at all{}, about to stick (taken: it slips)"),
        ):
            for c, g in zip(*np.nonzero(where & self.presses[:, None]), strict=True):
                which = "" if len(self.slices) == 1 else f" in group {g}"
                sentences.append((int(self.blocks[c]), text.format(which)))
        return sentences

    def notes(self) -> list[str]:
        return [
            f"contact {i} has a coefficient 0 and does not move there: the derivative by it is for no other"
            " change at the same time"
            for i in self.blocks[self.idle.any(axis=1)]
        ]

    def part(self) -> LawPart:
        count, d = self.rows.shape
        A, B = np.zeros((count, d, d)), np.zeros((count, d, d))
        residual = self.z.copy()
        C = np.zeros((count, d, len(self.slices)))
        A[~self.closed] = np.eye(d)
        B[self.closed, 0, 0] = 1.0
        residual[self.closed, 0] = self.y[self.closed, 0]
        for g, part in enumerate(self.slices):
            m = part.stop - part.start
            held, idle, moving = self.held[:, g], self.idle[:, g], self.moving[:, g]
            B[held, part, part] = np.eye(m)
            residual[held, part] = self.y[held, part]
            A[idle, part, part] = np.eye(m)
            self._slip(moving, g, part, A, B, residual, C)
        none = np.zeros(0, np.int64)
        return LawPart(self.rows, A, B, residual, self.group, C, none, np.zeros((0, 2)))

    def _slip(
        self, moving: BoolArray, g: int, part: slice, A: Array, B: Array, residual: Array, C: Array
    ) -> None:
        """Write the linearised slip law r = -mu r_N t of group g.

        Rows across t are multiplied by |y| / (|y| + mu r_N), so that they stay bounded for slow slip.
        """
        if not moving.any():
            return
        normal, mu, speed = self.z[moving, 0], self.mu[moving, g], self.speed[moving, g]
        t = self.y[moving, part] / speed[:, None]
        along = t[:, :, None] * t[:, None, :]
        across = np.eye(t.shape[1]) - along
        weight = speed / (speed + mu * normal)
        rows = along + weight[:, None, None] * across
        A[moving, part, part] = rows
        A[moving, part, 0] = mu[:, None] * t
        B[moving, part, part] = (1.0 - weight)[:, None, None] * across
        C[moving, part, g] = -normal[:, None] * t
        law = self.z[moving, part] + (mu * normal)[:, None] * t
        residual[moving, part] = np.einsum("cij,cj->ci", rows, law)
