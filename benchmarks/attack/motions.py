"""Conditions that a run of bodies must satisfy, from its recorded states and impulses alone.

Nothing here imports stickslip. With m, J the given masses and inertias, x, v, Ω the recorded states and p_c
the recorded impulse of contact c on the first of its bodies, in inertial axes:

    linear momentum     m (v⁺ - v) = m g h + Σ ± p_c                                     (no joints)
    angular momentum    R J Ω |⁺ - R J Ω | = Σ ± (point - x_m) × p_c + moments    (no joints; Moreau-Jean)
    position            x⁺ = x + h (v + v⁺) / 2 up to the correction; variational and reduced x⁺ = x + h v⁺
    cone                |r_T| <= mu r_N,  |r_R| <= mu_roll r_N
    law                 with w_N = u_N + e min(u_N⁻, 0):  w_N >= 0,  r_N w_N = 0,  mu r_N |u_T| + r_T·u_T = 0
    energy (e = 0)      T⁺ - T - h m g·(v + v⁺) / 2 <= m g² h² / 8      per body, in all

The last: with p = Σ p_c / m, v⁺ = v + h g + p and p·v⁺ <= 0 give ½ p·(v + v⁺) <= -½|p|² - ½ h p·g. With the
reduced scheme x_m is x, and the law is that on u_N + gap / h where nothing arrives. Errors of the solver
enter as E = tol S, S the size of the step's problem, as in `laws.py`.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.attack.worlds import REDUCED, Body, Plan

Array = np.ndarray
MOREAU = ("moreau-jean-semi-explicit", REDUCED)
FLOOR = 1e-11
"""Rounding of a step, over its largest terms [-]."""


@dataclass(frozen=True)
class Record:
    """A run as plain arrays; body 0 is the ground where there is one."""

    t: Array
    q: Array
    """x and quaternion of each body, shape (n, bodies, 7)."""
    v: Array
    """Velocity and Ω in the body's frame, shape (n, bodies, 6)."""
    ok: Array
    """Claim of the run that each step is good, shape (n,)."""
    correction: Array
    """Largest displacement of a contact or joint by the correction [m], shape (n,)."""
    offset: Array
    """Index of the first contact of each record, shape (n + 1,)."""
    body: Array
    point: Array
    frame: Array
    r: Array
    u: Array
    gap: Array


def rotation(p: Array) -> Array:
    """Rotation matrix of a unit quaternion, scalar first, shape (3, 3)."""
    w, x, y, z = p
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def refute(plan: Plan, run: Record) -> list[str]:
    """Return the faults of the steps of a run that claims `ok`."""
    if not (np.isfinite(run.q).all() and np.isfinite(run.v).all()):
        return ["states are not finite"]
    first = 0 if plan.ground == "none" else 1
    faults: list[str] = []
    norms = np.linalg.norm(run.q[:, :, 3:], axis=2)
    if np.abs(norms - 1.0).max(initial=0.0) > 1e-9:
        faults.append(f"a quaternion has the norm {norms.flat[np.abs(norms - 1.0).argmax()]:.12f}")
    faults += _gaps(plan, run, first) + _joints(plan, run, first)
    for k in range(1, run.t.size):
        if run.ok[k]:
            faults += [f"step {k}: {one}" for one in _step(plan, run, k, first)]
        if len(faults) > 8:
            break
    return faults


