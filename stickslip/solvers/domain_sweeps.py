"""Gauss-Seidel by domains: sweeps over many Coulomb contacts between bodies, on several threads.

The contacts are divided into domains (`kernels/domains.py`). Threads sweep the domains of even number at the
same time, then those of odd number, then the remaining contacts. This is one sweep in another order of the
contacts. The order depends only on the problem, so results have the same bits for any number of threads.
"""

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from stickslip.kernels import anderson, body_measures, body_problems, body_sweeps, residuals, schedule
from stickslip.kernels import domain_sweeps as kernels
from stickslip.kernels.cones import Cones
from stickslip.kernels.held import Held
from stickslip.problem import parts
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.operator import BodyDelassus
from stickslip.problem.parts import Graph
from stickslip.threads import Team

Course = tuple[Array, Array, Array, Array]
"""Iterate, best iterate, control and history, as in `kernels/sweeps.py`."""


class DomainSweeps:
    """Sweeps over one problem, plain or accelerated, with the call signature of `body_sweeps.run`."""

    def __init__(self, problem: ContactProblem, memory: int = 0):
        """problem: matrix-free over bodies; memory: number of sweeps to mix, 0 for plain sweeps."""
        W = problem.W
        assert isinstance(W, BodyDelassus)
        graph = Graph.of(W, W.count)
        order, _ = graph.domains
        self._components = (3 * order[:, None] + np.arange(3)).reshape(-1)
        self._w = np.zeros((W.count + 1, 6))
        self._m, self.mixes = memory, memory > 0
        n = problem.size
        self._r, self._mark, self._best = np.zeros(n), np.zeros(n), np.zeros(n)
        self._mix, self._gram = np.zeros(anderson.SLOTS), np.zeros((memory, memory))
        self._work = np.zeros((memory + 2, memory))
        turns = graph.turns()
        parts_of = [part for turn in turns for part in turn]
        self._sums = np.zeros((len(parts_of), 2, memory + 1))
        with Team() as team:
            make = partial(self._domain, problem, W, order)
            domains = team.run([partial(make, d, *part) for d, part in enumerate(parts_of)])
        self._all: list[Any] = []
        for values in domains:
            self._all.append(Held(values, like=self._all[0] if self._all else None))
        rest = iter(self._all)
        self._turns = [list(islice(rest, len(turn))) for turn in turns]

    def _domain(
        self, problem: ContactProblem, W: BodyDelassus, order: IntArray, d: int, first: int, end: int
    ) -> kernels.Domain:
        """Return the contacts order[first:end] as domain d."""
        pairs, size, span = order[first:end], end - first, slice(3 * first, 3 * end)
        bodies, rows = W.bodies[pairs], W.rows.reshape(-1, 3, 2, 6)[pairs].reshape(-1, 2, 6)
        u_free, k = problem.u_free[self._components[span]], problem.K.arrays
        bodies[bodies < 0] = self._w.shape[0] - 1
        matrix = body_sweeps.BodyW(bodies, rows, self._w, np.zeros((size, 2)))
        part = Cones(
            k.kind[pairs], k.offset[: size + 1], k.lower[pairs], k.upper[pairs], k.group_offset[: size + 1],
            k.group_size[pairs], k.coefficient[pairs],
        )  # fmt: skip
        swept, work, weight, vectors = kernels.prepare(part, matrix, u_free, self._m)
        memory = anderson.Memory(weight, self._mix, self._gram, vectors, self._work)
        return kernels.Domain(swept, work, memory, self._r[span], self._sums[d])

    def __call__(self, tolerance: float, budget: float, course: Course) -> None:
        """Sweep with checks by the judge, as `kernels/sweeps.py` does; r is read if the state is NEW."""
        r, best, control, history = course
        if control[schedule.STATE] == schedule.NEW:
            self._r[:] = r[self._components]
            self._best[:] = self._r
            anderson.begin(self._mix)
            self.follow()
        schedule.begin(control)
        improved = False
        with Team() as team:
            while schedule.goes_on(control, budget):
                if schedule.is_due(control, budget):
                    # 1. Residuals of r by the judge, and the decision whether to continue.
                    self.follow(team)
                    sums = team.run([partial(kernels.measure, domain) for domain in self._all])
                    plain, scaled, _ = residuals.stop_ratios(parts.added(sums))
                    if schedule.look(control, history, plain, scaled, tolerance, self._r, self._mark):
                        self._best[:] = self._r
                        improved = True
                    self._mix[anderson.SEEN] = self._mix[anderson.LENGTH]
                    continue
                # 2. One sweep, from r or from a mix of the last sweeps.
                if self.mixes:
                    self._start(team)
                changes = zip(*self._in_turns(team, kernels.sweep), strict=True)
                moved, square = (float(sum(terms)) for terms in changes)
                if self.mixes:
                    moved = self._learn(team, moved, square)
                schedule.swept(control, moved)
                if self.mixes:
                    anderson.hurry(self._mix, tolerance, control)
        if improved:
            best[self._components] = self._best
        r[self._components] = self._r

    def accelerate(self) -> None:
        """Switch to accelerated sweeps, from the best iterate."""
        self._r[:] = self._best
        anderson.begin(self._mix)
        self.mixes = True

    def follow(self, team: Team | None = None) -> None:
        """Recompute w <- J' r."""
        self._w[:] = 0.0
        if team is None:
            with Team() as team:
                self._in_turns(team, kernels.push)
        else:
            self._in_turns(team, kernels.push)

    def _start(self, team: Team) -> None:
        """Compute `anderson.start` by domains."""
        memory = self._whole
        self._work[0] = self._sums[:, 1, : self._m].sum(axis=0)
        anderson.find_mix(memory)
        self._w[:] = 0.0
        self._in_turns(team, kernels.move_to_mix)

    def _learn(self, team: Team, moved: float, square: float) -> float:
        """Compute `anderson.learn` by domains; square: squared length of the change of r in the sweep."""
        memory, length = self._whole, float(np.sqrt(square))
        if anderson.grows(self._mix, length):
            team.run([partial(kernels.go_back, domain) for domain in self._all])
            anderson.note_restart(self._mix)
            return moved
        adds = bool(self._mix[anderson.LENGTH] >= 0.0)
        if adds:
            anderson.next_column(memory)
        way = sum(team.run([partial(kernels.remember, domain, adds) for domain in self._all]))
        self._work[0] = self._sums[:, 0, : self._m].sum(axis=0)
        anderson.note_column(memory, adds, length)
        return max(moved, way)

    @property
    def _whole(self) -> anderson.Memory:
        """Memory with the scalars and products of all domains; the vectors are stored by domain."""
        nothing = np.empty((0, 0))
        return anderson.Memory(np.empty(0), self._mix, self._gram, nothing, self._work)

    def _in_turns(self, team: Team, kernel: Callable[..., Any]) -> list[Any]:
        """Run a kernel that writes to bodies on all domains, never at once on two that share a body."""
        return [out for turn in self._turns for out in team.run([partial(kernel, domain) for domain in turn])]


