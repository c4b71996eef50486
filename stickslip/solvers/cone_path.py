"""Starting points inside the cones, for Newton's method after it has failed from the result of sweeps.

`relaxed_centre`: without De Saxcé's shift the problem is convex and its central path has no folds. An
interior point follows it in ten to twenty-five steps, whatever the mass ratios. Its last iterates are near
the centre of all impulses that solve the relaxation. They are only a starting point: for sliding contacts the
relaxation is another law, and its impulses tend to be large.

`follow_path`: the central path of the exact law, followed by arc length through its folds.

    M v = f + H r,   J y = H' v + w + s(y) e_N,   y o z = tau e,   z = J' r,   s(y) = sum_k |y_k|² / y_k0

for the cones y_k of a contact (`cone_split`). This s is smooth inside the cones, and equals De Saxcé's shift
at tau = 0. With a shift the path may fold: tau must rise for a while before it falls again, and Newton's
method with decreasing tau ends at the first fold. The path is therefore followed by its arc length (Allgower
& Georg 2003, ch. 6), in the metric of the scaled cones and of log tau, with a predictor along the tangent and
a corrector orthogonal to it. The direction along the path follows from the sign of the determinant of
Newton's matrix, computed from its pivots: tau falls if the sign is that at the start, and rises otherwise.
Angles between tangents are not reliable at sharp corners.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels import jordan
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem
from stickslip.problem.convert.bodies import over_bodies
from stickslip.solvers.cone_motion import BodyMotion, motion, start_sizes
from stickslip.solvers.cone_point import ConePoint

CENTRE, MOST, CORRECTIONS = 1e-7, 45, 3
"""Interior point on the relaxation: final barrier as a fraction of the first (a smaller one loses the centre
to rounding), largest number of steps (the standard collection and benchmarks/hard.py needed 8 to 25), and
largest number of centrality corrections per step."""
END = 1e-8
"""Final barrier of the path as a fraction of the first; Newton's method continues from there."""
RISE = 3.0
"""Rise of the barrier over the first at which the path has turned back and is abandoned."""
ONTO, LARGER = 20, (1.0, 10.0, 100.0)
"""Largest number of Newton steps onto the path, and factors on the initial sizes of y and z, tried in turn:
far inside the cones the shift has little influence."""
FIRST, LONGEST, SHORTEST = 0.5, 4.0, 1e-5
"""Step lengths along the path: the first, the largest, and the smallest before it is abandoned."""
LONGER, SHORTER = 1.6, 0.4
"""Factors of the step length after a step with at most two corrections, and after a failed one."""
ROUNDS, CLOSE = 5, 0.05
"""Largest number of corrections of a step, and length of a correction at which they have converged."""
STRAIGHT, TINY_STEP = 0.8, 2e-3
"""Smallest cosine of the tangents at both ends of a step; steps of at most TINY_STEP may turn more."""
ROOM, NEWTON_ROOM = 1.2, 1.05
"""Smallest distance to the boundary of the cones, in steps, for a predictor and for a correction."""
STIFFNESS = 10.0
"""Stiffness, times 1 / W_ii, of the penalty that estimates the size of impulses. The free motion
underestimates it if heavy bodies are among light ones."""
DAMPING = 0.9
"""Fraction of the distance to the boundary for Newton steps onto the path."""


class Place(NamedTuple):
    """An iterate: v, r, y and z of the cones, and the barrier tau [J]."""

    v: Array
    r: Array
    y: Array
    z: Array
    tau: float


class Direction(NamedTuple):
    """Changes of v, r, y and z."""

    v: Array
    r: Array
    y: Array
    z: Array


class Start(NamedTuple):
    """Starting point for Newton's method."""

    name: str
    """Name of the stage."""
    r: Array
    """Impulses [N s], shape (n,)."""
    factors: int
    """Number of factorisations."""
    operations: float
    """Number of multiplications of the factorisations."""
    folds: int = 0
    """Number of sign changes of the determinant along the path."""
    barrier: float = 0.0
    """Last barrier of the path as a fraction of the first [-]."""


def relaxed_centre(problem: ContactProblem) -> Start:
    """Return the last iterate of an interior point on the relaxation of a problem with friction."""
    form = motion(over_bodies(problem))
    factor = "cholesky" if isinstance(form, BodyMotion) else ""
    point, steps = ConePoint(form, "nt-f", factor=factor, corrections=CORRECTIONS), 0
    end = CENTRE * point.kappa
    while point.kappa > end and steps < MOST:
        if isinstance(point.advance(), str):  # rounding prevents further steps
            break
        steps += 1
    return Start("ipm", point.answer().r, steps, point.system.operations)


def follow_path(problem: ContactProblem, most: int) -> Start:
    """Return the end of the path of a problem with friction, after at most about `most` factorisations."""
    path = _Path(problem)
    path.follow(most)
    r, work = path.point.answer().r, path.point.system.operations
    return Start("path", r, path.factors, work, path.folds, path.barrier)


