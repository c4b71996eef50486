"""Contacts between bodies in domains that threads work on at the same time.

Bodies are put into levels by their distance from one of them in the graph of contacts (Cuthill & McKee
1969), and domains are consecutive levels of about as many contacts each. Contacts join bodies of one level or
of two neighbours, so those of domain d, the domain of the nearer body, touch bodies of d and d + 1 alone:
domains of even number can be worked on at the same time, and so can those of odd number. A body with a large
share of all contacts would put everything into few levels; it is left out of the graph, and its contacts come
last, alone.

Domains follow from the graph alone, never from the number of threads.
"""

import numpy as np

from stickslip.kernels.jit import jit

LARGE = 20_000
"""Contacts from which sweeps go by domains: fewer are over in a few milliseconds on one thread."""
PARTS = 16
"""Parts that as many bodies, or contacts in their own order, are worked on in."""
LEAST = 2_000
"""Contacts of a domain, at least, on average: a hundred microseconds of a sweep, and a few of a call."""
TURN = 4
"""Domains are a multiple of so many, where they are as many: two threads then share those of even number
evenly, and those of odd number."""
MOST = 64
"""Most domains."""
HUB = 32
"""A body with more than one in so many contacts is left out of the graph."""


@jit
def partition(bodies, count):
    """(order, start): contacts by domains, and where each begins in that order, shape (domains + 1,).

    Domains of even number come first, then those of odd number, as many or one less, then one, which may be
    empty, of the contacts of hubs. Contacts of a domain are in the order of before.
    bodies (nc, 2), -1 for a fixed side; count of the bodies.
    """
    nc = bodies.shape[0]
    # 1. the graph of bodies, hubs left out: neighbours of each
    degree = np.zeros(count + 1, np.int64)
    for i in range(nc):
        for side in range(2):
            if bodies[i, side] >= 0:
                degree[bodies[i, side]] += 1
    is_hub, begin = degree * HUB > max(nc, LEAST * HUB // 4), np.zeros(count + 2, np.int64)
    for i in range(nc):
        b, c = bodies[i, 0], bodies[i, 1]
        if b >= 0 and c >= 0 and b != c and not (is_hub[b] or is_hub[c]):
            begin[b + 2] += 1
            begin[c + 2] += 1
    for b in range(count + 2 - 1):
        begin[b + 1] += begin[b]
    neighbour = np.empty(begin[count + 1], np.int64)
    for i in range(nc):
        b, c = bodies[i, 0], bodies[i, 1]
        if b >= 0 and c >= 0 and b != c and not (is_hub[b] or is_hub[c]):
            neighbour[begin[b + 1]], neighbour[begin[c + 1]] = c, b
            begin[b + 1] += 1
            begin[c + 1] += 1
    # 2. levels, component after component, each from a body that is far from others of its own
    level, queue = np.full(count, -1), np.empty(count, np.int64)
    at = deepest = 0
    for b in range(count):
        if level[b] >= 0:
            continue
        end = _levels(begin, neighbour, level, queue, at, b, deepest)
        far = queue[end - 1]
        for k in range(at, end):
            level[queue[k]] = -1
        end = _levels(begin, neighbour, level, queue, at, far, deepest)
        at, deepest = end, level[queue[end - 1]] + 1
    # 3. contacts of each level, and domains of consecutive levels
    own, size, last = np.empty(nc, np.int64), np.zeros(deepest + 1, np.int64), deepest
    for i in range(nc):
        own[i] = last
        for side in range(2):
            b = bodies[i, side]
            if b >= 0 and is_hub[b]:
                own[i] = last
                break
            if b >= 0:
                own[i] = min(own[i], level[b])
        size[own[i]] += 1
    inside = nc - size[last]
    wanted = max(1, min(MOST, inside // LEAST))
    if wanted > TURN:
        wanted -= wanted % TURN
    domain, number, done = np.empty(last + 1, np.int64), 0, 0
    for k in range(last):
        domain[k] = number
        done += size[k]
        if done * wanted >= inside * (number + 1) and number + 1 < wanted:
            number += 1
    number += 1
    # 4. even ones, odd ones, and what hubs touch
    even = (number + 1) // 2
    for k in range(last):
        domain[k] = domain[k] // 2 + (even if domain[k] % 2 else 0)
    domain[last] = number
    start, order = np.zeros(number + 2, np.int64), np.empty(nc, np.int64)
    for i in range(nc):
        start[domain[own[i]] + 1] += 1
    for d in range(number + 1):
        start[d + 1] += start[d]
    place = start.copy()
    for i in range(nc):
        d = domain[own[i]]
        order[place[d]] = i
        place[d] += 1
    return order, start


@jit
def _levels(begin, neighbour, level, queue, at, root, first):
    """level, queue[at:] <- bodies that contacts join to `root`, in order of their distance; the end of them.

    first: level of the root.
    """
    level[root], queue[at], end = first, root, at + 1
    while at < end:
        b = queue[at]
        at += 1
        for k in range(begin[b], begin[b + 1]):
            c = neighbour[k]
            if level[c] < 0:
                level[c] = level[b] + 1
                queue[end] = c
                end += 1
    return end
