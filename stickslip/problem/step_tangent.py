"""A StepProblem at given velocities: its end configuration, and its tangent problem, a GlobalProblem.

The *tangent problem at v* has M = diag(m, J), f such that M v - f = P(v) - p, H with the rows at the start,
and a bias such that u = H'v + u_bias at v is (φ(z₊) - bounce) / h of contacts, g(z₊) / h of joints and the
slip velocities of all other blocks. The judge can therefore examine a solution (v, r) of the step on it, and
a solver of global problems applied to successive tangent problems converges to the solution of the step. Gaps
are limited to ten times the largest motion of any block in the step.

Components of r and u: contacts in their order (normal, two tangents, rolling about t1, t2 if mu_roll > 0,
torsion about n if mu_spin > 0); then for every joint its constraints (a `free` block), its finite lower and
upper stop, dry friction if it is > 0, and the same three for its angle.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels.bodies.gaps import Forms
from stickslip.kernels.bodies.layout import JointArrays
from stickslip.kernels.bodies.motion import move_along
from stickslip.kernels.variational import layout, tangent
from stickslip.kernels.variational.layout import BlockArrays, ContactArrays, StepArrays, StepBodies
from stickslip.names import alternatives
from stickslip.problem.checks import Array, IntArray, ProblemError, flat, frozen
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.mass import MassMatrix
from stickslip.problem.sets import ProductSet
from stickslip.problem.step_problem import MODELS, StepProblem


@dataclass(frozen=True, eq=False, slots=True)
class StepBlocks:
    """Blocks of a step, in the order of its components."""

    K: ProductSet
    """Set of the impulses; coefficients of friction are 0 for the model `impact`."""
    pairs: IntArray
    """Moving bodies by their `row`, -1 for a body without dynamics [-], shape (nb, 2)."""
    sides: IntArray
    """Indices of the bodies, -1 for the inertial frame [-], shape (nb, 2)."""
    joint: IntArray
    """Index of the joint of each block, -1 for contacts [-], shape (nb,)."""
    part: IntArray
    """Part of its joint that the block represents, as in `schemes.body_joints.PARTS` [-], shape (nb,)."""
    arrays: BlockArrays
    """The blocks as arrays for kernels."""


def step_arrays(problem: StepProblem, blocks: StepBlocks) -> StepArrays:
    """Return the step as arrays for kernels."""
    contacts, joints = _tables(problem)
    bodies = StepBodies(
        *_contiguous(problem.row, problem.q, problem.v, problem.mass, problem.J, problem.p)
    )  # fmt: skip
    model = MODELS.index(problem.model)
    return StepArrays(float(problem.h), model, bodies, contacts, joints, blocks.arrays)


def _tables(problem: StepProblem) -> tuple[ContactArrays, JointArrays]:
    """Return contacts and joints as arrays for kernels."""
    forms, *rest = problem.contacts
    return ContactArrays(Forms(*_contiguous(*forms)), *_contiguous(*rest)), JointArrays(
        *_contiguous(*problem.joints)
    )


def step_blocks(problem: StepProblem) -> StepBlocks:
    """Return the layout of the components of r and u."""
    if problem.model not in MODELS:
        raise ProblemError(f"model is {problem.model!r}; {alternatives(problem.model, MODELS)}")
    contacts, joints = _tables(problem)
    arrays = layout.lay_out(MODELS.index(problem.model), *_contiguous(problem.row), contacts, joints)
    for array in arrays.K:
        frozen(array)
    K = object.__new__(ProductSet)
    K.__dict__.update(arrays.K._asdict())
    return StepBlocks(K, arrays.pairs, arrays.sides, arrays.joint, arrays.part, arrays)


def step_velocities(problem: StepProblem, v: ArrayLike) -> Array:
    """Return the velocities of all bodies, (n, 6), from those of moving ones, (6 nd,), or all, (n, 6)."""
    values = np.asarray(v, float)
    if values.shape == problem.v.shape:
        return np.ascontiguousarray(values)
    moving = np.flatnonzero(problem.row >= 0)
    out = np.array(problem.v, float)
    out[moving] = flat("v", values, 6 * moving.size).reshape(-1, 6)[problem.row[moving]]
    return out


def step_end(problem: StepProblem, v: ArrayLike) -> Array:
    """Return positions and unit quaternions of the bodies at the end [m, -], shape (n, 7).

    v: velocities of the moving bodies in the order of `row`, shape (6 nd,), or of all bodies, shape (n, 6).
    """
    end = np.empty((problem.row.shape[0], 7))
    move_along(*_contiguous(problem.q, step_velocities(problem, v)), float(problem.h), end)
    return end


def step_tangent(problem: StepProblem, v: ArrayLike, r: ArrayLike | None = None) -> GlobalProblem:
    """Return the tangent problem at v, given for the moving bodies (6 nd,) or for all (n, 6).

    r is only checked, because the rows are those at the start; callers may pass a solution as it is.
    """
    blocks = step_blocks(problem)
    velocities = _contiguous(step_velocities(problem, v))[0]
    if r is not None:
        flat("r", r, blocks.K.size)
    return tangent_problem(blocks, *tangent.tangent(step_arrays(problem, blocks), velocities))


def tangent_problem(
    blocks: StepBlocks, rows: Array, M: Array, root: Array, f: Array, u_bias: Array
) -> GlobalProblem:
    """Return the global problem from its arrays; root: F with M^-1 = F F'."""
    for array in (blocks.pairs, rows, M, root):
        frozen(array)
    mass = MassMatrix(M)
    mass.__dict__["inverse_root"] = root
    H = ContactBlocks.unchecked(blocks.pairs, rows, blocks.K.offset)
    return GlobalProblem.unchecked(mass, f.reshape(-1), H, u_bias, blocks.K)


def _contiguous(*arrays: Any) -> tuple[Any, ...]:
    """Return C-contiguous arrays, as kernels require, copied if necessary."""
    return tuple(x if x.flags.c_contiguous else np.array(x, order="C") for x in arrays)
