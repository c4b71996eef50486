"""Designs of sweeps: grids, lists and samples of parameter values; runs are numbered from 0.

The runs of a design are all combinations of its grid, of the rows of its list and of its samples, each
`repeat` times. Repetitions change fastest, then samples, then the list, then the last parameter of the grid.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from stickslip.bench.json_data import Stored
from stickslip.names import alternatives
from stickslip.state import Array, IntArray, ModelError

Value = bool | int | float | str
"""Types of parameters."""
METHODS = ("random", "latin", "sobol")
"""Sampling methods: independent samples, Latin hypercube, scrambled Sobol points."""
MOST = 10_000_000
"""Largest number of runs of a sweep."""
LONGEST = 1000
"""Largest number of characters of a text value."""
SEED = "seed"
"""Name of the parameter that gets a random seed for each run."""


@dataclass(frozen=True)
class Uniform(Stored):
    """Uniform distribution of real numbers from `low` to `high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check(self, lambda: self.low < self.high, "low < high")

    def values(self, u: Array) -> Array:
        """Quantiles at the probabilities `u`."""
        return self.low + (self.high - self.low) * u


@dataclass(frozen=True)
class LogUniform(Stored):
    """Log-uniform distribution of positive numbers from `low` to `high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check(self, lambda: 0.0 < self.low < self.high, "0 < low < high")

    def values(self, u: Array) -> Array:
        """Quantiles at the probabilities `u`."""
        return np.asarray(self.low * np.exp(math.log(self.high / self.low) * u))


@dataclass(frozen=True)
class Normal(Stored):
    """Normal distribution."""

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        _check(self, lambda: self.deviation > 0.0, "deviation > 0")

    def values(self, u: Array) -> Array:
        """Quantiles at the probabilities `u`; 0 and 1 are moved inside by a rounding error."""
        return np.asarray(self.mean + self.deviation * ndtri(np.clip(u, 1e-16, 1.0 - 1e-16)))


@dataclass(frozen=True)
class Integers(Stored):
    """Uniform distribution of integers from `low` to `high`, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        are_whole = isinstance(self.low, Integral) and isinstance(self.high, Integral)
        _check(self, lambda: are_whole and self.low <= self.high, "whole numbers, low <= high")

    def values(self, u: Array) -> Array:
        """Quantiles at the probabilities `u`."""
        return np.minimum(self.low + np.floor((self.high - self.low + 1) * u), self.high)


Distribution = Uniform | LogUniform | Normal | Integers
DISTRIBUTIONS: dict[str, type[Distribution]] = {
    "uniform": Uniform, "log-uniform": LogUniform, "normal": Normal, "integers": Integers
}  # fmt: skip
"""Distributions by name."""
HOW = ("fixed", "grid", "list", *DISTRIBUTIONS)
"""Sources of the values of a parameter."""


def _check(made: Any, holds: Callable[[], bool], wanted: str) -> None:
    numbers = tuple(vars(made).values())
    finite = all(isinstance(x, Real) and not isinstance(x, bool) and math.isfinite(x) for x in numbers)
    if not (finite and holds()):
        text = ", ".join(map(repr, numbers))
        raise ModelError(f"{type(made).__name__}({text}): expected finite numbers, {wanted}")


@dataclass(frozen=True)
class Parameter(Stored):
    """A parameter of a sweep and its values."""

    name: str
    how: str
    """One of `HOW`."""
    values: tuple[Value, ...]
    """The fixed value, the values of the grid or list, or the two numbers of a distribution."""

    def __str__(self) -> str:
        values = [*map(_shown, self.values[:SHOWN]), *["..."][: len(self.values) - SHOWN]]
        if self.how in DISTRIBUTIONS:
            return f"{self.name}={':'.join([self.how, *values])}"
        return f"{self.name}={','.join(values)}"

    @property
    def kind(self) -> type[Value]:
        """Type of the values: bool, int, float or str."""
        if self.how in DISTRIBUTIONS:
            return int if self.how == "integers" else float
        kinds = {type(value) for value in self.values}
        return kinds.pop() if len(kinds) == 1 else float

    @property
    def distribution(self) -> Distribution:
        """Distribution of a sampled parameter."""
        return DISTRIBUTIONS[self.how](*self.values)  # type: ignore[arg-type]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Distinct text values; columns contain their indices."""
        return tuple(dict.fromkeys(map(str, self.values))) if self.kind is str else ()

    @cached_property
    def numbers(self) -> Array:
        """The values as numbers of columns [any], shape (values,)."""
        place = {word: float(k) for k, word in enumerate(self.words)}
        return np.array([place[x] if isinstance(x, str) else float(x) for x in self.values])


