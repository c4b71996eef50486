"""Gradients by what belongs to single bodies, at a cost in proportion to their number.

A row of the problem depends on its two bodies alone, the momentum of a body on itself and on those that
forces join it to. So bodies of one colour, no two of which meet in a row or at a body, are changed together,
and what comes of it is told apart by where it appears (Curtis, Powell & Reid 1974, on sparse Jacobians).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from stickslip.gradients.moreau_jean_assembly import Assembly, Changed
from stickslip.gradients.moreau_jean_response import Response
from stickslip.mechanics.parameters import actuators, lengths
from stickslip.mechanics.written_forces import JointEffort
from stickslip.state import Array, IntArray

BODYWISE = ("q", "v", "mass", "inertia", "size", "place", "effort", "wrench")
"""What belongs to single bodies; efforts to the first of their joint, and forces join that to the second."""


class _Columns(NamedTuple):
    """The numbers of one array."""

    body: IntArray
    """Whose each is [-], shape (size,)."""
    within: IntArray
    """Which of those of its body it is [-], shape (size,)."""


class BodyColumns:
    """The numbers of a step that belong to bodies, and which bodies are changed together."""

    def __init__(self, assembly: Assembly):
        self._assembly = assembly
        self._forced = _force_pairs(assembly)
        pairs = assembly.sides[(assembly.sides >= 0).all(axis=1)]
        self._colour = _coloured(assembly.bodies.count, pairs, self._forced)

    def gradients(
        self, wanted: Sequence[str], on_q: Array, on_v: Array, response: Response, causes: Sequence[Changed],
        most: int,
    ) -> dict[str, Array]:  # fmt: skip
        """Weights of `wanted`, each (size, m), from those of q and v at the end and of the problems; at most
        so many directions at once."""
        m = on_q.shape[1]
        columns = {name: _columns(self._assembly, name) for name in wanted}
        out = {name: np.zeros((one.body.size, m)) for name, one in columns.items()}
        for colour in range(int(self._colour.max(initial=-1)) + 1):
            chosen = {name: np.flatnonzero(self._colour[one.body] == colour) for name, one in columns.items()}
            first, tangents = 0, {}
            place = {}
            for name, which in chosen.items():
                place[name] = first + columns[name].within[which]
                first += int(columns[name].within[which].max(initial=-1)) + 1
            for name, which in chosen.items():
                if which.size:
                    tangents[name] = np.zeros((columns[name].body.size, first))
                    tangents[name][which, place[name]] = 1.0
            for at in range(0, first, most):
                part = {name: x[:, at : at + most] for name, x in tangents.items()}
                found = self._by_body(colour, part, on_q, on_v, response, causes)
                for name, which in chosen.items():
                    here = (place[name] >= at) & (place[name] < at + most)
                    which_here = which[here]
                    out[name][which_here] = found[columns[name].body[which_here], place[name][here] - at]
        return out

    def _by_body(
        self, colour: int, tangents: dict[str, Array], on_q: Array, on_v: Array, response: Response,
        causes: Sequence[Changed],
    ) -> Array:  # fmt: skip
        """What comes of the change of each body of a colour along each direction, shape (n, k, m)."""
        assembly, m = self._assembly, on_q.shape[1]
        k, n = next(iter(tangents.values())).shape[1], assembly.bodies.count
        at = assembly.middle(assembly.inputs(tangents))
        moved = assembly.arrival(at, response.v, k)
        ends = sum(
            np.einsum("nik,nim->nkm", x.reshape(n, 6, k), weight.reshape(n, 6, m))
            for x, weight in zip(moved, (on_q, on_v), strict=True)
        )
        rows = np.zeros((assembly.sides.shape[0], k, m))
        for phase, weight in zip(response.phases(at), causes, strict=False):
            of_rows, of_bodies = assembly.weighed(at, *phase, weight, k)
            rows += of_rows
            ends[assembly.bodies.dynamic] += of_bodies
        own, row_owner = self._owners(colour)
        total: Array = _gathered(own, n) @ ends.reshape(n, k * m)
        total = total + _gathered(row_owner, n) @ rows.reshape(rows.shape[0], k * m)
        return total.reshape(n, k, m)

    def _owners(self, colour: int) -> tuple[IntArray, IntArray]:
        """The body of a colour that each body, and each row, depends on; -1 for none."""
        mine = self._colour == colour
        own = np.where(mine, np.arange(mine.size), -1)
        for one, other in ((0, 1), (1, 0)):
            near = self._forced[mine[self._forced[:, one]]]
            own[near[:, other]] = near[:, one]
        sides = self._assembly.sides
        has = (sides >= 0) & mine[sides]
        rows = np.where(has[:, 0], sides[:, 0], np.where(has[:, 1], sides[:, 1], -1))
        return own, rows


def _gathered(owner: IntArray, n: int) -> sp.csr_array:
    """The matrix that adds up what belongs to each of n bodies."""
    which = np.flatnonzero(owner >= 0)
    return sp.coo_array((np.ones(which.size), (owner[which], which)), shape=(n, owner.size)).tocsr()


def _columns(assembly: Assembly, name: str) -> _Columns:
    shapes, n = assembly.world.shapes, assembly.bodies.count
    if name == "mass":
        body = np.arange(n)
    elif name == "size":
        body = np.repeat(shapes.body, [lengths(shape).size for shape in shapes.shape])
    elif name == "effort":
        body = np.array([one.joints.body[one.joint, 0] for one in actuators(assembly.world)], np.int64)
    elif name == "place":
        body = np.repeat(shapes.body, 3)
    else:
        body = np.repeat(np.arange(n), 6)
    order = np.argsort(body, kind="stable")
    within = np.empty(body.size, np.int64)
    ordered = body[order]
    within[order] = np.arange(body.size) - np.searchsorted(ordered, ordered)
    return _Columns(body, within)


def _force_pairs(assembly: Assembly) -> IntArray:
    """Pairs of bodies that forces act between [-], shape (m, 2)."""
    forces = assembly.world.forces
    pairs = [table.body for table in (forces.springs, forces.dampers) if table is not None]
    pairs += [one.joints.body[[one.joint]] for one in forces.written if isinstance(one, JointEffort)]
    both = np.concatenate([np.zeros((0, 2), np.int64), *pairs])
    return both[(both >= 0).all(axis=1)]


def _coloured(n: int, pairs: IntArray, forced: IntArray) -> IntArray:
    """Colours of n bodies: other ones for two in a row, in a force, and at forces on the same body."""
    pushed: list[set[int]] = [{i} for i in range(n)]
    for i, j in np.unique(forced, axis=0).tolist():
        pushed[i].add(j)
        pushed[j].add(i)
    apart: list[set[int]] = [set() for _ in range(n)]
    for i, j in np.unique(pairs, axis=0).tolist():
        apart[i].add(j)
        apart[j].add(i)
    for group in pushed:
        for i in group:
            apart[i] |= group - {i}
    colour = np.full(n, -1)
    for i in sorted(range(n), key=lambda i: -len(apart[i])):
        taken = {int(colour[j]) for j in apart[i]}
        colour[i] = next(c for c in range(n) if c not in taken)
    return colour
