"""Drop-and-roll deposition of spheres (Visscher & Bolsterli 1972, Nature 239, 504-507).

Spheres descend one by one without inertia, along the steepest descent that the touched spheres allow:
straight down, along a great circle of one sphere, or along the circle around two. Every piece of the path is
a vertical line or an arc, so that each event (next touch, release, floor) is a root in closed form, without
step size. A sphere stops on the floor, or on three spheres that support it.

An arc is path (3, 3): rows centre, p, q, and its radius s; place(tau) = centre + s (cos tau p + sin tau q)
from tau = 0, q downwards. The sides are periodic: sphere j has images at (mx, my) widths, and a tag (3,)
holds (j, mx, my).
"""

import math
from typing import Any, NamedTuple

from stickslip.kernels.jit import jit
from stickslip.state import Array, IntArray

FLOOR, NOBODY = -1, -2
"""Tags of the floor and of no sphere."""
MOVES = 1000
"""Largest number of pieces of the path of one sphere; about ten are usual, many indicate a tie due to
rounding."""
NEVER = 10.0
"""Angle beyond the end of every arc, for events that do not occur [rad]."""


class Space(NamedTuple):
    """Deposited spheres in a grid of cells, as linked lists that end with -1; the top layer is unbounded."""

    centre: Array
    """Centres [m], shape (n, 3)."""
    radius: Array
    """Radii [m], shape (n,)."""
    largest: float
    """Largest radius [m]."""
    width: float
    """Period of the sides [m]."""
    cell: float
    """Height of a cell [m]."""
    head: Any
    """First sphere of each cell [-], shape (nx, ny, nz)."""
    link: IntArray
    """Next sphere of its cell [-], shape (n,)."""


class Arc(NamedTuple):
    """Piece of a path on spheres."""

    path: Array
    """Centre, p and q [m, -, -], shape (3, 3)."""
    s: float
    """Radius [m]."""
    end: float
    """Angle of the end [rad]."""
    high: float
    """Height of the start [m]."""
    low: float
    """Height of the end [m]."""


@jit
def rise_angle(a, b, c, touched):
    """Return the first tau >= 0 at which a sin tau + b cos tau rises through c, 0 if above c and rising.

    touched: the value at tau = 0 is c and falling, up to rounding; return the next crossing.
    """
    size = math.sqrt(a * a + b * b)
    if c >= size:
        return NEVER
    half = math.acos(max(c / size, -1.0))
    peak = -half if touched else math.atan2(a, b)
    return max(peak - half if peak > 0.0 else peak - half + 2.0 * math.pi, 0.0)


@jit
def fall_angle(p, q, c):
    """Return the first tau >= 0 at which p cos tau + q sin tau falls to c; q <= 0."""
    size = math.sqrt(p * p + q * q)
    if c <= -size:
        return NEVER
    if c >= size:
        return 0.0
    return max(math.atan2(q, p) + math.acos(c / size), 0.0)


@jit
def arc_on_one(place, o, radius, path):
    """path <- great circle of steepest descent around o through `place`.   place, o (3,)."""
    x, y, z = place[0] - o[0], place[1] - o[1], place[2] - o[2]
    size, flat = math.sqrt(x * x + y * y + z * z), math.sqrt(x * x + y * y)
    path[0, 0], path[0, 1], path[0, 2] = o[0], o[1], o[2]
    path[1, 0], path[1, 1], path[1, 2] = x / size, y / size, z / size
    if flat > 1e-12 * radius:
        path[2, 0], path[2, 1], path[2, 2] = z * x / (size * flat), z * y / (size * flat), -flat / size
    else:  # at the top every direction descends
        path[2, 0], path[2, 1], path[2, 2] = 1.0, 0.0, 0.0


