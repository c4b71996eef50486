"""Profiles of cams: distance from the axle to the surface along the line of a knife-edge follower.

A profile is an array of numbers that `reach` evaluates, compiled, for each kind: an eccentric disc, circular
arcs with dwells, or a periodic cubic spline through points. The angle is 0 where the cam is lowest; arcs are
symmetric about 0 and π.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.interpolate import CubicSpline

from stickslip.kernels.jit import jit
from stickslip.problem.checks import Array
from stickslip.scenes.parameters import number

DISC, ARCS, POINTS = 0.0, 1.0, 2.0
"""Kinds of profiles, the first number of their arrays."""
TURN = 2.0 * math.pi
"""Angle of a full turn [rad]."""


@jit
def circle(b: float, d: float, rho: float) -> tuple[float, float, float]:
    """Return the distance along the ray at angle b to a circle of radius rho with its centre at distance d
    along b = 0, and its first and second derivatives with respect to b [m]."""
    s, c = math.sin(b), math.cos(b)
    w = math.sqrt(rho * rho - d * d * s * s)
    bend = d * d * s * c / w
    return d * c + w, -d * s - bend, -d * c - d * d * (c * c - s * s) / w - bend * bend / w


@jit
def reach(beta: float, z: Array) -> tuple[float, float, float]:
    """Return the distance from the axle at the angle beta, and its first and second derivatives [m].

    z: profile from `disc`, `arcs` or `through`, shape (any,).
    """
    if z[0] == DISC:
        return circle(beta, z[1], z[2])
    angle = beta - TURN * math.floor(beta / TURN)
    if z[0] == POINTS:
        n = int(z[1])
        k = min(int(angle * n / TURN), n - 1)
        s = angle - k * TURN / n
        a, b, c, d = z[2 + 4 * k], z[3 + 4 * k], z[4 + 4 * k], z[5 + 4 * k]
        return d + s * (c + s * (b + s * a)), c + s * (2.0 * b + 3.0 * s * a), 2.0 * b + 6.0 * s * a
    sign = 1.0
    if angle > math.pi:
        angle, sign = TURN - angle, -1.0
    angle -= z[1]
    if angle <= 0.0:
        return z[2], 0.0, 0.0
    if angle > z[3]:
        return z[7] + z[8], 0.0, 0.0
    if angle <= z[4]:
        r, first, second = circle(angle, -z[5], z[6])
    else:
        r, first, second = circle(angle - z[3], z[7], z[8])
    return r, sign * first, second


def disc(radius: float, eccentricity: float) -> Array:
    """Return the profile of a disc whose centre is at `eccentricity` from the axle [m]; shape (3,)."""
    return np.array([DISC, -eccentricity, number("radius", radius, "m", above=eccentricity)])


def arcs(base: float, flank: float, nose: float, rise: float, dwell: float) -> Array:
    """Return the profile of arcs that are tangent to each other: low dwell on the base circle, flank, nose,
    high dwell, and back. Radii [m], angles of the rise and of the low dwell [rad]; shape (9,).

    The centres of tangent circles are at the distance of the difference of their radii: flank - base from the
    axle to the centre of the flank, and flank - nose from there to the centre of the nose. The angle of the
    rise then determines the latter.
    """
    if not 0.5 * dwell + rise <= math.pi:
        total = math.degrees(dwell + 2.0 * rise)
        raise ValueError(f"dwell and twice the rise are {total:g} degrees; a turn has 360")
    k, apart = flank - base, flank - nose
    if not (k > 0.0 and apart > 0.0):
        raise ValueError(f"flank is {flank:g}; it must be > base, {base:g}, and > nose, {nose:g} [m]")
    square = apart * apart - (k * math.sin(rise)) ** 2
    away = math.sqrt(square) - k * math.cos(rise) if square > 0.0 else 0.0
    across = away * math.sin(rise) * flank / apart
    along = (away * math.cos(rise) + k) * flank / apart - k
    junction = math.atan2(across, along)
    if not (away > 0.0 and away + nose > base and 0.0 < junction < rise):
        raise ValueError(
            f"no nose of {nose:g} m touches a flank of {flank:g} m and rises in {math.degrees(rise):g}"
            f" degrees from a base of {base:g} m; take a smaller nose or another rise"
        )
    return np.array([ARCS, 0.5 * dwell, base, rise, junction, k, flank, away, nose])


def through(radii: Sequence[float]) -> Array:
    """Return the profile of a periodic cubic spline through distances from the axle at equal angles [m];
    shape (2 + 4 n,)."""
    r = np.array(radii, float).reshape(-1)
    if r.size < 3 or not np.isfinite(r).all() or not (r > 0.0).all():
        raise ValueError(f"points is {radii!r}; it must be three or more distances from the axle > 0 [m]")
    spline = CubicSpline(np.linspace(0.0, TURN, r.size + 1), [*r, r[0]], bc_type="periodic")
    return np.concatenate([[POINTS, r.size], spline.c.T.reshape(-1)])
