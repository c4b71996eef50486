"""Residuals of a contact problem, each computed in one pass over the contacts.

Solvers stop on these residuals and the judge reports them; the project has no other error measure.
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
"""Indices of the measures in the array of `measure`."""
MEASURES = 8
"""Number of measures."""
ROUNDING = 2e-15
"""Relative rounding error of W r [-]: errors of u up to this share of W_kk max |r| count as rounding. Nine
units in the last place, the usual loss in sums of a few hundred terms of either sign."""
MOST_ROUNDING = 1e-6
"""Largest error of u that can count as rounding, over the largest free velocity [-]; heuristic."""
LOST = 1e-11
"""Smallest ratio of the free velocities to W_kk r_k at which u is meaningful [-]. Below it, rounding of W r
exceeds 1e-5 of the free velocities, and W r + u_free has lost too many of their digits."""
CLOSING_SHARE = 0.1
"""Largest closing speed of a contact in a solved problem, over the free velocity, at any tolerance [-]."""
SINGLE = 100.0
"""Tolerance of the measures of single contacts, over the tolerance of the norms [-]. Solutions of the
recorded problems of Siconos have at most 10 at tolerance 1e-8, and at most 25 at 1e-4; a norm over n contacts
allows a single contact sqrt(n)."""
SMALLEST, LARGEST = 1e-140, 1e140
"""Range of numbers whose squares neither underflow nor overflow; outside it nothing can be certified."""


class Metric(NamedTuple):
    """Scales of the residual natural_scaled for one problem."""

    rho: Any
    """1 / mean diagonal of W_ii [kg], shape (nb,)."""
    length: Any
    """Characteristic length of rolling and torsional components, 1 for the others [m], shape (n,)."""
    coefficient: Any
    """Friction coefficients divided by the length of their group [-], shape (ng,)."""


class Point(NamedTuple):
    """Impulses to be judged, and the velocities with and without them."""

    r: Any
    """Impulses [N s], shape (n,)."""
    u: Any
    """W r + u_free [m/s], shape (n,)."""
    u_free: Any
    """Free velocities [m/s], shape (n,)."""


@jit
def metric(K, diagonal):
    """Return the `Metric` of the set K and the diagonal of W, shape (n,).

    The normal component and the first group of a block share one rho = 1 / (mean W_kk). Every further group g
    (rolling, torsion) has its own rho_g, which enters as the length sqrt(rho_g / rho), so that its components
    are comparable with the others. A block with W_ii = 0 takes the inverse mean of W over the other blocks,
    or 1 if all are zero. A group with W_gg = 0 has length 1.
    """
    kind, coefficient = K[0], K[6]
    scales = Metric(np.empty(kind.shape[0]), np.empty(diagonal.shape[0]), np.empty(coefficient.shape[0]))
    set_metric(K, diagonal, scales)
    return scales


@jit
def set_metric(K, diagonal, scales):
    """Write the `metric` of K to `scales`, a `Metric` of allocated arrays."""
    kind, offset, _, _, group_offset, group_size, coefficient = K
    rho, length, scaled = scales
    total, count = 0.0, 0
    for i in range(kind.shape[0]):
        # 1. rho from the normal component and the first group.
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
        # 2. Lengths of the other groups.
        a = end
        for g in range(group_offset[i] + 1, group_offset[i + 1]):
            group_mean = 0.0
            for k in range(a, a + group_size[g]):
                group_mean += abs(diagonal[k])
            group_mean = group_mean / group_size[g]
            size = math.sqrt(mean / group_mean) if group_mean > 0.0 and mean > 0.0 else 1.0
            for k in range(a, a + group_size[g]):
                length[k] = size
            scaled[g] = coefficient[g] / size
            a += group_size[g]
    # 3. Blocks with W_ii = 0.
    default_rho = count / total if count > 0 else 1.0
    for i in range(kind.shape[0]):
        if rho[i] == 0.0:
            rho[i] = default_rho


@jit
def stop_measures(natural, K, scales, shift, point, work):
    """Return (natural, natural_scaled, worst contact) at a `Point`, the residuals that solvers stop on.

    natural: `natural_map`, or `no_map` if all contacts are Coulomb contacts; work: its two vectors (n,).
    """
    return stop_ratios(stop_sums(natural, K, scales, shift, point, work))


@jit
def stop_ratios(sums):
    """Return the `stop_measures` from the `stop_sums` of all contacts."""
    plain, scaled, _, where, big, big_s, rr, uu, ff, rr_s, uu_s, ff_s = sums
    return ratio(plain, max(rr, uu, ff), big), ratio(scaled, max(rr_s, uu_s, ff_s), big_s), where


@jit
def stop_sums(natural, K, scales, shift, point, work):
    """Return the sums and maxima over contacts from which `stop_ratios` makes the residuals.

    They are: squares of the plain and of the scaled natural map; the largest scaled square and its contact;
    the largest magnitude among r, u and u_free, plain and scaled; squares of r, u and u_free, plain and
    scaled.
    """
    kind, offset, lower, upper, group_offset, _, coefficient = K
    r, u, u_free = point
    rho, length, none = scales.rho, scales.length, scales.length[:0]
    scaled_K = cones.with_coefficients(K, scales.coefficient)
    plain, scaled, worst, worst_contact, big, big_s = 0.0, 0.0, -1.0, -1, 0.0, 0.0
    rr, uu, ff, rr_s, uu_s, ff_s = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(kind.shape[0]):
        # 1. Natural maps r - P_K(r - u_hat) and r - P_K(r - rho u_hat).
        a, b, g, scale = offset[i], offset[i + 1], group_offset[i], rho[i]
        if kind[i] == cones.FRICTION and b - a <= 3 and group_offset[i + 1] - g == 1:
            r_i, u_i = three(r, a, b), three(u, a, b)
            slide = shift * math.sqrt(u_i[1] * u_i[1] + u_i[2] * u_i[2])
            plain += map_coulomb(coefficient[g], 1.0, r_i, u_i, slide)
            square = map_coulomb(coefficient[g], scale, r_i, u_i, slide)
        elif is_between(kind[i]):
            plain_square, square = 0.0, 0.0
            for k in range(a, b):
                plain_square += map_between(lower[i], upper[i], 1.0, r[k], u[k])
                square += map_between(lower[i], upper[i], scale, r[k], u[k])
            plain += plain_square
        else:
            plain += natural(i, K, 1.0, none, shift, r, u, work)
            square = natural(i, scaled_K, scale, length, shift, r, u, work)
        scaled += square
        if square > worst or square != square:
            worst, worst_contact = square, i
        # 2. Magnitudes of r, u and u_free.
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
    return plain, scaled, worst, worst_contact, big, big_s, rr, uu, ff, rr_s, uu_s, ff_s


@jit
def ratio(square, scale, big):
    """Return sqrt(square / scale), with 0/0 = 0; NaN if either is, or if `big` is not a number to square.

    big: the largest magnitude in both sums, which must be between SMALLEST and LARGEST.
    """
    if square != square or scale != scale:  # tested first, since max() may drop a NaN
        return math.nan
    if big == 0.0:
        return 0.0
    if not (SMALLEST < big < LARGEST):
        return math.nan
    return math.sqrt(square) / math.sqrt(scale)


@jit
def approach(K, diagonal, point):
    """Return the largest inadmissible velocity at a `Point`, over the largest free velocity [-].

    Inadmissible are -u_N of a contact, u of a free block, and u of an interval where the law would put r at
    an infinite bound. The scale is the largest normal or sliding component of u_free, or |W_kk bound| of a
    finite bound of an interval. It has no velocities due to impulses: where impulses grow without bound, as
    between closing walls, the natural maps decrease but this measure does not. Velocities up to min(ROUNDING
    W_kk max |r|, MOST_ROUNDING scale) count as rounding. Infinite if the scale is below LOST times the
    velocities that impulses make alone.
    """
    sizes = approach_sizes(K, diagonal, point)
    return over_largest(closing(K, diagonal, point, sizes), sizes)


@jit
def approach_sizes(K, diagonal, point):
    """Return (scale, max |r_k|, max |W_kk r_k|) over all contacts, the magnitudes that `approach` needs."""
    kind, offset, lower, upper, group_offset, group_size, _ = K
    r, _, u_free = point
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
def closing(K, diagonal, point, sizes):
    """Return the largest inadmissible velocity beyond rounding (see `approach`).

    sizes: the `approach_sizes` of all contacts.
    """
    kind, offset, lower, upper = K.kind, K.offset, K.lower, K.upper
    u, (scale, big, _), largest = point.u, sizes, 0.0
    for i in range(kind.shape[0]):
        end = offset[i + 1] if kind[i] == cones.FREE else offset[i] + 1
        for k in range(offset[i], end):
            speed = 0.0
            if upper[i] == math.inf or kind[i] == cones.FRICTION:
                speed = -u[k]
            if kind[i] != cones.FRICTION and lower[i] == -math.inf:
                speed = max(speed, u[k])
            if speed > min(ROUNDING * abs(diagonal[k]) * big, MOST_ROUNDING * scale):
                largest = max(largest, speed)
    return largest


@jit
def over_largest(speed, sizes):
    """Return `approach` from the largest inadmissible velocity and the `approach_sizes` of all contacts."""
    scale, _, alone = sizes
    if 0.0 < scale < LOST * alone:
        return math.inf
    if speed == 0.0:
        return 0.0
    return speed / scale if scale > 0.0 else math.inf


@jit
def local_error(K, scales, diagonal, point, work):
    """Return max_i |r_i - P_K(r_i - w u_hat_i)| / (w V) with w = max(|r_i| / V, rho_i), V = max |u_free_i|.

    Errors of impulses are relative to the larger of |r_i| and rho_i V, errors of velocities to V. A contact
    thus has the same weight whatever the impulses elsewhere. Components are scaled by the lengths of
    `metric`; V includes |W_kk bound| of finite bounds of intervals. Errors that ROUNDING of W r can cause
    count as 0.
    work: two vectors (n,).
    """
    return largest_local(natural_map, K, scales, point, work, local_sizes(K, scales, diagonal, point))


@jit
def local_sizes(K, scales, diagonal, point):
    """Return (V, largest impulse) of all contacts in the units of `metric`, as `local_error` needs them."""
    kind, offset, lower, upper = K.kind, K.offset, K.lower, K.upper
    r, u_free, length = point.r, point.u_free, scales.length
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
def largest_local(natural, K, scales, point, work, sizes):
    """Return the `local_error` of the contacts of K.

    natural: as in `stop_measures`; sizes: the `local_sizes` of all contacts, including those not in K.
    """
    kind, offset, lower, upper, group_offset, _, coefficient = K
    r, u, _ = point
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
    """Return the largest APPROACH and LOCAL of a solved problem at this tolerance."""
    return max(tolerance, min(CLOSING_SHARE, SINGLE * tolerance))


@jit
def is_solved(measures, tolerance):
    """Return whether the norms and the measures of single contacts are within the judge's bounds."""
    single = single_bound(tolerance)
    return (
        measures[NATURAL] <= tolerance
        and measures[SCALED] <= tolerance
        and measures[APPROACH] <= single
        and measures[LOCAL] <= single
    )


