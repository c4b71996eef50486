"""Existence of solutions: a sufficient condition, and self-stresses that contradict it.

If some v has H'v + u_bias in the interior of K* (with G'v + g_bias = 0), then the problem has a solution:
Acary, Cadoux, Lemaréchal & Malick 2011, for Coulomb friction; the same fixed-point argument holds for every
cone of `problem/sets.py`. In local form the condition is W x + u_free in the interior of K* for some x, with
W symmetric positive semidefinite. Bounded intervals impose no condition.

The condition fails if there is a self-stress: r in K, nonzero, with W r = 0 (H r + G lam = 0) and
r·u_free <= 0. Such a problem may still have solutions; the theorem is then not applicable.
"""

from dataclasses import dataclass

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.certificate import energy_units, transposed
from stickslip.problem.checks import Array, flat
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.residuals import delassus_diagonal
from stickslip.problem.sets import ProductSet

INSIDE = 1e-9
"""Smallest depth of a witness inside K*, relative to the largest term of its velocities."""
BALANCED = 1e-7
"""Largest |W r| / |r| of a self-stress, in units of energy."""


@dataclass(frozen=True, eq=False)
class Existence:
    """Result of the test for the existence of a solution; printing gives a sentence."""

    holds: bool
    """Whether the sufficient condition holds, so that there is a solution."""
    margin: float = 0.0
    """Depth of the witness inside K* over the largest velocity [-]; 0 without witness."""
    witness: Array | None = None
    """v of a GlobalProblem [m/s, rad/s], shape (nv,); x of a ContactProblem [N s], shape (n,)."""
    self_stress: Array | None = None
    """r in K with W r = 0, which contradicts the condition [N s], shape (n,)."""
    contacts: tuple[int, ...] = ()
    """Blocks that carry the self-stress."""
    reason: str = ""
    """Reason why the condition was not shown, if there is no self-stress; deviations of W from the theorem's
    assumptions."""

    def __str__(self) -> str:
        if self.holds:
            margin = f"a motion opens every contact (margin {self.margin:.1e})"
            if self.reason:
                return (
                    f"the condition holds, {margin}; but {self.reason}, and the theorem does not"
                    " cover this case"
                )
            return f"a solution exists: {margin}"
        if self.self_stress is not None:
            shown = ", ".join(map(str, self.contacts[:6])) + (", ..." if len(self.contacts) > 6 else "")
            return (
                f"not shown: contacts {shown} carry a self-stress, for which the condition is not conclusive"
            )
        return f"not shown: {self.reason or 'no motion was found that opens every contact'}"


def witness_margin(problem: ContactProblem | GlobalProblem, witness: Array) -> float:
    """Return the depth of the witness inside K* over the largest term of its velocities [-].

    The condition holds if it is at least `INSIDE`. `witness` is v of a GlobalProblem, shape (nv,), or x of a
    ContactProblem, shape (n,). Equations (free blocks, joints) must hold to a tenth of the depth and to 1e-6
    of the velocities.
    """
    if isinstance(problem, GlobalProblem):
        v = flat("v", witness, problem.M.size)
        H, G, K = problem.H_sparse(), problem.G_sparse(), problem.K
        units = energy_units(K, delassus_diagonal(problem))
        u, terms = problem.contact_velocity(v), abs(H).T @ np.abs(v) + np.abs(problem.u_bias)
        diagonal = np.asarray(G.multiply(problem.M.solve(G)).sum(axis=0)).reshape(-1)
        root = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
        violation = problem.joint_velocity(v) / root
        joints = (abs(G).T @ np.abs(v) + np.abs(problem.g_bias)) / root
    else:
        K, x = problem.K, flat("x", witness, problem.size)
        units, u = energy_units(K, problem.W.diagonal()), problem.velocity(x)
        terms, violation = transposed(problem.W, x)[1] + np.abs(problem.u_free), np.zeros(0)
        joints = violation
    scale = units.scale
    depth, off = depth_inside(units.K, scale * u)
    off = max(off, float(np.abs(violation).max(initial=0.0)))
    size = max(float((scale * terms).max(initial=0.0)), float(joints.max(initial=0.0)))
    if not np.isfinite(size) or off > min(0.1 * max(depth, 0.0), 1e-6 * size):
        return 0.0
    return depth / size if size > 0.0 else float(depth > 0.0)


def depth_inside(K: ProductSet, u: Array) -> tuple[float, float]:
    """Return the smallest u_N - sum_g mu_g |u_g| of blocks with an interior, and the largest free |u|.

    The first is infinite if no block imposes a condition.
    """
    shift = K.shifted(u) - u
    first, sizes = K.offset[:-1], np.diff(K.offset)
    up, down = K.upper == np.inf, K.lower == -np.inf
    friction = K.kind == cones.FRICTION
    open_up, open_down = friction | (up & ~down), ~friction & down & ~up
    depth = np.concatenate([(u - shift)[first[open_up]], -u[first[open_down]]])
    equations = np.repeat(~friction & up & down, sizes)
    return float(depth.min(initial=np.inf)), float(np.abs(u[equations]).max(initial=0.0))


def is_self_stress(problem: ContactProblem | GlobalProblem, r: Array, lam: Array) -> bool:
    """Whether r in K is self-equilibrated (with lam) and does no positive work on the bias, to rounding.

    r [N s], shape (n,); lam of the joints of a GlobalProblem [N s], shape (p,), otherwise empty.
    """
    if isinstance(problem, GlobalProblem):
        units = energy_units(problem.K, delassus_diagonal(problem))
        d = problem.pushed(r, lam)
        balance = np.sqrt(max(0.0, float(d @ problem.M.solve(d))))
        work = np.concatenate([r * problem.u_bias, lam * problem.g_bias])
    else:
        units = energy_units(problem.K, problem.W.diagonal())
        balance = float(np.linalg.norm(units.scale * transposed(problem.W, r)[0]))
        work = r * problem.u_free
    r = r / units.scale
    size = float(np.linalg.norm(r))
    if not 0.0 < size < np.inf:
        return False
    in_cone = np.linalg.norm(r - _recession(units.K, r)) <= BALANCED * size
    return bool(in_cone and balance <= BALANCED * size and work.sum() <= BALANCED * np.abs(work).sum())


def _recession(K: ProductSet, r: Array) -> Array:
    """Return the projection onto the recession cone of K."""
    return np.asarray(K.project_dual(-r) + r)
