"""From active interactions to problems: coupled ones together, uncoupled ones apart.

Interactions are coupled when they share a system (Siconos Developer's Notes 2017, chapter 1); blocks of
uncoupled ones meet only zeros in W, so each set of coupled ones is a problem of its own.
"""

from collections.abc import Sequence

from stickslip.systems.system import Bound


def coupled(interactions: Sequence[Bound]) -> list[list[Bound]]:
    """The interactions in groups that share systems, directly or through others, in their order."""
    if len(interactions) <= 1:
        return [list(interactions)] if interactions else []
    root: dict[int, int] = {}

    def find(i: int) -> int:
        root.setdefault(i, i)
        while root[i] != i:
            i = root[i]
        return i

    for one in interactions:
        first = find(one.systems[0])
        for other in one.systems[1:]:
            a, b = sorted((first, find(other)))
            root[b] = a
            first = a
    groups: dict[int, list[Bound]] = {}
    for one in interactions:
        groups.setdefault(find(one.systems[0]), []).append(one)
    return list(groups.values())
