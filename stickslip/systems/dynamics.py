"""Interface of dynamical systems to relations and schemes, and the base class of those written by users.

First order:   M(x) ẋ = rate(t, x, z) + r            (state x is stored as q; there is no v)
Second order:  M(q) v̇ = force(t, q, v, z) + p,  q̇ = T(q) v
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array, ProblemError, finite, floats, frozen
from stickslip.state import ModelError, kept
from stickslip.systems import derivatives
from stickslip.systems.quantities import Given, Quantity, needed, quantity, returned

EMPTY = np.zeros(0)
"""Empty array: velocities of a first-order system, or an argument that a quantity does not take [-]."""
EMPTY.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Start:
    """Initial values of a system, which also define its sizes."""

    q: Array
    """Coordinates, or the state x of a first-order system [m, rad, or any], shape (nq,)."""
    v: Array
    """Velocities [m/s, rad/s], shape (nv,); empty for a first-order system."""
    z: Array
    """Discrete parameters [any], shape (nz,)."""


class AnyDynamics(Protocol):
    """Interface of systems of either order."""

    name: str
    start: Start

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """All given quantities, and the Jacobians in use."""

    @property
    def is_compiled(self) -> bool:
        """Whether a compiled step can use the system: its quantities are constants or compiled with Numba."""

    def check_jacobians(self, t: float, q: ArrayLike, v: ArrayLike) -> float:
        """Return the largest relative difference between Jacobians and central differences [-]; raise a
        ModelError where a Jacobian is wrong."""

    def update(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Discrete parameters for the step that starts at t [any], shape (nz,)."""

    def explain(self, t: float, q: Array, v: Array, z: Array) -> None:
        """Raise a ModelError naming the first quantity that is not finite or invalid."""


@runtime_checkable
class FirstOrderDynamics(AnyDynamics, Protocol):
    """Interface of first-order systems M ẋ = rate(t, x, z) + r."""

    def mass(self, t: float, x: Array, z: Array) -> Array:
        """Matrix M [any], shape (nx, nx)."""

    def rate(self, t: float, x: Array, z: Array) -> Array:
        """f(t, x, z) + T(x) u [any], shape (nx,), as a new array."""

    def rate_dx(self, t: float, x: Array, z: Array) -> Array:
        """Derivative of `rate` by x [any], shape (nx, nx)."""


