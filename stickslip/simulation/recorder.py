"""Keeps steps while a run goes on, cheaply: they are held as they are, and made arrays by the hundred.

Between two records impulses, iterations and work add up, the worst residual counts, and everything else is
that of the last step.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import numpy as np

from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import Level
from stickslip.problem.solution import Verdict
from stickslip.schemes.step import CONTACT_WORK, Event, Memory, Step
from stickslip.schemes.work import contact_work, work_of
from stickslip.simulation.model import Model
from stickslip.state import BoolArray, State
from stickslip.systems.relations import FirstOrderOutput
from stickslip.systems.system import NonsmoothSystem

HELD = 256
"""So many records are held as steps before they become arrays."""

MARCHED = (
    "t", "q", "v", "z", "r", "u", "y", "active", "forecast", "natural", "natural_scaled", "iterations",
    "newton",
)  # fmt: skip
"""Columns that steps made together come with."""

Row = dict[str, Any]


@dataclass(slots=True)
class Sums:
    """What adds up since the last record."""

    r: Array
    """Impulses since then [N s], shape (size,)."""
    active: np.ndarray
    """Blocks that were active since then [-], shape (blocks,), bool."""
    verdicts: int = 0
    natural: float = 0.0
    natural_scaled: float = 0.0
    iterations: int = 0
    newton: int = 0
    work: float = 0.0
    measures: dict[str, float] = field(default_factory=dict)

    def of(self, name: str, new: Any) -> Any:
        """One of them, a measure by its column; where there is none of it yet, what leaves `new` as it is."""
        if not name.startswith("measures/"):
            return getattr(self, name)
        known = self.measures.get(name.removeprefix("measures/"))
        return (0.0 if name.endswith(CONTACT_WORK) else new) if known is None else known


class Recorder:
    """The columns of a trajectory while it is being made."""

    def __init__(self, system: NonsmoothSystem, model: Model, state: State, memory: Memory, index: int):
        self.system, self.model = system, model
        self.columns: dict[str, Array] = {}
        self.count = 0
        """Records in the columns; those still held as steps not counted."""
        self.events: list[Event] = []
        self.missed = self.steps = 0
        self.relaxation = ""
        """What stood in the place of the exact law in the first step that had it replaced."""
        self.previous = state
        self._held: list[tuple[Step, State, int, Sums | None]] = []
        self._sums: Sums | None = None
        self._append(_start_row(system, model, state, memory, index))

    def add(self, step: Step, state: State, index: int, closes: bool) -> None:
        """Take in a step that ended at `state`, the clock's index there, and whether it is to be recorded."""
        self.steps += 1
        if not step.ok:
            self.missed += step.verdict is Verdict.MISSED
            self.relaxation = self.relaxation or step.replaced
        if step.events:
            self.events.extend(step.events)
        if closes and self._sums is None:
            self._held.append((step, state, index, None))
        else:
            self._sum(step, state)
            if closes:
                self._held.append((step, state, index, self._sums))
                self._sums = None
        self.previous = state
        if len(self._held) >= HELD:
            self.flush()

    def extend(self, march: Any, h: float, index: IntArray, closes: BoolArray) -> None:
        """Take in the steps of a `March`; `closes` says which of them are to be recorded."""
        self.flush()
        before, n = self.previous, len(march)
        self.steps += n
        self.previous = march.state
        rows: Row = {name: getattr(march, name) for name in MARCHED}
        rows |= {"h": np.full(n, h), "index": index, "work": np.full(n, np.nan)}
        rows["verdicts"] = np.full(n, Verdict.CERTIFIED.code, np.int8)  # a march ends before it misses
        rows |= {f"memory/{name}": values for name, values in march.memories.items()}
        measures = getattr(march, "measures", {})
        rows |= {f"measures/{name}": values for name, values in measures.items()}
        if CONTACT_WORK in measures:
            rows["work"] = measures[CONTACT_WORK]
        if closes.all() and self._sums is None:
            self._append(rows)
            return
        if CONTACT_WORK not in measures:
            q, v, z = (np.concatenate([getattr(before, x)[None], getattr(march, x)]) for x in ("q", "v", "z"))
            t = np.concatenate([[before.t], march.t])
            rows["work"] = contact_work(self.system, t, rows["h"], q, v, z, march.r)
        self._append(self._reduced(rows, np.flatnonzero(closes)))

    def _reduced(self, rows: Row, ends: IntArray) -> Row:
        """Rows at `ends`, with sums since the record before; what comes after the last is kept for later."""
        n = len(rows["t"])
        starts = np.concatenate([[0], ends + 1])
        starts = starts[starts < n]
        found = {name: values[ends] for name, values in rows.items()}
        lam, last = found["r"], rows["r"][-1]
        told = f"measures/{CONTACT_WORK}"
        measures = [name for name in rows if name.startswith("measures/")]
        for reduce, names in (
            (np.add, ("r", "iterations", "newton", "work", *(name for name in measures if name == told))),
            (
                np.maximum,
                ("natural", "natural_scaled", "verdicts", *(name for name in measures if name != told)),
            ),
            (np.logical_or, ("active",)),
        ):
            for name in names:
                total = reduce.reduceat(rows[name], starts, axis=0)
                if self._sums is not None:
                    total[0] = reduce(self._sums.of(name, total[0]), total[0])
                found[name] = total[: len(ends)]
                rows[name] = total[-1]
        values = self.model.values
        found["r"], rows["r"] = np.where(values, lam, found["r"]), np.where(values, last, rows["r"])
        self._sums = None
        if len(starts) > len(ends):
            self._sums = Sums(
                rows["r"], rows["active"], int(rows["verdicts"]), float(rows["natural"]),
                float(rows["natural_scaled"]), int(rows["iterations"]), int(rows["newton"]),
                float(rows["work"]),
                {name.removeprefix("measures/"): float(rows[name]) for name in measures},
            )  # fmt: skip
        return found

    def close(self) -> None:
        """Turn all that is held into arrays; what has not been recorded yet is dropped."""
        self.flush()
        self._sums = None

    def flush(self) -> None:
        """Turn the steps that are held into arrays."""
        if not self._held:
            return
        held, self._held = self._held, []
        n, steps = len(held), [step for step, _, _, _ in held]
        states = [state for _, state, _, _ in held]
        plain = [step if sums is None else sums for step, _, _, sums in held]
        columns: Row = {
            "t": np.array([s.t for s in states]),
            "h": np.array([s.h for s in steps]),
            "index": np.array([index for _, _, index, _ in held]),
            "r": _stack([p.r for p in plain], n),
            "active": _stack([p.active for p in plain], n),
            "forecast": _stack([s.forecast for s in steps], n),
            "work": np.array([_told(step) if sums is None else sums.work for step, _, _, sums in held]),
        }
        columns |= {name: _stack(list(map(attrgetter(name), states)), n) for name in ("q", "v", "z")}
        columns |= {name: _stack(list(map(attrgetter(name), steps)), n) for name in ("u", "y")}
        columns["newton"] = np.array([p.newton for p in plain])
        judged = zip(*map(_judged, plain), strict=True)
        for name, values in zip(("verdicts", "natural", "natural_scaled", "iterations"), judged, strict=True):
            columns[name] = np.array(values, np.int8 if name == "verdicts" else None)
        for name in steps[0].memory:
            columns[f"memory/{name}"] = _stack([s.memory[name] for s in steps], n)
        for name in {name for p in plain if p.measures for name in p.measures}:
            columns[f"measures/{name}"] = np.array([p.measures.get(name, np.nan) for p in plain])
        self._append(columns)

    def arrays(self) -> dict[str, Array]:
        """The columns so far, each of one row per record; later records do not change them."""
        return {name: column[: self.count] for name, column in self.columns.items()}

    def _sum(self, step: Step, state: State) -> None:
        sums = self._sums
        if sums is None:
            sums = self._sums = Sums(np.array(step.r), step.active)
        else:
            sums.r = np.where(self.model.values, step.r, sums.r + step.r)
            sums.active = sums.active | step.active
        sums.verdicts = max(sums.verdicts, step.verdict.code)
        sums.natural = max(sums.natural, step.natural)
        sums.natural_scaled = max(sums.natural_scaled, step.natural_scaled)
        sums.iterations += step.iterations
        sums.newton += step.newton
        told = _told(step)
        sums.work += told if math.isfinite(told) else _work(self.system, self.previous, state, step)
        for name, value in step.measures.items():
            if name == CONTACT_WORK:
                sums.measures[name] = value + sums.measures.get(name, 0.0)
            else:
                sums.measures[name] = max(value, sums.measures.get(name, value))

    def _append(self, rows: Row) -> None:
        """Write rows behind the others; columns double when they are full."""
        start, stop = self.count, self.count + len(rows["t"])
        for name in rows.keys() - self.columns.keys():  # the first record, or a measure that is new
            self.columns[name] = _empty(rows[name], stop)
        for name, column in self.columns.items():
            if len(column) < stop:
                larger = _empty(column, max(2 * len(column), stop))
                larger[:start] = column[:start]
                self.columns[name] = column = larger
            if name in rows:
                column[start:stop] = rows[name]
        self.count = stop


