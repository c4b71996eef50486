"""Handling of events: impacts, then the modes of contacts (open, closed, sticking, sliding), and reports."""

from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.checks import Array
from stickslip.schemes.event_driven_flow import Flow, Modes, Watched
from stickslip.schemes.event_driven_motion import Piece
from stickslip.schemes.event_driven_problems import Answer, acceleration, fall, impact
from stickslip.schemes.event_driven_roots import Crossing
from stickslip.schemes.event_driven_standing import STRICT, Standing
from stickslip.schemes.event_driven_zeno import Accumulation
from stickslip.schemes.step import Event, Memory
from stickslip.state import BoolArray
from stickslip.systems.system import Bound

STALLED = 20
"""Largest number of decisions at one instant, after which the step fails (heuristic)."""
AGAIN, NOISY = 3, 1e4
"""Number of decisions at one instant after which the tolerance on rates is increased, and the factor
(heuristic)."""
FEW = 3
"""Least number of impacts within `zeno` for which a stall counts as an accumulation (heuristic)."""
SOON = 1e-14
"""Time to an accumulation point, relative to the time, that counts as zero [-]."""
LENIENT = 2.0
"""Factor of the speed that small steps may leave, up to which a contact counts as closed [-] (heuristic)."""
APPROACH = 1e-7
"""Approach velocity relative to the sliding velocity in the problem of an impact without collision [-]
(heuristic)."""


