"""Variational scheme for systems of equations: second order, with gaps of the new configuration.

    R(v) = H(q_k) r,   q_{k+1} = q_k + h v,   0 <= y(q_{k+1}) - bounce ⟂ r_N >= 0,   joints: y(q_{k+1}) = 0,

with Coulomb's law between r_T and H_T(q_k)' v. R are the discrete Euler-Lagrange equations of the trapezoidal
discrete Lagrangian (`variational_written_motion`, also for the treatment of N); with constant M this is the
Störmer-Verlet method. `variational_written_ties` states the laws. State.v is the velocity over the step that
ends at State.q, so it belongs to the midpoint of that step. The first step from (q, v) applies half of the
impulse of the forces, which makes positions accurate to second order. Forces are explicit in q: the scheme is
stable for h ω < 2.

A step is solved by Newton's method on tangent problems (`variational_written_step`). Gaps at the end of a
step are not negative, to h times the tolerance, and no contact is missed: blocks become active as soon as an
iterate would close them.

Contact models: `cone` is Coulomb's law; `pyramid` has four friction directions in place of the disc (Stewart
& Trinkle 1996), and `impact` no friction. The last two are relaxed models, and their runs are relaxed.
"""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from stickslip.options import iterations_option, option
from stickslip.problem.contact import Level
from stickslip.problem.step_problem import MODELS, RELAXATIONS
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import InteractionPart, Memory, Solver, Step, arrays, frozen_state
from stickslip.schemes.system_scheme import SystemScheme, require_second_order
from stickslip.schemes.variational_written_motion import (
    FORMS,
    Node,
    depends_on_velocity,
    node_of,
    require_stable,
)
from stickslip.schemes.variational_written_step import PartStep, StepWork, has_facets, step_energy
from stickslip.schemes.variational_written_ties import Output, refuse
from stickslip.state import State
from stickslip.systems.dynamics import SecondOrderDynamics
from stickslip.systems.system import NonsmoothSystem, Place

ENERGY = "energy over the step [J]"
"""Name of a measure: kinetic energy of the velocity over a step plus the mean potential of its ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variational(SystemScheme):
    """Variational time-stepping for second-order systems, with laws on the configuration at the end of a
    step."""

    level = Level.VELOCITY
    forgotten = MappingProxyType({"approach": 0.0, "r": 0.0})

    contact: str = option("cone", "law of friction; all except cone are relaxed models", choices=MODELS)
    form: str = option(
        "auto",
        "how M(q) is taken: variational where N is its own inertia force, else central; or one of them",
        choices=FORMS,
    )
    newton_tolerance: float = option(
        1e-11, "largest Newton correction of a motion without contacts, relative", low=0.0, high=1.0,
        open_low=True,
    )  # fmt: skip
    max_newton: int = iterations_option(50, "Newton iterations in a step")

    def _begin(self, prepared: PreparedSystem, state: State, h: float) -> Memory:
        system = prepared.system
        require_second_order(system, "variational")
        prepared.part(Known.of, self.form)
        refuse(system, state.q, state.z, state.t)
        for body, place in system.mechanical:
            require_stable(body, state.t, state.q[place.q], state.v[place.v], state.z[place.z], h)
        return arrays(h=[0.0], approach=np.zeros(system.blocks), r=np.zeros(system.size))

    def _step(self, prepared: PreparedSystem, state: State, memory: Memory, h: float, solver: Solver) -> Step:
        system = prepared.system
        z = system.update(state.t, state.q, state.v, state.z)
        with np.errstate(all="ignore"):  # non-finite values raise errors that name them
            known = prepared.part(Known.of, self.form)
            work = StepWork(known, system, state, z, memory, h)
            for part in known.parts:  # each part is an independent problem
                PartStep(self, work, part).solve(solver)
            if not (np.isfinite(work.q).all() and np.isfinite(work.v).all()):
                work.explain()
            return self._finished(system, work)

    def _finished(self, system: NonsmoothSystem, work: StepWork) -> Step:
        """Return the step as data, with its outputs, memory and energy."""
        state, h = work.state, work.h
        end = frozen_state(state.t + h, work.q, work.v, work.z)
        u, y, approach = np.zeros(system.size), np.zeros(system.size), np.zeros(system.blocks)
        for tie in work.ties:
            one = tie.output.bound
            u[one.components] = tie.velocity(work.v)
            y[one.components] = tie.gaps(work.q) + tie.bounce
            approach[one.blocks] = tie.remembered(work.r[one.components])
        measures = {ENERGY: step_energy(work)} if work.known.conservative else {}
        return Step(
            end, h, work.r, u, arrays(h=[h], approach=approach, r=work.r),
            InteractionPart(y, work.forecast, work.active, self.levels(system), tuple(work.components)),
            solves=tuple(work.solves), newton=work.newton, reason="; ".join(work.reasons), measures=measures,
            relaxation=_relaxation(self.contact, system),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Known:
    """Constants of a system, computed once per run."""

    bodies: tuple[tuple[SecondOrderDynamics, Place, type[Node], bool], ...]
    """Systems, their slices of the flat state, their classes of nodes, and whether their forces depend on
    v."""
    outputs: tuple[Output, ...]
    """Constants of the interactions."""
    parts: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    """Coupled systems and their interactions, by number."""
    conservative: bool
    """Whether the potential of all forces is known."""

    @classmethod
    def of(cls, prepared: PreparedSystem, form: str) -> "Known":
        """Return the constants of a system; raise ModelError for an unsupported system."""
        system, bodies = prepared.system, []
        for body, place in system.mechanical:
            kind = node_of(body, form)
            bodies.append((body, place, kind, depends_on_velocity(body, kind)))
        parts = tuple(
            (numbers, tuple(k for k, one in enumerate(system.interactions) if one.systems[0] in numbers))
            for numbers in system.parts
        )
        conservative = all(body.potential_known for body, _ in system.mechanical)
        return cls(tuple(bodies), tuple(map(Output, system.interactions)), parts, conservative)


def _relaxation(contact: str, system: NonsmoothSystem) -> str:
    """Return the law that the contact model uses in place of those of a system; empty if they agree."""
    for one in system.interactions:
        K = one.law.K
        if (contact == "pyramid" and has_facets(K)) or (contact == "impact" and K.coefficient.any()):
            return RELAXATIONS[contact]
    return ""
