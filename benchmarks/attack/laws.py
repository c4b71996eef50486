"""The contact law in independent formulas: consequences of SOLVED at a tolerance, block by block.

A solver claims |e| <= tol S, where e = x - P_K(x - y_hat) is the natural map in the scaled impulses x and
velocities y, y_hat = y + (sum_k mu_k |y_k|) e_N, and S the largest of |x|, |y| and |y_free|. No projection is
made here. With E = tol S, Moreau's decomposition gives, for every block (x_N, x_k) and its (y_N, y_k):

    cone          |x_k| - mu_k x_N                <= E (1 + mu_k²)^½
    separation    -y_N                            <= E (1 + sum mu_k²)^½
    normal power  |x_N y_N|                       <= B
    dissipation   |mu_k x_N |y_k| + x_k·y_k|      <= B        (maximal dissipation: r_k against u_k)

    B = E (|x| + |y_hat| + 3 E + |y_N| + (1 + sum mu_k²)^½ |x_N| + sum_k (1 + mu_k²)^½ |y_k|)

because p = x - e lies in K, y_hat - e in K*, and p·(y_hat - e) = 0; so x·y_hat is at most
E (|x| + |y_hat| + 3 E), and each of its terms is at least minus what the first two lines leave. Free blocks
have |y| <= E; an interval has x within E of its bounds, and y beyond E only with x within E of the bound that
y presses against. To E the rounding of u is added. The scales are those that the documentation states for
`natural` (all 1) and `natural_scaled` (rho = 1 / mean diagonal, a length for rolling and torsion).

Every contact must also obey the law on its own scale, so that small impulses count beside large ones and
large impulses hide no velocity: with V the largest free velocity and rho' = max(|x|, rho V) / V in place of
rho, E is 100 tol rho' V. So a sticking contact slides, and a pressing contact opens or closes, by at most
100 tol V.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.attack.cases import BOX, GLOBAL, Array, Block, Case

EPS = float(np.finfo(float).eps)
SLACK = 1.0 + 1e-6
"""Factor on bounds for the rounding of scales and norms [-]."""
SINGLE = 100.0
"""Error of a single contact on its own scale, over the tolerance, that the documentation allows an answer."""
CLOSING = 0.1
"""Largest allowed error of a single contact, whatever the tolerance [-]."""
LOST = 1e-14
"""Additional allowance for the rounding of W r, over W_ii times the largest impulse [-]."""
MOST_LOST = 1e-4
"""Upper limit of this allowance, over the largest free velocity [-]."""


@dataclass(frozen=True)
class Motion:
    """Impulses of an answer, with recomputed velocities."""

    r: Array
    """Impulses [N s], shape (n,)."""
    u: Array
    """Contact velocities [m/s], shape (n,), extended precision."""
    u_free: Array
    """Contact velocities without impulses [m/s], shape (n,)."""
    rounding: Array
    """Bound on the rounding of u in double precision [m/s], shape (n,)."""
    diagonal: Array
    """Diagonal of W [1/kg], shape (n,)."""


def wide(x: Array) -> Array:
    """Convert to extended precision."""
    return np.asarray(x, np.longdouble)


def motion(case: Case, r: Array, v: Array | None) -> Motion:
    """Compute u = W r + u_free, or H'v + u_bias with the velocities of the answer."""
    a = case.arrays
    if case.form == GLOBAL:
        assert v is not None
        v_free = np.linalg.solve(a["M"], a["f"]) if a["f"].size else a["f"]
        u = wide(a["H"]).T @ wide(v) + a["u_bias"]
        size = np.abs(a["H"]).T @ np.abs(v) + np.abs(a["u_bias"])
        diagonal = (
            np.einsum("vn,vn->n", a["H"], np.linalg.solve(a["M"], a["H"])) if v.size else np.zeros(r.size)
        )
        return Motion(r, u, a["H"].T @ v_free + a["u_bias"], (v.size + 4) * EPS * size, diagonal)
    W, u_free = (a["A"], a["b"]) if case.form == BOX else (a["W"], a["u_free"])
    u = wide(W) @ wide(r) + u_free
    size = np.abs(W) @ np.abs(r) + np.abs(u_free)
    return Motion(r, u, u_free, (r.size + 4) * EPS * size, np.diag(W))


def scales(case: Case, diagonal: Array, unit_free: bool) -> tuple[Array, Array]:
    """Return rho [kg] and length [m] of each component, shape (n,) each; both are 1 unless `unit_free`."""
    n = case.size
    rho, length = np.ones(n), np.ones(n)
    if not unit_free:
        return rho, length
    if case.form == BOX:
        size = np.abs(diagonal)
        known = size > 0.0
        rho[:] = known.sum() / size.sum() if known.any() else 1.0
        rho[known] = 1.0 / size[known]
        return rho, length
    means = []
    for block, part in case.spans:
        size = np.abs(diagonal[part])
        means.append(float(size[: 1 + block.groups[0]].mean() if block.groups else size.mean()))
    known = [mean for mean in means if mean > 0.0]
    for mean, (block, part) in zip(means, case.spans, strict=True):
        rho[part] = 1.0 / mean if mean > 0.0 else (len(known) / sum(known) if known else 1.0)
        start = part.start + 1 + (block.groups[0] if block.groups else 0)
        for width in block.groups[1:]:
            group = float(np.abs(diagonal[start : start + width]).mean())
            if group > 0.0 and mean > 0.0:
                length[start : start + width] = np.sqrt(mean / group)
            start += width
    return rho, length


