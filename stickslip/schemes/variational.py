"""The variational scheme for worlds of bodies: each step one nonlinear cone complementarity problem.

Velocities v live on steps, forces at the nodes z_k between them (equations: `problem/step_problem.py`):

    P(v) = P₋(v₋) + ½(h₋ + h) F(t_k, z_k, v₋) + H(z_k) r + G(z_k) lam,   z_{k+1} = z_k ⊕ h v,
    gaps, stops and joints are those of z_{k+1}, friction opposes the velocities of the rows at z_k.

A discrete Lagrangian has these equations (Bou-Rabee & Marsden 2009; Brüdigam & Manchester 2021): of second
order where nothing strikes, momenta kept to rounding, energy without drift. The first step has h₋ = 0, so a
run starts from (q, v) at one time. A `State` has the node, and the velocity over the step that led to it.

Gaps are never negative at the end of a step. A contact that closes does so without bounce, and remembers how
fast it had come; in the next step it must open by h e times that, so that it leaves with e times its speed.
Stops of joints do likewise.

Energy of a step: the kinetic one of v, and the mean potential of both ends, which belong to the middle of the
step. Constant forces keep it to rounding from the second step on; the first is off by O(h²).
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
"""Opening of a joint, over the size of places, that is rounding."""
FARTHEST = 1.0
"""Largest h |Ω| of a step: momenta differ from J Ω by a quarter of its square."""
CLEAR = 1e-4
"""Gap at the end of free motion, over the way of a step, from which on a contact surely stays open."""
SINKS, ROUNDING = 100.0, 1e-9
"""Overlap at the end of a step that is the solver's: over its tolerance times the way of a step, and over the
size of bodies."""
MOST_TANGENTS = 50
"""Most tangent problems of a step."""
FINER = 0.1
"""Tolerance of the tangent problems over that of the step: from one to the next a little is lost."""
SLIGHT = 1e-5
"""Overlap at the end, over the size of bodies, of an answer that is kept where with more features there is
none to the tolerance."""
MOST_LOOKS = 30
"""Most times that a step is solved because its answer reaches contacts that were not in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariationalBodies(Options):
    """Variational integrator for worlds of bodies: gaps, stops and joints of the end of each step."""

    makes_steps: ClassVar[bool] = True
    """Whether it gives a solver that takes them whole steps, `StepProblem`."""
    contact: str = option(
        "cone", "law of friction: the cone; or, as relaxed models, four facets or no friction",
        choices=MODELS,
    )  # fmt: skip

    def begin(self, world: World | PreparedWorld, state: State, h: float) -> Memory:
        """The memory before the first step; a ModelError where the world cannot be carried from `state`."""
        prepared = PreparedWorld.of(world)
        check_start(prepared, state)
        return first_memory(energies.potential(prepared.world, state.t, state.q))

    def step(
        self, world: World | PreparedWorld, state: State, memory: Memory, h: float, solver: Solver
    ) -> Step:
        """The step of length h that begins at `state`."""
        return carried(self, PreparedWorld.of(world), state, memory, h, solver).step


@dataclass(frozen=True, eq=False, slots=True)
class Carried:
    """A step, the problem that it is the answer of, and what the solver said."""

    step: Step
    problem: StepProblem
    solution: Solution | None
    """None where nothing was to be solved."""
    features: Candidates
    """What meets at the contacts of the problem, in their order."""


@dataclass(frozen=True, eq=False, slots=True)
class Attempt:
    """An answer of a step with the contacts that were looked for."""

    before: Posed
    answer: Answer
    reach: float
    """How far surfaces can come towards each other with it [m]."""


def carried(
    scheme: VariationalBodies, prepared: PreparedWorld, state: State, memory: Memory, h: float, solver: Solver
) -> Carried:
    """A step with the problem behind it."""
    node, shapes, keys, margin = Node.of(prepared, state, memory, h), prepared.shapes, NO_ID, 0.0
    entered: list[Candidates] = []
    turn, good, lost, kept = 0.0, None, "", 0.0
    for _ in range(MOST_LOOKS):
        made = _attempt(node, posed(scheme, node, memory, keys, margin, entered, turn), solver)
        before, answer, reach = made.before, made.answer, made.reach
        missed, late = (answer.gaps < 0.0) & ~before.chosen, False
        solved = answer.solution is None or answer.solution.ok
        if good is not None and not (solved and not answer.lost):
            made, kept = good, -good.answer.deepest  # what overlaps there is slight
            break
        if shapes.other_pair is not None and not answer.lost:
            if not turn and before.candidates.only(before.chosen).has_flipped(node.q, answer.q):
                turn, entered = FARTHEST, []  # rims that turn over are no longer round
                continue
            new, deepest = shapes.entered(
                prepared.detector, answer.q.reshape(-1), before.candidates,
                _allowed(node, answer.solution, reach), np.maximum(turn, node.turn),
            )  # fmt: skip
            made = replace(made, answer=replace(answer, deepest=deepest))
            entered.append(new)
            late = len(new) > 0
            if solved and -deepest <= SLIGHT * node.bodies.size and not missed.any():
                good = made
        if answer.lost or not (missed.any() or late or (reach > before.margin and not shapes.is_whole)):
            break
        # The answer is faster than what contacts were looked for with, or meets some that are not in it.
        keys = before.candidates.key[before.chosen | missed]
        margin = max(margin, 1.5 * reach)
    else:
        lost = f"{MOST_LOOKS} times contacts were met that were not looked for; use a smaller h"
    before, answer = made.before, made.answer
    lost = answer.lost or lost or _turns_far(node, answer.v)
    lost = lost or _sinks(node, before, answer.solution, answer.gaps, made.reach)
    step = arrived(before, memory, replace(answer, lost=lost))
    step = replace(step, measures={OVERLAP: kept}) if kept > 0.0 else step
    kappa = float(getattr(solver, "kappa", 0.0))
    if kappa > 0.0 and answer.solution is not None:
        step = replace(step, relaxation=SMOOTHED.format(kappa))
    return Carried(step, before.problem, answer.solution, before.candidates.only(before.chosen))


