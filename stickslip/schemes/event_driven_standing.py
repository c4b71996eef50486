"""Current state of a step of the event-driven scheme: time, state, modes, and results so far."""

from typing import Any

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.solution import Solution
from stickslip.schemes.event_driven_flow import Modes
from stickslip.schemes.event_driven_motion import Motion, Piece
from stickslip.schemes.event_driven_problems import pushed
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.problems import coupled
from stickslip.schemes.step import Event, Memory, Solver
from stickslip.state import State
from stickslip.systems.system import Bound

STRICT = 1e-9
"""Velocity or acceleration, relative to the largest at an event, that counts as zero [-] (heuristic)."""


class Standing:
    """Current state of a step. `options` are those of the scheme."""

    def __init__(self, options: Any, prepared: PreparedSystem, state: State, memory: Memory, solver: Solver):
        self.options, self.prepared, self.solver = options, prepared, solver
        system = self.system = prepared.system
        z = system.update(state.t, state.q, state.v, state.z)
        self.motion = Motion(prepared, z, options.difference)
        self.pieces = self.motion.pieces
        self.t, self.q, self.v, self.z = state.t, np.array(state.q), np.array(state.v), z
        self.modes = Modes.read(memory["mode"], memory["direction"])
        self.substep = float(memory["substep"][0])
        self.impulse = np.zeros(system.size)
        """Impulses of all interactions since the start of the step [N s], shape (size,)."""
        self.lam = np.array(memory["lam"])
        """Last known forces of all interactions [N], shape (size,)."""
        self.groups = coupled(list(system.interactions))
        self.events: list[Event] = []
        self.solves: dict[str, Solution] = {}
        self.reason, self.stopped = "", False
        self.impacts, self.projection, self.work = 0, 0.0, 0.0
        self.until, self.pace = np.array(memory["until"]), np.array(memory["pace"])
        """End of the time-stepping of blocks [s], and length of its steps [s], shape (blocks,); -inf for
        blocks that are not in time-stepping."""
        self.explained = np.array(memory["explained"])
        """Speed that these steps may leave of accumulating impacts [m/s], shape (blocks,)."""
        self.waiting = np.zeros(system.blocks, bool)
        """Whether time-stepping has taken a block ahead of the others [-], shape (blocks,), bool."""
        self.still_q, self.still_v = np.zeros(state.q.size, bool), np.zeros(state.v.size, bool)
        """Whether coordinates and velocities belong to waiting blocks [-], shape (nq,) and (nv,), bool."""
        self.away: list[tuple[float, list[Bound], IntArray, IntArray]] = []
        """Coupled interactions that wait: until when [s], interactions, coordinates and velocities."""

    def take(self, z: Array) -> None:
        """Continue with other discrete parameters [any], shape (nz,)."""
        self.z = self.motion.z = z

    def wait(self, group: list[Bound], q: IntArray, v: IntArray, until: float) -> None:
        """Let coupled interactions, which are ahead of the others, wait until `until` [s]."""
        self.away.append((until, group, q, v))
        self._mark(group, q, v, True)

    def caught_up(self) -> list[list[Bound]]:
        """Return the coupled interactions whose wait ends here; they continue with the others."""
        here = [absence for absence in self.away if absence[0] <= self.t]
        self.away = [absence for absence in self.away if absence[0] > self.t]
        for _, group, q, v in here:
            self._mark(group, q, v, False)
        return [group for _, group, _, _ in here]

    def _mark(self, group: list[Bound], q: IntArray, v: IntArray, value: bool) -> None:
        """Set whether interactions, coordinates and velocities wait."""
        self.still_q[q] = self.still_v[v] = value
        for one in group:
            self.waiting[one.blocks] = value

    def handed_over(self, group: list[Bound]) -> bool:
        """Whether coupled interactions are in time-stepping."""
        return bool(self.until[group[0].blocks.start] > -np.inf)

    def taken_back(self, group: list[Bound]) -> None:
        """End the time-stepping of coupled interactions."""
        for one in group:
            self.until[one.blocks] = self.pace[one.blocks] = -np.inf
            self.explained[one.blocks] = 0.0

    def open(self, piece: Piece) -> None:
        """Open a contact."""
        self.modes.closed[piece.number] = False
        self.modes.direction[piece.components] = 0.0
        self.lam[piece.components] = 0.0

    def close(
        self,
        piece: Piece,
        u: Array,
        r: Array | None = None,
        response: Array | None = None,
        scale: float = 0.0,
    ) -> None:
        """Close a contact. Each group slides if it moves; otherwise it sticks, subject to the acceleration
        problem."""
        self.modes.closed[piece.number] = True
        for group in piece.groups:
            where = group.components
            speed = float(np.linalg.norm(u[where]))
            still = speed <= self.options.velocity_tolerance + STRICT * scale
            if r is not None and response is not None and r[piece.normal] > 0.0:
                slack = group.mu * r[piece.normal] - float(np.linalg.norm(r[where]))
                still = still or slack * response[where].max() > speed
            self.modes.direction[where] = 0.0 if still else u[where] / speed

    def rub(self, piece: Piece, u: Array) -> None:
        """Set the mode of an interval: it slides if it moves; otherwise it sticks, subject to the
        acceleration problem."""
        if piece.kind == cones.INTERVAL:
            moves = abs(u[piece.normal]) > self.options.velocity_tolerance
            self.modes.direction[piece.normal] = np.sign(u[piece.normal]) if moves else 0.0

    def settle_drift(self) -> None:
        """Project closed contacts and joints onto y = 0 and ẏ = 0, by the least change in the metric of M."""
        mine = [p for p in self.pieces if self.modes.closed[p.number] and not self.waiting[p.number]]
        involved = list({p.one.name: p.one for p in mine}.values())
        if not involved or self.stopped:
            return
        gaps = self.level(mine)
        rates = np.concatenate([gaps, np.array([k for p in mine for k in self.modes.resting(p)], np.int64)])
        self._stop(involved, rates, 1e-4 * self.options.velocity_tolerance)

    def level(self, pieces: list[Piece]) -> IntArray:
        """Project gaps and joints onto y = 0, by the least change of q in the metric of M; return their
        components."""
        mine = [p for p in pieces if p.kind != cones.INTERVAL]
        gaps = np.array([k for p in mine for k in p.positions], np.int64)
        involved, start = list({p.one.name: p.one for p in mine}.values()), self.q
        for _ in range(5 if gaps.size else 0):
            y = self.motion.y(self.t, self.q)[gaps]
            if np.abs(y).max() <= 1e-4 * self.options.gap_tolerance:
                break
            J, G, where = pushed(self.motion, involved, self.t, self.q)
            at = _places(where, gaps)
            change = np.linalg.lstsq(J[at] @ G[:, at], -y, rcond=1e-12)[0]
            self.q = self.motion.normalized(self.q + self.motion.rate(self.q, G[:, at] @ change))
        self.projection = max(self.projection, float(np.abs(self.q - start).max(initial=0.0)))
        return gaps

    def hold(self, group: list[Bound], pieces: list[Piece]) -> Array:
        """Set the rates of gaps of blocks of coupled interactions to zero; return all rates after it."""
        self._stop(group, np.array([k for p in pieces for k in p.positions], np.int64), 0.0)
        return self.motion.u(self.t, self.q, self.v)

    def _stop(self, interactions: list[Bound], rates: IntArray, least: float) -> None:
        """Set rates of interactions to zero by impulses of either sign, if one is above `least` [m/s].

        These impulses are recorded like those of contacts, so that records contain all changes of momentum.
        """
        u = self.motion.u(self.t, self.q, self.v)[rates]
        if np.abs(u).max(initial=0.0) <= least:
            return
        J, G, where = pushed(self.motion, interactions, self.t, self.q)
        at = _places(where, rates)
        impulse = np.linalg.lstsq(J[at] @ G[:, at], -u, rcond=1e-12)[0]
        self.v = self.v + G[:, at] @ impulse
        self.impulse[rates] += impulse
        self.work += 0.5 * float(impulse @ u)

    def blocks_of(self, group: list[Bound]) -> list[Piece]:
        """Return the blocks of coupled interactions."""
        return [self.pieces[k] for one in group for k in range(one.blocks.start, one.blocks.stop)]

    def keep(self, kind: str, solves: tuple[Solution, ...]) -> None:
        """Keep the last problem of each kind, and the worst."""
        for solution in solves:
            self.solves[kind] = solution
            worst = self.solves.get("worst")
            if worst is None or not solution.ok or solution.residuals.natural > worst.residuals.natural:
                self.solves["worst"] = solution

    def fail(self, reason: str) -> None:
        """Stop the step, for a reason."""
        self.reason, self.stopped = self.reason or reason, True


def _places(where: IntArray, components: IntArray) -> IntArray:
    """Return the positions of `components` in `where`."""
    order = np.argsort(where)
    return np.asarray(order[np.searchsorted(where, components, sorter=order)])
