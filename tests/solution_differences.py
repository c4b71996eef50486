"""Comparison of derivatives of solutions with central differences of solutions of perturbed problems."""

from dataclasses import replace

import numpy as np

import stickslip as ss
from stickslip import ContactProblem, GlobalProblem
from stickslip.kernels.cones import FRICTION, INTERVAL
from stickslip.problem import ProductSet

TOLERANCE = 1e-13


def solved(problem):
    return ss.solve(problem, tolerance=TOLERANCE).or_raise()


def changed_set(K, **arrays):
    return ProductSet(*(np.array(arrays.get(name, getattr(K, name))) for name in K.__dataclass_fields__))


def random_local(K, seed, ridge=0.5, pressed=False):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(K.size, K.size))
    u_free = rng.normal(size=K.size)
    if pressed:
        u_free[K.offset[:-1][K.kind == FRICTION]] = -1.0
    return ContactProblem(A @ A.T / K.size + ridge * np.eye(K.size), u_free, K)


def random_global(K, seed, joints=0, spare=4):
    """Return a global problem with more velocities than impulses, so that W is regular.

    Without joints M is slightly asymmetric, as in recorded problems.
    """
    rng = np.random.default_rng(seed)
    nv = K.size + joints + spare
    A = rng.normal(size=(nv, nv))
    M = A @ A.T / nv + np.eye(nv)
    M[0, 1] += 0.0 if joints else 1e-3
    H, G = rng.normal(size=(nv, K.size)) / np.sqrt(nv), rng.normal(size=(nv, joints)) / np.sqrt(nv)
    return GlobalProblem(
        M, rng.normal(size=nv), H, 0.3 * rng.normal(size=K.size), K,
        G if joints else None, 0.1 * rng.normal(size=joints),
    )  # fmt: skip


def _set_group(problem, name, value):
    K = problem.K
    coefficient = K.coefficient.copy()
    for i, block in enumerate(K):
        names = {(2, 2): ("mu", "mu_roll"), (2, 1): ("mu", "mu_spin")}.get(block.groups, ("mu",))
        if name in names and block.groups:
            coefficient[K.group_offset[i] + names.index(name)] = value[i]
    return replace(problem, K=changed_set(K, coefficient=coefficient))


def changed(problem, name, value):
    """Return the problem with one array replaced; names are those of derivatives."""
    if name in ("mu", "mu_roll", "mu_spin"):
        return _set_group(problem, name, value)
    if name == "coefficient":
        return replace(problem, K=changed_set(problem.K, coefficient=value))
    if name in ("lower", "upper"):
        bound = np.where(problem.K.kind == INTERVAL, value, getattr(problem.K, name))
        return replace(problem, K=changed_set(problem.K, **{name: bound}))
    return replace(problem, **{name: value})


def current(problem, name):
    if name in ("mu", "mu_roll", "mu_spin"):
        place = 0 if name == "mu" else 1
        return problem.K.friction(place)
    value = getattr(problem.K, name) if name in ("coefficient", "lower", "upper") else getattr(problem, name)
    if name == "W":
        return value.dense()
    if name == "M":
        return value.matrix
    if name in ("H", "G"):
        return (problem.H_sparse() if name == "H" else problem.G_sparse()).toarray()
    return value


def direction(problem, name, shape, rng):
    step = rng.normal(size=shape)
    if name == "M" and (len(shape) == 3 or problem.G is not None):  # such M must be symmetric
        step = 0.5 * (step + np.swapaxes(step, -1, -2))
    return step


def worst_difference(derivative, problem, name, rng, at=None, step=1e-5):
    """Return the largest relative error of a directional derivative, and that of its transpose."""
    at = at or (lambda problem: solved(problem))
    x = current(problem, name)
    dx = direction(problem, name, derivative.by[name], rng)
    with np.errstate(invalid="ignore"):
        ends = [at(changed(problem, name, x + s * step * dx)) for s in (1.0, -1.0)]
    change = derivative.jvp(**{name: dx})
    errors = []
    for part in derivative.of:
        difference = (getattr(ends[0], part) - getattr(ends[1], part)) / (2.0 * step)
        scale = max(np.abs(difference).max(initial=0.0), 1e-2)
        errors.append(np.abs(change[part] - difference).max(initial=0.0) / scale)
    weights = {part: rng.normal(size=shape) for part, shape in derivative.of.items()}
    forward = sum((weights[part] * change[part]).sum() for part in weights)
    backward = (derivative.vjp(by=[name], **weights)[name] * dx).sum()
    return max(errors), abs(forward - backward) / max(1.0, abs(forward))
