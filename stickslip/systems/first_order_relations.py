"""Relations of first-order systems: y = h(t, x, lam), r = g(t, x, lam), and their special cases.

Siconos Developer's Notes 2017, (9.1) to (9.4). Jacobians are given or computed by central differences; no
differences are computed for an argument that a function does not take.
"""

from dataclasses import dataclass

import numpy as np

from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems import derivatives
from stickslip.systems.quantities import FLOW, Given, Quantity, needed, quantity
from stickslip.systems.relations import Binding, FirstOrderOutput, OfQuantities

STATE, MULTIPLIER = 1, 2
"""Indices of x and lam among the arguments (t, x, lam, z)."""


@dataclass(frozen=True, eq=False)
class FirstOrderRelation:
    """Nonlinear relation y = h(t, x, lam), r = g(t, x, lam) (Siconos Developer's Notes 2017, (9.1))."""

    h: Given
    """Outputs y [any], shape (m,); takes any of (t, x, lam, z)."""
    g: Given
    """Inputs r of the systems [any], shape (nx,); takes any of (t, x, lam, z)."""
    dh_dx: Given | None = None
    """C = ∂h/∂x, shape (m, nx); by differences of h if not given."""
    dh_dlam: Given | None = None
    """D = ∂h/∂lam, shape (m, m); by differences of h if not given."""
    dg_dlam: Given | None = None
    """B = ∂g/∂lam, shape (nx, m); by differences of g if not given."""
    dg_dx: Given | None = None
    """K = ∂g/∂x, shape (nx, nx); by differences of g if not given."""

    def bound(self, to: Binding) -> FirstOrderOutput:
        return Nonlinear(to, self, FLOW, FLOW)


@dataclass(frozen=True, eq=False)
class FirstOrderType1:
    """Relation y = h(t, x), r = g(t, lam) (Siconos Developer's Notes 2017, (9.2))."""

    h: Given
    """Outputs y [any], shape (m,); takes any of (t, x, z)."""
    g: Given
    """Inputs r of the systems [any], shape (nx,); takes any of (t, lam, z)."""
    dh_dx: Given | None = None
    """C = ∂h/∂x, shape (m, nx); by differences of h if not given."""
    dg_dlam: Given | None = None
    """B = ∂g/∂lam, shape (nx, m); by differences of g if not given."""

    def bound(self, to: Binding) -> FirstOrderOutput:
        general = FirstOrderRelation(self.h, self.g, self.dh_dx, None, self.dg_dlam, None)
        return Nonlinear(to, general, ("t", "x", "z"), ("t", "lam", "z"))


@dataclass(frozen=True, eq=False)
class FirstOrderType2:
    """Relation y = h(t, x, lam), r = g(t, lam) (Siconos Developer's Notes 2017, (9.3))."""

    h: Given
    """Outputs y [any], shape (m,); takes any of (t, x, lam, z)."""
    g: Given
    """Inputs r of the systems [any], shape (nx,); takes any of (t, lam, z)."""
    dh_dx: Given | None = None
    """C = ∂h/∂x, shape (m, nx); by differences of h if not given."""
    dh_dlam: Given | None = None
    """D = ∂h/∂lam, shape (m, m); by differences of h if not given."""
    dg_dlam: Given | None = None
    """B = ∂g/∂lam, shape (nx, m); by differences of g if not given."""

    def bound(self, to: Binding) -> FirstOrderOutput:
        general = FirstOrderRelation(self.h, self.g, self.dh_dx, self.dh_dlam, self.dg_dlam, None)
        return Nonlinear(to, general, FLOW, ("t", "lam", "z"))


@dataclass(frozen=True, eq=False)
class FirstOrderLinearRelation:
    """Relation y = C x + D lam + F z + e, r = B lam (Siconos Developer's Notes 2017, (9.4)).

    Each matrix is a constant or a function of any of (t, z).
    """

    C: Given
    """Matrix C, shape (m, nx)."""
    B: Given
    """Matrix B, shape (nx, m)."""
    D: Given | None = None
    """Matrix D, shape (m, m); zero unless given."""
    F: Given | None = None
    """Matrix F, shape (m, nz); zero unless given."""
    e: Given | None = None
    """Offset e, shape (m,); zero unless given."""

    def bound(self, to: Binding) -> FirstOrderOutput:
        return Linear(to, self)


