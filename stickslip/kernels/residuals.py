"""The measures of error of a contact problem, as one pass over the contacts.

Solvers stop on these numbers and the judge reports them; there is no other measure in the house.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import cones
from stickslip.kernels.contact_law import EXACT as EXACT
from stickslip.kernels.contact_law import RELAXED as RELAXED
from stickslip.kernels.contact_law import is_between, map_between, map_coulomb, natural_map, three
from stickslip.kernels.jit import jit_forward as jit

NATURAL, SCALED, IMPULSE, VELOCITY, WORK, WORST, APPROACH, LOCAL = range(8)
MEASURES = 8
ROUNDING = 2e-15
"""Velocities below this share of the impulses, as impulses, are rounding of W r: nine units in the last
place, what sums of a few hundred terms of either sign usually lose."""
MOST_ROUNDING = 1e-6
"""Share of the largest free velocity beyond which closing is never taken for rounding."""
LOST = 1e-11
"""Beside impulses that alone make velocities of 1/LOST times the free ones, rounding of W r is more than
1e-5 of them, and W r + u_free says too little of them."""
CLOSING_SHARE = 0.1
"""Largest share of the free velocity at which a contact of a solved problem may close, at any tolerance."""
SINGLE = 100.0
"""Error of a single contact over the tolerance of the norms. Answers at tolerance 1e-8 of the recorded
problems of Siconos have at most 10, at 1e-4 at most 25; a norm over n contacts allows one of them sqrt(n)."""
SMALLEST, LARGEST = 1e-140, 1e140
"""Outside these, squares of numbers may vanish or overflow, and nothing can be certified."""


class Metric(NamedTuple):
    """The scales of natural_scaled for one problem."""

    rho: Any
    """1 / mean diagonal of W_ii [kg], shape (nb,)."""
    length: Any
    """Length of rolling and torsional components, 1 for the others [m], shape (n,)."""
    coefficient: Any
    """Friction coefficients divided by their length [-], shape (ng,)."""


class Point(NamedTuple):
    """Impulses before the judge, and the velocities with and without them."""

    r: Any
    """Impulses [N s], shape (n,)."""
    u: Any
    """W r + u_free [m/s], shape (n,)."""
    u_free: Any
    """Free velocities [m/s], shape (n,)."""


@jit
def metric(K, diagonal):
    """The `Metric` of a set and the diagonal of W, shape (n,).

    Normal and first group share one rho; every further group (rolling, torsion) has its own, rho_g,
    which enters as the length sqrt(rho_g / rho) that makes it comparable with the others. Where W_ii = 0,
    1 / (mean W of the other contacts) stands in, and 1 if there is none; where a group has no W of its own
    its length is 1.
    """
    kind, coefficient = K[0], K[6]
    scales = Metric(np.empty(kind.shape[0]), np.empty(diagonal.shape[0]), np.empty(coefficient.shape[0]))
    set_metric(K, diagonal, scales)
    return scales


@jit
def set_metric(K, diagonal, scales):
    """`metric` in arrays that are there."""
    kind, offset, _, _, group_offset, group_size, coefficient = K
    rho, length, scaled = scales
    total, count = 0.0, 0
    for i in range(kind.shape[0]):
        a, end = offset[i], offset[i + 1]
        if kind[i] == cones.FRICTION:
            end = a + 1 + group_size[group_offset[i]]
            scaled[group_offset[i]] = coefficient[group_offset[i]]
        mean = 0.0
        for k in range(a, end):
            mean += abs(diagonal[k])
            length[k] = 1.0
        mean = mean / (end - a)
        rho[i] = 0.0
        if mean > 0.0:
            rho[i] = 1.0 / mean
            total += mean
            count += 1
        a = end
        for g in range(group_offset[i] + 1, group_offset[i + 1]):
            own = 0.0
            for k in range(a, a + group_size[g]):
                own += abs(diagonal[k])
            own = own / group_size[g]
            size = math.sqrt(mean / own) if own > 0.0 and mean > 0.0 else 1.0
            for k in range(a, a + group_size[g]):
                length[k] = size
            scaled[g] = coefficient[g] / size
            a += group_size[g]
    stand_in = count / total if count > 0 else 1.0
    for i in range(kind.shape[0]):
        if rho[i] == 0.0:
            rho[i] = stand_in


@jit
def stop_measures(natural, K, scales, shift, at, work):
    """(natural, natural_scaled, worst contact) at a `Point`: what decides whether a problem is solved.

    natural: `natural_map`, or `no_map` where all contacts are Coulomb's; work: its two vectors (n,).
    """
    return stop_ratios(stop_sums(natural, K, scales, shift, at, work))


@jit
def stop_ratios(sums):
    """`stop_measures` from the `stop_sums`."""
    plain, scaled, _, where, big, big_s, rr, uu, ff, rr_s, uu_s, ff_s = sums
    return ratio(plain, max(rr, uu, ff), big), ratio(scaled, max(rr_s, uu_s, ff_s), big_s), where


@jit
def stop_sums(natural, K, scales, shift, at, work):
    """What `stop_measures` adds up over contacts: squares of both maps, the largest scaled one and where it
    is, the largest numbers of both, and squares of r, u and u_free, plain and scaled."""
    kind, offset, lower, upper, group_offset, _, coefficient = K
    r, u, u_free = at
    rho, length, none = scales.rho, scales.length, scales.length[:0]
    scaled_K = cones.with_coefficients(K, scales.coefficient)
    plain, scaled, worst, where, big, big_s = 0.0, 0.0, -1.0, -1, 0.0, 0.0
    rr, uu, ff, rr_s, uu_s, ff_s = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(kind.shape[0]):
        a, b, g, scale = offset[i], offset[i + 1], group_offset[i], rho[i]
        if kind[i] == cones.FRICTION and b - a <= 3 and group_offset[i + 1] - g == 1:
            r_i, u_i = three(r, a, b), three(u, a, b)
            slide = shift * math.sqrt(u_i[1] * u_i[1] + u_i[2] * u_i[2])
            plain += map_coulomb(coefficient[g], 1.0, r_i, u_i, slide)
            square = map_coulomb(coefficient[g], scale, r_i, u_i, slide)
        elif is_between(kind[i]):
            own, square = 0.0, 0.0
            for k in range(a, b):
                own += map_between(lower[i], upper[i], 1.0, r[k], u[k])
                square += map_between(lower[i], upper[i], scale, r[k], u[k])
            plain += own
        else:
            plain += natural(i, K, 1.0, none, shift, r, u, work)
            square = natural(i, scaled_K, scale, length, shift, r, u, work)
        scaled += square
        if square > worst or square != square:
            worst, where = square, i
        for k in range(a, b):
            big = max(big, max(abs(r[k]), abs(u[k]), abs(u_free[k])))
            rr += r[k] * r[k]
            uu += u[k] * u[k]
            ff += u_free[k] * u_free[k]
            down, up = r[k] / length[k], scale * length[k]
            big_s = max(big_s, max(abs(down), abs(up * u[k]), abs(up * u_free[k])))
            rr_s += down * down
            uu_s += up * u[k] * (up * u[k])
            ff_s += up * u_free[k] * (up * u_free[k])
    return plain, scaled, worst, where, big, big_s, rr, uu, ff, rr_s, uu_s, ff_s


@jit
def ratio(square, scale, big):
    """sqrt(square / scale), with 0/0 = 0; NaN stays, and where `big`, the largest number, defies squaring."""
    if square != square or scale != scale:  # asked first: NaN hides from the largest number
        return math.nan
    if big == 0.0:
        return 0.0
    if not (SMALLEST < big < LARGEST):
        return math.nan
    return math.sqrt(square) / math.sqrt(scale)


@jit
def approach(K, diagonal, at):
    """At a `Point`: largest speed that no impulse may leave, over the largest free velocity.

    That is -u_N of contacts, |u| of free blocks, and u against the bounds that an interval has not;
    normal and sliding velocities make the scale, and what finite bounds of intervals may add to them.
    Impulses enter as rounding alone (ROUNDING), and only up to MOST_ROUNDING: where they grow without bound,
    as between closing walls, the natural maps fall but this does not. Velocities that impulses have made do
    not count as a scale. Infinite where u_free is LOST beside impulses: then u says nothing.
    """
    sizes = approach_sizes(K, diagonal, at)
    return over_largest(closing(K, diagonal, at, sizes), sizes)


@jit
def approach_sizes(K, diagonal, at):
    """What `approach` compares with, each the largest of all contacts: free velocities with what bounds make
    of them, impulses, and velocities that these make alone."""
    kind, offset, lower, upper, group_offset, group_size, _ = K
    r, _, u_free = at
    scale, big, alone = 0.0, 0.0, 0.0
    for i in range(kind.shape[0]):
        a, end = offset[i], offset[i + 1]
        if kind[i] == cones.FRICTION:
            end = a + 1 + group_size[group_offset[i]]
        for k in range(a, end):
            scale = max(scale, abs(u_free[k]))
            if kind[i] == cones.INTERVAL:
                for bound in (lower[i], upper[i]):
                    if abs(bound) < math.inf:
                        scale = max(scale, abs(diagonal[k] * bound))
            if k == a or kind[i] == cones.FREE:
                big = max(big, abs(r[k]))
                alone = max(alone, abs(diagonal[k] * r[k]))
    return scale, big, alone


@jit
def closing(K, diagonal, at, sizes):
    """The largest speed that no impulse may leave.   sizes: the `approach_sizes` of all contacts."""
    kind, offset, lower, upper = K.kind, K.offset, K.lower, K.upper
    u, (scale, big, _), found = at.u, sizes, 0.0
    for i in range(kind.shape[0]):
        end = offset[i + 1] if kind[i] == cones.FREE else offset[i] + 1
        for k in range(offset[i], end):
            speed = 0.0
            if upper[i] == math.inf or kind[i] == cones.FRICTION:
                speed = -u[k]
            if kind[i] != cones.FRICTION and lower[i] == -math.inf:
                speed = max(speed, u[k])
            if speed > min(ROUNDING * abs(diagonal[k]) * big, MOST_ROUNDING * scale):
                found = max(found, speed)
    return found


@jit
def over_largest(speed, sizes):
    """`approach` from the largest speed and the sizes of all contacts."""
    scale, _, alone = sizes
    if 0.0 < scale < LOST * alone:
        return math.inf
    if speed == 0.0:
        return 0.0
    return speed / scale if scale > 0.0 else math.inf


@jit
def local_error(K, scales, diagonal, at, work):
    """Largest |r_i - P_K(r_i - w u_hat_i)| / (w V), w = max(|r_i| / V, rho_i), V the largest free velocity.

    So what impulses miss counts over the larger of |r_i| and rho_i V, and what velocities miss counts over V:
    beside impulses that are large elsewhere, or that have grown for nothing, a contact counts as much as any
    other. In the lengths of `metric`. V has what finite bounds of intervals
    can add. What ROUNDING of W r can make of it counts as 0. work: two vectors (n,).
    """
    return largest_local(natural_map, K, scales, at, work, local_sizes(K, scales, diagonal, at))


@jit
def local_sizes(K, scales, diagonal, at):
    """What `local_error` compares with: the largest free velocity and the largest impulse of all contacts."""
    kind, offset, lower, upper = K.kind, K.offset, K.lower, K.upper
    r, u_free, length = at.r, at.u_free, scales.length
    speed, big = 0.0, 0.0
    for i in range(kind.shape[0]):
        square = 0.0
        for k in range(offset[i], offset[i + 1]):
            square += (length[k] * u_free[k]) ** 2
            big = max(big, abs(r[k] / length[k]))
        speed = max(speed, math.sqrt(square))
        if kind[i] == cones.INTERVAL:
            for bound in (lower[i], upper[i]):
                if abs(bound) < math.inf:
                    speed = max(speed, abs(diagonal[offset[i]] * bound))
    return speed, big


@jit
def largest_local(natural, K, scales, at, work, sizes):
    """`local_error` of these contacts.   natural: as in `stop_measures`; sizes: the `local_sizes` of all."""
    kind, offset, lower, upper, group_offset, _, coefficient = K
    r, u, _ = at
    rho, length, (speed, big), worst = scales.rho, scales.length, sizes, 0.0
    scaled_K = cones.with_coefficients(K, scales.coefficient)
    for i in range(kind.shape[0]):
        a, b, g = offset[i], offset[i + 1], group_offset[i]
        size = 0.0
        for k in range(a, b):
            size += (r[k] / length[k]) ** 2
        scale = max(math.sqrt(size), rho[i] * speed)
        weight = scale / speed if speed > 0.0 else rho[i]
        if kind[i] == cones.FRICTION and b - a <= 3 and group_offset[i + 1] - g == 1:
            u_i = three(u, a, b)
            slide = math.sqrt(u_i[1] * u_i[1] + u_i[2] * u_i[2])
            square = map_coulomb(coefficient[g], weight, three(r, a, b), u_i, slide)
        elif is_between(kind[i]):
            square = 0.0
            for k in range(a, b):
                square += map_between(lower[i], upper[i], weight, r[k], u[k])
        else:
            square = natural(i, scaled_K, weight, length, EXACT, r, u, work)
        error = math.sqrt(square)
        if error != error:
            return math.nan
        if error > weight * min(ROUNDING * big / rho[i], MOST_ROUNDING * speed):
            worst = max(worst, error / scale if scale > 0.0 else math.inf)
    return worst


@jit
def single_bound(tolerance):
    """What APPROACH and LOCAL of a solved problem may be at this tolerance."""
    return max(tolerance, min(CLOSING_SHARE, SINGLE * tolerance))


@jit
def is_solved(measures, tolerance):
    """Whether norms and single contacts are within the tolerance, as the judge has it."""
    single = single_bound(tolerance)
    return (
        measures[NATURAL] <= tolerance
        and measures[SCALED] <= tolerance
        and measures[APPROACH] <= single
        and measures[LOCAL] <= single
    )


@jit
def unit_measures(K, shift, at, work, out):
    """out[IMPULSE, VELOCITY, WORK] <- largest distance of r to K [N s], of u_hat to K* [m/s], |r·u_hat| [J].

    work: two vectors (n,); out (MEASURES,).
    """
    kind, offset, lower, upper, group_offset, _, coefficient = K
    r, u, (x, y) = at.r, at.u, work
    out[IMPULSE], out[VELOCITY], out[WORK] = 0.0, 0.0, 0.0
    for i in range(kind.shape[0]):
        a, b, g = offset[i], offset[i + 1], group_offset[i]
        if kind[i] == cones.FRICTION and b - a <= 3 and group_offset[i + 1] - g == 1:
            (r0, r1, r2), (u0, u1, u2) = three(r, a, b), three(u, a, b)
            mu, slide = coefficient[g], math.sqrt(u1 * u1 + u2 * u2)
            away = math.sqrt(map_coulomb(mu, 0.0, (r0, r1, r2), (u0, u1, u2), slide))
            out[IMPULSE] = max(out[IMPULSE], away)
            # by the exact law u_hat lies in K* exactly when u_N >= 0; it is -u_N / sqrt(1 + mu²) away
            # otherwise, or |u_hat| when it lies in -K
            u0 += shift * mu * slide
            away = max(mu * slide - u0, 0.0) / math.sqrt(1.0 + mu * mu)
            if slide <= -mu * u0:
                away = math.sqrt(u0 * u0 + slide * slide)
            out[VELOCITY] = max(out[VELOCITY], away)
            out[WORK] = max(out[WORK], abs(r0 * u0 + r1 * u1 + r2 * u2))
            continue
        if is_between(kind[i]):
            low = -math.inf if lower[i] == -math.inf else 0.0
            high = math.inf if upper[i] == math.inf else 0.0
            beyond, against, total = 0.0, 0.0, 0.0
            for k in range(a, b):
                beyond += map_between(lower[i], upper[i], 0.0, r[k], 0.0)
                against += min(max(-u[k], low), high) ** 2
                # r counted from the bound that u presses against; 0 at infinity
                inside = r[k] - lower[i] if u[k] > 0.0 else upper[i] - r[k]
                total += abs(inside * u[k]) if u[k] != 0.0 and abs(inside) < math.inf else 0.0
            out[IMPULSE] = max(out[IMPULSE], math.sqrt(beyond))
            out[VELOCITY] = max(out[VELOCITY], math.sqrt(against))
            out[WORK] = max(out[WORK], total)
            continue
        cones.project_block(i, K, r, x)
        for k in range(a, b):
            x[k] -= r[k]
        out[IMPULSE] = max(out[IMPULSE], cones.norm(x, a, b))
        for k in range(a, b):
            y[k] = u[k]
        if kind[i] == cones.FRICTION and shift != RELAXED:
            y[a] += cones.shift_of_block(i, K, u)
        cones.project_dual_block(i, K, y, x)
        for k in range(a, b):
            x[k] -= y[k]
        out[VELOCITY] = max(out[VELOCITY], cones.norm(x, a, b))
        total = 0.0
        for k in range(a, b):
            total += r[k] * y[k]
        out[WORK] = max(out[WORK], abs(total))


@jit
def measure(K, shift, diagonal, r, u, u_free):
    """Everything the judge says of r, from scratch: an array (MEASURES,).   diagonal of W (n,).

    shift: EXACT or RELAXED; the relaxation has no LOCAL, which is 0.
    """
    scales, at = metric(K, diagonal), Point(r, u, u_free)
    work, out = (np.empty(r.shape[0]), np.empty(r.shape[0])), np.empty(MEASURES)
    out[NATURAL], out[SCALED], out[WORST] = stop_measures(natural_map, K, scales, shift, at, work)
    complete(K, scales, shift, diagonal, at, work, out)
    return out


@jit
def measure_solved(K, diagonal, at, scales, work, out):
    """out <- what `is_solved` asks for, of the exact law, in arrays that are there.

    scales: a `Metric`, not set; work: two vectors (n,); out (MEASURES,).
    """
    set_metric(K, diagonal, scales)
    out[NATURAL], out[SCALED], out[WORST] = stop_measures(natural_map, K, scales, EXACT, at, work)
    out[APPROACH], out[LOCAL] = approach(K, diagonal, at), local_error(K, scales, diagonal, at, work)


@jit
def complete(K, scales, shift, diagonal, at, work, out):
    """out <- what `measure` says beside the `stop_measures`.   work: two vectors (n,); out (MEASURES,)."""
    unit_measures(K, shift, at, work, out)
    out[APPROACH] = approach(K, diagonal, at)
    out[LOCAL] = local_error(K, scales, diagonal, at, work) if shift != RELAXED else 0.0