def _attempt(node: Node, before: Posed, solver: Solver) -> Attempt:
    """The answer of a step with these contacts."""
    problem, solution, lost = before.problem, None, ""
    v = problem.v.copy()
    if not (_clears(node, before) and _flies_jointed(node, problem)):
        with np.errstate(over="ignore", invalid="ignore"):  # of a problem that has no answer
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
    """By a solver of steps at once; by any other, and where that did not do, from tangent to tangent."""
    if not getattr(solver, "takes_steps", False):
        return _solve_by_tangents(problem, solver)
    whole: Any = solver
    solution: Solution = whole.solve(problem)
    if solution.verdict is not Verdict.MISSED or problem.model == "pyramid":
        return solution
    if not getattr(solver, "takes_tangents", True):
        return solution
    again = _solve_by_tangents(problem, solver, solution)
    return again if again.ok else solution


def _solve_by_tangents(problem: StepProblem, solver: Solver, start: Solution | None = None) -> Solution:
    """The answer of the step, judged on the tangent problem there; from that of another solver if given."""
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
        found = solver.solve(tangent, guess=guess)
        iterations, seconds = iterations + found.iterations, seconds + found.seconds
        compiling += found.compile_seconds
        if found.v is None or not np.isfinite(found.v).all():
            return found
        tangent = step_tangent(problem, found.v)
        residuals, u = examine(tangent, found.r, found.v, None)
        tolerance = tolerance or found.tolerance
        solved = residuals.solved(tolerance)
        if solved or not found.ok:
            break
        guess = found.r if found.r.any() else None
    lost = f"{MOST_TANGENTS} tangent problems did not lead to the step's answer"
    return replace(
        found, problem=tangent, u=u, tolerance=tolerance, residuals=residuals, iterations=iterations,
        seconds=seconds, compile_seconds=compiling,
        status=Status.SOLVED if solved else Status.STALLED if found.ok else found.status,
        reason="" if solved else found.reason or lost,
    )  # fmt: skip


def _clears(node: Node, before: Posed) -> bool:
    """Whether free motion surely closes no contact, so that none has an impulse.

    Velocities of bodies that fall alike differ by rounding alone, which no residual should be relative to.
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
    """What is wrong where an answer, however good its residuals, leaves gaps closed further than it may."""
    if solution is None or not solution.residuals.error <= solution.tolerance:
        return ""
    told = gaps[before.chosen]
    deep = -float(told.min(initial=0.0))
    if deep <= _allowed(node, solution, reach):
        return ""
    first, second = (node.world.names[b] for b in before.contacts.body[int(np.argmin(told))])
    bounces = bool(before.problem.contacts.bounce.any())
    why = "; what bounces has no room for it in a step" if bounces else ""
    return f"bodies {first!r} and {second!r} end {deep:.2g} m inside each other{why}; use a smaller h"


def _allowed(node: Node, solution: Solution | None, reach: float) -> float:
    """Overlap at the end that is the solver's, not the step's [m]."""
    return SINKS * (0.0 if solution is None else solution.tolerance) * reach + ROUNDING * node.bodies.size


def _flies_jointed(node: Node, problem: StepProblem) -> bool:
    """Whether free motion keeps all joints closed to rounding, so that nothing is to be solved.

    All that residuals of such a problem could be relative to is rounding.
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
    """Velocities and the end of the step if nothing touches; None where a body spins too fast."""
    v = problem.v.copy()
    if _fly(node, v):
        return None
    q_end = np.empty_like(node.q)
    motion.move_along(node.q, v, node.h, q_end)
    return v, q_end


def _fly(node: Node, v: Array) -> str:
    """v <- velocities if nothing touches; what is wrong where something is."""
    bad = kernels.fly(node.bodies.arrays, node.p, node.h, v)
    if bad < 0:
        return ""
    return f"body {node.world.names[bad]!r} spins too fast for a step of this length; use a smaller h"


def _turns_far(node: Node, v: Array) -> str:
    """What is wrong where a body turns so far in a step that momentum and velocity are no longer alike."""
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
    """How far the surfaces of two bodies can come towards each other with v in the step [m]."""
    _, fastest, second = motion.fastest(motion.speeds(node.bodies.arrays, node.q, v))
    return float(node.h * (fastest + second))
