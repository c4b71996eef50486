"""Position projection: projection of coordinates onto the constraints after a step in velocities.

A step in velocities satisfies u = 0 or u >= 0, but y drifts. The projection solves for a nearby q with

    0 <= y_N(q) ⟂ Λ >= 0 for unilateral blocks,   y(q) = 0 for bilateral ones,

by repeated linearisation (Siconos Developer's Notes 2017, chapter 13):

- direct: q + C' Λ with C = ∂y/∂q, C C' Λ + y (13.3) to (13.6), and |Q| - 1 = 0 as an additional equation for
  each unit quaternion (13.7), because the direction C' Λ may leave the sphere;
- velocity: q + T (T'T)⁻¹ (C T)' Λ, whose matrix is C T (T'T)⁻¹ (C T)' (13.12): the change is a motion.

As in that chapter, distances are Euclidean in all coordinates (metres and entries of quaternions), without
mass weights. Velocities are not changed.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from stickslip.kernels import cones
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, IntArray
from stickslip.schemes.problems import coupled
from stickslip.schemes.step import Solver
from stickslip.state import BoolArray
from stickslip.systems.dynamics import SecondOrderDynamics
from stickslip.systems.system import Bound, NonsmoothSystem, Place

Bodies = list[tuple[SecondOrderDynamics, Place]]

REPEATS = 30
"""Largest number of linearisations of a projection (heuristic)."""


@dataclass(frozen=True, eq=False)
class Projected:
    """Result of a projection."""

    q: Array
    """Coordinates [m, rad], shape (nq,)."""
    size: float
    """Largest change of a coordinate [m, rad]."""
    violation: float
    """Largest remaining violation of the constraints [m, rad]."""
    pushed: dict[str, IntArray]
    """Unilateral blocks that acted in the projection, by the name of their interaction [-], shape (any,)."""


def project(
    system: NonsmoothSystem, t: float, q: Array, z: Array, touching: dict[str, IntArray], how: str,
    tolerance: float, solver: Solver,
) -> Projected:  # fmt: skip
    """Project q. touching: active blocks of the step, by interaction; other blocks are included when they are
    violated."""
    start, q = q, q.copy()
    mechanical = [one for one in system.interactions if not one.mechanical.compliant]
    watched = {one.name: _watched(one, touching.get(one.name)) for one in mechanical}
    pushed: dict[str, set[int]] = {}
    violation = np.inf
    for _ in range(REPEATS):
        violated = [(one, *_violated(one, t, q, z, tolerance)) for one in mechanical]
        off_manifold = max((abs(float(x)) for x in _off_manifold(system, q)), default=0.0)
        violation = max((worst for _, _, worst in violated), default=0.0)
        if max(violation, off_manifold) <= tolerance:
            break
        for one, blocks_, _ in violated:
            watched[one.name] |= blocks_
        for group in coupled([one for one in mechanical if watched[one.name].any()]):
            for name, block in _move(system, group, t, q, z, watched, how, solver):
                pushed.setdefault(name, set()).add(block)
    moved = float(np.abs(q - start).max(initial=0.0))
    blocks = {name: np.array(sorted(numbers), np.int64) for name, numbers in pushed.items()}
    return Projected(q, moved, violation, blocks)


def _watched(one: Bound, touching: IntArray | None) -> BoolArray:
    """Return the blocks that are included from the start: bilateral ones, and those that touch."""
    on = one.law.K.kind == cones.FREE
    if touching is not None:
        on = on.copy()
        on[touching] = True
        on &= one.law.K.kind != cones.INTERVAL
    return on


def _violated(one: Bound, t: float, q: Array, z: Array, tolerance: float) -> tuple[BoolArray, float]:
    """Return the violated unilateral blocks, and the largest violation of all constraints [m, rad]."""
    K = one.law.K
    y = one.y(t, q, z)
    gaps = y[K.offset[:-1]]
    depth = np.where(one.law.unilateral, np.maximum(-gaps, 0.0), 0.0)
    worst = float(depth.max(initial=0.0))
    worst = max(worst, float(np.abs(y[K.bilateral]).max(initial=0.0)))
    return depth > tolerance, worst


def _off_manifold(system: NonsmoothSystem, q: Array) -> list[float]:
    """Return the distance of the coordinates of each system from its manifold: |Q| - 1 of a quaternion."""
    return [
        float(np.linalg.norm(q[place.q] - body.normalized(q[place.q]))) for body, place in system.mechanical
    ]


def _components(one: Bound, watched: BoolArray) -> tuple[IntArray, BoolArray, IntArray]:
    """Return the components of the included blocks, whether each is bilateral, and its block."""
    K, where, free, block = one.law.K, [], [], []
    for i in np.flatnonzero(watched):
        first, last = int(K.offset[i]), int(K.offset[i + 1])
        is_free = K.kind[i] == cones.FREE
        for k in range(first, last if is_free else first + 1):
            where.append(k)
            free.append(is_free)
            block.append(int(i))
    return np.array(where, np.int64), np.array(free, bool), np.array(block, np.int64)


def _move(
    system: NonsmoothSystem, group: list[Bound], t: float, q: Array, z: Array, watched: dict[str, BoolArray],
    how: str, solver: Solver,
) -> list[tuple[str, int]]:  # fmt: skip
    """Make one linearised projection of coupled interactions; q is changed in place.

    Return the unilateral blocks that acted, by the name of their interaction and their number.
    """
    # 1. Rows and values of the included components.
    numbers = tuple(sorted({i for one in group for i in one.systems}))
    bodies = [system.mechanical[i] for i in numbers]
    where = np.concatenate([np.arange(place.q.start, place.q.stop) for _, place in bodies])
    at = {int(k): j for j, k in enumerate(where)}
    rows, values, free, owner = [], [], [], []
    for one in group:
        lam = np.zeros(one.law.size)
        own_q, own_z = q[one.q], z[one.z]
        keep, is_free, block = _components(one, watched[one.name])
        C = np.zeros((keep.size, where.size))
        columns = np.arange(q.size)[one.q]
        C[:, [at[int(k)] for k in columns]] = one.mechanical.dy_dq(t, own_q, lam, own_z)[keep]
        rows.append(C)
        values.append(one.mechanical.y(t, own_q, lam, own_z)[keep])
        free.append(is_free)
        owner += [(one.name, int(b)) for b in block]
    C, y, bilateral = np.concatenate(rows), np.concatenate(values), np.concatenate(free)
    constraints = y.size
    # 2. Directions of the change of q.
    if how == "direct":
        normals, off = _normals(bodies, q, where.size)
        C, y = np.concatenate([C, normals]), np.concatenate([y, off])
        bilateral = np.concatenate([bilateral, np.ones(off.size, bool)])
        directions = C.T
    else:
        maps = [(body.kinematics(q[place.q]), place) for body, place in bodies]
        T = block_diag(*(np.eye(place.q.stop - place.q.start) if T is None else T for T, place in maps))
        directions = T @ np.linalg.solve(T.T @ T, (C @ T).T)
    # 3. Solve, and apply the change.
    problem = BoxProblem(C @ directions, y, np.where(bilateral, -np.inf, 0.0), np.full(y.size, np.inf))
    solution = solver.solve(problem)
    q[where] += directions @ solution.r
    for body, place in bodies:
        if how != "direct":
            q[place.q] = body.normalized(q[place.q])
    return [owner[k] for k in range(constraints) if not bilateral[k] and solution.r[k] > 0.0]


def _normals(bodies: Bodies, q: Array, size: int) -> tuple[Array, Array]:
    """Return gradients and values of |Q| - 1, for the directions that no velocity reaches."""
    rows, off, start = [np.zeros((0, size))], [np.zeros(0)], 0
    for body, place in bodies:
        coordinates = q[place.q]
        T = body.kinematics(coordinates)
        if T is not None and T.shape[0] > T.shape[1]:
            away = np.linalg.svd(T)[0][:, T.shape[1] :].T
            row = np.zeros((away.shape[0], size))
            row[:, start : start + coordinates.size] = away
            rows.append(row)
            off.append(away @ (coordinates - body.normalized(coordinates)))
        start += coordinates.size
    return np.concatenate(rows), np.concatenate(off)
