"""Variational scheme for worlds: each step is one nonlinear cone complementarity problem.

Velocities v belong to steps, and forces to the nodes z_k between them (equations: `problem/step_problem.py`):

    P(v) = P₋(v₋) + ½(h₋ + h) F(t_k, z_k, v₋) + H(z_k) r + G(z_k) lam,   z_{k+1} = z_k ⊕ h v,
    gaps, stops and joints are those of z_{k+1}, friction opposes the velocities of the rows at z_k.

These are the equations of a discrete Lagrangian (Bou-Rabee & Marsden 2009; Brüdigam & Manchester 2021). The
scheme is of second order without impacts, conserves momenta to rounding, and has no energy drift. The first
step has h₋ = 0, so a run starts from (q, v) at one time. A `State` holds the node, and the velocity over the
step that ends at it.

Gaps are never negative at the end of a step. A contact that closes is plastic in that step, and the memory
stores its approach velocity; in the next step it must open by h e times this velocity, so that it separates
with e times the approach velocity. Stops of joints follow the same rule.

The energy of a step is the kinetic energy of v plus the mean potential energy of both ends, which belong to
the midpoint of the step. With constant forces it is conserved to rounding from the second step on; the error
of the first step is O(h²).
"""

from dataclasses import dataclass, is_dataclass, replace
from typing import Any, ClassVar

import numpy as np

from stickslip.kernels.bodies import motion
from stickslip.kernels.variational import node as kernels
from stickslip.mechanics import energy as energies
from stickslip.mechanics.world import World
from stickslip.options import Options, option
from stickslip.problem.residuals import examine
from stickslip.problem.solution import Solution, Status, Verdict
from stickslip.problem.step_problem import MODELS, SMOOTHED, StepProblem
from stickslip.problem.step_tangent import step_tangent
from stickslip.schemes.body_joints import joint_errors
from stickslip.schemes.body_start import check_start
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import OVERLAP, Memory, Solver, Step
from stickslip.schemes.variational_contacts import Candidates
from stickslip.schemes.variational_end import NOTHING, Answer, arrived
from stickslip.schemes.variational_start import NO_ID, Node, Posed, first_memory, posed, step_problem
from stickslip.state import Array, ModelError, State

__all__ = ["Carried", "VariationalBodies", "carried", "step_problem"]

