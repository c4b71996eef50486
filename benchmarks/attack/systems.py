"""Random linear systems of equations as plain numbers, and conditions that their runs must satisfy.

Mechanics: M v̇ = F - K q + H lam with gaps y = C q, H = C'; one contact of `blocks` after another, each with
its normal first. First order: ẋ = A x + b + B lam, y = C x + D lam + e. Nothing here imports stickslip. The
equations that each scheme states are in the documentation and are checked as they stand, records one after
another; E is what the tolerance leaves.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.attack.blocks import Random, spread

Array = np.ndarray
SECOND = ("moreau-jean", "schatzman-paoli", "variational", "event-driven", "compliant")


@dataclass(frozen=True)
class Plan:
    """A system and the settings of its run."""

    family: str
    arrays: dict[str, Array]
    """M, F, K, C, q0, v0 of mechanics; A, b, B, C, D, e, x0 of first order."""
    dimension: int
    """Number of components of each contact; 1 without friction."""
    mu: float
    e: float
    lower: float
    """Lower bound of lam in first order."""
    upper: float
    """Upper bound of lam in first order."""
    h: float
    """Step [s]."""
    steps: int
    scheme: str
    options: dict[str, Any] = field(default_factory=dict)
    solver: str = "auto"
    tolerance: float = 1e-10
    impact: str = "newton"
    """Law of restitution: newton or poisson."""

    @property
    def exact(self) -> bool:
        """Whether the scheme solves the exact laws."""
        return self.scheme != "compliant"


@dataclass(frozen=True)
class Record:
    """A run as plain arrays over its n records."""

    t: Array
    q: Array
    v: Array
    r: Array
    u: Array
    y: Array
    active: Array
    ok: Array


def plan(rng: Random) -> Plan:
    """Return a random system with a scheme."""
    if rng.random() < 0.25:
        return first_order(rng)
    mechanics = masses(rng) if rng.random() < 0.55 else block(rng)
    poisson = mechanics.scheme == "moreau-jean" and rng.random() < 0.15
    return replace(mechanics, impact="poisson", solver="auto") if poisson else mechanics


def _method(rng: Random) -> tuple[str, dict[str, Any], str]:
    """Return a random scheme of mechanics, its options and a solver."""
    scheme = str(rng.choice(SECOND, p=[0.42, 0.17, 0.22, 0.15, 0.04]))
    options: dict[str, Any] = {}
    if scheme == "moreau-jean":
        options = {"theta": float(rng.choice([0.5, 1.0, rng.uniform(0.5, 1.0)]))}
        if rng.random() < 0.2:
            options["variant"] = str(rng.choice(["complete", "semi-explicit"]))
    solver = (
        "auto"
        if scheme != "moreau-jean"
        else str(rng.choice(["auto", "nsgs", "newton-ac"], p=[0.8, 0.1, 0.1]))
    )
    return scheme, options, solver


def masses(rng: Random) -> Plan:
    """A column of masses on a vertical line above the ground, possibly with springs between them."""
    n = int(rng.integers(1, 5))
    scheme, options, solver = _method(rng)
    m = np.array([spread(rng, float(rng.choice([0.0, 4.0]))) for _ in range(n)])
    gaps = rng.choice([0.0, 1.0], p=[0.25, 0.75], size=n) * rng.uniform(0.0, 0.05, size=n)
    C = np.eye(n) - np.eye(n, k=-1)
    K = np.zeros((n, n))
    if rng.random() < 0.3:
        K = spread(rng, 1.0) * 10.0 * C.T @ np.diag(rng.random(n)) @ C * m.min()
    e = float(rng.choice([0.0, rng.uniform(0.1, 0.9), 1.0], p=[0.5, 0.4, 0.1]))
    arrays = {
        "M": np.diag(m),
        "F": -9.81 * m,
        "K": K,
        "C": C,
        "q0": np.cumsum(gaps),
        "v0": rng.normal(size=n),
    }
    return Plan("masses", arrays, 1, 0.0, e, 0.0, np.inf, float(rng.choice([1e-3, 5e-3])),
                int(rng.integers(5, 40)), scheme, options, solver)  # fmt: skip


def block(rng: Random) -> Plan:
    """A point mass on a slope with friction, in two or three dimensions."""
    d = int(rng.integers(2, 4))
    scheme, options, solver = _method(rng)
    m, slope = spread(rng, 4.0), rng.uniform(0.0, 1.2)
    F = m * 9.81 * np.array([-np.cos(slope), np.sin(slope), 0.0])[:d]
    gap = float(rng.choice([0.0, rng.uniform(0.0, 0.03)]))
    speed = float(rng.choice([0.0, 1e-8, 1.0])) * rng.normal(size=d)
    mu = float(rng.choice([0.0, np.tan(slope), rng.uniform(0.05, 1.5)], p=[0.1, 0.1, 0.8]))
    e = float(rng.choice([0.0, rng.uniform(0.1, 0.9)]))
    arrays = {"M": m * np.eye(d), "F": F, "K": np.zeros((d, d)), "C": np.eye(d),
              "q0": np.array([gap] + [0.0] * (d - 1)), "v0": speed}  # fmt: skip
    return Plan("block", arrays, d, mu, e, 0.0, np.inf, float(rng.choice([1e-3, 5e-3])),
                int(rng.integers(5, 40)), scheme, options, solver)  # fmt: skip


def first_order(rng: Random) -> Plan:
    """A passive circuit with diodes or relays: A negative, B = C', D positive semidefinite."""
    n, m = int(rng.integers(1, 5)), int(rng.integers(1, 3))
    S, J = rng.normal(size=(n, n)), rng.normal(size=(n, n))
    C = rng.normal(size=(m, n))
    D = np.diag(rng.choice([0.0, 1.0], size=m) * rng.random(m))
    relay = rng.random() < 0.5
    x0 = rng.normal(size=n)
    e = np.zeros(m) if relay else rng.random(m) * rng.integers(0, 2, size=m) - C @ x0  # y >= 0 at the start
    arrays = {"A": S - S.T - J @ J.T, "b": rng.normal(size=n), "B": C.T, "C": C, "D": D, "e": e, "x0": x0}
    options = {} if rng.random() < 0.6 else {"theta": 0.5, "gamma": 1.0, "relation": "end"}
    if rng.random() < 0.2:
        options = {"theta": 0.5, "gamma": 0.5, "relation": "gamma"}
    low, high = (-1.0, 1.0) if relay else (0.0, np.inf)
    h, family = float(rng.choice([1e-3, 1e-2])), "relay" if relay else "circuit"
    steps = int(rng.integers(5, 40))
    return Plan(family, arrays, 1, 0.0, 0.0, low, high, h, steps, "euler-moreau", options)