def _step(plan: Plan, run: Record, k: int, first: int) -> list[str]:
    """Check step k: balances of momentum, positions, cones, the law, and energy."""
    h, g = float(run.t[k] - run.t[k - 1]), np.array([0.0, 0.0, -plan.gravity])
    rows = slice(int(run.offset[k]), int(run.offset[k + 1]))
    push = np.einsum("cik,ci->ck", run.frame[rows], run.r[rows, :3])
    count = len(plan.bodies)
    mass = np.array([body.mass for body in plan.bodies])
    old, new = run.v[k - 1, first:], run.v[k, first:]
    speed = max(float(np.abs(run.v[k - 1 : k + 1, :, :3]).max(initial=0.0)), plan.gravity * h, 1e-300)
    size = float((mass * speed).max()) + float(np.abs(run.r[rows]).max(initial=0.0))
    total = np.zeros((count, 3))
    for c, (i, j) in enumerate(run.body[rows]):
        for body, sign in ((i, 1.0), (j, -1.0)):
            if body >= first:
                total[body - first] += sign * push[c]
    faults = []
    kick = h if plan.scheme in MOREAU or k > 1 else 0.5 * h
    if not plan.joints:
        error = mass[:, None] * (new[:, :3] - old[:, :3] - kick * g) - total
        if np.abs(error).max() > 100.0 * FLOOR * size:
            faults.append(f"linear momentum is off by {np.abs(error).max():.3e} of {size:.3e} N s")
    faults += _positions(plan, run, k, first, h, speed)
    faults += _cones(plan, run.r[rows], size)
    if plan.scheme in MOREAU:
        # The correction rotates bodies and keeps Ω in their frames, which changes the recorded spin.
        if plan.isotropic and not plan.joints and run.correction[k] == 0.0:
            faults += _turning(plan, run, k, first, rows, push, h, size)
            if plan.options.get("impact", "newton") == "newton":
                faults += _law(plan, run, k, first, rows, h, size)
        # The gyroscopic term is explicit in the reduced scheme, with an error of second order.
        if plan.e == 0.0 and (plan.isotropic or plan.scheme != REDUCED):
            faults += _energy(plan, run, k, first, h, size * speed)
    return faults


def _positions(plan: Plan, run: Record, k: int, first: int, h: float, speed: float) -> list[str]:
    """Check the update of the positions, up to the correction."""
    x, y = run.q[k - 1, first:, :3], run.q[k, first:, :3]
    old, new = run.v[k - 1, first:, :3], run.v[k, first:, :3]
    displacement = h * (0.5 * (old + new) if plan.scheme == "moreau-jean-semi-explicit" else new)
    error = float(np.abs(y - x - displacement).max())
    bound = 10.0 * float(run.correction[k]) + FLOOR * (h * speed + np.abs(y).max())
    if error <= bound:
        return []
    return [f"positions are off by {error:.3e} m, correction {run.correction[k]:.3e} m"]


def _cones(plan: Plan, r: Array, size: float) -> list[str]:
    """Check that impulses are in their cones, up to the tolerance relative to `size`."""
    if not r.shape[0]:
        return []
    E = 10.0 * plan.tolerance * size
    faults = []
    slide = np.linalg.norm(r[:, 1:3], axis=1) - plan.mu * r[:, 0]
    roll = np.linalg.norm(r[:, 3:5], axis=1) - plan.mu_roll * r[:, 0]
    for name, over in (("pull", -r[:, 0]), ("friction beyond the cone", slide), ("rolling beyond", roll)):
        if over.max() > E * (1.0 + plan.mu):
            faults.append(f"{name}: {over.max():.3e} N s beside {size:.3e}")
    return faults


def _turning(
    plan: Plan, run: Record, k: int, first: int, rows: slice, push: Array, h: float, size: float
) -> list[str]:
    """Check the balance of angular momentum of bodies with isotropic inertia."""
    inertia = np.array([body.inertia[0] for body in plan.bodies])
    before, after = (spins(run, j, first) for j in (k - 1, k))
    moments = np.einsum("cik,ci->ck", run.frame[rows][:, [1, 2, 0]], run.r[rows][:, [3, 4, 5]])
    total = np.zeros_like(before)
    middle = _middle(plan, run, k, h)
    lever = 0.0
    for c, (i, j) in enumerate(run.body[rows]):
        for body, sign in ((i, 1.0), (j, -1.0)):
            if body >= first:
                arm = run.point[rows][c] - middle[body]
                lever = max(lever, float(np.linalg.norm(arm)))
                total[body - first] += sign * (np.cross(arm, push[c]) + moments[c])
    error = inertia[:, None] * (after - before) - total
    scale = lever * size + float((inertia[:, None] * np.abs(after)).max())
    worst = float(np.abs(error).max())
    if worst <= 100.0 * FLOOR * scale:
        return []
    return [f"angular momentum is off by {worst:.3e} of {scale:.3e}"]


