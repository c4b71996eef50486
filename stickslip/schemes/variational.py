"""The variational scheme for worlds of bodies: each step one nonlinear cone complementarity problem.

Velocities v live on steps, forces at the nodes z_k between them (`problem/step_problem.py` has the equations):

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

from dataclasses import dataclass

import numpy as np

from stickslip.detection.overlaps import check_overlaps
from stickslip.kernels.variational_step import end, start
from stickslip.mechanics import energy as energies
from stickslip.mechanics.world import World
from stickslip.options import Options, option
from stickslip.problem.checks import frozen
from stickslip.problem.solution import Solution, Status
from stickslip.problem.step_problem import MODELS, StepProblem
from stickslip.problem.step_tangent import StepBlocks, step_blocks, step_end
from stickslip.schemes.bodies import Finder
from stickslip.schemes.body_joints import PARTS, check_joints, joint_errors
from stickslip.schemes.body_step import BodyStep, EnergyTerms
from stickslip.schemes.body_stiffness import too_stiff
from stickslip.schemes.body_world import Bodies
from stickslip.schemes.step import Memory, Solver, frozen_state
from stickslip.schemes.variational_contacts import StepShapes
from stickslip.schemes.variational_memory import NONE, first_memory
from stickslip.schemes.variational_start import NO_ID, Node, Prepared, prepared, step_problem
from stickslip.schemes.variational_tangents import solve_by_tangents
from stickslip.state import Array, State

__all__ = ["Carried", "Variational", "carried", "step_problem"]

NOTHING = 1e-100
"""Velocities and impulses below this are zero: rounding that shrinks would end below what can be squared."""
MOST_LOOKS = 10
"""Most times that a step is solved because its answer reaches contacts that were not in it."""
OTHER_LAW = (Status.APPROXIMATE, Status.RELAXED)
"""What a solver says of an answer to another law than Coulomb's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variational(Options):
    """Variational integrator for worlds of bodies: gaps, stops and joints of the end of each step."""

    contact: str = option(
        "cone", "law of friction: the cone; or, relaxed, four facets in its place, or none at all",
        choices=MODELS,
    )  # fmt: skip
    other_pairs: str = option(
        "error", "pairs whose gap has no closed form: refused, or forecast from the start of the step",
        choices=("error", "linearised"),
    )  # fmt: skip

    def begin(self, world: World, state: State, h: float) -> Memory:
        """The memory before the first step; a ModelError where the world cannot be carried from `state`."""
        world.check_state(state)
        check_overlaps(world, state)
        check_joints(world, state.q)
        Bodies.of(world)
        shapes = StepShapes.of(world)
        if self.other_pairs == "error":
            shapes.check_pairs()
        return first_memory(energies.potential(world, state.t, state.q))

    def step(
        self, world: World, state: State, memory: Memory, h: float, solver: Solver, detector: Finder
    ) -> BodyStep:
        """The step of length h that begins at `state`."""
        return carried(self, world, state, memory, h, solver, detector).step


@dataclass(frozen=True, eq=False, slots=True)
class Carried:
    """A step, the problem that it is the answer of, and what the solver said."""

    step: BodyStep
    problem: StepProblem
    solution: Solution | None
    """None where nothing was to be solved."""


def carried(
    scheme: Variational, world: World, state: State, memory: Memory, h: float, solver: Solver,
    detector: Finder,
) -> Carried:  # fmt: skip
    """A step with the problem behind it."""
    node, ids, margin = Node.of(world, state, memory, h), NO_ID, 0.0
    for _ in range(MOST_LOOKS):
        before = prepared(scheme, node, memory, detector, ids, margin)
        problem, solution, lost = before.problem, None, ""
        v = problem.v.copy()
        if len(before.contacts) or len(problem.joints):
            solution = _solution(problem, solver)
            assert solution.v is not None
            v[node.bodies.dynamic] = solution.v.reshape(-1, 6)
            if not np.isfinite(v).all() or not np.isfinite(solution.r).all():
                solution, lost = None, "the solver found no finite answer; the step is one without impulses"
        if solution is None:
            lost = _fly(node, v) or lost
        v[np.abs(v) < NOTHING] = 0.0
        q_end = step_end(problem, v)
        gaps = before.candidates.gaps(q_end)
        missed = (gaps < 0.0) & ~before.chosen
        reach = _reach(node, v)
        if lost or not (missed.any() or reach > before.margin):
            break
        # The answer is faster than what contacts were looked for with, or meets some that are not in it.
        ids = np.concatenate([before.contacts.id, before.candidates.id[missed]])
        margin = max(margin, 1.5 * reach)
    step = _arrived(scheme, before, memory, solution, v, q_end, gaps, lost, detector)
    return Carried(step, problem, solution)


def _solution(problem: StepProblem, solver: Solver) -> Solution:
    """By a solver of steps at once; by any other, and where that did not do, from tangent to tangent."""
    if not getattr(solver, "takes_steps", False):
        return solve_by_tangents(problem, solver)
    solution = solver.solve(problem)
    if solution.ok or solution.status in OTHER_LAW or problem.model == "pyramid":
        return solution
    if not getattr(solver, "takes_tangents", True):
        return solution
    again = solve_by_tangents(problem, solver, solution)
    return again if again.ok else solution


def _fly(node: Node, v: Array) -> str:
    """v <- velocities if nothing touches; what is wrong where something is."""
    bodies = node.bodies
    bad = start.fly(bodies.row, bodies.mass, bodies.J, bodies.J_inverse, node.p, node.h, v)
    if bad < 0:
        return ""
    return f"body {node.world.names[bad]!r} spins too fast for a step of this length; take a smaller h"


