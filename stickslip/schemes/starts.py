"""Starts of systems of equations: where a run begins, gaps are not negative and joints are closed.

Laws of impact are stated on velocities: a contact that begins closed by a metre is held there, and a joint
that begins open stays open. A position-level law throws both back in the first step. Neither is a motion of
the system, so such a start is refused. A velocity that a joint or a closed contact does not allow is no
mistake: the first step is an impact.

What is rounding depends on the numbers that make y. To first order y = ∂y/∂q q + ..., and y_i is known to a
share of the size of its terms, Σ_j |∂y_i/∂q_j q_j|. A contact may further be as deep as it
moves in one step, h |ẏ| + h² |∂y/∂q M⁻¹ F| / 2, which is what schemes on velocities leave themselves.
"""

import numpy as np

from stickslip.problem.checks import Array
from stickslip.schemes.compliant import Compliant
from stickslip.schemes.composite import Composite
from stickslip.schemes.moreau_jean import MoreauJean
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import Scheme
from stickslip.state import ModelError, State
from stickslip.systems.dynamics import FirstOrderDynamics
from stickslip.systems.system import Bound, NonsmoothSystem

ROUNDING = 1e-6
"""Share of the terms of y that is rounding: positions that users write have six digits or more."""
LEAST = 1e-9
"""Depth that is rounding of users' functions whatever their terms are [unit of y]."""


def check_start(system: NonsmoothSystem | PreparedSystem, state: State, h: float, scheme: Scheme) -> None:
    """Refuse a start whose contacts are closed by more than rounding, or whose joints are open.

    Not of schemes for which that is a state like others: springs in the place of contacts, and projections,
    which bring positions back in the first step.
    """
    if isinstance(scheme, Composite):
        for part in scheme.parts(system):
            check_start(part.system, part.state(state), h, part.scheme)
        return
    if isinstance(scheme, Compliant) or (isinstance(scheme, MoreauJean) and scheme.projection != "none"):
        return
    system = PreparedSystem.of(system).system
    remedy = ', or give projection="direct"' if isinstance(scheme, MoreauJean) else ""
    for one in system.interactions:
        K = one.law.K
        joint = K.bilateral
        if not one.law.normals.size and not joint.any():
            continue
        y, terms, motion = _outputs(system, one, state, h)
        allowed = np.maximum(LEAST, ROUNDING * terms)
        inside = np.zeros(K.size, bool)
        inside[one.law.normals] = (y < -np.maximum(allowed, motion))[one.law.normals]
        for bad, wanted in ((inside, "y >= 0"), (joint & (np.abs(y) > allowed), "y = 0")):
            if bad.any():
                k = int(np.argmax(np.where(bad, np.abs(y), -1.0)))
                raise ModelError(
                    f"interaction {one.name!r}: at t = {state.t:.9g} s, the start violates its law:"
                    f" y[{k}] is {y[k]:.6g}, and the law requires {wanted}; start where it holds{remedy}"
                )


def _outputs(system: NonsmoothSystem, one: Bound, state: State, h: float) -> tuple[Array, Array, Array]:
    """Of each component: y, the size of its terms, and how far it moves in a step of h, each of shape (m,).

    y that lam decides with the state is 0 here: no state violates such a law.
    """
    t, q, z, lam = state.t, state.q[one.q], state.z[one.z], np.zeros(one.law.size)
    if any(isinstance(system.systems[i], FirstOrderDynamics) for i in one.systems):
        y, C, D = (part(t, q, lam, z) for part in (one.flow.h, one.flow.C, one.flow.D))
        y = np.where(D.any(axis=1), 0.0, y)
        return y, np.abs(C) @ np.abs(q), np.zeros(y.size)
    if one.mechanical.compliant:
        return lam, lam, lam
    relation = one.mechanical
    rows = one.rows(t, state.q, state.z)
    rate = one.rate(t, state.q, state.v, state.z, rows)
    motion = h * np.abs(rate) + 0.5 * h * h * np.abs(rows @ _accelerations(system, one, state))
    terms = np.abs(relation.dy_dq(t, q, lam, z)) @ np.abs(q)
    return relation.y(t, q, lam, z), terms, motion


def _accelerations(system: NonsmoothSystem, one: Bound, state: State) -> Array:
    """M⁻¹ F of the systems of an interaction [m/s², rad/s²], shape (nv,); the least where M is singular."""
    found = np.zeros(state.v.size)
    for body, place in system.mechanical:
        q, v, z = state.q[place.q], state.v[place.v], state.z[place.z]
        M, F = body.mass(state.t, q, z), body.force(state.t, q, v, z)
        found[place.v] = np.linalg.lstsq(M, F, rcond=None)[0]
    return np.asarray(found[one.v])
