"""Euler-Moreau scheme for first-order systems: M ẋ = f(t, x) + r, y = h(t, x, lam), r = g(t, x, lam).

Siconos Developer's Notes 2017, chapter 9: the standard theta-gamma scheme (9.5), the full theta-gamma scheme
(9.6) with the relation at k + gamma, and its midpoint variant (9.7). The multipliers lam are not impulses:
they are not scaled with h, and bounds apply to lam itself.
"""

from dataclasses import dataclass

import numpy as np

from stickslip.options import option
from stickslip.problem.contact import Level
from stickslip.problem.solution import Solution
from stickslip.schemes.euler_moreau_march import march
from stickslip.schemes.euler_moreau_newton import Begin, PartStep, Weights, part_step
from stickslip.schemes.euler_moreau_parts import parts
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import InteractionPart, Memory, Solver, Step, arrays, frozen_state
from stickslip.schemes.system_scheme import MarchingScheme
from stickslip.state import ModelError, State
from stickslip.systems.system import NonsmoothSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class EulerMoreau(MarchingScheme):
    """Implicit time-stepping for first-order systems with nonsmooth laws.

    With relation "end" and gamma < 1 the scheme needs the input r_0 before the first step. It is computed by
    an additional first step with gamma = 1, and is accurate to O(h), which preserves the order of the scheme.
    Use gamma = 1 if the initial state is inconsistent (x must jump).
    """

    level = Level.POSITION
    _march = march

    theta: float = option(1.0, "weight of the end of the step in f", low=0.0, high=1.0)
    gamma: float = option(1.0, "weight of the end of the step in the input r", low=0.0, high=1.0)
    relation: str = option(
        "end",
        "instant of the relation: the end of the step, k + gamma, or k + gamma with f at k + theta",
        choices=("end", "gamma", "midpoint"),
    )
    newton_tolerance: float = option(
        1e-11,
        "tolerance on the Newton correction, relative to the state",
        low=0.0,
        open_low=True,
    )
    newton_limit: int = option(30, "largest number of Newton iterations in a step", low=1)

    def _begin(self, prepared: PreparedSystem, state: State, h: float) -> Memory:
        system = prepared.system
        for body, _ in system.mechanical:
            raise ModelError(
                f"system {body.name!r} is of second order; euler-moreau is for first order:"
                " use moreau-jean, or write it as a first-order system"
            )
        for one in system.interactions:
            if one.law.impact and one.law.restitution.any():
                raise ModelError(
                    f"interaction {one.name!r}: {type(one.law).__name__} has restitution, but first-order"
                    " systems have no impacts: use Complementarity, or e = 0"
                )
        return arrays(lam=np.zeros(system.size), r=np.zeros(state.q.shape[0]), started=[0.0])

    def _step(self, prepared: PreparedSystem, state: State, memory: Memory, h: float, solver: Solver) -> Step:
        system = prepared.system
        t, x = state.t, state.q
        z = system.update(t, x, state.v, state.z)
        x_new, r, lam, u = np.array(x), np.array(memory["r"]), np.array(memory["lam"]), np.zeros(system.size)
        solves: list[Solution] = []
        newton, reasons = 0, []
        for part in prepared.part(parts):  # each part is an independent problem
            begin = Begin(t, h, x[part.x], memory["lam"][part.lam], memory["r"][part.x], z)
            if self.weights.old and not memory["started"][0] and part.ties:
                implicit = Weights(self.theta, False, 1.0, 1.0, 0.0)
                first = part_step(part, begin, implicit, solver, self.newton_tolerance, self.newton_limit)
                begin = Begin(t, h, begin.x, first.point.lam, first.point.r, z)
            result: PartStep = part_step(
                part, begin, self.weights, solver, self.newton_tolerance, self.newton_limit
            )
            x_new[part.x], r[part.x] = result.point.x, result.point.r
            lam[part.lam], u[part.lam] = result.point.lam, result.point.y
            solves += result.solves
            newton = max(newton, result.newton)
            reasons += [result.reason] if result.reason else []
        end = frozen_state(t + h, x_new, np.zeros(0), z)
        y = u if self.weights.rho == 1.0 else self._outputs(system, end, lam)
        return Step(
            end, h, lam, u, arrays(lam=lam, r=r, started=[1.0]),
            InteractionPart(
                y, np.full(system.blocks, -np.inf), np.ones(system.blocks, bool), self.levels(prepared)
            ),
            solves=tuple(solves), newton=newton, reason="; ".join(reasons),
        )  # fmt: skip

    @property
    def weights(self) -> Weights:
        """Instants and weights of the terms of a step."""
        if self.relation == "end":
            return Weights(self.theta, False, self.gamma, 1.0, 1.0 - self.gamma)
        return Weights(self.theta, self.relation == "midpoint", 1.0, self.gamma, 0.0)

    def _outputs(self, system: NonsmoothSystem, end: State, lam: np.ndarray) -> np.ndarray:
        """Return the outputs at the end of the step with the multipliers of k + gamma."""
        y = np.zeros(system.size)
        for one in system.interactions:
            y[one.components] = one.flow.h(end.t, end.q[one.q], lam[one.components], end.z[one.z])
        return y
