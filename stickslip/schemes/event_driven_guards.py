"""Users' guards in the event-driven scheme: the side of zero of each, and the jumps at their zeros.

A guard on one side of zero is watched until it crosses zero. A guard that starts at zero, for example after
its own jump, is assumed to return to the side from which it came; if it does not, it changes sides without
firing.
Guards that cross zero at the same instant fire in their order, each at the state after the previous jump. A
jump across the zero of another guard does not fire that guard: guards react to motion only.
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
"""Value of a guard, relative to the largest number of the state or 1, that counts as zero [-]: 64 times the
machine precision."""
SAME = 4.0
"""Factor of the value of a guard at its located zero, up to which it counts as zero after a jump [-]
(heuristic)."""
INSIDE = 1e-6
"""Largest overlap of a contact or opening of a joint after a jump [m, rad] (heuristic)."""


def begun(system: NonsmoothSystem) -> Memory:
    """Return the entries of guards in the first memory of the scheme."""
    n = len(system.guards)
    return {"side": np.zeros(n), "risen": np.zeros(n), "fired": np.full((n, KEPT), -np.inf)} if n else {}


class Guards:
    """Guards of a system during one step; false if there are none."""

    def __init__(self, at: Standing, decisions: Decisions | Switches, memory: Memory):
        self.at, self.decisions, self.all = at, decisions, at.system.guards
        self.side = np.array(memory.get("side", ()))
        """Side of zero of each guard [-], shape (guards,): 1 above, -1 below, 0 not known yet."""
        self.risen = np.array(memory.get("risen", ())) > 0.0
        """Whether a guard has been on its side, and not only at zero [-], shape (guards,), bool."""
        self.accumulation = Accumulation(memory.get("fired", np.zeros((0, KEPT))), at.options.zeno)
        if self.side.size != len(self.all):
            raise ModelError(f"the start has {self.side.size} guards; here there are {len(self.all)}")
        self.slack = np.zeros(len(self.all))
        """Values that count as zero for guards that have just crossed it [any], shape (guards,)."""
        self.recent: list[float] = []
        self._begin()

    def __bool__(self) -> bool:
        return bool(self.all)

    @property
    def memory(self) -> Memory:
        """Entries of guards in the memory for the next step."""
        entries = {"side": self.side, "risen": self.risen.astype(float), "fired": self.accumulation.hits}
        return entries if self.all else {}

    def values(self, t: float, state: Array) -> Array:
        """Return the values of all guards, positive until they cross zero [any], shape (guards,)."""
        nq, nv = self.at.q.size, self.at.v.size
        return self.side * self._raw(t, state[:nq], state[nq : nq + nv])

    def value(self, k: int, t: float, state: Array) -> float:
        """Return the value of guard k, positive until it crosses zero."""
        nq, nv = self.at.q.size, self.at.v.size
        value = self.all[k].value(t, state[:nq], state[nq : nq + nv], self.at.z)
        return float(self.side[k]) * value

    @property
    def floors(self) -> Array:
        """Magnitude of negative values that still count as zero [any], shape (guards,)."""
        at = self.at
        size = max(1.0, float(np.abs(at.q).max(initial=0.0)), float(np.abs(at.v).max(initial=0.0)))
        return np.maximum(self.slack, ROUNDING * size)

    def passed(self, which: IntArray, suddenly: BoolArray) -> None:
        """Handle guards that cross zero. suddenly: guards that start beyond zero, which fire only if they
        have been on their side before."""
        g, passes = self._here(), ~suddenly | self.risen[which]
        self.slack[:] = 0.0
        self.slack[which] = SAME * np.abs(g[which])
        fire = []
        for k, passed in zip(which.tolist(), passes.tolist(), strict=True):
            firing_side = {"falling": 1.0, "rising": -1.0}.get(self.all[k].direction, self.side[k])
            if passed and self.side[k] == firing_side:
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
        """Fire the guards that crossed zero during time-stepping over accumulating impacts."""
        below = np.flatnonzero(self.side * self._here() < -self.floors)
        if below.size:
            self.passed(below, np.zeros(below.size, bool))

    def _begin(self) -> None:
        """Determine the sides of guards at the start; a guard at zero is on the side from which it fires."""
        unknown = np.flatnonzero(self.side == 0.0)
        if not unknown.size:
            return
        g, floors = self._here(), self.floors
        for k in unknown.tolist():
            first = -1.0 if self.all[k].direction == "rising" else 1.0
            self.side[k] = first if abs(g[k]) <= floors[k] else np.sign(g[k])
            self.risen[k] = abs(g[k]) > floors[k]

    def _fire(self, k: int) -> None:
        """Apply the jump of guard k; fail if its jumps accumulate or repeat at one instant."""
        at, guard, t = self.at, self.all[k], self.at.t
        ahead = self.accumulation.hit(k, t)
        options, here = at.options, int((self.accumulation.hits[k] == t).sum())
        self.recent = [time for time in self.recent if time >= t - options.zeno] + [t]
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
        """Determine the sides of guards and the modes of contacts after jumps."""
        at, g, floors = self.at, self._here(), self.floors
        away = np.abs(g) > floors
        self.side = np.where(away, np.sign(g), self.side)
        self.risen = away
        if not at.system.interactions:
            return
        y = at.motion.gaps(at.t, at.q) if at.pieces else np.zeros(0)
        for piece in at.pieces:
            outputs = y[piece.positions.start : piece.positions.stop]
            depth = -outputs.min() if piece.unilateral else np.abs(outputs).max()
            if piece.kind != cones.INTERVAL and depth > INSIDE and not at.waiting[piece.number]:
                raise ModelError(
                    f"interaction {piece.one.name!r}: at t = {at.t:.9g} s, the jump of a guard leads"
                    f" to y = {outputs}, which violates its law"
                )
        self.decisions.undecided = True
        self.decisions.begin()

    def _here(self) -> Array:
        """Return the values of the guards' functions at the current state."""
        return self._raw(self.at.t, self.at.q, self.at.v)

    def _raw(self, t: float, q: Array, v: Array) -> Array:
        """Return the values of the guards' functions."""
        return np.array([guard.value(t, q, v, self.at.z) for guard in self.all])
