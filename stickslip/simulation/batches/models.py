"""Models of the members of a batch: one structure, numbers of their own."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.mechanics.parameters import BEYOND_CONTACTS, Parameters
from stickslip.mechanics.world import World
from stickslip.names import alternatives
from stickslip.robots.numbers import numbers_in, robot_with
from stickslip.robots.robot import Robot
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.simulation.steppers import prepared_model
from stickslip.state import Array, ModelError
from stickslip.systems.family import Family
from stickslip.systems.system import NonsmoothSystem

GROUP = 8
"""Most worlds that one thread works on at a time, and that share what it writes to."""
TOGETHER = 32
"""Most robots in one compiled call: between two calls threads wait for each other."""
TASKS = 8
"""Groups, at least, where there are as many members."""


class Models:
    """The models of n members: that which is common, and what is each one's own."""

    def __init__(self, model: World | Robot | NonsmoothSystem | Family, n: int):
        self.model = model
        self.numbers: list[dict[str, Array]] = [{} for _ in range(n)]
        """Of each member the numbers that were given, by name [any], in the shapes of `default`."""

    @property
    def default(self) -> dict[str, Array]:
        """What may be given, by name, as the model has it [any]."""
        if isinstance(self.model, World):
            own = Parameters.of(self.model)
            return {name: getattr(own, name) for name in own.names()}
        if isinstance(self.model, Robot):
            return numbers_in(self.model)
        return dict(self.model.numbers) if isinstance(self.model, Family) else {}

    def give(self, members: Sequence[int], values: Mapping[str, ArrayLike]) -> None:
        """Give some members numbers, one row each, or all of them the same."""
        default = self.default
        for name, given in values.items():
            if name not in default:
                none = "this model has none; those of equations are the numbers of a Family"
                known = alternatives(name, tuple(default)) if default else none
                raise ModelError(f"unknown parameter {name!r}; {known}")
            rows = rows_of(f"parameter {name!r}", given, len(members), default[name].shape)
            for k, row in zip(members, rows, strict=True):
                self.numbers[k][name] = row

    def made(self, k: int) -> World | Robot | NonsmoothSystem:
        """The model of a member."""
        numbers, model = self.numbers[k], self.model
        try:
            if isinstance(model, Family):
                return model.at(numbers) if numbers else model.system
            if not numbers:
                return model
            if isinstance(model, World):
                return Parameters.of(model).with_(**numbers).applied(model)
            return robot_with(model, **numbers)  # type: ignore[arg-type]
        except ModelError as error:
            raise ModelError(f"member {k}: {error}") from None

    def prepared(self, k: int, other: int, like: Any) -> Any:
        """The model of a member, as its steps take it; like: that of another member, None for none. Two
        worlds find their contacts in the same workspace where both have the same shapes and materials."""
        model = self.made(k)
        if isinstance(model, Robot):
            return PreparedRobot(model, like=like)
        own = {*self.numbers[k], *self.numbers[other]}
        if like is None or not isinstance(model, World) or not own <= set(BEYOND_CONTACTS):
            return prepared_model(model)
        found = PreparedWorld(model, like)
        if not own:
            found.bodies = like.bodies
        return found


def rows_of(what: str, given: ArrayLike, n: int, shape: tuple[int, ...]) -> Array:
    """Numbers for n members, shape (n, *shape): from as many, axes of length 1 stretched, or from one row or
    one number for all."""
    try:
        found = np.array(given, float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {given!r}; expected numbers") from None
    full = (n, *shape)
    stretched = found.ndim == len(full) and all(a in (1, b) for a, b in zip(found.shape, full, strict=True))
    if stretched or found.shape in (shape, ()):
        found = np.broadcast_to(found, full).copy()
    if found.shape != full:
        raise ModelError(
            f"{what} has shape {found.shape}; expected {(n, *shape)}, or {shape} for all members"
        )
    if not np.isfinite(found).all():
        k = int(np.argmin(np.isfinite(found).reshape(n, -1).all(axis=1)))
        raise ModelError(f"{what} is not finite: row {k} is {found[k]}")
    return found
