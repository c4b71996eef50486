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
How the expansion is solved is said in `poisson_expansion.py`.
"""

from collections.abc import Sequence

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.solution import Solution
from stickslip.schemes.moreau_jean_contacts import Tie
from stickslip.schemes.moreau_jean_motion import Motion, inverse
from stickslip.schemes.moreau_jean_newton import Coupled, Flat, Found, Loop
from stickslip.schemes.poisson_expansion import expand, given_back
from stickslip.schemes.problems import Pattern
from stickslip.schemes.step import Solver


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
        self.given, self.kicked, self.kick = given_back(self.pattern.K, r, e)
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
