"""Interactions of systems of equations in a step of the variational scheme.

Impulses act through the rows H(t_k, q_k) at the node. Laws are stated on velocities over the step:

- gaps at the new configuration, (y(t_{k+1}, q_{k+1}) - bounce) / h >= 0,
- joints at the new configuration, y(t_{k+1}, q_{k+1}) / h = 0,
- friction and dry joints: H_T(t_k, q_k)' v + ∂y_T/∂t.

Restitution: a contact that closes in a step is plastic in that step and ends at y = 0; the memory stores its
approach velocity u_N⁻. In the next step bounce = h e |u_N⁻|, so that it separates with e times this velocity.
Bounds of dry joints are forces; like all forces at the node they act over half of the previous step and half
of this one.
"""

from functools import reduce
from operator import add

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.sets import ProductSet, blocks_of, nonnegative
from stickslip.schemes.problems import components_of
from stickslip.schemes.system_scheme import APART, require_closed
from stickslip.state import BoolArray, ModelError
from stickslip.systems.system import Bound, NonsmoothSystem


class Output:
    """Constants of an interaction."""

    def __init__(self, one: Bound):
        K = one.law.K
        self.bound, self.law, self.mechanical = one, one.law, one.mechanical
        self.unilateral = one.law.unilateral
        self.normals = one.law.normals
        self.at_end = K.bilateral.copy()
        """Whether the law of a component is stated on y at the end of the step [-], shape (m,)."""
        self.at_end[self.normals] = True
        self.moving = not self.at_end.all()


class Tie:
    """An interaction in one step."""

    def __init__(self, output: Output, t: float, h: float, q: Array, v: Array, z: Array, approach: Array):
        one, mechanical = output.bound, output.mechanical
        self.output, self.t, self.h = output, t, h
        self.z = z[one.z]
        at = (q[one.q], one.zero, self.z)
        self.rows = mechanical.rows(t, *at)
        drift = mechanical.drift(t, *at)
        self.u_before = self.rows @ v[one.v] + (0.0 if drift is None else drift)
        self.drift = None if drift is None else mechanical.drift(t + 0.5 * h, *at)
        u_approach = np.zeros(one.law.size)
        u_approach[output.normals] = -approach[output.unilateral]
        self.bounce = np.zeros(one.law.size)
        """Least y at the end of the step, by restitution [m], shape (m,)."""
        self.bounce[output.normals] = np.maximum(-h * one.bias(t, u_approach)[output.normals], 0.0)

    def gaps(self, q: Array) -> Array:
        """Return y - bounce at the end q of the step [m], shape (m,)."""
        one = self.output.bound
        return self.output.mechanical.y(self.t + self.h, q[one.q], one.zero, self.z) - self.bounce

    def law_variable(self, q: Array, v: Array) -> Array:
        """Return the variable of the law, for the end q of the step and velocities v over it [m/s], shape
        (m,)."""
        u = self.gaps(q) / self.h
        if self.output.moving:
            u = np.where(self.output.at_end, u, self.velocity(v))
        return u

    def velocity(self, v: Array) -> Array:
        """Return the velocities of the outputs over the step, by the rows at its start [m/s], shape (m,)."""
        u = self.rows @ v[self.output.bound.v]
        return u if self.drift is None else u + self.drift

    def remembered(self, r: Array) -> Array:
        """Return the approach velocities of unilateral blocks that closed in this step, otherwise 0 [m/s],
        shape (nb,)."""
        output = self.output
        speed = np.zeros(len(output.law.K))
        closed = (r[output.normals] > 0.0) & (self.bounce[output.normals] == 0.0)
        speed[output.unilateral] = np.where(closed, np.maximum(-self.u_before[output.normals], 0.0), 0.0)
        return speed


def components_with(one: Bound, on: BoolArray, contact: str, weight: float) -> tuple[IntArray, ProductSet]:
    """Return the components of the active blocks in the flat r, and their set; forces act for `weight` [s].

    For contact="impact" only the normal component of a friction cone is included.
    """
    K, active = one.law.impulses(weight), np.flatnonzero(on)
    if contact != "impact" or not (K.kind[active] == cones.FRICTION).any():
        return components_of(one, on, weight)
    parts: list[IntArray] = []
    sets: list[ProductSet] = []
    for i in active.tolist():
        if K.kind[i] == cones.FRICTION:
            parts.append(K.offset[i : i + 1])
            sets.append(nonnegative(1))
        else:
            parts.append(np.arange(K.offset[i], K.offset[i + 1]))
            sets.append(blocks_of(K, np.array([i])))
    return one.components.start + np.concatenate(parts), reduce(add, sets)


def refuse(system: NonsmoothSystem, q: Array, z: Array, t: float) -> None:
    """Raise ModelError for an interaction that the scheme does not support, or that the start violates."""
    for one in system.interactions:
        label = f"interaction {one.name!r}"
        if one.mechanical.compliant:
            raise ModelError(
                f"{label} is compliant (y depends on lam); variational needs rigid contacts and joints;"
                " use moreau-jean"
            )
        if one.mechanical.has_input:
            raise ModelError(
                f"{label} has forces g of its own; in variational they are those of ∂y/∂q, see moreau-jean"
            )
        if one.law.impact == "poisson":
            raise ModelError(
                f"{label}: Poisson's impact has two phases of impulses; variational has Newton's restitution"
                " only (see moreau-jean)"
            )
        y = one.y(t, q, z)
        require_closed(one, y, t)
        deepest = float(y[one.law.normals].min(initial=0.0))
        if deepest < -APART:
            raise ModelError(
                f"{label}: at t = {t:.9g} s, the gap is {deepest:.3g}; the first step would open it"
                " suddenly; start where gaps are not negative"
            )
