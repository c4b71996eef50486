"""One step of a part of a first-order system by Newton's method, with one mixed problem per iteration.

All variants of the scheme have the form

    M (x - x_k) = h F(x) + h (w r + r_old),   y = h(s, x_s, lam),   r = g(s, x_s, lam)

with the law on (y, lam) at the time s = t_k + rho h and the state x_s = x_k + rho (x - x_k):

- relation at the end, (9.5):     w = gamma, rho = 1,     r_old = (1 - gamma) r_k;
- full theta-gamma scheme, (9.6): w = 1,     rho = gamma, r_old = 0;
- midpoint variant, (9.7):        the same, with F = f(x_k+theta) in place of the mean of f.

Linearised at an iterate, with W = M - h theta A - h w rho K and the residual R of the first equation:

    x' = x - W⁻¹ R + h w W⁻¹ B (lam' - lam),   y' = y - rho C W⁻¹ R + (D + h w rho C W⁻¹ B)(lam' - lam)

(Siconos Developer's Notes 2017, (9.27) to (9.35) and (9.70) to (9.75); the sign of h (1 - gamma) r_k in
(9.26), that of W in (9.36), and the times of the relation in (9.62) to (9.74) are misprints there).
A mass matrix that depends on time or state is evaluated at k + theta.
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
"""Largest number of cached linearisations of a part, one for each step length and set of weights."""


@dataclass(frozen=True)
class Weights:
    """Weights of the terms of a step."""

    theta: float
    """Weight of the end of the step in f."""
    midpoint: bool
    """Whether f is evaluated at the mean state, instead of the mean of f."""
    w: float
    """Weight of the unknown input r."""
    rho: float
    """Instant of the relation within the step; 1 is its end."""
    old: float
    """Weight of the input r_k of the previous step."""


@dataclass(frozen=True, eq=False)
class Begin:
    """A part at the start of a step."""

    t: float
    """Time [s]."""
    h: float
    """Length of the step [s]."""
    x: Array
    """States [any], shape (nx,)."""
    lam: Array
    """Initial guess of the multipliers [any], shape (m,)."""
    r: Array
    """Inputs of the previous step [any], shape (nx,)."""
    z: Array
    """Discrete parameters of all systems [any], shape (nz,)."""


@dataclass(frozen=True, eq=False)
class Point:
    """An iterate, with its inputs, outputs and residual."""

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
    """Decoupled blocks of W: their states and factors."""
    reach: Array
    """h w W⁻¹ B, the response of the states to the multipliers [any], shape (nx, m)."""
    C: Array
    """rho ∂h/∂x [any], shape (m, nx)."""
    D: Array
    """∂h/∂lam [any], shape (m, m)."""
    A: Array
    """D + h w rho C W⁻¹ B, the matrix of the mixed problem [any], shape (m, m)."""

    def correction(self, R: Array) -> Array:
        """Return W⁻¹ R [any], shape (nx,)."""
        out = np.empty_like(R)
        for where, factors in self.cells:
            out[where] = factors.solve(R[where])
        return out


@dataclass(frozen=True, eq=False)
class PartStep:
    """Result of a step of a part."""

    point: Point
    """The last iterate, at the end of the step."""
    solves: tuple[Solution, ...]
    """Solution of the mixed problem of the last iteration; empty without interactions."""
    newton: int
    """Number of iterations."""
    reason: str = ""
    """Reason why the loop failed; empty if it did not."""


def part_step(
    part: Part, begin: Begin, weights: Weights, solver: Solver, tolerance: float, limit: int
) -> PartStep:
    """Make one step of a part by Newton's method."""
    step = _Step(part, begin, weights)
    point = step.at(begin.x, begin.lam)
    if not step.finite(point):
        raise step.fault(point)
    solves: tuple[Solution, ...] = ()
    error = np.inf
    for newton in range(1, limit + 1):
        # 1. Linearise at the iterate.
        try:
            linear = step.linearised(point)
        except ModelError as fault:
            if newton == 1 and not isinstance(fault, _SingularStepError):
                raise
            return PartStep(point, solves, newton, f"Newton's loop failed: {fault}")
        # 2. Solve the mixed problem for lam, and update x.
        s = linear.correction(point.R)
        x, lam, y = point.x - s, point.lam, point.y
        if part.K is not None:
            b = point.y - linear.C @ s - linear.A @ point.lam
            if not np.isfinite(b).all():
                return PartStep(point, solves, newton, f"Newton's loop failed: {step.fault(point)}")
            solution = solver.solve(part.problem(linear.A, b), guess=point.lam)
            solves, lam, y = (solution,), solution.r, solution.u
            x = x + linear.reach @ (lam - point.lam)
        # 3. Evaluate the equations at the new iterate.
        following = step.at(x, lam)
        if not step.finite(following):
            return PartStep(point, solves, newton, f"Newton's loop failed: {step.fault(following)}")
        point = following
        error = step.error(point, y, linear)
        if error <= tolerance:
            return PartStep(point, solves, newton)
    reason = (
        f"Newton's loop of {part.names} has an error of {error:.2e} after {limit} iterations,"
        f" the tolerance is {tolerance:.0e}; use a smaller step"
    )
    return PartStep(point, solves, limit, reason)


