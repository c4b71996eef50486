"""Poisson's impact in two phases within a Moreau-Jean step.

Compression: the impact as the step begins, without the forces of the step, ends with u_N >= 0 and the
impulses r^c,

    M (v^c - v) = H r^c,   K* ∋ û^c ⟂ r^c ∈ K.

Expansion: the rest of the step, forces included, gives back at least e r_N^c (Pfeiffer & Glocker 1996, 8.3;
Anitescu & Potra 1997),

    M (v⁺ - v) = h F + H (r^c + ρ),   0 <= u_N⁺ ⟂ ρ_N - e r_N^c >= 0,   |ρ_T| <= mu ρ_N.

Friction obeys Coulomb's law in both phases, each with the normal impulse of its own phase: in the expansion
the disc has the radius mu ρ_N, and sliding is opposed by all of it. (Taking e r^c with its tangential part
instead would throw a sticking contact back sideways; taking only ρ_N - e r_N^c for friction would let the
contact slide off freely while it expands.) Because forces act in the second phase only, a resting contact,
which has nothing to compress, does not hop.

In standard blocks: a contact that stays closed has ρ_N > e r_N^c, and is an ordinary contact with the impulse
ρ. One that leaves has ρ_N = e r_N^c, known, so that friction is a disc of known radius R: a cone whose
normal a is a variable of its own with u_a = w (a - R), for Coulomb's law makes u_a = 0 and thus a = R. The
problem is solved again until every contact is of the kind it is taken for.
"""

from collections.abc import Sequence
from functools import reduce
from operator import add

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem
from stickslip.problem.operator import DenseDelassus
from stickslip.problem.sets import ProductSet, blocks_of, nonnegative
from stickslip.problem.solution import Solution
from stickslip.schemes.moreau_jean_contacts import Tie
from stickslip.schemes.moreau_jean_motion import Motion, inverse
from stickslip.schemes.moreau_jean_newton import Coupled, Flat, Found, Loop
from stickslip.schemes.problems import Pattern
from stickslip.schemes.step import Solver

PASSES = 100
"""Most passes of an expansion."""


def compresses(ties: Sequence[Tie]) -> bool:
    """Whether a contact with Poisson's law approaches, so that there is something to give back."""
    return any(
        tie.output.law.impact == "poisson" and bool((tie.u_before[tie.output.normals] < 0.0).any())
        for tie in ties
    )


class AtStart:
    """A system as the step begins, hit: only its mass counts."""

    def __init__(self, motion: Motion):
        body = motion.body
        self.A = body.mass(motion.t, motion.q, motion.z)
        self.known_inverse = motion.known_inverse
        known = motion.known_inverse
        self.inverse = inverse(body.name, motion.t, self.A) if known is None else known
        self.v_free = motion.v


class Compressing(Coupled):
    """The first phase."""

    def impulses(self, state: Flat, loop: Loop, solver: Solver) -> tuple[Array, Solution]:
        """r^c [N s], shape (n,), with its certified problem; `state` is the start of the step."""
        start = np.zeros(self.pattern.K.size)
        self.linearise(state, loop, start)
        r, solution, _ = self.solve(loop, solver, start)
        return r, solution


class Expanding(Coupled):
    """The second phase: everything as in any step, but part of the impulses is given."""

    def compressed(self, r: Array, e: Array) -> "Expanding":
        """With the impulses r^c [N s], shape (n,), and the restitution of each block [-], shape (nb,)."""
        K = self.pattern.K
        normals = K.offset[:-1]
        kick = e * r[normals]
        self.given = r.copy()
        self.given[normals] += kick
        self.kicked = np.flatnonzero((kick > 0.0) & (K.kind == cones.FRICTION))
        self.kick = kick[self.kicked]
        self.unsettled = 0.0
        return self

    def _reduced(self, solver: Solver, guess: Array) -> tuple[Array, Solution, list[Array]]:
        if not self.kicked.size:
            return super()._reduced(solver, guess)
        W, responses, _ = self.delassus()
        u_free = self.free_velocity()
        r, solution, self.unsettled = expand(
            W.dense(), u_free, self.pattern.K, self.kicked, self.kick, solver
        )
        return r, solution, self.velocities(r, responses)

    def _global(self, solver: Solver, guess: Array) -> tuple[Array, Solution, list[Array]]:
        return self._reduced(solver, guess)

    def newton(self, flat: Flat, loop: Loop, solver: Solver, P: Array) -> Found:
        """The loop of the second phase."""
        found = super().newton(flat, loop, solver, P)
        found.error = max(found.error, self.unsettled)
        return found


