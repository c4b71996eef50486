"""Poisson's impact in two phases within a Moreau-Jean step.

Compression: the impact at the start of the step, without the forces of the step. It ends with u_N >= 0 and
the impulses r^c,

    M (v^c - v) = H r^c,   K* ∋ û^c ⟂ r^c ∈ K.

Expansion: the rest of the step, with its forces. Its normal impulse is at least e r_N^c (Pfeiffer & Glocker
1996, 8.3; Anitescu & Potra 1997),

    M (v⁺ - v) = h F + H (r^c + ρ),   0 <= u_N⁺ ⟂ ρ_N - e r_N^c >= 0,   |ρ_T| <= mu ρ_N.

Friction obeys Coulomb's law in both phases, each with the normal impulse of that phase: in the expansion the
friction disc has the radius mu ρ_N. (With e r^c including its tangential part, a sticking contact would
rebound tangentially; with friction bounded by ρ_N - e r_N^c only, the contact would slide without friction
while it expands.) A resting contact has no compression, because forces act in the second phase only, and does
not rebound.
`poisson_expansion.py` solves the expansion.
"""

from collections.abc import Sequence

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.solution import Solution
from stickslip.schemes.moreau_jean_contacts import Tie
from stickslip.schemes.moreau_jean_motion import Motion, inverse
from stickslip.schemes.moreau_jean_newton import Coupled, Flat, Loop, LoopResult
from stickslip.schemes.poisson_expansion import expand, given_back
from stickslip.schemes.problems import Pattern
from stickslip.schemes.step import Solver


def compresses(ties: Sequence[Tie]) -> bool:
    """Whether a contact with Poisson's law approaches, so that the impact has two phases."""
    return any(
        tie.output.law.impact == "poisson" and bool((tie.u_before[tie.output.normals] < 0.0).any())
        for tie in ties
    )


class AtStart:
    """A system at the start of a step, under impulses alone: its mass and its velocity."""

    def __init__(self, motion: Motion):
        body = motion.body
        self.A = body.mass(motion.t, motion.q, motion.z)
        self.known_inverse = motion.known_inverse
        M_inverse = motion.known_inverse
        self.inverse = inverse(body.name, motion.t, self.A) if M_inverse is None else M_inverse
        self.v_free = motion.v


class Compressing(Coupled):
    """Compression, the first phase."""

    def impulses(self, state: Flat, loop: Loop, solver: Solver) -> tuple[Array, Solution]:
        """Return r^c [N s], shape (n,), and its solution; `state` is the start of the step."""
        start = np.zeros(self.pattern.K.size)
        self.linearise(state, loop, start)
        r, solution, _ = self.solve(loop, solver, start)
        return r, solution


class Expanding(Coupled):
    """Expansion, the second phase: a step in which part of the impulses is prescribed."""

    def compressed(self, r: Array, e: Array) -> "Expanding":
        """Set the impulses r^c [N s], shape (n,), and the restitution of each block [-], shape (nb,)."""
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

    def newton(self, flat: Flat, loop: Loop, solver: Solver, P: Array) -> LoopResult:
        """Run Newton's loop; its error includes that of the passes of the expansion."""
        result = super().newton(flat, loop, solver, P)
        result.error = max(result.error, self.unsettled)
        return result


def restitution(pattern: Pattern, on: Sequence[IntArray]) -> Array:
    """Return e of the blocks of a pattern with Poisson's law, 0 for the others [-], shape (nb,)."""
    parts = [
        one.law.restitution[blocks] if one.law.impact == "poisson" else np.zeros(len(blocks))
        for one, blocks in zip(pattern.ties, on, strict=True)
    ]
    return np.concatenate(parts)


def impulsive(tie: Tie, blocks: IntArray) -> IntArray:
    """Return the active blocks through which an impact acts: neither bounded forces nor compliant ones."""
    if tie.output.compliant:
        return blocks[:0]
    return blocks[tie.output.law.K.kind[blocks] != cones.INTERVAL]
