"""The variational scheme on systems written as equations: second order, gaps of the new configuration.

    R(v) = H(q_k) r,   q_{k+1} = q_k + h v,   0 <= y(q_{k+1}) - bounce ⟂ r_N >= 0,   y(q_{k+1}) = 0 of joints,

with Coulomb's law between r_T and H_T(q_k)' v. R are the discrete Euler-Lagrange equations of the
trapezoidal discrete Lagrangian (`variational_written_motion`, which says what becomes of N): with constant M
the method of Störmer and Verlet. `variational_written_ties` says what the laws are stated on. State.v is the
velocity over the step that led to State.q, so it lies half a step before it; a start (q, v) is given half a
kick, which makes positions of second order. Forces are explicit in q: stable for h ω < 2.

A step is solved by Newton's method on tangent problems: at an iterate v momentum and laws are those of a
GlobalProblem  S v' = f + H r,  u = H'v' + u_bias  with S the symmetric part of dR/dv, and f and u_bias such
that at v itself S v - f - H r = R(v) - H r and u is what the laws are stated on. The answer is judged by its
own tangent problem, which the step carries in `solves`. Gaps at the end of a step are then not negative, to
h times the tolerance, and no contact is missed: blocks enter as soon as an iterate would close them.

Contact models: `cone` is Coulomb's law; `pyramid` has four directions of friction in the place of the disk
(Stewart & Trinkle 1996), and `impact` no friction. The last two are relaxed models, and so are their runs.
"""

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from types import MappingProxyType

import numpy as np
from scipy.linalg import block_diag

from stickslip.options import iterations_option, option
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import GlobalProblem, Level
from stickslip.problem.convert.pyramid import pyramid_lcp
from stickslip.problem.convert.reduce import reduce_to_contacts
from stickslip.problem.mass import MassMatrix
from stickslip.problem.residuals import Residuals, examine
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import Solution, Status
from stickslip.problem.step_problem import MODELS, RELAXATIONS
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import InteractionPart, Memory, Solver, Step, arrays, frozen_state
from stickslip.schemes.system_scheme import SystemScheme, edge_impulse, explain_step, require_second_order
from stickslip.schemes.variational_written_motion import (
    FORMS,
    Central,
    Node,
    depends_on_velocity,
    node_of,
    require_stable,
)
from stickslip.schemes.variational_written_ties import Output, Tie, components_with, refuse
from stickslip.state import BoolArray, ModelError, State
from stickslip.systems.dynamics import SecondOrderDynamics
from stickslip.systems.system import NonsmoothSystem, Place

ROUNDING = 64.0 * float(np.finfo(float).eps)
"""Relative error of coordinates and momenta that is taken for rounding [-]."""
FACETS = 4
"""Directions of friction of a pyramid."""
ENERGY = "energy over the step [J]"
"""Measure: kinetic energy of the velocity over a step and the mean potential of its ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variational(SystemScheme):
    """Variational time-stepping for second-order systems, with laws on the configuration at the end."""

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
        with np.errstate(all="ignore"):  # what is not finite is named
            known = prepared.part(Known.of, self.form)
            now = _Now(known, system, state, z, memory, h)
            for part in known.parts:
                _Passage(self, now, part).carry(solver)
            if not (np.isfinite(now.q).all() and np.isfinite(now.v).all()):
                now.explain()
            return self._finished(system, now)

    def _finished(self, system: NonsmoothSystem, now: "_Now") -> Step:
        state, h = now.state, now.h
        end = frozen_state(state.t + h, now.q, now.v, now.z)
        u, y, approach = np.zeros(system.size), np.zeros(system.size), np.zeros(system.blocks)
        for tie in now.ties:
            one = tie.output.bound
            u[one.components] = tie.velocity(now.v)
            y[one.components] = tie.gaps(now.q) + tie.bounce
            approach[one.blocks] = tie.remembered(now.r[one.components])
        measures = {ENERGY: _energy(now)} if now.known.conservative else {}
        return Step(
            end, h, now.r, u, arrays(h=[h], approach=approach, r=now.r),
            InteractionPart(y, now.forecast, now.active, self.levels(system), tuple(now.components)),
            solves=tuple(now.solves), newton=now.newton, reason="; ".join(now.reasons), measures=measures,
            relaxation=_relaxation(self.contact, system),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of a system for good."""

    bodies: tuple[tuple[SecondOrderDynamics, Place, type[Node], bool], ...]
    """Systems, where their numbers stand, how they are carried, and whether their forces follow v."""
    outputs: tuple[Output, ...]
    parts: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    """Numbers of systems that interactions tie together, and of those interactions."""
    conservative: bool
    """Whether the potential of all forces is known."""

    @classmethod
    def of(cls, prepared: PreparedSystem, form: str) -> "Known":
        """That of a system; a ModelError where one of its systems cannot be carried."""
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


