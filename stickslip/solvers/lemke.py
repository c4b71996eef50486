"""Lemke's method: complementary pivoting from a ray to a solution, or to another ray.

The problem is converted to an LCP (`box_to_lcp`). An artificial unknown z_0 with a covering vector d makes
w = M x + q + d z_0 nonnegative. Pivots that keep all pairs but one complementary reduce z_0 to zero (Lemke
1965; Cottle, Pang & Stone 1992, 4.4). The lexicographic rule (the same, 4.9) breaks ties, so that no basis
repeats. Unknowns between two bounds have d = 0. If all unknowns have two bounds, the method therefore never
ends on a ray: x would be constant along it, and only the initial ray is of that kind.

If M is copositive-plus, as positive semidefinite matrices are, a ray proves that there is no solution. The
constraints are then contradictory, and `find_certificate` finds a certificate. Otherwise a ray proves
nothing, and another covering vector may lead to a solution.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from stickslip.kernels import bases, pivoting
from stickslip.options import iterations_option, option
from stickslip.problem.box import BoxProblem
from stickslip.problem.certificate import Certificate, check_certificate
from stickslip.problem.checks import Array, IntArray, frozen
from stickslip.problem.convert import box_to_contacts, box_to_lcp
from stickslip.problem.convert.complementarity import is_monotone
from stickslip.problem.equilibration import equilibrate
from stickslip.problem.exhaustion import finished
from stickslip.problem.solution import Status
from stickslip.solvers.base import BoxSolver
from stickslip.solvers.infeasibility import find_certificate
from stickslip.solvers.watch import Watch

REFRESH = 30
"""Number of pivots after which the inverse of the basis is recomputed."""
GOLDEN = 0.6180339887498949
"""Golden ratio: its multiples modulo 1 are evenly distributed, for deterministic covering vectors."""

PROVES_NOTHING = "A is not known to be copositive-plus, so this proves nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lemke(BoxSolver):
    """Lemke's complementary pivoting with the lexicographic rule, for problems without friction."""

    name: ClassVar[str] = "lemke"
    max_iterations: int = iterations_option(20_000, "pivots in all")
    covering: str = option(
        "rows", "covering vector: ones in units of the largest entry of each row of A, or ones as they are",
        choices=("rows", "ones"),
    )  # fmt: skip
    attempts: int = option(
        8,
        "number of covering vectors to try where a ray proves nothing; later ones have entries"
        " between 1/4 and 4",
        low=1,
    )

    def iterate(self, problem: BoxProblem, guess: Array | None, watch: Watch) -> None:
        """Try covering vectors in turn, until a solution or a proof of infeasibility is found."""
        if guess is not None:
            watch.look(guess, 0)
        if not watch.goes_on:
            return
        conversion = box_to_lcp(problem)
        M = np.asarray(conversion.problem.A)
        table = _Table.scaled(M, conversion.problem.b)
        rays = reached = 0
        for k in range(self.attempts):
            # 1. Pivots with covering vector k.
            end = table.run(self._cover(table, k), watch.limit - watch.iterations, 1 if k else REFRESH)
            # 2. Solution: judged as it is, and again with its equations solved to rounding.
            if end.state == pivoting.SOLVED:
                reached += 1
                z = conversion.recover(end.x).r
                watch.look(np.clip(z, problem.lower, problem.upper), end.pivots)
                if watch.goes_on:
                    watch.look(settled(problem, z), 0)
            else:
                watch.iterations += end.pivots
                rays += end.state == pivoting.RAY
            # 3. First ray: search for a certificate of infeasibility.
            if end.state == pivoting.RAY and rays == 1:
                watch.certificate = box_certificate(problem)
                if watch.certificate is not None:
                    watch.stop(Status.INFEASIBLE, "Lemke ended on a ray")
                elif is_monotone(M):
                    watch.stop(
                        Status.STALLED,
                        "Lemke ended on a ray; A is positive semidefinite, so that there is no solution to"
                        " within rounding, but no certificate was accepted",
                    )
            if not watch.goes_on:
                return
        ended = f"Lemke ended on a ray with {rays} of {self.attempts} covering vectors"
        if reached:
            ended = f"the pivots ended at a solution, but rounding limits its error to {watch.error:.1e}"
        elif rays == self.attempts:
            ended += f"; {PROVES_NOTHING}"
        else:
            ended += "; with the others the pivots lost accuracy, so this proves nothing"
        watch.stop(Status.STALLED, ended)

    def _cover(self, table: "_Table", k: int) -> Array:
        """Return covering vector k of the scaled table, shape (n,)."""
        n = table.q.size
        cover = np.ones(n) if self.covering == "rows" else table.rows.copy()
        if k:
            cover *= np.exp2(4.0 * ((np.arange(1, n + 1) * k * GOLDEN) % 1.0) - 2.0)
        cover[table.bounds] = 0.0
        return cover


