"""Event-driven (hybrid) scheme: smooth motion by SciPy's integrators, with events located in time.

Between events the active constraints are fixed and the motion is an ordinary differential equation (`Flow`).
An event is a gap that closes, a contact force that vanishes, a friction force that reaches its cone, or a
sliding velocity that vanishes. At an event the impact problem (velocities) and then the acceleration problem
(forces of closed contacts) of the coupled interactions are solved, and the smooth motion continues.

Users' guards (`Guard`) are events at which the state jumps. Integration also stops at edges, where functions
of time jump. First-order systems are integrated together with mechanical ones; without mechanical systems
they may have laws, such as diodes and relays (`event_driven_switches`).

Drift of closed gaps and joints is removed by projection at events and at the end of a step. Accumulating
impacts are integrated by time-stepping up to their accumulation point.
"""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from stickslip.options import option
from stickslip.problem.contact import Level
from stickslip.schemes.event_driven_decisions import Decisions
from stickslip.schemes.event_driven_guards import Guards, begun
from stickslip.schemes.event_driven_march import march
from stickslip.schemes.event_driven_run import Run
from stickslip.schemes.event_driven_standing import Standing
from stickslip.schemes.event_driven_switches import UNKNOWN, Switches, check
from stickslip.schemes.event_driven_zeno import KEPT
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import CONTACT_WORK, InteractionPart, Memory, Solver, Step, arrays, frozen_state
from stickslip.schemes.system_scheme import MarchingScheme
from stickslip.state import ModelError, State

