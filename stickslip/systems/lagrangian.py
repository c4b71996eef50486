"""Lagrangian systems: M(q) v̇ + N(q, v) + F_int(t, q, v) = F_ext(t) + T(q) u + p, q̇ = v.

Siconos Developer's Notes 2017, (2.7) and (10.1). The total force is F = F_ext - F_int - N + T u; the sign of
F_int in (10.3) of the notes is a misprint.
"""

import numpy as np
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems import derivatives
from stickslip.systems.dynamics import EMPTY as EMPTY
from stickslip.systems.dynamics import Start, Written, input_jacobian, inputs, vector
from stickslip.systems.quantities import MOTION, Given, Quantity, needed, quantity


class Lagrangian(Written):
    """Mechanical system in generalised coordinates. Every function may take any of (t, q, v, z).

    Jacobians of forces that depend on q or v may be given (dN_dq, ...); otherwise they are computed by
    central differences. `check_jacobians` compares given Jacobians with differences.

    Example:

        ball = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)
        run = ss.simulate(ss.NonsmoothSystem([ball]), until=0.1, h=1e-2)
    """

    def __init__(
        self, name: str, *, M: Given, q0: ArrayLike, v0: ArrayLike = 0.0,
        N: Given | None = None, F_int: Given | None = None, F_ext: Given | None = None,
        T: Given | None = None, u: Given | None = None, z: ArrayLike = (), z_update: Given | None = None,
        dN_dq: Given | None = None, dN_dv: Given | None = None,
        dF_int_dq: Given | None = None, dF_int_dv: Given | None = None,
        du_dq: Given | None = None, du_dv: Given | None = None,
        potential: Given | None = None,
    ):  # fmt: skip
        self.name = name
        owner = self.owner
        q = vector(owner, "q0", q0)
        n = q.shape[0]
        v = vector(owner, "v0", np.full(n, v0) if np.ndim(v0) == 0 else v0, n)
        self.start = Start(q, v, vector(owner, "z", z))
        nz = self.start.z.shape[0]
        if M is None:
            raise ModelError(f"{owner}: M is missing")
        self.M = needed(quantity(owner, "M", M, (n, n), MOTION, ("t", "q", "z")))
        self.constant_mass = self.M.constant is not None
        self.N = quantity(owner, "N", N, (n,), MOTION)
        self.F_int = quantity(owner, "F_int", F_int, (n,), MOTION)
        self.F_ext = quantity(owner, "F_ext", F_ext, (n,), MOTION)
        self.z_update = quantity(owner, "z_update", z_update, (nz,), MOTION)
        self.potential_energy = quantity(owner, "potential", potential, (), MOTION, ("t", "q", "z"))
        self.inputs = inputs(owner, T, u, n, (q, v, self.start.z), MOTION)
        self.input = None if self.inputs is None else self.inputs.product
        self.jacobians = {}
        for key, of, argument in (
            ("N", self.N, (dN_dq, dN_dv)),
            ("F_int", self.F_int, (dF_int_dq, dF_int_dv)),
        ):
            if of is None and any(g is not None for g in argument):
                raise ModelError(f"{owner}: a Jacobian of {key} is given without {key}")
            for which, derivative in enumerate(argument, 1):
                label = f"d{key}_d{MOTION[which]}"
                jacobian = derivatives.jacobian(owner, label, derivative, of, which, n, MOTION)
                if jacobian is not None:
                    self.jacobians[key, which] = jacobian
        for which, derivative in enumerate((du_dq, du_dv), 1):
            jacobian = input_jacobian(owner, self.inputs, which, derivative, n, MOTION)
            if jacobian is not None:
                self.jacobians["T u", which] = jacobian
        self.explain(0.0, q, v, self.start.z)

    def mass(self, t: float, q: Array, z: Array) -> Array:
        return self.M(t, q, EMPTY, z)

    def force(self, t: float, q: Array, v: Array, z: Array) -> Array:
        F = np.array(self.F_ext(t, q, v, z)) if self.F_ext is not None else np.zeros(v.shape[0])
        if self.F_int is not None:
            F -= self.F_int(t, q, v, z)
        if self.N is not None:
            F -= self.N(t, q, v, z)
        if self.input is not None:
            F += self.input(t, q, v, z)
        return F

    def force_dq(self, t: float, q: Array, v: Array, z: Array) -> Array | None:
        return self._derivative(1, t, q, v, z)

    def force_dv(self, t: float, q: Array, v: Array, z: Array) -> Array | None:
        return self._derivative(2, t, q, v, z)

    def _derivative(self, which: int, t: float, q: Array, v: Array, z: Array) -> Array | None:
        """Return the derivative of the total force by q (which = 1) or v (2); None where it is zero."""
        total: Array | None = None
        for (of, argument), jacobian in self.jacobians.items():
            if argument == which:
                signed = jacobian(t, q, v, z) if of == "T u" else -jacobian(t, q, v, z)
                total = signed if total is None else total + signed
        return total

    def kinematics(self, q: Array) -> Array | None:
        return None

    def normalized(self, q: Array) -> Array:
        return q

    def potential(self, t: float, q: Array, z: Array) -> float:
        """Potential energy [J]: the user's function if given, otherwise -F_ext · q of a constant F_ext if
        there are no internal forces, otherwise 0."""
        if self.potential_energy is not None:
            return float(self.potential_energy(t, q, EMPTY, z))
        if self.F_int is None and self.F_ext is not None and self.F_ext.constant is not None:
            return -float(self.F_ext.constant @ q)
        return 0.0

    @property
    def potential_known(self) -> bool:
        """Whether the potential is given, or there are no internal forces and F_ext is constant."""
        steady = self.F_ext is None or self.F_ext.constant is not None
        return self.potential_energy is not None or (self.F_int is None and steady)

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """All given quantities, and the Jacobians in use."""
        parts = () if self.inputs is None else self.inputs.quantities
        candidates = (self.M, self.N, self.F_int, self.F_ext, *parts, self.potential_energy, self.z_update)
        return (*(q for q in candidates if q is not None), *self.jacobians.values())

    @property
    def uncompiled(self) -> tuple[Quantity | None, ...]:
        """The potential energy, and the product T u: a compiled step calls T and u themselves."""
        return self.potential_energy, self.input

    def explain(self, t: float, q: Array, v: Array, z: Array) -> None:
        super().explain(t, q, v, z)
        check_mass(self.name, t, self.mass(t, q, z))