def refute(plan: Plan, run: Record) -> list[str]:
    """Return the faults of the steps of a run that claims `ok`."""
    if not (np.isfinite(run.q).all() and np.isfinite(run.v).all()):
        return ["states are not finite"]
    check = {
        "moreau-jean": _moreau_jean, "schatzman-paoli": _schatzman_paoli, "variational": _variational,
        "event-driven": _event_driven, "euler-moreau": _euler_moreau,
    }[plan.scheme]  # fmt: skip
    faults: list[str] = []
    for k in range(1, run.t.size):
        if run.ok[k]:
            faults += [f"step {k}: {one}" for one in check(plan, run, k)]
        if len(faults) > 8:
            break
    return faults


def _over(name: str, value: Array | float, bound: float) -> list[str]:
    """Return a fault if the value, or the largest of several, exceeds the bound."""
    worst = float(np.max(value, initial=-np.inf)) if np.ndim(value) else float(value)  # type: ignore[arg-type]
    return [] if worst <= bound else [f"{name} {worst:.3e} exceeds {bound:.3e}"]


def _sizes(plan: Plan, run: Record, k: int, h: float) -> tuple[float, float, float]:
    """Return the size of velocities, of momenta, and of the error of momenta allowed by the tolerance."""
    a = plan.arrays
    speed = float(np.abs(run.v[k - 1 : k + 1]).max()) + h * float(np.abs(a["F"] / np.diag(a["M"])).max())
    size = float(np.diag(a["M"]).max()) * speed + float(np.abs(run.r[k]).max())
    return speed, size, 1e2 * plan.tolerance * size


