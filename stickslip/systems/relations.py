"""Interface of bound relations to schemes.

Mechanics:    y = y(t, q, lam),  ẏ = u = H' v + y_t (+ ...),  p = H lam   (or p = g(t, q, lam))
First order:  y = h(t, x, lam),  r = g(t, x, lam)

q, v, x, z are the concatenated variables of the interaction's systems. A relation as the user writes it
(`Scleronomous(y, dy_dq)`) is bound once, when the model is created, to its law and the sizes of its systems.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from stickslip.laws import Law
from stickslip.problem.checks import Array
from stickslip.systems.quantities import Quantity


@dataclass(frozen=True, eq=False)
class Binding:
    """Data of the systems and the law to which a relation is bound."""

    owner: str
    """Owner in messages, such as "interaction 'floor'"."""
    law: Law
    nq: int
    """Number of coordinates (or states) of all systems."""
    nv: int
    """Number of velocities of all systems; 0 for first-order systems."""
    nz: int
    """Number of discrete parameters of all systems."""
    kinematics: Callable[[Array], Array | None]
    """Function T(q) of all systems, which returns [-], shape (nq, nv); None for the identity."""
    q0: Array
    """Coordinates (or states) at the start [m, rad, or any], shape (nq,)."""
    z0: Array
    """Discrete parameters at the start [any], shape (nz,)."""


class Output(Protocol):
    """Interface of bound relations of either order."""

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """All given quantities, and the Jacobians in use."""

    @property
    def is_compiled(self) -> bool:
        """Whether a compiled step can use the relation: its quantities are constants or compiled with
        Numba."""

    def check_jacobians(self, t: float, q: Array, lam: Array, z: Array) -> float:
        """Return the largest relative difference between Jacobians and central differences [-]; raise a
        ModelError where a Jacobian is wrong."""


@runtime_checkable
class MechanicalOutput(Output, Protocol):
    """Bound relation of second-order systems. m is the size of the law, nb its number of blocks.

    `compliant`: y depends on lam, so that the law is solved at position level, without impacts.
    """

    compliant: bool
    constant: bool
    """Whether `rows` is constant."""
    has_input: bool
    """Whether forces are a separate function g(t, q, lam) rather than H lam with H the transpose of the
    rows."""

    def y(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        """Outputs [m, rad], shape (m,). Tangential components may be 0 where only their rate is known."""

    def rows(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        """Matrix H': output velocities are rows @ v + drift [-, m], shape (m, nv)."""

    def drift(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        """∂y/∂t at fixed q [m/s], shape (m,); None where it is zero."""

    def dy_dq(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        """∂y/∂q [-], shape (m, nq), for projections onto y = 0."""

    def dy_dlam(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        """∂y/∂lam of a compliant relation [m/N], shape (m, m); None otherwise."""

    def forces(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        """Forces p = g(t, q, lam), or H lam [N, N m], shape (nv,)."""

    def dforces_dlam(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        """∂p/∂lam; H unless the relation has a function g [-], shape (nv, m)."""


@runtime_checkable
class FirstOrderOutput(Output, Protocol):
    """Bound relation of first-order systems: y = h(t, x, lam), r = g(t, x, lam)."""

    linear: bool
    """Whether h and g are affine in x and lam, so that one linearisation is exact."""
    constant: bool
    """Whether C, D, B and K are constant."""

    def h(self, t: float, x: Array, lam: Array, z: Array) -> Array:
        """Outputs y [any], shape (m,)."""

    def g(self, t: float, x: Array, lam: Array, z: Array) -> Array:
        """Inputs r of the systems [any], shape (nx,)."""

    def C(self, t: float, x: Array, lam: Array, z: Array) -> Array:
        """∂h/∂x, shape (m, nx)."""

    def D(self, t: float, x: Array, lam: Array, z: Array) -> Array:
        """∂h/∂lam, shape (m, m)."""

    def B(self, t: float, x: Array, lam: Array, z: Array) -> Array:
        """∂g/∂lam, shape (nx, m)."""

    def K(self, t: float, x: Array, lam: Array, z: Array) -> Array | None:
        """∂g/∂x, shape (nx, nx); None where it is zero."""


class OfQuantities:
    """Base class of bound relations; the defaults are those of a relation without quantities."""

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return ()

    @property
    def is_compiled(self) -> bool:
        return all(one.is_compiled for one in self.quantities)

    def check_jacobians(self, t: float, q: Array, lam: Array, z: Array) -> float:
        return 0.0


class Relation(Protocol):
    """A relation as the user writes it."""

    def bound(self, to: Binding) -> MechanicalOutput | FirstOrderOutput:
        """Return the relation bound to a law and systems; raise a ModelError if their sizes do not fit."""
