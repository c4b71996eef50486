"""Newton's loop over a set of coupled systems: one contact problem per iteration.

    v⁺ = v_free + A⁻¹ B P,   C v⁺ + D P + b ⟂ P        Siconos Developer's Notes 2017, (11.65) to (11.69)

The loop ends when the momentum balance and the law hold at the new iterate. If the dynamics are linear and
the rows do not depend on q, this is the case after the first problem.
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
"""Largest asymmetry of W, relative to its largest entry, that counts as rounding [-]."""


@dataclass(slots=True)
class Flat:
    """Flat vectors of all systems: the start of the step, and the current iterate of its end."""

    t: float
    """End of the step [s]."""
    q_start: Array
    """Coordinates at the start of the step [m, rad], shape (nq,)."""
    q: Array
    """Coordinates at the end, of the current iterate [m, rad], shape (nq,)."""
    v: Array
    """Velocities at the end, of the current iterate [m/s, rad/s], shape (nv,)."""
    z: Array
    """Discrete parameters [any], shape (nz,)."""

    def take(self, motion: Motion) -> None:
        """Copy the iterate of a system."""
        self.q[motion.place.q] = motion.q_end
        self.v[motion.place.v] = motion.v_end


@dataclass(frozen=True, slots=True)
class Loop:
    """Options of Newton's loop."""

    h: float
    """Length of the step [s]."""
    moving: bool
    """Whether rows are evaluated at the end of the step."""
    form: str
    """`reduced` or `global`."""
    tolerance: float
    """Relative tolerance on the momentum balance and the law [-]."""
    most: int
    """Largest number of iterations."""


class LoopResult:
    """Result of Newton's loop: impulses, solutions, number of iterations, and error (0 if it converged)."""

    __slots__ = ("components", "error", "iterations", "r", "solves")

    def __init__(self, r: Array, solves: tuple[Solution, ...], iterations: int, error: float):
        self.r, self.solves, self.iterations, self.error = r, solves, iterations, error
        self.components: tuple[IntArray, ...] = ()
        """Indices of the impulses of each solution among all components; empty if r does not consist of
        them."""


