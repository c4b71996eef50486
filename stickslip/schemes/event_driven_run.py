"""One step of the event-driven scheme at work: flow until something happens, decide what follows, go on."""

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
"""Relative to the time, what is too short to be integrated."""
VANISHED = 1e-3
"""A mass that has fallen to this part of what it was is why an integrator's steps have become too short."""


class Run:
    """Carries a step from event to event."""

    def __init__(self, at: Standing, decisions: Decisions | Switches, guards: Guards):
        self.at, self.decisions, self.guards = at, decisions, guards

    def carry(self, end: float) -> None:
        """Go to the end of the step, through all events on the way."""
        edge = self.at.motion.enter(self.at.t)
        self.decisions.begin()
        for group in self.at.groups:
            if self.at.handed_over(group):
                self._onward(group, end)
        while not self.at.stopped and self.at.t < end:
            at = self.at
            if at.t >= edge:
                edge = at.motion.enter(at.t)
            flow = self.decisions.flow()
            crossing = self._flow(flow, min([end, edge, *(one[0] for one in at.away)]))
            if crossing is not None:
                self._decide(flow, crossing)
                for group, until, speed in self.decisions.leaving():
                    send(at, group, until, speed)
                    self._onward(group, end)
            else:
                for group in at.caught_up():
                    self._onward(group, end)
        self.at.settle_drift()

    def _decide(self, flow: Flow | SwitchedFlow, crossing: Crossing) -> None:
        """What follows a crossing: of contacts first, then of guards."""
        own = crossing.which >= len(flow.watched)
        if not own.all():
            self.decisions.decide(flow, Crossing(crossing.t, crossing.which[~own], crossing.suddenly[~own]))
        if own.any() and not self.at.stopped:
            self.guards.passed(crossing.which[own] - len(flow.watched), crossing.suddenly[own])

    def _onward(self, group: list[Bound], end: float) -> None:
        """Time-stepping of what was handed to it, or what follows when it is over."""
        if self.at.until[group[0].blocks.start] > self.at.t:
            before = np.array(self.at.impulse)
            carry(self.at, group, end)
            self.decisions.forget(group, self.at.impulse != before)
            self.guards.overtaken()
        else:
            self.decisions.take_over(group)

    def _flow(self, flow: Flow | SwitchedFlow, end: float) -> Crossing | None:
        """Integrate until the end or the first crossing."""
        options, t = self.at.options, self.at.t
        state = flow.begin(self.at.q, self.at.v)
        guards, count = self.guards, len(flow.watched)

        def values(t: float, state: Array) -> Array:
            found = flow.values(t, state)
            return np.concatenate([found, guards.values(t, state)]) if guards else found

        def value(i: int, t: float, state: Array) -> float:
            return flow.value(i, t, state) if i < count else guards.value(i - count, t, state)

        g, slope = values(t, state), flow.slopes(t, state)
        floors, gaps = self._floors(flow, state), slice(0, len(flow.open))
        # What opened a little below zero is given the time to rise.
        rising = slope >= -options.velocity_tolerance
        floors[gaps] += np.where(rising, np.maximum(-1.001 * g[gaps], 0.0), 0.0)
        look = Lookout(t, g, slope, floors, options.together)
        look.risen[count:] |= guards.risen
        guards.risen = look.risen[count:]  # which the lookout goes on to write to
        crossing = look.start()
        if crossing is not None:
            return crossing
        if end - t <= SHORTEST * max(abs(t), abs(end)):
            self._arrive(flow, end, state)
            return None
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
                # The last step is cut at the end, so what follows from it is too short.
                self.at.substep = (
                    proposed if integrator.status == "running" else max(self.at.substep, proposed)
                )
        self._arrive(flow, end, np.array(integrator.y))
        return None

    def _explain_masses(self, flow: Flow | SwitchedFlow, t: float, state: Array) -> None:
        """A ModelError that names the system whose mass matrix is what the integrator cannot pass."""
        q = state[: flow.nq]
        for body, place in self.at.system.mechanical:
            M = body.mass(t, q[place.q], self.at.z[place.z])
            largest = np.abs(body.mass(self.at.t, self.at.q[place.q], self.at.z[place.z])).max()
            if not np.isfinite(M).all() or np.linalg.eigvalsh(M)[0] <= VANISHED * largest:
                raise ModelError(
                    f"system {body.name!r}: at t = {t:.9g} s, M becomes singular or is not positive definite"
                )

    def _arrive(self, flow: Flow | SwitchedFlow, t: float, state: Array) -> None:
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
        """How far below zero each watched quantity is still zero."""
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
    """The states within an integrator step and, if eager, within the one before; otherwise interpolated
    only if asked for."""

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
