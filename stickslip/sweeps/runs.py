"""Runs of a sweep: work for executors, records, and the function that makes a run."""

import math
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

import stickslip
from stickslip import scenes
from stickslip.bench.campaigns.contestants import (
    HERE,
    ContestantError,
    own_thing,
    place_file,
    source_of_function,
    takes,
)
from stickslip.bench.campaigns.own_files import own_files
from stickslip.bench.collections.models import as_model, is_own, made_by
from stickslip.bench.environment import Environment
from stickslip.bench.json_data import Fail, Stored, refuse
from stickslip.bench.records import JobError, Limits, Outcome, Work
from stickslip.bench.running.answers import one_line, sentence
from stickslip.bench.running.calls import Compiling
from stickslip.names import alternatives
from stickslip.problem.solution import Verdict
from stickslip.scenes.scenario import Scenario
from stickslip.simulation.failure import SimulationFailure
from stickslip.simulation.summary import verdict
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import ModelError
from stickslip.sweeps.measures import BUILT_IN, Measured, numbers_of

TOGETHER = 32
"""Number of runs sent to a process in one message, as each message costs about two milliseconds."""


@dataclass(frozen=True, eq=False)
class Row(Stored):
    """Record of one run."""

    number: int
    """Number of the run in its sweep, from 0."""
    outcome: Outcome
    """Outcome: solved, or the kind of failure; missed if a step missed its tolerance."""
    reason: str = ""
    """Reason of the outcome as a sentence, where needed."""
    names: tuple[str, ...] = ()
    """Names of the measured numbers, with units."""
    values: tuple[float, ...] = ()
    """Measured numbers, in the units of the names."""
    steps: int = 0
    """Number of time steps."""
    t: float = math.nan
    """End time of the run [s]."""
    residual: float = math.nan
    """Largest of the judge's residuals of all steps [-]."""
    seconds: float = math.nan
    """Wall time of the run without compilation [s]."""
    simulated: float = math.nan
    """Time of the simulation alone [s], without making the model and measuring."""
    compile_seconds: float = 0.0
    """Time to compile kernels, or to load compiled ones [s]."""
    environment: Environment | None = None
    """Environment of the run; None for that of the sweep."""

    @property
    def key(self) -> int:
        """Number of the run, which identifies the row."""
        return self.number


@dataclass(frozen=True)
class Run(Work):
    """One run of a sweep as work."""

    maker = "stickslip.sweeps.runs:Simulations"
    together: ClassVar[int] = TOGETHER

    number: int
    """Number of the run in its sweep, from 0."""
    make: str
    """Name of a scene, or place of a function."""
    given: dict[str, Any]
    """Parameters of the model."""
    measure: tuple[str, ...]
    """Names of measures, and places of functions."""
    how: dict[str, Any]
    """Arguments of `simulate`."""
    sources: dict[str, str]
    """Hashes of the files of functions, by their places."""

    @property
    def key(self) -> int:
        """Number of the run, the key of its row."""
        return self.number

    @property
    def group(self) -> Hashable:
        """Group of consecutive runs."""
        return self.number // (2 * TOGETHER)

    @property
    def own(self) -> bool:
        """Whether it calls users' functions."""
        return bool(self.sources)

    @property
    def files(self) -> Mapping[str, str]:
        """Files of users' functions, by their hashes."""
        pairs = ((source, place_file(place)) for place, source in self.sources.items())
        return {source: path for source, path in pairs if path}

    def contents(self, path: str) -> dict[str, bytes]:
        """Contents of a file of functions, and of the files that it imports from its folder."""
        return {name: file.read_bytes() for name, file in own_files(Path(path)).items()}

    def placed(self, files: Mapping[str, str]) -> Self:
        """Return the same run with its functions in these files."""

        def moved(place: str) -> str:
            source = self.sources.get(place, "")
            return f"{files[source]}:{place.rpartition(':')[2]}" if source in files else place

        sources = {moved(place): source for place, source in self.sources.items()}
        return replace(self, make=moved(self.make), measure=tuple(map(moved, self.measure)), sources=sources)

    def blank(self, outcome: Outcome, options: dict[str, Any] | None = None, **fields: Any) -> Row:
        """Make a row with an outcome."""
        fields.pop("memory", None)
        return Row(self.number, outcome, **fields)

    @classmethod
    def record(cls, data: Any, place: str = "JSON", fail: Fail = refuse) -> Row:
        """Make a row from JSON data."""
        row = Row.from_json(data, place, fail)
        if len(row.names) != len(row.values):
            fail(place, f"{len(row.names)} values, as there are names", f"{len(row.values)}")
        return row


class Failure(Exception):  # noqa: N818 (describes an outcome)
    """A run has ended without measured numbers."""

    def __init__(self, outcome: Outcome, reason: str):
        super().__init__(reason)
        self.outcome, self.reason = outcome, reason


Measure = Callable[[Measured, Mapping[str, Any]], dict[str, float]]
"""Function of a run and its parameters that returns numbers by name."""