LARGEST = 1e300
"""Default of `max_step`: no limit [s]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDriven(MarchingScheme):
    """Event-driven integration of systems of either order, with their laws and guards.

    A step of length h passes through all events inside it, so that h only sets the sampling of the motion.
    The law of an interaction is stated on accelerations while it is closed, on velocities at impacts.
    """

    level = Level.ACCELERATION
    takes_guards = True
    forgotten = MappingProxyType({"mode": -1.0, "hits": -np.inf, "direction": 0.0, "lam": 0.0})
    _march = march

    method: str = option(
        "DOP853",
        "SciPy integrator of the smooth motion",
        choices=("DOP853", "RK45", "Radau", "BDF", "LSODA"),
    )
    rtol: float = option(
        1e-10, "relative error of the smooth motion per integrator step", low=1e-13, high=0.1
    )
    atol: float = option(
        1e-12,
        "absolute error of the smooth motion, in the units of q, v and r",
        low=0.0,
        high=1.0,
        open_low=True,
    )
    max_step: float = option(LARGEST, "longest integrator step", unit="s", low=0.0, open_low=True)
    parts: int = option(
        8, "number of parts of an integrator step in which events are searched", low=1, high=1000
    )
    gap_tolerance: float = option(
        1e-9, "largest gap of touching contacts, at the start and at impacts of others", unit="m",
        low=0.0, open_low=True,
    )  # fmt: skip
    velocity_tolerance: float = option(
        1e-10, "smallest speed of approach of an impact", unit="m/s",
        low=0.0, open_low=True,
    )  # fmt: skip
    slow: float = option(
        1e-6, "speed below which planar sliding keeps its direction", unit="m/s", low=0.0, open_low=True
    )
    together: float = option(1e-13, "events within this time count as one", unit="s", low=0.0)
    zeno: float = option(
        1e-5, "impacts that accumulate within this time are not computed one by one", unit="s", low=0.0
    )
    crowd: int = option(500, "number of impacts within `zeno` that counts as an accumulation", low=2)
    accumulation: str = option(
        "time-stepping",
        "end of accumulating impacts: small Moreau-Jean steps, or one plastic impact",
        choices=("time-stepping", "plastic"),
    )
    small_steps: int = option(
        32, "number of time steps from the detection of an accumulation to its end", low=1, high=100_000
    )
    jam: bool = option(
        False,
        "where sliding has no finite force (Painlevé), stop it by an impact without collision, event `jam`;"
        " otherwise the step ends there and says so",
    )
    max_events: int = option(100_000, "largest number of events in one step", low=1)
    difference: float = option(
        1e-4,
        "time over which rates of outputs are differenced, at unit speed",
        unit="s",
        low=0.0,
        open_low=True,
    )

    def _begin(self, prepared: PreparedSystem, state: State, h: float) -> Memory:
        system = prepared.system
        switched = check(system)
        for one in () if switched else system.interactions:
            if one.mechanical.compliant:
                raise ModelError(
                    f"interaction {one.name!r} is compliant (y depends on lam); event-driven needs rigid"
                    " contacts: use moreau-jean"
                )
            if one.mechanical.has_input:
                raise ModelError(
                    f"interaction {one.name!r} has forces g(t, q, lam) of its own; event-driven needs forces"
                    " H lam: use moreau-jean"
                )
        blocks = system.blocks
        return arrays(
            mode=np.full(blocks, -1.0), direction=np.full(system.size, UNKNOWN if switched else 0.0),
            lam=np.zeros(system.size),
            hits=np.full((blocks, KEPT), -np.inf), until=np.full(blocks, -np.inf),
            pace=np.full(blocks, -np.inf), explained=np.zeros(blocks), substep=[min(h, 1e-3)],
            **begun(system),
        )  # fmt: skip

    def _step(self, prepared: PreparedSystem, state: State, memory: Memory, h: float, solver: Solver) -> Step:
        at = Standing(self, prepared, state, memory, solver)
        if at.system.interactions and not at.system.mechanical:
            return self._switched(at, prepared, state, memory, h)
        decisions = Decisions(at, memory)
        guards = Guards(at, decisions, memory)
        Run(at, decisions, guards).carry(state.t + h)
        end = frozen_state(at.t, at.q, at.v, at.z)
        y, u = at.motion.y(end.t, end.q), at.motion.u(end.t, end.q, end.v)
        forecast = np.array([y[p.normal] if p.unilateral else -np.inf for p in at.pieces])
        covered = h if at.t == state.t + h else at.t - state.t
        return Step(
            end, covered, at.impulse, u,
            arrays(
                mode=at.modes.written(at.pieces), direction=at.modes.direction, lam=at.lam,
                hits=decisions.accumulation.hits, until=at.until, pace=at.pace, explained=at.explained,
                substep=[at.substep], **guards.memory,
            ),
            InteractionPart(y, forecast, np.array(at.modes.closed), self.levels(prepared)),
            solves=tuple({id(one): one for one in at.solves.values()}.values()),
            events=tuple(at.events), reason=at.reason,
            measures={
                "impacts [-]": float(at.impacts), "projection [m]": at.projection, CONTACT_WORK: at.work,
            },
        )  # fmt: skip

    def _switched(
        self, at: Standing, prepared: PreparedSystem, state: State, memory: Memory, h: float
    ) -> Step:
        """Make a step of first-order systems with laws; r are their multipliers at the end of the step."""
        switches = Switches(at, memory)
        guards = Guards(at, switches, memory)
        Run(at, switches, guards).carry(state.t + h)
        lam, y = switches.finish()
        covered = h if at.t == state.t + h else at.t - state.t
        names = ("mode", "hits", "until", "pace", "explained")
        return Step(
            frozen_state(at.t, at.q, at.v, at.z), covered, lam, y,
            arrays(
                direction=switches.mode, lam=lam, substep=[at.substep], **guards.memory,
                **{name: memory[name] for name in names},
            ),
            InteractionPart(
                y, np.full(at.system.blocks, -np.inf), np.ones(at.system.blocks, bool),
                (Level.POSITION,) * len(at.system.interactions),
            ),
            solves=tuple({id(one): one for one in at.solves.values()}.values()),
            events=tuple(at.events), reason=at.reason,
        )  # fmt: skip
