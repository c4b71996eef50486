"""Interactions in one Moreau-Jean step: active blocks, and the variable on which their law is stated.

Index sets (Siconos Developer's Notes 2017, chapter 8): a unilateral block is active if its forecast gap
y + h/2 u_N is not positive (11.52), or, with activation by distance, if its gap is at most δ; a threshold
applies to blocks that touch (`kernels/activation.py`). All other blocks are always active. The law of an
active block is stated on a linear function of the final velocity and the impulse,

    C v⁺ + D P + b,

with the rows C at q̄ and t + h, and the prescribed velocity b:

- velocity level: ∂y/∂t, and e u_N⁻ for Newton's law; the forecast gap over h for blocks that are active only
  by the threshold; with activation by distance Φ/h, so that u_N + Φ/h >= 0 (Anitescu & Tasora 2010): a
  contact that does not close within the step is not affected, and an overlap is removed;
- position level (compliant relations): y(t + h, q⁺, P/h) divided by h θ, so that D = ∂y/∂lam / (h² θ) and
  the variable is a velocity.
"""

import math

import numpy as np

from stickslip.kernels.activation import gap_rate, takes_part
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import Level
from stickslip.state import ModelError
from stickslip.systems.system import Bound, NonsmoothSystem

NONE = np.zeros(0, np.int64)
"""Indices of no block."""


class Output:
    """Constants of an interaction: constant rows, masks of its blocks."""

    def __init__(self, system: NonsmoothSystem, one: Bound):
        self.bound, self.mechanical, self.law = one, one.mechanical, one.law
        self.compliant = one.mechanical.compliant
        self.zero = one.zero
        self.unilateral = one.law.unilateral & (not self.compliant)
        self.waits = bool(self.unilateral.any())
        self.single = self.waits and len(one.law.K) == 1
        self.contact = one.law.K.spread(self.unilateral)
        """Whether a component belongs to a unilateral block [-], shape (m,), bool."""
        self.normals = one.law.K.offset[:-1][self.unilateral]
        self.free = one.law.K.bilateral
        self.all = np.arange(len(one.law.K))
        self.has_input = one.mechanical.has_input
        """Whether forces are a separate function g(t, q, lam) instead of H lam with the transposed rows H."""
        self.constant = one.mechanical.constant and not self.compliant and not self.has_input
        self.rows: Array | None = None
        self.H: Array | None = None
        if self.constant:
            q, z = system.q0[one.q], system.z0[one.z]
            self.rows = one.mechanical.rows(0.0, q, self.zero, z)
            self.H = np.ascontiguousarray(self.rows.T)

    @property
    def level(self) -> Level:
        """The derivative of y on which the law is stated."""
        return Level.POSITION if self.compliant else Level.VELOCITY


