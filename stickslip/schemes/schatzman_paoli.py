"""Schatzman-Paoli scheme: laws on positions, restitution by an average of the positions around a step.

    M(q_k) (q_{k+1} - 2 q_k + q_{k-1}) - h² F(t_{k+θ}, q_{k+θ}, v_{k+θ}) = p_{k+1},
    q̄ = (q_{k+1} + e q_{k-1}) / (1 + e),   y = y(q̄),   p = H(q̄) lam,   0 <= y ⟂ lam >= 0

Siconos Developer's Notes 2017, (8.17) and (10.8); their (10.9), (10.11), (10.14a) and (10.15) have misprints
(the sign of h² F, M at the unknown, F_ext left out, h² on K alone). The scheme is written in displacements
d_k = q_{k+1} - q_k, which rounds better:  M(q_k) (d_k - d_{k-1}) - w h² F = w p = h r,  with r in N s.

- Velocity: `central` v_{k+1} = (q_{k+1} - q_{k-1}) / 2h, which is v at t_k to O(h²) and at t_{k+1} only to
  O(h), or `backward` (q_{k+1} - q_k) / h, which is v at the midpoint to O(h²).
- Start and change of h: the second difference over the steps h_b and h is h (d/h - d_b/h_b) with the weight
  w = (h_b + h) / 2h on the forces. A start is h_b = 0 with d_b/h_b = v_0, which gives
  q_1 = q_0 + h v_0 + h²/2 M⁻¹ (F + p): of second order, contact forces of the start included; in q̄ and
  in v_1 stands q_{-1} = q_0 - h v_0.
- Order: the second difference is centred at t_k, so θ = 0 (explicit, stable for h ω < 2) is of order 2 if F
  does not depend on v. Every other θ is of order 1; θ >= 1/2 is stable for all h and slightly damped.
- Restitution holds over two steps, in which gaps may be negative by O(h).
- A moving constraint is evaluated at t̄ = (t_{k+1} + e t_{k-1}) / (1 + e).
- Work of contacts: with the midpoint velocities w_k = (q_{k+1} - q_k) / h, M (w_k - w_{k-1}) = h F + r, so
  ½ M w_k² - ½ M w_{k-1}² is the work of h F + r over (w_{k-1} + w_k)/2, exactly if M is constant. The measure
  of a step is the part of r. Neither formula of v at the ends of the step would give a balance.
- Rotating bodies, q̇ = T(q) v: displacements are those of velocities, d = h v at the midpoint,
  q_{k+1} = q_k ⊕ d by `moved`, and q̄ = q_k ⊕ (d_k - e d_{k-1}) / (1 + e), which agrees if q̇ = v.
- Components of friction and dry joints (intervals) are not in the notes. Here their law is stated on the
  displacement over the step, H'(q̄) (q_{k+1} - q_k): Coulomb's law with the increment in place of u_T.
"""

from dataclasses import dataclass
from functools import reduce
from operator import add
from types import MappingProxyType

import numpy as np

from stickslip.options import iterations_option, option
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem, Level
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import Solution
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.problems import components_of, coupled, problem_of
from stickslip.schemes.schatzman_paoli_tangent import Around, Layout, Tangent, layout_of, moved
from stickslip.schemes.step import CONTACT_WORK, InteractionPart, Memory, Solver, Step, arrays, frozen_state
from stickslip.schemes.system_scheme import SystemScheme, edge_impulse, require_second_order
from stickslip.state import BoolArray, ModelError, State
from stickslip.systems.system import NonsmoothSystem