@jit
def arc_on_two(place, first, reach_first, second, reach_second, path):
    """path <- circle at the two reaches from first and second; return (radius, release height, released).

    place, first, second (3,). With l_1, l_2 the contact forces over their reaches and z_a, z_p the components
    of the vertical along axis and radius, radius (l_1 + l_2) = z_p and l_1 h_1 + l_2 h_2 = z_a. A contact
    force vanishes when z_p falls to the release height: that of the second sphere (1) if it is higher,
    else that of the first (0).
    """
    ax, ay, az = second[0] - first[0], second[1] - first[1], second[2] - first[2]
    apart = math.sqrt(ax * ax + ay * ay + az * az)
    ax, ay, az = ax / apart, ay / apart, az / apart
    h1 = (apart * apart + reach_first * reach_first - reach_second * reach_second) / (2.0 * apart)
    h2 = h1 - apart
    radius = math.sqrt(max(reach_first * reach_first - h1 * h1, 0.0))
    path[0, 0], path[0, 1], path[0, 2] = first[0] + h1 * ax, first[1] + h1 * ay, first[2] + h1 * az
    x, y, z = place[0] - path[0, 0], place[1] - path[0, 1], place[2] - path[0, 2]
    along = x * ax + y * ay + z * az
    x, y, z = x - along * ax, y - along * ay, z - along * az
    size = math.sqrt(x * x + y * y + z * z)
    x, y, z = x / size, y / size, z / size
    side = -1.0 if ax * y - ay * x > 0.0 else 1.0
    path[1, 0], path[1, 1], path[1, 2] = x, y, z
    path[2, 0], path[2, 1], path[2, 2] = (
        side * (ay * z - az * y),
        side * (az * x - ax * z),
        side * (ax * y - ay * x),
    )
    return radius, radius * max(az / h1, az / h2), 1 if az > 0.0 else 0


@jit
def is_listed(tags, count, j, mx, my):
    """Return whether (j, mx, my) is among the first `count` tags (4, 3)."""
    listed = False
    for t in range(count):
        listed |= tags[t, 0] == j and tags[t, 1] == mx and tags[t, 2] == my
    return listed


@jit
def first_on_line(place, r, space, kept, count, tag):
    """tag <- first sphere hit in a vertical fall, FLOOR if none; return the height of the centre there.

    place (3,); kept[:count] (4, 3): tags of spheres touched at the start, which are ignored.
    """
    centre, radius, largest, width, cell, head, link = space
    nx, ny, nz = head.shape
    reach = r + largest
    tag[0], tag[1], tag[2] = FLOOR, 0, 0
    best = r
    x_low, x_high = math.floor((place[0] - reach) * nx / width), math.floor((place[0] + reach) * nx / width)
    y_low, y_high = math.floor((place[1] - reach) * ny / width), math.floor((place[1] + reach) * ny / width)
    for iz in range(min(math.floor((place[2] + reach) / cell), nz - 1), -1, -1):
        if iz < nz - 1 and best >= (iz + 1) * cell + reach:
            break
        for iy in range(y_low, y_high + 1):
            my = iy // ny
            for ix in range(x_low, x_high + 1):
                mx = ix // nx
                j = head[ix - mx * nx, iy - my * ny, iz]
                while j >= 0:
                    dx = centre[j, 0] + mx * width - place[0]
                    dy = centre[j, 1] + my * width - place[1]
                    room = (r + radius[j]) ** 2 - dx * dx - dy * dy
                    if room > 0.0 and centre[j, 2] < place[2] and not is_listed(kept, count, j, mx, my):
                        z = min(centre[j, 2] + math.sqrt(room), place[2])
                        if z > best:
                            best = z
                            tag[0], tag[1], tag[2] = j, mx, my
                    j = link[j]
    return best


@jit
def first_on_arc(arc, r, space, tags, active, kept, count, tag):
    """tag <- first sphere touched on the `Arc` before its end, NOBODY if none; return the angle.

    tags[:active] (4, 3): spheres rolled on; kept[:count] (4, 3): spheres touched at the start.
    """
    path, s, end, high, low = arc
    centre, radius, largest, width, cell, head, link = space
    nx, ny, nz = head.shape
    reach = r + largest
    tag[0], tag[1], tag[2] = NOBODY, 0, 0
    best = end
    x_low = math.floor((path[0, 0] - s - reach) * nx / width)
    x_high = math.floor((path[0, 0] + s + reach) * nx / width)
    y_low = math.floor((path[0, 1] - s - reach) * ny / width)
    y_high = math.floor((path[0, 1] + s + reach) * ny / width)
    z_low = min(max(math.floor((low - reach) / cell), 0), nz - 1)
    z_high = min(max(math.floor((high + reach) / cell), 0), nz - 1)
    for iz in range(z_low, z_high + 1):
        for iy in range(y_low, y_high + 1):
            my = iy // ny
            for ix in range(x_low, x_high + 1):
                mx = ix // nx
                j = head[ix - mx * nx, iy - my * ny, iz]
                while j >= 0:
                    dx = centre[j, 0] + mx * width - path[0, 0]
                    dy = centre[j, 1] + my * width - path[0, 1]
                    dz = centre[j, 2] - path[0, 2]
                    b = dx * path[1, 0] + dy * path[1, 1] + dz * path[1, 2]
                    a = dx * path[2, 0] + dy * path[2, 1] + dz * path[2, 2]
                    c = (dx * dx + dy * dy + dz * dz + s * s - (r + radius[j]) ** 2) / (2.0 * s)
                    if (c <= 0.0 or c * c < a * a + b * b) and not is_listed(tags, active, j, mx, my):
                        tau = rise_angle(a, b, c, is_listed(kept, count, j, mx, my))
                        if tau < best:
                            best = tau
                            tag[0], tag[1], tag[2] = j, mx, my
                    j = link[j]
    return best


