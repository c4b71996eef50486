"""Convert runs to tidy tables: a row per record and body, contact, component, ...; headings have units."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.export.records import (
    Block,
    ExportError,
    Report,
    Run,
    blocks,
    motion,
    picked,
)
from stickslip.extras import needed
from stickslip.names import alternatives
from stickslip.problem.solution import Verdict
from stickslip.simulation.contacts import HEADINGS
from stickslip.simulation.robot_model import RobotModel
from stickslip.state import Array, IntArray, ModelError

if TYPE_CHECKING:
    import pandas

Columns = dict[str, np.ndarray]
"""A table or some of its rows: columns of equal length by headings; text as objects."""
Maker = Callable[[Block], Columns]
"""Function that makes the rows of a block."""

TIME = "t [s]"
AXES = ("x", "y", "z")
SUMS = {
    True: ("kinetic", "potential", "energy", "dissipated", "work", "lifted", "balance"),
    False: ("kinetic", "potential", "energy", "contact_work"),
}
"""Energies of worlds (True) and of systems (False) [J]."""
RESIDUALS = {"natural": "-", "natural_scaled": "-"}
LARGEST = {
    True: {"penetration": "m", "opening": "m or rad", "correction": "m"} | RESIDUALS,
    False: RESIDUALS,
}
"""Errors of worlds and of systems, with their units: the largest since the previous exported record."""
COORDINATES = {
    "position": "m", "angle": "rad", "speed": "m/s or rad/s", "turn_speed": "rad/s", "effort": "N or N m",
    "turn_effort": "N m",
}  # fmt: skip
"""Quantities of joints, if they have them, with their units."""
ROBOT_UNITS = {"slide": ("m", "m/s", "N"), "hinge": ("rad", "rad/s", "N m")}
"""Units of position, speed and effort of the joints of robots with one coordinate."""
COUNTS = {True: ("iterations",), False: ("iterations", "newton")}
"""Numbers of worlds and of systems that are summed over omitted records."""


@np.errstate(all="ignore")  # diverged runs are exported too
def frame(
    run: Run, what: str = "states", *, start: float | None = None, until: float | None = None, every: int = 1
) -> "pandas.DataFrame":
    """Return a table of a run for pandas (extra `tables`): states, contacts, interactions, sensors, inputs,
    energies or joints; from `start` to `until` [s], every `every`-th record.
    """
    pandas = needed("pandas", "a data frame")
    parts = list(table(run, what, picked(run, start, until, every)))
    return pandas.DataFrame({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def table(run: Run, what: str, numbers: IntArray, report: Report | None = None) -> Iterator[Columns]:
    """Yield the rows of a table for these records of a run, block by block."""
    make = maker(run, what)
    return (make(block) for block in blocks(run, numbers, report=report))


def tables(run: Run) -> tuple[str, ...]:
    """Names of the tables of a run that are not empty."""
    if run.of_world:
        more = {"sensors": bool(run.sensors), "inputs": bool(run.inputs), "joints": _tells_joints(run)}
        return ("states", "contacts", "energies", *(name for name, is_told in more.items() if is_told))
    more = {"interactions": bool(run.model.interactions), "energies": True, "inputs": bool(run.inputs)}
    return ("states", *(name for name, is_told in more.items() if is_told))


def maker(run: Run, what: str) -> Maker:
    """Function that makes a table of a run; raise an ExportError for unknown names."""
    if what not in MAKERS:
        raise ExportError(f"unknown table {what!r}; {alternatives(what, MAKERS)}")
    if what not in tables(run):
        kind = "of bodies" if run.of_world else "of written equations"
        raise ExportError(f"this run, {kind}, has no table {what!r}; its tables: {', '.join(tables(run))}")
    return MAKERS[what](run)


def _states(run: Run) -> Maker:
    return _body_states(run.model.names) if run.of_world else _system_states


def _body_states(names: tuple[str, ...]) -> Maker:
    def rows(block: Block) -> Columns:
        of, k, nb = motion(block), block.rows.size, len(names)
        return {
            TIME: np.repeat(block.t, nb),
            "body": np.tile(_texts(names), k),
            **_vectors("position", "m", of.position.reshape(-1, 3)),
            **_vectors("quaternion", "-", of.quaternion.reshape(-1, 4), ("w", *AXES)),
            **_vectors("velocity", "m/s", of.velocity.reshape(-1, 3)),
            **_vectors("spin", "rad/s", of.spin.reshape(-1, 3)),
        }

    return rows


def _system_states(block: Block) -> Columns:
    """A column per coordinate, velocity and parameter of the largest system; NaN for systems with fewer."""
    part, rows = block.part, block.rows
    assert not part.of_world
    systems = part.model.systems
    views = [part.system(one.name) for one in systems]
    table_columns: Columns = {TIME: np.repeat(block.t, len(systems))}
    table_columns["system"] = np.tile(_texts(one.name for one in systems), rows.size)
    for key in ("q", "v", "z"):
        columns = [getattr(view, key)[rows] for view in views]
        values = np.full((rows.size, len(systems), max(one.shape[1] for one in columns)), np.nan)
        for k, one in enumerate(columns):
            values[:, k, : one.shape[1]] = one
        table_columns |= {f"{key}_{i}": values[:, :, i].reshape(-1) for i in range(values.shape[2])}
    return table_columns


def _contacts(_: Run) -> Maker:
    def rows(block: Block) -> Columns:
        assert block.part.of_world
        view = block.part.contact_table()
        both = (2 * block.contacts[:, None] + [0, 1]).reshape(-1)  # a row for each of the two bodies
        several = (view.point, view.normal, view.force, view.moment)
        values = [
            view.t, view.body, view.other, view.id, *(x for one in several for x in one.T),
            view.normal_force, view.friction_force, view.gap, view.state, view.unique,
        ]  # fmt: skip
        return {name: value[both] for name, value in zip(HEADINGS, values, strict=True)}

    return rows


def _interactions(run: Run) -> Maker:
    """A row per component, with the state of its block."""
    assert not run.of_world
    # From the whole run: states depend on its largest impulse, and on the time since the previous record.
    views = [run.interaction(one.name) for one in run.model.interactions]
    sets = [one.K for one in run.model.interactions]
    owner = [np.repeat(np.arange(len(K)), np.diff(K.offset)) for K in sets]
    names = np.repeat(_texts(view.name for view in views), [K.size for K in sets])
    components = np.concatenate([np.arange(K.size) for K in sets])

    def rows(block: Block) -> Columns:
        here, k = block.numbers, block.rows.size
        columns: Columns = {TIME: np.repeat(block.t, names.size), "interaction": np.tile(names, k)}
        columns["block"] = np.tile(np.concatenate(owner), k)
        columns["component"] = np.tile(components, k)
        for key in ("r", "u", "y"):
            columns[key] = np.concatenate([getattr(view, key)[here] for view in views], axis=1).reshape(-1)
        for name, key in (("active", "active"), ("state", "states"), ("unique", "unique")):
            values = [getattr(view, key)[here][:, of] for view, of in zip(views, owner, strict=True)]
            columns[name] = np.concatenate(values, axis=1).reshape(-1)
        return columns

    return rows


def _named(what: str, one: str) -> Callable[[Run], Maker]:
    """Function that makes tables of quantities by name, a row per number: `run.sensors`, `run.inputs`."""

    def rows(block: Block) -> Columns:
        arrays = {
            name: np.asarray(values[block.rows], float).reshape(block.rows.size, -1)
            for name, values in getattr(block.part, what).items()
        }
        widths = [values.shape[1] for values in arrays.values()]
        return {
            TIME: np.repeat(block.t, sum(widths)),
            one: np.tile(np.repeat(_texts(arrays), widths), block.rows.size),
            "component": np.tile(np.concatenate([np.arange(width) for width in widths]), block.rows.size),
            "value": np.concatenate(list(arrays.values()), axis=1).reshape(-1),
        }

    return lambda _: rows


def _energies(run: Run) -> Maker:
    """A row per record; errors are the worst including omitted records."""
    world = run.of_world

    def rows(block: Block) -> Columns:
        here = block.numbers
        columns: Columns = {TIME: block.t, "h [s]": run.h[here]}
        columns |= {heading(name, "J"): getattr(run, name)[here] for name in SUMS[world]}
        for name, unit in LARGEST[world].items():
            columns[heading(name, unit)] = _reduced(np.maximum, getattr(run, name), block)
        columns |= {name: _reduced(np.add, getattr(run, name), block) for name in COUNTS[world]}
        columns["verdict"] = _texts(map(str, Verdict))[_reduced(np.maximum, run.verdicts, block)]
        return columns

    return rows


def _tells_joints(run: Run) -> bool:
    """Whether a run has data of joints; older files have neither axes nor reactions."""
    joint: Any = getattr(run, "joint", None)
    if isinstance(run.model, RobotModel):
        return bool(run.model.coordinates)
    try:
        return bool(joint and run.model.joints and joint(run.model.joints[0]))
    except ModelError:
        return False


def _joints(run: Run) -> Maker:
    """A row per joint, NaN for missing coordinates; for a robot a row per record."""
    assert run.of_world
    if isinstance(run.model, RobotModel):
        return _coordinates(run)
    joint: Any = getattr(run, "joint", None)
    names = run.model.joints
    views = [joint(name) for name in names]  # from the whole run, as angles are counted over full turns

    def rows(block: Block) -> Columns:
        here, none = block.numbers, np.full(block.rows.size, np.nan)
        columns: Columns = {TIME: np.repeat(block.t, len(names)), "joint": np.tile(_texts(names), here.size)}
        for name, unit in COORDINATES.items():
            arrays = [getattr(view, name) for view in views]
            values = [none if one is None else one[here] for one in arrays]
            columns[heading(name, unit)] = np.stack(values, axis=1).reshape(-1)
        for name, unit in (("force", "N"), ("moment", "N m")):
            values = [getattr(view, name)[here] for view in views]
            columns |= _vectors(name, unit, np.stack(values, axis=1).reshape(-1, 3))
        return columns

    return rows


def _coordinates(run: Run) -> Maker:
    """A column per coordinate and velocity of the joints of a robot, by names."""
    columns: Columns = {}
    for name in run.model.coordinates:
        view: Any = run.joint(name)
        if view.kind in ROBOT_UNITS:
            for quantity, unit in zip(("position", "speed", "effort"), ROBOT_UNITS[view.kind], strict=True):
                columns[f"{name} {quantity} [{unit}]"] = getattr(view, quantity)
            continue
        if view.kind == "free":
            columns |= _vectors(f"{name} position", "m", view.position[:, :3])
        columns |= _vectors(f"{name} quaternion", "-", view.position[:, -4:], ("w", *AXES))
        if view.kind == "free":
            columns |= _vectors(f"{name} velocity", "m/s", view.speed[:, :3])
        columns |= _vectors(f"{name} spin", "rad/s", view.speed[:, -3:])
    return lambda block: {TIME: block.t} | {key: values[block.numbers] for key, values in columns.items()}


MAKERS: dict[str, Callable[[Run], Maker]] = {
    "states": _states, "contacts": _contacts, "interactions": _interactions,
    "sensors": _named("sensors", "sensor"), "inputs": _named("inputs", "input"), "energies": _energies,
    "joints": _joints,
}  # fmt: skip
"""Functions of the tables by name."""


def _reduced(how: Any, column: Any, block: Block) -> Any:
    """Reduce a column over the records that each exported record represents: sum, or the largest."""
    first = int(block.since[0])
    return np.asarray(how.reduceat(column[first : int(block.numbers[-1]) + 1], block.since - first))


def heading(name: str, unit: str) -> str:
    """Heading of a column: name and unit."""
    return f"{name.replace('_', ' ')} [{unit}]"


def _vectors(what: str, unit: str, rows: Array, axes: tuple[str, ...] = AXES) -> Columns:
    return {f"{what}_{axis} [{unit}]": rows[:, k] for k, axis in enumerate(axes)}


def _texts(words: Any) -> np.ndarray:
    return np.array(list(words), object)
