"""Definition of a sweep: model, design, measures and arguments of `simulate`, stored in files as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stickslip.bench.environment import Environment
from stickslip.bench.json_data import Fail, Stored, written
from stickslip.bench.results import environment_differences
from stickslip.state import IntArray, ModelError
from stickslip.sweeps.designs import Design
from stickslip.sweeps.runs import Run


class OtherSweep(ValueError):  # noqa: N818 (describes a state)
    """A file contains another sweep; the message names the differences."""


@dataclass(frozen=True)
class Sweep(Stored):
    """Everything that determines the runs of a sweep."""

    make: str
    """Name of a scene, or place of a function."""
    design: Design
    measure: tuple[str, ...]
    """Names of measures, and places of functions."""
    how: dict[str, Any]
    """Given arguments of `simulate`."""
    timeout: float
    """Time limit of a run [s]."""
    memory: float
    """Memory limit of a run [MiB]."""
    sources: dict[str, str]
    """Hashes of the files of functions, by their places."""

    @property
    def name(self) -> str:
        """Name of the scene or of the function."""
        return self.make.rpartition(":")[2]

    def jobs(self, numbers: IntArray) -> list[Run]:
        """Runs with these numbers."""
        return [
            Run(number, self.make, values, self.measure, self.how, self.sources)
            for number, values in zip(numbers.tolist(), self.design.runs(numbers), strict=True)
        ]

    @classmethod
    def checked(cls, data: Any, place: str, fail: Fail) -> "Sweep":
        """Make a sweep from JSON data; `fail` refuses invalid data."""
        try:
            return cls.from_json(data, place, fail)
        except ModelError as error:
            fail(place, "a sweep that can be run", f"this: {error}")


def refuse_other(found: Sweep, asked: Sweep, file: str) -> None:
    """Raise `OtherSweep` with all differences if a file contains another sweep than the requested one."""
    unlike = [f"{item} is {one} there and {other} here" for item, one, other in _differences(found, asked)]
    if unlike:
        raise OtherSweep(
            f"{file} holds another sweep: {'; '.join(unlike)}; use another --out, or the old parameters"
        )


def refuse_other_place(found: Environment, asked: Environment, names: Sequence[str]) -> None:
    """Raise `OtherSweep` if two environments have different versions of software; machines may differ."""
    unlike = [
        (one, other)
        for kind, one, other in environment_differences(found, asked)
        if kind in ("versions", "code")
    ]
    if unlike:
        one, other = (", ".join(pair[k] for pair in unlike) for k in (0, 1))
        raise OtherSweep(
            f"the runs of a sweep are made by one version: {names[0]} has {one}; {names[1]} has {other}"
        )


def _differences(found: Sweep, asked: Sweep) -> Iterator[tuple[str, str, str]]:
    """Yield the differences: name, value in the file, requested value."""
    for item, (one, other) in {
        "the model": (found.name, asked.name),
        "the file of functions": (_hashes(found), _hashes(asked)),
        "what is measured": (_names(found.measure), _names(asked.measure)),
        "samples": (str(found.design.samples), str(asked.design.samples)),
        "the method of sampling": (found.design.method, asked.design.method),
        "repeat": (str(found.design.repeat), str(asked.design.repeat)),
        "seed": (str(found.design.seed), str(asked.design.seed)),
        "a seed for each run": (_yes(found.design.seeded), _yes(asked.design.seeded)),
        "timeout": (f"{found.timeout!r} s", f"{asked.timeout!r} s"),
        "the memory limit": (f"{found.memory!r} MiB", f"{asked.memory!r} MiB"),
    }.items():
        if one != other:
            yield item, one, other
    old, new = ({one.name: one for one in sweep.design.parameters} for sweep in (found, asked))
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            texts = [str(side[name]) if name in side else "not given" for side in (old, new)]
            if texts[0] == texts[1]:
                texts[1] += " (with other digits)"
            yield f"the parameter {name}", texts[0], texts[1]
    if list(old) != list(new) and set(old) == set(new):
        yield "the order of parameters", ", ".join(old), ", ".join(new)
    for name in dict.fromkeys([*found.how, *asked.how]):
        texts = [written(side[name]) if name in side else "not given" for side in (found.how, asked.how)]
        if texts[0] != texts[1]:
            yield name, texts[0], texts[1]


def _names(places: Sequence[str]) -> str:
    return ", ".join(place.rpartition(":")[2] for place in places)


def _hashes(sweep: Sweep) -> str:
    return ", ".join(dict.fromkeys(sweep.sources.values())) or "none"


def _yes(said: bool) -> str:
    return "wanted" if said else "not wanted"
