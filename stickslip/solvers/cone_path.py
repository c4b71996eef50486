"""Where Newton's method begins when it has failed from sweeps: starts from inside the cones.

`relaxed_centre`: without De Saxcé's shift the problem is convex, its central path has no folds, and an
interior point follows it in ten to twenty-five steps, whatever the ratios of masses. Its last iterates are in
the middle of all impulses that solve the relaxation. It is a start and no more: where something slides the
relaxation is another law, and its impulses lean to large ones.

`follow_path`: the central path of the exact law, followed by arc length through its folds.

    M v = f + H r,   J y = H' v + w + s(y) e_N,   y o z = tau e,   z = J' r,   s(y) = sum_k |y_k|² / y_k0

for the cones y_k of a contact (`cone_split`). This s is smooth inside the cones, and De Saxcé's shift at
tau = 0. With a shift the path may fold: tau has to rise for a while before it falls again, and Newton's
method at smaller and smaller tau ends at the first fold. So the path is followed by its length (Allgower &
Georg 2003, ch. 6), in the metric of the scaled cones and of log tau: predictor along the tangent, corrector
across it. Which way is on is told by the determinant of Newton's matrix, from its pivots: tau falls where its
sign is that of the beginning, and rises elsewhere; angles between tangents mislead at sharp corners.
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
"""Of the relaxation: barrier at the end, as a share of the first (further on, rounding costs the centre),
most steps (problems of the standard collection and of benchmarks/hard.py took 8 to 25), and most centrality
corrections of one."""
END = 1e-8
"""Barrier at the end of the path, as a share of the first; Newton's method goes on from there."""
RISE = 3.0
"""Where the barrier has risen to so many times the first, the path has turned back."""
ONTO, LARGER = 20, (1.0, 10.0, 100.0)
"""Most Newton steps onto the path, and how many times the first sizes y and z have where they fail: far
inside the cones the shift counts for little."""
FIRST, LONGEST, SHORTEST = 0.5, 4.0, 1e-5
"""Lengths of steps along the path: the first, the longest, and the one below which it is given up."""
LONGER, SHORTER = 1.6, 0.4
"""Factors of the length after a step that was corrected in two rounds at most, and after one that failed."""
ROUNDS, CLOSE = 5, 0.05
"""Most corrections of a step, and the length of the last one."""
STRAIGHT, TINY_STEP = 0.8, 2e-3
"""Least cosine of the tangents at both ends of a step; shorter steps than TINY_STEP may turn more."""
ROOM, NEWTON_ROOM = 1.2, 1.05
"""How far the border of the cones has to be, in steps, before and during corrections."""
STIFFNESS = 10.0
"""Of the penalty that tells how large impulses may be, times 1 / W_ii: with heavy bodies among light ones the
free motion says too little of that."""
DAMPING = 0.9
"""Share of the way to the border of the steps onto the path."""


class Place(NamedTuple):
    """An iterate: v, r, y, z of the cones, and the barrier tau [J]."""

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
    """A point to begin at."""

    name: str
    """Of the stage."""
    r: Array
    """Impulses [N s], shape (n,)."""
    factors: int
    """Factorisations made."""
    operations: float
    """Multiplications of the factorisations."""
    folds: int = 0
    """Changes of the sign of the determinant that were met on the path."""
    barrier: float = 0.0
    """The last barrier of the path as a share of the first [-]."""


def relaxed_centre(problem: ContactProblem) -> Start:
    """The last iterate of an interior point on the relaxation of a problem with friction."""
    form = motion(over_bodies(problem))
    factor = "cholesky" if isinstance(form, BodyMotion) else ""
    point, steps = ConePoint(form, "nt-f", factor=factor, corrections=CORRECTIONS), 0
    end = CENTRE * point.kappa
    while point.kappa > end and steps < MOST:
        if isinstance(point.advance(), str):  # rounding: as near as it goes
            break
        steps += 1
    return Start("ipm", point.answer().r, steps, point.system.operations)


