"""Many steps in one compiled call: the fast form of `step`.

`march` gives the same steps as `MoreauJean.step` one by one, to rounding, each with the judge's residuals, or
None where it does not know the model or the options. It ends early before a step that it cannot finish; that
one is for `step`, which also says what is wrong with it, if anything is. It ends at once, keeping its steps,
where a function raises or a signal is to end the run: what was raised is in `error`.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.compilation import JIT
from stickslip.interrupts import Interrupts
from stickslip.kernels.march import run
from stickslip.kernels.march_layout import Method, Record
from stickslip.problem.checks import Array, IntArray
from stickslip.schemes.march_model import Layout
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import Memory, frozen_state
from stickslip.state import BoolArray, State

if TYPE_CHECKING:
    from stickslip.schemes.moreau_jean import MoreauJean


@dataclass(frozen=True, eq=False, slots=True)
class March:
    """Steps that were made together: row k is the end of step k, as the columns of a trajectory."""

    t: Array
    """Times [s], shape (steps,)."""
    q: Array
    """Coordinates, states x of first-order systems [m, rad, or any], shape (steps, nq)."""
    v: Array
    """Velocities [m/s, rad/s], shape (steps, nv)."""
    z: Array
    """Discrete parameters [any], shape (steps, nz)."""
    r: Array
    """Impulses over each step [N s], lam in first order, shape (steps, size)."""
    u: Array
    """What the laws constrained: velocities of the outputs [m/s], y in first order, shape (steps, size)."""
    y: Array
    """Outputs [m, rad], shape (steps, size)."""
    active: BoolArray
    """Blocks that entered a problem [-], shape (steps, blocks), bool."""
    forecast: Array
    """Forecast gaps that decided it [m], shape (steps, blocks); -inf: always active."""
    natural: Array
    """Largest natural residual [-], shape (steps,)."""
    natural_scaled: Array
    """Largest unit-free natural residual [-], shape (steps,)."""
    iterations: IntArray
    """Sweeps of the solver, over all problems [-], shape (steps,)."""
    newton: IntArray
    """Newton iterations [-], shape (steps,)."""
    state: State
    """At the end of the last step; the start if there is none."""
    memories: Memory
    """The scheme's memory after each step by name [any], shape (steps, ...) each."""
    error: BaseException | None = None
    """What is to be raised once these steps are kept: by a function of the model, or for a signal."""
    measures: dict[str, Array] = field(default_factory=dict)
    """What else the scheme measured, by name with its unit [any], shape (steps,) each."""

    def __len__(self) -> int:
        return self.t.shape[0]

    @property
    def memory(self) -> Memory:
        """The scheme's memory after the last step."""
        return {name: rows[-1].copy() for name, rows in self.memories.items()}


def march(
    scheme: "MoreauJean", prepared: PreparedSystem, state: State, memory: Memory, h: float, clock: Array,
    tolerance: float, interrupts: Interrupts,
) -> March | None:  # fmt: skip
    """As `MarchingScheme.march` has it."""
    system = prepared.system
    layout = interrupts.run(prepared.part, Layout.of, h) if JIT and _is_known(scheme) else None
    if layout is None:
        return None
    steps = clock.size - 1
    sizes = state.q.size, state.v.size, state.z.size, system.size, system.size
    q, v, z, r, y = (np.empty((steps + 1, n)) for n in sizes)
    q[0], v[0], z[0], r[0], y[0] = state.q, state.v, state.z, memory["r"], memory["y"]
    record = Record(
        q, v, z, r, y, np.empty((steps, system.size)), np.zeros((steps, system.blocks), np.bool_),
        np.empty((steps, system.blocks)), np.zeros(steps), np.zeros(steps), np.zeros(steps, np.int64),
        np.zeros(steps, np.int64),
    )  # fmt: skip
    method = Method(
        np.array([scheme.weight(one.name) for one in system.systems]), scheme.variant == "semi-explicit",
        float(h), float(tolerance), float(scheme.newton_tolerance), int(scheme.newton_max),
    )  # fmt: skip
    model, work = layout.stopped_by(interrupts.flag()), layout.work(system)
    # No steps at all: compiles or loads the kernel, which signals may end.
    none: list[Any] = [*record[:5], *(one[:0] for one in record[5:])]
    interrupts.run(run, model, method, work, clock, Record(*none))
    outer, layout.current.interrupts = layout.current.interrupts, interrupts
    try:
        done, _ = run(model, method, work, clock, record)
    finally:
        layout.current.interrupts = outer
    ends = slice(1, done + 1)
    last = frozen_state(float(clock[done]), q[done].copy(), v[done].copy(), z[done].copy()) if done else state
    u, active, forecast, natural, scaled, iterations, newton = record[5:]
    return March(
        clock[ends], q[ends], v[ends], z[ends], r[ends], u[:done], y[ends], active[:done], forecast[:done],
        natural[:done], scaled[:done], iterations[:done], newton[:done], last,
        {"r": r[ends], "y": y[ends]}, interrupts.taken(),
    )  # fmt: skip


def _is_known(scheme: "MoreauJean") -> bool:
    """Whether these are options of the march."""
    return (
        scheme.variant in ("nearly-implicit", "semi-explicit")
        and (scheme.variant == "semi-explicit" or scheme.frame == "start")
        and scheme.activation == "forecast"
        and scheme.form == "reduced"
        and scheme.projection == "none"
    )
