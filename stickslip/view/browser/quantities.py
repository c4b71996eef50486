"""Quantities of a run over time that the viewer plots: energies, sensors, joints, inputs; for equations also
coordinates, velocities, outputs and multipliers."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from stickslip.simulation.model import Model
from stickslip.simulation.robot_model import CoordinateView
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array, IntArray, ModelError

MOST = 400
"""Largest number of quantities in a page."""
COLUMNS = (
    ("kinetic", "kinetic energy", "J"), ("potential", "potential energy", "J"),
    ("energy", "kinetic + potential", "J"), ("dissipated", "dissipated", "J"), ("work", "work put in", "J"),
    ("contact_work", "work of contacts", "J"), ("balance", "energy balance", "J"),
    ("opening", "opening of joints", "m or rad"), ("iterations", "iterations of the solver", ""),
)  # fmt: skip
"""Columns of runs: attribute, name, unit."""


class Quantity(NamedTuple):
    """A quantity over time."""

    group: str
    """Heading of its group."""
    name: str
    unit: str
    values: Array
    """Values at the shown records [as the unit says], shape (n,)."""


def quantities(run: Trajectory, rows: IntArray) -> tuple[list[Quantity], bool]:
    """Return the quantities of a run at some of its records, and whether there are more than `MOST`."""
    result: list[Quantity] = []
    for quantity in _all(run, rows):
        if len(result) == MOST:
            return result, True
        result.append(quantity)
    return result, False


def _all(run: Trajectory, rows: IntArray) -> Iterator[Quantity]:
    for column, name, unit in COLUMNS:
        with suppress(AttributeError, KeyError):
            values = np.asarray(getattr(run, column), float)[rows]
            if np.isfinite(values).any():
                yield Quantity("energy and solver", name, unit, values)
    for group, table in (("sensors", run.sensors), ("inputs", run.inputs), ("measures", run.measures)):
        for name, values in table.items():
            yield from _columns(group, name, "", values[rows])
    if isinstance(run.model, Model):
        yield from _of_equations(run, rows)
        return
    names: Any = run.model.joints or getattr(run.model, "coordinates", ())
    for name in names:
        with suppress(ModelError, AttributeError):
            yield from _of_joint(run.joint(name), name, rows)


def _of_joint(joint: Any, name: str, rows: IntArray) -> Iterator[Quantity]:
    if isinstance(joint, CoordinateView):
        if joint.kind in ("hinge", "slide"):
            m = "m" if joint.kind == "slide" else "rad"
            yield Quantity("joints", f"{name}: position", m, joint.position[rows])
            yield Quantity("joints", f"{name}: speed", f"{m}/s", joint.speed[rows])
        return
    for quantity, unit in (("position", "m"), ("angle", "rad")):
        if (values := getattr(joint, quantity)) is not None:
            yield Quantity("joints", f"{name}: {quantity}", unit, values[rows])
    yield Quantity("joints", f"{name}: force", "N", np.linalg.norm(joint.force[rows], axis=1))


def _of_equations(run: Trajectory, rows: IntArray) -> Iterator[Quantity]:
    for part in run.model.systems:
        view = run.system(part.name)
        if part.first_order or view.integrated:
            yield from _columns("states", f"{part.name}: x", "", view.x[rows])
        else:
            yield from _columns("coordinates", f"{part.name}: q", "", view.q[rows])
            yield from _columns("velocities", f"{part.name}: v", "", view.v[rows])
    for law in map(run.interaction, [part.name for part in run.model.interactions]):
        yield from _columns("outputs", f"{law.name}: y", "", law.y[rows])
        yield from _columns("laws", f"{law.name}: u", "", law.u[rows])
        yield from _columns("multipliers", f"{law.name}: r", "", law.r[rows])


def _columns(group: str, name: str, unit: str, values: Any) -> Iterator[Quantity]:
    """A quantity for each component of an array of shape (n, ...)."""
    values = np.asarray(values, float)
    if values.ndim == 1:
        yield Quantity(group, name, unit, values)
        return
    flat = values.reshape(len(values), -1)
    for k in range(flat.shape[1]):
        yield Quantity(group, f"{name}{k}" if flat.shape[1] > 1 else name, unit, flat[:, k])
