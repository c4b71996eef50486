"""Contact problems, in local and global form.

ContactProblem (local):  u = W r + u_free,                         K* ∋ u_hat(u) ⟂ r ∈ K
GlobalProblem:           M v = f + H r + G lam,  u = H' v + u_bias,  G' v + g_bias = 0, same law

with u_hat = u + (mu |u_T| + mu_roll |u_R| + ...) e_N (De Saxcé). Normal component first; u_N > 0
separates; r acts on the first body.
Siconos Developer's Notes 2017, chapter 16; Nguyen 2021, (3).
"""

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array, ProblemError, finite, flat, floats, frozen, sparse
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.mass import MassMatrix, mass_matrix
from stickslip.problem.operator import Delassus, delassus
from stickslip.problem.sets import ProductSet

SMALL = 10_000
"""Number of entries up to which H is a dense array: the overhead of a sparse product is larger."""
FEW = 64
"""Number of velocities up to which M and H are dense arrays for kernels."""
NO_JOINTS: Array = frozen(np.zeros(0))
"""g_bias without bilateral constraints [m/s], shape (0,)."""


class Level(Enum):
    """Derivative of the gap that a problem constrains; it determines the units."""

    VELOCITY = "velocity"
    ACCELERATION = "acceleration"
    POSITION = "position"

    @property
    def order(self) -> int:
        """Order of the derivative of the gap: 0 for positions, 1 for velocities, 2 for accelerations."""
        return ("position", "velocity", "acceleration").index(self.value)


@dataclass(frozen=True, eq=False, repr=False)
class ContactProblem:
    """Contact problem with the Delassus operator: find r with u = W r + u_free and K* ∋ u_hat ⟂ r ∈ K.

    At velocity level r is an impulse and u a velocity; at acceleration level a force and an
    acceleration; at position level an impulse times the step and a displacement.

    Example:

        problem = ss.ContactProblem(np.eye(3) / 2.0, [-0.07, 0.07, 0.0], ss.coulomb([0.5]))
        print(ss.solve(problem).r)
    """

    W: Delassus
    """Delassus operator [1/kg], shape (n, n): an array, a SciPy matrix or an operator."""
    u_free: Array
    """Contact velocity with r = 0 [m/s], shape (n,); (nc, d) is accepted."""
    K: ProductSet
    """Set of r: `coulomb(mu)`, `rolling(mu, mu_roll)`, ... joined with `+`."""
    level: Level = Level.VELOCITY

    def __post_init__(self) -> None:
        K = self.K
        if not isinstance(K, ProductSet):
            raise ProblemError(f"K is {type(K).__name__}, expected a product set such as coulomb(mu)")
        _set(self, "W", delassus("W", self.W, K))
        _set(self, "u_free", flat("u_free", self.u_free, K.size, f"{len(K)} contacts"))
        finite("u_free", self.u_free, lambda k: component_name(K, k[0]))
        _set(self, "level", Level(self.level))

    @classmethod
    def unchecked(
        cls, W: Delassus, u_free: Array, K: ProductSet, level: Level = Level.VELOCITY
    ) -> "ContactProblem":
        """Return the problem without checks, for internal data: an operator and flat arrays."""
        problem = object.__new__(cls)
        frozen(u_free)
        for name, value in (("W", W), ("u_free", u_free), ("K", K), ("level", level)):
            object.__setattr__(problem, name, value)
        return problem

    @property
    def size(self) -> int:
        """Number of components n of r."""
        return self.K.size

    @property
    def contacts(self) -> int:
        """Number of blocks nc."""
        return len(self.K)

    def velocity(self, r: ArrayLike) -> Array:
        """Return u(r) = W r + u_free [m/s], shape (n,)."""
        return self.W.apply(flat("r", r, self.size), self.u_free)

    def __repr__(self) -> str:
        form = type(self.W).__name__.removesuffix("Delassus").lower()
        return f"ContactProblem({self.K!r}, {form} W, {self.level.value} level)"


