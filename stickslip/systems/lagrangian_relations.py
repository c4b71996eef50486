"""Relations of mechanical systems in generalised coordinates: y(q), y(t, q), y(t, q, lam), y = C q + e.

Siconos Developer's Notes 2017, (10.4) to (10.7). With friction the first component of each contact is its
gap. The other components need only rates: `dy_dq` defines the rates of all components, and y may then return
only the gaps.
"""

from dataclasses import dataclass

from numpy.typing import ArrayLike

from stickslip.systems.mechanical_outputs import Holonomic, Linear, WithInput
from stickslip.systems.quantities import OUTPUT, Given
from stickslip.systems.relations import Binding, MechanicalOutput


@dataclass(frozen=True, eq=False)
class Scleronomous:
    """Relation y = y(q) with forces p = (dy/dq)' lam (Siconos Developer's Notes 2017, (10.6)).

    Example:

        gap = ss.Scleronomous(lambda q: q[0] - 0.1, dy_dq=[[1.0]])
        floor = ss.Interaction("floor", "ball", gap, ss.NewtonImpact())
    """

    y: Given
    """Outputs [m, rad], shape (m,); if `dy_dq` is given, y may return only the gaps. Takes any of (q, z)."""
    dy_dq: Given | None = None
    """∂y/∂q, whose rows give the output velocities [-, m], shape (m, nq); by differences of y if not
    given."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Holonomic(to, self.y, self.dy_dq, None, takes=("q", "z"))


@dataclass(frozen=True, eq=False)
class Rheonomous:
    """Moving constraint y = y(t, q), p = (∂y/∂q)' lam (Siconos Developer's Notes 2017, (10.5))."""

    y: Given
    """Outputs [m, rad], shape (m,); if `dy_dq` is given, y may return only the gaps. Takes any of (t, q,
    z)."""
    dy_dq: Given | None = None
    """∂y/∂q, whose rows give the output velocities [-, m], shape (m, nq); by differences of y if not
    given."""
    dy_dt: Given | None = None
    """∂y/∂t [m/s], shape (m,); by differences of y if not given."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Holonomic(to, self.y, self.dy_dq, self.dy_dt, takes=("t", "q", "z"))


@dataclass(frozen=True, eq=False)
class CompliantRelation:
    """Relation y = y(t, q, lam), p = (∂y/∂q)' lam: a compliant contact or joint with force lam [N].

    `y=lambda q, lam: q + lam / k` is a unilateral spring of stiffness k.
    """

    y: Given
    """Outputs [m, rad], shape (m,); takes any of (t, q, lam, z)."""
    dy_dq: Given | None = None
    """∂y/∂q [-, m], shape (m, nq); by differences of y if not given."""
    dy_dt: Given | None = None
    """∂y/∂t [m/s], shape (m,); by differences of y if not given."""
    dy_dlam: Given | None = None
    """Compliance ∂y/∂lam [m/N], shape (m, m); by differences of y if not given."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Holonomic(to, self.y, self.dy_dq, self.dy_dt, self.dy_dlam, takes=OUTPUT)


@dataclass(frozen=True, eq=False)
class LagrangianNonlinear:
    """Relation y = h(t, q, lam), p = g(t, q, lam), whose forces are independent of ∂h/∂q."""

    h: Given
    """Outputs [m, rad], shape (m,); takes any of (t, q, lam, z)."""
    g: Given
    """Forces p [N, N m], shape (nv,); takes any of (t, q, lam, z)."""
    dh_dq: Given | None = None
    """∂h/∂q [-, m], shape (m, nq); by differences of h if not given."""
    dh_dt: Given | None = None
    """∂h/∂t [m/s], shape (m,); by differences of h if not given."""
    dh_dlam: Given | None = None
    """∂h/∂lam [m/N], shape (m, m); by differences of h if not given."""
    dg_dlam: Given | None = None
    """∂g/∂lam [-], shape (nv, m); by differences of g if not given."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return WithInput(to, self.h, self.g, self.dh_dq, self.dh_dt, self.dh_dlam, self.dg_dlam)


@dataclass(frozen=True, eq=False)
class LagrangianLinearRelation:
    """Relation y = C q + e + F z + D lam, p = C' lam (Siconos Developer's Notes 2017, (10.7))."""

    C: ArrayLike
    """Matrix C [-, m], shape (m, nq)."""
    e: ArrayLike | None = None
    """Offset e [m], shape (m,)."""
    D: ArrayLike | None = None
    """Compliance [m/N], shape (m, m); the relation is compliant if D is given."""
    F: ArrayLike | None = None
    """Matrix F [m per unit of z], shape (m, nz)."""

    def bound(self, to: Binding) -> MechanicalOutput:
        return Linear(to, self.C, self.e, self.D, self.F)
