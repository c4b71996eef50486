"""Many Moreau-Jean steps in one compiled call.

`march` returns the same steps as repeated calls of `MoreauJean.step`, to rounding, each with the judge's
residuals. It returns None for unsupported models and options. It ends before a step that it cannot solve,
which is then left to `step` and its messages. If a function raises or a signal arrives, it ends at once,
keeps its steps, and stores the exception in `error`.
"""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.compilation import JIT
from stickslip.interrupts import Interrupts
from stickslip.kernels.march import runner
from stickslip.kernels.march_layout import Method, Model, Record, Work
from stickslip.problem.checks import Array, IntArray
from stickslip.schemes.callbacks import Callback
from stickslip.schemes.march_model import Layout
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import Memory
from stickslip.state import BoolArray, State
from stickslip.systems.searches import search_of

if TYPE_CHECKING:
    from stickslip.schemes.moreau_jean import MoreauJean


@dataclass(frozen=True, eq=False, slots=True)
class March:
    """Steps of one compiled call, as columns of a trajectory: row k is the end of step k."""

    t: Array
    """Times [s], shape (steps,)."""
    q: Array
    """Coordinates, and states x of first-order systems [m, rad, or any], shape (steps, nq)."""
    v: Array
    """Velocities [m/s, rad/s], shape (steps, nv)."""
    z: Array
    """Discrete parameters [any], shape (steps, nz)."""
    r: Array
    """Impulses over each step [N s], lam in first order, shape (steps, size)."""
    u: Array
    """Variable of the laws: velocities of the outputs [m/s], y in first order, shape (steps, size)."""
    y: Array
    """Outputs [m, rad], shape (steps, size)."""
    active: BoolArray
    """Whether a block entered the problem [-], shape (steps, blocks), bool."""
    forecast: Array
    """Forecast gaps by which blocks are activated [m], shape (steps, blocks); -inf: always active."""
    natural: Array
    """Largest natural residual [-], shape (steps,)."""
    natural_scaled: Array
    """Largest unit-free natural residual [-], shape (steps,)."""
    iterations: IntArray
    """Number of solver sweeps, over all problems [-], shape (steps,)."""
    newton: IntArray
    """Number of Newton iterations [-], shape (steps,)."""
    state: State
    """State at the end of the last step; the start if there is none."""
    memories: Memory
    """The scheme's memory after each step by name [any], shape (steps, ...) each."""
    error: BaseException | None = None
    """Exception of a user's function or of a signal, to be raised after these steps are recorded."""
    measures: dict[str, Array] = field(default_factory=dict)
    """Further quantities measured by the scheme, by name with the unit [any], shape (steps,) each."""

    def __len__(self) -> int:
        return self.t.shape[0]

    @property
    def memory(self) -> Memory:
        """The scheme's memory after the last step."""
        return {name: rows[-1].copy() for name, rows in self.memories.items()}


@dataclass(eq=False, slots=True)
class _Tools:
    """Data shared by the marches of one system with one scheme, step length and tolerance."""

    layout: Layout
    """Layout of the model."""
    stop: IntArray
    """Flag that stops the march, as `Interrupts.flag` sets it [-], shape (2,)."""
    model: Model
    """The model, with the flag."""
    method: Method
    """Options of the scheme."""
    work: Work
    """Workspace of the kernel."""
    runs: dict[bool, Any] = field(default_factory=dict)
    """Entry of the kernel, by whether it releases the interpreter's lock."""

    @staticmethod
    def of(prepared: PreparedSystem, scheme: "MoreauJean", h: float, tolerance: float) -> "_Tools | None":
        """Return the data of a system; None for unsupported models and options."""
        layout = prepared.part(Layout.of, h) if _is_supported(scheme) else None
        if layout is None:
            return None
        system, stop = prepared.system, np.zeros(2, np.int64)
        method = Method(
            np.array([scheme.weight(one.name) for one in system.systems]), scheme.variant == "semi-explicit",
            float(h), float(tolerance), float(scheme.newton_tolerance), int(scheme.newton_max),
        )  # fmt: skip
        return _Tools(layout, stop, layout.stopped_by(stop), method, layout.work(system))

    @property
    def calls_python(self) -> bool:
        """Whether steps call Python functions."""
        return any(isinstance(adapter, Callback) for adapter in self.layout.kept)