def _judged(of: Step | Sums) -> tuple[int, float, float, int]:
    """Code of its verdict, residuals and iterations; most steps of a flight have nothing to judge."""
    if isinstance(of, Sums):
        return of.verdicts, of.natural, of.natural_scaled, of.iterations
    if not of.solves and not of.reason:
        return (Verdict.RELAXED if of.relaxation else Verdict.CERTIFIED).code, 0.0, 0.0, 0
    return of.verdict.code, of.natural, of.natural_scaled, of.iterations


def _empty(like: np.ndarray, n: int) -> np.ndarray:
    """n rows like those given: NaN where numbers are missing."""
    return np.full((n, *like.shape[1:]), np.nan if like.dtype == np.float64 else 0, like.dtype)


def _stack(rows: Sequence[np.ndarray], n: int) -> np.ndarray:
    # Joined as bytes of one kind, which is several times faster than np.array of many small arrays.
    return np.concatenate(rows).reshape(n, *rows[0].shape) if rows[0].ndim else np.array(rows)


def _told(step: Step) -> float:
    """Work of the contacts as the scheme tells it [J]; NaN where it is to be computed."""
    return step.measures.get(CONTACT_WORK, np.nan) if step.measures else np.nan


def _work(system: NonsmoothSystem, before: State, after: State, step: Step) -> float:
    if not step.r.any():
        return 0.0
    if Level.ACCELERATION in step.levels:
        return np.nan
    return work_of(system, before, after, step.h, step.r)


def _start_row(system: NonsmoothSystem, model: Model, state: State, memory: Memory, index: int) -> Row:
    """The record of the start: no impulse, nothing solved; u and y as they are there."""
    size, blocks = system.size, system.blocks
    u, y = np.zeros(size), np.zeros(size)
    for one, part in zip(system.interactions, model.interactions, strict=True):
        lam = np.zeros(one.law.size)
        at = (state.t, state.q[one.q], lam, state.z[one.z])
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
        "r": np.zeros(size), "u": u, "y": y, "active": np.zeros(blocks, bool),
        "forecast": np.full(blocks, np.nan), "verdicts": np.int8(0), "natural": 0.0, "natural_scaled": 0.0,
        "iterations": 0, "newton": 0, "work": 0.0,
    } | {f"memory/{name}": value for name, value in memory.items()}  # fmt: skip
    return {name: np.asarray(value)[None] for name, value in row.items()}