class _Now:
    """A step on its way: what it begins with, and what has been found."""

    def __init__(
        self, known: Known, system: NonsmoothSystem, state: State, z: Array, memory: Memory, h: float
    ):
        t, q, v = state.t, state.q, state.v
        before = float(memory["h"][0])
        self.known, self.system, self.state, self.z, self.h = known, system, state, z, h
        self.weight = 0.5 * (h + before)
        """For which forces count [s]."""
        self.nodes = [
            kind(body, place, t, q, v, z, h, before, follows) for body, place, kind, follows in known.bodies
        ]
        owed = edge_impulse(system, state, z, before)
        if owed is not None:
            for node in self.nodes:
                node.before = node.before + owed[node.place.v]
        self.ties = [
            Tie(output, t, h, q, v, z, memory["approach"][output.bound.blocks]) for output in known.outputs
        ]
        self.guess = memory["r"]
        self.q, self.v = np.array(q), np.array(v)
        self.r = np.zeros(system.size)
        self.forecast = np.full(system.blocks, -np.inf)
        self.active = np.zeros(system.blocks, bool)
        self.solves: list[Solution] = []
        self.components: list[IntArray] = []
        """Where the impulses of each of them stand in r."""
        self.reasons: list[str] = []
        self.newton = 0

    def explain(self) -> None:
        """A ModelError that names what is not finite, or else what came of it."""
        explain_step(self.system, self.state, self.z, self.state.t + self.h, self.q, self.v)


@dataclass(eq=False)
class _Problem:
    """The tangent problem at an iterate, in the form that the solver is given."""

    exact: GlobalProblem
    """The laws on the friction cones."""
    pyramid: bool
    """Whether it is solved, and judged, with pyramids in their place."""

    def solve(self, solver: Solver, r: Array) -> tuple[Array, Array, Array, Solution]:
        """Impulses, velocities, unknowns of the problem that was solved, and what was said of them."""
        if not self.pyramid:
            solution = solver.solve(self.exact, guess=r)
            assert solution.v is not None
            return solution.r, solution.v, solution.r, solution
        reduced = reduce_to_contacts(self.exact)
        facets = pyramid_lcp(reduced.problem, FACETS)
        solution = solver.solve(facets.problem, guess=facets.guess(r))
        found = facets.recover(solution.r).r
        v = reduced.recover(found).v
        assert v is not None
        return found, v, solution.r, solution

    def judged(self, x: Array, r: Array, v: Array, solution: Solution) -> Solution:
        """The same answer with the judge's word on this problem."""
        residuals, u = examine(self.exact, r, v, None)
        if not self.pyramid:
            return _renewed(solution, self.exact, r, v, u, residuals)
        facets = pyramid_lcp(reduce_to_contacts(self.exact).problem, FACETS).problem
        flat, w = examine(facets, x, None, None)
        worst = Residuals(
            flat.natural, flat.natural_scaled, flat.impulse, flat.velocity, flat.work, flat.worst,
            equilibrium=residuals.equilibrium,
        )  # fmt: skip
        return _renewed(solution, facets, x, None, w, worst)


def _renewed(
    solution: Solution, problem: object, r: Array, v: Array | None, u: Array, residuals: Residuals
) -> Solution:
    solved = residuals.solved(solution.tolerance)
    status = Status.SOLVED if solved else (Status.STALLED if solution.ok else solution.status)
    reason = "" if solved or not solution.ok else "the step moves on from its tangent problem"
    return solution.with_(
        problem=problem, r=r, v=v, u=u, residuals=residuals, status=status, reason=reason or solution.reason
    )


