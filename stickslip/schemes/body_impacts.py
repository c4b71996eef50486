"""Impacts of bodies in several problems within a step.

**Newton's impact in parts**: friction follows the slip as it turns during the impact.

In one part the friction of a whole impact opposes the slip at its end. In n parts normal velocities go from
u_N⁻ to -e u_N⁻ in n equal changes, each a contact problem with Coulomb's law of its own,

    M v_j = M v_{j-1} + H r_j,   0 <= u_N - (1 - (1 + e) j / n) u_N⁻ ⟂ r_N >= 0,   |r_T| <= mu r_N,

and the forces of the step act in the last. Every contact ends as Newton's law wants it. For one contact this
tends, n → ∞, to friction that opposes the slip at every instant of the impact (Keller 1986, Impact with
friction); what is not approached stays closed on the way. Bounds of forces (dry joints) act in the last part.

**Poisson's impact in two phases**; the law is that of `poisson.py`.

Compression: M v^c = M v_m⁻ + H r^c with Coulomb's law, without the forces of the step. Expansion: the whole
step, in which a contact gives back at least e r_N^c,

    M v_{k+1} = M v_free + H (r^c + ρ),   0 <= u_N ⟂ ρ_N - e r_N^c >= 0,   |ρ_T| <= mu ρ_N.

How that is solved is said in `poisson_expansion.py`. Forces with bounds (dry joints) have no part in the
compression.
"""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import cones
from stickslip.kernels.bodies import impacts as kernels
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.convert import reduce_to_contacts
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import Solution
from stickslip.schemes.body_blocks import Blocks
from stickslip.schemes.body_start import Start
from stickslip.schemes.poisson_expansion import PASSES, expand, given_back
from stickslip.schemes.step import Solver
from stickslip.state import Array, IntArray

DENSE = 100
"""Components up to which W is one array in an expansion: calls are what small problems cost."""


def strikes(blocks: Blocks, start: Start) -> bool:
    """Whether a contact closes faster than forces alone would make it in a step."""
    return bool(kernels.strikes(blocks.approach, blocks.arrays, start.v_start, start.v_free))


def in_parts(blocks: Blocks, start: Start, solver: Solver, parts: int) -> tuple[Array, tuple[Solution, ...]]:
    """r of all parts together [N s, N m s], shape (p,), and their problems."""
    normals = blocks.K.offset[: blocks.count]
    change = (1.0 + blocks.contacts.law[:, 3]) * np.minimum(blocks.approach, 0.0)
    r, solves = np.zeros(blocks.K.size), []
    for j in range(1, parts + 1):
        bias = blocks.u_bias.copy()
        bias[normals] -= (1.0 - j / parts) * change
        one = replace(blocks, u_bias=bias)
        given = _pushed(one, start, start.f, r) if j == parts else _on_the_way(one, start, r)
        solves.append(solver.solve(given))
        r = r + solves[-1].r
    return r, tuple(solves)


def _on_the_way(blocks: Blocks, start: Start, r: Array | None = None) -> GlobalProblem:
    """The problem before the forces of the step act, after impulses r, shape (p,)."""
    bodies = start.bodies
    momenta = np.einsum("bij,bj->bi", bodies.M.matrix, start.v_start[bodies.dynamic])
    return _pushed(replace(blocks, K=impulsive(blocks.K)), start, momenta, r)


def _pushed(blocks: Blocks, start: Start, f: Array, r: Array | None) -> GlobalProblem:
    """The problem with momenta f, shape (nd, 6), after impulses r, shape (p,)."""
    if r is not None:
        f = f + blocks.H.impulses(r, start.bodies.dynamic.size)
    return blocks.problem(start.bodies, f.reshape(-1))


def compresses(blocks: Blocks) -> bool:
    """Whether a contact approaches that gives something back."""
    return bool(kernels.compresses(blocks.approach, blocks.contacts.law))


def in_two_phases(blocks: Blocks, start: Start, solver: Solver) -> tuple[Array, tuple[Solution, ...], str]:
    """r of both phases [N s, N m s], shape (p,), their problems, and what is wrong where something is."""
    guess = blocks.guess if blocks.guess.any() else None
    compression = solver.solve(_on_the_way(blocks, start), guess=guess)
    e = np.concatenate([blocks.contacts.law[:, 3], np.zeros(len(blocks.K) - blocks.count)])
    given, kicked, kick = given_back(blocks.K, compression.r, e)
    whole = _pushed(blocks, start, start.f, given)
    r, expansion, reason = _expand(whole, kicked, kick, solver)
    return given + r, (compression, expansion), reason


def impulsive(K: ProductSet) -> ProductSet:
    """K with the bounds of intervals at zero."""
    bounded = K.kind == cones.INTERVAL
    if not bounded.any():
        return K
    return replace(K, lower=np.where(bounded, 0.0, K.lower), upper=np.where(bounded, 0.0, K.upper))


def _expand(
    problem: GlobalProblem, kicked: IntArray, kick: Array, solver: Solver
) -> tuple[Array, Solution, str]:
    """ρ - e r_N^c e_N of the blocks [N s], shape (p,), the last pass, and whether passes did not settle."""
    if not kicked.size:
        solution = solver.solve(problem)
        return solution.r, solution, ""
    reduced = reduce_to_contacts(problem).problem
    J = reduced.W.sparse()  # type: ignore[attr-defined]
    W = sp.csr_array(J @ J.T)
    dense = problem.K.size <= DENSE
    given = (W.toarray() if dense else W, reduced.u_free, problem.K, kicked, kick, solver)
    r, solution, unsettled = expand(*given)
    reason = f"the expansion of Poisson's impact did not settle in {PASSES} passes" if unsettled else ""
    return r, solution, reason
