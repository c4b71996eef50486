"""What every dynamical system offers to relations and schemes, whichever way it was written.

First order:   M(x) ẋ = rate(t, x, z) + r            (state x is kept as q; there is no v)
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
"""The velocities of a first-order system, and those that a mass or a potential does not take."""
EMPTY.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Start:
    """Where a system starts, and how large it is."""

    q: Array
    """Coordinates, or the state x of a first-order system [m, rad, or any], shape (nq,)."""
    v: Array
    """Velocities [m/s, rad/s], shape (nv,); empty for a first-order system."""
    z: Array
    """Discrete parameters [any], shape (nz,)."""


class AnyDynamics(Protocol):
    """What systems of either order offer."""

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

    def update(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """Discrete parameters for the step that begins at t [any], shape (nz,)."""

    def explain(self, t: float, q: Array, v: Array, z: Array) -> None:
        """Raise a ModelError naming the first quantity that is not finite or not what it must be."""


@runtime_checkable
class FirstOrderDynamics(AnyDynamics, Protocol):
    """M ẋ = rate(t, x, z) + r."""

    def mass(self, t: float, x: Array, z: Array) -> Array:
        """M [any], shape (nx, nx)."""

    def rate(self, t: float, x: Array, z: Array) -> Array:
        """f(t, x, z) + T(x) u [any], shape (nx,), a fresh array."""

    def rate_dx(self, t: float, x: Array, z: Array) -> Array:
        """Its derivative by x [any], shape (nx, nx)."""


@runtime_checkable
class SecondOrderDynamics(AnyDynamics, Protocol):
    """M(q) v̇ = force(t, q, v, z) + p, q̇ = T(q) v."""

    constant_mass: bool
    """Whether M depends on nothing."""

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


class Written(ABC):
    """What systems written as quantities share: how these are checked at a state."""

    coordinates: ClassVar[str] = "q"
    """Name of the coordinates in messages."""
    name: str
    start: Start
    z_update: Quantity | None
    jacobians: dict[tuple[str, int], Quantity]
    """Jacobians in use, by the name of what they are of, and the number of the argument."""
    given: dict[str, Any]
    """What it was made of, by name: what files of models say."""

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Keep what is given."""
        made = super().__new__(cls)
        made.given = {key: kept(value) for key, value in given.items()}
        return made

    @property
    def owner(self) -> str:
        """What messages call it."""
        return f"system {self.name!r}"

    @property
    @abstractmethod
    def quantities(self) -> tuple[Quantity, ...]:
        """Every quantity that was given, and the Jacobians in use."""

    @property
    @abstractmethod
    def uncompiled(self) -> tuple[Quantity | None, ...]:
        """Quantities that a compiled step does not call."""

    @property
    def is_compiled(self) -> bool:
        """Whether a compiled step can use it: what it calls is constant or compiled with Numba."""
        return all(one.is_compiled for one in self.quantities if one not in self.uncompiled)

    def update(self, t: float, q: Array, v: Array, z: Array) -> Array:
        return z if self.z_update is None else self.z_update(t, q, v, z)

    def check_jacobians(self, t: float, q: ArrayLike, v: ArrayLike = ()) -> float:
        """Largest relative difference of the given Jacobians from central differences [-]; there is no v in
        first order.

        A ModelError that names the worst entry where one is wrong.
        """
        nq, nv = self.start.q.size, self.start.v.size
        still = np.zeros(nq)  # ẋ, of which inputs of a first-order system may be functions
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
    """T u, with the two beside their product."""

    T: Quantity
    """The map [any], shape (n, nu)."""
    u: Quantity
    """What is put in [any], shape (nu,)."""
    product: Quantity
    """T u [any], shape (n,)."""

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """All three."""
        return self.T, self.u, self.product


def inputs(
    owner: str, T: Given | None, u: Given | None, n: int, at: tuple[Array, Array, Array],
    arguments: tuple[str, str, str, str], allowed: tuple[str, ...] | None = None,
) -> Input | None:  # fmt: skip
    """T(q) u as one quantity; T is the identity unless given. `at` is where u is asked for its size."""
    if u is None:
        if T is not None:
            raise ModelError(f"{owner}: T is given without u")
        return None
    size = returned(owner, "u", u, arguments, at)
    carried = needed(quantity(owner, "u", u, (size,), arguments, allowed))
    of_T = tuple(a for a in allowed or arguments if a != "xdot")
    map_ = needed(quantity(owner, "T", np.eye(n) if T is None else T, (n, size), arguments, of_T))
    if map_.constant is not None and carried.constant is not None:
        constant = map_.constant @ carried.constant
        return Input(map_, carried, needed(quantity(owner, "T u", constant, (n,), arguments)))
    wanted = tuple(a for a in arguments if a in carried.wanted or a in map_.wanted)
    product = Quantity(
        owner, "T u", (n,), lambda t, a, b, z: map_(t, a, b, z) @ carried(t, a, b, z), wanted=wanted
    )
    return Input(map_, carried, product)


def input_jacobian(
    owner: str, of: Input | None, which: int, given: Given | None, size: int,
    arguments: tuple[str, str, str, str],
) -> Quantity | None:  # fmt: skip
    """The derivative of T u by its argument `which` of that size: T du by that of u where it is given, with
    that of T by differences where T depends on it too; otherwise by differences of the product."""
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
        found = of.T(t, a, b, z) @ du(t, a, b, z)
        if argument in of.T.wanted:
            u = of.u(t, a, b, z)
            found = found + derivatives.differences(lambda *at: of.T(*at) @ u, which, n)(t, a, b, z)
        return np.asarray(found)

    if of.T.constant is not None and du.constant is not None:
        return needed(quantity(owner, label, of.T.constant @ du.constant, (n, size), arguments))
    wanted = tuple(a for a in arguments if any(a in one.wanted for one in (of.T, of.u, du)))
    return Quantity(owner, label, (n, size), product, wanted=wanted)
