"""Split of contacts into second-order cones: the (t, t') of Nguyen 2021, 1.1, for any groups.

A friction cone with groups k has the dual {sum_k mu_k |u_k| <= u_N}: with u_N = sum_k t_k it is the
product of the Lorentz cones (t_k, mu_k u_k), and r lies in K if all (r_N, r_k / mu_k) do. With
y = (t_k, mu_k u_k) and z = J' r = (r_N, r_k / mu_k) of all groups one after the other,

    J y = D u,   z = J' D^-1 r,   y'z = u'r,   D = diag(1, mu_k, ...).

Nonnegative blocks are cones of one component. An interval is two of them, r - lower and upper - r. Free
blocks have none. Groups without friction, and intervals of zero width, have fixed components.
"""

import numpy as np

from stickslip.kernels import cones
from stickslip.kernels.cone_point import Split
from stickslip.problem.checks import Array, IntArray, frozen
from stickslip.problem.sets import ProductSet


def start_of(cones: Split, impulse: Array) -> Array:
    """Return scaled r at the centre of the cones, at the scale `impulse` [N s], shape (n,)."""
    r = np.zeros(cones.kept.size)
    tips = cones.start
    low = cones.sign[tips] > 0.0
    below, above = np.full(r.size, -np.inf), np.full(r.size, np.inf)
    below[cones.place[tips[low]]] = -cones.constant[tips[low]]
    above[cones.place[tips[~low]]] = cones.constant[tips[~low]]
    has = np.isfinite(below) | np.isfinite(above)
    both = np.isfinite(below) & np.isfinite(above)
    r[has] = np.where(np.isfinite(below[has]), below[has] + impulse[has], above[has] - impulse[has])
    r[both] = 0.5 * (below[both] + above[both])
    return r


def split(K: ProductSet) -> Split:
    """Return the split of K into cones."""
    if K.family is not None and (K.coefficient > 0.0).all():
        return _uniform(K, K.family)
    components: list[int] = []
    unit: list[float] = []
    offset, block, cone_start = [0], [], [0]
    size: list[int] = []
    group: list[int] = []
    place: list[int] = []
    sign, constant, shifted = [], [], []
    fixed = np.zeros(K.size)

    def cone(entries: list[int], group_index: int, side: float = 1.0, bound: float = 0.0) -> None:
        size.append(len(entries))
        group.append(group_index)
        place.extend(entries)
        sign.extend([side] * len(entries))
        constant.extend([bound] * len(entries))

    for i in range(len(K)):
        first, end, here, has_slip = int(K.offset[i]), int(K.offset[i + 1]), len(components), 0.0
        if K.kind[i] == cones.FREE:
            components += range(first, end)
            unit += [1.0] * (end - first)
        elif K.kind[i] == cones.FRICTION:
            has_slip = _friction(K, i, components, unit, cone)
        else:
            low, high = float(K.lower[i]), float(K.upper[i])
            if low == high:
                fixed[first] = low
                continue
            components.append(first)
            unit.append(1.0)
            if np.isfinite(low):
                cone([here], 0, 1.0, -low)
            if np.isfinite(high):
                cone([here], 0, -1.0, high)
        offset.append(len(components))
        block.append(i)
        cone_start.append(len(size))
        shifted.append(has_slip)
    ends = np.cumsum(size, dtype=np.int64) if size else np.zeros(0, np.int64)
    return Split(
        _ints(components), frozen(fixed), _floats(unit), _ints(offset), _ints(block), _ints(cone_start),
        frozen(ends - _ints(size)), _ints(size), _ints(group), _ints(place), _floats(sign),
        _floats(constant), _floats(shifted),
    )  # fmt: skip


def _friction(K: ProductSet, i: int, components: list[int], unit: list[float], cone: object) -> float:
    """Append the cones of one friction block; return 1 if it has a group with friction, otherwise 0."""
    first, here = int(K.offset[i]), len(components)
    components.append(first)
    unit.append(1.0)
    component, count = first + 1, 0
    for g in range(int(K.group_offset[i]), int(K.group_offset[i + 1])):
        m, mu = int(K.group_size[g]), float(K.coefficient[g])
        if mu > 0.0:
            cone([here, *range(len(components), len(components) + m)], count)  # type: ignore[operator]
            components += range(component, component + m)
            unit += [mu] * m
            count += 1
        component += m
    if count == 0:
        cone([here], 0)  # type: ignore[operator]
    return 1.0 if count else 0.0


def _uniform(K: ProductSet, groups: tuple[int, ...]) -> Split:
    """Return the split of equal friction cones, vectorised."""
    nb, d, count = len(K), 1 + sum(groups), len(groups)
    first = np.concatenate([[0], np.cumsum(groups)])[:-1] + 1
    pattern = np.concatenate([[0, *range(a, a + m)] for a, m in zip(first, groups, strict=True)])
    coefficient = K.coefficient.reshape(nb, count)
    unit = np.concatenate([np.ones((nb, 1)), np.repeat(coefficient, groups, axis=1)], axis=1).reshape(-1)
    size = np.tile(1 + np.asarray(groups, np.int64), nb)
    place = (d * np.arange(nb)[:, None] + pattern).reshape(-1)
    return Split(
        _ints(np.arange(K.size)), frozen(np.zeros(K.size)), frozen(unit), _ints(K.offset),
        _ints(np.arange(nb)), _ints(count * np.arange(nb + 1)), _ints(np.cumsum(size) - size), _ints(size),
        _ints(np.tile(np.arange(count), nb)), _ints(place), frozen(np.ones(place.size)),
        frozen(np.zeros(place.size)), frozen(np.ones(nb)),
    )  # fmt: skip


def _ints(values: object) -> IntArray:
    return frozen(np.array(values, np.int64).reshape(-1))


def _floats(values: list[float]) -> Array:
    return frozen(np.array(values, np.float64).reshape(-1))
