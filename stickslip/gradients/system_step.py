"""Derivative of one step of a `NonsmoothSystem`, by the implicit function theorem.

The equations of the step (`system_equations.py`), linearised at its end, are

    A dv - B dr = m,    du = C dv + D dr + w,    and the law between u and r to first order

(`tangent.py`). A to D, m and w are extrapolated differences (`extrapolation.py`). No step is repeated, and no
iteration is differentiated.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from stickslip.gradients import extrapolation
from stickslip.gradients.solution_exact import DOUBT
from stickslip.gradients.solution_linear import ReducedLinearisation
from stickslip.gradients.solution_rows import Reduced
from stickslip.gradients.step import checked_kappa, checked_memory, checked_solver
from stickslip.gradients.system_equations import StepEquations, Written
from stickslip.gradients.system_moreau_jean import MoreauJeanEquations
from stickslip.gradients.system_variational import VariationalEquations
from stickslip.gradients.tangent import SETS, Tangent, TangentDerivative
from stickslip.schemes import registry
from stickslip.schemes.moreau_jean import MoreauJean
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.starts import check_start
from stickslip.schemes.step import Memory, Scheme, Solver, Step, first_state
from stickslip.schemes.variational_written import Variational
from stickslip.simulation.clock import length
from stickslip.state import Array, ModelError, State
from stickslip.systems.family import Family
from stickslip.systems.system import NonsmoothSystem
from stickslip.threads import single_threaded

SETTLED = 1e-11
"""Relative change of velocities and impulses at which a smoothed step has converged [-]; heuristic."""
MOST = 40
"""Largest number of iterations for a smoothed step; heuristic."""


class SystemStepDerivative(TangentDerivative):
    """Derivative of one step of a `NonsmoothSystem`.

    By: `q`, `v` (and `z` where there are discrete parameters) at the start, `h` [s], `force`, an additional
    force on each velocity [N, N m], `mu`, `mu_roll`, `mu_spin` of the blocks that have them, `e` of every
    block, `lower` and `upper`, forces that bound it, and the numbers of a `Family`. Of: `q` and `v` at the
    end, with independent numbers of q, and the impulses `r`. The variational scheme adds `approach`, the
    speeds of closing blocks, and `h_before`, the length of the step before.
    """

    def __init__(self, equations: StepEquations, step: Step, tolerance: float, kappa: float):
        self._equations, self.step, self.kappa = equations, step, kappa
        self._tangent, self._keep = _tangent(equations, step, tolerance, kappa), equations.keep
        family = equations.family
        shapes = {name: value.shape for name, value in equations.inputs.items()}
        if family is not None:
            shapes |= {name: value.shape for name, value in family.numbers.items()}
        self.by = shapes
        self._carried = tuple(name for name in ("z", "approach") if name in shapes)
        state = equations.made.state
        self.of = {"q": state.q.shape, "v": state.v.shape, "r": step.r.shape,
                   **{name: shapes[name] for name in self._carried}}  # fmt: skip
        core, notes = self._tangent.core, self._kinks() if not kappa else []
        if not step.solved:
            notes.append(f"the step itself failed: {step.fault}")
        if self._tangent.missed:
            notes.append(self._tangent.missed)
        self.exists = (core is None or core.exists) and not notes
        self.unique = core is None or core.unique
        self.notes = (*(() if core is None else core.notes), *notes)
        self._matrices: dict[str, Array] = {}

    def _kinks(self) -> list[str]:
        """Return sentences about the kinks of the scheme."""
        core, keep, size = self._tangent.core, self._equations.keep, self.step.r.size
        presses, near = np.zeros(size, bool), np.zeros(size)
        if core is not None:
            presses[keep], near[keep] = core.presses, core.near
        return self._equations.kinks(presses, near)

    def _effects(self, names: Iterable[str]) -> dict[str, Array]:
        return {name: self._matrix(name) for name in names}

    def _matrix(self, name: str) -> Array:
        """Return the derivatives of the equations by an input, with rows as in `Tangent.rows`."""
        if name not in self._matrices:
            equations, tangent = self._equations, self._tangent
            x = equations.inputs

            def changed(value: Array) -> Array:
                return _flat(equations, {**x, name: value}, tangent.v, tangent.r)[0]

            self._matrices[name] = extrapolation.jacobian(changed, x[name], equations.size(name))
            if not np.isfinite(self._matrices[name]).all():
                raise ModelError(f"the equations of the step are not finite beside this {name}")
        return self._matrices[name]


def _tangent(equations: StepEquations, step: Step, tolerance: float, kappa: float) -> Tangent:
    """Return the tangent at the step, or, if smoothed, at the point of its central path.

    The smoothed point is computed by Newton's method, with a new tangent in each iteration. If impulses are
    not
    unique, the tangent is recomputed at the impulses that the linearisation chooses.
    """
    x, v, r = equations.inputs, np.array(step.state.v), step.r[equations.keep]
    K, missed = (
        equations.bounds(x),
        "the smoothed step was not found: choose another kappa, or a shorter step",
    )
    for number in range(MOST if kappa else 2):
        # 1. The equations, and their derivatives by v⁺ and r.
        flat, rows = _flat(equations, x, v, r)
        nv = v.size

        def both(vr: Array) -> Array:
            return _flat(equations, x, vr[:nv], vr[nv:])[0]  # noqa: B023

        impulses = np.full(r.size, max(float(np.abs(r).max(initial=0.0)), float(x["h"][0])))
        size = np.concatenate([np.maximum(np.abs(v), 1.0), impulses])
        J = extrapolation.jacobian(both, np.concatenate([v, r]), size)
        balance, law = flat[rows["balance"]], flat[rows["law"]]
        A, B = J[rows["balance"], :nv], -J[rows["balance"], nv:]
        C, D = J[rows["law"], :nv], J[rows["law"], nv:]
        end, core = J[rows["q"], :nv], None
        # 2. The linearised contact problem in r.
        off = np.linalg.solve(A, balance)
        if r.size:
            W = C @ np.linalg.solve(A, B) + D
            problem = Reduced(K, W, law - C @ off - W @ r)
            core = ReducedLinearisation(problem, r, tolerance, kappa, share=DOUBT)
        tangent = Tangent(v, r, A, B, C, end, core, rows, missed if kappa and r.size else "")
        if core is None or (not kappa and (number or _relative(core.r - r, r) <= SETTLED)):
            return tangent
        # 3. Other impulses of the same step, or a Newton step towards the smoothed one.
        if not kappa:
            r = core.r
            continue
        moved = np.linalg.solve(A, B @ (core.r - r)) - off
        change = max(_relative(moved, v), _relative(core.r - r, core.r))
        v, r = v + moved, core.r
        if change <= SETTLED:
            return Tangent(v, r, A, B, C, end, core, rows)
    return tangent


def _relative(change: Array, x: Array) -> float:
    size = float(np.abs(change).max(initial=0.0))
    return size / max(float(np.abs(x).max(initial=0.0)), 1e-300) if size else 0.0


def _flat(
    equations: StepEquations, x: Mapping[str, Array], v: Array, r: Array
) -> tuple[Array, dict[str, slice]]:
    """Return all parts of the equations, concatenated, and the rows of each."""
    with np.errstate(all="ignore"):  # non-finite values are checked later
        parts, K = equations.outputs(x, v, r), equations.bounds(x)
    parts |= {name: np.where(np.isfinite(bound := getattr(K, name)), bound, 0.0) for name in SETS}
    ends = np.cumsum([0, *(part.size for part in parts.values())]).tolist()
    where = {name: slice(ends[i], ends[i + 1]) for i, name in enumerate(parts)}
    return np.concatenate(list(parts.values())), where


def system_derivative(
    system: NonsmoothSystem | Family | PreparedSystem, state: State | None = None, *, h: float,
    solver: Solver, scheme: str | Scheme | None = None, memory: Memory | None = None, kappa: float = 0.0,
) -> SystemStepDerivative:  # fmt: skip
    """Make a step of length h [s] from `state` (by default the initial state), and differentiate it."""
    prepared = PreparedSystem.of(system)
    whole, chosen = prepared.system, scheme_of_system(scheme, prepared.system)
    begin = first_state(whole) if state is None else checked_state(whole, state)
    checked_solver(solver)
    h, kappa = length("h", h), checked_kappa(kappa)
    last = chosen.begin(prepared, begin, h) if memory is None else _checked_memory(chosen, whole, memory)
    if state is None:
        check_start(prepared, begin, h, chosen)
    return differentiated_step(chosen, prepared, begin, last, h, solver, kappa)


@single_threaded
def differentiated_step(
    scheme: Scheme, prepared: PreparedSystem, state: State, memory: Memory, h: float, solver: Solver,
    kappa: float,
) -> SystemStepDerivative:  # fmt: skip
    """Make a step and differentiate it; arguments are not checked."""
    step = scheme.step(prepared, state, memory, h, solver)
    if step.searched is not None:
        if prepared.family is not None:
            raise ModelError(
                "contacts between shapes such as boxes have no derivative by the numbers of a family;"
                " differentiate the world itself, by its parameters"
            )
        prepared, memory = PreparedSystem(step.searched.system), step.searched.memory
    done = Written(prepared, state, memory, h, step)
    tolerance = max((one.tolerance for one in step.solves), default=1e-10)
    equations: StepEquations
    if isinstance(scheme, MoreauJean):
        equations = MoreauJeanEquations(scheme, done)
    else:
        assert isinstance(scheme, Variational)
        equations = VariationalEquations(scheme, done, every=kappa > 0.0)
    return SystemStepDerivative(equations, step, tolerance, kappa)


def scheme_of_system(scheme: Any, system: NonsmoothSystem) -> Scheme:
    """Return the scheme of that name, or the given scheme; raise a ModelError if its steps have no
    derivative."""
    chosen = registry.chosen_for_system(scheme, system)
    if not isinstance(chosen, MoreauJean | Variational):
        name, _ = registry.described(chosen)
        raise ModelError(f"steps of {name} have no derivative; those of moreau-jean and variational have")
    return chosen


def _checked_memory(scheme: Scheme, system: NonsmoothSystem, memory: Any) -> Memory:
    sizes = {"r": system.size, "y": system.size}
    if isinstance(scheme, Variational):
        sizes = {"r": system.size, "h": 1, "approach": system.blocks}
    arrays = checked_memory(memory, sizes)
    for name, size in sizes.items():
        if arrays[name].shape != (size,):
            raise ModelError(f"memory: {name} has shape {arrays[name].shape}, expected ({size},)")
    return arrays


def checked_state(system: NonsmoothSystem, state: Any) -> State:
    """Return `state`; raise a ModelError if it is not a valid state of the system."""
    if not isinstance(state, State):
        raise ModelError(f"state is {type(state).__name__}; expected a State, such as run.state(-1)")
    system.check_state(state)
    return state