class Coupled:
    """Coupled systems with their active interactions in one step."""

    def __init__(
        self, pattern: Pattern, motions: Sequence[Any], ties: Sequence[Tie],
        prescribed: Sequence[Array], theta: Sequence[float], given: Array | None = None,
    ):  # fmt: skip
        self.pattern, self.motions, self.ties = pattern, motions, ties
        self.prescribed, self.theta = prescribed, theta
        self.given = given
        """Impulses that act in addition to those of the law [N s], shape (n,)."""
        outputs = [tie.output for tie in ties]
        self.fixed = all(one.constant for one in outputs)
        self.follows = any(one.compliant or one.has_input for one in outputs)
        """Whether an interaction depends nonlinearly on its impulses, so that each iterate linearises it."""
        self.stacks: list[tuple[Array, Array]] = []

    def linearise(self, flat: Flat, loop: Loop, P: Array) -> None:
        """Linearise every interaction at the iterate, and stack the rows by system."""
        for k, tie in enumerate(self.ties):
            at_end = loop.moving or tie.output.compliant or tie.output.has_input
            q = flat.q if at_end else flat.q_start
            whole = self.whole(k, P)
            tie.linearise(flat.t, loop.h, self.theta[k], q, flat.v, flat.z, whole, self.prescribed[k])
        if self.fixed:
            cache = self.pattern.kept
            if "stacks" not in cache:
                cache["stacks"] = self._stacked()
            self.stacks = cache["stacks"]
        else:
            self.stacks = self._stacked()

    def whole(self, k: int, P: Array) -> Array:
        """Return all impulses of interaction k, inactive ones zero [N s], shape (m,)."""
        keep, part = self.pattern.keep[k], P[self.pattern.place[k]]
        if keep is None:
            return part
        all_ = np.zeros(self.ties[k].output.law.size)
        all_[keep] = part
        return all_

    def _stacked(self) -> list[tuple[Array, Array]]:
        """Return C_j and B_j of each system j, over its interactions."""
        stacks = []
        for share in self.pattern.shares:
            rows, forces = [], []
            for k, columns in share.parts:
                tie, keep = self.ties[k], self.pattern.keep[k]
                C, B = tie.C[:, columns], tie.B[columns]
                rows.append(C if keep is None else C[keep])
                forces.append(B if keep is None else B[:, keep])
            single = len(rows) == 1
            stacks.append((rows[0], forces[0]) if single else (np.concatenate(rows), np.hstack(forces)))
        return stacks

    def pushed(self, P: Array) -> list[Array]:
        """Return the momentum that the impulses transfer to each system [N s], shape (nv,) each."""
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
        """Return b of the active components [m/s], shape (n,)."""
        parts = [
            tie.b if keep is None else tie.b[keep]
            for tie, keep in zip(self.ties, self.pattern.keep, strict=True)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def delassus(self) -> tuple[Any, list[Array], bool]:
        """Return W, A_j⁻¹ B_j of each system, and whether W is symmetric; cached if they are constant."""
        cache = self.pattern.kept
        inverses = [motion.inverse for motion in self.motions]
        if self.fixed and all(m.inverse is m.known_inverse for m in self.motions):
            if "W" not in cache:
                cache["W"] = self._delassus(inverses)
            cached: tuple[Any, list[Array], bool] = cache["W"]
            return cached
        return self._delassus(inverses)

    def _delassus(self, inverses: Sequence[Any]) -> tuple[Any, list[Array], bool]:
        """Return W = Σ_j C_j A_j⁻¹ B_j + D, the responses A_j⁻¹ B_j, and whether W is symmetric."""
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
        """Solve the linearised problem: impulses, the solution, and final velocities of each system."""
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
        """Solve the problem over contacts."""
        W, responses, symmetric = self.delassus()
        K, u_free = self.pattern.K, self.free_velocity()
        if symmetric or not self.pattern.is_box:
            solution = solver.solve(ContactProblem.unchecked(W, u_free, K), guess=guess)
        else:
            solution = solver.solve(problem_of(W.matrix, u_free, K, Level.VELOCITY, symmetric), guess=guess)
        return solution.r, solution, self.velocities(solution.r, responses)

    def free_velocity(self) -> Array:
        """Return Σ_j C_j v_free_j + b [m/s], shape (n,)."""
        u_free = self.bias().copy()
        for share, motion, (C, _) in zip(self.pattern.shares, self.motions, self.stacks, strict=True):
            if share.components is None:
                u_free += C @ motion.v_free
            else:
                u_free[share.components] += C @ motion.v_free
        return u_free

    def velocities(self, r: Array, responses: Sequence[Array]) -> list[Array]:
        """Return v_free_j + A_j⁻¹ B_j r of each system [m/s], shape (nv,) each."""
        return [
            motion.v_free + response @ (r if share.components is None else r[share.components])
            for share, motion, response in zip(self.pattern.shares, self.motions, responses, strict=True)
        ]

    def _global(self, solver: Solver, guess: Array) -> tuple[Array, Solution, list[Array]]:
        """Solve the problem over velocities, with bilateral constraints as equations."""
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

    def newton(self, flat: Flat, loop: Loop, solver: Solver, P: Array) -> LoopResult:
        """Run the loop from the impulses P of the previous step; `flat` and the motions are updated."""
        settles = self.fixed or not (loop.moving or self.follows)
        best: LoopResult | None = None
        best_v: list[Array] = []
        self.linearise(flat, loop, P)
        for iteration in range(1, loop.most + 1):
            # 1. Linearise the dynamics, solve the contact problem, take its velocities.
            for motion in self.motions:
                motion.linearise()
                require_finite(motion.v_free)
            before = [motion.v_end for motion in self.motions]
            P, solution, v = self.solve(loop, solver, P)
            require_finite(P)
            self.move(flat, v)
            if settles and not any(motion.implicit for motion in self.motions):
                return LoopResult(P, (solution,), iteration, 0.0)
            # 2. Errors of the law and of the momentum balance at the new iterate.
            change = 0.0 if settles else self._follow(flat, loop, P)
            balance = list(zip(self.motions, self.pushed(P), strict=True))
            error = max(change, max(motion.error(p) for motion, p in balance))
            result = LoopResult(P, (solution,), iteration, error)
            if best is None or error < best.error:
                best, best_v = result, v
            # 3. Stop by the tolerance, or if errors and changes are rounding.
            if error <= loop.tolerance:
                return LoopResult(P, (solution,), iteration, 0.0)
            still = iteration > 1 and max(map(_moved, v, before)) <= loop.tolerance
            if change <= loop.tolerance and (still or all(motion.is_rounding(p) for motion, p in balance)):
                return LoopResult(P, (solution,), iteration, 0.0)
        assert best is not None
        self.move(flat, best_v)
        return LoopResult(best.r, best.solves, loop.most, best.error)

    def move(self, flat: Flat, v: Sequence[Array]) -> None:
        """Set the final velocities of each system to v."""
        for motion, v_end in zip(self.motions, v, strict=True):
            motion.move(v_end)
            flat.take(motion)

    def _follow(self, flat: Flat, loop: Loop, P: Array) -> float:
        """Linearise the interactions at the new iterate; return the relative change of the variable on which
        the law is stated [-]."""
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


def solve_free(motion: Motion, loop: Loop) -> LoopResult:
    """Run the loop for a system without active interactions."""
    r, best, best_v = np.zeros(0), np.inf, motion.v_end
    for iteration in range(1, loop.most + 1):
        before = motion.v_end
        motion.linearise()
        require_finite(motion.v_free)
        motion.move(motion.v_free)
        if not motion.implicit:
            return LoopResult(r, (), iteration, 0.0)
        error = motion.error(None)
        if error < best:
            best, best_v = error, motion.v_end
        still = iteration > 1 and _moved(motion.v_end, before) <= loop.tolerance
        if error <= loop.tolerance or still or motion.is_rounding(None):
            return LoopResult(r, (), iteration, 0.0)
    motion.move(best_v)
    return LoopResult(r, (), loop.most, best)


def _moved(v: Array, before: Array) -> float:
    """Return the relative change of v [-]."""
    change = v - before
    square = float(change @ change)
    return math.sqrt(square / max(float(v @ v), float(before @ before))) if square else 0.0