@jit
def unit_measures(K, shift, point, work, out):
    """out[IMPULSE, VELOCITY, WORK] <- max distance of r to K [N s], of u_hat to K* [m/s], |r·u_hat| [J].

    work: two vectors (n,); out (MEASURES,).
    """
    kind, offset, lower, upper, group_offset, _, coefficient = K
    r, u, (x, y) = point.r, point.u, work
    out[IMPULSE], out[VELOCITY], out[WORK] = 0.0, 0.0, 0.0
    for i in range(kind.shape[0]):
        a, b, g = offset[i], offset[i + 1], group_offset[i]
        if kind[i] == cones.FRICTION and b - a <= 3 and group_offset[i + 1] - g == 1:
            (r0, r1, r2), (u0, u1, u2) = three(r, a, b), three(u, a, b)
            mu, slide = coefficient[g], math.sqrt(u1 * u1 + u2 * u2)
            away = math.sqrt(map_coulomb(mu, 0.0, (r0, r1, r2), (u0, u1, u2), slide))
            out[IMPULSE] = max(out[IMPULSE], away)
            # By the exact law u_hat is in K* if and only if u_N >= 0. Otherwise its distance is
            # -u_N / sqrt(1 + mu²), or |u_hat| if u_hat is in -K.
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
                # distance of r to the bound that the sign of u requires; 0 if that bound is infinite
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
    """Return all measures of r, computed from scratch, shape (MEASURES,).   diagonal of W (n,).

    shift: EXACT or RELAXED; LOCAL of the relaxation is 0.
    """
    scales, point = metric(K, diagonal), Point(r, u, u_free)
    work, out = (np.empty(r.shape[0]), np.empty(r.shape[0])), np.empty(MEASURES)
    out[NATURAL], out[SCALED], out[WORST] = stop_measures(natural_map, K, scales, shift, point, work)
    complete(K, scales, shift, diagonal, point, work, out)
    return out


@jit
def measure_solved(K, diagonal, point, scales, work, out):
    """out <- the measures of the exact law that `is_solved` reads, without allocation.

    scales: a `Metric`, overwritten; work: two vectors (n,); out (MEASURES,).
    """
    set_metric(K, diagonal, scales)
    out[NATURAL], out[SCALED], out[WORST] = stop_measures(natural_map, K, scales, EXACT, point, work)
    out[APPROACH], out[LOCAL] = approach(K, diagonal, point), local_error(K, scales, diagonal, point, work)


@jit
def complete(K, scales, shift, diagonal, point, work, out):
    """out <- the measures other than the `stop_measures`.   work: two vectors (n,); out (MEASURES,)."""
    unit_measures(K, shift, point, work, out)
    out[APPROACH] = approach(K, diagonal, point)
    out[LOCAL] = local_error(K, scales, diagonal, point, work) if shift != RELAXED else 0.0
