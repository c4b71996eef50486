"""Stepper of runs of systems of equations: makes steps, and converts them to rows of records."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.interrupts import Interrupts
from stickslip.problem.checks import all_finite
from stickslip.problem.contact import Level
from stickslip.problem.solution import Verdict
from stickslip.schemes import registry
from stickslip.schemes.march import March, Strip, is_free
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import CONTACT_WORK, Memory, Selector, Solver, Step, frozen_state
from stickslip.schemes.work import contact_work
from stickslip.simulation import energy
from stickslip.simulation.begun import Begun
from stickslip.simulation.clock import Clock
from stickslip.simulation.model import Model
from stickslip.simulation.recorder import Lane, Marched
from stickslip.simulation.rows import Reduction, Rows
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.written_forces import WrittenForces
from stickslip.state import Array, ModelError, State
from stickslip.systems.relations import FirstOrderOutput

TOGETHER = 8192
"""Largest number of steps in one compiled call."""
LEAST_ROWS = 64
"""Smallest number of rows of a strip, so that single steps share one."""
MARCHED = (
    "t", "q", "v", "z", "u", "y", "active", "forecast", "natural", "natural_scaled", "iterations", "newton",
)  # fmt: skip
"""Columns that a march has."""


class _Kept(NamedTuple):
    """Data of a single step for its row."""

    step: Step
    """The step."""
    before: State
    """State at its start."""
    state: State
    """State at its end."""
    number: int
    """Index of the clock at its end."""


class _Together(NamedTuple):
    """Data of the steps of a compiled call for their rows."""

    march: March
    """The steps."""
    before: State
    """State at the start of the first."""
    h: float
    """Length of the steps [s]."""
    number: int
    """Index of the clock at the start of the first."""


@dataclass(eq=False, slots=True)
class _Growing:
    """Data of the steps of a strip for their rows; more steps may be added."""

    strip: Strip
    """The strip."""
    h: float
    """Length of the steps [s]."""
    number: int
    """Index of the clock at the start of the first."""
    steps: int = 0
    """Number of steps of the strip that are kept, from the first on."""

    def closed(self) -> _Together:
        """Close the strip, and return its steps."""
        strip = self.strip
        strip.closed, strip.steps = True, self.steps
        return _Together(strip.march(), strip.start, self.h, self.number)


class SystemSteps:
    """Stepper of one run of a system."""

    def __init__(self, prepared: PreparedSystem, begun: Begun, solver: Solver, select: Selector | None):
        self.prepared, self.system = prepared, prepared.system
        self.scheme, self.solver = begun.scheme, solver
        self.scheme_name, _ = registry.described(begun.scheme)
        self.model = Model.of(prepared.system, self.scheme.levels(prepared))
        self.notes: tuple[str, ...] = ()
        self.every = 1
        """Number of steps between records."""
        self.edges = None if self.scheme_name == "event-driven" else self.system.edges
        """Edges at which steps are divided; the event-driven scheme stops at them itself."""
        self._select = select
        self._before = begun.sums.get("contact_work", 0.0)
        """Work of the contacts before the run [J]."""
        compiled = bool(getattr(solver, "compiled_steps", False))
        self._march = getattr(self.scheme, "march", None) if compiled else None
        self._strip: Any = getattr(self.scheme, "strip", None) if compiled else None
        """Returns an empty strip, for schemes whose compiled calls can continue one."""
        self._growing: _Growing | None = None
        """The strip in use."""
        self._tolerance = float(getattr(solver, "tolerance", 0.0))
        self._h = begun.clock.h

    # 1. Steps.

    @property
    def free(self) -> bool:
        """Whether compiled calls do not use Python, so that threads can run them in parallel."""
        if self._strip is None or self.edges is not None:
            return False
        return is_free(self.scheme, self.prepared, self._h, self._tolerance)

    def step(self, state: State, memory: Memory, h: float) -> Step:
        """Return the step of length h that begins at `state`."""
        if self.edges is None:
            return self.scheme.step(self.prepared, state, memory, h, self.solver)
        t, inner = self.edges.sides(state.t, h)
        step = self.scheme.step(self.prepared, replace(state, t=t), memory, inner, self.solver)
        return replace(step, state=replace(step.state, t=state.t + h), h=h)

    def again(self, state: State, recall: Callable[[], Memory], h: float) -> Callable[[], Step]:
        """Return a function that repeats a step."""
        return lambda: self.step(state, recall(), h)

    def contacts(self, memory: Memory, step: Step | None) -> int:
        """Return the number of active blocks in the last step; -1 if not known."""
        return -1 if step is None else int(step.active.sum())

    def depth(self, state: State) -> float:
        """Return the deepest overlap of contacts; 0 for compliant contact [m]."""
        if self.scheme_name == "compliant":
            return 0.0
        y = np.zeros(self.system.size)
        for one in self.system.interactions:
            if not isinstance(one.output, FirstOrderOutput) and not one.mechanical.compliant:
                at = (state.t, state.q[one.q], np.zeros(one.law.size), state.z[one.z])
                y[one.components] = one.mechanical.y(*at)
        return float(self.model.penetration(y[None])[0])

    def check(self, step: Step, state: State) -> None:
        """Raise ModelError for outputs that are not finite; a NaN gap would neither open nor close."""
        self._check_outputs(state, step.y)

    def explain(self, state: State, step: Step, raised: bool) -> str:
        """Return a fault of the model at the end of a step that missed its tolerance, otherwise empty; raise
        ModelError for a fault at its start."""
        self.system.explain(state.t, state.q, state.v, state.z)
        if not raised:
            return ""
        end = step.state
        try:
            self.system.explain(end.t, end.q, end.v, end.z)
        except ModelError as error:
            return f" ({error})"
        return ""

    def march(
        self, state: State, recall: Callable[[], Memory], clock: Clock, index: int, most: int, every: int,
        end: int, interrupts: Interrupts,
    ) -> Marched | None:  # fmt: skip
        """Make several steps in one compiled call; return None if the next step has to be made by itself.
        recall: returns the scheme's memory."""
        if self._march is None:
            return None
        most, h = min(most, TOGETHER), clock.length(index + 1)
        # Not within `interrupts.run`: an exception that ends a march is raised after its steps are recorded.
        if self._strip is not None:
            return self._followed(state, recall, clock, index, most, h, interrupts)
        times = clock.times(index, index + most)
        march = self._march(self.prepared, state, recall(), h, most, self._tolerance, times, interrupts)
        if march is None:
            self._march = None
            return None
        n, error = len(march), getattr(march, "error", None)
        if not n:
            if error is not None:
                raise error
            return None
        if error is None:
            self._check_outputs(march.state, march.y[-1])
        return Marched(
            _Together(march, state, h, index), n, march.state,
            lambda k: {name: rows[k] for name, rows in march.memories.items()},
            float(march.natural_scaled[-1]), float(march.natural_scaled.max()), error,
        )  # fmt: skip

    def _followed(
        self, state: State, recall: Callable[[], Memory], clock: Clock, index: int, most: int, h: float,
        interrupts: Interrupts,
    ) -> Marched | None:  # fmt: skip
        """Make steps in the strip in use, or in a new one."""
        grown, record = self._growing, None
        if grown is None or not grown.strip.can_follow(state, h):
            times = clock.times(index, index + max(most, LEAST_ROWS))
            strip = self._strip(self.prepared, state, recall(), h, self._tolerance, times, interrupts)
            if strip is None:
                self._march = None
                return None
            grown = record = self._growing = _Growing(strip, h, index)
        strip, first = grown.strip, grown.strip.steps
        error = strip.make(most, interrupts)
        if strip.steps == first:
            strip.closed = True
            if error is not None:
                raise error
            return None
        if error is None:
            self._check_outputs(strip.state, strip.record.y[strip.steps])
        return _taken(grown, first, record, error)

    @property
    def lane(self) -> Lane | None:
        """Function that adds one step to the strip in use, to be recorded by `followed`; None if steps call
        Python functions."""
        grown = self._growing
        return None if grown is None or grown.strip.calls_python else grown.strip.follow

    def followed(self, done: int, index: int, every: int) -> tuple[Marched, Callable[[], Step]]:
        """Return `done` steps that the lane made from an index of the clock on, and a function that repeats
        the last of them."""
        assert self._growing is not None
        strip = self._growing.strip
        before = strip.steps - 1
        again = self.again(strip.state_after(before), partial(strip.memory_after, before), self._growing.h)
        return _taken(self._growing, strip.steps - done, None, None), again

    def set_inputs(self, values: Mapping[str, ArrayLike], state: State) -> State:
        """Set discrete parameters by name of the system, and return the state with them."""
        z = np.array(state.z)
        for name, value in values.items():
            _, _, _, place = self.model.system(name)
            numbers = np.asarray(value, float).reshape(-1)
            if numbers.size != z[place].size or not numbers.size or not np.isfinite(numbers).all():
                raise ModelError(
                    f"input {name!r} is {value!r}; expected {z[place].size} finite numbers,"
                    " the discrete parameters z of the system"
                )
            z[place] = numbers
        return frozen_state(state.t, state.q, state.v, z)

    def inputs(self, state: State) -> dict[str, Array]:
        """Return the discrete parameters by name of the system [any], shape (nz,) each."""
        places = {part.name: self.model.system(part.name)[3] for part in self.model.systems}
        return {name: state.z[place] for name, place in places.items() if state.z[place].size}

    # 2. Rows of records.

    def keep(self, step: Step, before: State, state: State, index: int, closes: bool, told: bool) -> _Kept:
        """Return the data of a step that ended at `state` for its row."""
        return _Kept(step, before, state, index)

    def rows(self, kept: Sequence[Any]) -> Rows:
        """Return one row per step."""
        if isinstance(kept[0], _Growing):
            kept = [one.closed() for one in kept]
        columns = _marched(kept) if isinstance(kept[0], _Together) else self._stepped(kept)
        n = len(columns["t"])
        columns["work_done"] = columns.get(f"measures/{CONTACT_WORK}", np.full(n, np.nan))
        if self.every > 1:
            self._tell_work(columns, kept[0].before)
        return Rows(columns)

    def _stepped(self, kept: Sequence[_Kept]) -> dict[str, Any]:
        """Return the columns of single steps."""
        n, steps, states = len(kept), [one.step for one in kept], [one.state for one in kept]
        columns: dict[str, Any] = {
            "t": np.array([s.t for s in states]),
            "h": np.array([s.h for s in steps]),
            "index": np.array([one.number for one in kept]),
            "newton": np.array([s.newton for s in steps]),
            "solver_r": _stack([s.r for s in steps], n),
        }
        columns |= {name: _stack(list(map(attrgetter(name), states)), n) for name in ("q", "v", "z")}
        columns |= {
            name: _stack(list(map(attrgetter(name), steps)), n) for name in ("u", "y", "active", "forecast")
        }
        judged = zip(*map(_judged, steps), strict=True)
        for name, values in zip(("verdicts", "natural", "natural_scaled", "iterations"), judged, strict=True):
            columns[name] = np.array(values, np.int8 if name == "verdicts" else None)
        for name in steps[0].memory:
            columns[f"memory/{name}"] = _stack([s.memory[name] for s in steps], n)
        for name in dict.fromkeys(name for s in steps if s.measures for name in s.measures):
            columns[f"measures/{name}"] = np.array([s.measures.get(name, np.nan) for s in steps])
        return columns

    def first(self, state: State, memory: Memory, index: int, sums: dict[str, float]) -> Rows:
        """Return the record of the start, with u and y and without impulses."""
        size, blocks = self.system.size, self.system.blocks
        u, y = np.zeros(size), np.zeros(size)
        for one, part in zip(self.system.interactions, self.model.interactions, strict=True):
            at = (state.t, state.q[one.q], np.zeros(one.law.size), state.z[one.z])
            if isinstance(one.output, FirstOrderOutput):
                y[one.components] = u[one.components] = one.flow.h(*at)
                continue
            y[one.components] = u[one.components] = one.mechanical.y(*at)
            if part.level is not Level.POSITION:
                drift = one.mechanical.drift(*at)
                speed = one.mechanical.rows(*at) @ state.v[one.v]
                u[one.components] = speed if drift is None else speed + drift
        row = {
            "t": state.t, "h": 0.0, "index": index, "q": state.q, "v": state.v, "z": state.z,
            "solver_r": np.zeros(size), "u": u, "y": y, "active": np.zeros(blocks, bool),
            "forecast": np.full(blocks, np.nan), "verdicts": np.int8(0), "natural": 0.0,
            "natural_scaled": 0.0, "iterations": 0, "newton": 0, "work_done": 0.0,
        } | {f"memory/{name}": value for name, value in memory.items()}  # fmt: skip
        return Rows({name: np.asarray(value)[None] for name, value in row.items()})

    def reduction(self, sums: dict[str, float]) -> Reduction:
        """Return the reduction of steps to records."""
        return Reduction({}, self.model.values)

    # 3. Quantities computed from records on access.

    def parts(self) -> dict[str, Any]:
        """Return further arguments of a `Trajectory` of the records."""
        select = self._select
        if select is None:
            return {"derive": self._derive, "choose": None, "forces": "solver"}
        parts = self.prepared, self.scheme, self.solver, select
        return {"derive": self._derive, "choose": WrittenForces(lambda: parts), "forces": "least"}

    def sums(self, of: Trajectory, since: float) -> dict[str, float]:
        """Return the energies from which a run continues, after the records `of` and the work since [J]."""
        return {"contact_work": float(of.contact_work[-1]) + since}

    def written(self, of: Trajectory) -> None:
        """Note that the records `of` have been written to a file."""
        self._before = float(of.contact_work[-1])

    def _tell_work(self, columns: dict[str, Any], before: State) -> None:
        """Compute the work of contacts in steps that will be summed, if the scheme does not measure it."""
        at = {
            name: np.concatenate([np.asarray(getattr(before, name))[None], columns[name]])
            for name in ("t", "q", "v", "z")
        }
        columns["work_done"] = self._work(columns["work_done"], columns["h"], columns["solver_r"], **at)

    def _work(self, told: Array, h: Array, r: Array, *, t: Array, q: Array, v: Array, z: Array) -> Array:
        """Return the work of the contacts in each step [J], shape (n,): that of `told`, or computed where
        `told` is NaN. t, q, v, z include the start of the first step."""
        missing = np.isnan(told)
        if not missing.any():
            return told
        if any(part.level is Level.ACCELERATION for part in self.model.interactions):
            # Impacts are within the steps, at velocities that are not recorded.
            return np.where(missing, np.where(r.any(axis=1), np.nan, 0.0), told)
        work = contact_work(self.system, t, h, q, v, z, np.where(missing[:, None], r, 0.0))
        return np.where(missing, work, told)

    def _derive(self, name: str, of: Trajectory) -> Array:
        """Return an energy of the records by name: kinetic, potential or contact_work [J], shape (n,)."""
        if name == "kinetic":
            return energy.kinetic(self.system, of.t, of.q, of.v, of.z)
        if name == "potential":
            return energy.potential(self.system, of.t, of.q, of.z)
        at = {key: getattr(of, key) for key in ("t", "q", "v", "z")}
        steps = self._work(of.column("work_done")[1:], of.h[1:], of.solver_r[1:], **at)
        return np.cumsum(np.concatenate([[self._before], steps]))

    def _check_outputs(self, state: State, y: Array) -> None:
        """Raise ModelError for outputs that are not finite."""
        if all_finite(y):
            return
        self.system.explain(state.t, state.q, state.v, state.z)
        for one in self.system.interactions:
            part = y[one.components]
            if not np.isfinite(part).all():
                raise ModelError(f"interaction {one.name!r}: at t = {state.t:.9g} s, y is not finite: {part}")


