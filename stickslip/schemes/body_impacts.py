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

A contact that stays closed has ρ_N > e r_N^c and is an ordinary one with the impulse ρ. One that leaves has
ρ_N = e r_N^c, so that its friction is a disc of known radius: its normal is a nonnegative block of its own,
and the cone has a normal a with u_a = w (a - radius), which Coulomb's law makes a = radius. Passes are made
until every contact is of the kind it is taken for. Forces with bounds (dry joints) have no part in the
compression.
"""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from stickslip.kernels import cones
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import reduce_to_contacts
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.operator import DenseDelassus, block_delassus
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import Solution
from stickslip.schemes.body_blocks import Blocks
from stickslip.schemes.body_start import Start
from stickslip.schemes.step import Solver
from stickslip.state import Array, BoolArray, IntArray

PASSES = 100
"""Most passes of an expansion."""
DENSE = 100
"""Components up to which W is one array in an expansion: calls are what small problems cost."""


def strikes(blocks: Blocks, start: Start) -> bool:
    """Whether a contact closes faster than forces alone would make it in a step."""
    normals, sides = blocks.K.offset[: blocks.count], blocks.sides[: blocks.count]
    pushed = (start.v_free - start.v_start)[sides] * (sides >= 0)[..., None]
    by_forces = np.einsum("csi,csi->c", blocks.rows[normals], pushed)
    return bool((blocks.approach < -np.abs(by_forces)).any())


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
        H = ContactBlocks.unchecked(blocks.bodies, blocks.rows, blocks.K.offset)
        f = f + H.impulses(r, start.bodies.dynamic.size)
    return blocks.problem(start.bodies, f.reshape(-1))


def compresses(blocks: Blocks) -> bool:
    """Whether a contact approaches that gives something back."""
    return bool(((blocks.approach < 0.0) & (blocks.contacts.law[:, 3] > 0.0)).any())


def in_two_phases(blocks: Blocks, start: Start, solver: Solver) -> tuple[Array, tuple[Solution, ...], str]:
    """r of both phases [N s, N m s], shape (p,), their problems, and what is wrong where something is."""
    guess = blocks.guess if blocks.guess.any() else None
    compression = solver.solve(_on_the_way(blocks, start), guess=guess)
    normals = blocks.K.offset[: blocks.count]
    kick = np.zeros(len(blocks.K))
    kick[: blocks.count] = blocks.contacts.law[:, 3] * np.maximum(compression.r[normals], 0.0)
    given = compression.r.copy()
    given[blocks.K.offset[:-1]] += kick
    whole = _pushed(blocks, start, start.f, given)
    r, expansion, reason = _expand(whole, np.flatnonzero(kick > 0.0), kick[kick > 0.0], solver)
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
    J, K = reduced.W.sparse(), problem.K  # type: ignore[attr-defined]
    W = sp.csr_array(J @ J.T)
    normals = K.offset[kicked]
    stays, returned = np.zeros(kicked.size, bool), np.zeros(kicked.size, bool)
    radius = kick.copy()
    for _ in range(PASSES):
        leaves = ~stays
        held = np.zeros(K.size)
        held[normals[stays]] = kick[stays]
        solution, r = _one_pass(W, reduced.u_free - W @ held, K, kicked[leaves], radius[leaves], solver)
        r[normals[stays]] -= kick[stays]
        more = np.maximum(r[normals], 0.0)
        small = 10.0 * solution.tolerance * float((kick + more).max())
        closed = leaves & ~returned & (more > small)
        opened = stays & (r[normals] < -small)
        wanted = kick + np.where(returned, more, 0.0)
        off = float(np.abs(radius - wanted)[leaves].max(initial=0.0))
        if not (closed.any() or opened.any() or off > small):
            return r, solution, ""
        # One that stayed by mistake leaves for good; its disc then grows with what it presses beyond that.
        stays, returned = (stays | closed) & ~opened, returned | opened
        radius = 0.5 * (radius + wanted)
    return r, solution, f"the expansion of Poisson's impact did not settle in {PASSES} passes"


def _one_pass(
    W: sp.csr_array, u_free: Array, K: ProductSet, split: IntArray, radius: Array, solver: Solver
) -> tuple[Solution, Array]:
    """The problem with the contacts `split` as a nonnegative normal and a disc of `radius`, solved."""
    apart = np.zeros(len(K), bool)
    apart[split] = True
    wide, at, extra = split_set(K, apart)
    coo, diagonal = W.tocoo(), W.diagonal()
    w = np.array([diagonal[K.offset[i] : K.offset[i + 1]].max() for i in split])
    row, col = coo.coords
    entries = (np.concatenate([at[row], extra]), np.concatenate([at[col], extra]))
    matrix = sp.coo_array((np.concatenate([coo.data, w]), entries), shape=(wide.size, wide.size))
    bias = np.zeros(wide.size)
    bias[at], bias[extra] = u_free, -w * radius
    dense = wide.size <= DENSE
    operator = DenseDelassus(matrix.toarray()) if dense else block_delassus(sp.csr_array(matrix), wide)
    solution = solver.solve(ContactProblem.unchecked(operator, bias, wide))
    return solution, solution.r[at]


def split_set(K: ProductSet, apart: BoolArray) -> tuple[ProductSet, IntArray, IntArray]:
    """K with those blocks apart, where its components are in it, and the normals of the cones."""
    twice = 1 + apart
    first = np.cumsum(twice) - twice  # number of each block, or of its normal
    size, groups = np.repeat(np.diff(K.offset), twice), np.repeat(np.diff(K.group_offset), twice)
    kind = np.repeat(K.kind, twice)
    normal = first[apart]
    size[normal], groups[normal], kind[normal] = 1, 0, cones.NONNEGATIVE
    wide = ProductSet(
        kind,
        np.concatenate([[0], np.cumsum(size)]),
        np.repeat(K.lower, twice),
        np.repeat(K.upper, twice),
        np.concatenate([[0], np.cumsum(groups)]),
        K.group_size,
        K.coefficient,
    )
    block = np.repeat(np.arange(len(K)), np.diff(K.offset))
    within = np.arange(K.size) - K.offset[block]
    # past its normal, a component of a block apart is in the cone behind it
    at = wide.offset[first[block]] + within + (apart[block] & (within > 0))
    return wide, at, wide.offset[normal + 1]
