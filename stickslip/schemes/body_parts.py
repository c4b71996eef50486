"""Steps of worlds with many contacts, in parts on several threads; what a part is follows from the contacts.

Contacts and their rows have the bits of `kernels/bodies/assembly.py`, velocities those of
`kernels/bodies/motion.py`; energies are added by parts, and the correction sweeps by domains
(`kernels/domains.py`).
"""

from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from stickslip.kernels.bodies import assembly, correction, parts
from stickslip.kernels.bodies.layout import (
    Active,
    Blocks,
    BodyArrays,
    Contacts,
    Energies,
    FreeMotion,
    LastContacts,
    Overlaps,
    Span,
)
from stickslip.kernels.domains import PARTS
from stickslip.kernels.held import Held
from stickslip.problem.parts import Graph, in_parts
from stickslip.state import Array
from stickslip.threads import Team, ranges


def assemble(
    found: Contacts, last: LastContacts, slots: int, bodies: BodyArrays, free: FreeMotion, span: Span,
    slack: float, newton: bool, stabilised: bool,
) -> Active:  # fmt: skip
    """`assembly.assemble`, with the same bits."""
    row, n, bench = bodies.row, len(bodies.row), assembly.bench_of(len(found.id), len(bodies.row))
    q, law = free.q_m, (row, free, span)
    in_parts(n, assembly.turn_bodies, q, last=(bench,))
    # 1. Names and last impulses, in parts that no pair of shapes is divided by
    pair = found.id // slots
    bounds = [0] + [int(np.searchsorted(pair, pair[end - 1], "right")) for _, end in ranges(len(pair), PARTS)]
    some = [part for part in pairwise(bounds) if part[0] < part[1]]
    known = np.searchsorted(last.id, [pair[first] * slots for first, _ in some]).tolist()
    ends = [*known[1:], len(last.id)]
    with Team() as team:
        team.run(
            [
                partial(
                    assembly.recognise, found, LastContacts(*(x[a:b] for x in last)), slots, q, *part, bench
                )
                for part, a, b in zip(some, known, ends, strict=True)
            ]
        )
        # 2. Those that take part
        sizes = team.run(
            [partial(assembly.choose, found, *law, slack, stabilised, *part, bench) for part in some]
        )
        # 3. and 4. Their data, sets, rows, biases and first impulses
        before = list(accumulate(sizes, lambda a, b: tuple(np.add(a, b).tolist()), initial=(0, 0, 0)))
        out: Active = assembly.room_of(*before[-1])
        team.run(
            [
                partial(
                    assembly.write_blocks, found, *law, newton, stabilised, bench, first, size[0], at, out
                )
                for (first, _), size, at in zip(some, sizes, before, strict=False)
            ]
        )
    return out


def arrive(
    bodies: BodyArrays, graph: Graph, blocks: Blocks, r: Array, free: FreeMotion, span: Span, q: Array,
    v: Array,
) -> tuple[Array, Energies]:  # fmt: skip
    """`motion.arrive`."""
    n, nc, u = len(v), len(blocks.sides), np.empty(r.shape)
    in_parts(n, parts.depart, bodies, graph.touching, blocks, r, free.v_free, last=(v,))
    done = in_parts(nc, parts.work, bodies.row, blocks, r, free.v_start, v, last=(u,))
    lost, by_contacts = map(sum, zip(*done, strict=True))
    moved = in_parts(n, parts.arrive, bodies, free, span, last=(q, v))
    kinetic_before, weight_before, kinetic, weight, damped, worked, driven = map(
        sum, zip(*moved, strict=True)
    )
    return u, Energies(
        kinetic_before, kinetic, weight_before, weight, lost, by_contacts + driven, damped, worked
    )


def sweep_back(
    bodies: BodyArrays, graph: Graph, blocks: Blocks, overlaps: Overlaps, sweeps: int
) -> tuple[Array, Array]:
    """`correction.sweep_back` of contacts, in the order of their domains."""
    order, _ = graph.domains
    shift, turns = np.zeros((len(bodies.row), 6)), graph.turns()
    tolerance = correction.PRECISION * overlaps.largest

    def domain(first: int, end: int) -> Any:
        which = order[first:end]
        wanted = correction.Wanted(
            blocks.sides[which], blocks.rows[3 * which], np.zeros(end - first, np.bool_),
            overlaps.need[which], overlaps.largest,
        )  # fmt: skip
        return parts.Domain(correction.pushing_of(bodies, wanted), bodies.row, shift)

    with Team() as team:
        held: list[list[Held]] = []
        for turn in turns:
            made = team.run([partial(domain, *part) for part in turn])
            like = held[0][0] if held and held[0] else None
            held.append([Held(one, like) for one in made])
        every = [one for turn in held for one in turn]
        for sweep in range(sweeps):
            backwards = sweep % 2 == 1
            for some in held[::-1] if backwards else held:
                team.run([partial(parts.push, one, backwards) for one in some])
            if max(team.run([partial(parts.missing, one) for one in every])) <= tolerance:
                break
    moved = np.empty(len(order))
    moved[order] = np.concatenate([one.pushing.moved for one in every])
    return shift, moved
