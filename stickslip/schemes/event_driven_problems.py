"""The two problems at an event: velocities after an impact, and accelerations of closed contacts.

Impact:        u⁺ = W r + u⁻,  the law on u⁺ + e u⁻ (Newton), or in two phases (Poisson, `schemes/poisson.py`)
Acceleration:  ÿ = W lam + J M⁻¹ F + γ,  the law on ÿ for contacts with zero gap and rate; sliding contacts
               have r_T = -mu r_N d, which makes W unsymmetric
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem, Level
from stickslip.problem.sets import ProductSet, free, friction, interval, nonnegative
from stickslip.problem.solution import Solution
from stickslip.schemes.event_driven_flow import Modes
from stickslip.schemes.event_driven_motion import Motion, Piece
from stickslip.schemes.poisson_expansion import expand, given_back
from stickslip.schemes.problems import problem_of
from stickslip.schemes.step import Solver
from stickslip.state import BoolArray
from stickslip.systems.system import Bound

LARGEST_P_TEST = 10
"""Largest number of unknowns for which every principal minor is tested; there are 2ⁿ."""


@dataclass(frozen=True, eq=False)
class Answer:
    """Result of a problem at an event, for the components of coupled interactions."""

    r: Array
    """Impulses [N s], or forces [N], of all interactions, shape (size,)."""
    rate: Array
    """Rates after the impact [m/s], or accelerations [m/s²], of all interactions, shape (size,)."""
    response: Array
    """Diagonal of W [1/kg], shape (size,)."""
    solves: tuple[Solution, ...]
    """Solutions of the problems."""
    reason: str = ""
    """Reason of a failure; empty without one."""


def pushed(motion: Motion, interactions: list[Bound], t: float, q: Array) -> tuple[Array, Array, IntArray]:
    """Return the rows J of the interactions' components, M⁻¹ J', and the indices of the components in the
    flat r."""
    J = motion.rows(interactions, t, q)
    where = np.concatenate([np.arange(one.components.start, one.components.stop) for one in interactions])
    return J, motion.inverse(t, q) @ J.T, where


def impact(
    motion: Motion, interactions: list[Bound], touching: BoolArray, plastic: BoolArray,
    t: float, q: Array, v: Array, u: Array, solver: Solver,
) -> tuple[Array, Answer]:  # fmt: skip
    """Solve an impact of all touching blocks of coupled interactions: velocities after it, and the result.

    Blocks in `plastic` have restitution 0. Intervals bound forces, not impulses, and are not included.
    """
    # 1. The problem of the impact, or of Poisson's compression.
    size = motion.system.size
    blocks = [p for p in _of(motion, interactions) if touching[p.number] and p.kind != cones.INTERVAL]
    J, G, where = pushed(motion, interactions, t, q)
    keep, K = _gathered(blocks, {}, where)
    W = J[keep] @ G[:, keep]
    index = where[keep]
    bias = np.zeros(size)
    for one in interactions:
        bias[one.components] = one.bias(t, u[one.components])
    e = np.zeros(len(blocks))
    for k, piece in enumerate(blocks):
        if plastic[piece.number]:
            bias[piece.normal] = 0.0
        elif piece.one.law.impact == "poisson":
            e[k] = piece.one.law.restitution[piece.number - piece.one.blocks.start]
    solution = solver.solve(ContactProblem(W, u[index] + bias[index], K))  # type: ignore[arg-type]
    solves, impulse = [solution], np.array(solution.r)
    reason = _unsolved("impact", solves, interactions, t)
    returned, split, kick = given_back(K, impulse, e)
    if (returned != impulse).any():
        # 2. Poisson's expansion: normal impulses of at least e r_N^c, with Coulomb's law for their total.
        after = u[index] + bias[index] + W @ returned
        if split.size:
            extra, second, unsettled = expand(W, after, K, split, kick, solver)
        else:
            second = solver.solve(ContactProblem(W, after, K))  # type: ignore[arg-type]
            extra, unsettled = second.r, 0.0
        solves.append(second)
        impulse = returned + extra
        reason = _unsolved("impact", solves, interactions, t)
        if unsettled and not reason:
            reason = f"at t = {t:.12g} s, friction of an expansion is {unsettled:.1e} from settled"
    # 3. Velocities and rates after the impact.
    r, response = np.zeros(size), np.zeros(size)
    r[index], response[index] = impulse, np.diag(W)
    v_new = v + G[:, keep] @ impulse
    rate = np.array(u)
    rate[where] = u[where] + J @ (v_new - v)
    return v_new, Answer(r, rate, response, tuple(solves), reason)


def acceleration(
    motion: Motion, interactions: list[Bound], modes: Modes, t: float, q: Array, v: Array, solver: Solver
) -> Answer:
    """Solve for forces and accelerations of the closed blocks of coupled interactions, with given sliding
    groups."""
    # 1. Accelerations without unknown forces: F, γ, and intervals that slide.
    size, d = motion.system.size, modes.direction
    blocks = [p for p in _of(motion, interactions) if modes.closed[p.number]]
    J, G, where = pushed(motion, interactions, t, q)
    position = {int(k): j for j, k in enumerate(where)}
    gamma = np.concatenate(
        [
            np.zeros(one.law.size) if (drift := motion.bend(one, t, q, v)) is None else drift
            for one in interactions
        ]
    )
    known = np.zeros(where.size)
    for piece in blocks:
        if piece.kind == cones.INTERVAL and d[piece.normal]:
            known[position[piece.normal]] = piece.lower if d[piece.normal] > 0.0 else piece.upper
    a = motion.free(t, q, v) + G @ known
    sticking = {p.number: [k for k, g in enumerate(p.groups) if not modes.slides(g)] for p in blocks}
    unknown = [p for p in blocks if not (p.kind == cones.INTERVAL and d[p.normal])]
    r, response, solves, reason = np.zeros(size), np.zeros(size), [], ""
    r[where] = known
    lam = known
    if unknown:
        # 2. The problem of the unknown forces; P has the friction of sliding groups.
        keep, K = _gathered(unknown, sticking, where)
        P = np.zeros((where.size, keep.size))
        P[keep, np.arange(keep.size)] = 1.0
        column = {int(k): j for j, k in enumerate(keep)}
        slides = False
        for piece in unknown:
            for group in piece.groups:
                if modes.slides(group):
                    at = [position[k] for k in range(group.components.start, group.components.stop)]
                    P[at, column[position[piece.normal]]] = -group.mu * d[group.components]
                    slides = True
        W, u_free = J[keep] @ G @ P, J[keep] @ a + gamma[keep]
        solution = solver.solve(problem_of(W, u_free, K, Level.ACCELERATION, symmetric=not slides))
        solves.append(solution)
        lam = P @ solution.r + known
        r[where], response[where[keep]] = lam, np.diag(W)
        reason = _unsolved("acceleration", solves, interactions, t)
        if slides and (why := _paradox(W, K, unknown, t)):
            reason = f"{why}; {reason}" if reason else why
    # 3. Accelerations of all components.
    rate = np.zeros(size)
    rate[where] = J @ (motion.free(t, q, v) + G @ lam) + gamma
    return Answer(r, rate, response, tuple(solves), reason)


def fall(motion: Motion, interactions: list[Bound], t: float, q: Array, v: Array) -> float:
    """Return the largest acceleration of a gap of coupled interactions in free motion [m/s²]."""
    a, largest = motion.free(t, q, v), 0.0
    for one in interactions:
        normals = [p.normal - one.components.start for p in _of(motion, [one]) if p.unilateral]
        rate = motion.rows([one], t, q) @ a
        gamma = motion.bend(one, t, q, v)
        rate = rate if gamma is None else rate + gamma
        largest = max(largest, float(np.abs(rate[normals]).max(initial=0.0)))
    return largest


def _of(motion: Motion, interactions: list[Bound]) -> list[Piece]:
    """Return the blocks of these interactions."""
    return [motion.pieces[k] for one in interactions for k in range(one.blocks.start, one.blocks.stop)]


def _gathered(
    blocks: Sequence[Piece], sticking: dict[int, list[int]], where: IntArray
) -> tuple[IntArray, ProductSet]:
    """Return the unknown components of blocks, as positions in `where`, and their set.

    sticking: the groups of a block, by its number, that may stick; without an entry all of them.
    """
    place = {int(k): j for j, k in enumerate(where)}
    keep: list[int] = []
    sets: list[ProductSet] = []
    for piece in blocks:
        groups = [piece.groups[k] for k in sticking.get(piece.number, range(len(piece.groups)))]
        if piece.kind == cones.FREE:
            keep.extend(place[k] for k in range(piece.components.start, piece.components.stop))
            sets.append(free(piece.components.stop - piece.components.start))
            continue
        keep.append(place[piece.normal])
        for group in groups:
            keep.extend(place[k] for k in range(group.components.start, group.components.stop))
        if piece.kind == cones.INTERVAL:
            sets.append(interval(piece.lower, piece.upper))
        elif groups:
            sizes = [g.components.stop - g.components.start for g in groups]
            sets.append(friction(sizes, [[g.mu for g in groups]]))
        else:
            sets.append(nonnegative(1))
    return np.array(keep, np.int64), reduce(add, sets)


def _unsolved(label: str, solves: Sequence[Solution], interactions: Sequence[Bound], t: float) -> str:
    """Return why a problem was not solved; empty if all were."""
    for solution in solves:
        if not solution.ok:
            names = ", ".join(repr(one.name) for one in interactions)
            return (
                f"at t = {t:.12g} s, the {label} problem of {names} was not solved:"
                f" {solution.reason or solution.status.value}"
            )
    return ""


def _paradox(W: Array, K: ProductSet, blocks: Sequence[Piece], t: float) -> str:
    """Return why forces of sliding contacts may not exist or not be unique, because W is not a P-matrix
    (Painlevé 1895); empty if it is.

    Joints are part of every minor, because their forces have no sign; a zero minor is a redundant constraint.
    """
    joint = K.bilateral
    always, others = np.flatnonzero(joint).tolist(), np.flatnonzero(~joint).tolist()
    codes = range(1 << len(others)) if len(others) <= LARGEST_P_TEST else [(1 << len(others)) - 1]
    size = np.sqrt(np.abs(np.diag(W)))
    scaled = W / np.where(size > 0.0, size, 1.0)[:, None] / np.where(size > 0.0, size, 1.0)
    for code in codes:
        chosen = always + [k for i, k in enumerate(others) if code >> i & 1]
        if chosen and np.linalg.det(scaled[np.ix_(chosen, chosen)]) < -1e-9:
            names = ", ".join(sorted({repr(p.one.name) for p in blocks if p.groups}))
            return (
                f"at t = {t:.12g} s, the forces of the sliding contacts of {names} need not exist or be"
                " unique (Painlevé's paradox): a principal minor of their matrix is negative"
            )
    return ""
