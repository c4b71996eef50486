"""Steps of n members as one function of plain arrays, with a first axis of members."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from stickslip.bridges.member_processes import MemberProcesses
from stickslip.bridges.step_function import ArraysFunction, function_of
from stickslip.mechanics.world import World
from stickslip.robots.robot import Robot
from stickslip.schemes.step import Solver
from stickslip.state import Array, ModelError
from stickslip.systems.family import Family
from stickslip.systems.system import NonsmoothSystem
from stickslip.threads import MOST


@dataclass(frozen=True, eq=False)
class BatchFunction:
    """Function (q, v, *inputs) -> (q, v) of n members. Each argument has a row for each member, or is shared.

    Row k of the results is bitwise the result of the function of a single member for row k of the arguments.
    Weights of shared arguments are sums over the members in order, and hence reproducible.
    """

    one: ArraysFunction
    """Function of a single member."""
    n: int
    """Number of members."""
    processes: MemberProcesses | None = None
    """Processes that compute members; None to compute them one after the other in this process."""

    @property
    def inputs(self) -> Sequence[str]:
        """Names of the arguments after q and v."""
        return self.one.inputs

    @property
    def results(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shapes of the returned q and v."""
        q, v = self.one.results
        return (self.n, *q), (self.n, *v)

    def check(self, shapes: Sequence[tuple[int, ...]]) -> None:
        """Raise a ModelError for a wrong number or wrong shapes of arguments."""
        names = ("q", "v", *self.inputs)
        if len(shapes) == len(names):
            for name, shape in zip(names, shapes, strict=True):
                known = self.one.shapes(name)
                if not self._has_rows(name, shape) and tuple(shape) not in known:
                    expectation = " or ".join(
                        str(each)
                        for shape_of_one in known
                        for each in ((self.n, *shape_of_one), shape_of_one)
                    )
                    raise ModelError(f"{name} has shape {tuple(shape)}, expected {expectation}")
        else:
            self.one.check(shapes)

    def value(self, *arguments: Array) -> tuple[Array, Array]:
        """Return q and v of all members after the steps."""
        return _stacked(self._of_all("value", self._rows(arguments)))

    def transposed(self, q: Array, v: Array, inputs: Sequence[Array], dq: Array, dv: Array) -> list[Array]:
        """Return weights of q, v and the inputs, for weights of the results."""
        arguments = (q, v, *inputs)
        gradients = [np.zeros(np.shape(one)) for one in arguments]
        rows = self._has_rows_of(arguments)
        states = [(row[0], row[1], row[2:], dq[k], dv[k]) for k, row in enumerate(self._rows(arguments))]
        for k, weights in enumerate(self._of_all("transposed", states)):
            for whole, part, has_rows in zip(gradients, weights, rows, strict=True):
                if has_rows:
                    whole[k] = part
                else:
                    whole += part
        return gradients

    def tangent(self, q: Array, v: Array, inputs: Sequence[Array], *changes: Array) -> tuple[Array, Array]:
        """Return the changes of the results for changes of q, v and the inputs."""
        pairs = zip(self._rows((q, v, *inputs)), self._rows(changes), strict=True)
        states = [(row[0], row[1], row[2:], *change) for row, change in pairs]
        return _stacked(self._of_all("tangent", states))

    def _of_all(self, verb: str, rows: Sequence[Sequence[Any]]) -> Iterator[Any]:
        """Yield the result of a method of the function of a member for each row, in order.

        If a process raised an exception, the member is computed again here, which raises it.
        """
        results = [None] * self.n if self.processes is None else self.processes.run(verb, rows)
        for row, one in zip(rows, results, strict=True):
            yield getattr(self.one, verb)(*row) if one is None else one

    def _rows(self, arguments: Sequence[Array]) -> list[list[Array]]:
        """Return the arguments of each member."""
        rows = self._has_rows_of(arguments)
        return [
            [np.asarray(one[k] if has_rows else one) for one, has_rows in zip(arguments, rows, strict=True)]
            for k in range(self.n)
        ]

    def _has_rows_of(self, arguments: Sequence[Array]) -> list[bool]:
        names = ("q", "v", *self.inputs)
        return [self._has_rows(name, np.shape(one)) for name, one in zip(names, arguments, strict=True)]

    def _has_rows(self, name: str, shape: tuple[int, ...]) -> bool:
        """Whether an argument of a shape has a row for each member."""
        return tuple(shape) in [(self.n, *shape_of_one) for shape_of_one in self.one.shapes(name)]


StepArrays = ArraysFunction | BatchFunction
"""Functions that JAX and PyTorch wrap."""


def arrays_function(
    thing: World | NonsmoothSystem | Family | Robot, h: float, solver: Solver, how: dict[str, Any]
) -> StepArrays:
    """Return the function of steps of a model.

    how   fields of `ArraysFunction`, and `batch`, the number of members (None for one without an axis of
          members), and `processes`, the number of processes that compute them
    """
    fields = dict(how)
    n, count = fields.pop("batch", None), fields.pop("processes", 1)
    one = function_of(thing, h, solver, fields)
    if not _is_count(count, MOST):
        raise ModelError(f"processes is {count!r}; expected a whole number from 1 to {MOST}")
    if n is None:
        if count > 1:
            raise ModelError(
                f"processes is {count}, but there is one member; give batch=..., how many there are"
            )
        return one
    if not _is_count(n, None):
        raise ModelError(f"batch is {n!r}; the number of members must be a whole number from 1, or None")
    shared = min(int(count), int(n))
    return BatchFunction(
        one, int(n), MemberProcesses(shared, thing, h, solver, fields) if shared > 1 else None
    )


def _is_count(n: Any, most: int | None) -> bool:
    whole = isinstance(n, Integral) and not isinstance(n, bool)
    return whole and 1 <= int(n) <= (int(n) if most is None else most)


def _stacked(rows: Iterable[tuple[Array, Array]]) -> tuple[Array, Array]:
    q, v = zip(*rows, strict=True)
    return np.stack(q), np.stack(v)