class Nonlinear(OfQuantities):
    """A bound relation y = h(t, x, lam), r = g(t, x, lam)."""

    linear = False

    def __init__(
        self, to: Binding, given: FirstOrderRelation,
        h_takes: tuple[str, ...] = FLOW, g_takes: tuple[str, ...] = FLOW,
    ):  # fmt: skip
        m, n = to.law.size, to.nq
        self.output = needed(quantity(to.owner, "h", given.h, (m,), FLOW, h_takes))
        self.input = needed(quantity(to.owner, "g", given.g, (n,), FLOW, g_takes))
        self.jacobians = {
            (of.name, which): slope
            for of, which, size, name, jacobian in (
                (self.output, STATE, n, "dh_dx", given.dh_dx),
                (self.output, MULTIPLIER, m, "dh_dlam", given.dh_dlam),
                (self.input, STATE, n, "dg_dx", given.dg_dx),
                (self.input, MULTIPLIER, m, "dg_dlam", given.dg_dlam),
            )
            if (slope := derivatives.jacobian(to.owner, name, jacobian, of, which, size, FLOW)) is not None
        }
        self.constant = all(J.constant is not None for J in self.jacobians.values())
        self._C, self._D, self._B = np.zeros((m, n)), np.zeros((m, m)), np.zeros((n, m))

    def h(self, t: float, x: Array, lam: Array, z: Array) -> Array:
        return self.output(t, x, lam, z)

    def g(self, t: float, x: Array, lam: Array, z: Array) -> Array:
        return self.input(t, x, lam, z)

    def C(self, t: float, x: Array, lam: Array, z: Array) -> Array:
        J = self.jacobians.get(("h", STATE))
        return self._C if J is None else J(t, x, lam, z)

    def D(self, t: float, x: Array, lam: Array, z: Array) -> Array:
        J = self.jacobians.get(("h", MULTIPLIER))
        return self._D if J is None else J(t, x, lam, z)

    def B(self, t: float, x: Array, lam: Array, z: Array) -> Array:
        J = self.jacobians.get(("g", MULTIPLIER))
        return self._B if J is None else J(t, x, lam, z)

    def K(self, t: float, x: Array, lam: Array, z: Array) -> Array | None:
        J = self.jacobians.get(("g", STATE))
        return None if J is None else J(t, x, lam, z)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return (self.output, self.input, *self.jacobians.values())

    def check_jacobians(self, t: float, q: Array, lam: Array, z: Array) -> float:
        of = {"h": self.output, "g": self.input}
        jacobians = self.jacobians.items()
        return max(
            (derivatives.check(J, of[name], which, t, q, lam, z) for (name, which), J in jacobians),
            default=0.0,
        )


class Linear(OfQuantities):
    """A bound relation y = C x + D lam + F z + e, r = B lam."""

    linear = True

    def __init__(self, to: Binding, given: FirstOrderLinearRelation):
        m, n = to.law.size, to.nq
        shapes = {"C": (m, n), "B": (n, m), "D": (m, m), "F": (m, to.nz), "e": (m,)}
        matrices = {
            name: quantity(to.owner, name, getattr(given, name), shape, FLOW, ("t", "z"))
            for name, shape in shapes.items()
        }
        for name in ("C", "B"):
            if matrices[name] is None:
                raise ModelError(f"{to.owner}: {name} is missing")
        self.matrices: dict[str, Quantity] = {k: one for k, one in matrices.items() if one is not None}
        """The given quantities by name; a constant has its array as `.constant`."""
        self.constant = all(
            self.matrices[k].constant is not None for k in ("C", "B", "D") if k in self.matrices
        )
        self._D = np.zeros((m, m))

    def h(self, t: float, x: Array, lam: Array, z: Array) -> Array:
        of = self.matrices
        y = of["C"](t, x, lam, z) @ x
        if "D" in of:
            y += of["D"](t, x, lam, z) @ lam
        if "F" in of:
            y += of["F"](t, x, lam, z) @ z
        if "e" in of:
            y += of["e"](t, x, lam, z)
        return np.asarray(y)

    def g(self, t: float, x: Array, lam: Array, z: Array) -> Array:
        return self.matrices["B"](t, x, lam, z) @ lam

    def C(self, t: float, x: Array, lam: Array, z: Array) -> Array:
        return self.matrices["C"](t, x, lam, z)

    def D(self, t: float, x: Array, lam: Array, z: Array) -> Array:
        return self.matrices["D"](t, x, lam, z) if "D" in self.matrices else self._D

    def B(self, t: float, x: Array, lam: Array, z: Array) -> Array:
        return self.matrices["B"](t, x, lam, z)

    def K(self, t: float, x: Array, lam: Array, z: Array) -> Array | None:
        return None

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        return tuple(self.matrices.values())
