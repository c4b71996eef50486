"""Graph of a step: nodes are moving bodies and joints with constraints, edges are the blocks between them."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from stickslip.kernels.cones import FREE
from stickslip.linalg.block_lu import BlockPlan, block_plan
from stickslip.problem.checks import IntArray
from stickslip.problem.step_tangent import StepBlocks


@dataclass(frozen=True, eq=False, slots=True)
class StepGraph:
    """Positions of the blocks of a step in the matrix of its Newton systems."""

    plan: BlockPlan
    """Elimination order and fill; nodes are the moving bodies by `row`, then the joints with constraints."""
    wires: IntArray
    """For each block: its two moving bodies by `row`, -1 for none; its node, -1 unless it is a `free` block
    on a moving body; and its blocks of the matrix, -1 for none: (first, node), (node, first), (second, node),
    (node, second) of a `free` block, (first, second), (second, first) of others [-], shape (nb, 7)."""


def step_graph(blocks: StepBlocks, moving: int) -> StepGraph:
    """Return the graph of a step over `moving` bodies, cached for later steps with the same graph."""
    return _graph(moving, blocks.K.kind.tobytes(), blocks.pairs.tobytes())


@lru_cache(maxsize=64)
def _graph(moving: int, kinds: bytes, rows: bytes) -> StepGraph:
    kind, pairs = np.frombuffer(kinds, np.int64), np.frombuffer(rows, np.int64).reshape(-1, 2)
    wires = np.full((len(kind), 7), -1)
    wires[:, :2] = pairs
    joined: list[tuple[int, int]] = []
    slots: list[tuple[int, int]] = []
    count = moving
    moves = pairs >= 0
    for i in np.flatnonzero(np.where(kind == FREE, moves.any(axis=1), moves.all(axis=1))):
        a, b = (int(k) for k in pairs[i])
        if kind[i] != FREE:
            joined.append((a, b))
            slots.append((int(i), 3))
            continue
        wires[i, 2] = count
        for side, body in enumerate((a, b)):
            if body >= 0:
                joined.append((body, count))
                slots.append((int(i), 3 + 2 * side))
        count += 1
    waits = np.arange(count) >= moving
    plan = block_plan(count, np.array(joined, np.int64).reshape(-1, 2), waits)
    for (block, column), place in zip(slots, plan.places, strict=True):
        wires[block, column : column + 2] = place
    return StepGraph(plan, wires)
