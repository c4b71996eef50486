"""States of the blocks of an interaction at every record, by name.

Unilateral contacts are separating or touching; with friction separating, sticking or slipping (with rolling
friction sliding, rolling, or both). Bounds are held `at lower bound`, `inside bounds`, `at upper bound`;
bilateral constraints are `bilateral`.
"""

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.checks import Array
from stickslip.problem.states import SEPARATING, friction_states
from stickslip.simulation.model import InteractionPart

ZERO = 1e-8
"""Values that count as zero, relative to the largest of their kind in the trajectory [-]."""


def state_names(part: InteractionPart, span: Array, r: Array, u: Array) -> np.ndarray:
    """Return the names of states, shape (n, blocks), for n records of r and u (n, m); span: duration of each
    record [s]."""
    K = part.K
    with np.errstate(all="ignore"):  # values of diverged runs may overflow
        cut_r = ZERO * float(np.max(np.abs(r), initial=0.0, where=np.isfinite(r)))
        cut_u = ZERO * float(np.max(np.abs(u), initial=0.0, where=np.isfinite(u)))
    names = np.full((len(r), len(K)), "", object)
    for groups, blocks in K.families().items():
        for i in blocks.tolist():
            rows = slice(int(K.offset[i]), int(K.offset[i + 1]))
            if groups:
                # The cut-offs apply to norms of r and u.
                mu = np.broadcast_to(
                    K.coefficient[K.group_offset[i] : K.group_offset[i + 1]], (len(r), len(groups))
                )
                states, _ = friction_states(r[:, rows], u[:, rows], groups, mu, cut_r, cut_u)
                names[:, i] = states
            else:
                names[:, i] = _bounded(part, i, span, r[:, rows.start], cut_r)
    return names


def _bounded(part: InteractionPart, i: int, span: Array, r: Array, cut: float) -> np.ndarray:
    """Return the states of a block without friction."""
    kind = part.K.kind[i]
    if kind == cones.FREE:
        return np.full(r.size, "bilateral", object)
    if kind == cones.NONNEGATIVE:
        return np.where(r > cut, "touching", SEPARATING)
    scale = 1.0 if part.first_order else span  # bounds are forces, and r their impulse over the span
    low, high = part.K.lower[i] * scale, part.K.upper[i] * scale
    return np.where(
        r <= low + cut, "at lower bound", np.where(r >= high - cut, "at upper bound", "inside bounds")
    )
