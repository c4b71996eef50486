"""What every relation offers to schemes once it is tied to its systems and its law.

Mechanics:    y = y(t, q, lam),  ẏ = u = H' v + y_t (+ ...),  p = H lam   (or p = g(t, q, lam))
First order:  y = h(t, x, lam),  r = g(t, x, lam)

q, v, x, z are those of the interaction's systems, one after the other. A relation as the user writes it
(`Scleronomous(y, dy_dq)`) is bound once, when the model is made, to the sizes of its systems.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from stickslip.laws import Law
from stickslip.problem.checks import Array
from stickslip.systems.quantities import Quantity


@dataclass(frozen=True, eq=False)
class Binding:
    """What a relation is told about the systems and the law it is tied to."""

    owner: str
    """Whose it is: «interaction 'floor'»."""
    law: Law
    nq: int
    """Coordinates (or states) of all its systems together."""
    nv: int
    """Velocities of all its systems together; 0 in first order."""
    nz: int
    """Discrete parameters of all its systems together."""
    kinematics: Callable[[Array], Array | None]
    """T(q) of all its systems together [-], shape (nq, nv); None for the identity."""
    q0: Array
    """Coordinates (or states) at the start [m, rad, or any], shape (nq,)."""
    z0: Array
    """Discrete parameters at the start [any], shape (nz,)."""


class Output(Protocol):
    """What bound relations of either order offer."""

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Every quantity that was given, and the Jacobians in use."""

    @property
    def is_compiled(self) -> bool:
        """Whether a compiled step can use it: its quantities are constants or compiled with Numba."""

    def check_jacobians(self, t: float, q: Array, lam: Array, z: Array) -> float:
        """Largest relative difference of the Jacobians from central differences [-]; ModelError if wrong."""


@runtime_checkable
class MechanicalOutput(Output, Protocol):
    """A relation of second-order systems, bound. m is the size of the law, nb its number of blocks.

    `compliant`: y depends on lam, so the law is solved at position level, without impacts.
    """

    compliant: bool
    constant: bool
    """Whether `rows` depends on nothing, so that it need not be asked for again."""
    has_input: bool
    """Whether forces are a g(t, q, lam) of its own, not H lam with H the transpose of the rows."""

    def y(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        """Outputs [m, rad], shape (m,). Tangential components may be 0 where only their rate is known."""

    def rows(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        """H': velocities of the outputs are rows @ v + drift [-, m], shape (m, nv)."""

    def drift(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        """∂y/∂t at fixed q [m/s], shape (m,); None where it is zero."""

    def dy_dq(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        """∂y/∂q [-], shape (m, nq), as projections onto y = 0 take it."""

    def dy_dlam(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        """∂y/∂lam of a compliant relation [m/N], shape (m, m); None otherwise."""

    def forces(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        """p = g(t, q, lam), or H lam [N, N m], shape (nv,)."""

    def dforces_dlam(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        """∂p/∂lam, H unless the relation has a g of its own [-], shape (nv, m)."""


@runtime_checkable
class FirstOrderOutput(Output, Protocol):
    """A relation of first-order systems, bound: y = h(t, x, lam), r = g(t, x, lam)."""

    linear: bool
    """Whether h and g are affine in x and lam, so that one linearisation is exact."""
    constant: bool
    """Whether C, D, B and K depend on nothing, so that they need not be asked for again."""

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
    """What bound relations made of users' quantities share; those without Jacobians need no more."""

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
        """The relation tied to systems of those sizes; a ModelError where it does not fit."""
