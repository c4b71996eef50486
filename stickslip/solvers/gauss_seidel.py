"""Nonsmooth Gauss-Seidel (NSGS): sweep over the contacts, solve each exactly, look at the judge.

Jean & Moreau 1987, Jean 1999; the local solves are in `kernels/local.py` and `kernels/friction.py`,
others for Coulomb contacts, by the option `local`, in `kernels/one_contact.py`.
Two forms of the same method: on W in blocks, and on the velocities of bodies when the problem is
matrix-free. Both visit the contacts in their order and differ only in rounding.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.compilation.timing import Compilation
from stickslip.kernels import body_sweeps, cones, friction, gauss_seidel, one_contact, schedule
from stickslip.kernels.local import EXTRAS_3
from stickslip.kernels.residuals import MEASURES
from stickslip.options import Options, iterations_option, option, tolerance_option
from stickslip.problem.checks import Array, IntArray, ProblemError
from stickslip.problem.contact import ContactProblem
from stickslip.problem.operator import BodyDelassus
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import Problem, Solution, Status
from stickslip.solvers.certify import Attempt, certified
from stickslip.solvers.registry import Progress

CHUNK = 1_000_000
"""Visits of 3D Coulomb contacts between two calls of `progress`, a few hundredths of a second;
of others, which cost more, a fortieth of it."""
HISTORY = 512
"""Most lines kept of the history."""
RATE_FROM, RATE_NOW = [schedule.SINCE, schedule.ERROR_THEN], [schedule.SWEEPS, schedule.ERROR]
"""Where a mean rate counts from, and where a solve is: sweeps and error in its control."""

Loop = tuple[Callable[..., None], tuple[Any, ...], tuple[Any, ...]]
"""A compiled loop of sweeps, what it takes of the problem, and its work arrays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussSeidel(Options):
    """Nonsmooth Gauss-Seidel: sweeps of exact one-contact solves, for every kind of block."""

    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(20_000, "sweeps")
    relaxation: float = option(
        1.0, "step from the old impulse to the new one; below 1 damps, above 1 overshoots",
        low=0.0, high=2.0, open_low=True, open_high=True,
    )  # fmt: skip
    form: str = option(
        "auto", "sweep on W in blocks, on body velocities, or as the problem comes",
        choices=("auto", "delassus", "bodies"),
    )  # fmt: skip
    local: str = option(
        "exact",
        "one-contact solver of Coulomb contacts in 2D and 3D, on W in blocks; a contact it misses, and"
        " every other kind of block, goes to the exact one",
        choices=("exact", "projection", "newton", "quartic", "enumeration"),
    )

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem` from `guess` (zero if none); any problem, through its contact form."""
        return certified("nsgs", partial(self.attempt, progress=progress), problem, guess, self.tolerance)

    def attempt(
        self, problem: ContactProblem, guess: Array | None, tolerance: float,
        progress: Progress | None = None, *, hopeful: bool = False,
    ) -> Attempt:  # fmt: skip
        """Sweep over a contact problem; what was found, not yet certified.

        `hopeful`: give up as soon as the rate says that max_iterations will not do.
        """
        sweeps, omega = self.max_iterations, float(self.relaxation)
        return by_sweeps(self.prepare, problem, guess, tolerance, sweeps, progress, omega, hopeful=hopeful)

    def prepare(self, problem: ContactProblem) -> Loop:
        """The compiled loop, what it takes of the problem, and its work arrays.

        The loop of 3D Coulomb contacts does the rest of its preparation itself, on its first call.
        """
        K, W = problem.K, problem.W
        largest = K.dimension or int(np.diff(K.offset).max(initial=1))
        kappa, vectors = np.zeros(K.group_size.shape[0]), np.empty((5, K.size))
        bench = np.empty(bench_rows(largest))
        local_start, local = _local_storage(K)
        scales = np.empty(len(K)), np.empty(K.size), np.empty(kappa.shape[0])
        sizes = K.kind, K.offset, K.group_offset, K.group_size, K.coefficient
        exact = self.local == "exact"
        coulomb3 = K.family == (2,) and self.relaxation == 1.0 and exact
        if self.form == "bodies" and not exact:
            raise ProblemError("form='bodies' has local='exact' only; give form='auto' or 'delassus'")
        if isinstance(W, BodyDelassus) and self.form != "delassus" and exact:
            coulomb3 = coulomb3 and W.rows.shape[2] == 6
            run = body_sweeps.run_coulomb3 if coulomb3 else body_sweeps.run
            if not coulomb3:
                body_sweeps.prepare(*sizes, W.rows, local, local_start, bench[4:], *scales, vectors[0])
            bodies = np.where(W.bodies < 0, W.count, W.bodies)
            w, isotropic = np.zeros((W.count + 1, W.rows.shape[2])), np.empty((len(K), 2))
            matrix: tuple[Any, ...] = (bodies, W.rows, w, isotropic)
        elif self.form == "bodies":
            raise ProblemError(
                "form='bodies' needs a matrix-free problem: H as contact blocks over bodies"
                f" and M as body blocks; this one has {type(W).__name__}"
            )
        else:
            run = gauss_seidel.run_coulomb3 if coulomb3 else gauss_seidel.run
            if not exact:
                run = partial(one_contact.run, one_contact.METHODS.index(self.local))
            matrix = W.blocks(K).arrays[1:]
            if not coulomb3:
                gauss_seidel.prepare(*sizes, *matrix, local, local_start, bench[4:], *scales, vectors[0])
        _invert_free_blocks(K, local, local_start)
        data = (*K.arrays, *matrix, local, local_start, *scales, problem.u_free)
        return run, data, (kappa, vectors, bench)


def by_sweeps(
    prepare: Callable[[ContactProblem], Loop], problem: ContactProblem, guess: Array | None,
    tolerance: float, limit: int, progress: Progress | None, relaxation: float = 1.0,
    *, hopeful: bool = False, window: int = 0,
) -> Attempt:  # fmt: skip
    """Run a compiled loop of sweeps until the judge is satisfied, they stall, or `limit` are done.

    `hopeful`: or until their rate says that `limit` will not do. `window`: the rate may also be the mean
    over so many sweeps, up to twice as many, where the residual does not fall from each look to the next.
    """
    with Compilation() as compilation:
        start = time.perf_counter()
        r = np.zeros(problem.size)
        if guess is not None:
            cones.project(*problem.K.arrays, guess, r)
        best, control, history = r.copy(), np.zeros(schedule.SLOTS), np.empty((HISTORY, 3))
        control[schedule.STATE], control[schedule.NEXT] = schedule.NEW, first_look(problem, guess)
        control[schedule.ALLOWED] = float(limit) if hopeful else 0.0
        run, data, work = prepare(problem)
        visits = CHUNK if problem.K.family == (2,) else CHUNK // 40
        done, chunk = 0, max(1, visits // max(1, problem.contacts))
        recent = np.zeros(2)
        if window:
            chunk = min(chunk, window)
            run(*data, relaxation, tolerance, 0.0, r, best, *work, control, history)
            recent = control[RATE_FROM] = control[RATE_NOW]
        while control[schedule.STATE] <= schedule.RUNNING and done < limit:
            if window and control[schedule.SWEEPS] >= recent[0] + window:
                control[RATE_FROM], recent = recent, control[RATE_NOW]
            done = min(done + chunk, limit)
            run(*data, relaxation, tolerance, float(done), r, best, *work, control, history)
            if progress is not None:
                progress(int(control[schedule.SWEEPS]), float(control[schedule.BEST]))
        seconds = time.perf_counter() - start
    status, reason = _outcome(control)
    history = history[: int(control[schedule.CHECKS])].copy()
    sweeps = int(control[schedule.SWEEPS])
    return Attempt(best, status, sweeps, seconds - compilation.seconds, compilation.seconds, history, reason)


def first_look(problem: ContactProblem, guess: Array | None) -> float:
    """Sweeps before the first look: none on a guess, few for few contacts, which one sweep may solve."""
    return 0.0 if guess is not None else float(min(4, (problem.contacts + 1) // 2))


def bench_rows(d: int) -> tuple[int, int]:
    """Shape of the work array of the sweeps for blocks of at most d components."""
    rows, columns = friction.work_rows(d)
    return 4 + rows, max(columns, MEASURES)


def _local_storage(K: ProductSet) -> tuple[IntArray, Array]:
    """Where each block's W_ii and its extras go, and the room for them."""
    if K.family == (2,):
        start = np.arange(0, (9 + EXTRAS_3) * (len(K) + 1), 9 + EXTRAS_3)
        return start, np.empty((9 + EXTRAS_3) * len(K))
    d = np.diff(K.offset)
    extras = np.where(K.kind == cones.FREE, d * d, 0)
    cone, groups = K.kind == cones.FRICTION, np.diff(K.group_offset)
    extras[cone] = np.where((d[cone] == 3) & (groups[cone] == 1), EXTRAS_3, friction.extras(d[cone]))
    start = np.concatenate([[0], np.cumsum(d * d + extras)]).astype(np.int64)
    return start, np.zeros(start[-1])


def _invert_free_blocks(K: ProductSet, local: Array, local_start: IntArray) -> None:
    """W_ii^-1 of free blocks after their W_ii; the least-squares inverse where it is singular."""
    if K.family is not None:
        return
    for i in np.flatnonzero(K.kind == cones.FREE):
        d, at = int(K.offset[i + 1] - K.offset[i]), int(local_start[i])
        block = local[at : at + d * d].reshape(d, d)
        inverse = np.linalg.pinv(block, rcond=1e-13)
        if np.linalg.matrix_rank(block) == d:
            inverse = np.linalg.inv(block)
        local[at + d * d : at + 2 * d * d] = inverse.reshape(-1)


def _outcome(control: Array) -> tuple[Status, str]:
    """Status and, where it says more, the reason, from the state in which the sweeps ended."""
    state, sweeps = control[schedule.STATE], int(control[schedule.SWEEPS])
    if state == schedule.SOLVED:
        return Status.SOLVED, ""
    if state == schedule.NOT_FINITE:
        return Status.NOT_FINITE, ""
    if state == schedule.FIXED:
        return Status.STALLED, "a whole sweep changed nothing, yet the residual is above tolerance"
    if state == schedule.STALLED:
        still = sweeps - int(control[schedule.MARK_AT])
        return Status.STALLED, f"the residual has not fallen for {still} sweeps"
    if state == schedule.SLOW:
        return Status.MAX_ITERATIONS, f"at its rate after {sweeps} sweeps it would need more than allowed"
    if control[schedule.DRIFTS] > 0.0:
        return Status.MAX_ITERATIONS, "impulses still drift at constant residual; raise max_iterations"
    return Status.MAX_ITERATIONS, ""