def follow_path(problem: ContactProblem, most: int) -> Start:
    """The end of the path of a problem with friction, after at most so many factorisations, about."""
    path = _Path(problem)
    path.follow(most)
    r, work = path.point.answer().r, path.point.system.operations
    return Start("path", r, path.factors, work, path.folds, path.barrier)


class _Path:
    """A point on the path, and what is known of it."""

    def __init__(self, problem: ContactProblem):
        self.point = ConePoint(
            motion(over_bodies(problem)), "nt-f", inside=True, factor="lu", fallback=False, smooth=True
        )
        self.split = self.point.form.split
        self.count = max(1, self.split.size.size)
        speed, impulse = start_sizes(self.point.form, self.point.v, True)
        self.sizes = speed, max(impulse, self.point.penalty(STIFFNESS))
        """Of velocities and impulses [m/s, N s]."""
        self.factors = self.folds = 0
        self._begin(1.0)
        self.end = END * self.first
        """Barrier at which the path is at its end [J]."""

    @property
    def barrier(self) -> float:
        """As a share of the first at the sizes of the problem [-]."""
        return self.tau / self.end * END if self.end > 0.0 else np.nan

    def _begin(self, times: float) -> None:
        """Put the point in the middle of the cones, so many times as far as the sizes say."""
        speed, impulse = self.sizes
        self.point.begin(times * speed, times * impulse)
        self.tau = self.first = 2.0 * self.point.kappa

    def follow(self, most: int) -> None:
        """Go along the path until its end, or as far as it goes."""
        if not (0.0 < self.end < np.inf and self._start()):
            return
        reference, h, sign = self.point.system.sign(), FIRST, 1.0
        along = self._tangent()
        while self.factors < most and self.end < self.tau < RISE * self.first:
            # 1. which way is on
            new = reference * self.point.system.sign()
            if new == 0.0:
                return
            self.folds, sign = self.folds + (new != sign), new
            # 2. a step along the tangent and back onto the path, shorter until it is good
            here, made = self._place(), None
            while made is None:
                made = self._step(here, along, -sign, h)
                if made is None:
                    h *= SHORTER
                    self._put(here)
                    if h < SHORTEST or not self._factor():
                        return
            along, rounds = made
            h = min(h * (LONGER if rounds <= 2 else 1.0), LONGEST)

    def _start(self) -> bool:
        """Whether Newton's steps went onto the path, at the first barrier or at a larger one."""
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
        """The tangent after a step of length h, and the corrections it took; None where it failed.

        along: the change with log tau; way: -1 where tau falls.
        """
        x = self._unit(along)
        norm = float(np.sqrt(x @ x + 1.0))
        ahead, rate = Direction(*(part * (way / norm) for part in along)), way / norm
        if self._reach(Direction(*(h * part for part in ahead))) < ROOM:
            return None
        t = self._unit(ahead)
        self._move(ahead, h)
        self.tau = here.tau * float(np.exp(h * rate))
        for rounds in range(1, ROUNDS + 1):
            if not self._factor():
                return None
            newton, new = self._newton(), self._tangent()
            a, b = self._unit(newton), self._unit(new)
            # The correction stays across the predictor: t (a + change b) + rate change = 0.
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
        """Newton's step to y o z = tau e."""
        return Direction(*self.point.direction(self.tau))

    def _tangent(self) -> Direction:
        """The change of the path with log tau."""
        one, two = self.point.direction(self.tau, 0.0), self.point.direction(2.0 * self.tau, 0.0)
        return Direction(*(b - a for a, b in zip(one, two, strict=True)))

    def _unit(self, step: Direction) -> Array:
        """A change of y and z in the scaled cones, where all contacts count alike, shape (2 entries,)."""
        start, size, scaling = self.split.start, self.split.size, self.point.scaling
        out = np.empty((2, step.y.size))
        jordan.apply(start, size, scaling.F, step.y, out[0])
        jordan.apply(start, size, scaling.F_inverse, step.z, out[1])
        return out.reshape(-1) / np.sqrt(self.tau * self.count)

    def _reach(self, step: Direction) -> float:
        """How many times the step may be made within the cones."""
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
