"""The derivative of one step of the variational scheme, by the implicit function theorem at its solution.

With v and the impulses r of a step known, its equations to first order are linear in their changes,

    A dv - B dr = e,    A = ∂P/∂v,  B = (H, G) at the start
    C dv + D dr = c,    what holds, presses, sticks or slips at the solution; all of them with smoothing

so one factorisation serves every input and every direction, forwards and backwards. Exact derivatives
decide from the solution who is open, sticks and slips. Where something touches without pressing, or is about
to slip, there is none: `exists` is False, `notes` say where, and the map is that of one side. Where more is
held than can move, impulses are not unique: changes of velocities are, and those of impulses are of least
norm. Smoothed derivatives are those of the point of the central path at kappa; the step itself stays the
exact one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np

from stickslip.gradients.step import StepDerivative
from stickslip.gradients.variational_columns import Linear
from stickslip.gradients.variational_parts import Solved
from stickslip.gradients.variational_right_sides import Columns
from stickslip.kernels.variational_derivatives.laws import GRAZES, YIELDS
from stickslip.linalg.threads import single_threaded
from stickslip.mechanics.parameters import Parameters
from stickslip.mechanics.world import World
from stickslip.problem.impulses import ImpulseSet
from stickslip.problem.solution import Solution, Verdict
from stickslip.problem.step_problem import LINEARISED, StepProblem
from stickslip.problem.step_tangent import step_blocks, step_tangent, step_velocities
from stickslip.schemes.bodies import Finder
from stickslip.schemes.body_joints import PARTS
from stickslip.schemes.body_step import BodyStep
from stickslip.schemes.step import Memory, Solver
from stickslip.schemes.variational import VariationalBodies, carried
from stickslip.state import Array, ModelError, State

TOGETHER = ("q", "v", "effort")
"""Inputs whose whole matrices are made with one solve: who asks for one of them asks for others."""
TRIED, SAME = 3, 1e-6
"""Random changes by which two derivatives are compared, and the share by which they may differ: ten times
the accuracy to which differences confirm derivatives of steps."""
MOST_NOTES = 8
"""Places that notes name one by one."""


class VariationalDerivative(StepDerivative):
    """The derivative of a step of the variational scheme: by and of `approach` and `joint_approach` as well,
    the speeds [m/s, rad/s] of contacts and stops that closed, as the memory before and after has them, and by
    `h_before`, the length of the step before [s]."""

    def __init__(self, linear: Linear, kappa: float, missed: str = ""):
        step, memory = linear.step, linear.memory
        self.step: BodyStep = step
        self.kappa = kappa
        self._linear = linear
        n, kept = linear.n, ("approach", "joint_approach")
        self.by = {
            "q": (6 * n,), "v": (6 * n,), "h": (1,), "h_before": (1,),
            **{name: memory[name].shape for name in kept},
            **_shapes(linear.world),
        }  # fmt: skip
        self.of = {
            "q": (6 * n,), "v": (6 * n,), "r": step.r.shape,
            **{name: step.memory[name].shape for name in kept},
        }  # fmt: skip
        self.unique = linear.system.unique
        notes = tuple(_kinks(linear)) if not kappa else ()
        self.exists = not notes
        if step.reason or missed:
            self.exists, notes = False, (step.reason or missed, *notes)
        if (linear.solved.problem.contacts.kind == LINEARISED).any():
            notes += ("linearised contacts count as fixed to their bodies, with normals that do not turn",)
        self._columns: dict[str, Columns] = {}
        self._whole: dict[str, dict[str, Array]] = {}
        if not self.unique:
            notes += ("impulses are not unique: their change is the one of least norm",)
            by_q = self._of_input("q")
            if linear.system.torn(_plain(by_q.e), _plain(by_q.c)):
                self.exists = False
                notes += ("what is held more than once is pulled apart by some displacements: no derivative",)
            if linear.system.moves_alone:
                self.exists = False
                notes += ("nor are velocities unique: they change with the impulses, and have no derivative",)
            struck = self._of_input("approach").c
            if linear.system.torn(np.zeros((6 * linear.nd, struck.shape[1])), struck):
                notes += ("contacts of one body bounce together: no derivative by `approach` of one alone",)
        self.notes = notes

    @single_threaded
    def forward(self, tangents: Mapping[str, Array]) -> dict[str, Array]:
        """Changes of all of `of`, each of shape (size, k), from those of some of `by`, each (size, k)."""
        parts: list[tuple[Columns, Array | None]] = [
            (self._of_input(name), t) for name, t in tangents.items()
        ]
        count = max((t.shape[1] for t in tangents.values()), default=1)
        return self._carried(parts, count)

    def jacobian(self, of: str, by: str) -> Array:
        """The whole matrix, shape (size of `of`, size of `by`), both flat; by state and efforts at once."""
        if of in self.of and by in self.by:
            if by not in self._whole and (by in TOGETHER or self._size(by) <= 6 * self._linear.n):
                self._make_whole(TOGETHER if by in TOGETHER else (by,))
            if by in self._whole:
                return self._whole[by][of].copy()
        return super().jacobian(of, by)

    def _size(self, by: str) -> int:
        return int(np.prod(self.by[by], dtype=int))

    @single_threaded
    def _make_whole(self, names: tuple[str, ...]) -> None:
        """All matrices by these inputs, from one solve."""
        sizes = [self._size(name) for name in names]
        ends = np.cumsum(sizes)
        inputs = [self._of_input(name) for name in names]
        joined = Columns(*(_side_by_side(inputs, sizes, spec.name) for spec in fields(Columns)))
        out = self._carried([(joined, None)], int(ends[-1]))
        for name, size, end in zip(names, sizes, ends.tolist(), strict=True):
            self._whole[name] = {of: matrix[:, end - size : end] for of, matrix in out.items()}

    @single_threaded
    def backward(self, cotangents: Mapping[str, Array], by: Iterable[str]) -> dict[str, Array]:
        """The transpose: from weights of some of `of`, each (size, k), those of `by`, each (size, k)."""
        linear = self._linear
        count = max((w.shape[1] for w in cotangents.values()), default=1)

        def weight(name: str) -> Array:
            shape = int(np.prod(self.of[name], dtype=int)), count
            return cotangents.get(name, np.zeros(shape))

        g_q, g_r = weight("q"), weight("r")
        on_v = weight("v") + linear.end_by_v.T @ g_q
        moves = np.repeat(linear.row >= 0, 6)
        g_e, g_c = linear.system.solve_transposed(on_v[moves], self._gathered(g_r))
        out = {}
        for name in by:
            c = self._of_input(name)
            total = np.zeros((int(np.prod(self.by[name], dtype=int)), count))
            for matrix, weights in (
                (c.e, g_e), (c.c, g_c), (c.r, g_r), (c.q, g_q), (c.v, weight("v")),
                (c.approach, weight("approach")), (c.joint_approach, weight("joint_approach")),
            ):  # fmt: skip
                if matrix is not None:
                    total += matrix.T @ weights
            out[name] = total
        return out

    def _of_input(self, name: str) -> Columns:
        if name not in self._columns:
            self._columns[name] = self._linear.columns(name)
        return self._columns[name]

    def _carried(self, parts: list[tuple[Columns, Array | None]], count: int) -> dict[str, Array]:
        """Changes of `of` by inputs and their directions; None for all directions of an input."""
        linear = self._linear
        n, nd = linear.n, linear.nd
        e, c = _total(parts, "e", 6 * nd, count), _total(parts, "c", linear.m, count)
        dv, dr = linear.system.solve(e, c)
        v = _total(parts, "v", 6 * n, count)
        q = _total(parts, "q", 6 * n, count)
        moves = linear.row >= 0
        v.reshape(n, 6, count)[moves] += dv.reshape(nd, 6, count)
        q.reshape(n, 6, count)[moves] += linear.displacements(dv).reshape(nd, 6, count)
        r = _total(parts, "r", 6 * len(linear.contacts.body), count)
        r.reshape(len(linear.contacts.body), 6, count)[linear.contact, linear.component] += dr[: linear.nk]
        return {
            "q": q, "v": v, "r": r,
            "approach": _total(parts, "approach", self.of["approach"][0], count),
            "joint_approach": _total(parts, "joint_approach", self.of["joint_approach"][0], count),
        }  # fmt: skip

    def _gathered(self, weights: Array) -> Array:
        """Weights of the unknown impulses from those of all of contacts, (6 nc, k)."""
        linear = self._linear
        out = np.zeros((linear.m, weights.shape[1]))
        out[: linear.nk] = weights.reshape(len(linear.contacts.body), 6, weights.shape[1])[
            linear.contact, linear.component
        ]
        return out

    @cached_property
    def problem(self) -> StepProblem:
        """The step as a problem."""
        return self._linear.solved.problem


@single_threaded
def variational_derivative(
    scheme: VariationalBodies, world: World, state: State, memory: Memory, h: float, solver: Solver,
    detector: Finder, *, kappa: float = 0.0,
) -> VariationalDerivative:  # fmt: skip
    """Make the step of length h from `state` and differentiate it: exactly, or smoothed at kappa > 0."""
    done = carried(scheme, world, state, memory, h, solver, detector)
    problem = done.problem
    v, r = done.step.state.v.reshape(-1, 6), np.zeros(0) if done.solution is None else done.solution.r
    bad = next((one for one in done.step.solves if not one.ok), None)
    missed = "" if done.step.solved or bad is None else _missed("the step", bad)
    touches = done.solution is not None or (kappa > 0.0 and len(problem.contacts) > 0)
    if kappa > 0.0 and touches:  # contacts that stay open push, too
        v, r, missed_path = _on_path(problem, solver, kappa)
        missed = missed or missed_path
    if not touches:
        r = np.zeros(step_blocks(problem).K.size)

    def taken(r: Array) -> Linear:
        solved = Solved.of(problem, np.array(v), state.v.reshape(-1, 6), r, kappa)
        return Linear(world, state, memory, done.step, solved)

    linear = taken(r)
    if done.solution is not None and not kappa and _undecided(linear):
        inside = _inside(problem, v, r, done.solution.tolerance)
        linear = taken(inside)
        if not linear.system.unique and problem.model != "pyramid":
            missed = missed or _ambiguous(linear, taken(0.5 * (inside + r)))
    return VariationalDerivative(linear, kappa, missed)


def _undecided(linear: Linear) -> bool:
    """Whether other impulses with the same velocities may do something else."""
    marked = linear.contacts.mark.any() or linear.joints.mark.any()
    return bool(marked or not linear.system.unique)


def _inside(problem: StepProblem, v: Array, r: Array, tolerance: float) -> Array:
    """Impulses of the same step inside the set of all of them, which every solver's answer leads to.

    Where there are no others r is more accurate. Four facets in the place of the cone are another law, of
    which the set is not known: r stays.
    """
    if problem.model == "pyramid":
        return r
    moving = np.flatnonzero(problem.row >= 0)
    own = np.asarray(v)[moving[np.argsort(problem.row[moving])]].reshape(-1)
    tangent = step_tangent(problem, v)
    found = ImpulseSet(tangent, r, tangent.contact_velocity(own), tolerance)
    return r if found.unique.all() else found.inside


def _ambiguous(linear: Linear, other: Linear) -> str:
    """Why velocities have no derivative where it depends on which of many impulses are taken.

    Both are inside the set of all impulses, so that contacts do the same. Where impulses stress bodies that
    turn or slip, the stress turns with them, and changes of velocities depend on it. Random changes of the
    state show that almost surely.
    """
    rng = np.random.default_rng(0)
    one, two = (VariationalDerivative(each, 0.0) for each in (linear, other))
    change = {name: rng.normal(size=(6 * linear.n, TRIED)) for name in ("q", "v")}
    for name, tangent in change.items():
        first, second = (each.forward({name: tangent})["v"] for each in (one, two))
        if np.abs(first - second).max(initial=0.0) > SAME * np.abs(first).max(initial=0.0):
            return "impulses are not unique, and changes of velocities depend on them: no derivative"
    return ""


def _missed(what: str, solution: Solution) -> str:
    return f"{what} missed its tolerance: {solution.reason or solution.status.value}"


def _shapes(world: World) -> dict[str, tuple[int, ...]]:
    """Of the parameters of a world, found once."""
    found: dict[str, tuple[int, ...]] | None = world.__dict__.get("_parameter_shapes")
    if found is None:
        given = Parameters.of(world)
        found = {name: getattr(given, name).shape for name in Parameters.names()}
        world.__dict__["_parameter_shapes"] = found
    return found


def _on_path(problem: StepProblem, solver: Solver, kappa: float) -> tuple[Array, Array, str]:
    """Velocities (n, 6) and impulses on the central path of a step, and what was missed there."""
    try:
        smoothed: Solver = solver.on_path(kappa)  # type: ignore[attr-defined]
    except AttributeError:
        raise ModelError(
            "smoothed derivatives need a solver that stops on the central path of steps: 'auto' or"
            f" 'ipm-step', not {type(solver).__name__}"
        ) from None
    found: Any = smoothed.solve(problem)  # type: ignore[arg-type]
    there = found.verdict is not Verdict.MISSED
    missed = "" if there else _missed(f"the smoothed step of kappa = {kappa:g}", found)
    return step_velocities(problem, found.v), np.asarray(found.r), missed


def _total(parts: list[tuple[Columns, Array | None]], name: str, size: int, count: int) -> Array:
    """The sum of matrices times directions, shape (size, count)."""
    total: Array | None = None
    for columns, tangent in parts:
        matrix = getattr(columns, name)
        if matrix is None:
            continue
        more = _plain(matrix) if tangent is None else matrix @ tangent
        total = more if total is None else total + more
    return np.zeros((size, count)) if total is None else np.asarray(total)


def _side_by_side(inputs: list[Columns], sizes: list[int], name: str) -> Array | None:
    """One part of several inputs as one matrix; None where none has it."""
    found = [getattr(columns, name) for columns in inputs]
    rows = next((matrix.shape[0] for matrix in found if matrix is not None), None)
    if rows is None:
        return None
    out, at = np.zeros((rows, sum(sizes))), 0
    for matrix, size in zip(found, sizes, strict=True):
        if matrix is not None:
            out[:, at : at + size] = _plain(matrix)
        at += size
    return out


def _plain(matrix: Any) -> Array:
    """A matrix, dense or sparse, as an array."""
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def _kinks(linear: Linear) -> Iterable[str]:
    """Sentences about where the step has no derivative."""
    names, contacts, joints = linear.world.names, linear.contacts, linear.joints
    marked = np.flatnonzero(contacts.mark)
    for i in marked[:MOST_NOTES].tolist():
        first, second = (names[b] if b >= 0 else "the inertial frame" for b in contacts.body[i])
        yield f"contact {i} of {first!r} and {second!r} {_what(int(contacts.mark[i]))}: no derivative there"
    for k in np.flatnonzero(joints.mark)[:MOST_NOTES].tolist():
        name, part = linear.world.joints.names[joints.joint[k]], PARTS[joints.part[k]]
        yield f"joint {name!r}, {part}, {_what(int(joints.mark[k]))}: no derivative there"
    if marked.size > MOST_NOTES:
        yield f"and {marked.size - MOST_NOTES} contacts more"


def _what(mark: int) -> str:
    said = [
        text
        for bit, text in ((GRAZES, "touches without pressing"), (YIELDS, "is about to slip"))
        if mark & bit
    ]
    return " and ".join(said)
