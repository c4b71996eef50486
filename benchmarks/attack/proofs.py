"""Independent checks of claims that no solution exists, and that one exists.

INFEASIBLE comes with weights y of the contact velocities (z of joints), which are directions in which
impulses may grow without limit, without friction. Exact arithmetic over the rationals gives

    closing = -(sum of bounded intervals + y·u_free),      g = W'y,

and any solution has |r| >= closing / dist(-g, K*) in the norm of energy; the claim is that this is at least
1e10 times the natural impulse, which u_free requires. The distance is bounded from below here, so that a
claim that fails is wrong whatever the rounding of the check. For global problems H y + G z replaces g.

If the proof is that all complementary bases fail, all are tried again, by least squares.
"""

from fractions import Fraction
from itertools import product

import numpy as np

from benchmarks.attack.cases import BOX, GLOBAL, Array, Case
from benchmarks.attack.laws import EPS, Motion, motion, norm, scales

BEYOND = 1e10
"""Claimed lower bound of the impulses of a solution, over the natural impulse [-]."""
ENUMERABLE = 7
"""Largest number of unknowns for which all bases are tried again."""


def refute_infeasible(case: Case, y: Array, z: Array, bases: int) -> list[str]:
    """Return the faults of the claim INFEASIBLE with these weights."""
    faults = []
    if case.truth == "solvable":
        faults.append("INFEASIBLE, but the problem was made from a solution")
    if bases:
        return faults + _refute_bases(case)
    if y.size != case.size:
        return [*faults, "INFEASIBLE without weights"]
    for i, (block, part) in enumerate(case.spans):
        low, high = block.bounds
        weights = y[part] if block.kind == "free" else y[part][:1]
        if ((weights < 0.0).any() and low != -np.inf) or ((weights > 0.0).any() and high != np.inf):
            faults.append(f"weight of block {i} has a sign in which its impulse is bounded")
        if block.kind == "friction" and y[part][1:].any():
            faults.append(f"weight of block {i} has a tangential component")
    free = _free_motion(case)
    closing, distance, size = (_global_terms if case.form == GLOBAL else _local_terms)(case, free, y, z)
    if closing <= 0.0:
        faults.append(f"the weighted velocities do not close: {closing:.3e}")
    elif distance > 0.0 and closing < 0.999 * BEYOND * distance * size:
        faults.append(f"a solution needs only {closing / (distance * size):.3e} times the natural impulse")
    return faults


def _free_motion(case: Case) -> Motion:
    """Return the motion without impulses."""
    r = np.zeros(case.size)
    if case.form != GLOBAL:
        return motion(case, r, None)
    v = np.linalg.solve(case.arrays["M"], case.arrays["f"])
    return motion(case, r, v)


def _dot(a: Array, b: Array) -> Fraction:
    """Return the exact scalar product of vectors of doubles."""
    terms = (Fraction(float(x)) * Fraction(float(w)) for x, w in zip(a, b, strict=True) if x != 0 and w != 0)
    return sum(terms, Fraction(0))


def _local_terms(case: Case, free: Motion, y: Array, _: Array) -> tuple[float, float, float]:
    """Return closing [J], a lower bound of the distance of -W'y to K*, and the size of u_free [sqrt J]."""
    W = case.arrays["A" if case.form == BOX else "W"]
    rho, length = scales(case, free.diagonal, True)
    scale = np.sqrt(rho) * length
    g = [_dot(W[:, k], y) for k in range(case.size)]
    closing, distance, bounds = -_dot(y, free.u_free), 0.0, 0.0
    for block, part in case.spans:
        parts = [float(g[k]) * scale[k] for k in range(part.start, part.stop)]
        low, high = block.bounds
        if block.kind == "free":
            distance += sum(p**2 for p in parts)
        elif block.kind == "friction":
            excess, start = parts[0], 1
            coefficients = []
            for width, mu in zip(block.groups, block.mu, strict=True):
                coefficients.append(mu / length[part.start + start])
                excess += coefficients[-1] * norm(np.array(parts[start : start + width]))
                start += width
            distance += max(0.0, excess) ** 2 / (1.0 + sum(mu**2 for mu in coefficients))
        else:
            finite = [Fraction(b) for b in (low, high) if np.isfinite(b)]
            unbounded = (high == np.inf and parts[0] > 0.0) or (low == -np.inf and parts[0] < 0.0)
            if unbounded:
                distance += parts[0] ** 2
            if finite:
                closing -= max(b * g[part.start] for b in finite)
                bounds += max(abs(float(b)) / scale[part.start] for b in finite) ** 2
    size = float(np.linalg.norm(scale * free.u_free)) + np.sqrt(bounds)
    return float(closing), float(np.sqrt(distance)), size


