"""Interior-point method on split cones: the four algorithms of Nguyen 2021, extended to the exact law.

    M v = f + H r,   J y = H' v + w + s e_N,   y o z = 2 sigma kappa e,   z = J' r

for the cones of `cone_split`. `simple` makes Newton steps on these equations, with a fixed sigma. `mehrotra`
adds a predictor and a corrector. `nt-qp` and `nt-f` use Nesterov-Todd scaling, by Q_p and by F. kappa = y'z /
(2 cones), so that y o z = 2 kappa e on the central path. With s = 0 it is the convex relaxation. The exact
law has s = sum_k mu_k |u_k| (3), computed from y at every iteration ("inside"): with its derivative in the
Newton matrix, which is then unsymmetric, or without it, which keeps L D L'. `shift` is `nt-f` with a smoothed
s computed from u = H' v + w. Its convergence is not proved, because the law is not monotone, but it often
comes close to a solution where the others do not.
"""

from dataclasses import dataclass

import numpy as np

from stickslip.kernels import cone_point as kernels
from stickslip.kernels import jordan
from stickslip.names import alternatives
from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.convert import Answer
from stickslip.solvers.cone_motion import Motion, start_sizes
from stickslip.solvers.cone_split import start_of
from stickslip.solvers.cone_systems import System

ALGORITHMS = ("simple", "mehrotra", "nt-qp", "nt-f")
SHIFT = "shift"
SCALING = {
    "simple": kernels.PLAIN,
    "mehrotra": kernels.PLAIN,
    "nt-qp": kernels.BY_POINT,
    "nt-f": kernels.BY_F,
}
SCALING[SHIFT] = kernels.BY_F
SIGMA = 0.6
"""Centring of the simple algorithm (Nguyen 2021, 2.1.1)."""
DAMPING = 0.99
"""Fraction of the distance to the boundary for steps of `simple` and `shift`."""
EXPONENT = 2.0
"""Exponent of the ratio of gaps in sigma: SDPT3 (Toh, Todd & Tütüncü 1999) has 1 to 3, with little effect."""
BOLD_EXPONENT = 3.0
"""Exponent with centrality corrections, which compensate for less centring, and for `shift`."""
EXPONENTS = ("auto", "1", "2", "3", "late", "early")
"""Rules for the exponent: auto, a constant, or one that depends on the step of the predictor."""
LATE, EARLY = 1e-5, 1e-6
"""Fractions of the first barrier below which `late`, and above which `early`, use the predictor's step."""
LEAST_CENTRING = 0.1
"""Smallest sigma under the exact law: with less centring, steps leave the path, as the law is not convex."""
SHORT, FAR, CENTRING = 0.1, 0.3, (0.3, 0.8)
"""Under the exact law, steps shorter than SHORT are repeated with these sigma until they reach FAR."""
FURTHER, WORTH, LONG, LEAST = 0.3, 0.1, 0.99, 0.5
"""Centrality corrections aim at a step longer by FURTHER, with eigenvalues of LEAST times the barrier.
Another one follows if the last gained WORTH of that, and the step is shorter than LONG."""
WEIGHTS = (1.0, 0.7, 0.4)
"""Weights of a correction that are tried."""
BACKTRACK = 0.8
"""Factor on a step that leaves the cones by rounding."""
LOST = 1e-12
"""Growth of |M v - f - H r| over its first value at which a step is rejected: equal steps must reduce it."""
SHORTEST = 1e-10
"""Step length below which the iteration has stalled."""
TINY = 1e-12
"""Smoothing of `shift`, as a fraction of the largest velocity at rest."""
Direction = tuple[Array, Array, Array, Array]
"""Changes dv, dr, dy, dz."""


@dataclass(frozen=True)
class Step:
    """Data of one iteration."""

    sigma: float
    """Centring parameter."""
    alpha_p: float
    """Length of the step of v and y."""
    alpha_d: float
    """Length of the step of r."""


