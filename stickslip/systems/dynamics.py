"""What every dynamical system offers to relations and schemes, whichever way it was written.

First order:   M(x) ẋ = rate(t, x, z) + r            (state x is kept as q; there is no v)
Second order:  M(q) v̇ = force(t, q, v, z) + p,  q̇ = T(q) v
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array, ProblemError, finite, floats, frozen
from stickslip.state import ModelError
from stickslip.systems.quantities import Quantity


@dataclass(frozen=True, eq=False)
class Start:
    """Where a system starts, and how large it is."""

    q: Array
    """Coordinates, or the state x of a first-order system [m, rad, or any], shape (nq,)."""
    v: Array
    """Velocities [m/s, rad/s], shape (nv,); empty for a first-order system."""
    z: Array
    """Discrete parameters [any], shape (nz,)."""


@runtime_checkable
class FirstOrderDynamics(Protocol):
    """M ẋ = rate(t, x, z) + r."""

    name: str
    start: Start

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Every quantity that was given, and the Jacobians in use."""

    @property
    def is_compiled(self) -> bool:
        """Whether a compiled step can use it: its quantities are constants or compiled with Numba."""

    def check_jacobians(self, t: float, q: ArrayLike, v: ArrayLike) -> float:
        """Largest relative difference of the Jacobians from central differences [-]; ModelError if wrong."""

    def mass(self, t: float, x: Array, z: Array) -> Array:
        """M [any], shape (nx, nx)."""

    def rate(self, t: float, x: Array, z: Array) -> Array:
        """f(t, x, z) + T(x) u [any], shape (nx,), a fresh array."""

    def rate_dx(self, t: float, x: Array, z: Array) -> Array:
        """Its derivative by x [any], shape (nx, nx)."""

    def update(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Discrete parameters for the step that begins at t [any], shape (nz,)."""

    def explain(self, t: float, q: Array, v: Array, z: Array) -> None:
        """Raise a ModelError naming the first quantity that is not finite or not what it must be."""


@runtime_checkable
class SecondOrderDynamics(Protocol):
    """M(q) v̇ = force(t, q, v, z) + p, q̇ = T(q) v."""

    name: str
    start: Start
    constant_mass: bool
    """Whether M depends on nothing."""

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Every quantity that was given, and the Jacobians in use."""

    @property
    def is_compiled(self) -> bool:
        """Whether a compiled step can use it: its quantities are constants or compiled with Numba."""

    def check_jacobians(self, t: float, q: ArrayLike, v: ArrayLike) -> float:
        """Largest relative difference of the Jacobians from central differences [-]; ModelError if wrong."""

    def mass(self, t: float, q: Array, z: Array) -> Array:
        """M(q) [kg, kg m²], shape (nv, nv)."""

    def force(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """F = F_ext - F_int - N + T u [N, N m], shape (nv,), a fresh array."""

    def force_dq(self, t: float, q: Array, v: Array, z: Array) -> Array | None:
        """Derivative of the force by q [N/m], shape (nv, nq); None where it is zero."""

    def force_dv(self, t: float, q: Array, v: Array, z: Array) -> Array | None:
        """Derivative of the force by v [N s/m], shape (nv, nv); None where it is zero."""

    def kinematics(self, q: Array) -> Array | None:
        """T(q) with q̇ = T(q) v [-], shape (nq, nv); None for the identity."""

    def potential(self, t: float, q: Array, z: Array) -> float:
        """Potential energy [J]; 0 where none is known."""

    @property
    def potential_known(self) -> bool:
        """Whether `potential` is that of all forces but damping, gyroscopic ones and inputs."""

    def normalized(self, q: Array) -> Array:
        """q brought back to its manifold (unit quaternions) [m, -], shape (nq,); q itself without one."""

    def update(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Discrete parameters for the step that begins at t [any], shape (nz,)."""

    def explain(self, t: float, q: Array, v: Array, z: Array) -> None:
        """Raise a ModelError naming the first quantity that is not finite or not what it must be."""


Dynamics = FirstOrderDynamics | SecondOrderDynamics


def vector(owner: str, name: str, value: ArrayLike, size: int | None = None) -> Array:
    """`value` as a finite flat vector, a scalar standing for one component."""
    try:
        array = floats(name, value)
        finite(name, array)
    except ProblemError as error:
        raise ModelError(f"{owner}: {error}") from None
    if array.ndim > 1:
        raise ModelError(f"{owner}: {name} has shape {array.shape}, expected a vector")
    if size is not None and array.size != size:
        raise ModelError(f"{owner}: {name} has {array.size} entries, expected {size}")
    return np.asarray(frozen(array.reshape(-1)))
