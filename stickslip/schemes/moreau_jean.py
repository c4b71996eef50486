"""Moreau-Jean scheme for second-order systems of equations: laws on velocities, activation by forecast gaps.

    q⁺ = q + h T(q̄) v_θ,   M (v⁺ - v) = h F_θ + H(q̄) P,   and for active contacts the law on u⁺ + e u⁻

There are three variants (Siconos Developer's Notes 2017): nearly implicit (11.55), with q̄ at the start of the
step or at its end; semi-explicit (11.53); complete (11.51), with F and T at the θ-point and the rows at the
end. Moving constraints are evaluated at the end of the step, t + h, in all variants.
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
from stickslip.schemes.moreau_jean_newton import Coupled, Flat, Loop, LoopResult, solve_free
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
"""Largest number of rounds of the combined projection (heuristic)."""
PATTERNS = 1000
"""Largest number of cached sets of active blocks."""


class Known:
    """Constants of a system, computed once per run: masses, rows, cached sets of active blocks."""

    def __init__(self, prepared: PreparedSystem):
        system = prepared.system
        self.bodies: list[tuple[SecondOrderDynamics, Place, Array | None]] = [
            (body, place, _constant_inverse(system, body, place)) for body, place in system.mechanical
        ]
        """Systems, their places in the flat state, and M⁻¹ of those with constant mass."""
        self.outputs = [Output(system, one) for one in system.interactions]
        self.position = {one.name: k for k, one in enumerate(system.interactions)}
        """Index of each interaction in `outputs`, by name."""
        self.levels = tuple(output.level for output in self.outputs)
        self.patterns: dict[object, Pattern] = {}
        """Cached patterns, by h and the active blocks."""


def _constant_inverse(system: NonsmoothSystem, body: SecondOrderDynamics, place: Place) -> Array | None:
    """Return M⁻¹ of a system with constant mass; otherwise None."""
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
        """Return θ of the system with that name [-]."""
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
            work = self._start(prepared, state, memory, h, flat)
            r, results = work.solve(solver)
            measures = {} if self.projection == "none" else self._project(work, r, results, solver)
            return self._finished(work, r, results, measures)
        except FloatingPointError:
            explain_step(system, state, flat.z, flat.t, flat.q, flat.v)
            raise AssertionError from None

    @property
    def moving(self) -> bool:
        """Whether rows are evaluated at the end of a step."""
        return self.variant == "complete" or (self.variant == "nearly-implicit" and self.frame == "current")

    def motions(self, constants: Known, t: float, h: float, q: Array, v: Array, z: Array) -> list[Motion]:
        """Return the motions of all systems, at the start of a step from t."""
        return [
            Motion(body, place, inverse_, self.weight(body.name), self.variant, self.moving, t, h, q, v, z)
            for body, place, inverse_ in constants.bodies
        ]

    def _start(
        self, prepared: PreparedSystem, state: State, memory: Memory, h: float, flat: Flat
    ) -> "StepWork":
        """Return the data of a step at its start: outputs, motions, active blocks."""
        t, q, v, z = state.t, state.q, state.v, flat.z
        system, constants = prepared.system, prepared.part(Known)
        y = None if z.size else memory["y"]  # y of the last step is not valid if z may have changed
        ties = [
            Tie(output, t, q, v, z, None if y is None or output.compliant else y[output.bound.components])
            for output in constants.outputs
        ]
        forecast = np.full(system.blocks, -np.inf)
        delta = self.delta if self.activation == "distance" else None
        loop = Loop(h, self.moving, self.form, self.newton_tolerance, self.newton_max)
        work = StepWork(system, constants, state, flat, loop, delta, memory["r"], ties, forecast)
        work.motions = self._motions(work)
        work.begin()
        return work

    def _motions(self, work: "StepWork") -> list[Motion]:
        """Return all motions at the start of the step, and write their first iterates to `work.flat`."""
        state, h = work.state, work.loop.h
        motions = self.motions(work.constants, state.t, h, state.q, state.v, work.flat.z)
        for motion in motions:
            work.flat.take(motion)
        return motions

    def _project(
        self, work: "StepWork", r: Array, results: list[LoopResult], solver: Solver
    ) -> dict[str, float]:
        """Project q onto the constraints. In the combined projection, inactive contacts that had to be
        projected become active, and the step is solved again until there are no more of them."""
        how = "velocity" if self.projection == "velocity" else "direct"
        flat, rounds = work.flat, ROUNDS if self.projection == "combined" else 1
        for round_ in range(rounds):
            projected = project(
                work.system, flat.t, flat.q, flat.z, work.on, how, self.projection_tolerance, solver
            )
            if round_ == rounds - 1 or not work.activate(projected.pushed):
                break
            work.motions = self._motions(work)
            again = work.solve(solver)
            r[:], results[:] = again
        flat.q = projected.q
        return {"projection [m]": projected.size, "violation [m]": projected.violation}

    def _finished(
        self, work: "StepWork", r: Array, results: list[LoopResult], measures: dict[str, float]
    ) -> Step:
        """Return the step as data: outputs, active blocks, and the reason of a failure."""
        system, state, flat = work.system, work.state, work.flat
        require_finite(flat.v)
        require_finite(flat.q)
        end = frozen_state(flat.t, flat.q, flat.v, flat.z)
        u, y = _outputs(system, work.ties, end, r, work.loop.h)
        r.flags.writeable = y.flags.writeable = False
        active = np.zeros(system.blocks, bool)
        for name, blocks in work.on.items():
            active[system.interaction[name].blocks.start + blocks] = True
        worst = max(results, key=lambda result: result.error)
        reason = ""
        if worst.error > 0.0:
            reason = (
                f"at t = {state.t:.9g} s Newton stopped after {worst.iterations} iterations"
                f" with {worst.error:.1e} of the momentum missing (tolerance {self.newton_tolerance:.0e})"
            )
        if measures.get("violation [m]", 0.0) > self.projection_tolerance:
            violation = f"the projection left a violation of {measures['violation [m]']:.1e} m"
            reason = f"{reason}; {violation}" if reason else f"at t = {state.t:.9g} s {violation}"
        return Step(
            end, work.loop.h, r, u, {"r": r, "y": y},
            InteractionPart(
                y, work.forecast, active, work.constants.levels,
                tuple(places for result in results for places in result.components),
            ),
            solves=tuple(solution for result in results for solution in result.solves),
            newton=max(result.iterations for result in results), reason=reason, measures=measures,
        )  # fmt: skip


@dataclass(slots=True)
class StepWork:
    """Working data of one step from `state`; `flat` is the current iterate of its end."""

    system: NonsmoothSystem
    """The system."""
    constants: Known
    """Its constants."""
    state: State
    """State at the start of the step."""
    flat: Flat
    """Current iterate of all systems."""
    loop: Loop
    """Options of Newton's loop."""
    delta: float | None
    """Distance within which contacts are active [m]; None for activation by the forecast."""
    guess: Array
    """Impulses of the previous step [N s], shape (size,)."""
    ties: list[Tie]
    """Interactions in this step."""
    forecast: Array
    """Gaps that decide which blocks are active [m], shape (blocks,)."""
    on: dict[str, IntArray] = field(default_factory=dict)
    """Active blocks, by the name of their interaction [-], shape (any,)."""
    motions: list[Motion] = field(default_factory=list)
    """Systems in this step."""
    slack: float = 0.0
    """Threshold of `kernels/activation.py` for blocks that touch [m]."""

    def begin(self) -> None:
        """Determine the active blocks by their forecast and the threshold of the step."""
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
        """Activate more blocks; return whether some of them were not active before."""
        before = sum(active.size for active in self.on.values())
        for name, added in blocks.items():
            self.on[name] = np.union1d(self.on.get(name, NONE), added)
        return sum(active.size for active in self.on.values()) > before

    def solve(self, solver: Solver) -> tuple[Array, list[LoopResult]]:
        """Solve all coupled and all free systems: impulses [N s], shape (size,), and results."""
        r, results = np.zeros(self.system.size), []
        coupled_systems: set[int] = set()
        for group in coupled([one for one in self.system.interactions if one.name in self.on]):
            pattern_ = _pattern(self.constants, self.system, [(one.name, self.on[one.name]) for one in group],
                                self.loop.h)  # fmt: skip
            result = self._solve_coupled(pattern_, solver)
            r[pattern_.components] = result.r
            if len(result.solves) == 1:  # not in the two phases of Poisson's impact
                result.components = (self._impulse_indices(pattern_),)
            coupled_systems.update(pattern_.systems)
            results.append(result)
        for i, motion in enumerate(self.motions):
            if i not in coupled_systems:
                results.append(solve_free(motion, self.loop))
                self.flat.take(motion)
        return r, results

    def _impulse_indices(self, pattern_: Pattern) -> IntArray:
        """Return the indices of a pattern's impulses among all components, bilateral ones last."""
        if self.loop.form != "global":
            return pattern_.components
        return pattern_.components[np.concatenate([pattern_.other, pattern_.free])]

    def _solve_coupled(self, pattern_: Pattern, solver: Solver) -> LoopResult:
        """Solve coupled systems, in one phase or in the two phases of Poisson's impact."""
        ties = [self.ties[self.constants.position[one.name]] for one in pattern_.ties]
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
        result = second.newton(self.flat, self.loop, solver, guess)
        result.solves = (compression, *result.solves)
        return result

    def _compress(
        self, whole: Pattern, ties: list[Tie], on: list[IntArray], solver: Solver
    ) -> tuple[Array, Solution]:
        """Return the impulses of the compression over all components [N s], shape (size,), and the solution
        of its problem."""
        parts = [(tie, impulsive(tie, blocks)) for tie, blocks in zip(ties, on, strict=True)]
        hit = [(tie, blocks) for tie, blocks in parts if blocks.size]
        active = [(tie.output.bound.name, blocks) for tie, blocks in hit]
        part = _pattern(self.constants, self.system, active, self.loop.h)
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
        """Return θ of the first system of each interaction of a pattern [-]."""
        return [self.motions[one.systems[0]].theta for one in pattern_.ties]


def _pattern(
    constants: Known, system: NonsmoothSystem, active: list[tuple[str, IntArray]], h: float
) -> Pattern:
    """Return the pattern of these active blocks, from the cache if it was made for the same h."""
    key = (h, *((name, blocks.tobytes()) for name, blocks in active))
    cached = constants.patterns.get(key)
    if cached is None:
        if len(constants.patterns) >= PATTERNS:
            constants.patterns.clear()
        ties = [system.interaction[name] for name, _ in active]
        cached = constants.patterns[key] = pattern(system, ties, [blocks for _, blocks in active], h)
    return cached


def _outputs(system: NonsmoothSystem, ties: list[Tie], end: State, r: Array, h: float) -> tuple[Array, Array]:
    """Return u, on which the laws are stated (ẏ, or y of compliant relations), and y at the end of the step,
    shape (size,) each."""
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