@jit
def supports(normal, count):
    """Return the bit mask of the touching spheres that support or guide a sphere; the last one is new.

    normal (3, 3), rows from support to sphere. The velocity is the projection of -z on the cone
    {v·n_i >= 0}; the last support is active in it, and all three are if the sphere rests. Each active set is
    rated by its smallest contact force or separation speed, and the best is chosen, so that ties up to
    rounding are resolved.
    """
    # 1. The new support alone.
    last = count - 1
    nx, ny, nz = normal[last, 0], normal[last, 1], normal[last, 2]
    mask, grade = 1 << last, nz
    for i in range(last):
        grade = min(grade, nz * (nx * normal[i, 0] + ny * normal[i, 1] + nz * normal[i, 2]) - normal[i, 2])
    # 2. The new support and one other.
    for i in range(last):
        dot = nx * normal[i, 0] + ny * normal[i, 1] + nz * normal[i, 2]
        push_i = (normal[i, 2] - dot * nz) / (1.0 - dot * dot)
        push = (nz - dot * normal[i, 2]) / (1.0 - dot * dot)
        worst = min(push_i, push)
        for k in range(last):
            if k != i:
                vx = push_i * normal[i, 0] + push * nx
                vy = push_i * normal[i, 1] + push * ny
                vz = push_i * normal[i, 2] + push * nz - 1.0
                worst = min(worst, vx * normal[k, 0] + vy * normal[k, 1] + vz * normal[k, 2])
        if worst > grade:
            mask, grade = (1 << last) | (1 << i), worst
    # 3. All three.
    if count == 3:
        z0 = normal[1, 0] * normal[2, 1] - normal[1, 1] * normal[2, 0]
        z1 = normal[2, 0] * normal[0, 1] - normal[2, 1] * normal[0, 0]
        z2 = normal[0, 0] * normal[1, 1] - normal[0, 1] * normal[1, 0]
        volume = normal[0, 2] * z0 + normal[1, 2] * z1 + normal[2, 2] * z2
        if abs(volume) > 1e-12 and min(z0 / volume, z1 / volume, z2 / volume) > grade:
            mask = 7
    return mask


@jit
def copy_tag(source, i, target, k):
    """target[k] <- source[i].   source, target (4, 3)."""
    for m in range(3):
        target[k, m] = source[i, m]