@dataclass(eq=False)
class _Passage:
    """Systems tied together, and their interactions, from the start of a step to its end."""

    scheme: Variational
    now: _Now
    part: tuple[tuple[int, ...], tuple[int, ...]]
    nodes: list[Node] = field(init=False)
    ties: list[Tie] = field(init=False)
    velocities: IntArray = field(init=False)
    """Where their velocities stand in the flat v [-], shape (nv,)."""

    def __post_init__(self) -> None:
        numbers, interactions = self.part
        self.nodes = [self.now.nodes[i] for i in numbers]
        self.ties = [self.now.ties[k] for k in interactions]
        self.velocities = np.concatenate([np.arange(n.place.v.start, n.place.v.stop) for n in self.nodes])

    def carry(self, solver: Solver) -> None:
        """Write the end of the step into `now`."""
        self._alone()
        self._forecast()
        if any(self.now.active[tie.output.bound.blocks].any() for tie in self.ties):
            self._together(solver)

    def _take(self, v: Array) -> None:
        """The iterate v of these systems, and where it leads."""
        now = self.now
        now.v[self.velocities] = v
        for node in self.nodes:
            now.q[node.place.q] = node.end(now.v[node.place.v])

    def _alone(self) -> None:
        """The motion without interactions: Newton's method, system by system."""
        now, scheme = self.now, self.scheme
        for node in self.nodes:
            v = node.v
            for iteration in range(1, scheme.max_newton + 1):
                change = _solved(node.tangent(v), -node.residual(v), node, now.state.t)
                v = v + change
                now.newton = max(now.newton, iteration)
                size = max(float(np.abs(v).max(initial=0.0)), float(np.abs(node.v).max(initial=0.0)))
                off = float(np.abs(change).max(initial=0.0))
                if not np.isfinite(v).all() or off <= scheme.newton_tolerance * size:
                    break
                if isinstance(node, Central) and not node.follows:
                    break
            else:
                now.reasons.append(
                    f"system {node.body.name!r}: Newton stopped after {scheme.max_newton} iterations with a"
                    f" correction of {off / size:.1e} of the velocity; use a smaller step"
                )
            now.v[node.place.v] = v
            now.q[node.place.q] = node.end(v)

    def _forecast(self) -> None:
        """Gaps that the motion without interactions leads to; the blocks that it closes enter."""
        now = self.now
        for tie in self.ties:
            one, output = tie.output.bound, tie.output
            gaps = tie.gaps(now.q)[output.normals]
            forecast = now.forecast[one.blocks]
            forecast[output.unilateral] = gaps
            now.active[one.blocks] = forecast <= 0.0

    def _late(self) -> bool:
        """Whether blocks that are not active would be closed by the iterate; they become so."""
        late = False
        for tie in self.ties:
            one, output = tie.output.bound, tie.output
            closed = np.zeros(len(output.law.K), bool)
            closed[output.unilateral] = tie.gaps(self.now.q)[output.normals] < 0.0
            closed &= ~self.now.active[one.blocks]
            self.now.active[one.blocks] |= closed
            late |= bool(closed.any())
        return late

    def _together(self, solver: Solver) -> None:
        """Newton's loop: one tangent problem per iteration, until the judge accepts the answer as its own."""
        now, v = self.now, self.now.v[self.velocities]
        now.r[:] = np.where(self._mine(), now.guess, now.r)
        keep, K = self._active()
        problem, iterations = self._problem(v, keep, K), 0
        for _ in range(self.scheme.max_newton):
            r, v, x, solution = problem.solve(solver, now.r[keep])
            iterations += 1
            predicted = problem.exact.contact_velocity(v)
            now.r[self._mine()] = 0.0
            now.r[keep] = r
            self._take(v)
            late = self._late()
            if late:
                keep, K = self._active()
            problem = self._problem(v, keep, K)
            if late:
                continue
            found = problem.judged(x, r, v, solution)
            if found.ok or not solution.ok:
                break
            missed = np.abs(problem.exact.contact_velocity(v) - predicted).max(initial=0.0)
            noise = ROUNDING * float(np.abs(now.q).max(initial=0.0)) / now.h
            if missed <= noise and found.residuals.equilibrium <= solution.tolerance:
                found = solution  # what its tangent problem missed is rounding of the coordinates
                break
        now.newton = max(now.newton, iterations)
        now.solves.append(solution if late else found)
        if not problem.pyramid:
            now.components.append(keep)
        if late or (solution.ok and not found.ok):
            now.reasons.append(
                f"at t = {now.state.t:.9g} s the step was not found in {iterations} tangent problems"
                f" (residual {now.solves[-1].residuals.error:.1e}); use a smaller step"
            )

    def _mine(self) -> BoolArray:
        """Components of these interactions among all [-], shape (size,), bool."""
        mine = np.zeros(self.now.r.shape[0], bool)
        for tie in self.ties:
            mine[tie.output.bound.components] = True
        return mine

    def _active(self) -> tuple[IntArray, ProductSet]:
        """Components of the active blocks in the flat r, and their set."""
        now, contact = self.now, self.scheme.contact
        bounds = [tie.output.bound for tie in self.ties]
        some = [one for one in bounds if now.active[one.blocks].any()]
        found = [components_with(one, now.active[one.blocks], contact, now.weight) for one in some]
        return np.concatenate([part for part, _ in found]), reduce(add, [K for _, K in found])

    def _problem(self, v: Array, keep: IntArray, K: ProductSet) -> _Problem:
        """The tangent problem at the iterate v, whose end `now` holds."""
        now = self.now
        R, masses = [], []
        for node in self.nodes:
            own = now.v[node.place.v]
            R.append(node.residual(own))
            masses.append(_positive(node.tangent(own), node, now.state.t))
        S = masses[0] if len(masses) == 1 else block_diag(*masses)
        rows, u = np.zeros((now.r.shape[0], now.v.shape[0])), np.zeros(now.r.shape[0])
        for tie in self.ties:
            one = tie.output.bound
            rows[one.components, one.v] = tie.rows
            u[one.components] = tie.law_variable(now.q, now.v)
        H = rows[np.ix_(keep, self.velocities)].T
        f, bias = S @ v - np.concatenate(R), u[keep] - H.T @ v
        if not (np.isfinite(f).all() and np.isfinite(bias).all()):
            now.explain()
        faceted = self.scheme.contact == "pyramid" and has_facets(K)
        return _Problem(GlobalProblem(MassMatrix(S), f, H, bias, K), faceted)  # type: ignore[arg-type]