def _middle(plan: Plan, run: Record, k: int, h: float) -> Array:
    """Positions of the bodies at contact detection [m], shape (bodies, 3)."""
    x = run.q[k - 1, :, :3]
    return x if plan.scheme == REDUCED else x + 0.5 * h * run.v[k - 1, :, :3]


def spins(run: Record, k: int, first: int) -> Array:
    """Angular velocities of record k in the inertial frame [rad/s], shape (bodies, 3)."""
    return np.array(
        [rotation(p) @ w for p, w in zip(run.q[k, first:, 3:], run.v[k, first:, 3:], strict=True)]
    )


def _law(plan: Plan, run: Record, k: int, first: int, rows: slice, h: float, size: float) -> list[str]:
    """Check Newton's and Coulomb's law on velocities computed from the states before and after the step."""
    if plan.mu_roll:
        return []
    middle = _middle(plan, run, k, h)
    faults = []
    u, before = (_relative(run, j, first, rows, middle) for j in (k, k - 1))
    r = run.r[rows, :3]
    if not r.shape[0]:
        return []
    if np.abs(u - run.u[rows, :3]).max() > 1e-9 * (1.0 + np.abs(u).max()):
        faults.append(f"recorded velocities are off by {np.abs(u - run.u[rows, :3]).max():.3e} m/s")
    weight = np.array([_effective(plan, run, first, c, middle) for c in range(rows.start, rows.stop)])
    w = u.copy()
    w[:, 0] += plan.e * np.minimum(before[:, 0], 0.0)
    S = max(size, float((weight[:, None] * np.abs(w)).max()), float((weight[:, None] * np.abs(before)).max()))
    E = 20.0 * plan.tolerance * S * np.sqrt(r.shape[0])
    slip, E_N = weight * np.linalg.norm(u[:, 1:], axis=1), E * (1.0 + plan.mu)
    # Contacts that are active only by the threshold obey the law on u_N + y_m / h, y_m the gap at the middle.
    arriving = u if plan.scheme == REDUCED else w
    ahead = arriving + np.maximum(run.gap[rows], 0.0)[:, None] / h * np.array([1.0, 0.0, 0.0])
    for c in range(r.shape[0]):
        candidates = []
        for y in (weight[c] * w[c], weight[c] * ahead[c]):
            B = E_N * (float(np.linalg.norm(r[c])) + 2.0 * float(np.linalg.norm(y)) + 3.0 * E)
            lines = (
                ("closing", -y[0], E_N),
                ("normal power", abs(r[c, 0] * y[0]), B),
                ("dissipation", abs(plan.mu * r[c, 0] * slip[c] + r[c, 1:] @ y[1:]), B),
            )
            candidates.append(
                [f"{name} of contact {c}: {x:.3e} exceeds {z:.3e}" for name, x, z in lines if x > z]
            )
        faults += min(candidates, key=len)
    return faults


def _relative(run: Record, k: int, first: int, rows: slice, middle: Array) -> Array:
    """Contact velocities of record k, with the bodies at `middle` [m/s], shape (c, 3)."""
    out = np.zeros((rows.stop - rows.start, 3))
    omega = spins(run, k, first)
    for c, (i, j) in enumerate(run.body[rows]):
        speed = np.zeros(3)
        for body, sign in ((i, 1.0), (j, -1.0)):
            if body >= first:
                arm = run.point[rows][c] - middle[body]
                speed += sign * (run.v[k, body, :3] + np.cross(omega[body - first], arm))
        out[c] = run.frame[rows][c] @ speed
    return out


def _effective(plan: Plan, run: Record, first: int, c: int, middle: Array) -> float:
    """1 / mean diagonal of W_cc [kg], for bodies with isotropic inertia."""
    total = 0.0
    for index in run.body[c]:
        if index >= first:
            body, arm = plan.bodies[index - first], run.point[c] - middle[index]
            cross = np.array([np.cross(arm, axis) for axis in run.frame[c]])
            total += 1.0 / body.mass + float((cross**2).sum()) / 3.0 / body.inertia[0]
    return 1.0 / total if total else 1.0