@dataclass(frozen=True, eq=False, repr=False)
class GlobalProblem:
    """Contact problem with masses: find v, r, lam with M v = f + H r + G lam, u = H' v + u_bias and the law.

    Bilateral constraints hold as G' v + g_bias = 0. `ss.problem.reduce_to_contacts` eliminates v.

    Example:

        M, f, H = 2.0 * np.eye(3), [-0.14, 0.14, 0.0], np.eye(3)
        solution = ss.solve(ss.GlobalProblem(M, f, H, np.zeros(3), ss.coulomb([0.5])))
        print(solution.v, solution.r)
    """

    M: MassMatrix
    """Mass matrix [kg, kg m^2], shape (nv, nv): an array, a SciPy matrix, or (bodies, k, k)."""
    f: Array
    """Momentum of the free motion [N s], shape (nv,)."""
    H: sp.csr_array | ContactBlocks
    """Contact impulses to bodies [-, m], shape (nv, n): an array, a SciPy matrix, or blocks."""
    u_bias: Array
    """Prescribed part of the contact velocity [m/s], shape (n,)."""
    K: ProductSet
    """Set of r."""
    G: sp.csr_array | ContactBlocks | None = None
    """Bilateral multipliers to bodies [-, m], shape (nv, p)."""
    g_bias: Array = field(default_factory=lambda: np.zeros(0))
    """Prescribed part of the bilateral velocity [m/s], shape (p,)."""
    level: Level = Level.VELOCITY

    def __post_init__(self) -> None:
        K = self.K
        if not isinstance(K, ProductSet):
            raise ProblemError(f"K is {type(K).__name__}, expected a product set such as coulomb(mu)")
        _set(self, "M", mass_matrix(self.M))
        nv = self.M.size
        _set(self, "f", flat("f", self.f, nv, "one per velocity"))
        finite("f", self.f, lambda k: f"velocity {k[0]}")
        _set(self, "H", _map("H", self.H, self.M, K.size))
        if isinstance(self.H, ContactBlocks) and not np.array_equal(self.H.offset, K.offset):
            raise ProblemError(
                "the contact blocks of H have other sizes than those of K; make H with the same K"
            )
        _set(self, "u_bias", flat("u_bias", self.u_bias, K.size, f"{len(K)} contacts"))
        finite("u_bias", self.u_bias, lambda k: component_name(K, k[0]))
        p = np.size(self.g_bias)
        if self.G is None:
            if p:
                raise ProblemError(f"g_bias has {p} entries, but there is no G")
        else:
            _set(self, "G", _map("G", self.G, self.M, None))
            p = joints(self.G)
        _set(self, "g_bias", flat("g_bias", self.g_bias, p, "one per column of G"))
        finite("g_bias", self.g_bias, lambda k: f"bilateral row {k[0]}")
        _set(self, "level", Level(self.level))

    @classmethod
    def unchecked(
        cls, M: MassMatrix, f: Array, H: ContactBlocks, u_bias: Array, K: ProductSet
    ) -> "GlobalProblem":
        """Return a problem at velocity level without G and without checks, for internal data: flat arrays."""
        problem = object.__new__(cls)
        frozen(f)
        frozen(u_bias)
        problem.__dict__.update(
            M=M, f=f, H=H, u_bias=u_bias, K=K, G=None, g_bias=NO_JOINTS, level=Level.VELOCITY
        )
        return problem

    @property
    def size(self) -> int:
        """Number of components n of r."""
        return self.K.size

    @property
    def contacts(self) -> int:
        """Number of blocks nc."""
        return len(self.K)

    @property
    def is_matrix_free(self) -> bool:
        """Whether H (and G) are contact blocks over bodies with block masses."""
        return (
            self.M.is_body_blocks
            and isinstance(self.H, ContactBlocks)
            and (self.G is None or isinstance(self.G, ContactBlocks))
        )

    def pushed(self, r: Array, lam: Array) -> Array:
        """Return H r + G lam, the change of the momenta by the impulses [N s], shape (nv,)."""
        p = _push(self.H, self.M, r) if self.is_matrix_free else self.H_matrix @ r
        return p if self.G is None else p + _push(self.G, self.M, lam)

    def contact_velocity(self, v: Array) -> Array:
        """Return u = H' v + u_bias [m/s], shape (n,)."""
        if self.is_matrix_free:
            return _pull(self.H, self.M, v, self.u_bias)
        return self.H_matrix.T @ v + self.u_bias

    def joint_velocity(self, v: Array) -> Array:
        """Return G' v + g_bias, which is zero for a solution [m/s], shape (p,)."""
        return self.g_bias if self.G is None else _pull(self.G, self.M, v, self.g_bias)

    @cached_property
    def H_matrix(self) -> Any:
        """H as a dense array if it is small, otherwise as a SciPy matrix, shape (nv, n)."""
        H = _sparse(self.H, self.M)
        return H.toarray() if H.shape[0] * H.shape[1] <= SMALL else H

    @cached_property
    def dense(self) -> tuple[Array, Array, Array] | None:
        """(M, H, f) as dense arrays if the problem is small and not matrix-free; otherwise None."""
        if self.is_matrix_free or self.M.size > FEW or self.M.size * self.K.size > SMALL:
            return None
        M, H = (frozen(np.ascontiguousarray(x)) for x in (self.M.small, self.H_matrix))
        return M, H, self.f

    def H_sparse(self) -> sp.csr_array:
        """Return H as a SciPy matrix, shape (nv, n)."""
        return _sparse(self.H, self.M)

    def G_sparse(self) -> sp.csr_array:
        """Return G as a SciPy matrix, shape (nv, p); p = 0 without bilateral constraints."""
        return sp.csr_array((self.M.size, 0)) if self.G is None else _sparse(self.G, self.M)

    def __repr__(self) -> str:
        p = self.g_bias.size
        rows = f", {p} bilateral rows" if p else ""
        return f"GlobalProblem({self.K!r}, {self.M.size} velocities{rows}, {self.level.value} level)"


