"""Steps of worlds with many contacts, in parts on several threads; the contacts alone determine the parts.

Contacts and rows have the same bits as those of `kernels/bodies/assembly.py`, and velocities the same as
those of `kernels/bodies/motion.py`. Energies are summed part by part, and the correction sweeps over domains
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
    """Return the active contacts, as `assembly.assemble` does, with the same bits."""
    row, n, bench = bodies.row, len(bodies.row), assembly.bench_of(len(found.id), len(bodies.row))
    q, law = free.q_m, (row, free, span)
    in_parts(n, assembly.turn_bodies, q, last=(bench,))
    # 1. Identifiers and last impulses. No pair of shapes is divided between two parts.
    pair = found.id // slots
    bounds = [0] + [int(np.searchsorted(pair, pair[end - 1], "right")) for _, end in ranges(len(pair), PARTS)]
    ranges_ = [part for part in pairwise(bounds) if part[0] < part[1]]
    starts = np.searchsorted(last.id, [pair[first] * slots for first, _ in ranges_]).tolist()
    ends = [*starts[1:], len(last.id)]
    with Team() as team:
        team.run(
            [
                partial(
                    assembly.recognise, found, LastContacts(*(x[a:b] for x in last)), slots, q, *part, bench
                )
                for part, a, b in zip(ranges_, starts, ends, strict=True)
            ]
        )
        # 2. Active contacts.
        sizes = team.run(
            [partial(assembly.choose, found, *law, slack, stabilised, *part, bench) for part in ranges_]
        )
        # 3. and 4. Data, sets, rows, biases and initial impulses of the active contacts.
        before = list(accumulate(sizes, lambda a, b: tuple(np.add(a, b).tolist()), initial=(0, 0, 0)))
        out: Active = assembly.room_of(*before[-1])
        team.run(
            [
                partial(
                    assembly.write_blocks, found, *law, newton, stabilised, bench, first, size[0], at, out
                )
                for (first, _), size, at in zip(ranges_, sizes, before, strict=False)
            ]
        )
    return out


def arrive(
    bodies: BodyArrays, graph: Graph, blocks: Blocks, r: Array, free: FreeMotion, span: Span, q: Array,
    v: Array,
) -> tuple[Array, Energies]:  # fmt: skip
    """Write q and v at the end of the step and return u and the energies, as `motion.arrive` does."""
    n, nc, u = len(v), len(blocks.sides), np.empty(r.shape)
    in_parts(n, parts.depart, bodies, graph.touching, blocks, r, free.v_free, last=(v,))
    works = in_parts(nc, parts.work, bodies.row, blocks, r, free.v_start, v, last=(u,))
    lost, by_contacts = map(sum, zip(*works, strict=True))
    energies = in_parts(n, parts.arrive, bodies, free, span, last=(q, v))
    kinetic_before, weight_before, kinetic, weight, damped, worked, driven = map(
        sum, zip(*energies, strict=True)
    )
    return u, Energies(
        kinetic_before, kinetic, weight_before, weight, lost, by_contacts + driven, damped, worked
    )


def sweep_back(
    bodies: BodyArrays, graph: Graph, blocks: Blocks, overlaps: Overlaps, sweeps: int
) -> tuple[Array, Array]:
    """Return shifts of bodies and contacts, as `correction.sweep_back` does, in the order of the domains."""
    order, _ = graph.domains
    shift, turns = np.zeros((len(bodies.row), 6)), graph.turns()
    tolerance = correction.PRECISION * overlaps.largest

    def domain(first: int, end: int) -> Any:
        chosen = order[first:end]
        goal = correction.Wanted(
            blocks.sides[chosen], blocks.rows[3 * chosen], np.zeros(end - first, np.bool_),
            overlaps.need[chosen], overlaps.largest,
        )  # fmt: skip
        return parts.Domain(correction.pushing_of(bodies, goal), bodies.row, shift)

    with Team() as team:
        held: list[list[Held]] = []
        for turn in turns:
            domains = team.run([partial(domain, *part) for part in turn])
            like = held[0][0] if held and held[0] else None
            held.append([Held(part, like) for part in domains])
        all_domains = [part for turn in held for part in turn]
        for sweep in range(sweeps):
            backwards = sweep % 2 == 1
            for independent in held[::-1] if backwards else held:
                team.run([partial(parts.push, part, backwards) for part in independent])
            if max(team.run([partial(parts.missing, part) for part in all_domains])) <= tolerance:
                break
    moved = np.empty(len(order))
    moved[order] = np.concatenate([part.pushing.moved for part in all_domains])
    return shift, moved
