"""Operations on problems of many Coulomb contacts between bodies, in parts on several threads.

The parts and the order of sums over them depend only on the problem, so results have the same bits for any
number of threads.
"""

from collections.abc import Callable
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from stickslip.compilation import JIT
from stickslip.kernels import body_measures, domains, residuals
from stickslip.kernels import body_parts as kernels
from stickslip.kernels.blocks import RIGID
from stickslip.kernels.body_measures import BodyProblem, Unloaded
from stickslip.kernels.body_parts import Touching
from stickslip.kernels.domains import PARTS
from stickslip.problem.checks import Array, IntArray
from stickslip.threads import Team, ranges

COULOMB_3D = (2,)
"""Family of Coulomb contacts in 3D."""


class Graph:
    """Graph of contacts and bodies, with derived data that are computed on first use and cached."""

    def __init__(self, bodies: IntArray, count: int):
        self.bodies = bodies
        """First and second body of each contact, -1 for a fixed side [-], shape (nc, 2)."""
        self.count = count
        """Number of bodies."""

    @cached_property
    def touching(self) -> Touching:
        """Contacts of each body."""
        return kernels.touching(self.bodies, self.count)  # type: ignore[no-any-return]

    @cached_property
    def domains(self) -> tuple[IntArray, IntArray]:
        """Contacts in the order of domains, and the start of each domain (`kernels/domains.py`)."""
        order, start = domains.partition(self.bodies, self.count)
        return order, start

    def turns(self) -> list[list[tuple[int, int]]]:
        """Return first and end of domains, in groups without common bodies: even, odd, remaining contacts."""
        start = self.domains[1].tolist()
        count = len(start) - 1
        even = count // 2
        bounds = (0, even), (even, count - 1), (count - 1, count)
        return [[(a, b) for a, b in pairwise(start[first : end + 1]) if a < b] for first, end in bounds]

    @classmethod
    def of(cls, over_bodies: Any, count: int) -> "Graph":
        """Return the cached graph of `ContactBlocks` or a `BodyDelassus` over `count` bodies."""
        known: Graph | None = over_bodies.__dict__.get("_graph")
        if known is None or known.count != count:
            known = over_bodies.__dict__["_graph"] = cls(over_bodies.bodies, count)
        return known

    def share(self, over_bodies: Any) -> None:
        """Store this graph in another object over the same contacts and bodies."""
        over_bodies.__dict__["_graph"] = self


def in_parts(size: int, task: Callable[..., Any], *arguments: Any, last: tuple[Any, ...] = ()) -> list[Any]:
    """Run task(*arguments, first, end, *last) for each part of `size` items; return the results."""
    with Team() as team:
        return team.run([partial(task, *arguments, *part, *last) for part in ranges(size, PARTS)])


def are_many(bodies: IntArray, rows: Array) -> bool:
    """Whether products over these contacts of rigid bodies are large enough for several threads."""
    return JIT and bodies.shape[0] >= domains.LARGE and rows.shape[2] == RIGID


def are_coulomb(K: Any, over_bodies: Any) -> bool:
    """Whether a problem over bodies has LARGE Coulomb contacts in 3D or more, and nothing else.

    K: a `ProductSet`; over_bodies: `ContactBlocks`, or a `BodyDelassus`.
    """
    return K.family == COULOMB_3D and are_many(over_bodies.bodies, over_bodies.rows)


def body_problem(problem: Any) -> BodyProblem:
    """Return a `GlobalProblem` over contact blocks as arrays for kernels."""
    H, M = problem.H, problem.M
    f = problem.f.reshape(-1, H.rows.shape[2])
    return BodyProblem(problem.K.arrays, H.bodies, H.rows, M.matrix, M.inverse_root, f, problem.u_bias)


def projected(K: Any, r: Array) -> Array:
    """Return P_K(r) of Coulomb contacts in 3D [N s], shape (n,)."""
    out = np.empty(r.shape)
    in_parts(len(K), kernels.project, K.arrays, r, last=(out,))
    return out