class _Path:
    """Point on the path, with the counters of the continuation."""

    def __init__(self, problem: ContactProblem):
        self.point = ConePoint(
            motion(over_bodies(problem)), "nt-f", inside=True, factor="lu", fallback=False, smooth=True
        )
        self.split = self.point.form.split
        self.count = max(1, self.split.size.size)
        speed, impulse = start_sizes(self.point.form, self.point.v, True)
        self.sizes = speed, max(impulse, self.point.penalty(STIFFNESS))
        """Scales of velocities and impulses [m/s, N s]."""
        self.factors = self.folds = 0
        self._begin(1.0)
        self.end = END * self.first
        """Barrier at the end of the path [J]."""

    @property
    def barrier(self) -> float:
        """Barrier as a fraction of the first one at the scales of the problem [-]."""
        return self.tau / self.end * END if self.end > 0.0 else np.nan

    def _begin(self, times: float) -> None:
        """Set the point to the centre of the cones, at `times` the scales of the problem."""
        speed, impulse = self.sizes
        self.point.begin(times * speed, times * impulse)
        self.tau = self.first = 2.0 * self.point.kappa

    def follow(self, most: int) -> None:
        """Follow the path to its end, or as far as possible."""
        if not (0.0 < self.end < np.inf and self._start()):
            return
        reference, h, sign = self.point.system.sign(), FIRST, 1.0
        along = self._tangent()
        while self.factors < most and self.end < self.tau < RISE * self.first:
            # 1. Direction along the path, from the sign of the determinant.
            new = reference * self.point.system.sign()
            if new == 0.0:
                return
            self.folds, sign = self.folds + (new != sign), new
            # 2. Predictor and corrector, with shorter steps until they succeed.
            here, result = self._place(), None
            while result is None:
                result = self._step(here, along, -sign, h)
                if result is None:
                    h *= SHORTER
                    self._put(here)
                    if h < SHORTEST or not self._factor():
                        return
            along, rounds = result
            h = min(h * (LONGER if rounds <= 2 else 1.0), LONGEST)

    def _start(self) -> bool:
        """Make Newton steps onto the path at the first or a larger barrier; return whether they converge."""
        for times in LARGER:
            self._begin(times)
            for _ in range(ONTO):
                if not self._factor():
                    break
                step = self._newton()
                size = float(np.linalg.norm(self._unit(step)))
                self._move(step, min(1.0, DAMPING * self._reach(step)))
                if size < CLOSE:
                    return self._factor()
        return False

    def _step(self, here: Place, along: Direction, way: float, h: float) -> tuple[Direction, int] | None:
        """Make a step of length h; return the new tangent and the number of corrections, None if it failed.

        along: tangent, as the change with log tau; way: -1 for falling, 1 for rising tau.
        """
        # 1. Predictor along the normalised tangent.
        x = self._unit(along)
        norm = float(np.sqrt(x @ x + 1.0))
        ahead, rate = Direction(*(part * (way / norm) for part in along)), way / norm
        if self._reach(Direction(*(h * part for part in ahead))) < ROOM:
            return None
        t = self._unit(ahead)
        self._move(ahead, h)
        self.tau = here.tau * float(np.exp(h * rate))
        # 2. Newton corrections orthogonal to the predictor: t (a + change b) + rate change = 0.
        for rounds in range(1, ROUNDS + 1):
            if not self._factor():
                return None
            newton, new = self._newton(), self._tangent()
            a, b = self._unit(newton), self._unit(new)
            slope = float(t @ b) + rate
            change = float(np.clip(-float(t @ a) / slope, -1.0, 1.0)) if abs(slope) > 1e-14 else 0.0
            step = Direction(*(p + change * q for p, q in zip(newton, new, strict=True)))
            size = float(np.linalg.norm(self._unit(step)))
            if not size < np.inf or self._reach(step) < NEWTON_ROOM:
                return None
            self._move(step, 1.0)
            self.tau *= float(np.exp(change))
            if size < CLOSE:
                cosine = abs(slope) / float(np.sqrt((b @ b + 1.0) * (t @ t + rate * rate)))
                return (new, rounds) if cosine >= STRAIGHT or h <= TINY_STEP else None
        return None

    def _factor(self) -> bool:
        self.factors += 1
        return not self.point.factor()

    def _newton(self) -> Direction:
        """Return Newton's step to y o z = tau e."""
        return Direction(*self.point.direction(self.tau))

    def _tangent(self) -> Direction:
        """Return the tangent of the path, as the change with log tau."""
        at_tau, at_double = self.point.direction(self.tau, 0.0), self.point.direction(2.0 * self.tau, 0.0)
        return Direction(*(b - a for a, b in zip(at_tau, at_double, strict=True)))

    def _unit(self, step: Direction) -> Array:
        """Return a change of y and z in the scaled cones (all contacts count alike), shape (2 entries,)."""
        start, size, scaling = self.split.start, self.split.size, self.point.scaling
        out = np.empty((2, step.y.size))
        jordan.apply(start, size, scaling.F, step.y, out[0])
        jordan.apply(start, size, scaling.F_inverse, step.z, out[1])
        return out.reshape(-1) / np.sqrt(self.tau * self.count)

    def _reach(self, step: Direction) -> float:
        """Return the largest multiple of the step that stays inside the cones."""
        start, size, point = self.split.start, self.split.size, self.point
        y, z = (
            jordan.longest_step(start, size, point.y, step.y),
            jordan.longest_step(start, size, point.z, step.z),
        )
        return float(min(y, z))

    def _move(self, step: Direction, length: float) -> None:
        point = self.point
        point.place(point.v + length * step.v, point.r + length * step.r, point.y + length * step.y)

    def _place(self) -> Place:
        point = self.point
        return Place(point.v, point.r, point.y, point.z, self.tau)

    def _put(self, here: Place) -> None:
        self.point.place(here.v, here.r, here.y)
        self.tau = here.tau