ROUNDING = 32.0 * float(np.finfo(float).eps)
"""Relative error of coordinates that counts as rounding [-]: 32 times the machine precision."""
STAGNATION = 1e-7
"""Error of a Newton iterate, relative to the displacement, that is accepted if it no longer decreases [-]
(heuristic)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchatzmanPaoli(SystemScheme):
    """Schatzman-Paoli time-stepping for second-order systems."""

    level = Level.POSITION
    forgotten = MappingProxyType({"r": 0.0})

    theta: float = option(0.5, "weight of the end of the step in the forces", low=0.0, high=1.0)
    velocity: str = option("central", "formula of the velocity", choices=("central", "backward"))
    newton_tolerance: float = option(
        1e-10, "tolerance on the Newton correction, relative to the displacement over the"
            " step", low=0.0, high=1.0,
        open_low=True,
    )  # fmt: skip
    max_newton: int = iterations_option(30, "Newton iterations in a step")

    def _begin(self, prepared: PreparedSystem, state: State, h: float) -> Memory:
        system = prepared.system
        require_second_order(system, "schatzman-paoli")
        for one in system.interactions:
            if one.law.impact == "poisson":
                raise ModelError(
                    f"interaction {one.name!r}: Poisson's impact has two phases of impulses; schatzman-paoli"
                    " has Newton's restitution only (see moreau-jean)"
                )
            if one.law.has_own_bias:
                raise ModelError(
                    f"interaction {one.name!r}: {type(one.law).__name__} says itself what an impact owes to"
                    " the velocity before; schatzman-paoli averages positions by a constant e"
                    " (see moreau-jean)"
                )
        return arrays(rate=state.v, h=np.zeros(1), r=np.zeros(system.size))

    def _step(self, prepared: PreparedSystem, state: State, memory: Memory, h: float, solver: Solver) -> Step:
        system = prepared.system
        z = system.update(state.t, state.q, state.v, state.z)
        before = float(memory["h"][0])
        weight, owed = 0.5 * (h + before) / h, edge_impulse(system, state, z, before)
        central = self.velocity == "central"
        around = Around(state, z, h, self.theta, central, weight, h * memory["rate"], owed)
        with np.errstate(all="ignore"):  # non-finite values raise errors that name them
            result = self._newton(prepared, around, h * memory["r"], solver)
        d, impulse = result.d, result.multipliers / h
        q_new, v_new = moved(system, state.q, d), around.velocity(d)
        y = np.empty(system.size)
        for one in system.interactions:
            lam = result.multipliers[one.components] / around.force
            y[one.components] = one.mechanical.y(state.t + h, q_new[one.q], lam, z[one.z])
        work = float(result.pushed @ (d + around.before)) / (2.0 * h * h)
        return Step(
            frozen_state(state.t + h, q_new, v_new, z), h, impulse, result.value,
            arrays(rate=d / h, h=[h], r=impulse),
            InteractionPart(y, result.forecast, result.active, self.levels(prepared)),
            solves=result.solves, newton=result.newton, reason=result.reason, measures={CONTACT_WORK: work},
        )  # fmt: skip

    def _newton(
        self, prepared: PreparedSystem, around: Around, guess: Array, solver: Solver
    ) -> "_NewtonResult":
        """Run Newton's loop (10.13): one complementarity problem per iteration, until q_{k+1} converges."""
        system, layout = prepared.system, prepared.part(layout_of)
        tangent = Tangent(system, layout, around, around.before, guess)
        active, error = layout.always, np.inf
        forecast = np.full(system.blocks, -np.inf)
        for newton in range(1, self.max_newton + 1):
            # 1. Solve the linearised step.
            tangent.free()
            if newton == 1:
                waits = layout.normals[~active]
                forecast[~active] = tangent.free_value[waits] / layout.factor[waits]
            d, multipliers, active, solves = _solved(system, layout, tangent, active, guess, solver)
            # 2. Error of the new iterate.
            predicted = tangent.value_at(d, multipliers)
            tangent = Tangent(system, layout, around, d, multipliers)
            last, error = error, tangent.error(layout, active, predicted)
            if not np.isfinite(error):
                _explain(system, around, d)
            size = float(np.abs(np.concatenate([d, around.before, tangent.drop])).max(initial=0.0))
            noise = ROUNDING * float(np.abs(around.state.q).max(initial=0.0))
            stuck = error > 0.5 * last and error <= STAGNATION * size
            if error <= self.newton_tolerance * size + noise or stuck:
                reason = ""
                break
            guess = multipliers
        else:
            reason = (
                f"Newton's loop left {error:.2e} m after {self.max_newton} iterations; use a smaller step"
            )
        return _NewtonResult(
            d, multipliers, tangent.pushed(multipliers), tangent.value / layout.factor, forecast, active,
            solves, newton, reason,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _NewtonResult:
    """Result of Newton's loop."""

    d: Array
    """Displacement over the step [m, rad], shape (nv,)."""
    multipliers: Array
    """h r, shape (size,)."""
    pushed: Array
    """H h r, shape (nv,)."""
    value: Array
    """Variable of the laws [m], shape (size,)."""
    forecast: Array
    """Gaps of the motion without multipliers [m], shape (blocks,)."""
    active: BoolArray
    """Blocks that entered the problem [-], shape (blocks,), bool."""
    solves: tuple[Solution, ...]
    """Solutions of the last iteration."""
    newton: int
    """Number of iterations."""
    reason: str
    """Reason of a failure; empty without one."""


def _solved(
    system: NonsmoothSystem, layout: Layout, tangent: Tangent, active: BoolArray, guess: Array,
    solver: Solver,
) -> tuple[Array, Array, BoolArray, tuple[Solution, ...]]:  # fmt: skip
    """Solve the linearised step: d, multipliers, active blocks and solutions.

    Open blocks are included only if the solution of the others closes them. The solution is the same as with
    all blocks, from smaller problems.
    """
    active = np.array(active)
    normals = layout.normals
    value, d = tangent.free_value, tangent.d_free
    multipliers: Array = np.zeros(guess.shape[0])
    solves: tuple[Solution, ...] = ()
    while True:
        late = ~active & ~(value[normals] >= 0.0)
        if not late.any() and (solves or not active.any()):
            return d, multipliers, active, solves
        active |= late
        if not np.isfinite(value).all():
            return d, multipliers, active, solves
        multipliers, solutions = np.zeros(guess.shape[0]), []
        for group in coupled([one for one in system.interactions if active[one.blocks].any()]):
            # Bounds are forces; at position level they are multiplied by w h².
            on = [components_of(one, active[one.blocks], tangent.around.force) for one in group]
            keep = np.concatenate([components for components, _ in on])
            problem = _problem(tangent, keep, reduce(add, [K for _, K in on]))
            solution = solver.solve(problem, guess=guess[keep])
            multipliers[keep] = solution.r
            solutions.append(solution)
        solves = tuple(solutions)
        d = tangent.d_free + tangent.solve_A(tangent.pushed(multipliers))
        value = tangent.value_at(d, multipliers)


def _problem(tangent: Tangent, keep: IntArray, K: ProductSet) -> ContactProblem | BoxProblem:
    """Return the problem value = W m + free_value on the active components of coupled interactions."""
    C = tangent.C[keep]
    W = C @ tangent.solve_A(tangent.H[:, keep])
    if tangent.D is not None:
        W = W + tangent.D[np.ix_(keep, keep)]
    symmetric = not np.abs(W - W.T).max(initial=0.0) > 1e-9 * np.abs(W).max(initial=0.0)
    return problem_of(W, tangent.free_value[keep], K, Level.POSITION, symmetric)


def _explain(system: NonsmoothSystem, around: Around, d: Array) -> None:
    """Raise ModelError that names the non-finite quantity."""
    state, theta = around.state, around.theta
    system.explain(state.t, state.q, state.v, around.z)
    finite = np.where(np.isfinite(d), d, around.before)
    v = (1.0 - theta) * state.v + theta * around.velocity(finite)
    system.explain(state.t + theta * around.h, moved(system, state.q, theta * finite), v, around.z)
    system.explain(state.t + around.h, moved(system, state.q, d), state.v, around.z)
    raise ModelError(f"at t = {state.t:.9g} s, the step of {around.h:.3g} s is not finite; use a smaller one")