def impulses(near: Touching, offset: IntArray, rows: Array, r: Array, count: int) -> Array:
    """Return H r of `count` bodies [N s, N m s], shape (count, 6)."""
    w = np.empty((count, RIGID))
    in_parts(count, kernels.push, near, offset, rows, r, last=(w,))
    return w


def contact_velocities(bodies: IntArray, offset: IntArray, rows: Array, w: Array, bias: Array) -> Array:
    """Return H' w + bias [m/s], shape (n,)."""
    u = np.empty(bias.shape)
    in_parts(len(bodies), kernels.see, bodies, offset, rows, w, bias, last=(u,))
    return u


def unloaded(problem: BodyProblem) -> Unloaded:
    """Compute `body_measures.unloaded` in parts."""
    n = problem.u_bias.shape[0]
    free = Unloaded(np.empty(problem.rows.shape), np.empty(n), np.empty(problem.f.shape), np.empty(n))
    in_parts(len(problem.f), kernels.free_velocities, problem.root, problem.f, last=(free.v,))
    in_parts(n // 3, kernels.unload, problem, last=(free,))
    return free


def velocities(problem: BodyProblem, graph: Graph, r: Array) -> Array:
    """Compute `body_measures.velocities` in parts."""
    v = np.empty(problem.f.shape)
    in_parts(len(v), kernels.velocities, problem, graph.touching, r, last=(v,))
    return v


def measure(
    problem: BodyProblem, graph: Graph, free: Unloaded, r: Array, v: Array
) -> tuple[Array, float, Array]:
    """Compute `body_measures.measure_free`, the judge's measures, in parts."""
    # 1. Sums over bodies, and over contacts by themselves.
    n, u = r.size // 3, np.empty(r.shape)
    sums = in_parts(len(v), kernels.balance, problem, graph.touching, free.v, r, v)
    looks = in_parts(n, kernels.look, problem, free, r, v, last=(u,))
    if not all(look.is_scaled for look in looks):
        return body_measures.measure_free(problem, free, r, v)  # type: ignore[no-any-return]
    # 2. Measures of single contacts relative to the largest terms of all.
    approach, local = (
        tuple(map(max, zip(*sizes, strict=True)))
        for sizes in ([look.approach for look in looks], [look.local for look in looks])
    )
    with Team() as team:
        single_measures = team.run(
            [
                partial(kernels.single, problem, free, look.scales, approach, local, r, u, *part)
                for look, part in zip(looks, ranges(n, PARTS), strict=True)
            ]
        )
    # 3. Reduction over the parts.
    out = np.max([look.units for look in looks], axis=0)
    out[[residuals.NATURAL, residuals.SCALED, residuals.WORST]] = residuals.stop_ratios(
        added([look.sums for look in looks], [first for first, _ in ranges(n, PARTS)])
    )
    closing, errors = zip(*single_measures, strict=True)
    out[residuals.APPROACH] = residuals.over_largest(max(closing), approach)
    out[residuals.LOCAL] = np.max(errors)
    return out, body_measures.equilibrium(sum(sums), sum(look.own for look in looks)), u


def added(sums: list[tuple[float, ...]], first: list[int] | None = None) -> tuple[float, ...]:
    """Return `residuals.stop_sums` of all contacts from those of each part.

    first: first contact of each part; without it, the index of the worst contact is that within its part.
    """
    plain, scaled, worst, where, big, big_s, *squares = zip(*sums, strict=True)
    k = max(range(len(worst)), key=lambda d: np.inf if worst[d] != worst[d] else worst[d])
    contact = where[k] + (first[k] if first else 0)
    return (
        sum(plain), sum(scaled), worst[k], contact, max(big), max(big_s), *map(sum, squares)
    )  # type: ignore[return-value]  # fmt: skip
