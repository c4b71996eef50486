"""One step of the event-driven scheme at work: flow until something happens, decide what follows, go on."""

import math
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.integrate

from stickslip.kernels import cones
from stickslip.laws import BoolArray
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.solution import Solution
from stickslip.schemes.event_driven_flow import Flow, Modes, Watched
from stickslip.schemes.event_driven_motion import Motion, Piece
from stickslip.schemes.event_driven_problems import acceleration, impact, pushed
from stickslip.schemes.event_driven_roots import Crossing, Lookout
from stickslip.schemes.event_driven_zeno import Accumulation
from stickslip.schemes.problems import coupled
from stickslip.schemes.step import Event, Solver, State
from stickslip.systems.quantities import ModelError
from stickslip.systems.system import Bound, NonsmoothSystem

STALLED = 20
"""Decisions at one instant after which no consistent one is expected any more."""
AGAIN, NOISY = 3, 1e4
"""Decisions at one instant after which rates are trusted less, and how much less."""
APPROACH = 1e-7
"""Speed of approach, over that of sliding, with which an impact without collision is posed."""
STRICT = 1e-9
"""Share of the accelerations at an event that counts as none."""


class Run:
    """Where a step has got to. `options` are those of the scheme."""

    def __init__(
        self, options: Any, system: NonsmoothSystem, state: State, memory: dict[str, Array], solver: Solver
    ):
        self.options, self.system, self.solver = options, system, solver
        z = system.update(state.t, state.q, state.v, state.z)
        self.motion = Motion(system, z, options.difference)
        self.pieces = self.motion.pieces
        self.t, self.q, self.v, self.z = state.t, np.array(state.q), np.array(state.v), z
        self.modes = Modes.read(memory["mode"], memory["direction"])
        self.undecided = bool((memory["mode"] < 0.0).any())
        self.accumulation = Accumulation(memory["last"], memory["interval"], memory["ratio"], options.zeno)
        self.substep = float(memory["substep"][0])
        self.impulse = np.zeros(system.size)
        self.lam = np.array(memory["lam"])
        self.groups = coupled(list(system.interactions))
        self.events: list[Event] = []
        self.solves: dict[str, Solution] = {}
        self.reason, self.stopped = "", False
        self.impacts, self.projection = 0, 0.0
        self.recent: deque[float] = deque(maxlen=options.crowd)
        self.jammed = -np.inf
        self.here: tuple[float, int] = (-np.inf, 0)
        self.sudden: set[Watched] = set()

    def carry(self, end: float) -> None:
        """Go to the end of the step, through all events on the way."""
        if self.undecided:
            self._begin()
            self.undecided = False
        while not self.stopped and self.t < end:
            flow = Flow(self.motion, self.modes, self.options.slow, self.t, self.q, self.v, self.lam)
            crossing = self._flow(flow, end)
            if crossing is None:
                break
            self._count()
            self._decide(flow, crossing)
        self._settle_drift()

    def _flow(self, flow: Flow, end: float) -> Crossing | None:
        """Integrate until the end or the first crossing."""
        options, t = self.options, self.t
        state = np.concatenate([self.q, self.v, np.zeros(flow.components.size)])
        g, slope = flow.values(t, state), flow.slopes(t, state)
        floors, gaps = self._floors(flow, state), slice(0, len(flow.open))
        # What opened a little below zero is given the time to rise.
        rising = slope >= -options.velocity_tolerance
        floors[gaps] += np.where(rising, np.maximum(-1.001 * g[gaps], 0.0), 0.0)
        look = Lookout(t, g, slope, floors, options.together)
        crossing = look.start()
        if crossing is not None:
            return crossing
        integrator = getattr(scipy.integrate, options.method)(
            flow, t, state, end, rtol=options.rtol, atol=options.atol, max_step=options.max_step,
            first_step=min(self.substep, options.max_step, end - t),
        )  # fmt: skip
        previous: _Path | None = None
        while integrator.status == "running":
            message = integrator.step()
            if integrator.status == "failed" or not np.isfinite(integrator.y).all():
                self.system.explain(self.t, self.q, self.v, self.z)
                raise ModelError(
                    f"event-driven: at t = {integrator.t:.9g} s, {options.method} cannot go on: {message}"
                )
            if look.g.size:
                at = _Path(integrator, previous, eager=len(flow.open) < len(flow.watched))
                share = (integrator.t - integrator.t_old) / self.substep
                crossing = look.advance(
                    float(integrator.t), options.parts,
                    max(1, min(options.parts, math.ceil(options.parts * share))),
                    lambda s, at=at: flow.values(s, at(s)),  # type: ignore[misc]
                    lambda s, at=at: flow.slopes(s, at(s)),  # type: ignore[misc]
                )  # fmt: skip
                previous = at
                if crossing is not None:
                    self._arrive(flow, crossing.t, at(crossing.t))
                    return crossing
            if hasattr(integrator, "h_abs"):
                proposed = float(integrator.h_abs)
                # The last step is cut at the end, so what follows from it is too short.
                self.substep = proposed if integrator.status == "running" else max(self.substep, proposed)
        self._arrive(flow, end, np.array(integrator.y))
        return None

    def _arrive(self, flow: Flow, t: float, state: Array) -> None:
        nq, nv = flow.nq, flow.nv
        self.t, self.q, self.v = t, self.motion.normalized(state[:nq]), np.array(state[nq : nq + nv])
        self.impulse[flow.components] += state[nq + nv :]
        if flow.components.size:
            self.lam[:] = 0.0
            self.lam[flow.components] = flow.forces(t, self.q, self.v)[1]

    def _floors(self, flow: Flow, state: Array) -> Array:
        """How far below zero each watched quantity is still zero."""
        options = self.options
        derivative = flow(self.t, state)
        force = float(np.abs(derivative[flow.nq + flow.nv :]).max(initial=0.0))
        kinds = {"gap": 1e-3 * options.gap_tolerance, "speed": options.velocity_tolerance}
        kinds |= dict.fromkeys(("near", "far", "paradox"), 0.0)
        forces = 1e-10 * force + 1e-14 * float(
            np.abs(derivative[flow.nq : flow.nq + flow.nv]).max(initial=0.0)
        )
        return np.array([kinds.get(w.kind, forces) for w in flow.watched])

    def _count(self) -> None:
        t, times = self.here
        self.here = (self.t, times + 1) if self.t == t else (self.t, 1)
        if self.t != t:
            self.sudden = set()

    def _begin(self) -> None:
        """Decide what touches at the very start: joints and intervals act, gaps of zero close."""
        y, u = self.motion.y(self.t, self.q), self.motion.u(self.t, self.q, self.v)
        tight = self.options.gap_tolerance
        closed = np.array([not p.unilateral or y[p.normal] <= tight for p in self.pieces], bool)
        for piece in self.pieces:
            if piece.unilateral and u[piece.normal] > self.options.velocity_tolerance:
                closed[piece.number] = False
        always = np.array([not p.unilateral for p in self.pieces], bool)
        self.modes = Modes(always, np.zeros(self.system.size))
        for piece in self.pieces:
            self._rub(piece, u)
        for group in self.groups:
            if any(closed[one.blocks].any() for one in group):
                self._resolve(group, closed, y, u, quiet=True)
        self._settle_drift()

    def _decide(self, flow: Flow, crossing: Crossing) -> None:
        """What follows an event: impacts, then accelerations, of the coupled interactions it touches."""
        watched = [flow.watched[i] for i in crossing.which.tolist()]
        if self.here[1] > STALLED:
            names = ", ".join(sorted({repr(self.pieces[w.piece].one.name) for w in watched}))
            self._fail(f"at t = {self.t:.12g} s, no mode of {names} is consistent with the next instant")
            return
        if len(self.events) >= self.options.max_events:
            self._fail(f"at t = {self.t:.12g} s, the step has had {len(self.events)} events")
            return
        self._settle_drift()
        lam = np.zeros(self.system.size)
        lam[flow.components] = flow.forces(self.t, self.q, self.v)[1]
        u, closing, affected = self.motion.u(self.t, self.q, self.v), np.zeros(len(self.pieces), bool), set()
        opened: set[int] = set()
        before = self.modes
        self.modes = Modes(np.array(before.closed), np.array(before.direction))
        for one in watched:
            piece = self.pieces[one.piece]
            where = piece.components if one.group < 0 else piece.groups[one.group].components
            forced = not crossing.sudden or one in self.sudden
            if crossing.sudden:
                self.sudden.add(one)
            if one.kind == "paradox":
                self._paradox(piece, u)
                return
            if one.kind in ("near", "far"):
                self.modes.direction[where] = u[where] / np.linalg.norm(u[where])
                continue
            affected.add(piece.one.name)
            if one.kind == "gap":
                closing[piece.number] = True
            elif one.kind == "force" and forced:
                self._open(piece)
                opened.add(piece.number)
            elif one.kind == "cone" and forced:
                self.modes.direction[where] = -lam[where] / np.linalg.norm(lam[where])
            elif one.kind == "speed":
                self.modes.direction[where] = 0.0
            elif one.kind in ("lower", "upper") and forced:
                self.modes.direction[where] = 1.0 if one.kind == "lower" else -1.0
        if affected:
            y = self.motion.y(self.t, self.q)
            for group in self.groups:
                if any(one.name in affected for one in group):
                    self._resolve(group, closing, y, u, before=before, opened=opened)
            self._settle_drift()

    def _resolve(
        self, group: list[Bound], closing: BoolArray, y: Array, u: Array, *,
        before: Modes | None = None, opened: Iterable[int] = (), quiet: bool = False,
    ) -> None:  # fmt: skip
        """Impact and acceleration problems of coupled interactions, and the modes that they give."""
        options, mine = self.options, self._of(group)
        rest = options.velocity_tolerance
        touching = np.array(self.modes.closed)
        for piece in mine:
            if piece.unilateral and piece.number not in opened:
                touching[piece.number] |= closing[piece.number] or (
                    y[piece.normal] <= options.gap_tolerance and u[piece.normal] < -rest
                )
        pending: dict[int, float] = {}
        if any(touching[p.number] and self._strikes(p, u, rest) for p in mine):
            u, pending = self._impact(group, mine, touching, u)
        else:
            # A gap that shrinks although its rate is positive, within the rate's own error, closes too.
            still = NOISY * rest if self.here[1] > AGAIN else rest
            for piece in mine:
                if closing[piece.number] and not self.modes.closed[piece.number] and u[piece.normal] <= still:
                    self._close(piece, u)
        if self.stopped:
            return
        self._accelerate(group, mine)
        if not quiet:
            self._report(mine, before, pending)

    def _strikes(self, piece: Piece, u: Array, rest: float) -> bool:
        if piece.kind == cones.FREE:
            return bool(np.abs(u[piece.components]).max() > max(rest, 1e-6)) and self.undecided
        return piece.unilateral and bool(u[piece.normal] < -rest)

    def _impact(
        self, group: list[Bound], mine: list[Piece], touching: BoolArray, u: Array
    ) -> tuple[Array, dict[int, float]]:
        """The velocities after, the modes that they leave, and where accumulation points lie ahead."""
        options, t = self.options, self.t
        rest = options.velocity_tolerance
        plastic = np.zeros(len(self.pieces), bool)
        self.recent.append(t)
        crowded = len(self.recent) == options.crowd and t - self.recent[0] <= options.zeno
        pending: dict[int, float] = {}
        for piece in mine:
            if piece.unilateral and touching[piece.number] and u[piece.normal] < -rest:
                ahead = self.accumulation.hit(piece.number, t)
                if ahead is not None or crowded:
                    plastic[piece.number] = True
                    pending[piece.number] = t if ahead is None else t + ahead
        v, answer = impact(self.motion, group, touching, plastic, t, self.q, self.v, u, self.solver)
        self._keep("impact", answer.solves)
        self.v, self.impacts = v, self.impacts + 1
        self.impulse += answer.r
        if answer.reason:
            self.reason = self.reason or answer.reason
        scale = float(np.abs(u[[p.normal for p in mine]]).max(initial=0.0))
        struck = []
        for piece in mine:
            self._rub(piece, answer.rate)
            if not (piece.unilateral and touching[piece.number]):
                continue
            if answer.r[piece.normal] > 0.0 and (u[piece.normal] < -rest or answer.r.max() > 0.0):
                struck.append(piece)
            if answer.rate[piece.normal] > rest + STRICT * scale:
                self._open(piece)
            else:
                self._close(piece, answer.rate, answer.r, answer.response, scale)
        for name in dict.fromkeys(p.one.name for p in struck):
            self.events.append(Event(t, "impact", name))
        return answer.rate, pending

    def _accelerate(self, group: list[Bound], mine: list[Piece]) -> None:
        """Which closed contacts stay closed, and which of their groups stick."""
        closed = [p for p in mine if self.modes.closed[p.number]]
        if not closed:
            return
        answer = acceleration(self.motion, group, self.modes, self.t, self.q, self.v, self.solver)
        solved = all(one.ok for one in answer.solves)
        if not solved and self._slide(closed) and self.options.jam and self.jammed != self.t:
            self._jam(group, mine)
            return
        self._keep("acceleration", answer.solves)
        if not solved:
            self._fail(answer.reason)
            return
        self.reason = self.reason or answer.reason
        r, a, d = answer.r, answer.rate, self.modes.direction
        for piece in closed:
            self.lam[piece.components] = r[piece.components]
        free = np.abs(a).max(initial=0.0) + float((np.abs(answer.response) * np.abs(r)).max(initial=0.0))
        scale = STRICT * free
        rho = 1.0 / np.where(answer.response > 0.0, answer.response, np.inf)
        for piece in closed:
            n = piece.normal
            if piece.unilateral and a[n] > scale and rho[n] * a[n] > r[n]:
                self._open(piece)
                continue
            if piece.kind == cones.INTERVAL and not d[n] and abs(a[n]) > scale:
                slack = r[n] - piece.lower if a[n] > 0.0 else piece.upper - r[n]
                if rho[n] * abs(a[n]) > slack:
                    d[n] = np.sign(a[n])
            for one in piece.groups:
                where = one.components
                size = float(np.linalg.norm(a[where]))
                slack = one.mu * r[n] - float(np.linalg.norm(r[where]))
                if not d[where].any() and size > scale and rho[where].max() * size > slack:
                    d[where] = a[where] / size

    def _slide(self, closed: list[Piece]) -> bool:
        return any(p.groups and self.modes.direction[p.components].any() for p in closed)

    def _paradox(self, piece: Piece, u: Array) -> None:
        """Sliding on, the forces would grow without bound."""
        if not self.options.jam or self.jammed == self.t:
            self._fail(
                f"at t = {self.t:.12g} s, sliding of {piece.one.name!r} runs into Painlevé's paradox: the"
                " matrix of its forces turns singular, and they grow without bound"
            )
            return
        group = next(group for group in self.groups if piece.one in group)
        self._jam(group, self._of(group))

    def _jam(self, group: list[Bound], mine: list[Piece]) -> None:
        """An impact without collision: what slides is struck as if it approached, however slowly."""
        self.jammed = self.t
        u = self.motion.u(self.t, self.q, self.v)
        sliding = [p for p in mine if self.modes.closed[p.number] and self._slide([p])]
        for piece in sliding:
            speed = max(float(np.linalg.norm(u[g.components])) for g in piece.groups)
            u[piece.normal] -= APPROACH * speed + 2.0 * self.options.velocity_tolerance
        self.events.extend(Event(self.t, "jam", piece.one.name) for piece in sliding)
        self._impact(group, mine, self.modes.closed.copy(), u)
        self._settle_drift()
        self._accelerate(group, mine)

    def _report(self, mine: list[Piece], before: Modes | None, pending: dict[int, float]) -> None:
        """The events that the change of modes makes, one per interaction and kind."""
        if before is None:
            return
        found: dict[tuple[str, str], float] = {}
        for piece in mine:
            name, b = piece.one.name, piece.number
            was, now = bool(before.closed[b]), bool(self.modes.closed[b])
            if b in pending and now:
                found[name, "zeno"] = pending[b]
                self.accumulation.forget(b)
            if was != now:
                found[name, "close" if now else "take-off"] = self.t
            elif now and piece.kind != cones.FREE:
                slid = before.direction[piece.components].any()
                slides = self.modes.direction[piece.components].any()
                if slid != slides:
                    found[name, "slip" if slides else "stick"] = self.t
        self.events.extend(
            Event(t, kind, name) for (name, kind), t in sorted(found.items(), key=lambda x: x[1])
        )

    def _open(self, piece: Piece) -> None:
        self.modes.closed[piece.number] = False
        self.modes.direction[piece.components] = 0.0
        self.lam[piece.components] = 0.0

    def _close(
        self,
        piece: Piece,
        u: Array,
        r: Array | None = None,
        response: Array | None = None,
        scale: float = 0.0,
    ) -> None:
        """Close a contact; each group slides if it moves, sticks (until accelerations say more) if not."""
        self.modes.closed[piece.number] = True
        for group in piece.groups:
            where = group.components
            speed = float(np.linalg.norm(u[where]))
            still = speed <= self.options.velocity_tolerance + STRICT * scale
            if r is not None and response is not None and r[piece.normal] > 0.0:
                slack = group.mu * r[piece.normal] - float(np.linalg.norm(r[where]))
                still = still or slack * response[where].max() > speed
            self.modes.direction[where] = 0.0 if still else u[where] / speed

    def _rub(self, piece: Piece, u: Array) -> None:
        """An interval slides if it moves, sticks (until accelerations say more) if not."""
        if piece.kind == cones.INTERVAL:
            moves = abs(u[piece.normal]) > self.options.velocity_tolerance
            self.modes.direction[piece.normal] = np.sign(u[piece.normal]) if moves else 0.0

    def _settle_drift(self) -> None:
        """Bring closed contacts and joints back to y = 0 and ẏ = 0 by the least change in the metric of M."""
        mine = [p for p in self.pieces if self.modes.closed[p.number]]
        involved = list({p.one.name: p.one for p in mine}.values())
        if not involved or self.stopped:
            return
        gaps = np.array([k for p in mine if p.kind != cones.INTERVAL for k in self._positions(p)], np.int64)
        rates = np.concatenate([gaps, np.array([k for p in mine for k in self._stuck(p)], np.int64)])
        if gaps.size:
            start = self.q
            for _ in range(5):
                y = self.motion.y(self.t, self.q)[gaps]
                if np.abs(y).max() <= 1e-4 * self.options.gap_tolerance:
                    break
                J, G, where = pushed(self.motion, involved, self.t, self.q)
                at = _places(where, gaps)
                change = np.linalg.lstsq(J[at] @ G[:, at], -y, rcond=1e-12)[0]
                self.q = self.motion.normalized(self.q + self.motion.rate(self.q, G[:, at] @ change))
            self.projection = max(self.projection, float(np.abs(self.q - start).max()))
        if rates.size:
            u = self.motion.u(self.t, self.q, self.v)[rates]
            if np.abs(u).max() > 1e-4 * self.options.velocity_tolerance:
                J, G, where = pushed(self.motion, involved, self.t, self.q)
                at = _places(where, rates)
                self.v = self.v + G[:, at] @ np.linalg.lstsq(J[at] @ G[:, at], -u, rcond=1e-12)[0]

    def _positions(self, piece: Piece) -> range:
        if piece.kind == cones.FREE:
            return range(piece.components.start, piece.components.stop)
        return range(piece.normal, piece.normal + 1)

    def _stuck(self, piece: Piece) -> list[int]:
        """Components without a position that are at rest."""
        d = self.modes.direction
        if piece.kind == cones.INTERVAL:
            return [] if d[piece.normal] else [piece.normal]
        return [
            k
            for group in piece.groups
            if not d[group.components].any()
            for k in range(group.components.start, group.components.stop)
        ]

    def _of(self, group: list[Bound]) -> list[Piece]:
        return [self.pieces[k] for one in group for k in range(one.blocks.start, one.blocks.stop)]

    def _keep(self, kind: str, solves: tuple[Solution, ...]) -> None:
        """Keep the last problem of each kind, and the worst."""
        for one in solves:
            self.solves[kind] = one
            worst = self.solves.get("worst")
            if worst is None or not one.ok or one.residuals.natural > worst.residuals.natural:
                self.solves["worst"] = one

    def _fail(self, reason: str) -> None:
        self.reason, self.stopped = self.reason or reason, True


class _Path:
    """The states within an integrator step and, if eager, within the one before; otherwise interpolated
    only if asked for."""

    def __init__(self, integrator: Any, previous: "_Path | None", *, eager: bool):
        self.integrator, self.start, self.end = integrator, float(integrator.t_old), float(integrator.t)
        self.state, self.previous = integrator.y, previous
        self.dense: Any = integrator.dense_output() if eager else None
        if previous is not None:
            previous.previous = None

    def __call__(self, t: float) -> Array:
        if t == self.end:
            return np.asarray(self.state)
        if t < self.start and self.previous is not None:
            return self.previous(t)
        if self.dense is None:
            self.dense = self.integrator.dense_output()
        return np.asarray(self.dense(t))


def _places(where: IntArray, wanted: IntArray) -> IntArray:
    """Positions of `wanted` in `where`."""
    order = np.argsort(where)
    return np.asarray(order[np.searchsorted(where, wanted, sorter=order)])
