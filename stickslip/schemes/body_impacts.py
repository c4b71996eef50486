"""Impacts of bodies that are solved as several contact problems within one step.

**Newton's impact in parts**: friction follows the slip direction as it changes during the impact.

In one part the friction of the whole impact opposes the slip at its end. In n parts normal velocities change
from u_N⁻ to -e u_N⁻ in n equal increments, each of which is a contact problem with Coulomb's law,

    M v_j = M v_{j-1} + H r_j,   0 <= u_N - (1 - (1 + e) j / n) u_N⁻ ⟂ r_N >= 0,   |r_T| <= mu r_N,

and the forces of the step act in the last part. The final velocities satisfy Newton's law at every contact.
For one contact and n → ∞, friction opposes the slip at every instant of the impact (Keller 1986, Impact with
friction). Contacts that do not approach stay closed during the impact. Bounds on forces (dry joints) act in
the last part.

**Poisson's impact in two phases**; the law is that of `poisson.py`.

Compression: M v^c = M v_m⁻ + H r^c with Coulomb's law, without the forces of the step. Expansion: the whole
step, in which a contact gives back at least e r_N^c,

    M v_{k+1} = M v_free + H (r^c + ρ),   0 <= u_N ⟂ ρ_N - e r_N^c >= 0,   |ρ_T| <= mu ρ_N.

`poisson_expansion.py` solves this problem. Forces with bounds (dry joints) do not act in the compression.
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
"""Largest number of components for which W is a dense array in an expansion; small problems are dominated by
the cost of calls (heuristic)."""


def strikes(blocks: Blocks, start: Start) -> bool:
    """Whether a contact closes faster than the forces of one step would make it."""
    return bool(kernels.strikes(blocks.approach, blocks.arrays, start.v_start, start.v_free))


def in_parts(blocks: Blocks, start: Start, solver: Solver, parts: int) -> tuple[Array, tuple[Solution, ...]]:
    """Solve Newton's impact in parts: the summed impulses r [N s, N m s], shape (p,), and all solutions."""
    normals = blocks.K.offset[: blocks.count]
    change = (1.0 + blocks.contacts.law[:, 3]) * np.minimum(blocks.approach, 0.0)
    r, solves = np.zeros(blocks.K.size), []
    for j in range(1, parts + 1):
        bias = blocks.u_bias.copy()
        bias[normals] -= (1.0 - j / parts) * change
        part = replace(blocks, u_bias=bias)
        problem = _after_impulses(part, start, start.f, r) if j == parts else _before_forces(part, start, r)
        solves.append(solver.solve(problem))
        r = r + solves[-1].r
    return r, tuple(solves)


def _before_forces(blocks: Blocks, start: Start, r: Array | None = None) -> GlobalProblem:
    """Return the problem after impulses r, shape (p,), without the forces of the step."""
    bodies = start.bodies
    momenta = np.einsum("bij,bj->bi", bodies.M.matrix, start.v_start[bodies.dynamic])
    return _after_impulses(replace(blocks, K=impulsive(blocks.K)), start, momenta, r)


def _after_impulses(blocks: Blocks, start: Start, f: Array, r: Array | None) -> GlobalProblem:
    """Return the problem with momenta f, shape (nd, 6), after impulses r, shape (p,)."""
    if r is not None:
        f = f + blocks.H.impulses(r, start.bodies.dynamic.size)
    return blocks.problem(start.bodies, f.reshape(-1))


def compresses(blocks: Blocks) -> bool:
    """Whether a contact with restitution approaches."""
    return bool(kernels.compresses(blocks.approach, blocks.contacts.law))


def in_two_phases(blocks: Blocks, start: Start, solver: Solver) -> tuple[Array, tuple[Solution, ...], str]:
    """Solve Poisson's impact: the impulses r of both phases [N s, N m s], shape (p,), the solutions of the
    two problems, and the reason for a failure, otherwise empty."""
    # 1. Compression, without the forces of the step.
    guess = blocks.guess if blocks.guess.any() else None
    compression = solver.solve(_before_forces(blocks, start), guess=guess)
    # 2. Expansion, from the impulses that restitution prescribes.
    e = np.concatenate([blocks.contacts.law[:, 3], np.zeros(len(blocks.K) - blocks.count)])
    impulse, kicked, kick = given_back(blocks.K, compression.r, e)
    problem = _after_impulses(blocks, start, start.f, impulse)
    r, expansion, reason = _expand(problem, kicked, kick, solver)
    return impulse + r, (compression, expansion), reason


def impulsive(K: ProductSet) -> ProductSet:
    """Return K with the bounds of its intervals set to zero."""
    bounded = K.kind == cones.INTERVAL
    if not bounded.any():
        return K
    return replace(K, lower=np.where(bounded, 0.0, K.lower), upper=np.where(bounded, 0.0, K.upper))


def _expand(
    problem: GlobalProblem, kicked: IntArray, kick: Array, solver: Solver
) -> tuple[Array, Solution, str]:
    """Solve the expansion: ρ - e r_N^c e_N of the blocks [N s], shape (p,), the solution of the last pass,
    and the reason if the passes did not converge."""
    if not kicked.size:
        solution = solver.solve(problem)
        return solution.r, solution, ""
    reduced = reduce_to_contacts(problem).problem
    J = reduced.W.sparse()  # type: ignore[attr-defined]
    W = sp.csr_array(J @ J.T)
    dense = problem.K.size <= DENSE
    arguments = (W.toarray() if dense else W, reduced.u_free, problem.K, kicked, kick, solver)
    r, solution, unsettled = expand(*arguments)
    reason = f"the expansion of Poisson's impact did not settle in {PASSES} passes" if unsettled else ""
    return r, solution, reason
