"""Bound relations of mechanical systems: y(t, q, lam), its rates, and the forces p."""

from abc import ABC, abstractmethod

import numpy as np

from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems import derivatives
from stickslip.systems.derivatives import differences
from stickslip.systems.quantities import OUTPUT, Given, Quantity, needed, quantity, returned
from stickslip.systems.relations import Binding, OfQuantities

TIME, COORDINATE, MULTIPLIER = 0, 1, 2
"""Indices of t, q and lam among the arguments (t, q, lam, z)."""


class ByRows(OfQuantities, ABC):
    """Base class of relations with forces p = rows' lam; by default rigid and independent of time."""

    has_input = False

    @abstractmethod
    def rows(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        """Matrix H' [-, m], shape (m, nv)."""

    def drift(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        return None

    def dy_dlam(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        return None

    def forces(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self.rows(t, q, lam, z).T @ lam

    def dforces_dlam(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self.rows(t, q, lam, z).T


class Holonomic(ByRows):
    """Bound relation y(t, q, lam) with rows ∂y/∂q T(q) and p = rows' lam."""

    def __init__(
        self, to: Binding, y: Given, dy_dq: Given | None, dy_dt: Given | None, dy_dlam: Given | None = None,
        *, takes: tuple[str, ...], name: str = "y",
    ):  # fmt: skip
        m, gaps = to.law.size, len(to.law.normals)
        self.to, self.m, self.normals = to, m, to.law.normals
        start = to.q0, np.zeros(m), to.z0
        self.gaps_only = (
            dy_dq is not None and 0 < gaps < m and returned(to.owner, name, y, OUTPUT, start) == gaps
        )
        self.given = needed(quantity(to.owner, name, y, (gaps if self.gaps_only else m,), OUTPUT, takes))
        self._dy_dq = self._jacobian(f"d{name}_dq", dy_dq, COORDINATE, (m, to.nq))
        self._dy_dt = self._jacobian(f"d{name}_dt", dy_dt, TIME, (m,))
        self._dy_dlam = self._jacobian(f"d{name}_dlam", dy_dlam, MULTIPLIER, (m, m))
        self.compliant = self._dy_dlam is not None
        self._zero = np.zeros((m, to.nq))
        fixed = self._dy_dq is None or self._dy_dq.constant is not None
        self.constant = fixed and to.kinematics(to.q0) is None

    def _jacobian(
        self, name: str, given: Given | None, which: int, shape: tuple[int, ...]
    ) -> Quantity | None:
        if given is not None:
            return quantity(self.to.owner, name, given, shape, OUTPUT)
        by_differences = derivatives.jacobian(self.to.owner, name, None, self.given, which, shape[-1], OUTPUT)
        if by_differences is not None and self.gaps_only:
            raise ModelError(
                f"{self.to.owner}: {name} is missing; {self.given.name} defines gaps only; its"
                f" {self.m} rates need {name}"
            )
        return by_differences

    def y(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        value = self.given(t, q, lam, z)
        if not self.gaps_only:
            return value
        y = np.zeros(self.m)
        y[self.normals] = value
        return y

    def dy_dq(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self._zero if self._dy_dq is None else self._dy_dq(t, q, lam, z)

    def rows(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        C, T = self.dy_dq(t, q, lam, z), self.to.kinematics(q)
        return C if T is None else C @ T

    def drift(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        return None if self._dy_dt is None else self._dy_dt(t, q, lam, z)

    def dy_dlam(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        return None if self._dy_dlam is None else self._dy_dlam(t, q, lam, z)

    def dforces_dlam(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        J = self._dy_dq
        if J is None or "lam" not in J.wanted or J.difference_of is not None:
            return super().dforces_dlam(
                t, q, lam, z
            )  # differences of differences would be dominated by rounding
        return differences(self.forces, MULTIPLIER, self.to.nv)(t, q, lam, z)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        candidates = (self.given, self._dy_dq, self._dy_dt, self._dy_dlam)
        return tuple(q for q in candidates if q is not None)

    def check_jacobians(self, t: float, q: Array, lam: Array, z: Array) -> float:
        jacobians = ((self._dy_dq, COORDINATE), (self._dy_dt, TIME), (self._dy_dlam, MULTIPLIER))
        rows = self.normals if self.gaps_only else None
        return max(
            (
                derivatives.check(J, self.given, which, t, q, lam, z, rows)
                for J, which in jacobians
                if J is not None
            ),
            default=0.0,
        )


class WithInput(Holonomic):
    """Bound relation y = h(t, q, lam) with a separate function for its forces, p = g(t, q, lam)."""

    has_input = True

    def __init__(
        self, to: Binding, h: Given, g: Given, dh_dq: Given | None, dh_dt: Given | None,
        dh_dlam: Given | None, dg_dlam: Given | None,
    ):  # fmt: skip
        super().__init__(to, h, dh_dq, dh_dt, dh_dlam, takes=OUTPUT, name="h")
        self.g = needed(quantity(to.owner, "g", g, (to.nv,), OUTPUT))
        m = to.law.size
        self.dg_dlam = derivatives.jacobian(to.owner, "dg_dlam", dg_dlam, self.g, MULTIPLIER, m, OUTPUT)
        self._no_force = np.zeros((to.nv, m))
        self.constant = self.constant and (self.dg_dlam is None or self.dg_dlam.constant is not None)

    def forces(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self.g(t, q, lam, z)

    def dforces_dlam(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self._no_force if self.dg_dlam is None else self.dg_dlam(t, q, lam, z)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return (*super().quantities, self.g, *(() if self.dg_dlam is None else (self.dg_dlam,)))

    def check_jacobians(self, t: float, q: Array, lam: Array, z: Array) -> float:
        worst = super().check_jacobians(t, q, lam, z)
        if self.dg_dlam is None:
            return worst
        return max(worst, derivatives.check(self.dg_dlam, self.g, MULTIPLIER, t, q, lam, z))


class Linear(ByRows):
    """Bound relation y = C q + e + F z + D lam, p = (C T)' lam, with constant matrices."""

    def __init__(self, to: Binding, C: Given, e: Given | None, D: Given | None, F: Given | None):
        m = to.law.size
        shapes = {"C": (C, (m, to.nq)), "e": (e, (m,)), "D": (D, (m, m)), "F": (F, (m, to.nz))}
        given_quantities: dict[str, Quantity] = {}
        for name, (argument, shape) in shapes.items():
            if callable(argument):
                raise ModelError(
                    f"{to.owner}: {name} is a function; a linear relation takes constants (see Scleronomous)"
                )
            one = quantity(to.owner, name, argument, shape, OUTPUT)
            if one is not None:
                given_quantities[name] = one
        if "C" not in given_quantities:
            raise ModelError(f"{to.owner}: C is missing")
        self.to = to
        self.matrices: dict[str, Array] = {k: np.asarray(one.constant) for k, one in given_quantities.items()}
        """The given constant arrays by name: C, and any of e, D, F."""
        self._quantities = tuple(given_quantities.values())
        self._C, self._D = self.matrices["C"], self.matrices.get("D")
        self.compliant = self._D is not None
        self.constant = to.kinematics(to.q0) is None

    def y(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        y = self._C @ q
        if "e" in self.matrices:
            y += self.matrices["e"]
        if self._D is not None:
            y += self._D @ lam
        if "F" in self.matrices:
            y += self.matrices["F"] @ z
        return np.asarray(y)

    def rows(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        T = None if self.constant else self.to.kinematics(q)
        return self._C if T is None else self._C @ T

    def dy_dq(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self._C

    def dy_dlam(self, t: float, q: Array, lam: Array, z: Array) -> Array | None:
        return self._D

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return self._quantities
