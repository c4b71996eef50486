"""Samples of the event-driven scheme between two events, many in one compiled call.

Between events the contact modes do not change and the motion is smooth. `march` computes samples until one
may contain an event, and leaves that one to `step`. The kernels repeat SciPy's DOP853 with its coefficients,
because SciPy calls Python for every stage: compiled samples are 6 to 26 times faster (docs/benchmarks.md).
"""

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.integrate import DOP853

from stickslip.compilation import JIT
from stickslip.interrupts import Interrupts
from stickslip.kernels import cones, smooth, smooth_samples, smooth_steps
from stickslip.problem.checks import Array, IntArray
from stickslip.schemes.event_driven_flow import Flow
from stickslip.schemes.event_driven_standing import Standing
from stickslip.schemes.march import March
from stickslip.schemes.march_model import Layout
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import CONTACT_WORK, Memory, frozen_state
from stickslip.state import State
from stickslip.systems.system import NonsmoothSystem

if TYPE_CHECKING:
    from stickslip.schemes.event_driven import EventDriven

KINDS = {
    "gap": smooth.GAP, "force": smooth.FORCE, "cone": smooth.CONE, "lower": smooth.LEAST,
    "upper": smooth.MOST, "speed": smooth.SLIDING, "near": smooth.NEAR, "far": smooth.FAR,
    "paradox": smooth.LOST,
}  # fmt: skip
"""Codes of the kernels for the kinds of watched quantities."""


def march(
    scheme: "EventDriven", prepared: PreparedSystem, state: State, memory: Memory, h: float, clock: Array,
    tolerance: float, interrupts: Interrupts,
) -> March | None:  # fmt: skip
    """Compute samples between the times of `clock`, as `MarchingScheme.march` specifies, up to the first that
    may contain an event."""
    # 1. Supported models: DOP853, no guards or edges, layout known to the kernels.
    system, steps = prepared.system, clock.size - 1
    if not JIT or scheme.method != "DOP853" or any(getattr(one, "z_update", None) for one in system.systems):
        return None
    if system.guards or system.edges is not None or "side" in memory:
        return None
    # Bounds of impulses over 1 s are bounds of forces.
    layout = interrupts.run(prepared.part, Layout.of, 1.0, False)
    if layout is None:
        return None
    flow = interrupts.run(_flow, scheme, prepared, state, memory)
    if flow is None or flow.redundant:  # `step` selects forces that are not unique
        steps = 0
    # 2. The compiled call.
    size = system.size
    samples = smooth_samples.Samples(
        *(np.empty((steps + 1, n)) for n in (state.q.size, state.v.size, size, 1)),
        *(np.empty((steps, n)) for n in (size, size, size, 2)),
    )
    samples.q[0], samples.v[0], samples.lam[0] = state.q, state.v, memory["lam"]
    samples.substep[0] = memory["substep"]
    done = 0
    if steps and flow is not None:
        done = _run(interrupts, scheme, system, layout, flow, state.z, clock, samples)
    # 3. The samples as a march.
    ends = slice(1, done + 1)
    q, v, y = samples.q[ends], samples.v[ends], samples.y[:done]
    last = frozen_state(float(clock[done]), q[-1].copy(), v[-1].copy(), state.z.copy()) if done else state
    rows = {name: np.broadcast_to(value, (done, *value.shape)) for name, value in memory.items()}
    nothing, none = np.zeros(done), np.zeros(done, np.int64)
    unilateral = np.array([one.unilateral for one in flow.motion.pieces], bool) if flow is not None else ()
    normals = [one.normal for one in flow.motion.pieces] if flow is not None else []
    return March(
        clock[ends], q, v, np.broadcast_to(state.z, (done, state.z.size)), samples.r[:done],
        samples.u[:done], y, rows["mode"] > 0.0, np.where(unilateral, y[:, normals], -np.inf),
        nothing, nothing, none, none, last,
        {**rows, "lam": samples.lam[ends], "substep": samples.substep[ends]}, interrupts.taken(),
        {
            "impacts [-]": nothing,
            "projection [m]": samples.measures[:done, smooth_samples.PROJECTION],
            CONTACT_WORK: samples.measures[:done, smooth_samples.WORK],
        },
    )  # fmt: skip


def _flow(scheme: "EventDriven", prepared: PreparedSystem, state: State, memory: Memory) -> Flow | None:
    """Return the smooth motion with the current modes; None if modes are undecided or blocks are in
    time-stepping."""
    if (memory["mode"] < 0.0).any() or (memory["until"] > -np.inf).any():
        return None
    at = Standing(scheme, prepared, state, memory, None)  # type: ignore[arg-type]
    still = np.zeros(state.q.size + state.v.size, bool)
    return Flow(at.motion, at.modes, scheme.slow, at.t, at.q, at.v, at.lam, at.waiting, still)


