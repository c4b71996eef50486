"""Nonsmooth Gauss-Seidel (NSGS): sweeps of exact one-contact solves, checked by the judge.

Jean & Moreau 1987, Jean 1999. The local solvers are in `kernels/local.py` and `kernels/friction.py`;
alternatives for Coulomb contacts (option `local`) are in `kernels/one_contact.py`. The sweeps have two forms:
on W in blocks, and on the velocities of bodies if the problem is matrix-free. Both visit the contacts in
their order and differ only by rounding.

With Anderson's acceleration each sweep starts from a linear combination of the last ones. It is of type II,
safeguarded by restarts (`kernels/anderson.py`), and available in both forms. It helps if sweeps converge
slowly and the contact states no longer change. If states keep changing it restarts, its path depends on
rounding, and it may stall at a larger residual than plain sweeps would reach.
"""

import time
from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from stickslip.compilation.timing import Compilation
from stickslip.kernels import anderson, body_sweeps, cones, gauss_seidel, one_contact, schedule
from stickslip.options import iterations_option, option
from stickslip.problem import parts
from stickslip.problem.checks import Array, IntArray, ProblemError
from stickslip.problem.contact import ContactProblem
from stickslip.problem.operator import BodyDelassus
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import Status
from stickslip.solvers.base import ContactSolver
from stickslip.solvers.certify import Attempt
from stickslip.solvers.domain_sweeps import DomainSweeps
from stickslip.solvers.registry import Progress

CHUNK = 1_000_000
"""Number of visits of 3D Coulomb contacts between two calls of `progress`, a few hundredths of a second;
other blocks cost more and get a fortieth of it."""
HISTORY = 512
"""Largest number of lines of the history."""
RATE_FROM, RATE_NOW = [schedule.SINCE, schedule.ERROR_THEN], [schedule.SWEEPS, schedule.ERROR]
"""Control slots (sweeps, error) of the start of a mean rate, and of the current iterate."""

COULOMB = ((1,), (2,))
"""Families of problems with only 2D or only 3D Coulomb contacts."""
NO_MEMORY = anderson.Memory(np.empty(0), np.zeros(anderson.SLOTS), *(np.empty((0, 0)) for _ in range(3)))
"""Empty memory for sweeps without acceleration, which do not read it."""