SHOWN = 8
"""Largest number of values of a parameter in messages."""


def _shown(value: Value) -> str:
    return f"{value:.10g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Design(Stored):
    """Values of the parameters in all runs."""

    parameters: tuple[Parameter, ...]
    samples: int = 0
    """Number of samples; 0 without sampled parameters."""
    method: str = "random"
    """Sampling method, one of `METHODS`."""
    repeat: int = 1
    """Number of runs of each combination."""
    seed: int = 0
    """Seed of the samples and of the seeds of runs."""
    seeded: bool = False
    """Whether each run gets its own parameter `seed`."""

    def __post_init__(self) -> None:
        for name, least in (("samples", 0), ("repeat", 1), ("seed", 0)):
            whole(name, getattr(self, name), least)
        if self.method not in METHODS:
            known = alternatives(self.method, METHODS)
            raise ModelError(f"no samples are drawn by {self.method!r}; {known}")
        for one in self.parameters:
            _check_parameter(one)
        names = [one.name for one in self.parameters]
        for name in names:
            if names.count(name) > 1:
                raise ModelError(f"the parameter {name} is given twice")
        if self.seeded and SEED in names:
            raise ModelError(f"the parameter {SEED} is given, and drawn for each run")
        if len({len(one.values) for one in self.listed}) > 1:
            counts = ", ".join(f"{one.name} {len(one.values)}" for one in self.listed)
            raise ModelError(f"the parameters of a list have different numbers of values: {counts}")
        if bool(self.samples) != bool(self.sampled):
            if self.sampled:
                raise ModelError(
                    f"samples is 0, and {self.sampled[0]} is sampled: give the number of samples"
                )
            raise ModelError(f"samples is {self.samples}, and no parameter is sampled")
        if self.size > MOST:
            raise ModelError(f"this makes {self.size} runs; at most {MOST} are made in one sweep")

    @property
    def grid(self) -> tuple[Parameter, ...]:
        """Parameters whose combinations are all run."""
        return tuple(one for one in self.parameters if one.how == "grid")

    @property
    def listed(self) -> tuple[Parameter, ...]:
        """Parameters that change together, row by row of a list."""
        return tuple(one for one in self.parameters if one.how == "list")

    @property
    def sampled(self) -> tuple[Parameter, ...]:
        """Sampled parameters."""
        return tuple(one for one in self.parameters if one.how in DISTRIBUTIONS)

    @property
    def varied(self) -> tuple[Parameter, ...]:
        """Parameters that differ between runs, in their order."""
        return tuple(one for one in self.parameters if one.how != "fixed")

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of values of each parameter of the grid, of rows of the list, samples and repetitions."""
        rows = len(self.listed[0].values) if self.listed else 1
        return (*(len(one.values) for one in self.grid), rows, max(self.samples, 1), self.repeat)

    @property
    def size(self) -> int:
        """Number of runs."""
        return math.prod(self.shape)

    @cached_property
    def drawn(self) -> Array:
        """Probabilities of the samples [-], shape (samples, sampled parameters)."""
        count = len(self.sampled)
        if not count:
            return np.zeros((0, 0))
        rng = np.random.default_rng([self.seed, *b"samples"])
        if self.method == "latin":
            return np.asarray(qmc.LatinHypercube(count, seed=rng).random(self.samples))
        if self.method == "sobol":
            power = max(0, math.ceil(math.log2(self.samples)))
            return np.asarray(qmc.Sobol(count, seed=rng).random_base2(power)[: self.samples])
        return rng.random((self.samples, count))

    def columns(self, numbers: IntArray) -> dict[str, Array]:
        """Values of the varied parameters in the runs with these numbers, by name; texts as indices of
        `words`."""
        places = np.unravel_index(numbers, self.shape)
        axis = {one.name: k for k, one in enumerate(self.grid)}
        arrays = {}
        for one in self.varied:
            if one.how in DISTRIBUTIONS:
                column = self.drawn[:, self.sampled.index(one)]
                arrays[one.name] = one.distribution.values(column)[places[-2]]
            else:
                arrays[one.name] = one.numbers[places[axis[one.name] if one.how == "grid" else -3]]
        if self.seeded:
            arrays[SEED] = np.array([float(seed_of(self.seed, k)) for k in numbers.tolist()])
        return arrays

    def runs(self, numbers: IntArray) -> Iterator[dict[str, Value]]:
        """Yield all parameters of the runs with these numbers."""
        fixed = {one.name: one.values[0] for one in self.parameters if one.how == "fixed"}
        kinds = {one.name: one for one in self.varied}
        columns = self.columns(numbers)
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            yield fixed | {
                name: plain(kinds.get(name), value) for name, value in zip(columns, row, strict=True)
            }
        if not columns:
            yield from (dict(fixed) for _ in numbers)


def plain(parameter: Parameter | None, value: float) -> Value:
    """Convert a number of a column to the value of its parameter; None for the seed."""
    kind = int if parameter is None else parameter.kind
    if parameter is not None and kind is str:
        return parameter.words[int(value)]
    return kind(value)


def seed_of(seed: int, number: int) -> int:
    """Seed of a run, below 2^53, from the seed of the sweep and the number of the run."""
    return int(np.random.SeedSequence(seed, spawn_key=(number,)).generate_state(1, np.uint64)[0] >> 11)


def whole(name: str, value: Any, least: int) -> int:
    """A whole number from `least`, below 2^63, checked."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ModelError(f"{name} is {value!r}; it must be a whole number >= {least}")
    if int(value) >= 2**63:
        raise ModelError(f"{name} is {value!r}; it must be below 2^63")
    return int(value)