CLOSED = 2.0**-48
"""Opening of a joint, relative to the size of coordinates, that counts as rounding [-]."""
FARTHEST = 1.0
"""Largest h |Ω| of a step [-]; momenta differ from J Ω by a quarter of its square."""
CLEAR = 1e-4
"""Gap after free motion, relative to the motion of a step, from which a contact has no impulse [-]
(heuristic)."""
SINKS, ROUNDING = 100.0, 1e-9
"""Largest overlap after a step that counts as solver error [-] (heuristic): factor of the solver's tolerance
times the motion of a step, and factor of the size of bodies."""
MOST_TANGENTS = 50
"""Largest number of tangent problems of a step (heuristic)."""
FINER = 0.1
"""Tolerance of the tangent problems relative to that of the step [-] (heuristic)."""
SLIGHT = 1e-5
"""Largest overlap, relative to the size of bodies, of a solution that is kept if the problem with more
features has no solution to the tolerance [-] (heuristic)."""
MOST_LOOKS = 30
"""Largest number of solutions of a step, each with the contacts that the previous one reached (heuristic)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariationalBodies(Options):
    """Variational integrator for worlds of bodies: gaps, stops and joints hold at the end of each step."""

    makes_steps: ClassVar[bool] = True
    """Whether the scheme passes a `StepProblem` to solvers that accept it."""
    contact: str = option(
        "cone", "law of friction: the cone; or, as relaxed models, four facets or no friction",
        choices=MODELS,
    )  # fmt: skip

    def begin(self, world: World | PreparedWorld, state: State, h: float) -> Memory:
        """Return the memory for the first step; raise ModelError if a run cannot start at `state`."""
        prepared = PreparedWorld.of(world)
        check_start(prepared, state)
        return first_memory(energies.potential(prepared.world, state.t, state.q))

    def step(
        self, world: World | PreparedWorld, state: State, memory: Memory, h: float, solver: Solver
    ) -> Step:
        """Return the step of length h that begins at `state`."""
        return carried(self, PreparedWorld.of(world), state, memory, h, solver).step


@dataclass(frozen=True, eq=False, slots=True)
class Carried:
    """A step with its problem and solution."""

    step: Step
    """The step."""
    problem: StepProblem
    """Its problem."""
    solution: Solution | None
    """Solution of the problem; None if there was nothing to solve."""
    features: Candidates
    """Features at the contacts of the problem, in the same order."""


@dataclass(frozen=True, eq=False, slots=True)
class Attempt:
    """Solution of a step with one set of contacts."""

    before: Posed
    """The step before its solution."""
    answer: Answer
    """End of the step."""
    reach: float
    """Bound on the approach of two surfaces in the step [m]."""


def carried(
    scheme: VariationalBodies, prepared: PreparedWorld, state: State, memory: Memory, h: float, solver: Solver
) -> Carried:
    """Make a step, with the problem behind it."""
    node, shapes, keys, margin = Node.of(prepared, state, memory, h), prepared.shapes, NO_ID, 0.0
    entered: list[Candidates] = []
    turn, accepted, lost, overlap = 0.0, None, "", 0.0
    for _ in range(MOST_LOOKS):
        # 1. Solve the step with the contacts known so far.
        attempt = _attempt(node, posed(scheme, node, memory, keys, margin, entered, turn), solver)
        before, answer, reach = attempt.before, attempt.answer, attempt.reach
        missed, late = (answer.gaps < 0.0) & ~before.chosen, False
        solved = answer.solution is None or answer.solution.ok
        if accepted is not None and not (solved and not answer.lost):
            attempt, overlap = accepted, -accepted.answer.deepest  # its overlap is slight
            break
        # 2. Detect features that overlap at the end and are not in the problem.
        if shapes.other_pair is not None and not answer.lost:
            if not turn and before.candidates.only(before.chosen).has_flipped(node.q, answer.q):
                turn, entered = FARTHEST, []  # with large turns, rims are not treated as round features
                continue
            new, deepest = shapes.entered(
                prepared.detector, answer.q.reshape(-1), before.candidates,
                _allowed(node, answer.solution, reach), np.maximum(turn, node.turn),
            )  # fmt: skip
            attempt = replace(attempt, answer=replace(answer, deepest=deepest))
            entered.append(new)
            late = len(new) > 0
            if solved and -deepest <= SLIGHT * node.bodies.size and not missed.any():
                accepted = attempt
        # 3. Stop if the problem had all contacts that its solution reaches; otherwise add them.
        if answer.lost or not (missed.any() or late or (reach > before.margin and not shapes.is_whole)):
            break
        keys = before.candidates.key[before.chosen | missed]
        margin = max(margin, 1.5 * reach)
    else:
        lost = f"{MOST_LOOKS} times contacts were met that were not looked for; use a smaller h"
    # 4. Checks of the solution, and the step as data.
    before, answer = attempt.before, attempt.answer
    lost = answer.lost or lost or _turns_far(node, answer.v)
    lost = lost or _sinks(node, before, answer.solution, answer.gaps, attempt.reach)
    step = arrived(before, memory, replace(answer, lost=lost))
    step = replace(step, measures={OVERLAP: overlap}) if overlap > 0.0 else step
    kappa = float(getattr(solver, "kappa", 0.0))
    if kappa > 0.0 and answer.solution is not None:
        step = replace(step, relaxation=SMOOTHED.format(kappa))
    return Carried(step, before.problem, answer.solution, before.candidates.only(before.chosen))


def _attempt(node: Node, before: Posed, solver: Solver) -> Attempt:
    """Solve a step with these contacts."""
    problem, solution, lost = before.problem, None, ""
    v = problem.v.copy()
    if not (_clears(node, before) and _flies_jointed(node, problem)):
        with np.errstate(over="ignore", invalid="ignore"):  # the problem may have no solution
            solution = _solution(problem, solver)
        assert solution.v is not None
        v[node.bodies.dynamic] = solution.v.reshape(-1, 6)
        if not np.isfinite(v).all() or not np.isfinite(solution.r).all():
            solution, lost = None, "the solver found no finite answer; the step was made without impulses"
    if solution is None:
        lost = _fly(node, v) or lost
    v[np.abs(v) < NOTHING] = 0.0
    q_end = np.empty_like(node.q)
    motion.move_along(node.q, v, node.h, q_end)
    answer = Answer(v, q_end, before.candidates.gaps(q_end), 0.0, solution, lost)
    return Attempt(before, answer, _reach(node, v))


def _solution(problem: StepProblem, solver: Solver) -> Solution:
    """Solve a step: as a whole by solvers of steps; by tangent problems for other solvers and as a second
    attempt."""
    if not getattr(solver, "takes_steps", False):
        return _solve_by_tangents(problem, solver)
    step_solver: Any = solver
    solution: Solution = step_solver.solve(problem)
    if solution.verdict is not Verdict.MISSED or problem.model == "pyramid":
        return solution
    if not getattr(solver, "takes_tangents", True):
        return solution
    again = _solve_by_tangents(problem, solver, solution)
    return again if again.ok else solution


def _solve_by_tangents(problem: StepProblem, solver: Solver, start: Solution | None = None) -> Solution:
    """Solve a step by Newton's method on tangent problems, from `start` if given. The solution is judged on
    its own tangent problem."""
    if problem.model == "pyramid":
        raise ModelError(
            f"contact='pyramid' is solved by auto and ipm-step; {type(solver).__name__} takes cones only"
        )
    tolerance = float(getattr(solver, "tolerance", 0.0))
    if tolerance and is_dataclass(solver) and not isinstance(solver, type):
        solver = replace(solver, tolerance=FINER * tolerance)  # type: ignore[type-var]
    moving = np.flatnonzero(problem.row >= 0)
    v: Any = problem.v[moving[np.argsort(problem.row[moving])]].reshape(-1)
    guess, iterations, seconds, compiling = None, 0, 0.0, 0.0
    if start is not None:
        iterations, seconds, compiling = start.iterations, start.seconds, start.compile_seconds
        if start.v is not None and np.isfinite(start.v).all() and np.isfinite(start.r).all():
            v, guess = start.v, start.r
    tangent = step_tangent(problem, v)
    for _ in range(MOST_TANGENTS):
        # 1. Solve the tangent problem at the iterate.
        solution = solver.solve(tangent, guess=guess)
        iterations, seconds = iterations + solution.iterations, seconds + solution.seconds
        compiling += solution.compile_seconds
        if solution.v is None or not np.isfinite(solution.v).all():
            return solution
        # 2. Judge its solution on the tangent problem at the new iterate.
        tangent = step_tangent(problem, solution.v)
        residuals, u = examine(tangent, solution.r, solution.v, None)
        tolerance = tolerance or solution.tolerance
        solved = residuals.solved(tolerance)
        if solved or not solution.ok:
            break
        guess = solution.r if solution.r.any() else None
    lost = f"{MOST_TANGENTS} tangent problems did not lead to the step's answer"
    return replace(
        solution, problem=tangent, u=u, tolerance=tolerance, residuals=residuals, iterations=iterations,
        seconds=seconds, compile_seconds=compiling,
        status=Status.SOLVED if solved else Status.STALLED if solution.ok else solution.status,
        reason="" if solved else solution.reason or lost,
    )  # fmt: skip


def _clears(node: Node, before: Posed) -> bool:
    """Whether free motion clearly closes no contact, so that the step has no contact impulses.

    The problem is then not solved: relative velocities of bodies in free fall are rounding errors, and
    residuals would be relative to these.
    """
    if not len(before.contacts):
        return True
    contacts = before.problem.contacts
    if contacts.bounce.any():
        return False
    free = _freely(node, before.problem)
    if free is None:
        return False
    v, q_end = free
    margin = CLEAR * node.h * float(np.abs(v).max(initial=0.0))
    return bool(before.candidates.gaps(q_end).min(initial=np.inf) > margin)


def _sinks(node: Node, before: Posed, solution: Solution | None, gaps: Array, reach: float) -> str:
    """Return the fault of a solution whose residuals are small but whose final overlap is too large."""
    if solution is None or not solution.residuals.error <= solution.tolerance:
        return ""
    final_gaps = gaps[before.chosen]
    deep = -float(final_gaps.min(initial=0.0))
    if deep <= _allowed(node, solution, reach):
        return ""
    first, second = (node.world.names[b] for b in before.contacts.body[int(np.argmin(final_gaps))])
    bounces = bool(before.problem.contacts.bounce.any())
    why = "; what bounces has no room for it in a step" if bounces else ""
    return f"bodies {first!r} and {second!r} end {deep:.2g} m inside each other{why}; use a smaller h"


def _allowed(node: Node, solution: Solution | None, reach: float) -> float:
    """Return the largest overlap at the end that counts as an error of the solver [m]."""
    return SINKS * (0.0 if solution is None else solution.tolerance) * reach + ROUNDING * node.bodies.size


def _flies_jointed(node: Node, problem: StepProblem) -> bool:
    """Whether free motion keeps all joints closed to rounding, so that the step has no joint impulses.

    The problem is then not solved: its residuals would be relative to rounding errors.
    """
    joints = problem.joints
    if not joints.kind.size:
        return True
    if joints.friction.any() or joints.bounce.any():
        return False
    free = _freely(node, problem)
    if free is None:
        return False
    _, q_end = free
    size = 1.0 + float(np.abs(q_end[:, :3]).max(initial=0.0))
    return bool((joint_errors(node.world, q_end.reshape(-1)) <= CLOSED * size).all())


def _freely(node: Node, problem: StepProblem) -> tuple[Array, Array] | None:
    """Return velocities and poses at the end of a step in free motion; None if a body spins too fast."""
    v = problem.v.copy()
    if _fly(node, v):
        return None
    q_end = np.empty_like(node.q)
    motion.move_along(node.q, v, node.h, q_end)
    return v, q_end


def _fly(node: Node, v: Array) -> str:
    """Write the velocities of free motion to v; return the fault if a body spins too fast."""
    bad = kernels.fly(node.bodies.arrays, node.p, node.h, v)
    if bad < 0:
        return ""
    return f"body {node.world.names[bad]!r} spins too fast for a step of this length; use a smaller h"


def _turns_far(node: Node, v: Array) -> str:
    """Return the fault of a body that turns so far in a step that its momentum is far from J Ω."""
    if 2.0 * node.h * float(np.abs(v[:, 3:]).max(initial=0.0)) <= FARTHEST:  # |Ω| is at most √3 of that
        return ""
    turn = node.h * np.sqrt((v[node.bodies.dynamic, 3:] ** 2).sum(axis=1))
    if not (turn > FARTHEST).any():
        return ""
    k = int(np.argmax(turn))
    degrees = 2.0 * np.degrees(np.arctan(0.5 * turn[k]))
    name = node.world.names[int(node.bodies.dynamic[k])]
    return f"body {name!r} turns by {degrees:.0f}° in one step; use a smaller h"


def _reach(node: Node, v: Array) -> float:
    """Return a bound on the approach of two surfaces in the step with velocities v [m]."""
    _, fastest, second = motion.fastest(motion.speeds(node.bodies.arrays, node.q, v))
    return float(node.h * (fastest + second))