@dataclass(eq=False, slots=True)
class Strip:
    """Buffer of consecutive steps, written by one or several compiled calls."""

    tools: _Tools
    """Data shared by the steps."""
    record: Record
    """Row 0 is the start, row k the end of step k."""
    clock: Array
    """Times of all rows [s], shape (rows + 1,)."""
    start: State
    """State at the start of the first step."""
    ends: tuple[Array, Array, Array]
    """q, v and z of the record, read-only [m, rad, m/s, or any], shape (rows + 1, n) each."""
    state: State
    """State at the end of the last step."""
    run: Any
    """Entry of the kernel."""
    steps: int = 0
    """Number of steps in the buffer."""
    closed: bool = False
    """Whether no step may be added, because the contents have been read."""

    def can_follow(self, state: State, h: float) -> bool:
        """Whether a step of length h [s] from `state` can be added."""
        same = self.state is state and self.tools.method.h == h
        return same and not self.closed and self.steps < self.clock.size - 1

    def make(self, most: int, interrupts: Interrupts) -> BaseException | None:
        """Make at most `most` steps; return an exception to be raised after they are recorded, or None."""
        tools, record, first = self.tools, self.record, self.steps
        current = tools.layout.current
        interrupts.flag(tools.stop)
        outer, current.interrupts = current.interrupts, interrupts
        most = min(most, self.clock.size - 1 - first)
        try:
            arguments = (tools.model, tools.method, tools.work, self.clock, record, first, most)
            done, _ = self.run(*arguments)
        finally:
            current.interrupts = outer
        if done:
            self.state, self.steps = self.state_after(first + done), first + done
        return interrupts.taken()

    def follow(self, state: State, index: int, every: int, t: float) -> State | None:
        """Add one step, without calls of Python functions, and return the state at its end, at t [s]. Return
        None if there is no room for it, or if the step needs `make`."""
        first, tools = self.steps, self.tools
        row = first + 1
        if self.state is not state or self.closed or row == self.clock.size:
            return None
        tools.stop.fill(0)
        if not self.run(tools.model, tools.method, tools.work, self.clock, self.record, first, 1)[0]:
            return None
        y, (q, v, z) = self.record.y[row], self.ends
        if not math.isfinite(y.dot(y)):
            return None
        reached = State(t, q[row], v[row], z[row])
        self.state, self.steps = reached, row
        return reached

    @property
    def calls_python(self) -> bool:
        """Whether steps call Python functions."""
        return self.tools.calls_python

    def state_after(self, step: int) -> State:
        """Return the state after `step` steps."""
        q, v, z = self.ends
        return State(self.clock.item(step), q[step], v[step], z[step])

    def memory_after(self, step: int) -> Memory:
        """Return the scheme's memory after `step` steps."""
        return {"r": self.record.r[step], "y": self.record.y[step]}

    def march(self, error: BaseException | None = None) -> March:
        """Return the steps as columns."""
        q, v, z, r, y, u, active, forecast, natural, scaled, iterations, newton = self.record
        n, ends = self.steps, slice(1, self.steps + 1)
        return March(
            self.clock[ends], q[ends], v[ends], z[ends], r[ends], u[:n], y[ends], active[:n], forecast[:n],
            natural[:n], scaled[:n], iterations[:n], newton[:n], self.state, {"r": r[ends], "y": y[ends]},
            error,
        )  # fmt: skip


def strip(
    scheme: "MoreauJean", prepared: PreparedSystem, state: State, memory: Memory, h: float,
    tolerance: float, clock: Array, interrupts: Interrupts,
) -> Strip | None:  # fmt: skip
    """Return an empty buffer for the steps between the times of `clock` [s], shape (steps + 1,); None for
    unsupported models and options."""
    system, steps = prepared.system, clock.size - 1
    if search_of(system) is not None:  # contacts are detected anew in every step
        return None
    tools = interrupts.run(prepared.part, _Tools.of, scheme, h, tolerance) if JIT else None
    if tools is None:
        return None
    sizes = state.q.size, state.v.size, state.z.size, system.size, system.size
    q, v, z, r, y = (np.empty((steps + 1, n)) for n in sizes)
    q[0], v[0], z[0], r[0], y[0] = state.q, state.v, state.z, memory["r"], memory["y"]
    record = Record(
        q, v, z, r, y, np.empty((steps, system.size)), np.zeros((steps, system.blocks), np.bool_),
        np.empty((steps, system.blocks)), np.zeros(steps), np.zeros(steps), np.zeros(steps, np.int64),
        np.zeros(steps, np.int64),
    )  # fmt: skip
    free = not interrupts.hears and not tools.calls_python
    if free not in tools.runs:  # compiles or loads the kernel; signals may interrupt this
        arguments = (tools.model, tools.method, tools.work, clock, record, 0, 0)
        tools.runs[free] = interrupts.run(runner, free, *arguments)
    ends = q.view(), v.view(), z.view()
    for array in ends:
        array.flags.writeable = False
    return Strip(tools, record, clock, state, ends, state, tools.runs[free])


def is_free(scheme: "MoreauJean", prepared: PreparedSystem, h: float, tolerance: float) -> bool:
    """Whether steps of length h [s] are made in compiled calls without Python functions."""
    tools = prepared.part(_Tools.of, scheme, h, tolerance) if JIT else None
    return tools is not None and not tools.calls_python


def march(
    scheme: "MoreauJean", prepared: PreparedSystem, state: State, memory: Memory, h: float, clock: Array,
    tolerance: float, interrupts: Interrupts,
) -> March | None:  # fmt: skip
    """Make the steps between the times of `clock`, as `MarchingScheme.march` specifies."""
    buffer = strip(scheme, prepared, state, memory, h, tolerance, clock, interrupts)
    return None if buffer is None else buffer.march(buffer.make(clock.size - 1, interrupts))


def _is_supported(scheme: "MoreauJean") -> bool:
    """Whether the march supports the options of a scheme."""
    return (
        scheme.variant in ("nearly-implicit", "semi-explicit")
        and (scheme.variant == "semi-explicit" or scheme.frame == "start")
        and scheme.activation == "forecast"
        and scheme.form == "reduced"
        and scheme.projection == "none"
    )
