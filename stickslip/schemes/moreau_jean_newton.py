"""Newton's loop over a set of coupled systems: one contact problem per iteration.

    v⁺ = v_free + A⁻¹ B P,   C v⁺ + D P + b ⟂ P        Siconos Developer's Notes 2017, (11.65) to (11.69)

The loop ends where the momentum balance and the law hold at the new iterate. Where the dynamics are linear
and the rows do not depend on q that is so after the first problem, and there is no second.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem, GlobalProblem, Level
from stickslip.problem.operator import DenseDelassus
from stickslip.problem.solution import Solution
from stickslip.schemes.moreau_jean_contacts import Tie, require_finite
from stickslip.schemes.moreau_jean_motion import Motion
from stickslip.schemes.problems import Pattern, problem_of
from stickslip.schemes.step import Solver

SYMMETRY = 1e-12
"""Largest difference of W across its diagonal, over its largest entry, that is rounding."""


@dataclass(slots=True)
class Flat:
    """Where all systems are while a step is computed."""

    t: float
    """End of the step [s]."""
    q_start: Array
    """Coordinates at its start [m, rad], shape (nq,)."""
    q: Array
    """Coordinates at its end, as far as known [m, rad], shape (nq,)."""
    v: Array
    """Velocities at its end, as far as known [m/s, rad/s], shape (nv,)."""
    z: Array
    """Discrete parameters [any], shape (nz,)."""

    def take(self, motion: Motion) -> None:
        """Write down where a system is."""
        self.q[motion.place.q] = motion.q_end
        self.v[motion.place.v] = motion.v_end


@dataclass(frozen=True, slots=True)
class Loop:
    """How the loop runs."""

    h: float
    """Step [s]."""
    moving: bool
    """Whether rows are those at the end of the step."""
    form: str
    """`reduced` or `global`."""
    tolerance: float
    """On the momentum balance and the law, relative [-]."""
    most: int
    """Most iterations."""


class Found:
    """What the loop found."""

    __slots__ = ("components", "error", "iterations", "r", "solves")

    def __init__(self, r: Array, solves: tuple[Solution, ...], iterations: int, error: float):
        self.r, self.solves, self.iterations, self.error = r, solves, iterations, error
        self.components: tuple[IntArray, ...] = ()
        """Where the impulses of the problems stand among all; empty where r is not made of them."""


class Coupled:
    """Systems with the active interactions between them."""

    def __init__(
        self, pattern: Pattern, motions: Sequence[Any], ties: Sequence[Tie],
        prescribed: Sequence[Array], theta: Sequence[float], given: Array | None = None,
    ):  # fmt: skip
        self.pattern, self.motions, self.ties = pattern, motions, ties
        self.prescribed, self.theta = prescribed, theta
        self.given = given
        """Impulses that act whatever the law says [N s], shape (n,)."""
        outputs = [tie.output for tie in ties]
        self.fixed = all(one.constant for one in outputs)
        self.follows = any(one.compliant or one.has_input for one in outputs)
        """Whether an interaction depends on its impulses, so that it is linearised anew."""
        self.stacks: list[tuple[Array, Array]] = []

    def linearise(self, flat: Flat, loop: Loop, P: Array) -> None:
        """Every interaction at the iterate; rows stacked by system."""
        for k, tie in enumerate(self.ties):
            at_end = loop.moving or tie.output.compliant or tie.output.has_input
            q = flat.q if at_end else flat.q_start
            whole = self.whole(k, P)
            tie.linearise(flat.t, loop.h, self.theta[k], q, flat.v, flat.z, whole, self.prescribed[k])
        if self.fixed:
            kept = self.pattern.kept
            if "stacks" not in kept:
                kept["stacks"] = self._stacked()
            self.stacks = kept["stacks"]
        else:
            self.stacks = self._stacked()

    def whole(self, k: int, P: Array) -> Array:
        """The impulses of one interaction, inactive ones zero [N s], shape (m,)."""
        keep, part = self.pattern.keep[k], P[self.pattern.place[k]]
        if keep is None:
            return part
        all_ = np.zeros(self.ties[k].output.law.size)
        all_[keep] = part
        return all_

    def _stacked(self) -> list[tuple[Array, Array]]:
        """C_j and B_j of each system j, over the interactions that it has a share in."""
        stacks = []
        for share in self.pattern.shares:
            rows, forces = [], []
            for k, columns in share.parts:
                tie, keep = self.ties[k], self.pattern.keep[k]
                C, B = tie.C[:, columns], tie.B[columns]
                rows.append(C if keep is None else C[keep])
                forces.append(B if keep is None else B[:, keep])
            one = len(rows) == 1
            stacks.append((rows[0], forces[0]) if one else (np.concatenate(rows), np.hstack(forces)))
        return stacks

    def pushed(self, P: Array) -> list[Array]:
        """Momentum that the impulses give to each system [N s], shape (nv,) each."""
        out = []
        for share, (_, B) in zip(self.pattern.shares, self.stacks, strict=True):
            p = B @ (P if share.components is None else P[share.components])
            if self.follows:
                for k, columns in share.parts:
                    offset = self.ties[k].offset
                    if offset is not None:
                        p = p + offset[columns]
            out.append(p)
        return out

    def bias(self) -> Array:
        """b of the active components [m/s], shape (n,)."""
        parts = [
            tie.b if keep is None else tie.b[keep]
            for tie, keep in zip(self.ties, self.pattern.keep, strict=True)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def delassus(self) -> tuple[Any, list[Array], bool]:
        """W, A_j⁻¹ B_j of each system, and whether W is symmetric; made once where nothing in it changes."""
        kept = self.pattern.kept
        inverses = [motion.inverse for motion in self.motions]
        if self.fixed and all(m.inverse is m.known_inverse for m in self.motions):
            if "W" not in kept:
                kept["W"] = self._delassus(inverses)
            found: tuple[Any, list[Array], bool] = kept["W"]
            return found
        return self._delassus(inverses)

    def _delassus(self, inverses: Sequence[Any]) -> tuple[Any, list[Array], bool]:
        n, responses = self.pattern.K.size, []
        W = np.zeros((n, n))
        for share, (C, B), inverse in zip(self.pattern.shares, self.stacks, inverses, strict=True):
            response = inverse @ B
            responses.append(response)
            if share.components is None:
                W += C @ response
            else:
                W[np.ix_(share.components, share.components)] += C @ response
        for k, tie in enumerate(self.ties):
            if tie.D is not None:
                keep, at = self.pattern.keep[k], self.pattern.place[k]
                W[at, at] += tie.D if keep is None else tie.D[np.ix_(keep, keep)]
        symmetric = float(np.abs(W - W.T).max()) <= SYMMETRY * float(np.abs(W).max())
        return DenseDelassus(W), responses, symmetric

    def solve(self, loop: Loop, solver: Solver, P: Array) -> tuple[Array, Solution, list[Array]]:
        """Impulses, the solution they come from, and velocities at the end system by system."""
        if self.given is not None or self.follows:
            start = np.zeros(P.size) if self.given is None else self.given
            for motion, p in zip(self.motions, self.pushed(start), strict=True):
                assert motion.inverse is not None
                motion.v_free = motion.v_free + motion.inverse @ p
        if self.given is not None:
            P = P - self.given
        r, solution, v = (self._global if loop.form == "global" else self._reduced)(solver, P)
        return r if self.given is None else r + self.given, solution, v

    def _reduced(self, solver: Solver, guess: Array) -> tuple[Array, Solution, list[Array]]:
        W, responses, symmetric = self.delassus()
        K, u_free = self.pattern.K, self.free_velocity()
        if symmetric or not self.pattern.is_box:
            solution = solver.solve(ContactProblem.unchecked(W, u_free, K), guess=guess)
        else:
            solution = solver.solve(problem_of(W.matrix, u_free, K, Level.VELOCITY, symmetric), guess=guess)
        return solution.r, solution, self.velocities(solution.r, responses)

    def free_velocity(self) -> Array:
        """Σ_j C_j v_free_j + b [m/s], shape (n,)."""
        u_free = self.bias().copy()
        for share, motion, (C, _) in zip(self.pattern.shares, self.motions, self.stacks, strict=True):
            if share.components is None:
                u_free += C @ motion.v_free
            else:
                u_free[share.components] += C @ motion.v_free
        return u_free

    def velocities(self, r: Array, responses: Sequence[Array]) -> list[Array]:
        """v_free_j + A_j⁻¹ B_j r of each system [m/s], shape (nv,) each."""
        return [
            motion.v_free + response @ (r if share.components is None else r[share.components])
            for share, motion, response in zip(self.pattern.shares, self.motions, responses, strict=True)
        ]

    def _global(self, solver: Solver, guess: Array) -> tuple[Array, Solution, list[Array]]:
        pattern, motions = self.pattern, self.motions
        ends = np.cumsum([0, *(motion.v_free.size for motion in motions)])
        H = np.zeros((int(ends[-1]), pattern.K.size))
        for share, (_, B), a, b in zip(pattern.shares, self.stacks, ends[:-1], ends[1:], strict=True):
            H[a:b, slice(None) if share.components is None else share.components] = B
        bias, joints = self.bias(), pattern.free.size
        f = np.concatenate([motion.A @ motion.v_free for motion in motions])
        problem = GlobalProblem(
            block_diag(*(motion.A for motion in motions)), f, H[:, pattern.other],  # type: ignore[arg-type]
            bias[pattern.other], pattern.K_other, H[:, pattern.free] if joints else None, bias[pattern.free],
        )  # fmt: skip
        solution = solver.solve(problem, guess=guess[pattern.other])
        assert solution.v is not None
        r = np.zeros(pattern.K.size)
        r[pattern.other] = solution.r
        if joints:
            r[pattern.free] = solution.lam
        return r, solution, [solution.v[a:b] for a, b in itertools.pairwise(ends)]

    def newton(self, flat: Flat, loop: Loop, solver: Solver, P: Array) -> Found:
        """The loop from the impulses P of the last step; `flat` and the motions end at what was found."""
        settles = self.fixed or not (loop.moving or self.follows)
        best: Found | None = None
        best_v: list[Array] = []
        self.linearise(flat, loop, P)
        for iteration in range(1, loop.most + 1):
            for motion in self.motions:
                motion.linearise()
                require_finite(motion.v_free)
            before = [motion.v_end for motion in self.motions]
            P, solution, v = self.solve(loop, solver, P)
            require_finite(P)
            self.move(flat, v)
            if settles and not any(motion.implicit for motion in self.motions):
                return Found(P, (solution,), iteration, 0.0)
            change = 0.0 if settles else self._follow(flat, loop, P)
            balance = list(zip(self.motions, self.pushed(P), strict=True))
            error = max(change, max(motion.error(p) for motion, p in balance))
            found = Found(P, (solution,), iteration, error)
            if best is None or error < best.error:
                best, best_v = found, v
            if error <= loop.tolerance:
                return Found(P, (solution,), iteration, 0.0)
            still = iteration > 1 and max(map(_moved, v, before)) <= loop.tolerance
            if change <= loop.tolerance and (still or all(motion.is_rounding(p) for motion, p in balance)):
                return Found(P, (solution,), iteration, 0.0)
        assert best is not None
        self.move(flat, best_v)
        return Found(best.r, best.solves, loop.most, best.error)

    def move(self, flat: Flat, v: Sequence[Array]) -> None:
        """Take the velocities v at the end, system by system."""
        for motion, v_end in zip(self.motions, v, strict=True):
            motion.move(v_end)
            flat.take(motion)

    def _follow(self, flat: Flat, loop: Loop, P: Array) -> float:
        """Linearise anew, and say by how much what the law is stated on has changed, relatively [-]."""
        v = [flat.v[tie.output.bound.v] for tie in self.ties]
        impulses = [self.whole(k, P) for k in range(len(self.ties))]
        old = [tie.law_variable(x, p) for tie, x, p in zip(self.ties, v, impulses, strict=True)]
        self.linearise(flat, loop, P)
        worst = 0.0
        for tie, x, p, was in zip(self.ties, v, impulses, old, strict=True):
            difference = float(np.abs(tie.law_variable(x, p) - was).max())
            if difference:
                size = max(float((np.abs(tie.C) @ np.abs(x)).max()), float(np.abs(tie.b).max()))
                worst = max(worst, difference / max(size, float(np.abs(tie.u_before).max())))
        return worst


def alone(motion: Motion, loop: Loop) -> Found:
    """The loop for a system on its own: nothing acts on it but its forces."""
    r, best, best_v = np.zeros(0), np.inf, motion.v_end
    for iteration in range(1, loop.most + 1):
        before = motion.v_end
        motion.linearise()
        require_finite(motion.v_free)
        motion.move(motion.v_free)
        if not motion.implicit:
            return Found(r, (), iteration, 0.0)
        error = motion.error(None)
        if error < best:
            best, best_v = error, motion.v_end
        still = iteration > 1 and _moved(motion.v_end, before) <= loop.tolerance
        if error <= loop.tolerance or still or motion.is_rounding(None):
            return Found(r, (), iteration, 0.0)
    motion.move(best_v)
    return Found(r, (), loop.most, best)


def _moved(v: Array, before: Array) -> float:
    """By how much v has changed, relatively [-]."""
    change = v - before
    square = float(change @ change)
    return math.sqrt(square / max(float(v @ v), float(before @ before))) if square else 0.0