def _check_parameter(one: Parameter) -> None:
    if one.how not in HOW:
        raise ModelError(f"{one.name}: no values come from {one.how!r}; {alternatives(one.how, HOW)}")
    if one.how in DISTRIBUTIONS:
        if len(one.values) != 2:
            raise ModelError(f"{one.name}: a distribution has two numbers, got {len(one.values)}")
        _ = one.distribution
        return
    if not one.values or (one.how == "fixed" and len(one.values) > 1):
        raise ModelError(f"{one.name} has {len(one.values)} values")
    texts = [isinstance(value, str) for value in one.values]
    if any(texts) and not all(texts):
        raise ModelError(f"{one.name} is text in some runs, and a number in others")
    for value in one.values:
        if isinstance(value, float) and not math.isfinite(value):
            raise ModelError(f"{one.name} is {value!r}; it must be finite")
        if isinstance(value, str) and len(value) > LONGEST:
            raise ModelError(f"{one.name} has a text of {len(value)} letters; at most {LONGEST} are stored")
        if isinstance(value, int) and abs(value) > 2**53:
            raise ModelError(f"{one.name} is {value!r}; whole numbers of a sweep are at most 2^53")


def parameter_of(name: str, given: Any) -> Parameter:
    """Make a parameter from Python objects: a value, several in a list, tuple, range or array, or a
    distribution."""
    for how, kind in DISTRIBUTIONS.items():
        if isinstance(given, kind):
            return Parameter(name, how, tuple(_value(name, x) for x in vars(given).values()))
    if isinstance(given, np.ndarray) and not given.ndim:
        given = given.item()
    if isinstance(given, np.ndarray | list | tuple | range):
        if len(given) > MOST:
            raise ModelError(f"{name} has {len(given)} values; at most {MOST} runs are made in one sweep")
        return Parameter(name, "grid", tuple(_value(name, x) for x in given))
    return Parameter(name, "fixed", (_value(name, given),))


def parameters_of_list(rows: Sequence[Mapping[str, Any]]) -> tuple[Parameter, ...]:
    """Make the parameters of a list of runs, mappings with the same names."""
    if isinstance(rows, str) or not isinstance(rows, Sequence):
        raise ModelError(
            f"parameters is {type(rows).__name__}; expected values by name, or a list of runs, each with its"
            " parameters by name"
        )
    if not rows:
        raise ModelError("the list of parameters is empty")
    for k, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ModelError(f"row {k} of the list is {row!r}; expected the parameters of a run by name")
    names = list(rows[0])
    for k, row in enumerate(rows):
        if set(row) != set(names):
            raise ModelError(f"row {k} of the list has {', '.join(row)}; row 0 has {', '.join(names)}")
    return tuple(Parameter(name, "list", tuple(_value(name, row[name]) for row in rows)) for name in names)


def _value(name: str, given: Any) -> Value:
    value = given.item() if isinstance(given, np.generic) else given
    if not isinstance(value, bool | int | float | str):
        raise ModelError(
            f"{name} is {value!r}; expected a number, a text, yes or no, several of them in a list, or a"
            f" distribution: {', '.join(kind.__name__ for kind in DISTRIBUTIONS.values())}"
        )
    return value
