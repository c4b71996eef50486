"""Moreau-Jean: impulses and velocities over a step, gaps by forecast.

    q⁺ = q + h T(q̄) v_θ,   M (v⁺ - v) = h F_θ + H(q̄) P,   and for active contacts the law on u⁺ + e u⁻

Three variants of the Siconos Developer's Notes 2017: nearly implicit (11.55), with q̄ the start of the step or
its end; semi-explicit (11.53); complete (11.51), with F and T at the θ-point and the rows at the end. What a
moving constraint does is taken at the end of the step, t + h, in all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType

import numpy as np

from stickslip.kernels.activation import threshold
from stickslip.names import alternatives
from stickslip.options import check, option
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import Level
from stickslip.problem.solution import Solution
from stickslip.schemes.march import march, strip
from stickslip.schemes.moreau_jean_contacts import NONE, Output, Tie, refuse, require_finite
from stickslip.schemes.moreau_jean_motion import Motion, inverse
from stickslip.schemes.moreau_jean_newton import Coupled, Flat, Found, Loop, alone
from stickslip.schemes.poisson import AtStart, Compressing, Expanding, compresses, impulsive, restitution
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.problems import Pattern, coupled, pattern
from stickslip.schemes.projection import project
from stickslip.schemes.step import InteractionPart, Memory, Solver, Step, arrays, frozen_state
from stickslip.schemes.system_scheme import MarchingScheme, explain_step, require_closed, require_second_order
from stickslip.state import ModelError, State
from stickslip.systems.dynamics import SecondOrderDynamics
from stickslip.systems.system import NonsmoothSystem, Place

ROUNDS = 10
"""Most times that a step is done again by the combined projection."""
PATTERNS = 1000
"""Most sets of active blocks that are remembered."""


class Known:
    """What a scheme need not ask a system again: constant masses and rows, sets of active blocks."""

    def __init__(self, prepared: PreparedSystem):
        system = prepared.system
        self.bodies: list[tuple[SecondOrderDynamics, Place, Array | None]] = [
            (body, place, _constant_inverse(system, body, place)) for body, place in system.mechanical
        ]
        self.outputs = [Output(system, one) for one in system.interactions]
        self.position = {one.name: k for k, one in enumerate(system.interactions)}
        self.levels = tuple(output.level for output in self.outputs)
        self.patterns: dict[object, Pattern] = {}


def _constant_inverse(system: NonsmoothSystem, body: SecondOrderDynamics, place: Place) -> Array | None:
    if not body.constant_mass:
        return None
    return inverse(body.name, 0.0, body.mass(0.0, system.q0[place.q], system.z0[place.z]))


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreauJean(MarchingScheme):
    """Moreau-Jean time-stepping for second-order systems."""

    _march = march
    strip = strip
    forgotten = MappingProxyType({"r": 0.0})

    theta: float | Mapping[str, float] = option(
        0.5,
        "weight of the end of the step; or a dictionary by system name (0.5 for other systems)",
        low=0.0,
        high=1.0,
    )
    variant: str = option(
        "nearly-implicit", "evaluation of forces: at both ends, at the start, or at the θ-point",
        choices=("nearly-implicit", "semi-explicit", "complete"),
    )  # fmt: skip
    frame: str = option(
        "start", "evaluation of rows and T(q) in a nearly implicit step: at its start or its end",
        choices=("start", "current"),
    )  # fmt: skip
    activation: str = option(
        "forecast", "active contacts: those whose forecast gap closes, or those within delta",
        choices=("forecast", "distance"),
    )  # fmt: skip
    delta: float = option(0.0, "largest distance of active contacts", unit="m", low=0.0)
    form: str = option(
        "reduced", "problem over contacts, or over velocities with joints as equations",
        choices=("reduced", "global"),
    )  # fmt: skip
    projection: str = option(
        "none", "bring positions back onto the constraints after the step: not, directly, through velocities,"
        " or together with the step until velocities and positions agree",
        choices=("none", "direct", "velocity", "combined"),
    )  # fmt: skip
    projection_tolerance: float = option(
        1e-10, "largest violation of the constraints after a projection", unit="m", low=0.0, open_low=True
    )
    newton_tolerance: float = option(
        1e-10, "relative tolerance on momentum and law", low=0.0, high=1.0, open_low=True
    )
    newton_max: int = option(50, "largest number of Newton iterations", low=1)

    def __post_init__(self) -> None:
        for spec in fields(self):
            value = getattr(self, spec.name)
            if spec.name == "theta" and isinstance(value, Mapping):
                for one in value.values():
                    check(type(self).__name__, spec, one)
            else:
                check(type(self).__name__, spec, value)

    def levels(self, system: NonsmoothSystem | PreparedSystem) -> tuple[Level, ...]:
        return PreparedSystem.of(system).part(Known).levels

    def weight(self, name: str) -> float:
        """theta of the system of that name [-]."""
        theta = self.theta
        return theta.get(name, 0.5) if isinstance(theta, Mapping) else theta

    def _begin(self, prepared: PreparedSystem, state: State, h: float) -> Memory:
        system = prepared.system
        require_second_order(system, "moreau-jean")
        if isinstance(self.theta, Mapping):
            for name in self.theta:
                if name not in system.number:
                    raise ModelError(
                        f"theta names the unknown system {name!r}; {alternatives(name, system.number)}"
                    )
        refuse(system, {name: self.weight(name) for name in system.number}, self.form)
        y = np.zeros(system.size)
        for one in system.interactions:
            y[one.components] = one.y(state.t, state.q, state.z)
        if self.projection == "none":
            for one in system.interactions:
                if not one.mechanical.compliant:
                    require_closed(one, y[one.components], state.t, ', or give projection="direct"')
        return arrays(r=np.zeros(system.size), y=y)

    def _step(self, prepared: PreparedSystem, state: State, memory: Memory, h: float, solver: Solver) -> Step:
        system = prepared.system
        flat = Flat(state.t + h, state.q, state.q.copy(), state.v.copy(), state.z)
        try:
            flat.z = system.update(state.t, state.q, state.v, state.z)
            passage = self._passage(prepared, state, memory, h, flat)
            r, found = passage.carry(solver)
            measures = {} if self.projection == "none" else self._project(passage, r, found, solver)
            return self._finished(passage, r, found, measures)
        except FloatingPointError:
            explain_step(system, state, flat.z, flat.t, flat.q, flat.v)
            raise AssertionError from None

    @property
    def moving(self) -> bool:
        """Whether rows are those of the end of a step."""
        return self.variant == "complete" or (self.variant == "nearly-implicit" and self.frame == "current")

    def motions(self, known: Known, t: float, h: float, q: Array, v: Array, z: Array) -> list[Motion]:
        """All systems, as a step from t begins."""
        return [
            Motion(body, place, inverse_, self.weight(body.name), self.variant, self.moving, t, h, q, v, z)
            for body, place, inverse_ in known.bodies
        ]

    def _passage(
        self, prepared: PreparedSystem, state: State, memory: Memory, h: float, flat: Flat
    ) -> "Passage":
        """What is known as the step begins: outputs, active blocks, motions on their way."""
        t, q, v, z = state.t, state.q, state.v, flat.z
        system, known = prepared.system, prepared.part(Known)
        y = None if z.size else memory["y"]  # discrete parameters may have changed since
        ties = [
            Tie(output, t, q, v, z, None if y is None or output.compliant else y[output.bound.components])
            for output in known.outputs
        ]
        forecast = np.full(system.blocks, -np.inf)
        delta = self.delta if self.activation == "distance" else None
        loop = Loop(h, self.moving, self.form, self.newton_tolerance, self.newton_max)
        passage = Passage(system, known, state, flat, loop, delta, memory["r"], ties, forecast)
        passage.motions = self._motions(passage)
        passage.begin()
        return passage

    def _motions(self, passage: "Passage") -> list[Motion]:
        state, h = passage.state, passage.loop.h
        motions = self.motions(passage.known, state.t, h, state.q, state.v, passage.flat.z)
        for motion in motions:
            passage.flat.take(motion)
        return motions

    def _project(self, passage: "Passage", r: Array, found: list[Found], solver: Solver) -> dict[str, float]:
        """Bring q back onto the constraints. Combined: contacts that had to be pushed back without having
        been active become active, and the step is done again, until there are no more of them."""
        how = "velocity" if self.projection == "velocity" else "direct"
        flat, rounds = passage.flat, ROUNDS if self.projection == "combined" else 1
        for round_ in range(rounds):
            projected = project(
                passage.system, flat.t, flat.q, flat.z, passage.on, how, self.projection_tolerance, solver
            )
            if round_ == rounds - 1 or not passage.activate(projected.pushed):
                break
            passage.motions = self._motions(passage)
            again = passage.carry(solver)
            r[:], found[:] = again
        flat.q = projected.q
        return {"projection [m]": projected.size, "violation [m]": projected.violation}

    def _finished(self, passage: "Passage", r: Array, found: list[Found], measures: dict[str, float]) -> Step:
        system, state, flat = passage.system, passage.state, passage.flat
        require_finite(flat.v)
        require_finite(flat.q)
        end = frozen_state(flat.t, flat.q, flat.v, flat.z)
        u, y = _outputs(system, passage.ties, end, r, passage.loop.h)
        r.flags.writeable = y.flags.writeable = False
        active = np.zeros(system.blocks, bool)
        for name, blocks in passage.on.items():
            active[system.interaction[name].blocks.start + blocks] = True
        worst = max(found, key=lambda one: one.error)
        reason = ""
        if worst.error > 0.0:
            reason = (
                f"at t = {state.t:.9g} s Newton stopped after {worst.iterations} iterations"
                f" with {worst.error:.1e} of the momentum missing (tolerance {self.newton_tolerance:.0e})"
            )
        if measures.get("violation [m]", 0.0) > self.projection_tolerance:
            left = f"the projection left a violation of {measures['violation [m]']:.1e} m"
            reason = f"{reason}; {left}" if reason else f"at t = {state.t:.9g} s {left}"
        return Step(
            end, passage.loop.h, r, u, {"r": r, "y": y},
            InteractionPart(
                y, passage.forecast, active, passage.known.levels,
                tuple(places for one in found for places in one.components),
            ),
            solves=tuple(solution for one in found for solution in one.solves),
            newton=max(one.iterations for one in found), reason=reason, measures=measures,
        )  # fmt: skip


@dataclass(slots=True)
class Passage:
    """What a step works with on its way from the state at its start to `flat`."""

    system: NonsmoothSystem
    known: Known
    state: State
    flat: Flat
    loop: Loop
    delta: float | None
    """Distance within which contacts enter [m]; None where their forecast decides."""
    guess: Array
    """Impulses of the last step [N s], shape (size,)."""
    ties: list[Tie]
    forecast: Array
    """What decided which blocks are active [m], shape (blocks,)."""
    on: dict[str, IntArray] = field(default_factory=dict)
    """Active blocks, by the name of their interaction [-], shape (any,)."""
    motions: list[Motion] = field(default_factory=list)
    slack: float = 0.0
    """Threshold of `kernels/activation.py` for blocks that touch [m]."""

    def begin(self) -> None:
        """The active blocks, by their forecast and the threshold of the step."""
        h, waiting = self.loop.h, [tie for tie in self.ties if tie.output.waits]
        if waiting:
            v_free = self.state.v.copy()
            for motion in self.motions:
                motion.linearise()
                v_free[motion.place.v] = motion.v_free
            self.slack = threshold(h, max(tie.speed(v_free) for tie in waiting))
        for tie in self.ties:
            one = tie.output.bound
            blocks = tie.activate(h, self.delta, self.slack, self.forecast[one.blocks])
            if blocks.size:
                self.on[one.name] = blocks

    def activate(self, blocks: dict[str, IntArray]) -> bool:
        """Make blocks active as well; whether some of them were not."""
        before = sum(one.size for one in self.on.values())
        for name, more in blocks.items():
            self.on[name] = np.union1d(self.on.get(name, NONE), more)
        return sum(one.size for one in self.on.values()) > before

    def carry(self, solver: Solver) -> tuple[Array, list[Found]]:
        """Every set of coupled systems to the end of the step: impulses [N s], and what was found."""
        r, found = np.zeros(self.system.size), []
        busy: set[int] = set()
        for group in coupled([one for one in self.system.interactions if one.name in self.on]):
            pattern_ = _pattern(self.known, self.system, [(one.name, self.on[one.name]) for one in group],
                                self.loop.h)  # fmt: skip
            one_found = self._together(pattern_, solver)
            r[pattern_.components] = one_found.r
            if len(one_found.solves) == 1:  # not in the two phases of Poisson's impact
                one_found.components = (self._stand(pattern_),)
            busy.update(pattern_.systems)
            found.append(one_found)
        for i, motion in enumerate(self.motions):
            if i not in busy:
                found.append(alone(motion, self.loop))
                self.flat.take(motion)
        return r, found

    def _stand(self, pattern_: Pattern) -> IntArray:
        """Where the impulses of the problem of a pattern stand among all, bilateral ones last."""
        if self.loop.form != "global":
            return pattern_.components
        return pattern_.components[np.concatenate([pattern_.other, pattern_.free])]

    def _together(self, pattern_: Pattern, solver: Solver) -> Found:
        """Coupled systems, in one phase or in Poisson's two."""
        ties = [self.ties[self.known.position[one.name]] for one in pattern_.ties]
        arguments = (
            pattern_, [self.motions[i] for i in pattern_.systems], ties,
            [tie.prescribe(self.loop.h, self.delta, self.slack) for tie in ties], self._weights(pattern_),
        )  # fmt: skip
        guess = self.guess[pattern_.components]
        if not compresses(ties):
            return Coupled(*arguments).newton(self.flat, self.loop, solver, guess)
        on = [self.on[one.name] for one in pattern_.ties]
        r, compression = self._compress(pattern_, ties, on, solver)
        second = Expanding(*arguments).compressed(r[pattern_.components], restitution(pattern_, on))
        found = second.newton(self.flat, self.loop, solver, guess)
        found.solves = (compression, *found.solves)
        return found

    def _compress(
        self, whole: Pattern, ties: list[Tie], on: list[IntArray], solver: Solver
    ) -> tuple[Array, Solution]:
        """Impulses of the first phase over all components [N s], shape (size,), and their problem."""
        parts = [(tie, impulsive(tie, blocks)) for tie, blocks in zip(ties, on, strict=True)]
        hit = [(tie, blocks) for tie, blocks in parts if blocks.size]
        active = [(tie.output.bound.name, blocks) for tie, blocks in hit]
        part = _pattern(self.known, self.system, active, self.loop.h)
        state = self.state
        first = Compressing(
            part, [AtStart(self.motions[i]) for i in part.systems], [tie for tie, _ in hit],
            [tie.output.bound.bias(tie.t, tie.u_before) for tie, _ in hit], self._weights(part),
        )  # fmt: skip
        start = Flat(state.t, state.q, state.q, state.v, self.flat.z)
        r = np.zeros(self.system.size)
        r[part.components], compression = first.impulses(start, self.loop, solver)
        return r, compression

    def _weights(self, pattern_: Pattern) -> list[float]:
        return [self.motions[one.systems[0]].theta for one in pattern_.ties]


def _pattern(known: Known, system: NonsmoothSystem, active: list[tuple[str, IntArray]], h: float) -> Pattern:
    """The pattern of those blocks, made once for as long as h stays."""
    key = (h, *((name, blocks.tobytes()) for name, blocks in active))
    found = known.patterns.get(key)
    if found is None:
        if len(known.patterns) >= PATTERNS:
            known.patterns.clear()
        ties = [system.interaction[name] for name, _ in active]
        found = known.patterns[key] = pattern(system, ties, [blocks for _, blocks in active], h)
    return found


def _outputs(system: NonsmoothSystem, ties: list[Tie], end: State, r: Array, h: float) -> tuple[Array, Array]:
    """What the laws were stated on (ẏ, or y where compliant), and y, at the end of the step."""
    u, y = np.empty(system.size), np.empty(system.size)
    for tie in ties:
        output, one = tie.output, tie.output.bound
        q, z, at = end.q[one.q], end.z[one.z], one.components
        if output.compliant:
            y[at] = u[at] = output.mechanical.y(end.t, q, r[at] / h, z)
        else:
            y[at] = one.y(end.t, end.q, end.z)
            u[at] = tie.C @ end.v[one.v]
            if tie.drift is not None:
                u[at] += tie.drift
    return u, y
