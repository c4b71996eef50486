"""First-order systems: M ẋ = f(t, x, z) + T(x) u + r, nonlinear and linear.

Siconos Developer's Notes 2017, (2.1), (2.3) and (9.1). The state x is stored as q of a `State`. An input
u(t, x, xdot, z) may depend on the rate ẋ, which is then defined implicitly.
"""

import numpy as np
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems import derivatives
from stickslip.systems.dynamics import EMPTY, Start, Written, input_jacobian, inputs, vector
from stickslip.systems.quantities import FLOW, INPUT, Given, Quantity, needed, quantity

NEWTON = 50
"""Largest number of Newton iterations for a rate ẋ that an input depends on; heuristic."""
TAKES = ("t", "x", "z")
"""Arguments of the functions of a first-order system; multipliers act through its relations."""


class FirstOrder(Written):
    """First-order system M ẋ = f(t, x, z) + T(x) u + r.

    Every function may take any of (t, x, z), and u also the rate `xdot`. Derivatives df_dx, du_dx and
    du_dxdot may be given; otherwise they are computed by central differences.

    Example:

        pair = ss.FirstOrder("oscillator", f=lambda x: [x[1], -x[0]], x0=[1.0, 0.0])
        run = ss.simulate(ss.NonsmoothSystem([pair]), until=1.0, h=1e-2)
        print(run.system("oscillator").x[-1])
    """

    coordinates = "x"

    def __init__(
        self, name: str, *, f: Given, x0: ArrayLike, M: Given | None = None,
        T: Given | None = None, u: Given | None = None, z: ArrayLike = (), z_update: Given | None = None,
        df_dx: Given | None = None, du_dx: Given | None = None, du_dxdot: Given | None = None,
    ):  # fmt: skip
        self.name = name
        owner = self.owner
        x = vector(owner, "x0", x0)
        n = x.shape[0]
        self.start = Start(x, EMPTY, vector(owner, "z", z))
        if f is None:
            raise ModelError(f"{owner}: f is missing")
        self.M = needed(quantity(owner, "M", np.eye(n) if M is None else M, (n, n), FLOW, TAKES))
        self.f = needed(quantity(owner, "f", f, (n,), FLOW, TAKES))
        self.df_dx = derivatives.jacobian(owner, "df_dx", df_dx, self.f, 1, n, FLOW)
        self.jacobians = {} if self.df_dx is None else {("f", 1): self.df_dx}
        self.inputs = inputs(owner, T, u, n, (x, np.zeros(n), self.start.z), INPUT)
        self.input = None if self.inputs is None else self.inputs.product
        self.driven = self.inputs is not None and "xdot" in self.inputs.u.wanted
        """Whether the input depends on ẋ; such an input is not part of `rate`."""
        self.dinput_dx = input_jacobian(owner, self.inputs, 1, du_dx, n, INPUT)
        self.dinput_dxdot = input_jacobian(owner, self.inputs, 2, du_dxdot, n, INPUT)
        for which, jacobian in ((1, self.dinput_dx), (2, self.dinput_dxdot)):
            if jacobian is not None:
                self.jacobians["T u", which] = jacobian
        nz = self.start.z.shape[0]
        self.z_update = quantity(owner, "z_update", z_update, (nz,), FLOW, TAKES)
        self.explain(0.0, x, EMPTY, self.start.z)

    def mass(self, t: float, x: Array, z: Array) -> Array:
        return self.M(t, x, EMPTY, z)

    def rate(self, t: float, x: Array, z: Array) -> Array:
        f = np.array(self.f(t, x, EMPTY, z))
        if self.input is not None and not self.driven:
            f += self.input(t, x, EMPTY, z)
        return f

    def rate_dx(self, t: float, x: Array, z: Array) -> Array:
        n = x.shape[0]
        A = np.zeros((n, n)) if self.df_dx is None else self.df_dx(t, x, EMPTY, z)
        return A if self.dinput_dx is None or self.driven else A + self.dinput_dx(t, x, EMPTY, z)

    def driven_rate(self, t: float, x: Array, xdot: Array, z: Array) -> tuple[Array, Array, Array]:
        """Return T u of an input that depends on ẋ, and its derivatives by x and by ẋ [any], shapes (nx,),
        (nx, nx) and (nx, nx)."""
        assert self.input is not None
        n, at = x.shape[0], (t, x, xdot, z)
        by_x, by_rate = (
            np.zeros((n, n)) if slope is None else slope(*at) for slope in (self.dinput_dx, self.dinput_dxdot)
        )
        return self.input(*at), by_x, by_rate

    def velocity(self, t: float, x: Array, z: Array, r: Array) -> Array:
        """Solution ẋ of M ẋ = f + T u + r [any], shape (nx,); by Newton's method where u depends on ẋ."""
        M, f = self.mass(t, x, z), self.rate(t, x, z) + r
        xdot = np.asarray(np.linalg.solve(M, f))
        for _ in range(NEWTON if self.driven else 0):
            u, _, by_rate = self.driven_rate(t, x, xdot, z)
            try:
                change = np.linalg.solve(M - by_rate, f + u - M @ xdot)
            except np.linalg.LinAlgError:
                break
            xdot = xdot + change
            if np.abs(change).max(initial=0.0) <= 1e-14 * np.abs(xdot).max(initial=0.0):
                return xdot
        if self.driven:
            raise ModelError(f"{self.owner}: at t = {t:.9g} s, no ẋ is consistent with the input u")
        return xdot

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """All given quantities, and the Jacobians in use."""
        parts = () if self.inputs is None else self.inputs.quantities
        candidates = (self.M, self.f, self.df_dx, *parts, self.dinput_dx, self.dinput_dxdot, self.z_update)
        return tuple(q for q in candidates if q is not None)

    @property
    def uncompiled(self) -> tuple[Quantity | None, ...]:
        """The product T u: a compiled step calls T and u themselves."""
        return (self.input,)

    def explain(self, t: float, q: Array, v: Array, z: Array) -> None:
        super().explain(t, q, np.zeros(q.shape[0]), z)
        M = self.mass(t, q, z)
        if M.shape[0] and np.linalg.cond(M) > 1e14:
            raise ModelError(f"{self.owner}: at t = {t:.9g} s, M is singular")


