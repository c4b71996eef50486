"""Partition of contacts between bodies into domains for parallel sweeps.

Bodies are sorted into levels by their distance from a root in the graph of contacts (Cuthill & McKee 1969).
Domains are sets of consecutive levels with about equal numbers of contacts. A contact joins bodies of the
same level or of two neighbouring ones and belongs to the domain of the lower level, so the contacts of domain
d touch bodies of d and d + 1 only. Even domains can thus be processed at the same time, and so can odd ones.
A body with a large share of the contacts (hub) would reduce the number of levels; hubs are left out of the
graph, and their contacts form a last, separate domain.

Domains depend on the graph only, not on the number of threads.
"""

import numpy as np

from stickslip.kernels.jit import jit

LARGE = 20_000
"""Smallest number of contacts for sweeps by domains; one thread sweeps fewer in a few milliseconds."""
PARTS = 16
"""Number of parts into which loops over bodies, or over contacts in their order, are divided."""
LEAST = 2_000
"""Smallest mean number of contacts per domain: a sweep over them takes 100 µs, the call a few µs."""
TURN = 4
"""The number of domains is a multiple of TURN if it is larger, so that two threads share even and odd domains
equally."""
MOST = 64
"""Largest number of domains; heuristic."""
HUB = 32
"""A body with more than 1/HUB of the contacts is a hub; heuristic."""


@jit
def partition(bodies, count):
    """Return (order, start): contacts sorted by domain, and the first of each domain, shape (domains + 1,).

    Even domains come first, then odd ones (as many or one less), then the domain of the contacts of hubs,
    which may be empty. Contacts of a domain keep their order. bodies (nc, 2), -1 for a fixed side; count:
    number of bodies.
    """
    nc = bodies.shape[0]
    # 1. Graph of the bodies without hubs: neighbours of each body.
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
    # 2. Levels of each connected component, from a root that is far from another body of it.
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
    # 3. Contacts of each level, and domains of consecutive levels.
    level_of_contact, size, last = np.empty(nc, np.int64), np.zeros(deepest + 1, np.int64), deepest
    for i in range(nc):
        level_of_contact[i] = last
        for side in range(2):
            b = bodies[i, side]
            if b >= 0 and is_hub[b]:
                level_of_contact[i] = last
                break
            if b >= 0:
                level_of_contact[i] = min(level_of_contact[i], level[b])
        size[level_of_contact[i]] += 1
    inside = nc - size[last]
    target = max(1, min(MOST, inside // LEAST))
    if target > TURN:
        target -= target % TURN
    domain, number, contacts_done = np.empty(last + 1, np.int64), 0, 0
    for k in range(last):
        domain[k] = number
        contacts_done += size[k]
        if contacts_done * target >= inside * (number + 1) and number + 1 < target:
            number += 1
    number += 1
    # 4. Order: even domains, odd domains, contacts of hubs.
    even = (number + 1) // 2
    for k in range(last):
        domain[k] = domain[k] // 2 + (even if domain[k] % 2 else 0)
    domain[last] = number
    start, order = np.zeros(number + 2, np.int64), np.empty(nc, np.int64)
    for i in range(nc):
        start[domain[level_of_contact[i]] + 1] += 1
    for d in range(number + 1):
        start[d + 1] += start[d]
    place = start.copy()
    for i in range(nc):
        d = domain[level_of_contact[i]]
        order[place[d]] = i
        place[d] += 1
    return order, start


@jit
def _levels(begin, neighbour, level, queue, at, root, first):
    """Write the bodies connected to `root` to queue[at:], in order of distance, and their levels.

    Return the end of these bodies in the queue. first: level of the root.
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