Loop = partial[None] | DomainSweeps
"""Sweeps over a prepared problem; arguments: tolerance, budget and (r, best, control, history)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweeps(ContactSolver):
    """Base of plain and accelerated sweeps."""

    max_iterations: int = iterations_option(20_000, "sweeps")
    form: str = option(
        "auto", "sweep over W in blocks or over body velocities; auto: the form of the problem",
        choices=("auto", "delassus", "bodies"),
    )  # fmt: skip

    @abstractmethod
    def prepare(self, problem: ContactProblem, at_once: bool = False) -> Loop:
        """Return the compiled loop, bound to the problem, its work arrays and the memory of sweeps.

        With `at_once` the loop may prepare the problem itself, which saves one call on small problems.
        """

    def attempt(
        self, problem: ContactProblem, guess: Array | None, tolerance: float,
        progress: Progress | None = None, *, hopeful: bool = False, window: int = 0,
    ) -> Attempt:  # fmt: skip
        """Sweep until the judge accepts, progress stalls or `max_iterations` are done; not yet certified.

        `hopeful`: also stop once the rate of convergence predicts that `max_iterations` are not enough.
        `window`: measure that rate over at least this number of sweeps, up to twice as many, for residuals
        that do not fall at every check.
        """
        limit = self.max_iterations
        with Compilation() as compilation:
            start = time.perf_counter()
            # 1. Initial iterate and state of the loop.
            r = np.zeros(problem.size)
            if guess is not None:
                cones.project(problem.K.arrays, guess, r)
            best, control, history = r.copy(), np.zeros(schedule.SLOTS), np.empty((HISTORY, 3))
            control[schedule.STATE], control[schedule.NEXT] = schedule.NEW, first_look(problem, guess)
            control[schedule.ALLOWED] = float(limit) if hopeful else 0.0
            course = r, best, control, history
            # 2. Compiled loop, called in chunks between which `progress` is called.
            run = self.prepare(problem, at_once=True)
            visits = CHUNK if problem.K.family == (2,) else CHUNK // 40
            done, chunk = 0, max(1, visits // max(1, problem.contacts))
            recent = np.zeros(2)
            if window:
                chunk = min(chunk, window)
                run(tolerance, 0.0, course)
                recent = control[RATE_FROM] = control[RATE_NOW]
            while control[schedule.STATE] <= schedule.RUNNING and done < limit:
                # The mean rate counts from the start of the last window but one.
                if window and control[schedule.SWEEPS] >= recent[0] + window:
                    control[RATE_FROM], recent = recent, control[RATE_NOW]
                if done and isinstance(run, partial) and run.func is gauss_seidel.solve_coulomb:
                    run = self.prepare(problem)
                done = min(done + chunk, limit)
                run(tolerance, float(done), course)
                if progress is not None:
                    progress(int(control[schedule.SWEEPS]), float(control[schedule.BEST]))
            seconds = time.perf_counter() - start
        # 3. Status and history from the control array.
        status, reason = _outcome(control)
        history = history[: int(control[schedule.CHECKS])].copy()
        sweeps = int(control[schedule.SWEEPS])
        seconds -= compilation.seconds
        return Attempt(best, status, sweeps, seconds, compilation.seconds, history, reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class NSGS(Sweeps):
    """Nonsmooth Gauss-Seidel: sweeps of exact one-contact solves, for every kind of block."""

    name: ClassVar[str] = "nsgs"
    relaxation: float = option(
        1.0, "relaxation of each update; below 1 damping, above 1 over-relaxation",
        low=0.0, high=2.0, open_low=True, open_high=True,
    )  # fmt: skip
    local: str = option(
        "exact",
        "one-contact solver of Coulomb contacts in 2D and 3D, on W in blocks; a contact it misses, and"
        " every other kind of block, goes to the exact one",
        choices=("exact", "projection", "newton", "quartic", "enumeration"),
    )

    def prepare(self, problem: ContactProblem, at_once: bool = False, memory: int = 0) -> Loop:
        """See the base; sweeps by domains get an empty memory for `memory` sweeps."""
        K, W, exact, omega = problem.K, problem.W, self.local == "exact", float(self.relaxation)
        coulomb = K.family in COULOMB and omega == 1.0 and exact
        if self.form == "bodies" and not exact:
            raise ProblemError("form='bodies' has local='exact' only; give form='auto' or 'delassus'")
        if isinstance(W, BodyDelassus) and self.form != "delassus" and exact:
            if omega == 1.0 and parts.are_coulomb(K, W):
                return DomainSweeps(problem, memory)
            matrix = body_sweeps.over_bodies(W.bodies, W.rows, W.count)
            coulomb = coulomb and K.family == parts.COULOMB_3D and W.rows.shape[2] == 6
            run = body_sweeps.run_coulomb3 if coulomb else body_sweeps.run
            prepare = body_sweeps.prepare_coulomb3 if coulomb else body_sweeps.prepare
            swept, work = prepare(K.arrays, matrix, problem.u_free, omega)
        elif self.form == "bodies":
            raise ProblemError(
                "form='bodies' needs a matrix-free problem: H as contact blocks over bodies"
                f" and M as body blocks; this one has {type(W).__name__}"
            )
        elif coulomb and at_once:
            return partial(
                gauss_seidel.solve_coulomb, tuple(K.arrays), tuple(W.blocks(K).arrays), problem.u_free
            )
        elif coulomb:
            run = gauss_seidel.run_coulomb
            swept, work = gauss_seidel.prepare_coulomb(K.arrays, W.blocks(K).arrays, problem.u_free)
        else:
            run = gauss_seidel.run if exact else one_contact.run
            swept, work = gauss_seidel.prepare(K.arrays, W.blocks(K).arrays, problem.u_free, omega)
            swept = swept._replace(method=one_contact.METHODS.index(self.local))
        _invert_free_blocks(K, swept.local, swept.local_start)
        return partial(run, swept, work, NO_MEMORY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anderson(Sweeps):
    """Anderson-accelerated Gauss-Seidel, for every kind of block; helps if plain sweeps converge slowly."""

    name: ClassVar[str] = "anderson"
    memory: int = option(8, "number of earlier sweeps to mix; memory: twice as many vectors", low=1, high=100)

    def prepare(self, problem: ContactProblem, at_once: bool = False) -> Loop:
        """See the base."""
        plain = NSGS(form=self.form).prepare(problem, memory=self.memory)
        if isinstance(plain, DomainSweeps):
            return plain
        swept, work, _ = plain.args
        return partial(plain.func, swept, work, anderson.memory_of(swept, self.memory))


def first_look(problem: ContactProblem, guess: Array | None) -> float:
    """Number of sweeps before the first check: 0 with a guess, at most 4, fewer for few contacts."""
    return 0.0 if guess is not None else float(min(4, (problem.contacts + 1) // 2))


def _invert_free_blocks(K: ProductSet, local: Array, local_start: IntArray) -> None:
    """Store W_ii^-1 of free blocks behind W_ii in `local`; the pseudoinverse if W_ii is singular."""
    if K.family is not None:
        return
    for i in np.flatnonzero(K.kind == cones.FREE):
        d, first = int(K.offset[i + 1] - K.offset[i]), int(local_start[i])
        block = local[first : first + d * d].reshape(d, d)
        inverse = np.linalg.pinv(block, rcond=1e-13)
        if np.linalg.matrix_rank(block) == d:
            inverse = np.linalg.inv(block)
        local[first + d * d : first + 2 * d * d] = inverse.reshape(-1)


def _outcome(control: Array) -> tuple[Status, str]:
    """Return status and reason (maybe empty) from the state in which the sweeps ended."""
    state, sweeps = control[schedule.STATE], int(control[schedule.SWEEPS])
    if state == schedule.SOLVED:
        return Status.SOLVED, ""
    if state == schedule.NOT_FINITE:
        return Status.NOT_FINITE, ""
    if state == schedule.FIXED:
        return Status.STALLED, "a whole sweep changed nothing, but the residual is above the tolerance"
    if state == schedule.STALLED:
        still = sweeps - int(control[schedule.MARK_AT])
        return Status.STALLED, f"the residual has not fallen for {still} sweeps"
    if state == schedule.SLOW:
        return Status.MAX_ITERATIONS, f"at its rate after {sweeps} sweeps it would need more than allowed"
    if control[schedule.DRIFTS] > 0.0:
        return Status.MAX_ITERATIONS, "impulses still change at constant residual; raise max_iterations"
    return Status.MAX_ITERATIONS, ""
