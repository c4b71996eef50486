"""The convex problem min ½ z'W z + q'z over C, and the methods that solve it.

C is the product K of cones, for the relaxation of Coulomb's law and for the shifted problems of the
s-loop, or Tresca's set of disks {r_N >= 0, |r_k| <= radius_k}. All quantities are dimensionless, in units
of the problem (`unit_free`). A method is started on a problem, advances, and can be restarted on another
problem with the same W; its estimates of curvature or step length are kept.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from stickslip.kernels import cones, products
from stickslip.kernels import convex as kernels
from stickslip.names import alternatives
from stickslip.problem.checks import Array, IntArray, frozen
from stickslip.problem.contact import ContactProblem
from stickslip.problem.operator import Delassus, product_arrays
from stickslip.problem.sets import ProductSet
from stickslip.state import UnknownNameError

SetArrays = tuple[IntArray, IntArray, Array, Array, IntArray, IntArray, Array]
METHODS = ("apgd", "bb", "nsgs", "admm")
"""Names of the methods for convex problems."""


@dataclass(frozen=True)
class ConvexProblem:
    """min ½ z'W z + q'z over C: find z in C with -(W z + q) in the normal cone of C at z."""

    W: Delassus
    """Delassus operator in units of its own [-], shape (n, n)."""
    q: Array
    """Linear term [own units], shape (n,)."""
    K: ProductSet
    """Product set of the blocks; C is the product of their cones, or of disks."""
    C: SetArrays
    """Arrays of C for the kernels: those of K, with disks instead of cones in Tresca's problem."""

    @classmethod
    def relaxation(cls, problem: ContactProblem) -> "ConvexProblem":
        """Return the relaxation: Coulomb's law without its shift, K* ∋ W r + u_free ⟂ r ∈ K."""
        return cls(problem.W, problem.u_free, problem.K, problem.K.arrays)

    def shifted(self, u_free: Array, s: Array) -> "ConvexProblem":
        """Return the problem with q = u_free + s e_N; s (nb,), 0 on blocks without friction."""
        q = u_free.copy()
        q[self.K.offset[:-1]] += s
        return replace(self, q=frozen(q))

    def with_thresholds(self, normals: Array) -> "ConvexProblem":
        """Return Tresca's problem, where friction of each group is bounded by mu_k r_N; normals (nb,)."""
        K = self.K
        kind = frozen(np.where(K.kind == cones.FRICTION, cones.DISKS, K.kind))
        normal = np.repeat(np.maximum(normals, 0.0), np.diff(K.group_offset))
        return replace(self, C=K.arrays._replace(kind=kind, coefficient=frozen(K.coefficient * normal)))

    def project(self, z: Array) -> Array:
        """Return the nearest point of C, shape (n,)."""
        out = np.empty(self.q.size)
        cones.project(self.C, frozen(z.view()), out)
        return out

    def natural(self, z: Array) -> float:
        """Return |z - P_C(z - g)| / max(|z|, |g|, |q|) with g = W z + q [-]."""
        return float(products.natural(self.C, z, self.W.apply(z, self.q), self.q, np.empty(z.size)))


class ConvexMethod(Protocol):
    """Interface of iterations on convex problems that share W."""

    z: Array
    """The iterate [own units], shape (n,)."""
    error: float
    """Natural residual of the iterate [-]; infinite before the first check."""

    def start(self, problem: ConvexProblem, z: Array) -> None:
        """Start at `z` on `problem`."""

    def advance(self, tolerance: float, count: int) -> int:
        """Iterate until the residual is below `tolerance`, at most `count` times; return the number made."""


class Descent:
    """Projected gradient, accelerated ("apgd") or spectral ("bb"), or block Gauss-Seidel ("nsgs")."""

    def __init__(self, name: str, problem: ConvexProblem, memory: int = 10):
        """`memory`: number of objective values in the nonmonotone line search of "bb"."""
        W = problem.W.blocks(problem.K) if name == "nsgs" else problem.W
        self.name, self.W = name, product_arrays(W, problem.K)
        self.state, self.work = np.zeros(kernels.SLOTS), np.zeros((6, problem.K.size))
        self.recent = np.zeros(memory)
        self.state[kernels.CURVATURE] = self.state[kernels.STEP] = 1.0
        self.start(problem, np.zeros(problem.K.size))

    def start(self, problem: ConvexProblem, z: Array) -> None:
        """Start at `z`; the estimates of curvature and step length are kept."""
        self.problem, self.z, self.error = problem, problem.project(z), np.inf
        self.state[kernels.STARTED] = self.state[kernels.COUNT] = 0.0

    def advance(self, tolerance: float, count: int) -> int:
        """Make at most `count` iterations or sweeps; return their number."""
        p = self.problem
        arguments = (p.C, self.W, p.q), self.z, self.work, self.state
        if self.name == "bb":
            iterations = kernels.spectral(*arguments, self.recent, tolerance, count)
        elif self.name == "nsgs":
            iterations = kernels.gauss_seidel(*arguments, tolerance, count)
        else:
            iterations = kernels.accelerated(*arguments, tolerance, count)
        self.error = float(self.state[kernels.ERROR])
        return int(iterations)


def convex_method(name: str, problem: ConvexProblem) -> ConvexMethod:
    """Return the method of this name, one of METHODS, started at zero on `problem`."""
    if name == "admm":
        from stickslip.solvers.admm import Splitting

        return Splitting(problem)
    if name not in METHODS:
        raise UnknownNameError(f"unknown convex method {name!r}; {alternatives(name, METHODS)}")
    return Descent(name, problem)
