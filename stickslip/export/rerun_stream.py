"""Export runs to Rerun's viewer and files (.rrd): bodies, contact points, forces, energies, residuals."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.export.records import (
    Block,
    Report,
    Run,
    blocks,
    motion,
    picked,
    records,
)
from stickslip.export.scene import STATES, contacts, instances, surfaces, usual_force
from stickslip.export.tables import LARGEST, SUMS, heading, maker
from stickslip.extras import needed
from stickslip.mechanics.world import BodyKind
from stickslip.state import Array, IntArray
from stickslip.view.browser.instances import colour_of
from stickslip.view.browser.stage import LONGEST, STATE_COLOURS

NAME = "stickslip"
"""Name of the application in Rerun."""
CLOCK = "t"
"""Name of the timeline, the time of the run."""
ARROW = 0.1
"""Length of the arrow of a typical force [sizes of the scene]."""


@np.errstate(all="ignore")  # diverged runs are exported too
def log_run(
    run: Run, recording: Any = None, *, start: float | None = None, until: float | None = None,
    every: int = 1, report: Report | None = None,
) -> None:  # fmt: skip
    """Log a run to a recording of Rerun, the active one unless given (extra `rerun`); from `start` to `until`
    [s], every `every`-th record. `report` receives the number of records logged.
    """
    rr = needed("rerun", "Rerun")
    _log(rr, recording, run, picked(run, start, until, every), report)


def write_rerun(path: Path, run: Run, numbers: IntArray, report: Report | None = None) -> None:
    """Write a recording to a file."""
    rr = needed("rerun", "a Rerun file")
    recording = rr.RecordingStream(NAME, recording_id=_identity(run, numbers), send_properties=False)
    recording.save(path)
    try:
        _log(rr, recording, run, numbers, report)
        recording.flush()
    finally:
        recording.disconnect()


def _identity(run: Run, numbers: IntArray) -> str:
    """Identifier of the exported records of a run, by which Rerun merges recordings."""
    ends = records(run, len(run) - 1, len(run)).q
    return sha256(b"".join(x.tobytes() for x in (run.t[numbers], ends))).hexdigest()[:32]


def _log(rr: Any, recording: Any, run: Run, numbers: IntArray, report: Report | None) -> None:
    world, energies = run.of_world, maker(run, "energies")
    arrow = _begin(rr, recording, run) if run.of_world else (0.0, 0.0)
    for block in blocks(run, numbers, 0.0, report):
        stream = _Stream(rr, recording, block.t)
        if run.of_world and block.part.of_world:
            _bodies(stream, run, block)
            _contacts(stream, block, *arrow)
            for name, values in block.part.sensors.items():
                stream.numbers(["sensors", name], np.asarray(values[block.rows], float))
            for name, values in block.part.inputs.items():
                stream.numbers(["inputs", name], values[block.rows])
        else:
            _systems(stream, block)
        columns = energies(block)
        for name in SUMS[world]:
            stream.numbers(["energies", name], columns[heading(name, "J")])
        for name, unit in LARGEST[world].items():
            stream.numbers(["errors", name], columns[heading(name, unit)])


class _Stream:
    """Sends columns over the records of a block to a recording."""

    def __init__(self, rr: Any, recording: Any, t: Array):
        self.rr, self._recording = rr, recording
        self._times = [rr.TimeColumn(CLOCK, duration=t)]

    def send(self, place: list[str], columns: Any) -> None:
        path = self.rr.new_entity_path(place)
        self.rr.send_columns(path, self._times, columns, recording=self._recording)

    def numbers(self, place: list[str], values: Array) -> None:
        """Send one or several numbers per record, shape (k, ...)."""
        values = values.reshape(len(values), -1)
        for i in range(values.shape[1]):
            end = [str(i)] if values.shape[1] > 1 else []
            self.send([*place, *end], self.rr.Scalars.columns(scalars=values[:, i]))


def _begin(rr: Any, recording: Any, run: Run) -> tuple[float, float]:
    """Log constant data: shapes, and the vertical. Return lengths of arrows: per force [m/N], and the longest
    [m]."""
    rr.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True, recording=recording)
    model, around, groups = instances(run)
    of = surfaces(model, groups)
    for k in range(len(model)):
        vertices, triangles = of.of(k)
        if len(triangles):
            mesh = rr.Mesh3D(
                vertex_positions=vertices.astype(np.float32), triangle_indices=triangles.astype(np.uint32),
                albedo_factor=colour_of(model, k),
            )  # fmt: skip
            place = rr.new_entity_path([*_place(run, k), "shape"])
            rr.log(place, mesh, static=True, recording=recording)
    return ARROW * around.size / usual_force(run), LONGEST * ARROW * around.size


def _bodies(stream: _Stream, run: Run, block: Block) -> None:
    moved, rr = motion(block), stream.rr
    for k in range(len(run.model)):
        x, p = moved.position[:, k], moved.quaternion[:, k]
        turns = np.roll(p, -1, axis=1)  # Rerun has the scalar last
        stream.send(_place(run, k), rr.Transform3D.columns(translation=x, quaternion=turns))
        if run.model.kind[k] != BodyKind.FIXED:
            speed = np.linalg.norm(moved.velocity[:, k], axis=1)
            stream.numbers(["speed", run.model.names[k]], speed)


def _contacts(stream: _Stream, block: Block, scale: float, longest: float) -> None:
    """Log contact points, coloured by state, and arrows of the forces on their first bodies."""
    view, rr = contacts(block), stream.rr
    colours = np.array([STATE_COLOURS[name] for name in STATES], np.uint8)[view.state]
    arrows = scale * view.force
    length = np.linalg.norm(arrows, axis=1, keepdims=True)
    arrows *= longest / np.maximum(length, longest)
    points = rr.Points3D.columns(positions=view.point, colors=colours)
    forces = rr.Arrows3D.columns(origins=view.point, vectors=arrows, colors=colours)
    stream.send(["world", "contacts"], points.partition(view.count))
    stream.send(["world", "forces"], forces.partition(view.count))


def _systems(stream: _Stream, block: Block) -> None:
    part = block.part
    assert not part.of_world
    for one in part.model.systems:
        view = part.system(one.name)
        for key in ("q", "v", "z"):
            stream.numbers(["systems", one.name, key], getattr(view, key)[block.rows])


def _place(run: Run, k: int) -> list[str]:
    return ["world", "bodies", run.model.names[k]]
