"""Main loop of a step of the event-driven scheme: integrate to the next event, handle it, continue."""

import math
from typing import Any

import numpy as np
import scipy.integrate

from stickslip.problem.checks import Array
from stickslip.schemes.event_driven_decisions import Decisions
from stickslip.schemes.event_driven_flow import Flow
from stickslip.schemes.event_driven_guards import Guards
from stickslip.schemes.event_driven_handover import carry, send
from stickslip.schemes.event_driven_roots import Crossing, Lookout
from stickslip.schemes.event_driven_standing import Standing
from stickslip.schemes.event_driven_switches import SwitchedFlow, Switches
from stickslip.state import ModelError
from stickslip.systems.system import Bound

SHORTEST = 10.0 * float(np.finfo(float).eps)
"""Shortest duration that is integrated, relative to the time [-]: ten times the machine precision."""
VANISHED = 1e-3
"""Ratio of a mass to its former value below which it explains the failure of an integrator [-]
(heuristic)."""


class Run:
    """One step, from event to event."""

    def __init__(self, at: Standing, decisions: Decisions | Switches, guards: Guards):
        self.at, self.decisions, self.guards = at, decisions, guards

    def carry(self, end: float) -> None:
        """Integrate to the end of the step, through all events."""
        # 1. Modes at the start, and blocks whose accumulation began in the previous step.
        edge = self.at.motion.enter(self.at.t)
        self.decisions.begin()
        for group in self.at.groups:
            if self.at.handed_over(group):
                self._onward(group, end)
        while not self.at.stopped and self.at.t < end:
            # 2. Smooth motion to the next event, edge, or end of time-stepping.
            at = self.at
            if at.t >= edge:
                edge = at.motion.enter(at.t)
            flow = self.decisions.flow()
            crossing = self._flow(flow, min([end, edge, *(absence[0] for absence in at.away)]))
            # 3. The event: modes, guards, accumulating impacts.
            if crossing is not None:
                self._decide(flow, crossing)
                for group, until, speed in self.decisions.leaving():
                    send(at, group, until, speed)
                    self._onward(group, end)
            else:
                for group in at.caught_up():
                    self._onward(group, end)
        # 4. Projection of the drift.
        self.at.settle_drift()

    def _decide(self, flow: Flow | SwitchedFlow, crossing: Crossing) -> None:
        """Handle a crossing: that of contacts first, then that of guards."""
        of_guards = crossing.which >= len(flow.watched)
        if not of_guards.all():
            self.decisions.decide(
                flow, Crossing(crossing.t, crossing.which[~of_guards], crossing.suddenly[~of_guards])
            )
        if of_guards.any() and not self.at.stopped:
            self.guards.passed(crossing.which[of_guards] - len(flow.watched), crossing.suddenly[of_guards])

    def _onward(self, group: list[Bound], end: float) -> None:
        """Continue the time-stepping of coupled interactions, or finish it at the accumulation point."""
        if self.at.until[group[0].blocks.start] > self.at.t:
            before = np.array(self.at.impulse)
            carry(self.at, group, end)
            self.decisions.forget(group, self.at.impulse != before)
            self.guards.overtaken()
        else:
            self.decisions.take_over(group)

    def _flow(self, flow: Flow | SwitchedFlow, end: float) -> Crossing | None:
        """Integrate to the end or to the first crossing, and return it; None at the end."""
        # 1. Watched quantities at the start.
        options, t = self.at.options, self.at.t
        state = flow.begin(self.at.q, self.at.v)
        guards, count = self.guards, len(flow.watched)

        def values(t: float, state: Array) -> Array:
            watched = flow.values(t, state)
            return np.concatenate([watched, guards.values(t, state)]) if guards else watched

        def value(i: int, t: float, state: Array) -> float:
            return flow.value(i, t, state) if i < count else guards.value(i - count, t, state)

        g, slope = values(t, state), flow.slopes(t, state)
        floors, gaps = self._floors(flow, state), slice(0, len(flow.open))
        # Gaps that open from slightly below zero may rise first.
        rising = slope >= -options.velocity_tolerance
        floors[gaps] += np.where(rising, np.maximum(-1.001 * g[gaps], 0.0), 0.0)
        look = Lookout(t, g, slope, floors, options.together)
        look.risen[count:] |= guards.risen
        guards.risen = look.risen[count:]  # a view, which the lookout updates
        crossing = look.start()
        if crossing is not None:
            return crossing
        if end - t <= SHORTEST * max(abs(t), abs(end)):
            self._arrive(flow, end, state)
            return None
        # 2. Steps of the integrator, each searched for crossings.
        integrator = getattr(scipy.integrate, options.method)(
            flow, t, state, end, rtol=options.rtol, atol=options.atol, max_step=options.max_step,
            first_step=min(self.at.substep, options.max_step, end - t),
        )  # fmt: skip
        previous: _Path | None = None
        while integrator.status == "running":
            message = integrator.step()
            if integrator.status == "failed" or not np.isfinite(integrator.y).all():
                self.at.system.explain(self.at.t, self.at.q, self.at.v, self.at.z)
                self._explain_masses(flow, float(integrator.t), np.array(integrator.y))
                raise ModelError(
                    f"event-driven: at t = {integrator.t:.9g} s, {options.method} failed: {message}"
                )
            if look.g.size:
                at = _Path(integrator, previous, eager=len(flow.open) < look.g.size)
                share = (integrator.t - integrator.t_old) / self.at.substep
                few = max(1, min(options.parts, math.ceil(options.parts * share)))
                crossing = look.advance(
                    float(integrator.t), options.parts, options.parts if guards else few,
                    lambda s, at=at: values(s, at(s)),  # type: ignore[misc]
                    lambda s, at=at: flow.slopes(s, at(s)),  # type: ignore[misc]
                    lambda i, s, at=at: value(i, s, at(s)),  # type: ignore[misc]
                )  # fmt: skip
                previous = at
                if crossing is not None:
                    self._arrive(flow, crossing.t, at(crossing.t))
                    return crossing
            if hasattr(integrator, "h_abs"):
                proposed = float(integrator.h_abs)
                # The last step is shortened to the end, and so is the length proposed after it.
                self.at.substep = (
                    proposed if integrator.status == "running" else max(self.at.substep, proposed)
                )
        self._arrive(flow, end, np.array(integrator.y))
        return None

    def _explain_masses(self, flow: Flow | SwitchedFlow, t: float, state: Array) -> None:
        """Raise ModelError for a system whose mass matrix becomes singular."""
        q = state[: flow.nq]
        for body, place in self.at.system.mechanical:
            M = body.mass(t, q[place.q], self.at.z[place.z])
            largest = np.abs(body.mass(self.at.t, self.at.q[place.q], self.at.z[place.z])).max()
            if not np.isfinite(M).all() or np.linalg.eigvalsh(M)[0] <= VANISHED * largest:
                raise ModelError(
                    f"system {body.name!r}: at t = {t:.9g} s, M becomes singular or is not positive definite"
                )

    def _arrive(self, flow: Flow | SwitchedFlow, t: float, state: Array) -> None:
        """Move the step to t, with the state of the flow, its impulses and their work."""
        nq, nv = flow.nq, flow.nv
        self.at.t, self.at.q, self.at.v = (
            t,
            self.at.motion.normalized(state[:nq]),
            np.array(state[nq : nq + nv]),
        )
        self.at.impulse[flow.components] += state[nq + nv : flow.end]
        self.at.work += float(state[flow.end :].sum())
        if flow.components.size and isinstance(flow, Flow):
            self.at.lam[:] = 0.0
            self.at.lam[flow.components] = flow.forces(t, self.at.q, self.at.v)[1]

    def _floors(self, flow: Flow | SwitchedFlow, state: Array) -> Array:
        """Return the magnitudes of negative values that still count as zero, for each watched quantity."""
        options = self.at.options
        if isinstance(flow, SwitchedFlow):
            return np.concatenate([flow.floors(self.at.t, state, options.together), self.guards.floors])
        derivative = flow(self.at.t, state)
        force = float(np.abs(derivative[flow.nq + flow.nv : flow.end]).max(initial=0.0))
        kinds = {"gap": 1e-3 * options.gap_tolerance, "speed": options.velocity_tolerance}
        kinds |= dict.fromkeys(("near", "far", "paradox"), 0.0)
        forces = 1e-10 * force + 1e-14 * float(
            np.abs(derivative[flow.nq : flow.nq + flow.nv]).max(initial=0.0)
        )
        return np.array([*(kinds.get(w.kind, forces) for w in flow.watched), *self.guards.floors])


class _Path:
    """Interpolated states of an integrator step and of the previous one. If eager, the interpolant is
    computed at once, otherwise on first use."""

    def __init__(self, integrator: Any, previous: "_Path | None", *, eager: bool):
        self.integrator, self.start, self.end = integrator, float(integrator.t_old), float(integrator.t)
        self.state, self.previous = integrator.y, previous
        self.dense: Any = integrator.dense_output() if eager else None
        if previous is not None:
            previous.previous = None

    def __call__(self, t: float) -> Array:
        if t == self.end:
            return np.asarray(self.state)
        if t < self.start and self.previous is not None:
            return self.previous(t)
        if self.dense is None:
            self.dense = self.integrator.dense_output()
        return np.asarray(self.dense(t))
