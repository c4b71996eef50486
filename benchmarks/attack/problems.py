"""Random degenerate problems with properties known by construction.

Problems of the family `made` are computed from impulses and velocities that obey the law, so they have a
solution. Others have none: self-equilibrated normal impulses (H y = 0, y >= 0) with closing velocities. For
the rest the existence of a solution is unknown.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.attack.blocks import Random, block, blocks, lawful, spread
from benchmarks.attack.cases import BOX, GLOBAL, LOCAL, NONE, SOLVABLE, UNKNOWN, Array, Block, Case
from benchmarks.attack.laws import motion

NATURAL = 1e6
"""Largest ratio of chosen impulses to those that u_free requires, for which the solution counts as known."""


def maps(rng: Random, n: int) -> Array:
    """Return a random factor J of W = J J', possibly with reduced rank or zero rows; shape (n, columns)."""
    columns = max(1, int(rng.choice([n + 2, n, max(1, n // 2), int(rng.integers(1, 7))])))
    J = rng.normal(size=(n, columns))
    if rng.random() < 0.3:
        J *= 10.0 ** rng.uniform(-4.0, 0.0, size=columns)
    if rng.random() < 0.1 and n > 1:
        J[rng.integers(n)] = 0.0
    return J


def local(W: Array, u_free: Array, K: tuple[Block, ...], family: str, **known: object) -> Case:
    """Make a local problem."""
    return Case(LOCAL, {"W": W, "u_free": u_free}, K, family, **known)  # type: ignore[arg-type]


def with_answer(W: Array, r: Array, u: Array, K: tuple[Block, ...], family: str) -> Case:
    """Make the problem with the answer r, u: u_free = u - W r; `solvable` unless r exceeds `NATURAL`."""
    u_free = u - W @ r
    pushed, required = np.abs(np.diag(W) * r).max(initial=0.0), np.abs(u_free).max(initial=0.0)
    known = {"truth": SOLVABLE, "answer": r} if pushed <= NATURAL * required else {}
    return local(W, u_free, K, family, **known)


def at_random(rng: Random) -> Case:
    """Random W, positive semidefinite of any rank, and random u_free."""
    K = blocks(rng)
    J = maps(rng, sum(b.size for b in K))
    return local(J @ J.T, rng.normal(size=J.shape[0]), K, "random")


def from_solution(rng: Random) -> Case:
    """u_free from a chosen solution, whose impulses may have very different sizes."""
    K = blocks(rng)
    J = maps(rng, sum(b.size for b in K))
    r, u = lawful(rng, K, float(rng.choice([0.0, 4.0, 8.0])))
    return with_answer(J @ J.T, r, u, K, "made")


def repeated(rng: Random) -> Case:
    """Every contact several times: W is singular, impulses are not unique."""
    K = blocks(rng, 4)
    times = int(rng.integers(2, 5))
    J = np.tile(maps(rng, sum(b.size for b in K)), (times, 1))
    r, u = lawful(rng, K)
    share = np.concatenate([np.tile(r / times, times)])
    repeats = (
        tuple(
            replace(b, lower=b.lower / times, upper=b.upper / times) if b.kind == "interval" else b for b in K
        )
        * times
    )
    return with_answer(J @ J.T, share, np.tile(u, times), repeats, "repeated")


def unsymmetric(rng: Random) -> Case:
    """A slightly or strongly unsymmetric W, and u_free from a solution."""
    K = blocks(rng)
    J = maps(rng, sum(b.size for b in K))
    W = J @ J.T
    W = W + spread(rng, 4.0) * 1e-4 * np.abs(W).max() * rng.normal(size=W.shape)
    r, u = lawful(rng, K)
    return with_answer(W, r, u, K, "unsymmetric")


def still(rng: Random) -> Case:
    """u_free zero or tiny; r = 0 is a solution."""
    K = tuple(b for b in blocks(rng) if b.kind != "interval" or b.lower <= 0.0 <= b.upper)
    J = maps(rng, sum(b.size for b in K))
    n = J.shape[0]
    u_free = np.zeros(n) if rng.random() < 0.5 else 1e-12 * np.abs(rng.normal(size=n))
    if rng.random() < 0.3:
        return local(np.zeros((n, n)), u_free, K, "still")
    return local(J @ J.T, u_free, K, "still")


def kinematic(rng: Random) -> Case:
    """A contact between bodies with prescribed motion (zero rows of W), which opens, or has no solution."""
    first = block(rng, str(rng.choice(["coulomb2d", "coulomb3d", "rolling", "nonnegative", "free"])))
    K = (first, *blocks(rng, 6))
    n = sum(b.size for b in K)
    J = maps(rng, n)
    J[: first.size] = 0.0
    r, u = lawful(rng, K)
    if rng.random() < 0.5:
        return with_answer(J @ J.T, r, u, K, "kinematic")
    u[: first.size] = 0.0
    u_free = u - J @ J.T @ r
    share = spread(rng, 6.0) * 1e-3
    u_free[0] = -share * np.abs(u_free).max(initial=0.0) if u_free.any() else -1.0
    closing = abs(u_free[0]) / np.abs(u_free).max()
    return local(J @ J.T, u_free, K, "kinematic", truth=NONE, closing=closing)


def large(rng: Random) -> Case:
    """Fifty contacts with u_free from a solution, and W of full or reduced rank."""
    K = tuple(block(rng, str(rng.choice(["coulomb3d", "coulomb2d", "nonnegative"]))) for _ in range(50))
    n = sum(b.size for b in K)
    J = rng.normal(size=(n, int(rng.choice([60, n + 10])))) / 10.0
    r, u = lawful(rng, K)
    return with_answer(J @ J.T, r, u, K, "large")


def empty(rng: Random) -> Case:
    """No contacts at all."""
    if rng.random() < 0.5:
        return local(np.zeros((0, 0)), np.zeros(0), (), "empty", truth=SOLVABLE)
    n = int(rng.integers(1, 4))
    arrays = {"M": np.eye(n), "f": rng.normal(size=n), "H": np.zeros((n, 0)), "u_bias": np.zeros(0),
              "G": np.zeros((n, 0)), "g_bias": np.zeros(0)}  # fmt: skip
    return Case(GLOBAL, arrays, (), "empty", SOLVABLE)


# -- over bodies ---------------------------------------------------------------------------------------


def masses(rng: Random, nv: int) -> Array:
    """Return a mass matrix, diagonal or full, with mass ratios up to 1e8; shape (nv, nv)."""
    m = np.array([spread(rng, float(rng.choice([0.0, 2.0, 8.0]))) for _ in range(nv)])
    if rng.random() < 0.7 or nv < 2:
        return np.diag(m)
    A = rng.normal(size=(nv, nv)) / nv
    root = np.sqrt(m)
    return root[:, None] * (np.eye(nv) + A @ A.T) * root


def bodies(rng: Random) -> Case:
    """A global problem from a solution, possibly with redundant joints."""
    K = blocks(rng, 8)
    n, nv = sum(b.size for b in K), int(rng.integers(1, 13))
    M, H, v = masses(rng, nv), rng.normal(size=(nv, n)), rng.normal(size=nv)
    p = int(rng.integers(0, min(nv, 4))) if rng.random() < 0.5 else 0
    G = rng.normal(size=(nv, p))
    if p > 1 and rng.random() < 0.4:
        G[:, -1] = G[:, 0]
    r, u = lawful(rng, K)
    arrays = {"M": M, "H": H, "G": G, "u_bias": u - H.T @ v, "g_bias": -G.T @ v,
              "f": M @ v - H @ r - G @ rng.normal(size=p)}  # fmt: skip
    pushed = np.abs(H @ r).max(initial=0.0)
    known = SOLVABLE if pushed <= NATURAL * max(np.abs(arrays["f"]).max(), 1e-300) else UNKNOWN
    return Case(GLOBAL, arrays, K, "bodies", known, r)


def column(rng: Random) -> Case:
    """A column of masses with ratios up to 1e8; with a descending lid there is no solution."""
    count, mu = int(rng.integers(1, 9)), float(rng.uniform(0.0, 1.0))
    d, lid = int(rng.integers(2, 4)), rng.random() < 0.5
    m = np.array([spread(rng, 8.0) for _ in range(count)])
    nc = count + lid
    H = np.zeros((d * count, d * nc))
    for i in range(nc):
        sign = -1.0 if i == count else 1.0
        upper = count - 1 if i == count else i
        H[d * upper : d * upper + d, d * i : d * i + d] = sign * np.eye(d)
        if 0 < i < count:
            H[d * (i - 1) : d * i, d * i : d * i + d] = -np.eye(d)
    f, bias = np.zeros((count, d)), np.zeros((nc, d))
    f[:, 0] = -m * 0.0981
    speed = 0.0981 * spread(rng, 6.0) * 1e-2
    if lid:
        bias[-1, 0] = -speed
    K = tuple(Block("friction", d, (d - 1,), (mu,)) for _ in range(nc))
    arrays = {"M": np.diag(np.repeat(m, d)), "f": f.reshape(-1), "H": H, "u_bias": bias.reshape(-1),
              "G": np.zeros((d * count, 0)), "g_bias": np.zeros(0)}  # fmt: skip
    if not lid:
        return Case(GLOBAL, arrays, K, "column", SOLVABLE, notes={"body": d})
    closing = speed / nc / max(0.0981, speed)
    notes = {"ratio": float(m.max() / m.min()), "body": d}
    return Case(GLOBAL, arrays, K, "lid", NONE, None, closing, notes=notes)


def walls(rng: Random) -> Case:
    """Two or more walls close on a body, beside other bodies and contacts: no solution, by H y = 0."""
    d, count = int(rng.integers(2, 4)), int(rng.integers(2, 5))
    normals = np.round(rng.normal(size=(count, d)) * 2.0**16) / 2.0**16
    normals[-1] = -normals[:-1].sum(axis=0)  # exact: y = (1, ..., 1)
    others = blocks(rng, 4) if rng.random() < 0.6 else ()
    n_other, nv_other = sum(b.size for b in others), int(rng.integers(1, 7))
    nv, n = d + nv_other, count * d + n_other
    K = tuple(block(rng, f"coulomb{d}d") for _ in range(count)) + others
    H = np.zeros((nv, n))
    for i, normal in enumerate(normals):
        frame = np.linalg.qr(np.column_stack([normal, rng.normal(size=(d, d - 1))]))[0]
        H[:d, d * i] = normal
        H[:d, d * i + 1 : d * i + d] = frame[:, 1:]
    H[d:, count * d :] = rng.normal(size=(nv_other, n_other))
    if others and rng.random() < 0.5:
        H[:d, count * d :] = rng.normal(size=(d, n_other))
    M = np.diag([spread(rng, 8.0)] * d + [spread(rng, 8.0) for _ in range(nv_other)])
    f = np.diag(M) * rng.normal(size=nv)
    bias = np.zeros(n)
    speed = spread(rng, 6.0) * 1e-2
    bias[: count * d : d] = -speed * rng.dirichlet(np.ones(count)) * count
    arrays = {"M": M, "f": f, "H": H, "u_bias": bias, "G": np.zeros((nv, 0)), "g_bias": np.zeros(0)}
    free = np.abs(H.T @ (f / np.diag(M)) + bias).max()
    closing = speed / max(free, np.abs(bias).max())
    return Case(GLOBAL, arrays, K, "walls", NONE, None, float(closing))


def torn(rng: Random) -> Case:
    """One joint twice with different velocities, which has no solution."""
    K = blocks(rng, 5)
    n, nv = sum(b.size for b in K), int(rng.integers(2, 8))
    M, H = masses(rng, nv), rng.normal(size=(nv, n))
    G = np.round(rng.normal(size=(nv, 2)) * 2.0**16) / 2.0**16
    G[:, 1] = G[:, 0]
    f, bias = M @ rng.normal(size=nv), rng.normal(size=n)
    g = np.array([0.0, spread(rng, 6.0) * 1e-2]) + rng.normal()
    arrays = {"M": M, "f": f, "H": H, "u_bias": bias, "G": G, "g_bias": g}
    v_free = np.linalg.solve(M, f)
    largest = max(np.abs(G.T @ v_free).max(), np.abs(g).max(), np.abs(H.T @ v_free + bias).max())
    return Case(GLOBAL, arrays, K, "torn", NONE, None, float(abs(g[1] - g[0]) / 2.0 / largest))


def wedge(rng: Random) -> Case:
    """A point between closing walls that lean out by alpha: squeezed out, or jammed if mu > tan alpha."""
    alpha, m, speed = rng.uniform(0.1, 1.2), spread(rng, 6.0), spread(rng, 4.0)
    mu = float(np.tan(alpha) * rng.choice([rng.uniform(0.1, 0.9), rng.uniform(1.1, 4.0)]))
    c, s = np.cos(alpha), np.sin(alpha)
    left, right = np.array([[c, s], [-s, c]]), np.array([[-c, s], [s, c]])
    H = np.hstack([left.T, right.T])
    bias = -speed * np.concatenate([left @ [1.0, 0.0], right @ [-1.0, 0.0]])
    K = (Block("friction", 2, (1,), (mu,)),) * 2
    arrays = {"M": m * np.eye(2), "f": np.array([0.0, -0.1 * m * speed]), "H": H, "u_bias": bias,
              "G": np.zeros((2, 0)), "g_bias": np.zeros(0)}  # fmt: skip
    jammed = mu > np.tan(alpha)
    # Jammed: the point cannot slip upwards (m V <= f < 0) and sticks downwards; the walls close at cos alpha.
    # Friction reduced by (mu - tan alpha) / mu would free it; half of this margin bounds the closing speed.
    spare = 0.5 * (mu - np.tan(alpha)) / mu / np.hypot(1.0, mu)
    closing = float(min(c / 1.1, spare)) if jammed else 0.0
    return Case(GLOBAL, arrays, K, "wedge", NONE if jammed else SOLVABLE, None, closing)


# -- boxes ---------------------------------------------------------------------------------------------


def box(rng: Random) -> Case:
    """A box problem (LCP, mixed, relay), mostly from a solution; A of any sign, with zero and skew parts."""
    n = 1 + min(int(rng.geometric(0.2)) - 1, 11)
    kinds = (("nonnegative",), ("nonnegative", "free"), ("interval",), ("nonnegative", "interval", "free"))
    K = tuple(replace(block(rng, str(rng.choice(kinds[int(rng.integers(4))]))), size=1) for _ in range(n))
    J = rng.normal(size=(n, int(rng.integers(1, n + 2))))
    skew = rng.normal(size=(n, n))
    A = {
        0: J @ J.T, 1: J @ J.T + skew - skew.T, 2: skew - skew.T, 3: rng.normal(size=(n, n)), 4: -J @ J.T,
        5: np.zeros((n, n)), 6: J @ J.T + np.eye(n),
    }[int(rng.integers(7))]  # fmt: skip
    z, w = lawful(rng, K)
    low, high = (np.array([b.bounds[k] for b in K]) for k in (0, 1))
    arrays = {"A": A, "b": w - A @ z, "lower": low, "upper": high}
    pushed, required = np.abs(np.diag(A) * z).max(), np.abs(arrays["b"]).max()
    if rng.random() < 0.25:
        arrays["b"] = rng.normal(size=n)
        return Case(BOX, arrays, K, "box")
    return Case(BOX, arrays, K, "box", SOLVABLE if pushed <= NATURAL * required else UNKNOWN, z)


def shut_box(rng: Random) -> Case:
    """A row of A without positive entries and with b_i < 0: w_i < 0 for every z >= 0, so no solution."""
    n = int(rng.integers(1, 8))
    A = rng.normal(size=(n, n))
    i = int(rng.integers(n))
    A[i] = -np.abs(A[i]) * (rng.random(n) < 0.7)
    b = rng.normal(size=n)
    b[i] = -spread(rng, 4.0) * 0.1
    K = (Block("nonnegative", 1, (), (), 0.0, np.inf),) * n
    arrays = {"A": A, "b": b, "lower": np.zeros(n), "upper": np.full(n, np.inf)}
    return Case(BOX, arrays, K, "shut box", NONE, None, float(-b[i] / np.abs(b).max()))


FAMILIES: tuple[tuple[Callable[[Random], Case], float], ...] = (
    (at_random, 12), (from_solution, 14), (repeated, 8), (unsymmetric, 6), (still, 3), (kinematic, 5),
    (large, 0.3), (empty, 0.5), (bodies, 12), (column, 6), (walls, 8), (torn, 3), (wedge, 3),
    (box, 15), (shut_box, 4),
)  # fmt: skip
"""Generators and their relative frequencies."""


def problem(rng: Random) -> Case:
    """Return a random case, in random units, with a tolerance and possibly an initial guess."""
    weights = np.array([weight for _, weight in FAMILIES], float)
    case = FAMILIES[int(rng.choice(len(FAMILIES), p=weights / weights.sum()))][0](rng)
    if rng.random() < 0.4 and case.form == GLOBAL and not case.arrays["g_bias"].size and case.size:
        case = reduced(case)
    if rng.random() < 0.4:
        case = in_units(case, spread(rng, 18.0), spread(rng, 18.0), spread(rng, 6.0))
    case = replace(
        case, tolerance=float(rng.choice([1e-3, 1e-6, 1e-8, 1e-10, 1e-13], p=[0.1, 0.2, 0.45, 0.2, 0.05]))
    )
    return replace(case, guess=_guess(rng, case), closing=_closing(case))


def _closing(case: Case) -> float:
    """Return `closing` relative to the velocities that bounds of intervals can cause, if they are larger."""
    if case.truth != NONE or case.form == BOX:
        return case.closing
    free = motion(case, np.zeros(case.size), np.zeros(case.arrays["f"].size) if case.form == GLOBAL else None)
    bounds = [
        abs(free.diagonal[part.start] * bound)
        for b, part in case.spans if b.kind == "interval" for bound in b.bounds if np.isfinite(bound)
    ]  # fmt: skip
    V = float(np.abs(free.u_free).max())
    return case.closing * V / max(V, *bounds) if bounds else case.closing


def _guess(rng: Random, case: Case) -> Array | None:
    """Return an initial guess: None, the answer or a vector near it, or a random one of any size."""
    n, which = case.size, rng.random()
    if which < 0.6 or not n:
        return None
    size = 1.0 if case.answer is None else float(np.abs(case.answer).max()) or 1.0
    if case.answer is not None and which < 0.8:
        return case.answer + float(rng.choice([0.0, 1e-9, 1e-3])) * size * rng.normal(size=n)
    return float(rng.choice([1.0, 1e3, 1e8, 1e12], p=[0.6, 0.2, 0.1, 0.1])) * size * rng.normal(size=n)


def reduced(case: Case) -> Case:
    """Convert a global problem without joints to local form: W = H' M^-1 H."""
    a = case.arrays
    W = a["H"].T @ np.linalg.solve(a["M"], a["H"])
    u_free = a["H"].T @ np.linalg.solve(a["M"], a["f"]) + a["u_bias"]
    return replace(case, form=LOCAL, arrays={"W": W, "u_free": u_free})


def in_units(case: Case, push: float, speed: float, length: float) -> Case:
    """Scale a case: impulses by `push`, velocities by `speed` and rolling moments by `length`."""
    lever = np.concatenate([np.zeros(0), *(
        np.array([1.0] * (1 + b.groups[0]) + [length] * sum(b.groups[1:])) if b.groups else np.ones(b.size)
        for b in case.blocks
    )])  # fmt: skip
    K = tuple(
        replace(b, mu=(b.mu[0], *(length * mu for mu in b.mu[1:]))) if b.groups
        else replace(b, lower=push * b.lower, upper=push * b.upper) if b.kind == "interval" else b
        for b in case.blocks
    )  # fmt: skip
    a = case.arrays
    if case.form == GLOBAL:
        arrays = {
            "M": a["M"] * (push / speed), "f": push * a["f"], "H": a["H"] / lever,
            "u_bias": speed * a["u_bias"] / lever, "G": a["G"], "g_bias": speed * a["g_bias"],
        }  # fmt: skip
    elif case.form == LOCAL:
        W = a["W"] * (speed / push) / np.outer(lever, lever)
        arrays = {"W": W, "u_free": speed * a["u_free"] / lever}
    else:
        arrays = {"A": a["A"] * (speed / push), "b": speed * a["b"],
                  "lower": push * a["lower"], "upper": push * a["upper"]}  # fmt: skip
    answer = None if case.answer is None else push * lever * case.answer
    return replace(case, arrays=arrays, blocks=K, answer=answer)
