"""Many steps of Euler-Moreau in one compiled call, for linear systems of constant matrices.

`march` gives the same steps as `EulerMoreau.step` one by one, to rounding, each with the judge's residuals,
or None where it does not know the model. What depends on time alone (b, T u, e) may be any function: it is
asked for ahead. The march ends early before a step that it cannot finish; that one is for `step`. What a
function raises is kept, and ends the run once the steps before it are done.
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
"""Most states of a part whose matrices are kept whole."""
AHEAD = 512
"""So many steps ahead functions of time are asked."""
EMPTY = np.zeros(0)


class _Ahead:
    """What functions of time raise when they are asked for ahead of the steps."""

    def __init__(self, interrupts: Interrupts):
        self.interrupts = interrupts
        self.error: BaseException | None = None
        """Of the function that fails first."""
        self._step = 0

    def failed(self, step: int, error: BaseException) -> None:
        """A function raised `error` for that step ahead."""
        if self.error is None or step < self._step:
            self.error, self._step = error, step


@dataclass(frozen=True, eq=False)
class Course:
    """A vector that depends on time alone: a constant and some functions."""

    constant: Array
    """What is constant of it [any], shape (n,)."""
    varying: tuple[tuple[slice, Quantity], ...]
    """What is to be added where, at each time."""

    @classmethod
    def of(cls, n: int, given: Sequence[tuple[slice, Quantity | None]]) -> "Course":
        """The sum of those quantities, each at its place."""
        constant, varying = np.zeros(n), []
        for where, one in given:
            if one is not None and one.constant is not None:
                constant[where] += one.constant
            elif one is not None:
                varying.append((where, one))
        return cls(constant, tuple(varying))

    def at(self, t: Array, ahead: "_Ahead") -> Array:
        """Its values [any], shape (times, n); as far as they go where a function raises, as `ahead` notes."""
        rows = np.tile(self.constant, (len(t), 1))
        for where, one in self.varying:
            for k, time in enumerate(t.tolist()):
                try:
                    rows[k, where] += ahead.interrupts.run(one, time, EMPTY, EMPTY, EMPTY)
                except BaseException as error:
                    ahead.failed(k, error)
                    rows = rows[:k]
                    break
        return rows


@dataclass(frozen=True, eq=False)
class Layout:
    """A linear model as the compiled march takes it, for one length of step and one set of weights."""

    x: IntArray
    """States in the order of the parts, by their places in the flat state [-], shape (nx,)."""
    lam: IntArray
    """Multipliers likewise [-], shape (m,)."""
    model: march_flow.Linear
    c: Course
    """What the rates have beside A x."""
    e: Course
    """What the outputs have beside C x + D lam."""

    @classmethod
    def of(cls, system: PreparedSystem, weights: Weights, h: float) -> "Layout | None":
        """That of a system; None where it is not linear with constant matrices, or too large."""
        found = system.part(parts)
        if system.system.z0.size or not all(map(_known, found)):
            return None
        rows, flows, starts, drives, offsets = [], [0], [0, 0, 0, 0, 0], [], []
        flat: list[list[Array]] = []
        for part in found:
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
        low = [part.lower for part in found if part.lower is not None]
        high = [part.upper for part in found if part.upper is not None]
        return cls(
            _joined([part.x for part in found]).astype(np.int64),
            _joined([part.lam for part in found]).astype(np.int64),
            march_flow.Linear(
                np.array(rows, np.int64), np.array(flows, np.int64), _joined(low), _joined(high),
                *(_joined(kind) for kind in zip(*flat, strict=True)),
            ),
            Course.of(nx, drives), Course.of(m, offsets),
        )  # fmt: skip


def _joined(arrays: Sequence[Array | IntArray]) -> Array:
    return np.concatenate([EMPTY, *arrays])


def _known(part: Part) -> bool:
    """Whether a part is linear with constant matrices, its laws are boxes, and it is not too large."""
    if part.x.size > LARGEST or part.lam.size > SMALL or (part.K is not None and part.lower is None):
        return False
    for flow in part.flows:
        one = flow.system
        if not isinstance(one, FirstOrderLinear) or type(one).rate is not FirstOrder.rate or one.driven:
            return False
        if one.M.constant is None or one.A.constant is None or one.dinput_dx is not None:
            return False
    return all(isinstance(tie.bound.output, Linear) and tie.bound.output.constant for tie in part.ties)


def _matrices(part: Part, weights: Weights, h: float) -> tuple[Array, ...] | None:
    """M, A, W⁻¹, B, C, D, h w W⁻¹ B and that of the problem of a part; None where W is singular."""
    n, m = part.x.size, part.lam.size
    M, A, inverse = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for flow in part.flows:
        assert isinstance(flow.system, FirstOrderLinear)
        own = (flow.x, flow.x)
        M[own], A[own] = flow.system.M.constant, flow.system.A.constant
        factors = Factors(M[own] - (h * weights.theta) * A[own])
        if factors.singular:
            return None
        inverse[own] = factors.solve(np.eye(flow.x.stop - flow.x.start))
    B, C, D = np.zeros((n, m)), np.zeros((m, n)), np.zeros((m, m))
    for tie in part.ties:
        at = (0.0, EMPTY, EMPTY, EMPTY)
        output = tie.bound.flow
        B[tie.x, tie.lam], C[tie.lam, tie.x], D[tie.lam, tie.lam] = (
            output.B(*at), output.C(*at), output.D(*at)
        )  # fmt: skip
    reach = (h * weights.w) * (inverse @ B)
    found = (M, A, inverse, B, C, D, reach, D + weights.rho * (C @ reach))
    return found if all(np.isfinite(one).all() for one in found) else None


def march(
    scheme: "EulerMoreau", prepared: PreparedSystem, state: State, memory: Memory, h: float, clock: Array,
    tolerance: float, interrupts: Interrupts,
) -> March | None:  # fmt: skip
    """As `MarchingScheme.march` has it."""
    system, weights, steps = prepared.system, scheme.weights, clock.size - 1
    layout = interrupts.run(prepared.part, Layout.of, weights, h) if JIT else None
    if layout is None:
        return None
    nx, m = state.q.size, system.size
    x, r, lam = np.empty((steps + 1, nx)), np.empty((steps + 1, nx)), np.empty((steps + 1, m))
    x[0], r[0], lam[0] = state.q[layout.x], memory["r"][layout.x], memory["lam"][layout.lam]
    u, y = np.empty((steps, m)), np.empty((steps, m))
    natural, scaled, iterations = np.zeros(steps), np.zeros(steps), np.zeros(steps, np.int64)
    weighed = (h, weights.theta, weights.w, weights.rho, weights.old, tolerance, scheme.newton_tolerance)
    method = march_flow.Method(*map(float, weighed))
    started = not weights.old or bool(memory["started"][0])  # the first step is then one of its own kind
    done, ahead, stop = 0, _Ahead(interrupts), interrupts.flag()

    def made(known: Sequence[Array], count: int) -> int:
        now, ends = slice(done, done + count), slice(done, done + count + 1)
        record = march_flow.Record(
            x[ends], lam[ends], r[ends], u[now], y[now], natural[now], scaled[now], iterations[now]
        )
        return int(march_flow.march(layout.model, method, stop, march_flow.Known(*known), record))

    while started and done < steps and ahead.error is None:
        t, *known = _known_ahead(layout, weights, h, clock[done:steps], ahead)
        if done == 0:  # no steps at all: compiles or loads the kernel, which signals may end
            interrupts.run(made, known, 0)
        found = made(known, len(t))
        done += found
        if found < len(t):
            break
    if interrupts.error is None and ahead.error is not None:
        interrupts.note(ahead.error)
    own, mine = np.argsort(layout.x), np.argsort(layout.lam)
    x, r, lam, u, y = x[:, own], r[:, own], lam[:, mine], u[:done, mine], y[:done, mine]
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
    """Times of the next steps [s], and what is known at them: c, e where the law holds, e at the end."""
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
    count = min(len(start), len(end))
    return (1.0 - theta) * start[:count] + theta * end[:count]
