"""One step of a part of a first-order system by Newton's method, one mixed problem per iteration.

All variants of the scheme are one equation,

    M (x - x_k) = h F(x) + h (w r + r_old),   y = h(s, x_s, lam),   r = g(s, x_s, lam)

with the law on (y, lam) at the time s = t_k + rho h and the state x_s = x_k + rho (x - x_k):

- relation at the end, (9.5):     w = gamma, rho = 1,     r_old = (1 - gamma) r_k;
- full theta-gamma scheme, (9.6): w = 1,     rho = gamma, r_old = 0;
- midpoint variant, (9.7):        the same, and F = f(x_k+theta) where the others have the mean of f.

Linearised at an iterate, with W = M - h theta A - h w rho K and the residual R of the first equation,

    x' = x - W⁻¹ R + h w W⁻¹ B (lam' - lam),   y' = y - rho C W⁻¹ R + (D + h w rho C W⁻¹ B)(lam' - lam)

(Siconos Developer's Notes 2017, (9.27) to (9.35) and (9.70) to (9.75); the sign of h (1 - gamma) r_k in
(9.26), that of W in (9.36), and the times of the relation in (9.62) to (9.74) are misprints there).
A mass matrix that depends on time and state is taken at k + theta.
"""

from dataclasses import dataclass

import numpy as np

from stickslip.kernels.march_flow import NOTHING
from stickslip.problem.checks import Array
from stickslip.problem.solution import Solution
from stickslip.schemes.euler_moreau_parts import Factors, Part, Tie
from stickslip.schemes.step import Solver
from stickslip.state import ModelError
from stickslip.systems.derivatives import differences
from stickslip.systems.first_order import FirstOrder

LENGTHS = 16
"""Most lengths of steps and weights for which a part remembers its matrices."""


@dataclass(frozen=True)
class Weights:
    """Where the terms of a step are taken."""

    theta: float
    """Weight of the end of the step in f."""
    midpoint: bool
    """Whether f is taken at the mean state instead of the mean of f."""
    w: float
    """Weight of the input r that the step solves for."""
    rho: float
    """Where in the step the relation holds: 1 at its end."""
    old: float
    """Weight of the input r_k of the step before."""


@dataclass(frozen=True, eq=False)
class Begin:
    """A part at the beginning of a step."""

    t: float
    """Time [s]."""
    h: float
    """Length of the step [s]."""
    x: Array
    """States [any], shape (nx,)."""
    lam: Array
    """Multipliers to start from [any], shape (m,)."""
    r: Array
    """Inputs of the step before [any], shape (nx,)."""
    z: Array
    """Discrete parameters of all systems [any], shape (nz,)."""


@dataclass(frozen=True, eq=False)
class Point:
    """An iterate and what the equations say there."""

    x: Array
    """States at the end of the step [any], shape (nx,)."""
    lam: Array
    """Multipliers [any], shape (m,)."""
    r: Array
    """Inputs g [any], shape (nx,)."""
    y: Array
    """Outputs h [any], shape (m,)."""
    R: Array
    """Residual of the first equation [any], shape (nx,)."""


@dataclass(frozen=True, eq=False)
class Linearised:
    """The equations linearised at an iterate."""

    cells: tuple[tuple[slice, Factors], ...]
    """Blocks of W that are coupled to no other: their states, and their factors."""
    reach: Array
    """h w W⁻¹ B: what a multiplier moves [any], shape (nx, m)."""
    C: Array
    """rho ∂h/∂x [any], shape (m, nx)."""
    D: Array
    """∂h/∂lam [any], shape (m, m)."""
    A: Array
    """D + h w rho C W⁻¹ B, the matrix of the mixed problem [any], shape (m, m)."""

    def correction(self, R: Array) -> Array:
        """W⁻¹ R [any], shape (nx,)."""
        out = np.empty_like(R)
        for where, factors in self.cells:
            out[where] = factors.solve(R[where])
        return out


@dataclass(frozen=True, eq=False)
class Carried:
    """A part at the end of a step."""

    point: Point
    solves: tuple[Solution, ...]
    """The mixed problem of the last iteration; none without interactions."""
    newton: int
    """Iterations."""
    reason: str = ""
    """Why the loop failed, where it did."""


def carried(
    part: Part, begin: Begin, weights: Weights, solver: Solver, tolerance: float, limit: int
) -> Carried:
    """The part carried over one step."""
    step = _Step(part, begin, weights)
    point = step.at(begin.x, begin.lam)
    if not step.finite(point):
        raise step.fault(point)
    solves: tuple[Solution, ...] = ()
    error = np.inf
    for newton in range(1, limit + 1):
        try:
            linear = step.linearised(point)
        except ModelError as fault:
            if newton == 1 and not isinstance(fault, _SingularStepError):
                raise
            return Carried(point, solves, newton, f"Newton's loop failed: {fault}")
        s = linear.correction(point.R)
        x, lam, y = point.x - s, point.lam, point.y
        if part.K is not None:
            b = point.y - linear.C @ s - linear.A @ point.lam
            if not np.isfinite(b).all():
                return Carried(point, solves, newton, f"Newton's loop failed: {step.fault(point)}")
            solution = solver.solve(part.problem(linear.A, b), guess=point.lam)
            solves, lam, y = (solution,), solution.r, solution.u
            x = x + linear.reach @ (lam - point.lam)
        following = step.at(x, lam)
        if not step.finite(following):
            return Carried(point, solves, newton, f"Newton's loop failed: {step.fault(following)}")
        point = following
        error = step.error(point, y, linear)
        if error <= tolerance:
            return Carried(point, solves, newton)
    reason = (
        f"Newton's loop of {part.names} has an error of {error:.2e} after {limit} iterations,"
        f" the tolerance is {tolerance:.0e}; use a smaller step"
    )
    return Carried(point, solves, limit, reason)