def _taken(grown: _Growing, first: int, kept: _Growing | None, error: BaseException | None) -> Marched:
    """Return the steps of a strip from row `first` on, as those of a compiled call."""
    strip, judged = grown.strip, grown.strip.record.natural_scaled
    n = grown.steps = strip.steps
    residual, worst = judged.item(n - 1), float(judged[first:n].max())
    memory = partial(_memory, strip, first)
    return Marched(kept, n - first, strip.state, memory, residual, worst, error)


def _memory(strip: Strip, first: int, k: int) -> Memory:
    """Return the scheme's memory after step k of the steps of a strip from row `first` on."""
    return strip.memory_after(first + k + 1)


def _marched(kept: Sequence[_Together]) -> dict[str, Any]:
    """Return the columns of steps of compiled calls."""
    marches = [one.march for one in kept]
    counts = [len(march) for march in marches]

    def joined(parts: list[Any]) -> Any:
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    columns = {name: joined([getattr(march, name) for march in marches]) for name in MARCHED}
    columns["solver_r"] = joined([march.r for march in marches])
    columns["h"] = np.repeat([one.h for one in kept], counts)
    columns["index"] = joined([one.number + np.arange(1, n + 1) for one, n in zip(kept, counts, strict=True)])
    # A march ends before a step that misses its tolerance.
    columns["verdicts"] = np.full(sum(counts), Verdict.CERTIFIED.code, np.int8)
    for name in marches[0].memories:
        columns[f"memory/{name}"] = joined([march.memories[name] for march in marches])
    for name in getattr(marches[0], "measures", {}):
        columns[f"measures/{name}"] = joined([march.measures[name] for march in marches])
    return columns


def _judged(step: Step) -> tuple[int, float, float, int]:
    """Return the code of its verdict, residuals and iterations; fast for steps without problems."""
    if not step.solves and not step.reason:
        return (Verdict.RELAXED if step.relaxation else Verdict.CERTIFIED).code, 0.0, 0.0, 0
    return step.verdict.code, step.natural, step.natural_scaled, step.iterations


def _stack(rows: Sequence[np.ndarray], n: int) -> np.ndarray:
    """Return n arrays of equal shape as one array."""
    # np.concatenate is several times faster than np.array for many small arrays.
    return np.concatenate(rows).reshape(n, *rows[0].shape) if rows[0].ndim else np.array(rows)
