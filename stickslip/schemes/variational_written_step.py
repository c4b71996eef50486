"""One step of the variational scheme on systems of equations, by Newton's method on tangent problems.

At an iterate v momentum and laws are linearised to a GlobalProblem

    S v' = f + H r,   u = H'v' + u_bias,

with S the symmetric part of dR/dv, and f and u_bias such that at v itself S v - f - H r = R(v) - H r, and u
is the variable of the laws. The judge measures the solution of a step on its own tangent problem, which the
step has in `solves`.
"""

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import block_diag

from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.convert.pyramid import pyramid_lcp
from stickslip.problem.convert.reduce import reduce_to_contacts
from stickslip.problem.mass import MassMatrix
from stickslip.problem.residuals import Residuals, examine
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import Solution, Status
from stickslip.schemes.step import Memory, Solver
from stickslip.schemes.system_scheme import edge_impulse, explain_step
from stickslip.schemes.variational_written_motion import Central, Node
from stickslip.schemes.variational_written_ties import Tie, components_with
from stickslip.state import BoolArray, ModelError, State
from stickslip.systems.system import NonsmoothSystem

if TYPE_CHECKING:
    from stickslip.schemes.variational_written import Known, Variational

ROUNDING = 64.0 * float(np.finfo(float).eps)
"""Relative error of coordinates and momenta that counts as rounding [-]: 64 times the machine precision."""
FACETS = 4
"""Number of friction directions of a pyramid."""


class StepWork:
    """Working data of one step: its start, the current iterate of its end, and results."""

    def __init__(
        self, known: "Known", system: NonsmoothSystem, state: State, z: Array, memory: Memory, h: float
    ):
        t, q, v = state.t, state.q, state.v
        before = float(memory["h"][0])
        self.known, self.system, self.state, self.z, self.h = known, system, state, z, h
        self.weight = 0.5 * (h + before)
        """Duration for which the forces of the node act [s]."""
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
        """Current iterate of the end of the step."""
        self.r = np.zeros(system.size)
        self.forecast = np.full(system.blocks, -np.inf)
        self.active = np.zeros(system.blocks, bool)
        self.solves: list[Solution] = []
        self.components: list[IntArray] = []
        """Indices in r of the impulses of each of `solves`."""
        self.reasons: list[str] = []
        self.newton = 0

    def explain(self) -> None:
        """Raise ModelError that names the non-finite quantity."""
        explain_step(self.system, self.state, self.z, self.state.t + self.h, self.q, self.v)


@dataclass(eq=False)
class TangentProblem:
    """The tangent problem at an iterate."""

    exact: GlobalProblem
    """Problem with friction cones."""
    pyramid: bool
    """Whether pyramids replace the cones for the solver and the judge."""

    def solve(self, solver: Solver, r: Array) -> tuple[Array, Array, Array, Solution]:
        """Solve the problem from the guess r: impulses, velocities, the unknowns of the solver's problem, and
        its solution."""
        if not self.pyramid:
            solution = solver.solve(self.exact, guess=r)
            assert solution.v is not None
            return solution.r, solution.v, solution.r, solution
        reduced = reduce_to_contacts(self.exact)
        facets = pyramid_lcp(reduced.problem, FACETS)
        solution = solver.solve(facets.problem, guess=facets.guess(r))
        impulses = facets.recover(solution.r).r
        v = reduced.recover(impulses).v
        assert v is not None
        return impulses, v, solution.r, solution

    def judged(self, x: Array, r: Array, v: Array, solution: Solution) -> Solution:
        """Return the solution with the judge's residuals on this problem."""
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
    """Return a solution with another problem, its values there, and the status that the residuals give."""
    solved = residuals.solved(solution.tolerance)
    status = Status.SOLVED if solved else (Status.STALLED if solution.ok else solution.status)
    reason = "" if solved or not solution.ok else "the step moves on from its tangent problem"
    return solution.with_(
        problem=problem, r=r, v=v, u=u, residuals=residuals, status=status, reason=reason or solution.reason
    )


