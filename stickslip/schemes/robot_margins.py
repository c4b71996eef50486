"""Search distances of contacts and limits of a robot, for the kernels (`kernels/robots/margins.py`)."""

from typing import Any

import numpy as np

from stickslip.kernels.robots.layout import Margins

REACH = 0.01
"""Default of the smallest search distance [m, rad]."""


def margins_of(m: Any) -> Margins:
    """Return the search distances of MuJoCo's model, and set its margins to them."""
    geoms = np.stack([m.pair_geom1, m.pair_geom2], axis=1).astype(np.int64)
    movers = np.flatnonzero((m.body_weldid != 0) & (m.body_geomnum > 0))
    first = m.body_geomadr[movers].astype(np.int64)
    limited = np.flatnonzero(m.jnt_limited)
    dofs = np.array([6, 3, 1, 1])[m.jnt_type[limited]]  # free, ball, slide, hinge
    margins = Margins(
        np.array([-1.0, 0.0, 1.0]), m.geom_margin, m.pair_margin, m.jnt_margin, m.tendon_margin,
        m.body_margin, np.array(m.geom_margin), np.array(m.pair_margin), np.array(m.jnt_margin),
        np.array(m.tendon_margin), np.zeros(m.ngeom), np.zeros(m.njnt), np.zeros(m.ntendon),
        np.array(m.geom_gap), geoms, np.zeros(m.nbody), movers, _sizes(m)[movers], first,
        first + m.body_geomnum[movers], limited, m.jnt_dofadr[limited].astype(np.int64), dofs,
    )  # fmt: skip
    set_least(m, margins, REACH)
    return margins


def set_least(m: Any, margins: Margins, reach: float) -> None:
    """Set the smallest margins [m, rad]; the stages of a step increase them for moving bodies."""
    margins.look[0] = reach
    margins.more[:], margins.more_joint[:], margins.more_tendon[:] = 0.5 * reach, reach, reach
    margins.geom[:] = margins.own_geom + 0.5 * reach
    margins.pair[:], margins.joint[:] = margins.own_pair + reach, margins.own_joint + reach
    margins.tendon[:] = margins.own_tendon + reach
    margins.body[:] = 0.0
    np.maximum.at(margins.body, m.geom_bodyid, margins.geom + margins.gap)


def _sizes(m: Any) -> np.ndarray:
    """Return the largest distance of points of each body from its centre of mass [m], shape (nbody,)."""
    out = np.zeros(m.nbody)
    away = np.linalg.norm(m.geom_pos - m.body_ipos[m.geom_bodyid], axis=1) + m.geom_rbound
    np.maximum.at(out, m.geom_bodyid, away)
    return out