@jit
def roll(place, r, space, work, lists):
    """place <- rest position of a sphere of radius r; lists[0] <- tags of its supports; return their number.

    place (3,): start, without contact; FLOOR counts as a support. Return 0 if MOVES pieces do not suffice.
    work (3, 3, 3), lists (3, 4, 3): tags[:active] are the spheres rolled on, kept[:count] those touched at
    the last event, which the next piece leaves or only grazes.
    """
    centre, radius, width = space.centre, space.radius, space.width
    at, path, normal = work[0], work[1], work[2]
    tags, kept, tag = lists[0], lists[1], lists[2, 0]
    active, count = 0, 0
    for _ in range(MOVES):
        # 1. Vertical fall, or arc on one or two spheres, up to the next event.
        if active == 0:
            place[2] = first_on_line(place, r, space, kept, count, tag)
            if tag[0] == FLOOR:
                copy_tag(lists[2], 0, tags, 0)
                return 1
        else:
            for t in range(active):
                at[t, 0] = centre[tags[t, 0], 0] + tags[t, 1] * width
                at[t, 1] = centre[tags[t, 0], 1] + tags[t, 2] * width
                at[t, 2] = centre[tags[t, 0], 2]
            s, height, leaver = r + radius[tags[0, 0]], 0.0, 0
            if active == 1:
                arc_on_one(place, at[0], s, path)
            else:
                s, height, leaver = arc_on_two(place, at[0], s, at[1], r + radius[tags[1, 0]], path)
            release = fall_angle(path[1, 2], path[2, 2], height)
            floor = fall_angle(path[1, 2], path[2, 2], (r - path[0, 2]) / s)
            end = min(release, floor)
            low = path[0, 2] + s * (math.cos(end) * path[1, 2] + math.sin(end) * path[2, 2])
            arc = Arc(path, s, end, place[2], low)
            tau = first_on_arc(arc, r, space, tags, active, kept, count, tag)
            for k in range(3):
                place[k] = path[0, k] + s * (math.cos(tau) * path[1, k] + math.sin(tau) * path[2, k])
            # 2. Floor, or release of a sphere.
            if tag[0] == NOBODY:
                if floor <= release + 1e-9:  # equal spheres reach the floor at the angle of release
                    place[2] = r
                    tags[active, 0], tags[active, 1], tags[active, 2] = FLOOR, 0, 0
                    return active + 1
                for t in range(active):
                    copy_tag(tags, t, kept, t)
                count = active
                active -= 1
                if leaver == 0 and active == 1:
                    copy_tag(tags, 1, tags, 0)
                continue
        # 3. A new sphere is touched; spheres that neither support nor guide are dropped.
        copy_tag(lists[2], 0, tags, active)
        count = active + 1
        for t in range(count):
            copy_tag(tags, t, kept, t)
            j, reach = tags[t, 0], r + radius[tags[t, 0]]
            normal[t, 0] = (place[0] - centre[j, 0] - tags[t, 1] * width) / reach
            normal[t, 1] = (place[1] - centre[j, 1] - tags[t, 2] * width) / reach
            normal[t, 2] = (place[2] - centre[j, 2]) / reach
        mask = supports(normal, count)
        if mask == 7:
            return 3
        active = 0
        for t in range(count):
            if mask & (1 << t):
                copy_tag(kept, t, tags, active)
                active += 1
    return 0


@jit
def deposit(drops, space, place, work, lists, support, image):
    """Deposit spheres in order: write space.centre, support and image; return the number deposited.

    drops (n, tries, 2): drop points of each sphere, the next one used if it does not come to rest; head and
    link in space filled with -1; place (3,), work (3, 3, 3), lists (3, 4, 3) work. support (n, 3): sphere,
    FLOOR or NOBODY; image (n, 3, 2): widths to add to the support. Stop if all tries of a sphere fail.
    """
    centre, radius, largest, width, cell, head, link = space
    nx, ny, nz = head.shape
    tags, top = lists[0], 0.0
    for i in range(radius.shape[0]):
        count = 0
        for attempt in range(drops.shape[1]):
            place[0], place[1], place[2] = drops[i, attempt, 0], drops[i, attempt, 1], top + 3.0 * largest
            count = roll(place, radius[i], space, work, lists)
            if count > 0:
                break
        if count == 0:
            return i
        # position within one period, and supports relative to it
        mx, my = math.floor(place[0] / width), math.floor(place[1] / width)
        centre[i, 0], centre[i, 1], centre[i, 2] = place[0] - mx * width, place[1] - my * width, place[2]
        for t in range(3):
            support[i, t] = tags[t, 0] if t < count else NOBODY
            image[i, t, 0] = tags[t, 1] - mx if support[i, t] >= 0 else 0
            image[i, t, 1] = tags[t, 2] - my if support[i, t] >= 0 else 0
        # cell of the sphere
        ix = min(math.floor(centre[i, 0] * nx / width), nx - 1)
        iy = min(math.floor(centre[i, 1] * ny / width), ny - 1)
        iz = min(math.floor(place[2] / cell), nz - 1)
        link[i] = head[ix, iy, iz]
        head[ix, iy, iz] = i
        top = max(top, place[2] + radius[i])
    return radius.shape[0]