def refute(case: Case, r: Array, v: Array | None, lam: Array | None, shifted: bool = True) -> list[str]:
    """Return the reasons why the answer does not solve the problem at the tolerance of the case.

    `shifted=False` checks the convex relaxation, without De Saxcé's shift.
    """
    if not all(np.isfinite(x).all() for x in (r, v, lam) if x is not None):
        return ["the answer is not finite"]
    if not case.size and case.form != GLOBAL:
        return []
    answer = motion(case, r, v)
    faults = _equations(case, r, v, lam) if case.form == GLOBAL else []
    for unit_free in (False, True):
        faults += _laws(case, answer, unit_free, shifted)
    if case.form != BOX:
        faults += _approach(case, answer)
    return faults


def _laws(case: Case, answer: Motion, unit_free: bool, shifted: bool) -> list[str]:
    """Check the inequalities of the module docstring for all blocks, in one of the two scales."""
    if not case.size:
        return []
    rho, length = scales(case, answer.diagonal, unit_free)
    x, y = wide(answer.r) / length, rho * length * answer.u
    y_free, rounding = rho * length * answer.u_free, rho * length * answer.rounding
    name = "unit-free" if unit_free else "as given"
    if case.form == BOX:  # largest components in place of norms; as given at least 1
        size = max(np.abs(z).max() for z in (x, y, y_free)) if unit_free else max(1.0, np.abs(y_free).max())
    else:
        size = max(np.linalg.norm(z.astype(float)) for z in (x, y, y_free))
    friction = max((1.0 + sum(block.mu) for block in case.blocks), default=1.0)
    noise = friction * np.linalg.norm(rounding) + 16.0 * EPS * friction * size
    E = float(case.tolerance * size * SLACK + noise)
    each = unit_free and shifted and case.form != BOX  # also check each contact on its own scale
    V = _largest_free(case, answer, length) if each else 0.0
    big = LOST * float(np.abs(x).max())
    lost = rho * np.minimum(big * np.abs(answer.diagonal), MOST_LOST * V)
    faults = []
    for i, (block, part) in enumerate(case.spans):
        parts = _coefficients(block, length[part])
        reasons = _block(block, parts, wide(x[part]), wide(y[part]), E, shifted)
        if each:
            scale = max(norm(x[part]), float(rho[part.start]) * V)
            factor = scale / (float(rho[part.start]) * V) if V > 0.0 else 1.0
            E_own = single(case.tolerance) * scale * SLACK + big
            E_own += (
                friction * factor * (norm(rounding[part]) + lost[part.start]) + 16.0 * EPS * friction * scale
            )
            own_y = factor * wide(y[part])
            reasons += [
                f"own scale: {one}" for one in _block(block, parts, wide(x[part]), own_y, E_own, True)
            ]
        faults += [f"block {i} ({block.kind}), {name}: {one}" for one in reasons]
    return faults


def single(tolerance: float) -> float:
    """Allowed error of a single contact on its own scale [-]."""
    return max(tolerance, min(CLOSING, SINGLE * tolerance))


def _largest_free(case: Case, answer: Motion, length: Array) -> float:
    """Largest free velocity of a contact, or velocity caused by a finite bound of an interval [m/s]."""
    V = 0.0
    for block, part in case.spans:
        V = max(V, norm(length[part] * answer.u_free[part]))
        for bound in block.bounds if block.kind == "interval" else ():
            if np.isfinite(bound):
                V = max(V, abs(float(answer.diagonal[part.start]) * bound))
    return V


def _coefficients(block: Block, length: Array) -> list[tuple[slice, float]]:
    """Return components and scaled coefficient of every group."""
    out, start = [], 1
    for width, mu in zip(block.groups, block.mu, strict=True):
        out.append((slice(start, start + width), mu / float(length[start])))
        start += width
    return out