def _global_terms(case: Case, free: Motion, y: Array, z: Array) -> tuple[float, float, float]:
    """Return closing [J], |H y + G z| in the norm of M^-1, and the size of the free motion [sqrt J]."""
    a = case.arrays
    z = z if z.size else np.zeros(a["g_bias"].size)
    d = np.array([float(_dot(a["H"][k], y) + _dot(a["G"][k], z)) for k in range(a["f"].size)])
    closing = -(_dot(y, a["u_bias"]) + _dot(z, a["g_bias"]))
    distance = float(np.sqrt(max(0.0, d @ np.linalg.solve(a["M"], d))))
    rho, length = scales(case, free.diagonal, True)
    scale = np.sqrt(rho) * length
    v_free = np.linalg.solve(a["M"], a["f"])
    sizes = (
        np.sqrt(max(0.0, v_free @ a["M"] @ v_free)),
        np.linalg.norm(scale * free.u_free),
        np.linalg.norm(scale * a["u_bias"]),
    )
    return float(closing), distance, float(max(sizes))


def _refute_bases(case: Case) -> list[str]:
    """Return a fault if a complementary basis solves the problem, by trying all bases."""
    if any(block.kind == "friction" for block in case.blocks) or case.form == GLOBAL:
        return ["all bases are said to fail, but the problem has friction"]
    if case.size > ENUMERABLE:
        return []
    A, b = (case.arrays[name] for name in (("A", "b") if case.form == BOX else ("W", "u_free")))
    z = enumerated(A, b, [block.bounds for block, part in case.spans for _ in range(block.size)])
    return [] if z is None else [f"all bases are said to fail, but z = {z.tolist()} solves the problem"]


def enumerated(A: Array, b: Array, bounds: list[tuple[float, float]], tol: float = 1e-9) -> Array | None:
    """Return z with -(A z + b) in the normal cone of the bounds, by trying every basis; None if none is a
    solution."""
    n = b.size
    choices = [(0, *(k for k, bound in enumerate(pair, 1) if np.isfinite(bound))) for pair in bounds]
    low, high = (np.array([pair[k] for pair in bounds]) for k in (0, 1))
    for basis in product(*choices):
        free = np.array([k == 0 for k in basis], bool)
        z = np.array([0.0 if k == 0 else bounds[i][k - 1] for i, k in enumerate(basis)])
        if free.any():
            rest = -(b + A[:, ~free] @ z[~free])[free]
            z[free] = np.linalg.lstsq(A[np.ix_(free, free)], rest, rcond=None)[0]
        w = A @ z + b
        size = np.abs(A) @ np.abs(z) + np.abs(b)
        near = tol * np.abs(z).max(initial=0.0)
        inside = (z >= low - near) & (z <= high + near)
        sign = (
            np.array([abs(w[i]) if k == 0 else (-w[i] if k == 1 else w[i]) for i, k in enumerate(basis)])
            <= 1e-3 * tol * size
        )
        if n == 0 or (inside.all() and sign.all()):
            return z
    return None


def refute_solved(case: Case) -> list[str]:
    """Return a fault if SOLVED is claimed for a problem that by construction clearly has no solution."""
    if case.truth == "none" and case.closing >= 100.0 * case.tolerance:
        return [f"SOLVED, but no impulses keep contacts from closing at {case.closing:.2e} of the velocities"]
    return []


def refute_existence(case: Case, witness: Array) -> list[str]:
    """Return the faults of the witness of a claim that a solution exists: it must open every contact."""
    if case.truth == "none":
        return ["a solution is said to exist, but the problem was made without one"]
    if not case.size:
        return []
    free = motion(case, np.zeros(case.size) if case.form == GLOBAL else witness, witness)
    largest = float(free.rounding.max()) / EPS
    faults = []
    for i, (block, part) in enumerate(case.spans):
        u = free.u[part]
        start, depth = 1, float(u[0])
        for width, mu in zip(block.groups, block.mu, strict=True):
            depth -= mu * norm(u[start : start + width])
            start += width
        low, high = block.bounds
        if block.kind == "free" or (low, high) == (-np.inf, np.inf):
            if norm(u) > 1e-4 * largest:
                faults.append(f"the witness moves free block {i}")
        elif high == np.inf and low > -np.inf and depth <= 0.0:
            faults.append(f"the witness does not open block {i}: {depth:.3e}")
    return faults
