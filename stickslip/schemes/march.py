"""Many steps in one compiled call, where everything in them is compiled: the fast form of `step`.

`march` gives the same steps as `MoreauJean.step` one by one, to rounding, each with the judge's residuals, or
None where it does not know the model or the options. It ends early before a step that it cannot finish; that
one is for `step`, which also says what is wrong with it, if anything is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stickslip.kernels.jit import JIT
from stickslip.kernels.march import run
from stickslip.laws import BoolArray
from stickslip.problem.checks import Array, IntArray
from stickslip.schemes.march_model import Layout
from stickslip.schemes.step import Memory, State, frozen_state
from stickslip.systems.system import NonsmoothSystem

if TYPE_CHECKING:
    from stickslip.schemes.moreau_jean import MoreauJean


@dataclass(frozen=True, eq=False, slots=True)
class March:
    """Steps that were made together: row k is the end of step k, as the columns of a trajectory."""

    t: Array
    """Times [s], shape (steps,)."""
    q: Array
    """Coordinates [m, rad], shape (steps, nq)."""
    v: Array
    """Velocities [m/s, rad/s], shape (steps, nv)."""
    z: Array
    """Discrete parameters [any], shape (steps, nz)."""
    r: Array
    """Impulses over each step [N s], shape (steps, size)."""
    u: Array
    """Velocities of the outputs [m/s], shape (steps, size)."""
    y: Array
    """Outputs [m, rad], shape (steps, size)."""
    active: BoolArray
    """Blocks that entered a problem [-], shape (steps, blocks), bool."""
    forecast: Array
    """Forecast gaps that decided it [m], shape (steps, blocks); -inf: always active."""
    ok: BoolArray
    """Whether the step met its tolerance [-], shape (steps,), bool; all of these did."""
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
    memory: Memory
    """The scheme's memory there."""

    def __len__(self) -> int:
        return self.t.shape[0]


def march(
    scheme: "MoreauJean", system: NonsmoothSystem, state: State, memory: Memory, h: float, steps: int,
    tolerance: float, times: Sequence[float] | Array | None = None,
) -> March | None:  # fmt: skip
    """At most `steps` steps of length h from `state`; None where they cannot be compiled.

    `times` are those at which the steps begin and the last one ends [s], `steps` + 1 of them: a clock that
    does not add up rounding. Without them each step begins where the one before ended.
    """
    layout = _layout(scheme, system, h)
    if layout is None:
        return None
    if times is None:
        clock = np.cumsum(np.concatenate([[state.t], np.full(steps, h)]))
    else:
        clock = np.array(times, float)
    nv, nz, size, blocks = state.v.size, state.z.size, system.size, system.blocks
    q, v, z, r = (np.empty((steps + 1, n)) for n in (nv, nv, nz, size))
    q[0], v[0], z[0], r[0] = state.q, state.v, state.z, memory["r"]
    u, y, forecast = np.empty((steps, size)), np.empty((steps, size)), np.empty((steps, blocks))
    active = np.zeros((steps, blocks), np.bool_)
    natural, scaled = np.zeros(steps), np.zeros(steps)
    iterations, newton = np.zeros(steps, np.int64), np.zeros(steps, np.int64)
    thetas = np.array([scheme.weight(one.name) for one in system.systems])
    done, _ = run(
        *layout.arrays, thetas, scheme.variant == "semi-explicit", h, tolerance, scheme.newton_tolerance,
        scheme.newton_max, *layout.scratch, clock, q, v, z, r, u, y, active, forecast, natural, scaled,
        iterations, newton,
    )  # fmt: skip
    last = frozen_state(float(clock[done]), q[done].copy(), v[done].copy(), z[done].copy()) if done else state
    impulses = r[done].copy()
    impulses.flags.writeable = False
    return March(
        clock[1 : done + 1], q[1 : done + 1], v[1 : done + 1], z[1 : done + 1], r[1 : done + 1],
        u[:done], y[:done], active[:done], forecast[:done], np.ones(done, np.bool_),
        natural[:done], scaled[:done], iterations[:done], newton[:done], last, {"r": impulses},
    )  # fmt: skip


def _layout(scheme: "MoreauJean", system: NonsmoothSystem, h: float) -> Layout | None:
    """The layout of the model, made once per system and step length; None where there is none."""
    known = (
        scheme.variant in ("nearly-implicit", "semi-explicit")
        and (scheme.variant == "semi-explicit" or scheme.frame == "start")
        and scheme.activation == "forecast"
        and scheme.form == "reduced"
    )
    if not (JIT and known):
        return None
    kept: dict[float, Layout | None] = system.__dict__.setdefault("_march", {})
    if h not in kept:
        kept[h] = Layout.of(system, h)
    return kept[h]