class Decisions:
    """Handles the events of one step; `at` is the current state of the step."""

    def __init__(self, at: Standing, memory: Memory):
        self.at = at
        self.undecided = bool((memory["mode"] < 0.0).any())
        self.accumulation = Accumulation(memory["hits"], at.options.zeno)
        self.recent: deque[float] = deque(maxlen=at.options.crowd)
        self.jammed = -np.inf
        self.here: tuple[float, int] = (-np.inf, 0)
        self.sudden: set[Watched] = set()
        self.accumulated: list[tuple[list[Bound], float, float]] = []

    def flow(self) -> Flow:
        """Return the smooth motion with the current modes."""
        at = self.at
        return Flow(
            at.motion, at.modes, at.options.slow, at.t, at.q, at.v, at.lam, at.waiting,
            np.concatenate([at.still_q, at.still_v]),
        )  # fmt: skip

    def leaving(self) -> list[tuple[list[Bound], float, float]]:
        """Return coupled interactions to be integrated by time-stepping, with the end [s] and the speed of
        the accumulating impacts [m/s]."""
        leaving, self.accumulated = self.accumulated, []
        return [] if self.at.stopped else leaving

    def forget(self, group: list[Bound], pressed: BoolArray) -> None:
        """Discard the impacts of contacts with impulses in time-stepping, which has more that are not
        counted. The others are kept, so that an accumulation of accumulations (a rocking block) is
        recognised."""
        for piece in self.at.blocks_of(group):
            if pressed[piece.normal]:
                self.accumulation.forget(piece.number)

    def begin(self) -> None:
        """Determine the modes at the start of a run: joints and intervals act, gaps of zero are closed."""
        if not self.undecided:
            return
        y, u = self.at.motion.gaps(self.at.t, self.at.q), self.at.motion.u(self.at.t, self.at.q, self.at.v)
        tight = self.at.options.gap_tolerance
        closed = np.array([not p.unilateral or y[p.normal] <= tight for p in self.at.pieces], bool)
        for piece in self.at.pieces:
            if piece.unilateral and u[piece.normal] > self.at.options.velocity_tolerance:
                closed[piece.number] = False
        closed &= ~self.at.waiting
        always = np.array([not p.unilateral for p in self.at.pieces], bool)
        self.at.modes = Modes(always, np.zeros(self.at.system.size))
        for piece in self.at.pieces:
            self.at.rub(piece, u)
        for group in self.at.groups:
            if any(closed[one.blocks].any() for one in group):
                self._resolve(group, closed, y, u, quiet=True)
        self.at.settle_drift()
        self.undecided = False

    def _count(self) -> None:
        """Count the decisions at one instant."""
        t, times = self.here
        self.here = (self.at.t, times + 1) if self.at.t == t else (self.at.t, 1)
        if self.at.t != t:
            self.sudden = set()

    def decide(self, flow: Any, crossing: Crossing) -> None:
        """Handle an event: impacts, then accelerations, of the coupled interactions that it belongs to."""
        # 1. Stop, or start time-stepping, if decisions at one instant do not end.
        self._count()
        watched = [flow.watched[i] for i in crossing.which.tolist()]
        if self.here[1] > STALLED:
            if self._jumbled(watched):
                return
            names = ", ".join(sorted({repr(self.at.pieces[w.piece].one.name) for w in watched}))
            self.at.fail(f"at t = {self.at.t:.12g} s, no mode of {names} is consistent with the next instant")
            return
        if len(self.at.events) >= self.at.options.max_events:
            self.at.fail(f"at t = {self.at.t:.12g} s, the step has had {len(self.at.events)} events")
            return
        # 2. Forces and rates just before the event.
        self.at.settle_drift()
        lam = np.zeros(self.at.system.size)
        lam[flow.components] = flow.forces(self.at.t, self.at.q, self.at.v)[1]
        u, closing, affected = (
            self.at.motion.u(self.at.t, self.at.q, self.at.v),
            np.zeros(len(self.at.pieces), bool),
            set(),
        )
        # 3. Changes of modes that follow from the quantities that crossed zero.
        opened: set[int] = set()
        before = self.at.modes
        self.at.modes = Modes(np.array(before.closed), np.array(before.direction))
        for one in watched:
            piece = self.at.pieces[one.piece]
            where = piece.components if one.group < 0 else piece.groups[one.group].components
            forced = not crossing.sudden or one in self.sudden
            if crossing.sudden:
                self.sudden.add(one)
            if one.kind == "paradox":
                self._paradox(piece, u)
                return
            if one.kind in ("near", "far"):
                self.at.modes.direction[where] = u[where] / np.linalg.norm(u[where])
                continue
            affected.add(piece.one.name)
            if one.kind == "gap":
                closing[piece.number] = True
            elif one.kind == "force" and forced:
                self.at.open(piece)
                opened.add(piece.number)
            elif one.kind == "cone" and forced:
                self.at.modes.direction[where] = -lam[where] / np.linalg.norm(lam[where])
            elif one.kind == "speed":
                self.at.modes.direction[where] = 0.0
            elif one.kind in ("lower", "upper") and forced:
                self.at.modes.direction[where] = 1.0 if one.kind == "lower" else -1.0
        # 4. Impacts and accelerations.
        if affected:
            y = self.at.motion.gaps(self.at.t, self.at.q)
            for group in self.at.groups:
                if any(one.name in affected for one in group):
                    self._resolve(group, closing, y, u, before=before, opened=opened)
            self.at.settle_drift()

    def _jumbled(self, watched: list[Watched]) -> bool:
        """Start time-stepping of interactions whose decisions stall among impacts, because their speeds have
        decreased to the tolerances, as in accumulations of accumulations. Return whether it was started."""
        at, options = self.at, self.at.options
        lately = sum(t >= at.t - options.zeno for t in self.recent)
        if options.accumulation == "plastic" or lately < FEW or options.zeno <= SOON * abs(at.t):
            return False
        names = {at.pieces[w.piece].one.name for w in watched}
        for group in at.groups:
            if any(one.name in names for one in group):
                self.accumulated.append((group, at.t + options.zeno, 0.0))
        return True

    def _resolve(
        self, group: list[Bound], closing: BoolArray, y: Array, u: Array, *,
        before: Modes | None = None, opened: Iterable[int] = (), quiet: bool = False,
    ) -> None:  # fmt: skip
        """Solve the impact and acceleration problems of coupled interactions, and update the modes."""
        # 1. Contacts that touch.
        options, mine = self.at.options, self.at.blocks_of(group)
        rest = options.velocity_tolerance
        touching = np.array(self.at.modes.closed)
        for piece in mine:
            if piece.unilateral and piece.number not in opened:
                touching[piece.number] |= closing[piece.number] or (
                    y[piece.normal] <= options.gap_tolerance and u[piece.normal] < -rest
                )
        # 2. Impact, or closing without one.
        pending: dict[int, float] = {}
        if any(touching[p.number] and self._strikes(p, u, rest) for p in mine):
            u, pending = self._impact(group, mine, touching, u)
        else:
            # After several decisions, gaps with slightly positive rates close too: rates have errors.
            still = NOISY * rest if self.here[1] > AGAIN else rest
            for piece in mine:
                if (
                    closing[piece.number]
                    and not self.at.modes.closed[piece.number]
                    and u[piece.normal] <= still
                ):
                    self.at.close(piece, u)
        # 3. Accelerations, and events.
        if self.at.stopped:
            return
        self._accelerate(group, mine)
        if not quiet:
            self._report(mine, before, pending)

    def _strikes(self, piece: Piece, u: Array, rest: float) -> bool:
        """Whether a touching block needs an impact."""
        if piece.kind == cones.FREE:
            return bool(np.abs(u[piece.components]).max() > max(rest, 1e-6)) and self.undecided
        return piece.unilateral and bool(u[piece.normal] < -rest)

    def _impact(
        self, group: list[Bound], mine: list[Piece], touching: BoolArray, u: Array
    ) -> tuple[Array, dict[int, float]]:
        """Solve an impact: rates after it, and the accumulation points of blocks, by number [s]. The modes
        are updated."""
        # 1. Accumulations, by the times of the impacts.
        options, t = self.at.options, self.at.t
        rest = options.velocity_tolerance
        plastic = np.zeros(len(self.at.pieces), bool)
        self.recent.append(t)
        crowded = len(self.recent) == options.crowd and t - self.recent[0] <= options.zeno
        pending: dict[int, float] = {}
        for piece in mine:
            if piece.unilateral and touching[piece.number] and u[piece.normal] < -rest:
                ahead = self.accumulation.hit(piece.number, t)
                if ahead is not None or crowded:
                    pending[piece.number] = t + (options.zeno if ahead is None else ahead)
        # 2. One plastic impact ends an accumulation that is over now, or if the options say so.
        cut = options.accumulation == "plastic" or min(pending.values(), default=t) - t <= SOON * abs(t)
        if cut:
            plastic[list(pending)] = True
            if crowded:
                pending = dict.fromkeys(pending, t)
        # 3. The impact problem, and the modes after it.
        answer = self._struck(group, touching, plastic, u)
        self.at.impacts += 1
        scale = float(np.abs(u[[p.normal for p in mine]]).max(initial=0.0))
        struck = []
        for piece in mine:
            self.at.rub(piece, answer.rate)
            if not (piece.unilateral and touching[piece.number]):
                continue
            if answer.r[piece.normal] > 0.0 and (u[piece.normal] < -rest or answer.r.max() > 0.0):
                struck.append(piece)
            if answer.rate[piece.normal] > rest + STRICT * scale:
                self.at.open(piece)
            else:
                self.at.close(piece, answer.rate, answer.r, answer.response, scale)
        # 4. Events, and time-stepping of blocks that still bounce.
        for name in dict.fromkeys(p.one.name for p in struck):
            self.at.events.append(Event(t, "impact", name))
        bouncing = [k for k in pending if not (cut or self.at.modes.closed[k])]
        if bouncing:
            speed = max(float(abs(answer.rate[self.at.pieces[k].normal])) for k in bouncing)
            self.accumulated.append((group, min(pending[k] for k in bouncing), speed))
        return answer.rate, {k: end for k, end in pending.items() if k not in bouncing}

    def _struck(self, group: list[Bound], touching: BoolArray, plastic: BoolArray, u: Array) -> Answer:
        """Solve the impact problem at rates u, and apply its impulses to the motion."""
        at = self.at
        v, answer = impact(at.motion, group, touching, plastic, at.t, at.q, at.v, u, at.solver)
        at.keep("impact", answer.solves)
        at.impulse += answer.r
        at.work += float(answer.r @ at.motion.u(at.t, at.q, 0.5 * (at.v + v)))
        at.v = v
        if answer.reason:
            at.reason = at.reason or answer.reason
        return answer

    def take_over(self, group: list[Bound]) -> None:
        """Finish time-stepping over accumulating impacts: close the contacts that it left closed, open the
        others.

        A contact is closed if its gap and its speed are at most those that small steps leave of an
        accumulation: the speed gained by a step in free motion, and the share of a step in the initial speed.
        The speed is removed by a plastic impact, and remaining opening rates by impulses of either sign.
        """
        # 1. Bounds on gaps and speeds of closed contacts.
        at, mine = self.at, self.at.blocks_of(group)
        block, rest = group[0].blocks.start, at.options.velocity_tolerance
        pace, before = float(at.pace[block]), at.modes
        pull = fall(at.motion, group, at.t, at.q, at.v)
        slow = LENIENT * (pace * pull + float(at.explained[block])) + rest
        near = at.options.gap_tolerance + slow * pace
        at.taken_back(group)
        at.modes = Modes(np.array(before.closed), np.array(before.direction))
        y, u = at.motion.gaps(at.t, at.q), at.motion.u(at.t, at.q, at.v)
        left = np.zeros(len(at.pieces), bool)  # contacts that time-stepping left closed
        for piece in mine:
            if piece.unilateral:
                at.open(piece)
                left[piece.number] = y[piece.normal] <= near and abs(u[piece.normal]) <= slow
        # 2. Projection of their gaps, and of open gaps that the small steps left below zero.
        at.level([p for p in mine if left[p.number] or not p.unilateral or y[p.normal] < 0.0])
        # 3. Plastic impact, and removal of the remaining rates.
        u = at.motion.u(at.t, at.q, at.v)
        if any(left[p.number] and u[p.normal] < -rest for p in mine):
            u = self._struck(group, at.modes.closed | left, left, u).rate
            for piece in mine:
                left[piece.number] &= u[piece.normal] <= slow
        u = at.hold(group, [p for p in mine if left[p.number] or p.kind == cones.FREE])
        # 4. Modes, accelerations and events.
        for piece in mine:
            at.rub(piece, u)
            if left[piece.number]:
                at.close(piece, u, scale=float(np.abs(u).max()))
        at.settle_drift()
        self._accelerate(group, mine)
        self._report(mine, before, {p.number: at.t for p in mine if not before.closed[p.number]})

    def _accelerate(self, group: list[Bound], mine: list[Piece]) -> None:
        """Determine by the acceleration problem which closed contacts stay closed, and which groups stick."""
        closed = [p for p in mine if self.at.modes.closed[p.number]]
        if not closed:
            return
        answer = acceleration(
            self.at.motion, group, self.at.modes, self.at.t, self.at.q, self.at.v, self.at.solver
        )
        solved = all(one.ok for one in answer.solves)
        if not solved and self._slide(closed) and self.at.options.jam and self.jammed != self.at.t:
            self._jam(group, mine)
            return
        self.at.keep("acceleration", answer.solves)
        if not solved:
            self.at.fail(answer.reason)
            return
        self.at.reason = self.at.reason or answer.reason
        r, a, d = answer.r, answer.rate, self.at.modes.direction
        for piece in closed:
            self.at.lam[piece.components] = r[piece.components]
        free = np.abs(a).max(initial=0.0) + float((np.abs(answer.response) * np.abs(r)).max(initial=0.0))
        scale = STRICT * free
        rho = 1.0 / np.where(answer.response > 0.0, answer.response, np.inf)
        for piece in closed:
            n = piece.normal
            if piece.unilateral and a[n] > scale and rho[n] * a[n] > r[n]:
                self.at.open(piece)
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
        """Whether a group of these closed blocks slides."""
        return any(p.groups and self.at.modes.direction[p.components].any() for p in closed)

    def _paradox(self, piece: Piece, u: Array) -> None:
        """Handle a sliding contact whose forces grow without bound: fail, or stop it by an impact."""
        if not self.at.options.jam or self.jammed == self.at.t:
            self.at.fail(
                f"at t = {self.at.t:.12g} s, sliding of {piece.one.name!r} reaches Painlevé's"
                " paradox: the matrix of its forces becomes singular, and they grow without bound"
            )
            return
        group = next(group for group in self.at.groups if piece.one in group)
        self._jam(group, self.at.blocks_of(group))

    def _jam(self, group: list[Bound], mine: list[Piece]) -> None:
        """Apply an impact without collision: sliding contacts are given a small approach velocity."""
        self.jammed = self.at.t
        u = self.at.motion.u(self.at.t, self.at.q, self.at.v)
        sliding = [p for p in mine if self.at.modes.closed[p.number] and self._slide([p])]
        for piece in sliding:
            speed = max(float(np.linalg.norm(u[g.components])) for g in piece.groups)
            u[piece.normal] -= APPROACH * speed + 2.0 * self.at.options.velocity_tolerance
        self.at.events.extend(Event(self.at.t, "jam", piece.one.name) for piece in sliding)
        self._impact(group, mine, self.at.modes.closed.copy(), u)
        self.at.settle_drift()
        self._accelerate(group, mine)

    def _report(self, mine: list[Piece], before: Modes | None, pending: dict[int, float]) -> None:
        """Report the events of the change of modes, one per interaction and kind."""
        if before is None:
            return
        times: dict[tuple[str, str], float] = {}
        for piece in mine:
            name, b = piece.one.name, piece.number
            was, now = bool(before.closed[b]), bool(self.at.modes.closed[b])
            if b in pending and now:
                times[name, "zeno"] = pending[b]
                self.accumulation.forget(b)
            if was != now:
                times[name, "close" if now else "take-off"] = self.at.t
            elif now and piece.kind != cones.FREE:
                slid = before.direction[piece.components].any()
                slides = self.at.modes.direction[piece.components].any()
                if slid != slides:
                    times[name, "slip" if slides else "stick"] = self.at.t
        self.at.events.extend(
            Event(t, kind, name) for (name, kind), t in sorted(times.items(), key=lambda x: x[1])
        )
