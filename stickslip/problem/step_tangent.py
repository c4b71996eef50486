"""A StepProblem at given velocities: where it ends, and the ordinary global problem that it is there.

The *tangent problem at v* has M = diag(m, J), f such that M v - f = P(v) - p, H the rows at the start, and a
bias such that u = H'v + u_bias is, at v, (φ(z₊) - bounce) / h of contacts, g(z₊) / h of joints and the slip
velocities of everything else. So the house's judge measures an answer (v, r) of the step on it as it measures
any other, and a solver of global problems that is given one tangent problem after the other comes to the
step's answer. A gap wider than ten times what any block moves in a step counts as that.

Components of r and u: contacts in their order (normal, two tangents, rolling about t1, t2 where mu_roll > 0,
torsion about n where mu_spin > 0), then of every joint what it holds (a `free` block), its finite lower and
upper stop, dry friction where it is > 0, and the same three of its angle.
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
    """The blocks of a step, as its components are numbered."""

    K: ProductSet
    """Where the impulses live; coefficients of friction are 0 for the model `impact`."""
    pairs: IntArray
    """Moving bodies by their `row`, -1 for a side that does not answer [-], shape (nb, 2)."""
    sides: IntArray
    """The same as numbers of bodies, -1 for the inertial frame [-], shape (nb, 2)."""
    joint: IntArray
    """Number of the joint of each block, -1 for contacts [-], shape (nb,)."""
    part: IntArray
    """What the block does in its joint, as `schemes.body_joints.PARTS` [-], shape (nb,)."""
    arrays: BlockArrays
    """All of it as kernels take it."""


def step_arrays(problem: StepProblem, blocks: StepBlocks) -> StepArrays:
    """The step as kernels take it."""
    contacts, joints = _tables(problem)
    bodies = StepBodies(
        *_own(problem.row, problem.q, problem.v, problem.mass, problem.J, problem.p)
    )  # fmt: skip
    model = MODELS.index(problem.model)
    return StepArrays(float(problem.h), model, bodies, contacts, joints, blocks.arrays)


def _tables(problem: StepProblem) -> tuple[ContactArrays, JointArrays]:
    """Contacts and joints as kernels take them."""
    forms, *rest = problem.contacts
    return ContactArrays(Forms(*_own(*forms)), *_own(*rest)), JointArrays(*_own(*problem.joints))


def step_blocks(problem: StepProblem) -> StepBlocks:
    """How the components of r and u are laid out."""
    if problem.model not in MODELS:
        raise ProblemError(f"model is {problem.model!r}; {alternatives(problem.model, MODELS)}")
    contacts, joints = _tables(problem)
    arrays = layout.lay_out(MODELS.index(problem.model), *_own(problem.row), contacts, joints)
    for array in arrays.K:
        frozen(array)
    K = object.__new__(ProductSet)
    K.__dict__.update(arrays.K._asdict())
    return StepBlocks(K, arrays.pairs, arrays.sides, arrays.joint, arrays.part, arrays)


def step_velocities(problem: StepProblem, v: ArrayLike) -> Array:
    """Velocities of all bodies, (n, 6), from those of the moving ones, (6 nd,), or of all, (n, 6)."""
    given = np.asarray(v, float)
    if given.shape == problem.v.shape:
        return np.ascontiguousarray(given)
    moving = np.flatnonzero(problem.row >= 0)
    whole = np.array(problem.v, float)
    whole[moving] = flat("v", given, 6 * moving.size).reshape(-1, 6)[problem.row[moving]]
    return whole


def step_end(problem: StepProblem, v: ArrayLike) -> Array:
    """Where bodies are at the end: place and unit quaternion [m, -], shape (n, 7).

    v: of the moving bodies in the order of `row`, shape (6 nd,); of all bodies, shape (n, 6), is taken too.
    """
    end = np.empty((problem.row.shape[0], 7))
    move_along(*_own(problem.q, step_velocities(problem, v)), float(problem.h), end)
    return end


def step_tangent(problem: StepProblem, v: ArrayLike, r: ArrayLike | None = None) -> GlobalProblem:
    """The tangent problem at v, of the moving bodies (6 nd,) or of all (n, 6).

    r does not enter: rows stand at the start. It is taken so that callers may hand on an answer as it is.
    """
    blocks = step_blocks(problem)
    whole = _own(step_velocities(problem, v))[0]
    if r is not None:
        flat("r", r, blocks.K.size)
    return tangent_problem(blocks, *tangent.tangent(step_arrays(problem, blocks), whole))


def tangent_problem(
    blocks: StepBlocks, rows: Array, M: Array, root: Array, f: Array, u_bias: Array
) -> GlobalProblem:
    """The global problem from its parts, F with M^-1 = F F' among them."""
    for array in (blocks.pairs, rows, M, root):
        frozen(array)
    mass = MassMatrix(M)
    mass.__dict__["inverse_root"] = root
    H = ContactBlocks.unchecked(blocks.pairs, rows, blocks.K.offset)
    return GlobalProblem.unchecked(mass, f.reshape(-1), H, u_bias, blocks.K)


def _own(*arrays: Any) -> tuple[Any, ...]:
    """Arrays in one piece, as kernels are compiled for, copied where they are not."""
    return tuple(x if x.flags.c_contiguous else np.array(x, order="C") for x in arrays)
