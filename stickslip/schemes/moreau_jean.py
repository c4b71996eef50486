"""Moreau-Jean: impulses and velocities over a step, gaps by forecast.

    q⁺ = q + h T(q̄) v_θ,   M (v⁺ - v) = h F_θ + H(q̄) P,   and for active contacts the law on u⁺ + e u⁻

Three variants of the Siconos Developer's Notes 2017: nearly implicit (11.55), with q̄ the start of the step or
its end; semi-explicit (11.53); complete (11.51), with F and T at the θ-point and the rows at the end. What a
moving constraint does is taken at the end of the step, t + h, in all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from stickslip.options import Options, check, option
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import Level
from stickslip.schemes.moreau_jean_contacts import Output, Tie, refuse, require_finite
from stickslip.schemes.moreau_jean_motion import Motion, inverse
from stickslip.schemes.moreau_jean_newton import Coupled, Flat, Found, Loop, alone
from stickslip.schemes.problems import Pattern, coupled, pattern
from stickslip.schemes.step import Memory, Scheme, Solver, State, Step, arrays, frozen_state
from stickslip.systems.dynamics import SecondOrderDynamics
from stickslip.systems.quantities import ModelError
from stickslip.systems.system import NonsmoothSystem, Place

PATTERNS = 1000
"""Most sets of active blocks that are remembered."""


class Prepared:
    """What a scheme need not ask a system again: constant masses and rows, sets of active blocks."""

    def __init__(self, system: NonsmoothSystem):
        self.bodies: list[tuple[SecondOrderDynamics, Place, Array | None]] = [
            (body, place, _constant_inverse(system, body, place)) for body, place in system.mechanical
        ]
        self.outputs = [Output(system, one) for one in system.interactions]
        self.position = {one.name: k for k, one in enumerate(system.interactions)}
        self.levels = tuple(output.level for output in self.outputs)
        self.patterns: dict[object, Pattern] = {}

    @classmethod
    def of(cls, system: NonsmoothSystem) -> "Prepared":
        """That of `system`, made on first use and kept with it."""
        found: Prepared | None = system.__dict__.get("_moreau_jean")
        if found is None:
            found = cls(system)
            system.__dict__["_moreau_jean"] = found
        return found


def _constant_inverse(system: NonsmoothSystem, body: SecondOrderDynamics, place: Place) -> Array | None:
    if not body.constant_mass:
        return None
    return inverse(body.name, 0.0, body.mass(0.0, system.q0[place.q], system.z0[place.z]))


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreauJean(Options, Scheme):
    """Moreau-Jean time-stepping for second-order systems."""

    theta: float | Mapping[str, float] = option(
        0.5,
        "weight of the end of the step, or one by system name (0.5 for those not named)",
        low=0.0,
        high=1.0,
    )
    variant: str = option(
        "nearly-implicit", "where forces are taken: both ends, the start, or the θ-point",
        choices=("nearly-implicit", "semi-explicit", "complete"),
    )  # fmt: skip
    frame: str = option(
        "start", "where a nearly implicit step takes rows and T(q): its start or its end",
        choices=("start", "current"),
    )  # fmt: skip
    activation: str = option(
        "forecast", "contacts that enter: those whose forecast gap closes, or those within delta",
        choices=("forecast", "distance"),
    )  # fmt: skip
    delta: float = option(0.0, "distance within which contacts enter", unit="m", low=0.0)
    form: str = option(
        "reduced", "problem over contacts, or over velocities with joints as equations",
        choices=("reduced", "global"),
    )  # fmt: skip
    newton_tolerance: float = option(
        1e-10, "momentum and law may be off by this, relatively", low=0.0, high=1.0, open_low=True
    )
    newton_max: int = option(50, "most Newton iterations", low=1)

    def __post_init__(self) -> None:
        for spec in fields(self):
            value = getattr(self, spec.name)
            if spec.name == "theta" and isinstance(value, Mapping):
                for one in value.values():
                    check(type(self).__name__, spec, one)
            else:
                check(type(self).__name__, spec, value)

    def levels(self, system: NonsmoothSystem) -> tuple[Level, ...]:
        return Prepared.of(system).levels

    def weight(self, name: str) -> float:
        """theta of the system of that name [-]."""
        theta = self.theta
        return theta.get(name, 0.5) if isinstance(theta, Mapping) else theta

    def begin(self, system: NonsmoothSystem, state: State, h: float) -> Memory:
        for flow, _ in system.flows:
            raise ModelError(f"system {flow.name!r} is of first order; moreau-jean is for second order")
        if isinstance(self.theta, Mapping):
            for name in self.theta:
                if name not in system.number:
                    raise ModelError(
                        f"theta names the unknown system {name!r}; known: {', '.join(system.number)}"
                    )
        refuse(system, {name: self.weight(name) for name in system.number}, self.form)
        y = np.zeros(system.size)
        for one in system.interactions:
            lam, q, z = np.zeros(one.law.size), state.q[one.q], state.z[one.z]
            y[one.components] = one.mechanical.y(state.t, q, lam, z)
        return arrays(r=np.zeros(system.size), y=y)

    def step(self, system: NonsmoothSystem, state: State, memory: Memory, h: float, solver: Solver) -> Step:
        flat = Flat(state.t + h, state.q, state.q.copy(), state.v.copy(), state.z)
        try:
            return self._step(system, state, memory, h, solver, flat)
        except FloatingPointError:
            _explain(system, state, flat)
            raise AssertionError from None

    def _step(
        self, system: NonsmoothSystem, state: State, memory: Memory, h: float, solver: Solver, flat: Flat
    ) -> Step:
        t, q, v = state.t, state.q, state.v
        prepared = Prepared.of(system)
        flat.z = z = system.update(t, q, v, state.z)
        y = None if z.size else memory["y"]  # discrete parameters may have changed since
        ties = [
            Tie(output, t, q, v, z, None if y is None or output.compliant else y[output.bound.components])
            for output in prepared.outputs
        ]
        forecast = np.full(system.blocks, -np.inf)
        delta = self.delta if self.activation == "distance" else None
        on = {}
        for tie in ties:
            one = tie.output.bound
            blocks = tie.activate(h, delta, forecast[one.blocks])
            if blocks.size:
                on[one.name] = blocks
        active = forecast <= 0.0
        moving = self.variant == "complete" or (self.variant == "nearly-implicit" and self.frame == "current")
        loop = Loop(h, moving, self.form, self.newton_tolerance, self.newton_max)
        motions = [
            Motion(body, place, known, self.weight(body.name), self.variant, moving, t, h, q, v, z)
            for body, place, known in prepared.bodies
        ]
        for motion in motions:
            flat.take(motion)
        r, memory_r = np.zeros(system.size), memory["r"]
        found: list[Found] = []
        busy: set[int] = set()
        for group in coupled([tie.output.bound for tie in ties if tie.output.bound.name in on]):
            pattern_ = _pattern(prepared, system, [(one.name, on[one.name]) for one in group], h)
            mine = [ties[prepared.position[one.name]] for one in group]
            systems = Coupled(
                pattern_, [motions[i] for i in pattern_.systems], mine,
                [tie.prescribe(h, delta) for tie in mine],
                [motions[one.systems[0]].theta for one in group],
            )  # fmt: skip
            one_found = systems.newton(flat, loop, solver, memory_r[pattern_.components])
            r[pattern_.components] = one_found.r
            busy.update(pattern_.systems)
            found.append(one_found)
        for i, motion in enumerate(motions):
            if i not in busy:
                found.append(alone(motion, loop))
                flat.take(motion)
        require_finite(flat.v)
        require_finite(flat.q)
        end = frozen_state(flat.t, flat.q, flat.v, z)
        u, y = _outputs(system, ties, end, r, h)
        r.flags.writeable = y.flags.writeable = False
        worst = max(found, key=lambda one: one.error)
        reason = ""
        if worst.error > 0.0:
            reason = (
                f"at t = {t:.9g} s Newton stopped after {worst.iterations} iterations"
                f" with {worst.error:.1e} of the momentum missing (tolerance {self.newton_tolerance:.0e})"
            )
        return Step(
            end, h, r, u, y, forecast, active, prepared.levels, {"r": r, "y": y},
            tuple(solution for one in found for solution in one.solves),
            max(one.iterations for one in found), (), reason,
        )  # fmt: skip


def _pattern(
    prepared: Prepared, system: NonsmoothSystem, active: list[tuple[str, IntArray]], h: float
) -> Pattern:
    """The pattern of those blocks, made once for as long as h stays."""
    key = (h, *((name, blocks.tobytes()) for name, blocks in active))
    known = prepared.patterns.get(key)
    if known is None:
        if len(prepared.patterns) >= PATTERNS:
            prepared.patterns.clear()
        ties = [system.interaction[name] for name, _ in active]
        known = prepared.patterns[key] = pattern(system, ties, [blocks for _, blocks in active], h)
    return known


def _outputs(system: NonsmoothSystem, ties: list[Tie], end: State, r: Array, h: float) -> tuple[Array, Array]:
    """What the laws were stated on (ẏ, or y where compliant), and y, at the end of the step."""
    u, y = np.empty(system.size), np.empty(system.size)
    for tie in ties:
        output, one = tie.output, tie.output.bound
        q, z, at = end.q[one.q], end.z[one.z], one.components
        if output.compliant:
            y[at] = u[at] = output.mechanical.y(end.t, q, r[at] / h, z)
        else:
            y[at] = output.mechanical.y(end.t, q, output.zero, z)
            u[at] = tie.C @ end.v[one.v]
            if tie.drift is not None:
                u[at] += tie.drift
    return u, y


def _explain(system: NonsmoothSystem, state: State, flat: Flat) -> None:
    """Raise a ModelError that names what is not finite, at the start of the step or on the way to its end."""
    system.explain(state.t, state.q, state.v, flat.z)
    if np.isfinite(flat.q).all() and np.isfinite(flat.v).all():
        system.explain(flat.t, flat.q, flat.v, flat.z)
    raise ModelError(f"the step from t = {state.t:.9g} s is not finite; take a smaller h")
