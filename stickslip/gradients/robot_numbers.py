"""Derivatives of the restitution of contacts and limits of a robot by that of its geoms and joints."""

import numpy as np

from stickslip.kernels.robots.layout import LAW_RESTITUTION, LIMIT
from stickslip.kernels.robots.rows import MOST_OF_A_PAIR, restitution_of
from stickslip.robots.numbers import BOUNCES
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.state import Array, IntArray


def restitution_of_blocks(
    prepared: PreparedRobot, what: IntArray, key: IntArray
) -> tuple[Array, dict[str, Array]]:
    """Return the restitution of the contacts and limits among blocks `what` and `key` (nb,) [-], shape (m,),
    and its derivatives by the restitution of geoms and of limits, by name, shape (m, numbers) each.

    A contact has the smaller restitution of its two geoms; if both are equal, each has half of the
    derivative.
    """
    robot = prepared.robot
    model, laws, rows = robot.model, robot.laws, np.flatnonzero(what >= LIMIT)
    e = np.zeros(rows.size)
    by_geoms = np.zeros((rows.size, model.ngeom))
    by_limits = np.zeros((rows.size, model.njnt + model.ntendon))
    for k, row in enumerate(rows.tolist()):
        number = int(key[row])
        if what[row] == LIMIT:
            limit = number // 4 + (model.njnt if number & 2 else 0)
            e[k], by_limits[k, limit] = robot.limit_restitution[limit], 1.0
            continue
        geoms = list(divmod(number // MOST_OF_A_PAIR, model.ngeom))
        e[k] = restitution_of(prepared.engine, prepared.traits, *geoms)
        if not laws.law[laws.kind[geoms[0]], laws.kind[geoms[1]], LAW_RESTITUTION] >= 0.0:
            smaller = robot.restitution[geoms] == e[k]
            by_geoms[k, geoms] = smaller / smaller.sum()
    return e, dict(zip(BOUNCES, (by_geoms, by_limits), strict=True))