def _run(
    interrupts: Interrupts, scheme: "EventDriven", system: NonsmoothSystem, layout: Layout, flow: Flow,
    z: Array, clock: Array, samples: smooth_samples.Samples,
) -> int:  # fmt: skip
    """Compute samples in the compiled call, and return their number."""
    stretch, work = _stretch(scheme, system, flow), layout.work(system)
    nq, nv, n, size = flow.nq, flow.nv, max(flow.components.size, 1), system.size
    wide = flow.end + bool(flow.rubbing)
    room = smooth.Room(
        np.zeros(nv), np.zeros(n), np.zeros(size), np.zeros(size), np.zeros((2, nq)), np.zeros((5, size)),
        np.zeros((2, n * n)), np.zeros(n), np.zeros(n, np.int64),
    )  # fmt: skip
    bench = smooth_steps.Bench(
        np.zeros((smooth_steps.ALL_STAGES, wide)), np.zeros((4, wide)),
        np.zeros((smooth_steps.POWERS, wide)), np.zeros((smooth_samples.LOOKS, len(flow.watched))),
    )  # fmt: skip
    options = smooth_steps.Options(
        scheme.rtol, scheme.atol, scheme.max_step, scheme.parts, scheme.gap_tolerance,
        scheme.velocity_tolerance,
    )  # fmt: skip
    model, tools = layout.stopped_by(interrupts.flag()), (_tableau(), options, work, room, bench)
    none = samples._replace(r=samples.r[:0])
    interrupts.run(smooth_samples.run, model, stretch, z, tools, clock, none)  # compiles or loads
    outer, layout.current.interrupts = layout.current.interrupts, interrupts
    try:
        return int(smooth_samples.run(model, stretch, z, tools, clock, samples))
    finally:
        layout.current.interrupts = outer


@cache
def _tableau() -> smooth_steps.Tableau:
    """Return the coefficients of SciPy's DOP853."""
    of = DOP853
    arrays = (of.A, of.B, of.C, of.E3, of.E5, of.D, of.A_EXTRA, of.C_EXTRA)
    return smooth_steps.Tableau(*(np.ascontiguousarray(array) for array in arrays))


def _stretch(scheme: "EventDriven", system: NonsmoothSystem, flow: Flow) -> smooth.Stretch:
    """Return the arrays of a flow for the kernels."""
    number = {one.name: i for i, one in enumerate(system.interactions)}
    place, direction = flow.place, flow.modes.direction
    slaves = [
        [int(live), int(place[g.components.start]), g.components.start, g.components.stop,
         flow.column[int(place[piece.normal])]]
        for (piece, _, g), live in zip(flow.sliding, flow.live, strict=True)
    ]  # fmt: skip
    watched: list[list[int]] = []
    bounds: list[float] = []
    for one in flow.watched:
        piece = flow.motion.pieces[one.piece]
        where = piece.components if one.group < 0 else piece.groups[one.group].components
        gap = one.kind == "gap"
        watched.append([
            KINDS[one.kind], number[piece.one.name] if gap else int(place[where.start]), where.start,
            where.stop, piece.normal if gap else int(place[piece.normal]),
        ])  # fmt: skip
        bound = {"lower": piece.lower, "upper": piece.upper}.get(one.kind, 0.0)
        bounds.append(piece.groups[one.group].mu if one.kind == "cone" else bound)
    closed = [p for p in flow.motion.pieces if flow.modes.closed[p.number]]
    gaps = [k for p in closed if p.kind != cones.INTERVAL for k in p.positions]
    resting = [k for p in closed for k in flow.modes.resting(p)]
    names = flow.motion.coarse
    return smooth.Stretch(
        _integers([number[one.name] for one in flow.involved]), flow.held, flow.known, _table(slaves),
        np.array([g.mu for _, _, g in flow.sliding]), direction, _table(watched), np.array(bounds),
        _integers([number[one.name] for one in flow.rubbing]), _integers([int(place[k]) for k in gaps +
        resting]), len(gaps), np.array([one.name in names for one in system.interactions], bool), flow.slow,
        flow.motion.difference,
    )  # fmt: skip


def _integers(values: list[int]) -> IntArray:
    """Return integers as an array."""
    return np.array(values, np.int64)


def _table(rows: list[list[int]]) -> IntArray:
    """Return rows of five integers as an array, shape (rows, 5)."""
    return np.array(rows, np.int64).reshape(-1, 5)
