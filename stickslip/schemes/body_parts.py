"""Newton's impact of bodies in parts: friction follows the slip as it turns during the impact.

In one part the friction of a whole impact opposes the slip at its end. In n parts normal velocities go from
u_N⁻ to -e u_N⁻ in n equal changes, each a contact problem with Coulomb's law of its own,

    M v_j = M v_{j-1} + H r_j,   0 <= u_N - (1 - (1 + e) j / n) u_N⁻ ⟂ r_N >= 0,   |r_T| <= mu r_N,

and the forces of the step act in the last. Every contact ends as Newton's law wants it. For one contact this
tends, n → ∞, to friction that opposes the slip at every instant of the impact (Keller 1986, Impact with
friction); what is not approached stays closed on the way. Bounds of forces (dry joints) act in the last part.
"""

from dataclasses import replace

import numpy as np

from stickslip.problem.solution import Solution
from stickslip.schemes.body_blocks import Blocks
from stickslip.schemes.body_poisson import impulsive
from stickslip.schemes.body_start import Start
from stickslip.schemes.step import Solver
from stickslip.state import Array


def strikes(blocks: Blocks, start: Start) -> bool:
    """Whether a contact closes faster than forces alone would make it in a step."""
    normals, sides = blocks.K.offset[: blocks.count], blocks.sides[: blocks.count]
    pushed = (start.v_free - start.v_start)[sides] * (sides >= 0)[..., None]
    by_forces = np.einsum("csi,csi->c", blocks.rows[normals], pushed)
    return bool((blocks.approach < -np.abs(by_forces)).any())


def in_parts(blocks: Blocks, start: Start, solver: Solver, parts: int) -> tuple[Array, tuple[Solution, ...]]:
    """r of all parts together [N s, N m s], shape (p,), and their problems."""
    bodies, normals = start.bodies, blocks.K.offset[: blocks.count]
    momenta = np.einsum("bij,bj->bi", bodies.M.matrix, start.v_start[bodies.dynamic])
    change = (1.0 + blocks.contacts.law[:, 3]) * np.minimum(blocks.approach, 0.0)
    on_the_way = replace(blocks, K=impulsive(blocks.K))
    r, solves = np.zeros(blocks.K.size), []
    for j in range(1, parts + 1):
        bias = blocks.u_bias.copy()
        bias[normals] -= (1.0 - j / parts) * change
        one = replace(blocks if j == parts else on_the_way, u_bias=bias)
        f = start.f if j == parts else momenta
        given = one.problem(bodies, np.empty(0))
        given = one.problem(bodies, (f + given.H.impulses(r, bodies.dynamic.size)).reshape(-1))  # type: ignore[union-attr]
        solves.append(solver.solve(given))
        r = r + solves[-1].r
    return r, tuple(solves)