class ConePoint:
    """Iterate of one algorithm on one problem, and its steps."""

    def __init__(
        self, form: Motion, algorithm: str, *, inside: bool = False, separate: bool = False,
        factor: str = "", corrections: int = 0, fallback: bool = True,
        exponent: str = "auto", smooth: bool = False,
    ):  # fmt: skip
        """Start at the free motion.

        `inside`: update s of the exact law at every iteration; `separate`: separate step lengths for (v, y)
        and for r; `corrections`: largest number of centrality corrections of an iteration, on scaled convex
        problems; `fallback`: see `System`; `exponent`: one of EXPONENTS; `smooth`: use |y_T|² / y_0 of each
        cone for s, which has a derivative.
        """
        if algorithm not in SCALING:
            raise ProblemError(f"algorithm is {algorithm!r}; {alternatives(algorithm, ALGORITHMS)}")
        self.form, self.algorithm, self.separate, self.exponent = form, algorithm, separate, exponent
        self.inside = inside or algorithm == SHIFT
        cones, kind = form.split, SCALING[algorithm]
        symmetric = kind != kernels.PLAIN
        chosen = factor or ("ldl" if symmetric and not self.inside else "lu")
        if chosen != "lu" and not symmetric:
            raise ProblemError(f"algorithm {algorithm!r} has an unsymmetric matrix: factor must be 'lu'")
        self.system = System(form, chosen, fallback)
        count, entries, width = cones.size.size, cones.place.size, int(cones.size.max(initial=1))
        G, F, F_inverse = (np.zeros((count, width, width)) for _ in range(3))
        self.scaling = kernels.Scaling(kind, G, F, F_inverse, np.zeros(entries), np.zeros((3, entries)))
        self._split, self._scaling = tuple(cones), tuple(self.scaling)
        self._cones, self._count = (cones.start, cones.size), max(1, count)
        self._corrections = corrections if symmetric and not self.inside else 0
        self._D = np.zeros(int((np.diff(cones.offset) ** 2).sum()))
        """Blocks J G J', or their roots if the system uses roots, flat."""
        if self.system.rooted:
            entries_most = int(np.diff(np.append(cones.start, entries)[cones.cone_start]).max(initial=1))
            self._root_work = np.zeros((entries_most, int(np.diff(cones.offset).max(initial=1))))
        self._length = 0.0, 0.0, 0.0
        """Largest steps of y and z along the last direction, and the gap after steps of at most 1."""
        self.shift = np.zeros(cones.block.size)
        """s of each contact, scaled as u_N [m/s], shape (contacts,)."""
        self._slope = np.zeros(entries)
        self._sloping = self.inside and chosen == "lu"
        of = kernels.OF_U if algorithm == SHIFT else kernels.OF_Y
        self._shift_of = of if self._sloping else kernels.NO_SHIFT
        self._smooth = smooth
        self._tiny = TINY * float(np.abs(form.w).max(initial=0.0))
        self._tip = cones.offset[:-1]
        self.start()

    def start(self) -> None:
        """Start at the free motion, with y and z at the centre of the cones, at the scales of the problem."""
        self.begin(*start_sizes(self.form, self.form.free(), self.algorithm == SHIFT))

    def begin(self, speed: float, impulse: float) -> None:
        """Set v to the free motion, and y and z to the centre of the cones at these scales [m/s, N s]."""
        form, cones = self.form, self.form.split
        self.v = form.free()
        self.r = start_of(cones, np.full(cones.kept.size, impulse))
        self.y = np.zeros(cones.place.size)
        self.y[cones.start] = speed
        self.z = self._slack()
        self.shift[:] = 0.0
        self._look()
        self._first, self._first_kappa = float(np.linalg.norm(self.dual)), self.kappa

    def _slack(self) -> Array:
        """Return J' r + constant, shape (entries,)."""
        cones = self.form.split
        return np.asarray(cones.sign * self.r[cones.place] + cones.constant)

    def gathered(self, y: Array) -> Array:
        """Return J y, shape (n,)."""
        cones = self.form.split
        return np.bincount(cones.place, cones.sign * y, cones.kept.size).astype(float, copy=False)

    @property
    def kappa(self) -> float:
        """Barrier y'z / (2 cones) [J]."""
        return self.gap / (2.0 * self._count)

    def _look(self) -> None:
        """Compute the residuals, the gap and, under the exact law, s at the iterate."""
        self.dual, self.u = self.form.residuals(self.v, self.r)  # M v - f - H r, and u = H' v + w + s e_N
        self.gap = float(self.y @ self.z)
        if self.inside:
            self.follow()
        self.u[self._tip] += self.shift

    def follow(self) -> None:
        """Update s <- sum_k mu_k |u_k| at the iterate."""
        cones, y, eps = self.form.split, self.y, 0.0
        if self._smooth:
            kernels.smooth_slip(self._split, y, self.shift, self._slope)
            return
        if self.algorithm == SHIFT:
            y, eps = self.u[cones.place], self._tiny
        kernels.slip(self._split, y, eps, self.shift, self._slope)

    def take(self, other: "ConePoint") -> None:
        """Continue from the iterate of another algorithm on the same problem, moved inside the cones."""
        self.v, self.r, self.y, self.z = (x.copy() for x in (other.v, other.r, other.y, other.z))
        self.shift[:] = other.shift
        self._look()
        self.move_inside()

    def follow_held(self) -> float:
        """Fix s = sum_k mu_k |u_k| of the iterate; return the barrier [J] that corresponds to its change.

        If that exceeds the current barrier, the iterate is moved further inside its cones.
        """
        before = self.shift.copy()
        self.follow()
        change = np.abs(self.shift - before) @ np.abs(self.r[self._tip])
        worth = float(change) / (2.0 * self._count)
        self._look()
        if worth > self.kappa:
            self.move_inside(worth / self.kappa)
        return worth

    def move_inside(self, share: float = 1.0) -> None:
        """Move y and z inside their cones, at least to a distance of `share` times the barrier."""
        cones = self.form.split
        if not cones.size.size:
            return
        barrier = max(2.0 * share * self.kappa, 1e-300)
        ratio = float(np.linalg.norm(self.z[cones.start]) / np.linalg.norm(self.y[cones.start]))
        jordan.move_inside(*self._cones, self.y, np.sqrt(barrier / ratio))
        raised = self.z.copy()
        jordan.move_inside(*self._cones, raised, np.sqrt(barrier * ratio))
        lift = np.zeros_like(self.r)
        bounded = np.isin(cones.place, cones.place[cones.sign < 0.0])
        tips = cones.start[~bounded[cones.start]]
        np.maximum.at(lift, cones.place[tips], (raised - self.z)[tips])
        self.r += lift
        self.z = self._slack()
        self._look()

    def place(self, v: Array, r: Array, y: Array) -> None:
        """Set the iterate; z is computed from r."""
        self.v, self.r, self.y = v, r, y
        self.z = self._slack()
        self._look()

    def direction(self, barrier: float, share: float = 1.0) -> "Direction":
        """Return dv, dr, dy, dz for y o z = barrier e, after `factor`; share: part of residuals removed."""
        return self._direction(barrier, share=share)

    def penalty(self, stiffness: float) -> float:
        """Return the largest impulse [N s] of compliant contacts: the law replaced by `stiffness` / W_ii."""
        form = self.form
        D, start = np.zeros(self._D.size), 0
        for i, d in enumerate(np.diff(form.split.offset).tolist()):
            first = form.split.offset[i]
            D[start : start + d * d : d + 1] = form.diagonal[first : first + d] / stiffness
            start += d * d
        if self.system.factor(D):
            return 0.0
        _, r = self.system.solve(form.f, -form.w)
        largest = float(np.abs(r).max(initial=0.0))
        return largest if np.isfinite(largest) else 0.0

    def factor(self) -> str:
        """Scale the cones and factor the Newton matrix; return the reason of a failure, or ""."""
        kernels.scale(self._scaling, self._split, self.y, self.z)
        if self.system.rooted:
            kernels.roots(self._split, self.scaling.F_inverse, self._D, self._root_work)
        else:
            kernels.contact_blocks(self._split, self.scaling.G, self._slope, self._sloping, self._D)
        if not np.isfinite(self._D @ self._D):
            return "the scaling of the cones overflows: the iterate is at their boundary to rounding"
        return self.system.factor(self._D)

    def advance(self) -> Step | str:
        """Make one iteration; return its data, or the reason why it failed."""
        # 1. Scaling and factorisation.
        failure = self.factor()
        if failure:
            return failure
        # 2. Direction: damped Newton, or predictor and corrector.
        if self.algorithm == "simple":
            sigma, gamma = SIGMA, DAMPING
            direction = self._direction(2.0 * sigma * self.kappa)
        else:
            sigma, gamma, direction = self._predicted()
        if self._sloping and gamma * min(self._length[:2]) < SHORT:
            sigma, direction = self._centred(sigma, direction)
        # 3. Step lengths to the boundary of the cones.
        dv, dr, dy = direction[:3]
        alpha_p, alpha_d = (min(1.0, gamma * length) for length in self._length[:2])
        if not self.separate:
            alpha_p = alpha_d = min(alpha_p, alpha_d)
        if not np.isfinite(dv @ dv + dr @ dr + dy @ dy):
            return "the Newton step is not finite"
        return self._move(sigma, alpha_p, alpha_d, dv, dr, dy)

    def _predicted(self) -> tuple[float, float, "Direction"]:
        """Return sigma, damping and direction after Mehrotra 1992: the predictor determines sigma."""
        affine = self._direction(0.0)
        shorter = min(1.0, *self._length[:2])
        after = max(self._length[2], 0.0) / (2.0 * self._count)
        shift = self.algorithm == SHIFT
        exponent = self._exponent(shorter)
        sigma = min(1.0, (after / self.kappa) ** exponent) if self.kappa > 0.0 else 0.0
        if self._sloping:
            sigma = min(max(sigma, LEAST_CENTRING), 0.9)
        barrier = 2.0 * sigma * self.kappa
        direction = self._corrected(barrier, self._direction(barrier, affine[2:]))
        return sigma, DAMPING if shift else 0.9 + 0.09 * shorter, direction

    def _exponent(self, alpha: float) -> float:
        """Return e of sigma = (mu_a / mu)^e; alpha is the step length of the predictor.

        `late` (Nguyen 2021, algorithms 2 and 3): max(1, 3 alpha) once the barrier is small, else 1.
        `early` (SDPT3): max(1, 3 alpha²) while the barrier is large, else 1.
        """
        if self.exponent == "auto":
            return BOLD_EXPONENT if self._corrections or self.algorithm == SHIFT else EXPONENT
        share = self.kappa / self._first_kappa if self._first_kappa > 0.0 else 0.0
        if self.exponent == "late":
            return max(1.0, 3.0 * alpha) if share < LATE else 1.0
        if self.exponent == "early":
            return max(1.0, 3.0 * alpha * alpha) if share > EARLY else 1.0
        return float(self.exponent)

    def _centred(self, sigma: float, direction: "Direction") -> tuple[float, "Direction"]:
        """Replace a short direction by one with more centring if that permits a longer step."""
        for other in CENTRING:
            length = self._length
            share = 1.0 - other if self.algorithm == SHIFT else 1.0
            trial = self._direction(2.0 * other * self.kappa, share=share)
            if min(self._length[:2]) > min(length[:2]):
                sigma, direction = other, trial
            else:
                self._length = length
            if min(self._length[:2]) > FAR:
                break
        return sigma, direction

    def _direction(
        self, barrier: float, affine: tuple[Array, Array] | None = None, share: float = 1.0
    ) -> "Direction":
        """Return dv, dr, dy, dz for y o z = barrier e, with the second-order term of `affine` if given.

        share: fraction of the residuals of the equations that the step removes.
        """
        t, b_r = np.empty(self.y.size), np.empty(self.r.size)
        point, second_order = (self.y, self.z, self.u, self._slope), affine or (self.y, self.z)
        aim = barrier, affine is not None, share, self._shift_of
        kernels.right_side(self._scaling, self._split, point, second_order, aim, t, b_r)
        dv, dr = self.system.solve(-share * self.dual, b_r)
        return dv, dr, *self._steps(t, dr)

    def _steps(self, t: Array, dr: Array) -> tuple[Array, Array]:
        """Return dy and dz of dr; store the largest steps in `_length`."""
        dy, dz = np.empty_like(t), np.empty_like(t)
        self._length = kernels.steps(self._scaling, self._split, t, dr, self.y, self.z, dy, dz)
        return dy, dz

    def _corrected(self, barrier: float, direction: "Direction") -> "Direction":
        """Lengthen a step by centrality corrections (Gondzio 1996): one solve each, no factorisation."""
        for _ in range(self._corrections):
            length = self._length
            before = min(1.0, *length[:2])
            if before >= LONG:
                break
            t, point = np.empty_like(self.y), (self.y, self.z)
            further, low = min(1.0, before + FURTHER), LEAST * barrier
            kernels.recentre(self._scaling, self._split, point, direction[2:], further, low, t)
            dv, dr = self.system.solve(np.zeros_like(self.dual), self.gathered(t))
            correction = dv, dr, *self._steps(t, dr)
            self._length = length
            direction = self._weighted(direction, correction)
            if min(1.0, *self._length[:2]) < before + WORTH * FURTHER:
                break
        return direction

    def _weighted(self, direction: "Direction", correction: "Direction") -> "Direction":
        """Add `correction` to `direction` with the weight of the longest step (Colombo & Gondzio 2008)."""
        best, weight, gap = min(1.0, *self._length[:2]), 0.0, self._length[2]
        for share in WEIGHTS:
            length = (
                jordan.longest_step(*self._cones, self.y, direction[2] + share * correction[2]),
                jordan.longest_step(*self._cones, self.z, direction[3] + share * correction[3]),
                gap,
            )
            reach = min(1.0, *length[:2])
            if reach > best:
                best, weight, self._length = reach, share, length
        dv, dr, dy, dz = (a + weight * b for a, b in zip(direction, correction, strict=True))
        return dv, dr, dy, dz

    def _move(
        self, sigma: float, alpha_p: float, alpha_d: float, dv: Array, dr: Array, dy: Array
    ) -> Step | str:
        """Make the step, shortened if rounding leaves the cones; return its data or why it failed."""
        while True:
            if min(alpha_p, alpha_d) < SHORTEST:
                return "the steps have become too short"
            y, r, z = self.y + alpha_p * dy, self.r + alpha_d * dr, np.empty_like(self.z)
            inside = kernels.arrived(self._split, y, r, z)
            if all(inside):
                break
            if not self.separate:
                alpha_p = alpha_d = BACKTRACK * alpha_p
            else:
                alpha_p, alpha_d = (
                    a if ok else BACKTRACK * a for a, ok in zip((alpha_p, alpha_d), inside, strict=True)
                )
        before, dual = (self.v, self.r, self.y, self.z), self.dual
        self.v, self.r, self.y, self.z = self.v + alpha_p * dv, r, y, z
        self._look()
        if self.system.rooted and not self.separate:
            most = float(np.linalg.norm(dual)) + LOST * self._first
            if np.linalg.norm(self.dual) <= most:
                return Step(sigma, alpha_p, alpha_d)
            self.v, self.r, self.y, self.z = before
            self._look()
            return "the Newton step is inaccurate: it moves away from the equations of motion"
        return Step(sigma, alpha_p, alpha_d)

    def answer(self) -> Answer:
        """Return r and v in the units of the problem; bilateral multipliers are at the end of r."""
        cones = self.form.split
        r = cones.fixed.copy()
        r[cones.kept] = cones.unit * self.r
        return Answer(r, self.v.copy())