class FirstOrderLinear(FirstOrder):
    """Linear first-order system M ẋ = A x + b + T u + r; A and b are constants or functions of (t, z).

    Example:

        circuit = ss.FirstOrderLinear("circuit", A=[[0.0, 1.0], [-1.0, 0.0]], x0=[1.0, 0.0])
        run = ss.simulate(ss.NonsmoothSystem([circuit]), until=1.0, h=1e-2)
    """

    def __init__(
        self, name: str, *, A: Given, x0: ArrayLike, b: Given | None = None, M: Given | None = None,
        T: Given | None = None, u: Given | None = None, z: ArrayLike = (), z_update: Given | None = None,
        du_dx: Given | None = None, du_dxdot: Given | None = None,
    ):  # fmt: skip
        owner = f"system {name!r}"
        n = vector(owner, "x0", x0).shape[0]
        if A is None:
            raise ModelError(f"{owner}: A is missing")
        self.A = needed(quantity(owner, "A", A, (n, n), FLOW, ("t", "z")))
        self.b = quantity(owner, "b", b, (n,), FLOW, ("t", "z"))

        def f(t: float, x: Array, z: Array) -> Array:
            value = self.A(t, x, EMPTY, z) @ x
            return value if self.b is None else value + self.b(t, x, EMPTY, z)

        constant = self.A.constant
        super().__init__(
            name, f=f, x0=x0, M=M, T=T, u=u, z=z, z_update=z_update, du_dx=du_dx, du_dxdot=du_dxdot,
            df_dx=constant if constant is not None else lambda t, x, z: self.A(t, x, EMPTY, z),
        )  # fmt: skip

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """A, b, and the quantities of any first-order system."""
        return (self.A, *(() if self.b is None else (self.b,)), *super().quantities)

    @property
    def uncompiled(self) -> tuple[Quantity | None, ...]:
        """f and its Jacobian, for which a compiled step uses A and b, and the product T u."""
        return self.f, self.df_dx, self.input