def _reach(node: Node, v: Array) -> float:
    """How far the surfaces of two bodies can come towards each other with v in the step [m]."""
    bodies = node.bodies
    fastest, second = start.two_fastest(bodies.row, bodies.radius, node.q, v)
    return float(node.h * (fastest + second))


def _arrived(
    scheme: Variational, before: Prepared, memory: Memory, solution: Solution | None, v: Array, q_end: Array,
    gaps: Array, lost: str, detector: Finder,
) -> BodyStep:  # fmt: skip
    """The end of the step."""
    node, problem, contacts = before.node, before.problem, before.contacts
    world, bodies, state, h = node.world, node.bodies, node.state, node.h
    blocks = step_blocks(problem)
    size = blocks.K.size
    if solution is None:
        r, value, rows = np.zeros(size), np.full(size, np.inf), np.zeros((size, 2, 6))
    else:
        r, value, rows = solution.r, solution.u, solution.problem.H.rows  # type: ignore[union-attr]
    u, came, told = np.empty(size), np.empty(size), np.empty(end.ENERGIES)
    sides, offset = blocks.sides, blocks.K.offset
    end.account(
        bodies.row, bodies.mass, bodies.J, bodies.gravity, node.q, q_end, node.v_before, v, node.F,
        0.5 * (node.before + h), sides, offset, rows, r, u, came, told,
    )  # fmt: skip
    impulses, velocities = np.empty((len(contacts), 6)), np.empty((len(contacts), 6))
    end.by_contact(offset, contacts.law, np.where(np.abs(r) < NOTHING, 0.0, r), impulses)
    end.by_contact(offset, contacts.law, u, velocities)
    t = state.t + h
    told = told.tolist()
    springs = (
        (world.forces.potential(state.t, state.q), world.forces.potential(t, q_end.reshape(-1)))
        if bodies.forced
        else (0.0, 0.0)
    )
    at_end = told[end.WEIGHT] + springs[1]
    potential = 0.5 * (told[end.WEIGHT_BEFORE] + springs[0] + at_end)
    terms = _terms(told, potential, float(memory["potential"][0]))
    reason = lost
    if bodies.forced and not reason:
        reason = too_stiff(h, bodies.rates, told, springs[0] + springs[1], terms.balance)
    relaxed = solution is not None and _is_relaxed(scheme, contacts.law) and solution.status in OTHER_LAW
    measures = {"iterations [-]": float(solution.iterations)} if relaxed and solution is not None else {}
    after = {
        "h": np.array([h]), "potential": np.array([potential, at_end]),
        **_closed(bodies, blocks, rows, r, value, came, contacts.id, problem),
    }  # fmt: skip
    impulses.flags.writeable = velocities.flags.writeable = False
    deepest = -min(float(gaps.min(initial=0.0)), 0.0)
    if StepShapes.of(world).stranger is not None:
        found = detector.find(q_end.reshape(-1), 0.0)
        others = StepShapes.of(world).others(found) & (bodies.row[found.body] >= 0).any(axis=1)
        deepest = max(deepest, -float(found.gap[others].min(initial=0.0)))
    opening = float(joint_errors(world, q_end.reshape(-1)).max(initial=0.0)) if bodies.jointed else 0.0
    return BodyStep(
        frozen_state(t, q_end.reshape(-1), v.reshape(-1), state.z), h, contacts, impulses, velocities,
        frozen(r[offset[len(contacts)] :].copy()), () if solution is None or relaxed else (solution,), terms,
        deepest, opening, 0.0, after, f"at t = {state.t:.9g} s {reason}" if reason else "", measures,
    )  # fmt: skip


def _is_relaxed(scheme: Variational, law: Array) -> bool:
    """Whether another law than that of the contacts is solved."""
    return scheme.contact != "cone" and bool((law[:, :3] > 0.0).any())


def _closed(
    bodies: Bodies, blocks: StepBlocks, rows: Array, r: Array, value: Array, came: Array, ids: Array,
    problem: StepProblem,
) -> Memory:  # fmt: skip
    """What the next step must know of contacts and stops that closed in this one, unless they bounced."""
    speed = np.empty(len(blocks.K))
    end.closed(
        bodies.row, bodies.mass, bodies.J_inverse, blocks.sides, blocks.K.offset, rows, r, value, came, speed
    )
    nc = ids.size
    struck = np.flatnonzero((speed[:nc] > 0.0) & (problem.contacts.bounce == 0.0))
    if not bodies.jointed:
        return {"id": ids[struck].astype(float), "approach": speed[struck], "joint_id": NONE,
                "joint_approach": NONE}  # fmt: skip
    joint, part = blocks.joint[nc:], blocks.part[nc:]
    stop = blocks.K.kind[nc:] == 1
    bounced = problem.joints.bounce[joint, (part - 1) // 3 % 2, (part - 1) % 3 % 2] > 0.0
    stops = np.flatnonzero((speed[nc:] > 0.0) & stop & ~bounced)
    return {
        "id": ids[struck].astype(float), "approach": speed[struck],
        "joint_id": (joint * len(PARTS) + part)[stops].astype(float), "joint_approach": speed[nc:][stops],
    }  # fmt: skip


def _terms(told: list[float], potential: float, before: float) -> EnergyTerms:
    """The account of energy of a step; potential: of its middle and of that of the step before [J]."""
    kinetic = told[end.KINETIC]
    change = kinetic - told[end.KINETIC_BEFORE] + potential - before
    dissipated, work = told[end.LOST] + told[end.DAMPED], told[end.DRIVEN] + told[end.WORKED]
    return EnergyTerms(kinetic, potential, dissipated, work, 0.0, change + dissipated - work)
