"""Recordings of Rerun, read back by Rerun."""

import numpy as np
import pytest

pytest.importorskip("rerun.chunk", reason="the extra stickslip[rerun] is not installed, or reads nothing")

import rerun as rr
from rerun import chunk

from stickslip.export import log_run, records, write


def read(path):
    """Columns of a recording by entity: times [s] and rows of every component."""
    found = {}
    for one in chunk.RrdReader(path).stream().to_chunks():
        batch = one.to_record_batch()
        for name in batch.schema.names:
            if ":" in name:
                t = [] if one.is_static else batch.column("t").cast("int64").to_numpy() / 1e9
                times, rows = found.setdefault((str(one.entity_path), name), ([], []))
                times.extend(t)
                rows.extend(batch.column(name).to_pylist())
    return found


def test_bodies_contacts_and_numbers_are_there(world, tmp_path, monkeypatch):
    monkeypatch.setattr(records, "BLOCK", 2e4)  # several columns of each
    found = read(write(world, tmp_path / "run.rrd")[0])
    t, rows = found["/energies/kinetic", "Scalars:scalars"]
    np.testing.assert_allclose(t, world.t, atol=1e-9)
    np.testing.assert_array_equal(np.ravel(rows), world.kinetic)
    _, rows = found["/world/bodies/angle", "Transform3D:translation"]
    np.testing.assert_allclose(np.reshape(rows, (-1, 3)), world.body("angle").position, atol=1e-6)
    _, rows = found["/world/bodies/angle", "Transform3D:quaternion"]
    turns = np.reshape(rows, (-1, 4))[:, [3, 0, 1, 2]]
    np.testing.assert_allclose(turns, world.body("angle").quaternion, atol=1e-6)
    _, points = found["/world/contacts", "Points3D:positions"]
    assert [len(row) for row in points] == np.diff(world.contacts.offset).tolist()
    _, arrows = found["/world/forces", "Arrows3D:vectors"]
    force = world.contacts.force(world.h)[0]
    given = np.concatenate([np.reshape(row, (-1, 3)) for row in arrows])
    cosines = np.einsum("ki,ki->k", given, force)
    sizes = np.linalg.norm(given, axis=1) * np.linalg.norm(force, axis=1)
    np.testing.assert_allclose(cosines, sizes, rtol=1e-5, atol=1e-9)
    _, eye = found["/sensors/eye/2", "Scalars:scalars"]
    np.testing.assert_array_equal(np.ravel(eye), world.sensors["eye"][:, 2])
    hostile = rr.new_entity_path(["world", "bodies", world.model.names[2], "shape"])
    assert any(place == f"/{hostile.lstrip('/')}" for place, _ in found)


def test_equations_are_numbers_over_time(system, tmp_path):
    found = read(write(system, tmp_path / "run.rrd", every=10)[0])
    t, rows = found["/systems/block/q/1", "Scalars:scalars"]
    np.testing.assert_allclose(t, system.t[::10], atol=1e-9)
    np.testing.assert_array_equal(np.ravel(rows), system.system("block").q[::10, 1])
    assert ("/errors/natural", "Scalars:scalars") in found


def test_a_run_is_logged_to_a_recording_of_the_user(system, tmp_path):
    recording = rr.RecordingStream("mine")
    recording.save(tmp_path / "mine.rrd")
    log_run(system, recording, until=0.1)
    recording.flush()
    recording.disconnect()
    t, _ = read(tmp_path / "mine.rrd")["/energies/energy", "Scalars:scalars"]
    assert max(t) == pytest.approx(0.1)


def test_recordings_of_different_runs_are_not_merged(world, system, tmp_path):
    names = set()
    for run, every in ((world, 1), (system, 1), (world, 2), (world, 1)):
        (path,) = write(run, tmp_path / "run.rrd", every=every)
        names |= {entry.recording_id for entry in chunk.RrdReader(path).recordings()}
    assert len(names) == 3
