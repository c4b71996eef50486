"""Check of the initial states of systems of equations: gaps must not be negative, and joints must be closed.

Impact laws are stated on velocities: a contact that starts with an overlap of a metre keeps it, and a joint
that starts open stays open. A law at position level removes both in the first step. Neither is a motion of
the system, so such a start is refused. A velocity that a joint or a closed contact does not allow is valid:
the first step is then an impact.

The tolerance depends on the terms of y. To first order y = ∂y/∂q q + ..., and the rounding error of y_i is
proportional to Σ_j |∂y_i/∂q_j q_j|. A contact may also overlap by its motion in one step,
h |ẏ| + h² |∂y/∂q M⁻¹ F| / 2, as it does in schemes on velocities.
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
"""Rounding error of y relative to its terms [-]: positions in users' models have at least six digits."""
LEAST = 1e-9
"""Least tolerance of y, for rounding in users' functions [unit of y] (heuristic)."""


def check_start(system: NonsmoothSystem | PreparedSystem, state: State, h: float, scheme: Scheme) -> None:
    """Raise ModelError for an initial state with overlapping contacts or open joints, up to rounding.

    Schemes for which such a state is valid are not checked: springs in place of contacts, and projections,
    which correct positions in the first step.
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
        for bad, law in ((inside, "y >= 0"), (joint & (np.abs(y) > allowed), "y = 0")):
            if bad.any():
                k = int(np.argmax(np.where(bad, np.abs(y), -1.0)))
                raise ModelError(
                    f"interaction {one.name!r}: at t = {state.t:.9g} s, the start violates its law:"
                    f" y[{k}] is {y[k]:.6g}, and the law requires {law}; start where it holds{remedy}"
                )


def _outputs(system: NonsmoothSystem, one: Bound, state: State, h: float) -> tuple[Array, Array, Array]:
    """Return y, the size of its terms, and its motion in a step of h, for each component, shape (m,) each.

    y that depends on lam is returned as 0: no state violates such a law.
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
    """Return M⁻¹ F of the systems of an interaction [m/s², rad/s²], shape (nv,); the least-norm solution if M
    is singular."""
    a = np.zeros(state.v.size)
    for body, place in system.mechanical:
        q, v, z = state.q[place.q], state.v[place.v], state.z[place.z]
        M, F = body.mass(state.t, q, z), body.force(state.t, q, v, z)
        a[place.v] = np.linalg.lstsq(M, F, rcond=None)[0]
    return np.asarray(a[one.v])