@dataclass(eq=False)
class PartStep:
    """One step of coupled systems and their interactions."""

    scheme: "Variational"
    """The scheme with its options."""
    work: StepWork
    """Data of the step of all systems."""
    part: tuple[tuple[int, ...], tuple[int, ...]]
    """Systems and interactions, by number."""
    nodes: list[Node] = field(init=False)
    """The systems at the node."""
    ties: list[Tie] = field(init=False)
    """The interactions."""
    velocities: IntArray = field(init=False)
    """Indices of their velocities in the flat v [-], shape (nv,)."""

    def __post_init__(self) -> None:
        numbers, interactions = self.part
        self.nodes = [self.work.nodes[i] for i in numbers]
        self.ties = [self.work.ties[k] for k in interactions]
        self.velocities = np.concatenate([np.arange(n.place.v.start, n.place.v.stop) for n in self.nodes])

    def solve(self, solver: Solver) -> None:
        """Solve the step, and write its end to `work`."""
        self._solve_free()
        self._forecast()
        if any(self.work.active[tie.output.bound.blocks].any() for tie in self.ties):
            self._solve_coupled(solver)

    def _take(self, v: Array) -> None:
        """Write the iterate v of these systems and its coordinates to `work`."""
        work = self.work
        work.v[self.velocities] = v
        for node in self.nodes:
            work.q[node.place.q] = node.end(work.v[node.place.v])

    def _solve_free(self) -> None:
        """Compute the motion without interactions, by Newton's method for each system."""
        work, scheme = self.work, self.scheme
        for node in self.nodes:
            v = node.v
            for iteration in range(1, scheme.max_newton + 1):
                change = _solved(node.tangent(v), -node.residual(v), node, work.state.t)
                v = v + change
                work.newton = max(work.newton, iteration)
                size = max(float(np.abs(v).max(initial=0.0)), float(np.abs(node.v).max(initial=0.0)))
                off = float(np.abs(change).max(initial=0.0))
                if not np.isfinite(v).all() or off <= scheme.newton_tolerance * size:
                    break
                if isinstance(node, Central) and not node.follows:
                    break
            else:
                work.reasons.append(
                    f"system {node.body.name!r}: Newton stopped after {scheme.max_newton} iterations with a"
                    f" correction of {off / size:.1e} of the velocity; use a smaller step"
                )
            work.v[node.place.v] = v
            work.q[node.place.q] = node.end(v)

    def _forecast(self) -> None:
        """Set the gaps after the motion without interactions, and activate the blocks that it closes."""
        work = self.work
        for tie in self.ties:
            one, output = tie.output.bound, tie.output
            gaps = tie.gaps(work.q)[output.normals]
            forecast = work.forecast[one.blocks]
            forecast[output.unilateral] = gaps
            work.active[one.blocks] = forecast <= 0.0

    def _activate_closed(self) -> bool:
        """Activate the blocks that the iterate closes; return whether there are any."""
        late = False
        for tie in self.ties:
            one, output = tie.output.bound, tie.output
            closed = np.zeros(len(output.law.K), bool)
            closed[output.unilateral] = tie.gaps(self.work.q)[output.normals] < 0.0
            closed &= ~self.work.active[one.blocks]
            self.work.active[one.blocks] |= closed
            late |= bool(closed.any())
        return late

    def _solve_coupled(self, solver: Solver) -> None:
        """Run Newton's loop: one tangent problem per iteration, until the judge accepts the solution on its
        own tangent problem."""
        work, v = self.work, self.work.v[self.velocities]
        work.r[:] = np.where(self._component_mask(), work.guess, work.r)
        keep, K = self._active()
        problem, iterations = self._problem(v, keep, K), 0
        for _ in range(self.scheme.max_newton):
            # 1. Solve the tangent problem, and take its velocities.
            r, v, x, solution = problem.solve(solver, work.r[keep])
            iterations += 1
            predicted = problem.exact.contact_velocity(v)
            work.r[self._component_mask()] = 0.0
            work.r[keep] = r
            self._take(v)
            # 2. The tangent problem at the new iterate, with the blocks that it closes.
            late = self._activate_closed()
            if late:
                keep, K = self._active()
            problem = self._problem(v, keep, K)
            if late:
                continue
            # 3. Stop if the judge accepts the solution there, or if the remaining error is rounding.
            judged = problem.judged(x, r, v, solution)
            if judged.ok or not solution.ok:
                break
            error = np.abs(problem.exact.contact_velocity(v) - predicted).max(initial=0.0)
            noise = ROUNDING * float(np.abs(work.q).max(initial=0.0)) / work.h
            if error <= noise and judged.residuals.equilibrium <= solution.tolerance:
                judged = solution  # the error of its tangent problem is rounding of the coordinates
                break
        work.newton = max(work.newton, iterations)
        work.solves.append(solution if late else judged)
        if not problem.pyramid:
            work.components.append(keep)
        if late or (solution.ok and not judged.ok):
            work.reasons.append(
                f"at t = {work.state.t:.9g} s the step was not found in {iterations} tangent problems"
                f" (residual {work.solves[-1].residuals.error:.1e}); use a smaller step"
            )

    def _component_mask(self) -> BoolArray:
        """Return a mask of the components of these interactions [-], shape (size,), bool."""
        mine = np.zeros(self.work.r.shape[0], bool)
        for tie in self.ties:
            mine[tie.output.bound.components] = True
        return mine

    def _active(self) -> tuple[IntArray, ProductSet]:
        """Return the components of the active blocks in the flat r, and their set."""
        work, contact = self.work, self.scheme.contact
        bounds = [tie.output.bound for tie in self.ties]
        active = [one for one in bounds if work.active[one.blocks].any()]
        pairs = [components_with(one, work.active[one.blocks], contact, work.weight) for one in active]
        return np.concatenate([part for part, _ in pairs]), reduce(add, [K for _, K in pairs])

    def _problem(self, v: Array, keep: IntArray, K: ProductSet) -> TangentProblem:
        """Return the tangent problem at the iterate v, which `work` holds."""
        work = self.work
        R, masses = [], []
        for node in self.nodes:
            v_node = work.v[node.place.v]
            R.append(node.residual(v_node))
            masses.append(_positive(node.tangent(v_node), node, work.state.t))
        S = masses[0] if len(masses) == 1 else block_diag(*masses)
        rows, u = np.zeros((work.r.shape[0], work.v.shape[0])), np.zeros(work.r.shape[0])
        for tie in self.ties:
            one = tie.output.bound
            rows[one.components, one.v] = tie.rows
            u[one.components] = tie.law_variable(work.q, work.v)
        H = rows[np.ix_(keep, self.velocities)].T
        f, bias = S @ v - np.concatenate(R), u[keep] - H.T @ v
        if not (np.isfinite(f).all() and np.isfinite(bias).all()):
            work.explain()
        faceted = self.scheme.contact == "pyramid" and has_facets(K)
        return TangentProblem(GlobalProblem(MassMatrix(S), f, H, bias, K), faceted)  # type: ignore[arg-type]


