"""Smooth motion between two events, with fixed active constraints and the forces that follow from them.

Let C be the constrained components (joints, closed normals, sticking groups), and S the sliding ones with
r_S = -mu r_N d, where d is the sliding direction. With ÿ_C = 0,

    J_C M⁻¹ (H_C + H_S S) lam_C = -(J_C M⁻¹ F + γ_C)

(Acary & Brogliato 2008, chapter 8; index sets I_0: gap zero, I_1: rate zero too, I_2: force positive).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stickslip.kernels import cones
from stickslip.kernels.smooth import FAST, PARADOX, THAWED
from stickslip.problem.checks import Array, IntArray
from stickslip.schemes.event_driven_motion import Group, Motion, Piece
from stickslip.state import BoolArray
from stickslip.systems.system import Bound

SINGULAR = 1e-11
"""Ratio of singular values below which constraints count as redundant [-] (heuristic)."""


@dataclass(frozen=True)
class Watched:
    """A quantity that must stay positive for the modes to remain valid."""

    kind: str
    """`gap`, `force`, `speed` (of sliding), `near` and `far` (of a sliding speed), `cone`, `lower`, `upper`,
    `paradox`."""
    piece: int
    """Number of the block."""
    group: int = -1
    """Number of the group of tangential components that it belongs to; -1 for none."""


class Modes:
    """Modes of all blocks: open or closed, sticking or sliding."""

    def __init__(self, closed: BoolArray, direction: Array):
        self.closed = closed
        """Whether the block's constraint acts [-], shape (blocks,), bool."""
        self.direction = direction
        """Sliding direction of each group or interval [-], shape (size,); 0 if it sticks."""

    @staticmethod
    def read(mode: Array, direction: Array) -> "Modes":
        """Return the modes in the memory of a step."""
        return Modes(mode > 0.0, np.array(direction))

    def written(self, pieces: tuple[Piece, ...]) -> Array:
        """Return the modes for the memory: 0 open, 1 closed, 2 closed and sliding [-], shape (blocks,)."""
        out = np.zeros(len(pieces))
        for piece in pieces:
            if self.closed[piece.number]:
                out[piece.number] = 2.0 if self.direction[piece.components].any() else 1.0
        return out

    def resting(self, piece: Piece) -> list[int]:
        """Return the components of a closed block that are at rest and have no position."""
        if piece.kind == cones.INTERVAL:
            return [] if self.direction[piece.normal] else [piece.normal]
        return [
            k
            for group in piece.groups
            if not self.slides(group)
            for k in range(group.components.start, group.components.stop)
        ]

    def slides(self, group: Group) -> bool:
        """Whether a group of a closed contact slides."""
        return bool(self.direction[group.components].any())


