"""Bound relations between members of joined systems, between ports, and on rates of first-order systems."""

from dataclasses import replace

import numpy as np

from stickslip.laws import Box, Complementarity, Equality, Law, Relay
from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems.ports import Reach
from stickslip.systems.quantities import Quantity
from stickslip.systems.relations import FirstOrderOutput, MechanicalOutput


class Reached:
    """A relation between the named parts of a `Reach`, as a relation between the containing systems."""

    def __init__(self, inner: MechanicalOutput, reach: Reach):
        self.inner, self.reach = inner, reach
        self.compliant, self.has_input = inner.compliant, inner.has_input
        self.constant = inner.constant and reach.fixed

    def _at(self, t: float, q: Array, lam: Array, z: Array) -> tuple[float, Array, Array, Array]:
        return t, self.reach.q(t, q), lam, self.reach.z(z)

    def y(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self.inner.y(*self._at(t, q, lam, z))

    def applies(self, t: float, q: Array) -> bool:
        """As `Bound.applies`."""
        method = getattr(self.inner, "applies", None)
        return method is None or bool(method(t, self.reach.q(t, q)))

    def rows(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self.reach.spread(t, q, self.inner.rows(*self._at(t, q, lam, z)))

    def drift(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        at = self._at(t, q, lam, z)
        inner_drift, reach_drift = self.inner.drift(*at), self.reach.drift(t, q)
        if reach_drift is None:
            return inner_drift
        total = self.inner.rows(*at) @ reach_drift
        return total if inner_drift is None else total + inner_drift

    def dy_dq(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self.inner.dy_dq(*self._at(t, q, lam, z)) @ self.reach.dq(t, q)

    def dy_dlam(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        return self.inner.dy_dlam(*self._at(t, q, lam, z))

    def forces(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return np.asarray(self.reach.rows(t, q).T @ self.inner.forces(*self._at(t, q, lam, z)))

    def dforces_dlam(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return np.asarray(self.reach.rows(t, q).T @ self.inner.dforces_dlam(*self._at(t, q, lam, z)))

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Quantities of the relation, as functions of the containing systems."""
        return tuple(self._whole(one) for one in self.inner.quantities)

    def _whole(self, one: Quantity) -> Quantity:
        def function(t: float, q: Array, lam: Array, z: Array) -> Array:
            return one(*self._at(t, q, lam, z))

        return replace(one, function=function, compiled=None, difference_of=None)

    @property
    def is_compiled(self) -> bool:
        """False: such a relation is never compiled."""
        return False

    def check_jacobians(self, t: float, q: Array, lam: Array, z: Array) -> float:
        return self.inner.check_jacobians(*self._at(t, q, lam, z))


class OfRates:
    """A linear relation y = C x + e of first-order systems that are joined with mechanical ones.

    There the state x is a velocity, and the law is stated on velocities.
    """

    compliant = False

    def __init__(self, owner: str, flow: FirstOrderOutput, nx: int, m: int, z0: Array):
        self.flow, self.constant = flow, flow.constant
        self._x, self._lam = np.zeros(nx), np.zeros(m)
        at = 0.0, self._x, self._lam, z0
        if not flow.linear or flow.D(*at).any():
            raise ModelError(
                f"{owner}: a coupling joins its systems with mechanical ones, where laws are stated on rates:"
                " it needs a FirstOrderLinearRelation whose D is 0"
            )
        self.has_input = not np.array_equal(flow.C(*at), flow.B(*at).T) or not flow.constant

    def y(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return np.zeros(lam.size)

    def rows(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self.flow.C(t, self._x, lam, z)

    def drift(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        return self.flow.h(t, self._x, self._lam, z)

    def dy_dq(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return np.zeros((lam.size, q.size))

    def dy_dlam(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        return None

    def forces(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self.flow.g(t, self._x, lam, z)

    def dforces_dlam(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self.flow.B(t, self._x, lam, z)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return self.flow.quantities

    @property
    def is_compiled(self) -> bool:
        return False

    def check_jacobians(self, t: float, q: Array, lam: Array, z: Array) -> float:
        return 0.0


def law_of_rates(owner: str, law: Law) -> Law:
    """Return the law of a first-order relation as a law on rates, without a gap."""
    if isinstance(law, Complementarity):
        return Box((0.0,) * law.size, (np.inf,) * law.size)
    if isinstance(law, Equality | Relay | Box):
        return law
    raise ModelError(
        f"{owner}: a coupling joins its systems with mechanical ones; its law is Complementarity, Equality,"
        f" Relay or Box there, not {law}"
    )
