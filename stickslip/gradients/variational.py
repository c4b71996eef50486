"""Derivative of one step of the variational scheme, by the implicit function theorem at its solution.

The equations of a step, linearised at its velocities v and impulses r, are

    A dv - B dr = e,    A = ∂P/∂v,  B = (H, G) at the start
    C dv + D dr = c,    the laws of joints and of closed contacts; with smoothing, of all contacts

One factorisation serves all inputs and directions, forward and transposed. For exact derivatives the cases
open,
sticking and slipping are determined from the solution. Where a contact touches without load, or is about to
slip,
there is a kink: `exists` is False, `notes` name the contact, and the map is the derivative of one side. If
constraints are redundant, impulses are not unique; changes of velocities are unique, and changes of impulses
have
least norm. Smoothed derivatives are taken at the point of the central path at kappa; the step itself is
exact.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from stickslip.gradients.variational_equations import VariationalEquations
from stickslip.gradients.variational_laws import Linear
from stickslip.gradients.world_step import TOGETHER, WorldDerivative
from stickslip.kernels.derivatives.laws import GRAZES, YIELDS
from stickslip.mechanics.world import World
from stickslip.problem.impulses import ImpulseSet
from stickslip.problem.solution import Solution, Verdict
from stickslip.problem.step_problem import StepProblem
from stickslip.problem.step_tangent import step_blocks, step_tangent, step_velocities
from stickslip.schemes.body_joints import PARTS
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import Memory, Solver
from stickslip.schemes.variational import Carried, VariationalBodies, carried
from stickslip.state import Array, ModelError, State
from stickslip.threads import single_threaded

TRIED, SAME = 3, 1e-6
"""Number of random changes for the comparison of two derivatives, and their largest relative difference [-]:
ten
times the accuracy to which differences confirm derivatives of steps."""
MOST_NOTES = 8
"""Largest number of contacts or joints that notes name."""


class VariationalDerivative(WorldDerivative):
    """Derivative of a step of the variational scheme.

    Further inputs and outputs are `approach` and `joint_approach`, the approach speeds [m/s, rad/s] of
    contacts
    and stops that closed, in the order of the memory before and after the step. A further input is
    `h_before`,
    the length of the previous step [s].
    """

    def __init__(self, linear: Linear, kappa: float, missed: str = "", borders: Iterable[str] = ()):
        equations = linear.equations
        super().__init__(equations)
        self.step, self.kappa, self._linear = equations.step, kappa, linear
        n, names = equations.bodies.count, ("approach", "joint_approach")
        before = {name: equations.memory[name].shape for name in names}
        after = {name: self.step.memory[name].shape for name in names}
        self.by = {**self.by, "h_before": (1,), **before}
        self.of = {"q": (6 * n,), "v": (6 * n,), "r": self.step.r.shape, **after}
        self.unique = linear.system.unique
        notes = (*(_kinks(linear) if not kappa else ()), *borders)
        self.exists = not notes
        if self.step.reason or missed:
            self.exists, notes = False, (self.step.reason or missed, *notes)
        if not self.unique:
            notes += ("impulses are not unique: their change is the one of least norm",)
            if self._torn("q"):
                self.exists = False
                notes += ("what is held more than once is pulled apart by some displacements: no derivative",)
            if linear.system.moves_alone:
                self.exists = False
                notes += ("nor are velocities unique: they change with the impulses, and have no derivative",)
            if self._torn("approach"):
                notes += ("contacts of one body bounce together: no derivative by `approach` of one alone",)
        self.notes = notes

    def _torn(self, by: str) -> bool:
        """Whether some changes of an input would open redundant constraints."""
        matrix = self._effects((*TOGETHER, "approach"))[by]
        effects = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
        e, c, _ = self._linear.right_sides(effects)
        return self._linear.system.torn(e, c)

    def _answered(self, effects: Array) -> dict[str, Array]:
        linear, k = self._linear, effects.shape[1]
        e, c, r = linear.right_sides(effects)
        dv, r[linear.unknown] = linear.system.solve(e, c)
        lines, dynamic = linear.equations.lines, linear.equations.bodies.dynamic
        q, v, approach, joint_approach = (effects[where].copy() for where in lines[2:6])
        n, change = self._equations.bodies.count, dv.reshape(dynamic.size, 6, k)
        v.reshape(n, 6, k)[dynamic] += change
        q.reshape(n, 6, k)[dynamic] += np.matmul(linear.end, change)
        return {
            "q": q, "v": v, "r": r[: 6 * linear.nc], "approach": approach, "joint_approach": joint_approach,
        }  # fmt: skip

    def _weighed(self, cotangents: Mapping[str, Array], k: int) -> Array:
        linear, equations = self._linear, self._linear.equations
        n, dynamic = equations.bodies.count, equations.bodies.dynamic
        on_v, on_q = (cotangents[name].reshape(n, 6, k)[dynamic] for name in ("v", "q"))
        on_v = on_v + np.matmul(linear.end.transpose(0, 2, 1), on_q)
        on_r = np.zeros((len(equations.sides), k))
        on_r[: 6 * linear.nc] = cotangents["r"]
        on_e, on_c = linear.system.solve_transposed(on_v.reshape(6 * dynamic.size, k), on_r[linear.unknown])
        out = linear.right_sides_transposed(on_e, on_c, on_r)
        for where, name in zip(equations.lines[2:6], ("q", "v", "approach", "joint_approach"), strict=True):
            out[where] = cotangents[name]
        return out

    @property
    def problem(self) -> StepProblem:
        """The step as a `StepProblem`."""
        return self._linear.equations.problem


@single_threaded
def variational_derivative(
    scheme: VariationalBodies, world: World | PreparedWorld, state: State, memory: Memory, h: float,
    solver: Solver, *, kappa: float = 0.0,
) -> VariationalDerivative:  # fmt: skip
    """Make a step of length h [s] from `state` and differentiate it: exactly, or smoothed at kappa > 0."""
    # 1. The step.
    prepared = PreparedWorld.of(world)
    done = carried(scheme, prepared, state, memory, h, solver)
    problem = done.problem
    v, r = done.step.state.v.reshape(-1, 6), np.zeros(0) if done.solution is None else done.solution.r
    bad = next((one for one in done.step.solves if not one.ok), None)
    missed = "" if done.step.solved or bad is None else _missed("the step", bad)
    # 2. The point of linearisation: the solution, or a point of the central path.
    touches = done.solution is not None or (kappa > 0.0 and problem.contacts.gap.size > 0)
    if kappa > 0.0 and touches:  # open contacts have impulses too
        v, r, missed_path = _on_path(problem, solver, kappa)
        missed = missed or missed_path
    if not touches:
        r = np.zeros(step_blocks(problem).K.size)

    # 3. The linear system; at impulses in the interior of their set if they are not unique.
    equations = VariationalEquations(prepared, state, memory, done.step, problem, np.array(v), r)
    linear = Linear(equations, kappa)
    if done.solution is not None and not kappa and _undecided(linear):
        inside = _inside(problem, v, r, done.solution.tolerance)
        linear = Linear(equations.at(inside), kappa)
        if not linear.system.unique and problem.model != "pyramid":
            missed = missed or _ambiguous(linear, Linear(equations.at(0.5 * (inside + r)), kappa))
    return VariationalDerivative(linear, kappa, missed, _borders(prepared, done, equations))


def _borders(prepared: PreparedWorld, done: Carried, equations: VariationalEquations) -> Iterable[str]:
    """Yield sentences about loaded contacts on the border of a feature."""
    pressed = equations.r[0 : 6 * len(done.features) : 6]
    bears = pressed > SAME * pressed.max(initial=0.0)
    if not bears.any():
        return
    on_border = prepared.shapes.on_borders(
        prepared.detector, done.step.state.q, done.features, prepared.bodies.touch
    )
    for i in np.flatnonzero(bears & on_border)[:MOST_NOTES].tolist():
        first, second = (prepared.world.names[b] for b in equations.table.body[i])
        where = "is where other faces or edges take over"
        yield f"contact {i} of {first!r} and {second!r} {where}: no derivative there"


def _undecided(linear: Linear) -> bool:
    """Whether cases are on a border, or may differ for other impulses with the same velocities."""
    marked = linear.mark.any() or linear.joint_mark.any()
    return bool(marked or not linear.system.unique)


def _inside(problem: StepProblem, v: Array, r: Array, tolerance: float) -> Array:
    """Return impulses in the interior of the set of all impulses of the step, independent of the solver.

    If impulses are unique, r is returned, which is more accurate. For the pyramid, whose set is not known, r
    is
    returned too.
    """
    if problem.model == "pyramid":
        return r
    moving = np.flatnonzero(problem.row >= 0)
    twists = np.asarray(v)[moving[np.argsort(problem.row[moving])]].reshape(-1)
    tangent = step_tangent(problem, v)
    impulses = ImpulseSet(tangent, r, tangent.contact_velocity(twists), tolerance)
    return r if impulses.unique.all() else impulses.inside


def _ambiguous(linear: Linear, other: Linear) -> str:
    """Return a sentence if changes of velocities depend on the choice of impulses, otherwise "".

    Both arguments are linearised at impulses in the interior of the set, so that the cases of contacts agree.
    If
    redundant impulses act on bodies that turn or slip, they turn too, and changes of velocities depend on
    them.
    Random changes of the state detect this with probability 1.
    """
    rng, size = np.random.default_rng(0), 6 * linear.equations.bodies.count
    change = {name: rng.normal(size=(size, TRIED)) for name in ("q", "v")}
    first, second = (
        each.system.solve(*each.right_sides(each.equations.along(change))[:2])[0] for each in (linear, other)
    )
    if np.abs(first - second).max(initial=0.0) > SAME * np.abs(first).max(initial=0.0):
        return "impulses are not unique, and changes of velocities depend on them: no derivative"
    return ""


def _missed(step_name: str, solution: Solution) -> str:
    return f"{step_name} missed its tolerance: {solution.reason or solution.status.value}"


def _on_path(problem: StepProblem, solver: Solver, kappa: float) -> tuple[Array, Array, str]:
    """Return velocities (n, 6) and impulses on the central path of a step, and a sentence if it was not
    reached."""
    try:
        smoothed: Solver = solver.on_path(kappa)  # type: ignore[attr-defined]
    except AttributeError:
        raise ModelError(
            "smoothed derivatives need a solver that stops on the central path of steps: 'auto' or"
            f" 'ipm-step', not {type(solver).__name__}"
        ) from None
    solution: Any = smoothed.solve(problem)  # type: ignore[arg-type]
    reached = solution.verdict is not Verdict.MISSED
    missed = "" if reached else _missed(f"the smoothed step of kappa = {kappa:g}", solution)
    return step_velocities(problem, solution.v), np.asarray(solution.r), missed


def _kinks(linear: Linear) -> Iterable[str]:
    """Yield sentences about kinks of the step."""
    equations, world = linear.equations, linear.equations.world
    marked = np.flatnonzero(linear.mark)
    for i in marked[:MOST_NOTES].tolist():
        first, second = (world.names[b] for b in equations.table.body[i])
        yield f"contact {i} of {first!r} and {second!r} {_what(int(linear.mark[i]))}: no derivative there"
    for k in np.flatnonzero(linear.joint_mark)[:MOST_NOTES].tolist():
        name, part = world.joints.names[equations.joint[k]], PARTS[equations.part[k]]
        yield f"joint {name!r}, {part}, {_what(int(linear.joint_mark[k]))}: no derivative there"
    if marked.size > MOST_NOTES:
        yield f"and {marked.size - MOST_NOTES} contacts more"


def _what(mark: int) -> str:
    texts = [
        text
        for bit, text in ((GRAZES, "touches without pressing"), (YIELDS, "is about to slip"))
        if mark & bit
    ]
    return " and ".join(texts)
