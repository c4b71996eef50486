"""Read runs in files of version 1, the format of earlier versions.

Groups `stickslip_trajectory` for systems and `stickslip_world_trajectory` for worlds: version, about (JSON),
columns/t, h, q, ...; for systems memory/k, measures/k and events/t, kind, interaction; for worlds
contacts/offset, id, ..., joints/offset, r, sensors/k, and memory/k at the end of the run.
"""

from typing import Any

import numpy as np

from stickslip.files import run_parts as parts
from stickslip.files.hdf5 import Source
from stickslip.files.run_models import CHOSEN, MOST_INDEX, column_fields, contact_fields, read_model
from stickslip.files.run_parts import About, Field
from stickslip.renames import SCHEMES_OF_WORLDS
from stickslip.simulation.rows import Rows, Table
from stickslip.simulation.store import MemoryStore
from stickslip.simulation.trajectory import Trajectory

ROOTS = ("stickslip_trajectory", "stickslip_world_trajectory")
VERSION = 1
SCHEMES = SCHEMES_OF_WORLDS | {"moreau-jean": "moreau-jean-semi-explicit"}
"""Names of schemes for worlds in these files, and their current names."""


def read_old(source: Source, root: str) -> Trajectory:
    """Read the run in a file of version 1."""
    group = source.group(source.root, root)
    about = About(source, group, VERSION)
    run = about.run(SCHEMES if root == ROOTS[1] else None)
    model, clock = read_model(source, group, about), about.clock()
    columns = source.group(group, "columns")
    n = parts.read_times(source, columns).size
    columns_ = parts.read_fields(source, columns, column_fields(model, n))
    columns_["verdicts"] = parts.read_verdicts(source, columns, n, run["relaxation"])
    if root == ROOTS[0]:
        columns_["index"] = Field("index", n, None, np.int64, (-1, MOST_INDEX)).read(source, columns)
        columns_["choice"] = Field("choice", n, (model.sizes[-1],), np.int64, CHOSEN, optional=True).read(  # type: ignore[union-attr]
            source, columns
        )
        numbers: list[tuple[str, tuple[int, ...]]] = [(name, ()) for name in about.get("measures", "texts")]
        measures = parts.read_named(source, group, "measures", n, numbers)
        memory = parts.read_named(source, group, "memory", n, about.shapes("memory"))
        columns_ |= {f"measures/{name}": value for name, value in measures.items()}
        columns_ |= {f"memory/{name}": value for name, value in memory.items()}
        last = {name: value[-1] for name, value in memory.items()}
        events = parts.read_events(source, group, about)
        return Trajectory(model, MemoryStore(Rows(columns_)), clock=clock, memory=last, events=events, **run)
    last_index = int(about.get("index", "number"))
    if not 0 <= last_index <= MOST_INDEX:
        source.fail(about.place, "a number of steps as index", f"{last_index}")
    columns_["index"] = np.zeros(n, np.int64)
    columns_["index"][-1] = -1 if about.get("off_clock", "flag") else last_index
    sensors = parts.read_named(source, group, "sensors", n, about.shapes("sensors"))
    columns_ |= {f"sensors/{name}": value for name, value in sensors.items()}
    memory = parts.read_named(source, group, "memory", 1, about.shapes("memory"))
    last = {name: value.reshape(value.shape[1:]) for name, value in memory.items()}
    tables = {"contacts": _contacts(source, group, len(model), n), "joints": _joints(source, group, n)}  # type: ignore[arg-type]
    return Trajectory(
        model, MemoryStore(Rows(columns_, tables)), clock=clock, memory=last, **run,
        notes=about.get("notes", "texts") if "notes" in about.top else (),
    )  # fmt: skip


def _contacts(source: Source, group: Any, bodies: int, n: int) -> Table:
    place = source.group(group, "contacts")
    count = len(contact_fields(None, bodies)[0].read(source, place))
    columns = parts.read_fields(source, place, contact_fields(count, bodies))
    return Table(np.diff(parts.read_offset(source, place, n, count)), columns)


def _joints(source: Source, group: Any, n: int) -> Table:
    place = source.group(group, "joints")
    r = Field("r").read(source, place)
    columns = {"r": r, "id": np.full(r.size, -1)}  # the joints of impulses are not stored
    return Table(np.diff(parts.read_offset(source, place, n, r.size)), columns)