def joints(G: sp.csr_array | ContactBlocks) -> int:
    """Return the number of bilateral rows p."""
    return G.size if isinstance(G, ContactBlocks) else int(G.shape[1])


def component_name(K: ProductSet, k: int) -> str:
    """Return the name of component k of r for messages, such as "contact 3, component 1,"."""
    i = int(np.searchsorted(K.offset, k, side="right") - 1)
    return f"contact {i}, component {k - int(K.offset[i])},"


def _map(name: str, value: Any, M: MassMatrix, columns: int | None) -> sp.csr_array | ContactBlocks:
    if isinstance(value, ContactBlocks):
        if columns is not None and value.size != columns:
            raise ProblemError(f"{name} has {value.size} components, expected {columns}")
        _check_bodies(name, value, M)
        return value
    matrix = value if sp.issparse(value) else floats(name, value)
    if len(matrix.shape) != 2 or matrix.shape[0] != M.size or columns not in (None, matrix.shape[1]):
        expected = "any" if columns is None else columns
        raise ProblemError(f"{name} has shape {matrix.shape}, expected ({M.size}, {expected})")
    return sparse(name, matrix if sp.issparse(matrix) else sp.csr_array(matrix))


def _check_bodies(name: str, value: ContactBlocks, M: MassMatrix) -> None:
    value.check(name)
    k = value.rows.shape[2]
    if M.is_body_blocks and M.matrix.shape[1] != k:
        raise ProblemError(f"{name} has {k} velocities per body, M has {M.matrix.shape[1]}")
    count = M.size // k
    if M.size % k or (value.bodies.size and value.bodies.max() >= count):
        i = int(np.argmax(value.bodies.max(axis=1))) if value.bodies.size else 0
        raise ProblemError(f"{name}: contact {i} names a body beyond the {count} bodies of M")


def _push(value: sp.csr_array | ContactBlocks, M: MassMatrix, r: Array) -> Array:
    if isinstance(value, ContactBlocks):
        return value.impulses(r, M.size // value.rows.shape[2]).reshape(-1)
    return value @ r


def _pull(value: sp.csr_array | ContactBlocks, M: MassMatrix, v: Array, bias: Array) -> Array:
    if isinstance(value, ContactBlocks):
        return value.velocities(v.reshape(-1, value.rows.shape[2]), bias)
    return value.T @ v + bias


def _sparse(value: sp.csr_array | ContactBlocks, M: MassMatrix) -> sp.csr_array:
    if isinstance(value, ContactBlocks):
        return value.sparse(M.size // value.rows.shape[2])
    return value


def _set(value: object, name: str, content: object) -> None:
    object.__setattr__(value, name, content)