class Tie:
    """An interaction within one step."""

    __slots__ = ("B", "C", "D", "b", "drift", "forecast", "gap", "offset", "output", "t", "u_before", "y")

    def __init__(self, output: Output, t: float, q: Array, v: Array, z: Array, y: Array | None):
        """Evaluate the interaction at the start of a step. y: its outputs if they are known."""
        one, mechanical = output.bound, output.mechanical
        q, z = q[one.q], z[one.z]
        self.output, self.t = output, t
        self.y = mechanical.y(t, q, output.zero, z) if y is None else y
        self.C = mechanical.rows(t, q, output.zero, z) if output.rows is None else output.rows
        self.drift = mechanical.drift(t, q, output.zero, z)
        self.u_before = self.C @ v[one.v]
        if self.drift is not None:
            self.u_before = self.u_before + self.drift
        require_finite(self.u_before)
        require_finite(self.y)
        self.offset: Array | None = None
        self.D: Array | None = None

    def speed(self, v_free: Array) -> float:
        """Return the largest speed of its contacts, before the step or with v_free [m/s]."""
        contact, one = self.output.contact, self.output.bound
        u_free = self.C @ v_free[one.v]
        if self.drift is not None:
            u_free = u_free + self.drift
        return float(max(np.abs(self.u_before[contact]).max(), np.abs(u_free[contact]).max()))

    def activate(self, h: float, delta: float | None, slack: float, forecast: Array) -> IntArray:
        """Return the active blocks, and write the gaps that decide it to `forecast`, shape (nb,).

        slack: the threshold ε [m]."""
        output = self.output
        if not output.waits:
            return output.all
        self.forecast = self.y + (0.5 * h) * self.u_before if delta is None else self.y - delta
        gap = self.y if delta is None else self.forecast
        if output.single:
            forecast[0] = self.forecast[0]
            return output.all if takes_part(gap[0], forecast[0], slack) else NONE
        ahead = forecast[output.unilateral] = self.forecast[output.normals]
        active = forecast <= 0.0
        active[output.unilateral] |= np.maximum(gap[output.normals], ahead) <= slack
        return active.nonzero()[0]

    def prescribe(self, h: float, delta: float | None, slack: float) -> Array:
        """Return the velocities that restitution, forecast gaps up to ε and activation by distance add to u⁺
        [m/s], shape (m,)."""
        output, law = self.output, self.output.law
        bias = output.bound.bias(self.t, self.u_before)
        if output.compliant:
            return bias
        if delta is None:
            returns = law.restitution[output.unilateral] > 0.0
            for k, e in zip(output.normals, returns, strict=True):
                if self.forecast[k] > 0.0 and max(self.y[k], self.forecast[k]) <= slack:
                    rate = gap_rate(self.forecast[k], self.u_before[k], bool(e), h)
                    bias[k] = rate if rate > 0.0 else bias[k]
            return bias
        bias[output.free] += self.y[output.free] / h
        for k in output.normals:
            rate = self.y[k] / h
            bounces = bias[k] < 0.0 and rate + self.u_before[k] <= 0.0
            bias[k] = min(rate, bias[k]) if bounces else rate
        return bias

    def linearise(
        self, t: float, h: float, theta: float, q: Array, v: Array, z: Array, P: Array, prescribed: Array
    ) -> None:
        """Set C, B, D and b at the end of the step, at q̄ (compliant relations: at the iterate q⁺, v⁺, P)."""
        output, one = self.output, self.output.bound
        q, v, z = q[one.q], v[one.v], z[one.z]
        if output.compliant:
            self._comply(t, h, theta, q, v, z, P)
            return
        mechanical = output.mechanical
        self.C = mechanical.rows(t, q, output.zero, z) if output.rows is None else output.rows
        if output.has_input:
            self._push(t, h, q, z, P)
        else:
            self.B = self.C.T if output.H is None else output.H
        self.drift = mechanical.drift(t, q, output.zero, z)
        self.b = prescribed if self.drift is None else prescribed + self.drift

    def _comply(self, t: float, h: float, theta: float, q: Array, v: Array, z: Array, P: Array) -> None:
        """Linearise y(t + h, q⁺, P/h) and divide it by h θ; P/h is the force lam."""
        mechanical, lam = self.output.mechanical, P / h
        y, D = mechanical.y(t, q, lam, z), mechanical.dy_dlam(t, q, lam, z)
        self.C = mechanical.rows(t, q, lam, z)
        self.D = None if D is None else D / (h * h * theta)
        self.y, self.drift = y, None
        self.b = y / (h * theta) - self.C @ v - (0.0 if self.D is None else self.D @ P)
        self._push(t, h, q, z, P)

    def _push(self, t: float, h: float, q: Array, z: Array, P: Array) -> None:
        """Linearise h g(t + h, q⁺, P/h) in P."""
        mechanical, lam = self.output.mechanical, P / h
        self.B = mechanical.dforces_dlam(t, q, lam, z)
        self.offset = h * mechanical.forces(t, q, lam, z) - self.B @ P

    def law_variable(self, v: Array, P: Array) -> Array:
        """Return C v + D P + b for the velocities v of its systems [m/s], shape (m,)."""
        w = self.C @ v + self.b
        return w if self.D is None else w + self.D @ P

    def pushed(self, P: Array) -> Array:
        """Return the momentum that P transfers to its systems [N s], shape (nv,)."""
        p = self.B @ P
        return p if self.offset is None else p + self.offset


def require_finite(x: Array) -> None:
    """Raise FloatingPointError, which the scheme explains, if x is not finite."""
    if not x @ x < math.inf and not np.isfinite(x).all():  # x @ x also overflows for large finite numbers
        raise FloatingPointError


def refuse(system: NonsmoothSystem, weights: dict[str, float], form: str) -> None:
    """Raise ModelError for a compliant interaction that the options do not support."""
    for one in system.interactions:
        if not one.mechanical.compliant:
            continue
        names = [system.systems[i].name for i in one.systems]
        thetas = {weights[name] for name in names}
        if len(thetas) > 1 or 0.0 in thetas:
            raise ModelError(
                f"interaction {one.name!r} is compliant: its systems {', '.join(names)} need one and the same"
                f" theta above 0, they have {', '.join(f'{weights[name]:g}' for name in names)}"
            )
        if form == "global":
            raise ModelError(
                f"interaction {one.name!r} is compliant, which the global form cannot express; use"
                " form='reduced'"
            )