def _relaxation(contact: str, system: NonsmoothSystem) -> str:
    """What the contact model puts in the place of the laws of a system; empty where it is the same."""
    for one in system.interactions:
        K = one.law.K
        if (contact == "pyramid" and has_facets(K)) or (contact == "impact" and K.coefficient.any()):
            return RELAXATIONS[contact]
    return ""


def has_facets(K: ProductSet) -> bool:
    """Whether a pyramid differs from some friction cone: one of two tangents or more, and friction."""
    return bool(((K.group_size > 1) & (K.coefficient > 0.0)).any())


def _solved(A: Array, b: Array, node: Node, t: float) -> Array:
    """A⁻¹ b; a ModelError where the mass matrix of a system is singular."""
    try:
        return np.asarray(np.linalg.solve(A, b))
    except np.linalg.LinAlgError:
        node.body.explain(t, node.q, node.v, node.z)
        raise ModelError(
            f"system {node.body.name!r}: at t = {t:.9g} s, the iteration matrix is singular;"
            " use a smaller step"
        ) from None


def _positive(A: Array, node: Node, t: float) -> Array:
    """The symmetric part of a tangent; a ModelError where it is not positive definite."""
    S = 0.5 * (A + A.T)
    try:
        np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        node.body.explain(t, node.q, node.v, node.z)
        raise ModelError(
            f"system {node.body.name!r}: at t = {t:.9g} s, the symmetric part of M - h/2 ∂F/∂v is not"
            " positive definite; use a smaller step"
        ) from None
    return S


def _energy(now: _Now) -> float:
    """½ v'M v with the mean of M, and of the potential, at the ends of the step [J]."""
    total, t = 0.0, now.state.t
    for node in now.nodes:
        v, q, place, body = now.v[node.place.v], now.q[node.place.q], node.place, node.body
        z = now.z[place.z]
        M = body.mass(t, node.q, z)
        if not body.constant_mass:
            M = 0.5 * (M + body.mass(t + now.h, q, z))
        total += 0.5 * float(v @ M @ v)
        total += 0.5 * (body.potential(t, node.q, z) + body.potential(t + now.h, q, z))
    return total
