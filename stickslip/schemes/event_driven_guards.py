"""Guards of the user's own in the event-driven scheme: on which side of zero each is, and what follows.

A guard that has been on one side is watched until it passes zero. Where it begins at zero, as after a jump
that leaves it there, it is taken to go back to where it came from; if it goes on, it changes sides without
firing.
Guards that pass at one instant fire in the order in which they are given, each at the state that the one
before left. A jump across the zero of another guard does not fire that: guards watch motion.
"""

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.checks import Array, IntArray
from stickslip.schemes.event_driven_decisions import STALLED, Decisions
from stickslip.schemes.event_driven_standing import Standing
from stickslip.schemes.event_driven_switches import Switches
from stickslip.schemes.event_driven_zeno import KEPT, Accumulation
from stickslip.schemes.step import Event, Memory
from stickslip.state import BoolArray, ModelError
from stickslip.systems.system import NonsmoothSystem

ROUNDING = 64.0 * float(np.finfo(float).eps)
"""Value of a guard that is rounding, over the largest number of the state or 1."""
SAME = 4.0
"""How many times what an instant is missed by still counts as zero after a jump."""
INSIDE = 1e-6
"""How far a jump may leave a contact closed, or a joint open, for that to be rounding [m, rad]."""


def begun(system: NonsmoothSystem) -> Memory:
    """What the memory of the scheme has of guards."""
    n = len(system.guards)
    return {"side": np.zeros(n), "risen": np.zeros(n), "fired": np.full((n, KEPT), -np.inf)} if n else {}


class Guards:
    """The guards of a system during one step; false where there are none."""

    def __init__(self, at: Standing, decisions: Decisions | Switches, memory: Memory):
        self.at, self.decisions, self.all = at, decisions, at.system.guards
        self.side = np.array(memory.get("side", ()))
        """On which side of zero each is [-], shape (guards,): 1 above, -1 below, 0 not known yet."""
        self.risen = np.array(memory.get("risen", ())) > 0.0
        """Whether each has been there, and not only at zero [-], shape (guards,), bool."""
        self.accumulation = Accumulation(memory.get("fired", np.zeros((0, KEPT))), at.options.zeno)
        if self.side.size != len(self.all):
            raise ModelError(f"the start has {self.side.size} guards; here there are {len(self.all)}")
        self.slack = np.zeros(len(self.all))
        """What counts as zero where guards have just passed it [any], shape (guards,)."""
        self.recent: list[float] = []
        self._begin()

    def __bool__(self) -> bool:
        return bool(self.all)

    @property
    def memory(self) -> Memory:
        """What the next step needs to know."""
        found = {"side": self.side, "risen": self.risen.astype(float), "fired": self.accumulation.hits}
        return found if self.all else {}

    def values(self, t: float, state: Array) -> Array:
        """Of all guards, positive until they pass zero [any], shape (guards,)."""
        nq, nv = self.at.q.size, self.at.v.size
        return self.side * self._raw(t, state[:nq], state[nq : nq + nv])

    def value(self, k: int, t: float, state: Array) -> float:
        """That of one guard."""
        nq, nv = self.at.q.size, self.at.v.size
        found = self.all[k].value(t, state[:nq], state[nq : nq + nv], self.at.z)
        return float(self.side[k]) * found

    @property
    def floors(self) -> Array:
        """How far below zero each is still zero [any], shape (guards,)."""
        at = self.at
        size = max(1.0, float(np.abs(at.q).max(initial=0.0)), float(np.abs(at.v).max(initial=0.0)))
        return np.maximum(self.slack, ROUNDING * size)

    def passed(self, which: IntArray, suddenly: BoolArray) -> None:
        """What follows where guards pass zero; suddenly: those that begin beyond it, which did not pass
        unless they have been on this side before."""
        g, passes = self._here(), ~suddenly | self.risen[which]
        self.slack[:] = 0.0
        self.slack[which] = SAME * np.abs(g[which])
        fire = []
        for k, passed in zip(which.tolist(), passes.tolist(), strict=True):
            wanted = {"falling": 1.0, "rising": -1.0}.get(self.all[k].direction, self.side[k])
            if passed and self.side[k] == wanted:
                fire.append(k)
            else:
                self.side[k] *= -1.0
        self.risen[which] = False
        for k in fire:
            if not self.at.stopped:
                self._fire(k)
        if fire and not self.at.stopped:
            self._settle()

    def overtaken(self) -> None:
        """Fire what accumulating impacts, which time-stepping has carried over, took past zero."""
        below = np.flatnonzero(self.side * self._here() < -self.floors)
        if below.size:
            self.passed(below, np.zeros(below.size, bool))

    def _begin(self) -> None:
        """Find out on which side guards are; one at zero is where it can fire from."""
        unknown = np.flatnonzero(self.side == 0.0)
        if not unknown.size:
            return
        g, floors = self._here(), self.floors
        for k in unknown.tolist():
            first = -1.0 if self.all[k].direction == "rising" else 1.0
            self.side[k] = first if abs(g[k]) <= floors[k] else np.sign(g[k])
            self.risen[k] = abs(g[k]) > floors[k]

    def _fire(self, k: int) -> None:
        at, guard, t = self.at, self.all[k], self.at.t
        ahead = self.accumulation.hit(k, t)
        options, here = at.options, int((self.accumulation.hits[k] == t).sum())
        self.recent = [one for one in self.recent if one >= t - options.zeno] + [t]
        if ahead is not None or len(self.recent) >= options.crowd:
            end = t + (options.zeno if ahead is None else ahead)
            at.fail(
                f"at t = {t:.12g} s, guard {guard.name!r} fires ever faster: its jumps accumulate about"
                f" t = {end:.9g} s (Zeno), beyond which they do not lead; end the run before, or let an"
                " interaction hold what comes to rest"
            )
            return
        if here >= min(KEPT, STALLED) or len(at.events) >= options.max_events:
            at.fail(
                f"at t = {t:.12g} s, guard {guard.name!r} fires repeatedly; after its jump the"
                " function must not pass zero at once"
            )
            return
        at.q, at.v, z = guard.jumped(t, at.q, at.v, at.z)
        at.take(z)
        at.events.append(Event(t, "guard", guard.name))

    def _settle(self) -> None:
        """On which side guards are after jumps, and which contacts are closed."""
        at, g, floors = self.at, self._here(), self.floors
        away = np.abs(g) > floors
        self.side = np.where(away, np.sign(g), self.side)
        self.risen = away
        if not at.system.interactions:
            return
        y = at.motion.gaps(at.t, at.q) if at.pieces else np.zeros(0)
        for piece in at.pieces:
            own = y[piece.positions.start : piece.positions.stop]
            depth = -own.min() if piece.unilateral else np.abs(own).max()
            if piece.kind != cones.INTERVAL and depth > INSIDE and not at.waiting[piece.number]:
                raise ModelError(
                    f"interaction {piece.one.name!r}: at t = {at.t:.9g} s, the jump of a guard leads"
                    f" to y = {own}, which violates its law"
                )
        self.decisions.undecided = True
        self.decisions.begin()

    def _here(self) -> Array:
        return self._raw(self.at.t, self.at.q, self.at.v)

    def _raw(self, t: float, q: Array, v: Array) -> Array:
        return np.array([guard.value(t, q, v, self.at.z) for guard in self.all])