def _law(plan: Plan, r: Array, w: Array, active: Array, E: float, weight: float) -> list[str]:
    """Check the law on impulses r and velocities w: cone, w_N >= 0, complementarity, maximal dissipation.

    weight: mass that scales w to an impulse.
    """
    d, faults = plan.dimension, []
    for i in range(r.size // d):
        p, y = r[i * d : i * d + d], weight * w[i * d : i * d + d]
        if not active[i]:
            faults += _over("impulse of an open contact", float(np.abs(p).max()), E)
            continue
        slip, push = float(np.linalg.norm(y[1:])), float(np.linalg.norm(p[1:]))
        B = E * (float(np.linalg.norm(p)) + 2.0 * float(np.linalg.norm(y)) + 3.0 * E) * (2.0 + plan.mu)
        faults += _over("pull", -p[0], E) + _over(
            "friction beyond the cone", push - plan.mu * p[0], E * (1.0 + plan.mu)
        )
        faults += _over("closing", -y[0], E * (1.0 + plan.mu))
        if plan.impact == "poisson":  # each of the two phases has its own law
            continue
        faults += _over("normal power", abs(p[0] * y[0]), B)
        faults += _over("dissipation", abs(plan.mu * p[0] * slip + p[1:] @ y[1:]), B)
    return faults


def _moreau_jean(plan: Plan, run: Record, k: int) -> list[str]:
    """Check position, momentum, the law and the gap of a step of Moreau-Jean."""
    a, h = plan.arrays, float(run.t[k] - run.t[k - 1])
    theta = plan.options.get("theta", 0.5)
    speed, size, E = _sizes(plan, run, k, h)
    q, Q, v, V = run.q[k - 1], run.q[k], run.v[k - 1], run.v[k]
    faults = _over(
        "position", np.abs(Q - q - h * (theta * V + (1 - theta) * v)), 1e-9 * (np.abs(q).max() + h * speed)
    )
    if plan.options.get("variant") != "semi-explicit" or not a["K"].any():
        force = a["F"] - a["K"] @ (theta * Q + (1 - theta) * q)
        error = a["M"] @ (V - v) - h * force - a["C"].T @ run.r[k]
        faults += _over("momentum", np.abs(error), 1e-8 * size)
    d = plan.dimension
    u, before = a["C"] @ V, a["C"] @ v
    w = u.copy()
    if plan.impact == "newton":
        w[::d] += plan.e * np.minimum(before[::d], 0.0)
    weight = float(np.diag(a["M"]).min())
    S = weight * float(np.abs(before).max())
    E = 10.0 * E + 1e2 * plan.tolerance * S
    # Contacts that are active only by the threshold obey the law on u_N + y_m / h, y_m the forecast gap.
    ahead = np.maximum((a["C"] @ (q + 0.5 * h * v))[::d], 0.0) / h
    for i in range(w.size // d):
        part = slice(i * d, i * d + d)
        later = w[part] + np.eye(d)[0] * ahead[i]
        candidates = [
            _law(plan, run.r[k, part], y, run.active[k, i : i + 1], E, weight) for y in (w[part], later)
        ]
        faults += min(candidates, key=len)
    fastest = float(np.abs(run.v[: k + 1]).max()) + speed
    return faults + _over("gap", -(a["C"] @ Q)[::d], 2.0 * h * (2.0 * fastest + 9.81 * h))


def _variational(plan: Plan, run: Record, k: int) -> list[str]:
    """Check position, momentum, gap and cones of a step of the variational scheme."""
    a, h = plan.arrays, float(run.t[k] - run.t[k - 1])
    speed, size, E = _sizes(plan, run, k, h)
    q, Q, v, V = run.q[k - 1], run.q[k], run.v[k - 1], run.v[k]
    faults = _over("position", np.abs(Q - q - h * V), 1e-9 * (np.abs(q).max() + h * speed))
    before = 0.0 if k == 1 else float(run.t[k - 1] - run.t[k - 2])
    kick = 0.5 * (before + h) * (a["F"] - a["K"] @ q)
    faults += _over("momentum", np.abs(a["M"] @ (V - v) - kick - a["C"].T @ run.r[k]), 1e-8 * size)
    d, r = plan.dimension, run.r[k]
    faults += _over("gap", -(a["C"] @ Q)[::d], 1e-6 * h * speed + 1e-12)
    for i in range(r.size // d):
        p = r[i * d : i * d + d]
        faults += _over("pull", -p[0], 10.0 * E)
        faults += _over(
            "friction beyond the cone",
            float(np.linalg.norm(p[1:])) - plan.mu * p[0],
            10.0 * E * (1 + plan.mu),
        )
    return faults


def _schatzman_paoli(plan: Plan, run: Record, k: int) -> list[str]:
    """Check the cones of a step, and from the second step the gaps at (q⁺ + e q⁻) / (1 + e) and momentum."""
    a, h, d = plan.arrays, float(run.t[k] - run.t[k - 1]), plan.dimension
    speed, size, E = _sizes(plan, run, k, h)
    r = run.r[k]
    faults = []
    for i in range(r.size // d):
        p = r[i * d : i * d + d]
        faults += _over("pull", -p[0], 10.0 * E)
        faults += _over(
            "friction beyond the cone",
            float(np.linalg.norm(p[1:])) - plan.mu * p[0],
            10.0 * E * (1 + plan.mu),
        )
    if k < 2:
        return faults
    gap = (a["C"] @ (run.q[k] + plan.e * run.q[k - 2]) / (1.0 + plan.e))[::d]
    faults += _over("gap", -gap, 1e-6 * h * speed + 1e-12)
    acceleration = run.q[k] - 2.0 * run.q[k - 1] + run.q[k - 2]
    if not a["K"].any():
        error = a["M"] @ acceleration - h * h * a["F"] - h * a["C"].T @ r
        faults += _over("momentum", np.abs(error), 1e-7 * h * size)
    return faults


def _event_driven(plan: Plan, run: Record, k: int) -> list[str]:
    """Check gap, energy and momentum of a step of the event-driven scheme."""
    a, h, d = plan.arrays, float(run.t[k] - run.t[k - 1]), plan.dimension
    speed, size, _ = _sizes(plan, run, k, h)
    faults = _over("gap", -(a["C"] @ run.q[k])[::d], 1e-6 * (h * speed + 1e-3))

    def energy(j: int) -> float:
        q, v = run.q[j], run.v[j]
        return float(0.5 * v @ a["M"] @ v - a["F"] @ q + 0.5 * q @ a["K"] @ q)

    scale = size * (speed + 9.81 * h) + float(np.abs(a["F"] * run.q[k]).sum())
    faults += _over("energy gained", energy(k) - energy(k - 1), 1e-6 * scale)
    if not a["K"].any():
        error = a["M"] @ (run.v[k] - run.v[k - 1]) - h * a["F"] - a["C"].T @ run.r[k]
        faults += _over("momentum", np.abs(error), 1e-6 * size)
    return faults


def _euler_moreau(plan: Plan, run: Record, k: int) -> list[str]:
    """Check the flow and the complementarity of a step of Euler-Moreau."""
    a, h = plan.arrays, float(run.t[k] - run.t[k - 1])
    theta, gamma = plan.options.get("theta", 1.0), plan.options.get("gamma", 1.0)
    x, X, lam = run.q[k - 1], run.q[k], run.r[k]
    flow = theta * (a["A"] @ X) + (1.0 - theta) * (a["A"] @ x) + a["b"]
    size = float(np.abs(X).max() + np.abs(x).max() + h * np.abs(flow).max() + h * np.abs(a["B"] @ lam).max())
    faults = _over("flow", np.abs(X - x - h * flow - h * a["B"] @ lam), 1e-8 * size)
    y = a["C"] @ (gamma * X + (1.0 - gamma) * x) + a["D"] @ lam + a["e"]
    E = 1e3 * plan.tolerance * (1.0 + size / h + float(np.abs(lam).max()))
    for force, value in zip(lam, y, strict=True):
        faults += _over("lower bound", plan.lower - force, E) + _over("upper bound", force - plan.upper, E)
        free = force - plan.lower if value > 0.0 else plan.upper - force
        faults += _over("output away from a bound", min(abs(value), free), E)
    return faults