class _SingularStepError(ModelError):
    """The iteration matrix is singular for this h although M is not: a shorter step may help."""


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
        """Return the iterate with its inputs, outputs and residual."""
        begin, weights = self.begin, self.weights
        moved = x - begin.x
        R = -self.known
        for flow in self.part.flows:
            states, z = flow.x, begin.z[flow.place.z]
            mean = begin.x[states] + weights.theta * moved[states]
            R[states] += flow.system.mass(self.t_theta, mean, z) @ moved[states]
            if weights.midpoint:
                R[states] -= begin.h * flow.system.rate(self.t_theta, mean, z)
            elif weights.theta > 0.0:
                R[states] -= (begin.h * weights.theta) * flow.system.rate(self.t_end, x[states], z)
            if isinstance(flow.system, FirstOrder) and flow.system.driven:
                u = flow.system.driven_rate(self.t_theta, mean, moved[states] / begin.h, z)[0]
                R[states] -= begin.h * u
        r, y = np.zeros_like(x), np.zeros_like(lam)
        inner = begin.x + weights.rho * moved
        for tie in self.part.ties:
            output, arguments = tie.bound.flow, self._arguments(tie, inner, lam)
            y[tie.lam] = output.h(*arguments)
            r[tie.x] += output.g(*arguments)
        R -= (begin.h * weights.w) * r
        return Point(x, lam, r, y, R)

    def linearised(self, point: Point) -> Linearised:
        """Return the equations linearised at an iterate; cached if they are linear."""
        part, key = self.part, (self.begin.h, self.weights)
        if not part.constant:
            return self._assembled(point)
        cached: Linearised | None = part.kept.get(key)
        if cached is None:
            if len(part.kept) >= LENGTHS:
                part.kept.clear()
            cached = part.kept[key] = self._assembled(point)
        return cached

    def _assembled(self, point: Point) -> Linearised:
        """Assemble the linearised equations at an iterate, block by block."""
        # 1. Iteration matrices of the systems, Jacobians of the interactions.
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
        # 2. Blocks of W: one for each system, or one for all if interactions couple them by K.
        if K is None:
            wheres = [flow.x for flow in part.flows]
        else:
            W = -(h * weights.w * weights.rho) * K
            for flow, block in zip(part.flows, blocks, strict=True):
                W[flow.x, flow.x] += block
            wheres, blocks = [slice(0, n)], [W]
        # 3. Factors of the blocks, and the matrix of the mixed problem.
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
        """Return the relative error of an iterate [-]: the larger of the remaining correction of the states,
        relative to the states of each system, and the error y - h, relative to the terms of h."""
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
        """Whether an iterate, its outputs and its residual are finite."""
        return bool(np.isfinite(point.R).all() and np.isfinite(point.y).all() and np.isfinite(point.x).all())

    def fault(self, point: Point) -> ModelError:
        """Return the error that names the cause of a non-finite iterate: system or interaction, time and
        quantity."""
        begin = self.begin
        return self._blamed(point) or ModelError(
            f"{self.part.names}: at t = {begin.t:.9g} s, a step of {begin.h:.9g} s overflows"
        )

    def _blamed(self, point: Point) -> ModelError | None:
        """Return the error of the first non-finite quantity or singular mass; None without one."""
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
            for quantity in ("h", "g", "C", "D", "B", "K"):
                value = getattr(output, quantity)(*arguments)
                if value is not None and not np.isfinite(value).all():
                    return ModelError(
                        f"interaction {tie.bound.name!r}: at t = {self.t_relation:.9g} s,"
                        f" {quantity} is not finite: {value}"
                    )
        return None

    def _iteration_matrix(self, k: int, x: Array, moved: Array) -> Array:
        """Return M - h theta ∂f/∂x of system k, with the derivative of M(x) (x - x_k) if M depends on x."""
        begin, weights, flow = self.begin, self.weights, self.part.flows[k]
        theta, states, z = weights.theta, flow.x, begin.z[flow.place.z]
        mean = begin.x[states] + theta * moved[states]
        W = np.array(flow.system.mass(self.t_theta, mean, z))
        if isinstance(flow.system, FirstOrder) and flow.system.driven:
            _, by_x, by_rate = flow.system.driven_rate(self.t_theta, mean, moved[states] / begin.h, z)
            W -= (begin.h * theta) * by_x + by_rate
        if theta == 0.0:
            return W
        at = (self.t_theta, mean) if weights.midpoint else (self.t_end, x[states])
        W -= (begin.h * theta) * flow.system.rate_dx(*at, z)
        step = moved[states]
        if step.any() and not self._constant_mass(k):
            momentum = differences(lambda t, a, b, c: flow.system.mass(t, a, c) @ step, 1, step.shape[0])
            W += theta * momentum(self.t_theta, mean, step, z)
        return W

    def _constant_mass(self, k: int) -> bool:
        """Whether M of system k does not depend on x; a constant returns the same array for all arguments."""
        flow = self.part.flows[k]
        x, z = self.begin.x[flow.x], self.begin.z[flow.place.z]
        return flow.system.mass(self.t_theta, x, z) is flow.system.mass(self.t_end, x, z)

    def _arguments(self, tie: Tie, x: Array, lam: Array) -> tuple[float, Array, Array, Array]:
        """Return the arguments of the functions of a relation, from states and multipliers of the part."""
        return self.t_relation, x[tie.x], lam[tie.lam], self.begin.z[tie.bound.z]


def _over(a: float, b: float) -> float:
    """Return a / b; 0 for a negligible a, infinity for other a over 0."""
    return 0.0 if a <= NOTHING else float(a / b) if b > 0.0 else np.inf
