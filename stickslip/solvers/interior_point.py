"""Interior point for the exact law: primal-dual on the cones, with De Saxcé's shift linearised.

With the cones scaled to mu = 1 (x = r, u with the normal components divided by mu), the law is

    y = u + |u_T| e,   u = W x + u_free,   L ∋ x ⟂ y ∈ L,

an ordinary cone complementarity problem but for the shift. The shift enters Newton's equation with its
derivative, smoothed as sqrt(|u_T|² + eps²) - eps with eps falling with the barrier: so each step
solves (C W + G) dx = rhs with C = d(y)/d(u) and G the Nesterov-Todd scaling. Predictor and corrector
after Mehrotra 1992; for lagged shifts see Acary, Cadoux, Lemaréchal & Malick 2011.
There is no proof of convergence, for the law is not monotone; it often comes near where others circle.
That is `algorithm="shift"`. The others, on cones split into Lorentz cones for every kind of block, are in
`cone_point`, the laws they solve in `cone_laws`, their traces in `cone_trace`.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels import cones, interior, jordan, newton_systems
from stickslip.linalg.front_lu import BlockLU
from stickslip.options import Options, iterations_option, option, tolerance_option
from stickslip.problem.checks import Array, ProblemError, frozen
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.operator import BlockDelassus
from stickslip.problem.solution import Problem, Solution, Status
from stickslip.solvers.certify import Attempt, certified, certified_globally
from stickslip.solvers.cone_laws import LAWS, POLISHING, Run, run
from stickslip.solvers.cone_point import ALGORITHMS
from stickslip.solvers.cone_systems import FACTORS
from stickslip.solvers.prox import ProximalNewton
from stickslip.solvers.registry import Progress
from stickslip.solvers.watch import Watch

SHORT, MOST_SHORT = 0.1, 3
"""Steps below SHORT are tried again towards the centre; MOST_SHORT of them in a row are a jam."""
CENTRING = (0.3, 0.8)
LEAST_CENTRING = 0.1
"""Least share of the barrier that a step aims at: bolder steps leave the central path."""
SHIFTABLE = frozenset(("free", "nonnegative", "coulomb2d", "coulomb3d"))
"""Blocks that the algorithm with the shift linearised takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InteriorPoint(Options):
    """Interior point on the cones, the shift linearised or the cones split as for rolling friction."""

    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(150, "interior-point steps")
    algorithm: str = option(
        "auto", "shift: the friction's shift linearised, no rolling; the others: on split cones; auto: shift"
        " where it can be, otherwise mehrotra, relaxed nt-f", choices=("auto", "shift", *ALGORITHMS),
    )  # fmt: skip
    law: str = option(
        "exact", "on split cones: relaxed; the exact law inside, or by an outer loop; or exact: inside,"
        " then outer where that fails", choices=LAWS,
    )  # fmt: skip
    steps: str = option(
        "equal", "on split cones: equal steps of velocities and impulses, or separate ones",
        choices=("equal", "separate"),
    )  # fmt: skip
    factor: str = option(
        "auto", "on split cones: factor of the Newton matrix; auto: L D L' where it is symmetric, else L U",
        choices=("auto", *FACTORS),
    )  # fmt: skip
    corrections: int = option(
        3, "most centrality corrections of an iteration of nt-qp and nt-f on convex problems; 0: none", low=0
    )
    rule: str = option(
        "fixed", "smoothing of the shift: fixed and tiny, or falling with the barrier or with its root",
        choices=("fixed", "barrier", "root"),
    )  # fmt: skip
    smoothing: float = option(
        0.1, "smoothing where it falls, relative to the barrier as a velocity", low=0.0, high=10.0
    )
    restarts: int = option(2, "times that a jammed iterate is moved back inside the cones", low=0)
    polish: int = option(40, "most proximal Newton steps at the end, for the last digits", low=0)

    def solve(
        self, problem: Problem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem`; a guess is not used, because an interior point starts in the interior."""
        if isinstance(problem, GlobalProblem) and self._algorithm(problem) != "shift":
            method = partial(run, self._settings(problem), progress=progress)
            return certified_globally(
                "ipm",
                f"algorithm={self.algorithm!r}",
                lambda p, _, tol: method(p, tol),
                problem,
                guess,
                self.tolerance,
            )
        return certified("ipm", partial(self.attempt, progress=progress), problem, guess, self.tolerance)

    def attempt(
        self, problem: ContactProblem, guess: Array | None, tolerance: float, progress: Progress | None = None
    ) -> Attempt:
        """Interior-point steps on a contact problem; what was found, not yet certified."""
        if self._algorithm(problem) != "shift":
            return run(self._settings(problem), problem, tolerance, progress)[0]
        with Watch(problem, tolerance, self.max_iterations, progress) as watch:
            if problem.size:
                self._iterate(_ConeProblem(problem), watch)
            else:
                watch.look(np.zeros(0), 0)
            if self.polish and watch.status is not Status.SOLVED:
                newton = ProximalNewton(problem, watch.best, POLISHING, tolerance, self.polish)
                while newton.advance():
                    pass
                watch.look(newton.best, newton.steps)
        return watch.attempt()

    def _algorithm(self, problem: ContactProblem | GlobalProblem) -> str:
        """The algorithm for this problem."""
        strange = sorted(set(problem.K.census) - SHIFTABLE)
        if self.algorithm == "shift" and strange:
            raise ProblemError(
                f"ipm: algorithm='shift' does not take {' or '.join(strange)} blocks; the others do:"
                f" {', '.join(ALGORITHMS)}"
            )
        if self.algorithm != "auto":
            return self.algorithm
        if not strange and self.law == "exact":
            return "shift"
        return "nt-f" if self.law == "relaxed" else "mehrotra"  # L U either way, and more digits unscaled

    def _settings(self, problem: ContactProblem | GlobalProblem) -> Run:
        factor = "" if self.factor == "auto" else self.factor
        return Run(
            self._algorithm(problem), self.law, self.steps == "separate", factor, self.restarts, self.polish,
            self.max_iterations, self.corrections,
        )  # fmt: skip

    def _iterate(self, cone: "_ConeProblem", watch: Watch) -> None:
        x, y = cone.start()
        short, restarts = 0, self.restarts
        watch.look(cone.impulses(x), 0)
        while watch.goes_on:
            u = cone.W.apply(x, cone.q)
            barrier = float(x @ y) / cone.degree
            cone.linearise(u, self._smoothing(cone, x, y, barrier))
            cone.scale(x, y)
            factor = cone.factor()
            if factor is None:
                return watch.stop(Status.STALLED, "the Newton matrix of the interior point is singular")
            watch.operations += factor.operations
            dx, dy, step = self._direction(cone, factor, x, y, barrier)
            if not step > 1e-10:
                return watch.stop(Status.STALLED, "the steps of the interior point have become too short")
            x, y = x + step * dx, y + step * dy
            short = short + 1 if step < SHORT else 0
            watch.look(cone.impulses(x))
            if short >= MOST_SHORT and watch.goes_on:
                if restarts == 0:
                    return watch.stop(Status.STALLED, "the iterates of the interior point jam at the cones")
                cone.move_inside(x, y)
                short, restarts = 0, restarts - 1

    def _smoothing(self, cone: "_ConeProblem", x: Array, y: Array, barrier: float) -> float:
        """eps of the smoothed shift [m/s]."""
        if self.rule == "fixed" or not cone.tips.size:  # free blocks alone have no shift to smooth
            return 1e-12 * float(np.abs(cone.q).max(initial=0.0))
        if self.rule == "root":
            return self.smoothing * float(np.sqrt(barrier * np.linalg.norm(y) / np.linalg.norm(x)))
        return self.smoothing * barrier / max(float(x[cone.tips].mean()), 1e-300)

    def _direction(
        self, cone: "_ConeProblem", factor: BlockLU, x: Array, y: Array, barrier: float
    ) -> tuple[Array, Array, float]:
        """Predictor and corrector, and the length of the step; towards the centre if that is short."""
        nothing = np.zeros_like(x), np.zeros_like(x), 0.0
        affine = cone.direction(factor, -cone.lam_squared(), 1.0)
        if affine is None:
            return nothing
        dx, dy = affine
        step = min(1.0, cone.longest(x, dx, y, dy))
        after = float((x + step * dx) @ (y + step * dy)) / cone.degree
        sigma = min(max((after / barrier) ** 3 if after > 0.0 else 0.0, LEAST_CENTRING), 0.9)
        target = -cone.lam_squared() - cone.corrector(dx, dy)
        target[cone.tips] += sigma * barrier
        found = cone.direction(factor, target, 1.0)
        if found is None:
            return nothing
        dx, dy = found
        step = min(1.0, 0.99 * cone.longest(x, dx, y, dy))
        if step < SHORT:
            for sigma in CENTRING:
                target = -cone.lam_squared()
                target[cone.tips] += sigma * barrier
                found = cone.direction(factor, target, 1.0 - sigma)
                if found is None:
                    continue
                length = min(1.0, 0.99 * cone.longest(x, *found[:1], y, *found[1:]))
                if length > step:
                    (dx, dy), step = found, length
                if step > 0.3:
                    break
        return dx, dy, step


class _ConeProblem:
    """A contact problem with its cones scaled to mu = 1, and the Newton system of one iterate."""

    def __init__(self, problem: ContactProblem):
        K, W = problem.K, problem.W.blocks(problem.K)
        nb, n, d = len(K), K.size, int(np.diff(K.offset).max(initial=1))
        mu = K.friction()
        with_cone, self.tips = K.kind != cones.FREE, np.zeros(0, np.int64)
        self.size = frozen(np.where(with_cone, np.where(mu > 0.0, np.diff(K.offset), 1), 0))
        """Components of the cone of each contact, shape (nb,)."""
        self.tips = K.offset[:-1][with_cone]
        """First component of each cone, shape (cones,)."""
        self.degree = max(1, self.tips.size)
        self.scale_of = np.ones(n)
        """Divides r, multiplies u [-], shape (n,)."""
        slides = (K.kind == cones.FRICTION) & (mu > 0.0)
        self.scale_of[K.offset[:-1][slides]] = 1.0 / mu[slides]
        component = np.arange(n) - np.repeat(K.offset[:-1], np.diff(K.offset))
        self.fixed = (component >= np.repeat(self.size, np.diff(K.offset))) & np.repeat(
            with_cone, np.diff(K.offset)
        )
        """Tangential components without friction, r = 0 there, shape (n,)."""
        self.offset, self._first = K.offset, K.offset[:-1]
        self.W = _scaled(W, self.scale_of)
        self.q = self.scale_of * problem.u_free
        self._lu, self._values = BlockLU(*W.arrays[:3]), np.empty(W.data.size)
        self._G, self._S, self._S_inverse, self._C = (np.zeros((nb, d, d)) for _ in range(4))
        sizes = np.diff(K.offset)
        for i in range(nb):
            self._C[i, : sizes[i], : sizes[i]] = np.eye(sizes[i])
        row, block = component[self.fixed], np.repeat(np.arange(nb), sizes)[self.fixed]
        self._C[block, row], self._G[block, row, row] = 0.0, 1.0
        self._lam, self._residual = np.zeros(n), np.zeros(n)
        self._place, self._states = np.zeros(nb, np.int64), np.ones(nb, np.int64)
        self._zero, self._rhs = np.zeros(n), np.zeros(n)

    def start(self) -> tuple[Array, Array]:
        """x, y in the middle of the cones, as large as u_free makes impulses."""
        diagonal = np.abs(self.W.diagonal())
        speed = float(np.abs(self.q).max(initial=0.0)) or 1.0
        mean = float(diagonal.mean()) or 1.0
        x, y = np.zeros(self.q.size), np.zeros(self.q.size)
        x[self.tips], y[self.tips] = speed / mean, speed
        return x, y

    def move_inside(self, x: Array, y: Array) -> None:
        """Move every contact at least as far inside its cones as the barrier is, x and y in place."""
        barrier = float(x @ y) / self.degree
        ratio = float(np.linalg.norm(x[self.tips]) / np.linalg.norm(y[self.tips]))
        for vector, least in ((x, np.sqrt(barrier * ratio)), (y, np.sqrt(barrier / ratio))):
            jordan.move_inside(self._first, self.size, vector, least)

    def impulses(self, x: Array) -> Array:
        """r of x [N s], shape (n,)."""
        return self.scale_of * x

    def linearise(self, u: Array, smoothing: float) -> None:
        """Shifted velocities and their derivative C at u."""
        self._shifted = np.empty_like(u)
        interior.shifted(self.offset, self.size, u, smoothing, self._shifted, self._C)

    def scale(self, x: Array, y: Array) -> None:
        """Nesterov-Todd scaling at x, y, and the residual of y = shifted u."""
        jordan.scale(self._first, self.size, y, x, self._G, self._S, self._S_inverse, self._lam)
        self._residual = self._shifted - y
        self._residual[self.fixed] = 0.0

    def factor(self) -> BlockLU | None:
        """Factor of C W + G."""
        newton_systems.assemble_blocks(
            self.W.arrays, self._zero, 0.0, self._zero, self._zero,
            self._G, self._C, self._states, self._place, self._values, self._rhs,
        )  # fmt: skip
        return self._lu if self._lu.refactor(self._values) else None

    def lam_squared(self) -> Array:
        """lam o lam, shape (n,)."""
        out = np.zeros_like(self._lam)
        jordan.product(self._first, self.size, self._lam, self._lam, out)
        return out

    def corrector(self, dx: Array, dy: Array) -> Array:
        """(S^-1 dx) o (S dy): Mehrotra's second-order term, shape (n,)."""
        a, b, out = (np.zeros_like(dx) for _ in range(3))
        jordan.apply(self._first, self.size, self._S_inverse, dx, a)
        jordan.apply(self._first, self.size, self._S, dy, b)
        jordan.product(self._first, self.size, a, b, out)
        return out

    def direction(self, factor: BlockLU, target: Array, share: float) -> tuple[Array, Array] | None:
        """dx, dy with lam o (S^-1 dx + S dy) = target and `share` of the residual removed."""
        xi, t, g = (np.zeros_like(target) for _ in range(3))
        jordan.divide(self._first, self.size, self._lam, target, xi)
        jordan.apply(self._first, self.size, self._S_inverse, xi, t)
        dx = factor.solve(t - share * self._residual)
        if dx is None:
            return None
        jordan.apply(self._first, self.size, self._G, dx, g)
        return dx, t - g

    def longest(self, x: Array, dx: Array, y: Array, dy: Array) -> float:
        """Longest step that keeps x and y in the cones."""
        return float(
            min(
                jordan.longest_step(self._first, self.size, x, dx),
                jordan.longest_step(self._first, self.size, y, dy),
            )
        )


def _scaled(W: BlockDelassus, scale: Array) -> BlockDelassus:
    """diag(scale) W diag(scale), in the same blocks."""
    offset, row_start, column, data_start, data = W.arrays
    sizes = np.diff(offset)
    row = np.repeat(np.arange(sizes.size), np.diff(row_start))
    block = np.repeat(np.arange(column.size), np.diff(data_start))
    inside = np.arange(data.size) - data_start[block]
    width = sizes[column][block]
    left = scale[offset[row][block] + inside // width]
    right = scale[offset[column][block] + inside % width]
    return BlockDelassus(offset, row_start, column, data_start, left * data * right)