def has_facets(K: ProductSet) -> bool:
    """Whether a pyramid differs from a friction cone of K: one with at least two tangents, and friction."""
    return bool(((K.group_size > 1) & (K.coefficient > 0.0)).any())


def _solved(A: Array, b: Array, node: Node, t: float) -> Array:
    """Return A⁻¹ b; raise ModelError if the mass matrix of a system is singular."""
    try:
        return np.asarray(np.linalg.solve(A, b))
    except np.linalg.LinAlgError:
        node.body.explain(t, node.q, node.v, node.z)
        raise ModelError(
            f"system {node.body.name!r}: at t = {t:.9g} s, the iteration matrix is singular;"
            " use a smaller step"
        ) from None


def _positive(A: Array, node: Node, t: float) -> Array:
    """Return the symmetric part of a tangent; raise ModelError if it is not positive definite."""
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


def step_energy(work: StepWork) -> float:
    """Return ½ v'M v plus the potential, with the means of M and of the potential at both ends [J]."""
    total, t = 0.0, work.state.t
    for node in work.nodes:
        v, q, place, body = work.v[node.place.v], work.q[node.place.q], node.place, node.body
        z = work.z[place.z]
        M = body.mass(t, node.q, z)
        if not body.constant_mass:
            M = 0.5 * (M + body.mass(t + work.h, q, z))
        total += 0.5 * float(v @ M @ v)
        total += 0.5 * (body.potential(t, node.q, z) + body.potential(t + work.h, q, z))
    return total