class _SingularStepError(ModelError):
    """An iteration matrix that is singular for this h, though M is not: a shorter step helps."""


class _Step:
    """The equations of one step of a part."""

    def __init__(self, part: Part, begin: Begin, weights: Weights):
        self.part, self.begin, self.weights = part, begin, weights
        h, theta = begin.h, weights.theta
        self.t_theta, self.t_end = begin.t + theta * h, begin.t + h
        self.t_relation = begin.t + weights.rho * h
        self.known = (h * weights.old) * begin.r
        if theta < 1.0 and not weights.midpoint:
            for flow in part.flows:
                f = flow.system.rate(begin.t, begin.x[flow.x], begin.z[flow.place.z])
                self.known[flow.x] += (h * (1.0 - theta)) * f

    def at(self, x: Array, lam: Array) -> Point:
        """Inputs, outputs and residual at an iterate."""
        begin, weights = self.begin, self.weights
        moved = x - begin.x
        R = -self.known
        for flow in self.part.flows:
            own, z = flow.x, begin.z[flow.place.z]
            mean = begin.x[own] + weights.theta * moved[own]
            R[own] += flow.system.mass(self.t_theta, mean, z) @ moved[own]
            if weights.midpoint:
                R[own] -= begin.h * flow.system.rate(self.t_theta, mean, z)
            elif weights.theta > 0.0:
                R[own] -= (begin.h * weights.theta) * flow.system.rate(self.t_end, x[own], z)
            if isinstance(flow.system, FirstOrder) and flow.system.driven:
                u = flow.system.driven_rate(self.t_theta, mean, moved[own] / begin.h, z)[0]
                R[own] -= begin.h * u
        r, y = np.zeros_like(x), np.zeros_like(lam)
        inner = begin.x + weights.rho * moved
        for tie in self.part.ties:
            output, arguments = tie.bound.flow, self._arguments(tie, inner, lam)
            y[tie.lam] = output.h(*arguments)
            r[tie.x] += output.g(*arguments)
        R -= (begin.h * weights.w) * r
        return Point(x, lam, r, y, R)

    def linearised(self, point: Point) -> Linearised:
        """The equations linearised at an iterate; where they are the same everywhere, made once."""
        part, key = self.part, (self.begin.h, self.weights)
        if not part.constant:
            return self._assembled(point)
        found: Linearised | None = part.kept.get(key)
        if found is None:
            if len(part.kept) >= LENGTHS:
                part.kept.clear()
            found = part.kept[key] = self._assembled(point)
        return found

    def _assembled(self, point: Point) -> Linearised:
        """The equations linearised at an iterate, block by block."""
        begin, weights, part = self.begin, self.weights, self.part
        n, m, h = point.x.shape[0], point.lam.shape[0], begin.h
        moved = point.x - begin.x
        inner = begin.x + weights.rho * moved
        blocks = [self._iteration_matrix(k, point.x, moved) for k in range(len(part.flows))]
        C, B, D = np.zeros((m, n)), np.zeros((n, m)), np.zeros((m, m))
        K: Array | None = None
        for tie in part.ties:
            output = tie.bound.flow
            arguments = self._arguments(tie, inner, point.lam)
            C[tie.lam, tie.x] = weights.rho * output.C(*arguments)
            B[tie.x, tie.lam] = output.B(*arguments)
            D[tie.lam, tie.lam] = output.D(*arguments)
            gain = output.K(*arguments)
            if gain is not None:
                K = np.zeros((n, n)) if K is None else K
                K[np.ix_(tie.x, tie.x)] += gain
        if K is None:
            wheres = [flow.x for flow in part.flows]
        else:
            W = -(h * weights.w * weights.rho) * K
            for flow, block in zip(part.flows, blocks, strict=True):
                W[flow.x, flow.x] += block
            wheres, blocks = [slice(0, n)], [W]
        cells = []
        reach, A = np.zeros((n, m)), D.copy()
        for where, block in zip(wheres, blocks, strict=True):
            factors = Factors(block)
            if not np.isfinite(block).all():
                raise self.fault(point)
            if factors.singular:
                raise self._blamed(point) or _SingularStepError(
                    f"{part.names}: at t = {begin.t:.9g} s, M - h theta df/dx is singular for h = {h:.9g} s"
                )
            cells.append((where, factors))
            # h w rho C_a^j W_j⁻¹ B_b^j, summed over the systems j that interactions a and b share
            reach[where] = (h * weights.w) * factors.solve(B[where])
            A += C[:, where] @ reach[where]
        if not (np.isfinite(A).all() and np.isfinite(C).all()):
            raise self.fault(point)
        return Linearised(tuple(cells), reach, C, D, A)

    def error(self, point: Point, y: Array, linear: Linearised) -> float:
        """How far the iterate is from solving the equations [-]: the largest correction of a state that is
        still due, over the states of its system, and how far y is from h, over the terms of h."""
        s = np.abs(linear.correction(point.R))
        size = np.maximum(np.abs(point.x), np.abs(self.begin.x))
        if point.lam.shape[0]:
            size = np.maximum(size, np.abs(linear.reach @ point.lam))
        error = 0.0
        for flow in self.part.flows:
            size[flow.x] = size[flow.x].max(initial=0.0)
            error = max(error, _over(s[flow.x].max(initial=0.0), size[flow.x].max(initial=0.0)))
        if y.shape[0]:
            terms = np.abs(y) + np.abs(linear.C) @ size + np.abs(linear.D) @ np.abs(point.lam)
            error = max(error, _over(np.abs(y - point.y).max(), terms.max()))
        return error

    def finite(self, point: Point) -> bool:
        """Whether everything is finite at an iterate."""
        return bool(np.isfinite(point.R).all() and np.isfinite(point.y).all() and np.isfinite(point.x).all())

    def fault(self, point: Point) -> ModelError:
        """Why an iterate is not finite, by system or interaction, time and quantity."""
        begin = self.begin
        return self._blamed(point) or ModelError(
            f"{self.part.names}: at t = {begin.t:.9g} s, a step of {begin.h:.9g} s overflows"
        )

    def _blamed(self, point: Point) -> ModelError | None:
        """The first quantity that is not finite, or the mass that is singular, if there is one."""
        begin, weights = self.begin, self.weights
        mean = begin.x + weights.theta * (point.x - begin.x)
        inner = begin.x + weights.rho * (point.x - begin.x)
        for flow in self.part.flows:
            z = begin.z[flow.place.z]
            name = f"system {flow.system.name!r}"
            if not np.isfinite(point.x[flow.x]).all():
                return ModelError(f"{name}: at t = {self.t_end:.9g} s, x is not finite: {point.x[flow.x]}")
            for t, x in ((begin.t, begin.x), (self.t_theta, mean), (self.t_end, point.x)):
                try:
                    flow.system.explain(t, x[flow.x], np.zeros(0), z)
                except ModelError as error:
                    return error
        for tie in self.part.ties:
            output = tie.bound.flow
            arguments = self._arguments(tie, inner, point.lam)
            for what in ("h", "g", "C", "D", "B", "K"):
                value = getattr(output, what)(*arguments)
                if value is not None and not np.isfinite(value).all():
                    return ModelError(
                        f"interaction {tie.bound.name!r}: at t = {self.t_relation:.9g} s,"
                        f" {what} is not finite: {value}"
                    )
        return None

    def _iteration_matrix(self, k: int, x: Array, moved: Array) -> Array:
        """M - h theta ∂f/∂x of one system, with the derivative of M(x) (x - x_k) where M depends on x."""
        begin, weights, flow = self.begin, self.weights, self.part.flows[k]
        theta, own, z = weights.theta, flow.x, begin.z[flow.place.z]
        mean = begin.x[own] + theta * moved[own]
        W = np.array(flow.system.mass(self.t_theta, mean, z))
        if isinstance(flow.system, FirstOrder) and flow.system.driven:
            _, by_x, by_rate = flow.system.driven_rate(self.t_theta, mean, moved[own] / begin.h, z)
            W -= (begin.h * theta) * by_x + by_rate
        if theta == 0.0:
            return W
        at = (self.t_theta, mean) if weights.midpoint else (self.t_end, x[own])
        W -= (begin.h * theta) * flow.system.rate_dx(*at, z)
        step = moved[own]
        if step.any() and not self._constant_mass(k):
            momentum = differences(lambda t, a, b, c: flow.system.mass(t, a, c) @ step, 1, step.shape[0])
            W += theta * momentum(self.t_theta, mean, step, z)
        return W

    def _constant_mass(self, k: int) -> bool:
        """Whether M of one system does not depend on x: a constant is the same array wherever it is asked."""
        flow = self.part.flows[k]
        x, z = self.begin.x[flow.x], self.begin.z[flow.place.z]
        return flow.system.mass(self.t_theta, x, z) is flow.system.mass(self.t_end, x, z)

    def _arguments(self, tie: Tie, x: Array, lam: Array) -> tuple[float, Array, Array, Array]:
        """What the functions of a relation take, from the states and multipliers of the part."""
        return self.t_relation, x[tie.x], lam[tie.lam], self.begin.z[tie.bound.z]


def _over(a: float, b: float) -> float:
    return 0.0 if a <= NOTHING else float(a / b) if b > 0.0 else np.inf