CLOSER, SMALLER = 3, 0.3
"""Largest number of continuations if the norms are within the tolerance but a single contact is not, and the
factor on the tolerance of each: in beds of 50,000 contacts at rest one is sufficient."""
Result = tuple[Array, Array, Array, Array, Array, Array]
"""Impulses, velocities of bodies and of contacts, the judge's measures and the equilibrium, control and
history."""


def solve_bodies(problem: GlobalProblem, tolerance: float, guess: Array) -> Result:
    """Solve a problem of many contacts as `body_problems.solve_coulomb3` does.

    If the judge rejects the guess, plain and then accelerated sweeps follow.
    """
    H, K, problem_data = problem.H, problem.K, parts.body_problem(problem)
    assert isinstance(H, ContactBlocks)
    graph = Graph.of(H, len(problem_data.f))
    free = parts.unloaded(problem_data)

    def examined(r: Array) -> tuple[Array, Array, Array]:
        v = parts.velocities(problem_data, graph, r)
        measures, equilibrium, u = parts.measure(problem_data, graph, free, r, v)
        return v, u, np.append(measures, equilibrium)

    # 1. Residuals of the guess.
    control, history = np.zeros(schedule.SLOTS), np.zeros((body_problems.LINES, 3))
    r = parts.projected(K, guess)
    v, u, measures = examined(r)
    good, finest = body_measures.is_good(measures, tolerance), min(body_measures.ROUNDING, tolerance)
    if body_measures.is_enough(measures, tolerance):
        history[0, 1:] = measures[[residuals.NATURAL, residuals.SCALED]]
        control[schedule.STATE] = schedule.SOLVED
        return r, v, u, measures, control, history[:1]
    # 2. Sweeps from the guess: until the tolerance, or only a few if the guess is good.
    target, budget = (finest, body_problems.POLISH) if good else (tolerance, body_problems.PLAIN)
    control[schedule.STATE] = schedule.NEW
    control[schedule.NEXT] = min(body_problems.LOOK, budget) if good else 1.0
    control[schedule.ALLOWED] = 0.0 if good else budget
    W = BodyDelassus(K.offset, H.bodies, free.J, graph.count)
    graph.share(W)
    alone = ContactProblem.unchecked(W, free.u, K)
    sweeps, best = DomainSweeps(alone, 0 if good else body_problems.MIXED), r.copy()
    free = free._replace(J=free.J[:0].copy())  # domains have copies; J takes most of the memory
    del W, alone
    sweeps(target, budget, (r.copy(), best, control, history))
    if not good and control[schedule.STATE] in (schedule.SLOW, schedule.RUNNING):
        allowed = control[schedule.SWEEPS] + body_problems.MOST_MIXED
        anderson.take_over(control, control[schedule.BEST], allowed, body_problems.MIXED_TRIAL)
        sweeps.accelerate()
        sweeps(target, allowed, (r.copy(), best, control, history))
    # 3. If the norms are small but a single contact violates its law: sweeps to smaller norms.
    after = examined(best)
    for _ in range(0 if good else CLOSER):
        if control[schedule.STATE] != schedule.SOLVED or body_measures.is_good(after[2], tolerance):
            break
        target *= SMALLER
        allowed = control[schedule.SWEEPS] + body_problems.MOST_MIXED
        anderson.take_over(control, control[schedule.BEST], allowed, body_problems.MIXED_TRIAL)
        if not sweeps.mixes:
            sweeps.accelerate()
        sweeps(target, allowed, (r.copy(), best, control, history))
        after = examined(best)
    # 4. The better of the guess and the result of the sweeps.
    history = history[: int(control[schedule.CHECKS])]
    if not good:
        if body_measures.is_good(after[2], tolerance):
            control[schedule.STATE] = schedule.SOLVED
        return best, *after, control, history
    control[schedule.STATE] = schedule.SOLVED
    if body_measures.worst(after[2]) < body_measures.worst(measures) and residuals.is_solved(
        after[2], tolerance
    ):
        return best, *after, control, history
    return r, v, u, measures, control, history