class Simulations:
    """Makes runs of sweeps in a long-lived process; users' functions are loaded once."""

    def __init__(self) -> None:
        self._kept = lru_cache(8)(functions)

    def read(self, job: Run) -> tuple[Measure, ...]:
        """Load the measures of a run. Functions without a place are not cached, because another sweep may use
        the same name for others."""
        find = functions if any(place in HERE for place in job.measure) else self._kept
        return find(job.measure, tuple(job.sources.items()))

    def make(self, job: Run, limits: Limits, given: tuple[Measure, ...], tell: Callable[..., None]) -> Row:
        """Make a run and return its row; failures become rows, too."""
        with np.errstate(), Compiling(tell) as compiling:
            tell("calling")
            clock = Clock(compiling)
            try:
                row = made_row(job, given, clock)
            except Failure as failure:
                row = job.blank(failure.outcome, reason=one_line(failure.reason))
            except MemoryError as error:
                reason = f"it asked for more memory than there is: {sentence(error)}"
                row = job.blank(Outcome.MEMORY, reason=reason)
            except (Exception, SystemExit) as error:
                row = job.blank(Outcome.RAISED, reason=sentence(error))
            finally:
                tell("called")
        return replace(row, seconds=clock.now(), simulated=clock.simulated, compile_seconds=compiling.seconds)

    def forget(self) -> None:
        """Do nothing: users' functions are not reloaded."""


class Clock:
    """Clock of one run, without compilation."""

    def __init__(self, compiling: Compiling):
        self._compiling, self._begun = compiling, time.perf_counter()
        self.simulated = math.nan
        """Time of the simulation [s]."""

    def now(self) -> float:
        """Time since the start of the run [s]."""
        return max(0.0, time.perf_counter() - self._begun - self._compiling.seconds)


def made_row(job: Run, measures: tuple[Measure, ...], clock: Clock) -> Row:
    """Make the model, simulate it and measure it; return the row."""
    how = dict(job.how)
    until, h, scheme = (how.pop(name, None) for name in ("until", "h", "scheme"))
    try:
        product = made_by(job.make, job.given)
        model = None if isinstance(product, Trajectory) else as_model(product, job.make, until, h)
    except (TypeError, ValueError) as error:
        if is_own(job.make):
            raise
        raise Failure(Outcome.REFUSED, str(error)) from None
    if model is None:
        run = product
    else:
        if scheme is not None:
            of_scene = isinstance(product, Scenario)
            model = model._replace(scheme=scenes.scheme_of(product, scheme) if of_scene else scheme)
        begun = clock.now()
        try:
            run = stickslip.simulate(model.model, until=model.until, h=model.h, scheme=model.scheme, **how)
        except SimulationFailure as failure:
            raise Failure(Outcome.MISSED, str(failure).partition("; on_failure=")[0]) from None
        finally:
            clock.simulated = clock.now() - begun
    numbers = measured(job, measures, Measured(run, None if model is None else model.facts))
    missed = run.verdict is Verdict.MISSED
    return Row(
        job.number, Outcome.MISSED if missed else Outcome.SOLVED,
        verdict(run) if missed or run.relaxed else "", tuple(numbers), tuple(numbers.values()),
        run.steps, float(run.t[-1]), float(max(np.max(run.natural), np.max(run.natural_scaled))),
    )  # fmt: skip


def measured(job: Run, measures: tuple[Measure, ...], of: Measured) -> dict[str, float]:
    """All numbers of a run by name. An error of a function of the user is told with the function's name."""
    numbers, makers = dict[str, float](), dict[str, str]()
    for place, measure in zip(job.measure, measures, strict=True):
        name = place.rpartition(":")[2]
        try:
            values = measure(of, job.given)
        except (ModelError, MemoryError):
            raise
        except Exception as error:
            if not is_own(place):
                raise
            raise Failure(Outcome.RAISED, f"the measure {name}: {sentence(error)}") from None
        for key in values:
            if key in makers and (is_own(place) or is_own(makers[key])):
                other = makers[key].rpartition(":")[2]
                raise ModelError(f"the measures {other} and {name} both give {key!r}; rename one of the two")
            makers[key] = place
        numbers |= values
    return numbers


def functions(measures: tuple[str, ...], sources: tuple[tuple[str, str], ...]) -> tuple[Measure, ...]:
    """Load measures by names and places; raise a `JobError` if a file has changed."""
    try:
        for place, source in sources:
            digest = source_of_function(place)
            if digest != source:
                raise JobError(
                    f"{place} has changed: its hash is {digest} now, not {source}; begin the sweep anew, or"
                    " put the file back"
                )
            own_thing(place)
        return tuple(measure_of(place) for place in measures)
    except ContestantError as error:
        raise JobError(str(error)) from None


def measure_of(place: str) -> Measure:
    """Return the measure with this name or at this place."""
    if place in BUILT_IN:
        built_in = BUILT_IN[place]
        return lambda measured, given: built_in(measured)
    if not is_own(place):
        raise ContestantError(f"no measure {place!r}; {alternatives(place, [*BUILT_IN, 'file.py:function'])}")
    function, name = own_thing(place), place.rpartition(":")[2]
    if not callable(function):
        raise ContestantError(f"{place} is {function!r}, no function")
    if takes(function, "parameters"):
        return lambda measured, given: numbers_of(function(measured.run, parameters=dict(given)), name)
    return lambda measured, given: numbers_of(function(measured.run), name)
