"""Relations of mechanical systems in generalised coordinates: y(q), y(t, q), y(q, lam), y = C q + e.

Siconos Developer's Notes 2017, (10.4) to (10.7). With friction the first component of each contact is its
gap, and the others need only rates: `dy_dq` gives them all, and y may return the gaps alone.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array
from stickslip.systems import derivatives
from stickslip.systems.quantities import OUTPUT, Given, ModelError, Quantity, quantity
from stickslip.systems.relations import Binding, MechanicalOutput

EMPTY = np.zeros(0)
EMPTY.flags.writeable = False


@dataclass(frozen=True, eq=False)
class Scleronomous:
    """y = y(q), p = (dy/dq)' lam (Siconos Developer's Notes 2017, (10.6))."""

    y: Given
    """Outputs [m, rad], shape (m,) or, with `dy_dq`, gaps only; takes any of (q, z)."""
    dy_dq: Given | None = None
    """Rows of the outputs' velocities [-, m], shape (m, nq); by differences of y if not given."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Holonomic(to, self.y, self.dy_dq, None, allowed=("q", "z"), kind="Scleronomous")


@dataclass(frozen=True, eq=False)
class Rheonomous:
    """y = y(t, q), p = (∂y/∂q)' lam: a moving constraint (Siconos Developer's Notes 2017, (10.5))."""

    y: Given
    """Outputs [m, rad], shape (m,) or, with `dy_dq`, gaps only; takes any of (t, q, z)."""
    dy_dq: Given | None = None
    """Rows of the outputs' velocities [-, m], shape (m, nq); by differences of y if not given."""
    dy_dt: Given | None = None
    """∂y/∂t [m/s], shape (m,); by differences of y if not given."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Holonomic(to, self.y, self.dy_dq, self.dy_dt, allowed=("t", "q", "z"), kind="Rheonomous")


class Holonomic:
    """A bound relation y(t, q) with rows dy/dq T(q)."""

    compliant = False

    def __init__(
        self, to: Binding, y: Given, dy_dq: Given | None, dy_dt: Given | None,
        *, allowed: tuple[str, ...], kind: str,
    ):  # fmt: skip
        m, gaps = to.law.size, len(to.law.normals)
        self.to, self.normals = to, to.law.normals
        gaps_only = dy_dq is not None and _returned(to, y) == gaps != m
        found = quantity(to.owner, "y", y, (gaps if gaps_only else m,), OUTPUT)
        assert found is not None
        self.given: Quantity = found
        for name in found.wanted:
            if name not in allowed:
                raise ModelError(f"{to.owner}: y takes {name!r}; in a {kind} relation it takes {allowed}")
        self.gaps_only, self.m = gaps_only, m
        self._dy_dq = quantity(to.owner, "dy_dq", dy_dq, (m, to.nq), OUTPUT)
        if self._dy_dq is None:
            self._dy_dq = derivatives.jacobian(to.owner, "dy_dq", None, found, 1, to.nq, OUTPUT)
        if dy_dt is not None:
            self._dy_dt = quantity(to.owner, "dy_dt", dy_dt, (m,), OUTPUT)
        else:
            time = derivatives.jacobian(to.owner, "dy_dt", None, found, 0, 1, OUTPUT)
            if time is not None and gaps_only:
                raise ModelError(f"{to.owner}: dy_dt is missing; y gives gaps only, its {m} rates need dy_dt")
            self._dy_dt = time
        self._zero = np.zeros((m, to.nq))
        self.constant = (self._dy_dq is None or self._dy_dq.constant is not None) and to.kinematics(
            np.zeros(to.nq)
        ) is None

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
        return None

    def forces(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self.rows(t, q, lam, z).T @ lam

    def dforces_dlam(self, t: float, q: Array, lam: Array, z: Array) -> Array:
        return self.rows(t, q, lam, z).T

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Every quantity in use."""
        return tuple(q for q in (self.given, self._dy_dq, self._dy_dt) if q is not None)


def _returned(to: Binding, y: Given) -> int:
    """How many outputs y gives, at zero."""
    if not callable(y):
        return int(np.size(y))
    sample = quantity(to.owner, "y", y, (-1,), OUTPUT)
    assert sample is not None
    return int(np.size(sample.function(0.0, np.zeros(to.nq), np.zeros(to.law.size), np.zeros(to.nz))))


@dataclass(frozen=True, eq=False)
class LagrangianLinearRelation:
    """y = C q + e + F z + D lam, p = C' lam (Siconos Developer's Notes 2017, (10.7))."""

    C: ArrayLike
    """[-, m], shape (m, nq)."""
    e: ArrayLike | None = None
    """[m], shape (m,)."""
    D: ArrayLike | None = None
    """Compliance [m/N], shape (m, m); with it the relation is compliant."""
    F: ArrayLike | None = None
    """[m per unit of z], shape (m, nz)."""

    def bound(self, to: Binding) -> MechanicalOutput:
        raise NotImplementedError