def expand(
    W: Array, u_free: Array, K: ProductSet, kicked: IntArray, kick: Array, solver: Solver
) -> tuple[Array, Solution, float]:
    """r' = ρ - e r_N^c e_N [N s], shape (n,), the solution of the last pass, and what is left to settle."""
    normals = K.offset[kicked]
    stays, returned = np.zeros(kicked.size, bool), np.zeros(kicked.size, bool)
    radius = kick.copy()
    for _ in range(PASSES):
        leaves = ~stays
        blocks = _Split.of(W, K, kicked[leaves])
        held = u_free - W[:, normals[stays]] @ kick[stays]
        solution = solver.solve(blocks.problem(held, radius[leaves]))
        r = solution.r[blocks.at]
        r[normals[stays]] -= kick[stays]
        more = np.maximum(r[normals], 0.0)
        scale = float((kick + more).max())
        small = 10.0 * solution.tolerance * scale
        closed = leaves & ~returned & (more > small)
        opened = stays & (r[normals] < -small)
        wanted = kick + np.where(returned, more, 0.0)
        off = float(np.abs(radius - wanted)[leaves].max(initial=0.0))
        if not (closed.any() or opened.any() or off > small):
            return r, solution, 0.0
        # One that stayed by mistake leaves for good; its disc then grows with what it presses beyond that.
        stays, returned = (stays | closed) & ~opened, returned | opened
        radius = 0.5 * (radius + wanted)
    return r, solution, max(off / scale, solution.tolerance)


class _Split:
    """K with some contacts split into a normal r'_N >= 0 and a friction cone with a normal of its own."""

    def __init__(self, K: ProductSet, at: IntArray, extra: IntArray, W: DenseDelassus, w: Array):
        self.K, self.at, self.extra, self.W, self.w = K, at, extra, W, w

    @classmethod
    def of(cls, W: Array, K: ProductSet, split: IntArray) -> "_Split":
        """With the contacts `split` split."""
        sets, at, extra, start = [], np.zeros(K.size, np.int64), [], 0
        for i in range(len(K)):
            one, first, last = blocks_of(K, np.array([i])), int(K.offset[i]), int(K.offset[i + 1])
            if i in split:
                at[first] = start
                extra.append(start + 1)
                at[first + 1 : last] = np.arange(start + 2, start + 1 + last - first)
                sets += [nonnegative(1), one]
                start += 1 + last - first
            else:
                at[first:last] = np.arange(start, start + last - first)
                sets.append(one)
                start += last - first
        diagonal, added = np.diagonal(W), np.array(extra, np.int64)
        w = np.array([diagonal[K.offset[i] : K.offset[i + 1]].max() for i in split])
        wide = np.zeros((start, start))
        wide[np.ix_(at, at)] = W
        wide[added, added] = w
        return cls(reduce(add, sets), at, added, DenseDelassus(wide), w)

    def problem(self, u_free: Array, radius: Array) -> ContactProblem:
        """One pass: the normals of the cones are held at `radius`."""
        bias = np.zeros(self.K.size)
        bias[self.at] = u_free
        bias[self.extra] = -self.w * radius
        return ContactProblem.unchecked(self.W, bias, self.K)


def restitution(pattern: Pattern, on: Sequence[IntArray]) -> Array:
    """e of each block of a pattern whose law is Poisson's, 0 of the others [-], shape (nb,)."""
    parts = [
        one.law.restitution[blocks] if one.law.impact == "poisson" else np.zeros(len(blocks))
        for one, blocks in zip(pattern.ties, on, strict=True)
    ]
    return np.concatenate(parts)


def impulsive(tie: Tie, blocks: IntArray) -> IntArray:
    """Those of its active blocks that an impact acts through: neither forces with bounds nor compliant."""
    if tie.output.compliant:
        return blocks[:0]
    return blocks[tie.output.law.K.kind[blocks] != cones.INTERVAL]