class Flow:
    """Right side of the smooth motion with fixed modes (q̇, v̇, rates of impulses), and watched quantities."""

    def __init__(
        self, motion: Motion, modes: Modes, slow: float, t: float, q: Array, v: Array, lam: Array,
        waiting: BoolArray, still: BoolArray,
    ):  # fmt: skip
        self.motion, self.modes, self.slow = motion, modes, slow
        self.still = still if still.any() else None
        """Components of (q, v) that are ahead of time and do not move [-], shape (nq + nv,), bool."""
        live = [p for p in motion.pieces if not waiting[p.number]]
        closed = [p for p in live if modes.closed[p.number]]
        self.involved: list[Bound] = list({p.one.name: p.one for p in closed}.values())
        self.open = [p for p in live if p.unilateral and not modes.closed[p.number]]
        self.unclosed = list({p.one.name: p.one for p in self.open}.values())
        """Interactions of the open blocks."""
        self.components = np.concatenate(
            [np.arange(one.components.start, one.components.stop) for one in self.involved]
            or [np.zeros(0, np.int64)]
        )
        place = np.zeros(motion.system.size, np.int64)
        place[self.components] = np.arange(self.components.size)
        held: list[int] = []
        self.sliding: list[tuple[Piece, int, Group]] = []
        self.known = np.zeros(self.components.size)
        self.watched = [Watched("gap", p.number) for p in self.open]
        self._live(closed, place, held, t, q, v)
        self.held = np.array(held, np.int64)
        """Constrained components, as indices in `components` [-], shape (held,)."""
        self.column = {int(k): j for j, k in enumerate(held)}
        self.place = place
        self.constant = motion.constant_mass and all(one.mechanical.constant for one in self.involved)
        self._fixed: tuple[Array, Array] | None = None
        self._map: Array | None = None
        self._inverse: Array | None = None
        self._W = np.zeros((0, 0))
        self.redundant = False
        self.reference = lam[self.components[self.held]]
        self.nq, self.nv = motion.nq, motion.nv
        self.end = self.nq + self.nv + self.components.size
        """End of the impulses in the state vector."""
        rubbing = [p for p in closed if p.kind == cones.INTERVAL and modes.direction[p.normal]]
        self.rubbing = list({p.one.name: p.one for p in (*rubbing, *(s[0] for s in self.sliding))}.values())
        """Sliding interactions, whose forces do work."""
        self._first(t, q, v)

    def _live(
        self, closed: list[Piece], place: IntArray, held: list[int], t: float, q: Array, v: Array
    ) -> None:
        """Determine constrained and sliding components, and the watched quantities."""
        d = self.modes.direction
        self.live: list[bool] = []
        for piece in closed:
            number, first = piece.number, piece.normal
            if piece.kind == cones.INTERVAL:
                if d[first]:
                    self.known[place[first]] = piece.lower if d[first] > 0.0 else piece.upper
                    self.watched.append(Watched("speed", number))
                else:
                    held.append(int(place[first]))
                    self.watched += [
                        Watched(side, number)
                        for side, bound in (("lower", piece.lower), ("upper", piece.upper))
                        if np.isfinite(bound)
                    ]
                continue
            if piece.kind == cones.FREE:
                held.extend(place[piece.components].tolist())
                continue
            held.append(int(place[first]))
            self.watched.append(Watched("force", number))
            u = self.motion.u_of(piece.one, t, q, v) if piece.groups else None
            for k, group in enumerate(piece.groups):
                if not self.modes.slides(group):
                    held.extend(place[group.components].tolist())
                    self.watched.append(Watched("cone", number, k))
                    continue
                assert u is not None
                local = slice(
                    group.components.start - piece.one.components.start,
                    group.components.stop - piece.one.components.start,
                )
                plane = local.stop - local.start > 1
                fast = bool(np.linalg.norm(u[local]) > FAST * self.slow)
                self.sliding.append((piece, k, group))
                self.live.append(plane and fast)
                if plane:
                    self.watched.append(Watched("near" if fast else "far", number, k))
                if not (plane and fast):
                    self.watched.append(Watched("speed", number, k))
        if self.sliding:
            self.watched.append(Watched("paradox", self.sliding[0][0].number))

    def _first(self, t: float, q: Array, v: Array) -> None:
        """Compute matrices that are constant during this motion, and the rank of the constraints."""
        self.determinant = 0.0
        if not self.held.size:
            return
        if self.constant:
            J = self.motion.rows(self.involved, t, q)
            self._fixed = J, self.motion.inverse(t, q) @ J.T
        if not any(self.live):
            self._map = self._slaves(t, q, v)
        W = self._matrix(t, q, v)[0]
        singular = np.linalg.svd(W, compute_uv=False)
        self.redundant = bool(singular[-1] <= SINGULAR * singular[0])
        if self.redundant:
            self.watched = [w for w in self.watched if w.kind != "paradox"]
        self.determinant = float(np.linalg.det(W))
        if self.constant and self._map is not None:
            self._inverse = self._inverted(W)
            self._W = W

    def _inverted(self, W: Array) -> Array:
        """Return W⁻¹, or the pseudoinverse for redundant constraints."""
        if not self.redundant:
            try:
                return np.asarray(np.linalg.inv(W), float)
            except np.linalg.LinAlgError:  # near an instant that `paradox` watches for
                pass
        return np.asarray(np.linalg.pinv(W, rcond=SINGULAR), float)

    def _matrix(self, t: float, q: Array, v: Array) -> tuple[Array, Array, Array, Array]:
        """Return J_C M⁻¹ (H_C + H_S S), the rows J of all involved components, M⁻¹ J', and the map from
        constrained to all forces."""
        if self._fixed is not None:
            J, G = self._fixed
        else:
            J = self.motion.rows(self.involved, t, q)
            G = self.motion.inverse(t, q) @ J.T
        P = self._slaves(t, q, v) if self._map is None else self._map
        return J[self.held] @ (G @ P), J, G, P

    def _slaves(self, t: float, q: Array, v: Array) -> Array:
        """Return the map from constrained to all involved forces: the identity, and -mu d for sliding
        groups."""
        P = np.zeros((self.components.size, self.held.size))
        P[self.held, np.arange(self.held.size)] = 1.0
        for (piece, _, group), live in zip(self.sliding, self.live, strict=True):
            d = self.modes.direction[group.components]
            if live:
                start = piece.one.components.start
                local = slice(group.components.start - start, group.components.stop - start)
                u = self.motion.u_of(piece.one, t, q, v)[local]
                speed = math.sqrt(float(u @ u))
                d = u / speed if speed > 0.0 else d
            column = self.column[int(self.place[piece.normal])]
            P[self.place[group.components], column] = -group.mu * d
        return P

    def forces(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return v̇ [m/s²], shape (nv,), and the forces of the involved components [N], shape (k,)."""
        a = self.motion.free(t, q, v)
        if not self.components.size:
            return a, self.known
        if not self.held.size:
            J = self.motion.rows(self.involved, t, q)
            return a + self.motion.inverse(t, q) @ (J.T @ self.known), self.known
        if self._inverse is not None:
            assert self._fixed is not None
            assert self._map is not None
            (J, G), P, W, inverse = self._fixed, self._map, self._W, self._inverse
        else:
            W, J, G, P = self._matrix(t, q, v)
            inverse = self._inverted(W)
        right = -(J[self.held] @ (a + G @ self.known) + self._bend(t, q, v)[self.held])
        # Forces of redundant constraints are those nearest to the solver's at the start of this motion.
        start = self.reference if self.redundant else 0.0 * right
        held = start + inverse @ (right - W @ start)
        lam = P @ held + self.known
        return a + G @ lam, lam

    def _bend(self, t: float, q: Array, v: Array) -> Array:
        """Return γ of the involved components [m/s²], shape (k,)."""
        parts = []
        for one in self.involved:
            gamma = self.motion.bend(one, t, q, v)
            parts.append(np.zeros(one.law.size) if gamma is None else gamma)
        return np.concatenate(parts)

    def __call__(self, t: float, state: Array) -> Array:
        """Return the rates of (q, v, impulses of the involved components, and their work if some slide)."""
        q, v = state[: self.nq], state[self.nq : self.nq + self.nv]
        a, lam = self.forces(t, q, v)
        out = np.empty(state.size)
        out[: self.nq], out[self.nq : self.nq + self.nv] = self.motion.rate(q, v), a
        if self.motion.system.flows:
            self.motion.flow(t, q, out[: self.nq])
        out[self.nq + self.nv : self.end] = lam
        if self.still is not None:
            out[: self.nq + self.nv][self.still] = 0.0
        if self.rubbing:
            out[self.end] = sum(
                float(lam[self.place[one.components]] @ self.motion.u_of(one, t, q, v))
                for one in self.rubbing
            )
        return out

    def begin(self, q: Array, v: Array) -> Array:
        """Return the state at the start of this motion, with zero impulses and work."""
        return np.concatenate([q, v, np.zeros(self.components.size + bool(self.rubbing))])

    def value(self, i: int, t: float, state: Array) -> float:
        """Return watched quantity i; a gap is evaluated alone."""
        if i >= len(self.open):
            return float(self.values(t, state)[i])
        piece = self.open[i]
        y = self.motion.gap_of(piece.one, t, state[: self.nq])
        return float(y[piece.normal - piece.one.components.start])

    def values(self, t: float, state: Array) -> Array:
        """Return the watched quantities [m, N, m/s], shape (watched,)."""
        q, v = state[: self.nq], state[self.nq : self.nq + self.nv]
        motion, out = self.motion, np.empty(len(self.watched))
        out[: len(self.open)] = self._of_gaps(lambda one: motion.gap_of(one, t, q))
        if len(self.open) == len(self.watched):
            return out
        lam = np.zeros(motion.system.size)
        lam[self.components] = self.forces(t, q, v)[1]
        u: dict[str, Array] = {}
        for i in range(len(self.open), len(self.watched)):
            watched = self.watched[i]
            piece = motion.pieces[watched.piece]
            if watched.kind == "force":
                out[i] = lam[piece.normal]
            elif watched.kind == "cone":
                group = piece.groups[watched.group]
                out[i] = group.mu * lam[piece.normal] - float(np.linalg.norm(lam[group.components]))
            elif watched.kind == "lower":
                out[i] = lam[piece.normal] - piece.lower
            elif watched.kind == "upper":
                out[i] = piece.upper - lam[piece.normal]
            elif watched.kind == "paradox":
                out[i] = float(np.linalg.det(self._matrix(t, q, v)[0])) / self.determinant - PARADOX
            else:
                out[i] = self._speed(watched, piece, t, q, v, u)
        return out

    def _speed(
        self, watched: Watched, piece: Piece, t: float, q: Array, v: Array, u: dict[str, Array]
    ) -> float:
        """Return a watched sliding velocity: along the sliding direction, or the distance of its norm from a
        threshold."""
        name, start = piece.one.name, piece.one.components.start
        if name not in u:
            u[name] = self.motion.u_of(piece.one, t, q, v)
        where = piece.components if watched.group < 0 else piece.groups[watched.group].components
        sliding = u[name][where.start - start : where.stop - start]
        if watched.kind == "speed":
            return float(sliding @ self.modes.direction[where])
        norm = float(np.linalg.norm(sliding))
        return norm - self.slow if watched.kind == "near" else THAWED * self.slow - norm

    def slopes(self, t: float, state: Array) -> Array:
        """Return the rates of the watched gaps [m/s], shape (open blocks,)."""
        q, v = state[: self.nq], state[self.nq : self.nq + self.nv]
        return self._of_gaps(lambda one: self.motion.u_of(one, t, q, v))

    def _of_gaps(self, of: Callable[[Bound], Array]) -> Array:
        """Return one quantity of the watched gaps, evaluated once per interaction [any], shape (open
        blocks,)."""
        at = {one.name: of(one) for one in self.unclosed}
        return np.array([at[p.one.name][p.normal - p.one.components.start] for p in self.open])
