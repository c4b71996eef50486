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

In standard blocks: with r' = ρ - e r_N^c e_N the normal is r'_N >= 0, and the tangential part is a friction
cone whose normal a is a variable of its own, held at ρ_N by u_a = w (a - ρ_N) - mu |u_T|; ρ_N and mu |u_T|
are those of the last pass, and passes go on until a = ρ_N.
"""

from collections.abc import Sequence

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem
from stickslip.problem.operator import DenseDelassus
from stickslip.problem.sets import ProductSet, nonnegative
from stickslip.problem.solution import Solution
from stickslip.schemes.moreau_jean_contacts import Tie
from stickslip.schemes.moreau_jean_motion import Motion, inverse
from stickslip.schemes.moreau_jean_newton import Coupled, Flat, Found, Loop
from stickslip.schemes.problems import Pattern, blocks_of
from stickslip.schemes.step import Solver

PASSES = 200
"""Most passes over the radii of friction in an expansion."""
STIFFNESS = 30.0
"""w over the largest diagonal entry of the contact's W: the larger, the fewer passes, the worse scaled."""


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
        self.split = np.flatnonzero((kick > 0.0) & (K.kind == cones.FRICTION))
        self.kick = kick[self.split]
        self.unsettled = 0.0
        return self

    def _reduced(self, solver: Solver, guess: Array) -> tuple[Array, Solution, list[Array]]:
        if not self.split.size:
            return super()._reduced(solver, guess)
        W, responses, _ = self.delassus()
        u_free = self.free_velocity()
        r, solution, self.unsettled = expand(W.dense(), u_free, self.pattern.K, self.split, self.kick, solver)
        return r, solution, self.velocities(r, responses)

    def _global(self, solver: Solver, guess: Array) -> tuple[Array, Solution, list[Array]]:
        return self._reduced(solver, guess)

    def newton(self, flat: Flat, loop: Loop, solver: Solver, P: Array) -> Found:
        """The loop of the second phase."""
        found = super().newton(flat, loop, solver, P)
        found.error = max(found.error, self.unsettled)
        return found


def expand(
    W: Array, u_free: Array, K: ProductSet, split: IntArray, kick: Array, solver: Solver
) -> tuple[Array, Solution, float]:
    """r' [N s], shape (n,), the solution of the last pass, and what is left to settle (0 if nothing)."""
    larger, at, extra, tangents = _split(K, split)
    n, size = K.size, larger.size
    normals = K.offset[split]
    w = np.array([STIFFNESS * np.diagonal(W)[K.offset[i] : K.offset[i + 1]].max(initial=0.0) for i in split])
    wide = np.zeros((size, size))
    wide[np.ix_(at, at)] = W
    wide[extra, extra] = w
    operator = DenseDelassus(wide)
    bias, guess = np.zeros(size), None
    bias[at] = u_free
    radius, shift = kick.copy(), np.zeros(split.size)
    for _ in range(PASSES):
        bias[extra] = -w * radius - shift
        solution = solver.solve(ContactProblem.unchecked(operator, bias.copy(), larger), guess=guess)
        guess = solution.r
        radius = kick + solution.r[at[normals]]
        shift = np.array([_slip(K, i, solution.u[rows]) for i, rows in zip(split, tangents, strict=True)])
        off = float(np.abs(solution.r[extra] - radius).max()) / float(radius.max())
        if off <= 10.0 * solution.tolerance:
            off = 0.0
            break
    r = np.zeros(n)
    r[:] = solution.r[at]
    return r, solution, off


def _split(K: ProductSet, split: IntArray) -> tuple[ProductSet, IntArray, IntArray, list[IntArray]]:
    """K with the contacts `split` as a normal and a friction cone of its own normal; where the components
    of K stand in it, where the new normals do, and where the tangents of each split contact do."""
    sets, at, extra, tangents, start = [], np.zeros(K.size, np.int64), [], [], 0
    for i in range(len(K)):
        one, first, last = blocks_of(K, np.array([i])), int(K.offset[i]), int(K.offset[i + 1])
        if i in split:
            at[first] = start
            extra.append(start + 1)
            at[first + 1 : last] = np.arange(start + 2, start + 1 + last - first)
            tangents.append(at[first + 1 : last])
            sets += [nonnegative(1), one]
            start += 1 + last - first
        else:
            at[first:last] = np.arange(start, start + last - first)
            sets.append(one)
            start += last - first
    whole = sets[0]
    for one in sets[1:]:
        whole = whole + one
    return whole, at, np.array(extra, np.int64), tangents


def _slip(K: ProductSet, i: int, u: Array) -> float:
    """Σ mu_k |u_k| over the groups of friction block i [m/s]."""
    total, start = 0.0, 0
    first = K.group_offset[i]
    for k, size in enumerate(K.groups(i)):
        total += float(K.coefficient[first + k]) * float(np.linalg.norm(u[start : start + size]))
        start += size
    return total


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