def _energy(plan: Plan, run: Record, k: int, first: int, h: float, size: float) -> list[str]:
    """Check that without restitution energy grows by at most m g² h² / 8."""
    mass = np.array([body.mass for body in plan.bodies])
    J = np.array([body.inertia for body in plan.bodies])

    def kinetic(v: Array) -> float:
        return 0.5 * float((mass[:, None] * v[:, :3] ** 2).sum() + (J * v[:, 3:] ** 2).sum())

    old, new = run.v[k - 1, first:], run.v[k, first:]
    fallen = -plan.gravity * h * 0.5 * float((mass * (old[:, 2] + new[:, 2])).sum())
    gained = kinetic(new) - kinetic(old) - fallen
    limit = float(mass.sum()) * (plan.gravity * h) ** 2 / 8.0 * (1.0 + 1e-6)
    limit += 100.0 * plan.tolerance * len(mass) * size + 1e-10 * (kinetic(old) + kinetic(new))
    return [] if gained <= limit else [f"energy grows by {gained:.3e} J; the bound is {limit:.3e} J"]


def _lowest(body: Body, q: Array) -> float:
    """Height of the lowest point over z = 0 [m]; infinite for shapes without `points`."""
    points = body.points
    if not points.shape[0]:
        return np.inf
    return float((points @ rotation(q[3:])[2]).min() + q[2] - body.radius)


def _gaps(plan: Plan, run: Record, first: int) -> list[str]:
    """Check that penetration of the plane, and of balls, is at most the motion of a step."""
    fast = float(np.abs(run.v[:, :, :3]).max(initial=0.0)) + plan.gravity * plan.h
    turn = float(np.abs(run.v[:, :, 3:]).max(initial=0.0))
    variational = plan.scheme == "variational-bodies"
    faults = []
    for i, body in enumerate(plan.bodies):
        q, reach = run.q[:, first + i], body.reach
        bound = plan.h * (2.0 * fast + turn * reach) + 2.0 * reach * (turn * plan.h) ** 2 * run.t.size
        if variational:
            bound = 1e-5 * plan.h * (fast + turn * reach) + 1e-10
        if plan.ground == "plane":
            low = min(_lowest(body, pose) for pose in q)
            if low < -bound:
                faults.append(f"body {i} sinks {-low:.3e} m into the plane; the bound is {bound:.3e} m")
        for j in range(i):
            other = plan.bodies[j]
            if body.shape == other.shape == "ball" and not plan.joints:
                gap = (
                    np.linalg.norm(q[:, :3] - run.q[:, first + j, :3], axis=1) - body.size[0] - other.size[0]
                )
                if gap.min() < -(bound if variational else 2.0 * plan.h * 2.0 * fast):
                    faults.append(f"balls {i} and {j} overlap by {-gap.min():.3e} m")
    return faults


def _joints(plan: Plan, run: Record, first: int) -> list[str]:
    """Check that joints stay closed, up to the square of a step's motion."""
    faults = []
    for kind, i, j, point in plan.joints:
        ends = []
        for index in (i, j):
            if index < 0:
                ends.append(np.broadcast_to(np.array(point), (run.t.size, 3)))
                continue
            start = run.q[0, first + index]
            arm = rotation(start[3:]).T @ (np.array(point) - start[:3]) if kind != "distance" else np.zeros(3)
            ends.append(np.array([q[:3] + rotation(q[3:]) @ arm for q in run.q[:, first + index]]))
        length = np.linalg.norm(ends[0] - ends[1], axis=1)
        opened = float(np.abs(length - length[0]).max())
        fast = float(np.abs(run.v).max()) * plan.h
        bound = 1e-9 + (
            4.0 * run.t.size * fast**2 / 0.2 if plan.scheme == "moreau-jean-semi-explicit" else 1e-6
        )
        if opened > bound:
            faults.append(f"joint of {i} and {j} opens by {opened:.3e} m; the bound is {bound:.3e} m")
    return faults