def _block(
    block: Block, groups: list[tuple[slice, float]], x: Array, y: Array, E: float, shifted: bool
) -> list[str]:
    """Return the faults of the scaled impulse x and velocity y of one block."""
    if block.kind == "free":
        return _over("velocity of a free block", float(np.linalg.norm(y.astype(float))), E)
    if block.kind != "friction":
        low, high = block.bounds
        return _interval(float(x[0]), float(y[0]), low, high, E)
    norms = [(part, mu, norm(x[part]), norm(y[part])) for part, mu in groups]
    shift = sum(mu * speed for _, mu, _, speed in norms) if shifted else 0.0
    total = np.sqrt(1.0 + sum(mu**2 for _, mu, *_ in norms))
    y_hat = norm(np.concatenate([[y[0] + shift], y[1:]]))
    B = E * (norm(x) + y_hat + 3.0 * E + abs(float(y[0])) + total * abs(float(x[0])))
    B += E * sum(np.sqrt(1.0 + mu**2) * speed for _, mu, _, speed in norms)
    faults = []
    for k, (_, mu, push, _) in enumerate(norms):
        faults += _over(f"cone of group {k}", push - mu * float(x[0]), E * np.sqrt(1.0 + mu**2))
    if not shifted:
        depth = float(y[0]) - sum(mu * speed for _, mu, _, speed in norms)
        faults += _over("relaxed separation", -depth, E * total)
        return faults + _over("relaxed power", abs(float(x @ y)), B)
    faults += _over("closing speed", -float(y[0]), E * total)
    faults += _over("normal power", abs(float(x[0] * y[0])), B)
    for k, (part, mu, _, speed) in enumerate(norms):
        defect = float(mu * x[0] * speed + x[part] @ y[part])
        faults += _over(f"dissipation of group {k}", abs(defect), B)
    return faults


def _interval(x: float, y: float, low: float, high: float, E: float) -> list[str]:
    """Check that -y is in the normal cone of [low, high] at x, up to E."""
    faults = _over("lower bound", low - x, E) + _over("upper bound", x - high, E)
    if y > 0.0:
        return faults + _over("positive velocity away from the lower bound", min(y, x - low), E)
    return faults + _over("negative velocity away from the upper bound", min(-y, high - x), E)


def _over(name: str, value: float, bound: float) -> list[str]:
    """Return a fault if the value exceeds the bound."""
    return [] if value <= bound else [f"{name} {value:.3e} exceeds {bound:.3e}"]


def norm(x: Array) -> float:
    """Euclidean norm, without overflow of squares."""
    big = float(np.abs(x).max(initial=0.0))
    return big * float(np.linalg.norm((x / big).astype(float))) if 0.0 < big < np.inf else big


def _equations(case: Case, r: Array, v: Array | None, lam: Array | None) -> list[str]:
    """Check M v = f + H r + G lam and G'v + g_bias = 0, relative to the size of their terms."""
    a, tol = case.arrays, case.tolerance * SLACK
    assert v is not None
    G, g = a["G"], a["g_bias"]
    lam = np.zeros(g.size) if lam is None else lam
    Mv, pushed = wide(a["M"]) @ wide(v), wide(a["H"]) @ wide(r) + wide(G) @ wide(lam)
    terms = np.abs(a["M"]) @ np.abs(v) + np.abs(a["f"]) + np.abs(a["H"]) @ np.abs(r)
    terms = terms + np.abs(G) @ np.abs(lam)
    noise = 8.0 * (v.size + r.size + lam.size) * EPS * np.linalg.norm(terms)
    size = max(norm(Mv), norm(a["f"]), norm(pushed))
    faults = _over("equilibrium", norm(Mv - a["f"] - pushed), tol * size + noise)
    mass = np.diag(a["M"])
    if (a["M"] == np.diag(mass)).all() and v.size:  # as velocities: a light body beside a heavy one
        alone = np.einsum("vn,vn->n", a["H"] / mass[:, None], a["H"]) * r
        sizes = max(norm(v), norm(a["f"] / mass), norm(alone))
        noise = 8.0 * (v.size + r.size + lam.size) * EPS * norm(terms / mass)
        faults += _over("equilibrium of velocities", norm(v - (a["f"] + pushed) / mass), tol * sizes + noise)
    if g.size:
        v_free = np.linalg.solve(a["M"], a["f"])
        scale = max(norm(g), norm(np.abs(G).T @ np.abs(v)), norm(np.abs(G).T @ np.abs(v_free)))
        error = norm(wide(G).T @ wide(v) + g)
        faults += _over("joints", error, tol * scale + 8.0 * v.size * EPS * scale)
    return faults


def _approach(case: Case, answer: Motion) -> list[str]:
    """Check that no contact closes, and no free block moves, faster than a share of the free velocity."""
    scale, worst, big = 0.0, 0.0, 0.0
    for block, part in case.spans:
        sliding = slice(part.start, part.start + 1 + block.groups[0]) if block.groups else part
        scale = max(scale, float(np.abs(answer.u_free[sliding]).max()))
        big = max(big, float(np.abs(answer.r[part] if block.kind == "free" else answer.r[part.start]).max()))
        for bound in block.bounds if block.kind == "interval" else ():
            if np.isfinite(bound):
                scale = max(scale, abs(float(answer.diagonal[part.start]) * bound))
    for block, part in case.spans:
        for k in range(part.start, part.stop if block.kind == "free" else part.start + 1):
            low, high = block.bounds
            speed = float(-answer.u[k]) if high == np.inf else 0.0
            speed = max(speed, float(answer.u[k])) if low == -np.inf else speed
            lost = LOST * abs(answer.diagonal[k]) * big + float(answer.rounding[k])
            if speed > min(lost, MOST_LOST * scale) * SLACK:
                worst = max(worst, speed - float(answer.rounding[k]))
    return _over("speed that no impulse may leave", worst, single(case.tolerance) * scale * SLACK)
