"""Many Euler-Moreau steps in one compiled call, for linear systems with constant matrices.

`march` returns the same steps as repeated calls of `EulerMoreau.step`, to rounding, each with the judge's
residuals. It returns None for unsupported models. Terms that depend on time alone (b, T u, e) may be any
functions, which are evaluated in advance. The march ends before a step that it cannot solve, which is then
left to `step`. If a function raises, the exception ends the run after the steps before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stickslip.compilation import JIT
from stickslip.interrupts import Interrupts
from stickslip.kernels import march_flow
from stickslip.kernels.small_boxes import SMALL
from stickslip.problem.checks import Array, IntArray
from stickslip.schemes.euler_moreau_newton import Weights
from stickslip.schemes.euler_moreau_parts import Factors, Part, parts
from stickslip.schemes.march import March
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import Memory, frozen_state
from stickslip.state import State
from stickslip.systems.first_order import FirstOrder, FirstOrderLinear
from stickslip.systems.first_order_relations import Linear
from stickslip.systems.quantities import Quantity

if TYPE_CHECKING:
    from stickslip.schemes.euler_moreau import EulerMoreau

LARGEST = 100
"""Largest number of states of a part, whose matrices are dense (heuristic)."""
AHEAD = 512
"""Number of steps for which functions of time are evaluated in advance."""
EMPTY = np.zeros(0)
"""Empty argument of functions of time."""


class _Ahead:
    """The first exception raised by functions of time that are evaluated in advance."""

    def __init__(self, interrupts: Interrupts):
        self.interrupts = interrupts
        self.error: BaseException | None = None
        """Exception for the earliest step; None without one."""
        self._step = 0

    def failed(self, step: int, error: BaseException) -> None:
        """Record that a function raised `error` for this step."""
        if self.error is None or step < self._step:
            self.error, self._step = error, step


@dataclass(frozen=True, eq=False)
class Course:
    """A vector that depends on time alone: a constant and some functions."""

    constant: Array
    """Constant part [any], shape (n,)."""
    varying: tuple[tuple[slice, Quantity], ...]
    """Functions of time, and the components to which they are added."""

    @classmethod
    def of(cls, n: int, terms: Sequence[tuple[slice, Quantity | None]]) -> "Course":
        """Return the sum of quantities, each added to its components."""
        constant, varying = np.zeros(n), []
        for where, quantity in terms:
            if quantity is not None and quantity.constant is not None:
                constant[where] += quantity.constant
            elif quantity is not None:
                varying.append((where, quantity))
        return cls(constant, tuple(varying))

    def at(self, t: Array, ahead: "_Ahead") -> Array:
        """Return the values at the times t [any], shape (times, n). If a function raises, the values end
        before that time, and `ahead` records the exception."""
        rows = np.tile(self.constant, (len(t), 1))
        for where, quantity in self.varying:
            for k, time in enumerate(t.tolist()):
                try:
                    rows[k, where] += ahead.interrupts.run(quantity, time, EMPTY, EMPTY, EMPTY)
                except BaseException as error:
                    ahead.failed(k, error)
                    rows = rows[:k]
                    break
        return rows


@dataclass(frozen=True, eq=False)
class Layout:
    """Arrays of a linear model for the compiled march, for one step length and one set of weights."""

    x: IntArray
    """Indices in the flat state of the states, in the order of the parts [-], shape (nx,)."""
    lam: IntArray
    """Indices of the multipliers among those of all interactions, in the order of the parts [-], shape
    (m,)."""
    model: march_flow.Linear
    """Matrices and bounds of all parts."""
    c: Course
    """Inhomogeneous term of the rates, A x + c."""
    e: Course
    """Inhomogeneous term of the outputs, C x + D lam + e."""

    @classmethod
    def of(cls, system: PreparedSystem, weights: Weights, h: float) -> "Layout | None":
        """Return the layout of a system; None if it is too large, or not linear with constant matrices."""
        parts_ = system.part(parts)
        if system.system.z0.size or not all(map(_supported, parts_)):
            return None
        rows, flows, starts, drives, offsets = [], [0], [0, 0, 0, 0, 0], [], []
        flat: list[list[Array]] = []
        for part in parts_:
            matrices = _matrices(part, weights, h)
            if matrices is None:
                return None
            n, m = part.x.size, part.lam.size
            x, k, xx, xl, ll = starts
            rows.append([x, x + n, k, k + m, len(flows) - 1, len(flows) - 1 + len(part.flows), xx, xl, ll])
            flat.append([matrix.reshape(-1) for matrix in matrices])
            for flow in part.flows:
                assert isinstance(flow.system, FirstOrderLinear)
                where = slice(x + flow.x.start, x + flow.x.stop)
                flows.append(where.stop)
                drives += [(where, flow.system.b), (where, flow.system.input)]
            for tie in part.ties:
                assert isinstance(tie.bound.output, Linear)
                place = slice(k + tie.lam.start, k + tie.lam.stop)
                offsets.append((place, tie.bound.output.matrices.get("e")))
            starts = [x + n, k + m, xx + n * n, xl + n * m, ll + m * m]
        nx, m = starts[:2]
        low = [part.lower for part in parts_ if part.lower is not None]
        high = [part.upper for part in parts_ if part.upper is not None]
        return cls(
            _joined([part.x for part in parts_]).astype(np.int64),
            _joined([part.lam for part in parts_]).astype(np.int64),
            march_flow.Linear(
                np.array(rows, np.int64), np.array(flows, np.int64), _joined(low), _joined(high),
                *(_joined(kind) for kind in zip(*flat, strict=True)),
            ),
            Course.of(nx, drives), Course.of(m, offsets),
        )  # fmt: skip


def _joined(arrays: Sequence[Array | IntArray]) -> Array:
    """Return the concatenation of arrays; an empty array for none."""
    return np.concatenate([EMPTY, *arrays])


def _supported(part: Part) -> bool:
    """Whether a part is linear with constant matrices, its laws are boxes, and it is not too large."""
    if part.x.size > LARGEST or part.lam.size > SMALL or (part.K is not None and part.lower is None):
        return False
    for flow in part.flows:
        system = flow.system
        if (
            not isinstance(system, FirstOrderLinear)
            or type(system).rate is not FirstOrder.rate
            or system.driven
        ):
            return False
        if system.M.constant is None or system.A.constant is None or system.dinput_dx is not None:
            return False
    return all(isinstance(tie.bound.output, Linear) and tie.bound.output.constant for tie in part.ties)


def _matrices(part: Part, weights: Weights, h: float) -> tuple[Array, ...] | None:
    """Return M, A, W⁻¹, B, C, D, h w W⁻¹ B and the matrix of the problem of a part; None if W is singular or
    a matrix is not finite."""
    n, m = part.x.size, part.lam.size
    M, A, inverse = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for flow in part.flows:
        assert isinstance(flow.system, FirstOrderLinear)
        block = (flow.x, flow.x)
        M[block], A[block] = flow.system.M.constant, flow.system.A.constant
        factors = Factors(M[block] - (h * weights.theta) * A[block])
        if factors.singular:
            return None
        inverse[block] = factors.solve(np.eye(flow.x.stop - flow.x.start))
    B, C, D = np.zeros((n, m)), np.zeros((m, n)), np.zeros((m, m))
    for tie in part.ties:
        at = (0.0, EMPTY, EMPTY, EMPTY)
        output = tie.bound.flow
        B[tie.x, tie.lam], C[tie.lam, tie.x], D[tie.lam, tie.lam] = (
            output.B(*at), output.C(*at), output.D(*at)
        )  # fmt: skip
    reach = (h * weights.w) * (inverse @ B)
    matrices = (M, A, inverse, B, C, D, reach, D + weights.rho * (C @ reach))
    return matrices if all(np.isfinite(matrix).all() for matrix in matrices) else None


def march(
    scheme: "EulerMoreau", prepared: PreparedSystem, state: State, memory: Memory, h: float, clock: Array,
    tolerance: float, interrupts: Interrupts,
) -> March | None:  # fmt: skip
    """Make the steps between the times of `clock`, as `MarchingScheme.march` specifies."""
    # 1. Layout of the model, and arrays of the steps.
    system, weights, steps = prepared.system, scheme.weights, clock.size - 1
    layout = interrupts.run(prepared.part, Layout.of, weights, h) if JIT else None
    if layout is None:
        return None
    nx, m = state.q.size, system.size
    x, r, lam = np.empty((steps + 1, nx)), np.empty((steps + 1, nx)), np.empty((steps + 1, m))
    x[0], r[0], lam[0] = state.q[layout.x], memory["r"][layout.x], memory["lam"][layout.lam]
    u, y = np.empty((steps, m)), np.empty((steps, m))
    natural, scaled, iterations = np.zeros(steps), np.zeros(steps), np.zeros(steps, np.int64)
    numbers = (h, weights.theta, weights.w, weights.rho, weights.old, tolerance, scheme.newton_tolerance)
    method = march_flow.Method(*map(float, numbers))
    started = not weights.old or bool(memory["started"][0])  # otherwise the first step differs: no march
    done, ahead, stop = 0, _Ahead(interrupts), interrupts.flag()

    def call(known: Sequence[Array], count: int) -> int:
        now, ends = slice(done, done + count), slice(done, done + count + 1)
        record = march_flow.Record(
            x[ends], lam[ends], r[ends], u[now], y[now], natural[now], scaled[now], iterations[now]
        )
        return int(march_flow.march(layout.model, method, stop, march_flow.Known(*known), record))

    # 2. Compiled calls, each after the evaluation of the functions of time for its steps.
    while started and done < steps and ahead.error is None:
        t, *known = _known_ahead(layout, weights, h, clock[done:steps], ahead)
        if done == 0:  # a call without steps compiles or loads the kernel, and may be interrupted by signals
            interrupts.run(call, known, 0)
        count = call(known, len(t))
        done += count
        if count < len(t):
            break
    if interrupts.error is None and ahead.error is not None:
        interrupts.note(ahead.error)
    # 3. Results in the order of the flat state.
    states, multipliers = np.argsort(layout.x), np.argsort(layout.lam)
    x, r = x[:, states], r[:, states]
    lam, u, y = lam[:, multipliers], u[:done, multipliers], y[:done, multipliers]
    ends = slice(1, done + 1)
    end = frozen_state(float(clock[done]), x[done].copy(), state.v, state.z) if done else state
    return March(
        clock[ends], x[ends], np.zeros((done, 0)), np.zeros((done, 0)), lam[ends], u, y,
        np.ones((done, system.blocks), np.bool_), np.full((done, system.blocks), -np.inf),
        natural[:done], scaled[:done], iterations[:done],
        np.ones(done, np.int64), end, {"lam": lam[ends], "r": r[ends], "started": np.ones((done, 1))},
        interrupts.taken(),
    )  # fmt: skip


def _known_ahead(
    layout: Layout, weights: Weights, h: float, t: Array, ahead: _Ahead
) -> tuple[Array, Array, Array, Array]:
    """Return times of the next steps [s], c, e at the instant of the law, and e at the end of a step."""
    theta, c, e = weights.theta, layout.c, layout.e
    if not (c.varying or e.varying):
        return t, c.constant[None], e.constant[None], e.constant[None]
    t = t[:AHEAD]
    if not c.varying:
        rates = np.tile(c.constant, (len(t), 1))
    elif weights.midpoint or theta in (0.0, 1.0):
        rates = c.at(t + theta * h, ahead)
    else:
        rates = _mean(theta, c.at(t, ahead), c.at(t + h, ahead))
    inner = e.at(t + weights.rho * h, ahead)
    last = inner if weights.rho == 1.0 or not e.varying else e.at(t + h, ahead)
    count = min(map(len, (rates, inner, last)))
    return t[:count], rates[:count], inner[:count], last[:count]


def _mean(theta: float, start: Array, end: Array) -> Array:
    """Return (1 - theta) start + theta end, for the times that both have."""
    count = min(len(start), len(end))
    return (1.0 - theta) * start[:count] + theta * end[:count]