@runtime_checkable
class SecondOrderDynamics(AnyDynamics, Protocol):
    """Interface of second-order systems M(q) v̇ = force(t, q, v, z) + p, q̇ = T(q) v."""

    constant_mass: bool
    """Whether M is constant."""

    def mass(self, t: float, q: Array, z: Array) -> Array:
        """Mass matrix M(q) [kg, kg m²], shape (nv, nv)."""

    def force(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Total force F = F_ext - F_int - N + T u [N, N m], shape (nv,), as a new array."""

    def force_dq(self, t: float, q: Array, v: Array, z: Array) -> Array | None:
        """Derivative of the force by q [N/m], shape (nv, nq); None where it is zero."""

    def force_dv(self, t: float, q: Array, v: Array, z: Array) -> Array | None:
        """Derivative of the force by v [N s/m], shape (nv, nv); None where it is zero."""

    def kinematics(self, q: Array) -> Array | None:
        """Matrix T(q) of q̇ = T(q) v [-], shape (nq, nv); None for the identity."""

    def potential(self, t: float, q: Array, z: Array) -> float:
        """Potential energy [J]; 0 where it is unknown."""

    @property
    def potential_known(self) -> bool:
        """Whether `potential` covers all forces except damping, gyroscopic forces and inputs."""

    def normalized(self, q: Array) -> Array:
        """q projected onto its manifold (unit quaternions) [m, -], shape (nq,); q itself for flat
        coordinates."""


Dynamics = FirstOrderDynamics | SecondOrderDynamics


def vector(owner: str, name: str, value: ArrayLike, size: int | None = None) -> Array:
    """Return `value` as a finite, read-only vector; a scalar becomes a vector of one component.

    Raise a ModelError if it has another size than `size`, where that is given.
    """
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


class Written(ABC):
    """Base class of systems that are written as quantities: checks of these quantities at a state."""

    coordinates: ClassVar[str] = "q"
    """Name of the coordinates in messages."""
    name: str
    start: Start
    z_update: Quantity | None
    jacobians: dict[tuple[str, int], Quantity]
    """Jacobians in use, by the name of the quantity and the index of the argument of the derivative."""
    given: dict[str, Any]
    """Keyword arguments of the constructor, which files of models store."""

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Create the system, and store the keyword arguments of its constructor."""
        system = super().__new__(cls)
        system.given = {key: kept(value) for key, value in given.items()}
        return system

    @property
    def owner(self) -> str:
        """Name of the system in messages."""
        return f"system {self.name!r}"

    @property
    @abstractmethod
    def quantities(self) -> tuple[Quantity, ...]:
        """All given quantities, and the Jacobians in use."""

    @property
    @abstractmethod
    def uncompiled(self) -> tuple[Quantity | None, ...]:
        """Quantities that a compiled step does not call."""

    @property
    def is_compiled(self) -> bool:
        """Whether a compiled step can use the system: all that it calls is constant or compiled with
        Numba."""
        return all(one.is_compiled for one in self.quantities if one not in self.uncompiled)

    def update(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return z if self.z_update is None else self.z_update(t, q, v, z)

    def check_jacobians(self, t: float, q: ArrayLike, v: ArrayLike = ()) -> float:
        """Return the largest relative difference between given Jacobians and central differences [-]; v is
        empty for first-order systems.

        Raise a ModelError that names the worst entry where a Jacobian is wrong.
        """
        nq, nv = self.start.q.size, self.start.v.size
        still = np.zeros(nq)  # ẋ = 0: inputs of first-order systems may depend on ẋ
        at = vector(self.owner, self.coordinates, q, nq), vector(self.owner, "v", v, nv) if nv else still
        of = {one.name: one for one in self.quantities}
        return max(
            (
                derivatives.check(J, of[name], which, t, *at, self.start.z)
                for (name, which), J in self.jacobians.items()
            ),
            default=0.0,
        )

    def explain(self, t: float, q: Array, v: Array, z: Array) -> None:
        for one in self.quantities:
            value = one(t, q, v, z)
            if not np.isfinite(value).all():
                raise ModelError(f"{self.owner}: at t = {t:.9g} s, {one.name} is not finite: {value}")


@dataclass(frozen=True, eq=False)
class Input:
    """Input T u of a system: both factors and their product."""

    T: Quantity
    """Input matrix T [any], shape (n, nu)."""
    u: Quantity
    """Input u [any], shape (nu,)."""
    product: Quantity
    """Product T u [any], shape (n,)."""

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """T, u and their product."""
        return self.T, self.u, self.product


def inputs(
    owner: str, T: Given | None, u: Given | None, n: int, at: tuple[Array, Array, Array],
    arguments: tuple[str, str, str, str], allowed: tuple[str, ...] | None = None,
) -> Input | None:  # fmt: skip
    """Return the input T(q) u, or None without u; T is the identity unless given.

    u is evaluated at the arguments `at` to find its size.
    """
    if u is None:
        if T is not None:
            raise ModelError(f"{owner}: T is given without u")
        return None
    size = returned(owner, "u", u, arguments, at)
    input_ = needed(quantity(owner, "u", u, (size,), arguments, allowed))
    of_T = tuple(a for a in allowed or arguments if a != "xdot")
    map_ = needed(quantity(owner, "T", np.eye(n) if T is None else T, (n, size), arguments, of_T))
    if map_.constant is not None and input_.constant is not None:
        constant = map_.constant @ input_.constant
        return Input(map_, input_, needed(quantity(owner, "T u", constant, (n,), arguments)))
    used = tuple(a for a in arguments if a in input_.wanted or a in map_.wanted)
    product = Quantity(
        owner, "T u", (n,), lambda t, a, b, z: map_(t, a, b, z) @ input_(t, a, b, z), wanted=used
    )
    return Input(map_, input_, product)


def input_jacobian(
    owner: str, of: Input | None, which: int, given: Given | None, size: int,
    arguments: tuple[str, str, str, str],
) -> Quantity | None:  # fmt: skip
    """Return the derivative of T u by its argument `which`, of that size; None where it is zero.

    If the derivative `given` of u is given: T du, plus the derivative of T by differences where T depends on
    the argument. Otherwise the product is differentiated by differences.
    """
    label, argument = f"du_d{arguments[which]}", arguments[which]
    if of is None:
        if given is not None:
            raise ModelError(f"{owner}: {label} is given without u")
        return None
    n = of.product.shape[0]
    if given is None:
        return derivatives.jacobian(owner, f"d(T u)_d{argument}", None, of.product, which, size, arguments)
    du = needed(quantity(owner, label, given, (of.u.shape[0], size), arguments))

    def product(t: float, a: Array, b: Array, z: Array) -> Array:
        slope = of.T(t, a, b, z) @ du(t, a, b, z)
        if argument in of.T.wanted:
            u = of.u(t, a, b, z)
            slope = slope + derivatives.differences(lambda *at: of.T(*at) @ u, which, n)(t, a, b, z)
        return np.asarray(slope)

    if of.T.constant is not None and du.constant is not None:
        return needed(quantity(owner, label, of.T.constant @ du.constant, (n, size), arguments))
    used = tuple(a for a in arguments if any(a in one.wanted for one in (of.T, of.u, du)))
    return Quantity(owner, label, (n, size), product, wanted=used)