class LagrangianLinear(Lagrangian):
    """Linear mechanical system M v̇ + C v + K q = F_ext(t) + p with constant matrices.

    Source: Siconos Developer's Notes 2017, (2.19).

    Example:

        mass = ss.LagrangianLinear("mass", M=1.0, K=4.0, q0=[1.0])
        run = ss.simulate(ss.NonsmoothSystem([mass]), until=1.0, h=1e-2)
    """

    def __init__(
        self, name: str, *, M: ArrayLike, q0: ArrayLike, v0: ArrayLike = 0.0,
        C: ArrayLike | None = None, K: ArrayLike | None = None, F_ext: Given | None = None,
        T: Given | None = None, u: Given | None = None, z: ArrayLike = (), z_update: Given | None = None,
        du_dq: Given | None = None, du_dv: Given | None = None,
        potential: Given | None = None,
    ):  # fmt: skip
        owner = f"system {name!r}"
        n = vector(owner, "q0", q0).shape[0]
        zero = np.zeros((n, n))
        if M is None:
            raise ModelError(f"{owner}: M is missing")
        matrices = {"M": M, "C": zero if C is None else C, "K": zero if K is None else K}
        constant: dict[str, Array] = {}
        for key, value in matrices.items():
            if callable(value):
                raise ModelError(
                    f"{owner}: {key} is a function; a linear system takes constants (see Lagrangian)"
                )
            constant[key] = np.asarray(needed(quantity(owner, key, value, (n, n), MOTION)).constant)
        self.C, self.K = constant["C"], constant["K"]
        linear = C is not None or K is not None
        super().__init__(
            name, M=constant["M"], q0=q0, v0=v0, F_ext=F_ext, T=T, u=u, z=z, z_update=z_update,
            du_dq=du_dq, du_dv=du_dv,
            F_int=(lambda q, v: self.C @ v + self.K @ q) if linear else None,
            dF_int_dq=self.K if linear else None, dF_int_dv=self.C if linear else None, potential=potential,
        )  # fmt: skip

    def potential(self, t: float, q: Array, z: Array) -> float:
        if self.potential_energy is not None:
            return float(self.potential_energy(t, q, EMPTY, z))
        energy = 0.5 * float(q @ self.K @ q)
        if self.F_ext is not None and self.F_ext.constant is not None:
            energy -= float(self.F_ext.constant @ q)
        return energy

    @property
    def potential_known(self) -> bool:
        """Whether the potential is given, or F_ext is constant and K symmetric."""
        steady = self.F_ext is None or self.F_ext.constant is not None
        return self.potential_energy is not None or (steady and bool(np.array_equal(self.K, self.K.T)))

    @property
    def uncompiled(self) -> tuple[Quantity | None, ...]:
        """The internal forces, for which a compiled step uses C and K; the potential energy; the product
        T u."""
        return self.F_int, self.potential_energy, self.input


def check_mass(name: str, t: float, M: Array) -> None:
    """Raise a ModelError if M is not finite, not symmetric or not positive definite, naming system and
    time."""
    if not np.isfinite(M).all():
        raise ModelError(f"system {name!r}: at t = {t:.9g} s, M is not finite")
    scale = float(np.abs(M).max(initial=0.0))
    if float(np.abs(M - M.T).max(initial=0.0)) > 1e-9 * scale:
        raise ModelError(f"system {name!r}: at t = {t:.9g} s, M is not symmetric")
    smallest = float(np.linalg.eigvalsh(M)[0]) if M.shape[0] else 1.0
    if not smallest > 1e-14 * scale:
        raise ModelError(
            f"system {name!r}: at t = {t:.9g} s, M is singular or not positive definite:"
            f" its smallest eigenvalue is {smallest:.3g}"
        )
