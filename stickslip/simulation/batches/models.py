"""Models of the members of a batch: the same structure with different parameters."""

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
"""Largest number of worlds in a group, which one thread works on and which share a workspace (heuristic)."""
TOGETHER = 32
"""Largest number of robots in one compiled call (heuristic); threads wait for each other between calls."""
TASKS = 8
"""Least number of groups, if there are as many members (heuristic)."""


class Models:
    """Models of n members: the common model, and the parameters of each member."""

    def __init__(self, model: World | Robot | NonsmoothSystem | Family, n: int):
        self.model = model
        self.numbers: list[dict[str, Array]] = [{} for _ in range(n)]
        """Parameters of each member that differ from the model, by name [any], in the shapes of `default`."""

    @property
    def default(self) -> dict[str, Array]:
        """All parameters by name, with the values of the model [any]."""
        if isinstance(self.model, World):
            parameters = Parameters.of(self.model)
            return {name: getattr(parameters, name) for name in parameters.names()}
        if isinstance(self.model, Robot):
            return numbers_in(self.model)
        return dict(self.model.numbers) if isinstance(self.model, Family) else {}

    def give(self, members: Sequence[int], values: Mapping[str, ArrayLike]) -> None:
        """Set parameters of some members: one row for each, or one value for all."""
        default = self.default
        for name, array in values.items():
            if name not in default:
                none = "this model has none; those of equations are the numbers of a Family"
                known = alternatives(name, tuple(default)) if default else none
                raise ModelError(f"unknown parameter {name!r}; {known}")
            rows = rows_of(f"parameter {name!r}", array, len(members), default[name].shape)
            for k, row in zip(members, rows, strict=True):
                self.numbers[k][name] = row

    def made(self, k: int) -> World | Robot | NonsmoothSystem:
        """Return the model of member k."""
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
        """Return the prepared model of member k. like: that of member `other`, or None. Two worlds with the
        same shapes and materials share the workspace of detection."""
        model = self.made(k)
        if isinstance(model, Robot):
            return PreparedRobot(model, like=like)
        changed = {*self.numbers[k], *self.numbers[other]}
        if like is None or not isinstance(model, World) or not changed <= set(BEYOND_CONTACTS):
            return prepared_model(model)
        prepared = PreparedWorld(model, like)
        if not changed:
            prepared.bodies = like.bodies
        return prepared


def rows_of(label: str, given: ArrayLike, n: int, shape: tuple[int, ...]) -> Array:
    """Return numbers for n members, shape (n, *shape), from an array of that shape up to axes of length 1, or
    from one row or one number for all. Raise ModelError for other shapes and non-finite numbers."""
    try:
        rows = np.array(given, float)
    except (TypeError, ValueError):
        raise ModelError(f"{label} is {given!r}; expected numbers") from None
    full = (n, *shape)
    stretched = rows.ndim == len(full) and all(a in (1, b) for a, b in zip(rows.shape, full, strict=True))
    if stretched or rows.shape in (shape, ()):
        rows = np.broadcast_to(rows, full).copy()
    if rows.shape != full:
        raise ModelError(
            f"{label} has shape {rows.shape}; expected {(n, *shape)}, or {shape} for all members"
        )
    if not np.isfinite(rows).all():
        k = int(np.argmin(np.isfinite(rows).reshape(n, -1).all(axis=1)))
        raise ModelError(f"{label} is not finite: row {k} is {rows[k]}")
    return rows