class _End(NamedTuple):
    """Result of a run of pivots."""

    state: int
    x: Array
    pivots: int


@dataclass(frozen=True, eq=False)
class _Table:
    """An LCP scaled to entries of about 1: x = columns x', w = w' / rows."""

    A: Array
    """Matrix [-], shape (n, n)."""
    q: Array
    """Constant [-], shape (n,)."""
    rows: Array
    """Scale of the rows, shape (n,)."""
    columns: Array
    """Scale of the columns, shape (n,)."""
    bounds: IntArray
    """Rows of constraints x_i <= bound, whose unknown is their multiplier, shape (count,)."""

    @classmethod
    def scaled(cls, M: Array, q: Array) -> "_Table":
        rows, columns = equilibrate(M)
        A = rows[:, None] * M * columns
        filled = A != 0.0
        only = np.flatnonzero((filled.sum(axis=1) == 1) & (filled.sum(axis=0) == 1) & (q > 0.0))
        where = np.argmax(filled[only], axis=1) if only.size else only
        upper = (A[only, where] < 0.0) & (A[where, only] > 0.0) & (where != only)
        return cls(frozen(A), frozen(rows * q), rows, columns, only[upper])

    def run(self, cover: Array, limit: int, period: int) -> _End:
        """Pivot until z_0 leaves the basis or a ray is found; refresh the inverse every `period` pivots."""
        n, q = self.q.size, self.q
        needed = np.where(cover > 0.0, -q / np.where(cover > 0.0, cover, 1.0), -np.inf)
        # 1. First pivot: z_0 enters, and the row that needs the largest z_0 leaves.
        if n == 0 or not needed.max() > 0.0:
            return _End(pivoting.SOLVED, np.zeros(n), 0)
        basis = np.arange(n)
        first = n - 1 - int(np.argmax(needed[::-1]))  # the last maximum, for lexicographically positive rows
        basis[first], entering, count = 2 * n, n + first, 1
        size = float(np.abs(q).max())
        # 2. Complementary pivots, in batches between which the inverse of the basis is recomputed.
        while count < limit:
            fresh = self._refreshed(cover, basis)
            if fresh is None:
                return _End(pivoting.BROKEN, np.zeros(n), count)
            inverse, values = fresh
            state, entering, pivots = pivoting.pivots(
                self.A, cover, inverse, values, basis, entering, min(period, limit - count), size
            )
            count += pivots
            if state == pivoting.SOLVED:
                fresh = self._refreshed(cover, basis)
                return _End(state, self._unknowns(basis, values if fresh is None else fresh[1]), count)
            if state != pivoting.LIMIT:
                return _End(state, np.zeros(n), count)
        return _End(pivoting.LIMIT, np.zeros(n), count)

    def _refreshed(self, cover: Array, basis: IntArray) -> tuple[Array, Array] | None:
        """Return inverse and values of a basis, computed from its columns; None if it is singular."""
        n = self.q.size
        B = np.empty((n, n))
        for i, variable in enumerate(basis.tolist()):
            pivoting.column(self.A, cover, variable, B[:, i])
        try:
            inverse = np.linalg.inv(B)
        except np.linalg.LinAlgError:
            return None
        values = inverse @ self.q
        values -= inverse @ (B @ values - self.q)
        return (np.ascontiguousarray(inverse), values) if np.isfinite(values).all() else None

    def _unknowns(self, basis: IntArray, values: Array) -> Array:
        """Return x in the units of the LCP, shape (n,)."""
        n = self.q.size
        x = np.zeros(n)
        in_z = (basis >= n) & (basis < 2 * n)
        x[basis[in_z] - n] = np.maximum(values[in_z], 0.0)
        return x * self.columns


def settled(problem: BoxProblem, z: Array) -> Array:
    """Return z with its active bounds exact and its equations solved to rounding, shape (n,)."""
    diagonal = np.abs(problem.A.diagonal())
    known = diagonal > 0.0
    rho = np.where(known, 1.0 / np.where(known, diagonal, 1.0), 1.0)
    moved = z - rho * problem.value(z)
    state = np.full(z.size, bases.INSIDE)
    state[moved <= problem.lower] = bases.LOWER
    state[moved >= problem.upper] = bases.UPPER
    return finished(problem, z, state)


def box_certificate(problem: BoxProblem) -> Certificate | None:
    """Return a certificate that the bounds of a box problem contradict each other, if one is found."""
    conversion = box_to_contacts(problem)
    certificate = find_certificate(conversion.problem)
    if certificate is None:
        return None
    claim = conversion.certificate(certificate)
    return claim if claim is not None and check_certificate(problem, claim).accepted else None
