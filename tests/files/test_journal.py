"""Runs are written while they go on: whatever ends the writer, the file is the beginning of the run."""

import errno
import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from kill_trials import same, system, world

import stickslip as ss
from stickslip.files import journal, run_store, runs

H = 1e-3
TRIALS = Path(__file__).parents[1] / "kill_trials.py"
MODELS = {"world": world, "system": system}


@pytest.fixture(scope="module", params=list(MODELS))
def model(request):
    return MODELS[request.param]()


@pytest.fixture(scope="module")
def whole(model):
    return ss.simulate(model, until=0.15, h=H)


@pytest.fixture
def unfinished(model, tmp_path):
    """A run that is cut off after 0.1 s, with a frame for every record or so."""
    live = ss.live(model, h=H, out=tmp_path / "run.h5", flush=0.0, forces="least")
    for _ in range(20):
        live.step(5)
    live.end(complete=False)
    return tmp_path / "run.h5"


def test_a_run_that_is_written_while_it_goes_on_is_the_run(model, whole, tmp_path):
    path = tmp_path / "run.h5"
    for flush in (1.0, 0.0):
        run = ss.simulate(model, until=0.15, h=H, out=path, flush=flush)
        same(run, whole)
        assert (str(run), run.complete, run.steps) == (str(whole), True, 150)
        assert runs.trajectory_content(run) == runs.trajectory_content(whole)
        with h5py.File(path) as file:
            assert file["stickslip_run/columns/t"].shape == (151,)


def test_a_run_that_goes_on_in_its_file_is_one_run(model, whole, unfinished):
    part = ss.read_trajectory(unfinished)
    assert (len(part), part.complete) == (101, False)
    assert "unfinished" in str(part)
    same(part, whole)
    run = ss.simulate(model, until=0.12, start=part.checkpoint(), out=unfinished)
    assert (len(run), run.complete, run.steps) == (121, True, 120)
    run = ss.simulate(model, until=0.15, start=run.checkpoint(), out=unfinished)
    same(run, whole)
    for name, value in whole.memory.items():
        np.testing.assert_array_equal(run.memory[name], value)
    assert (run.steps, run.missed, str(run)) == (150, 0, str(whole))


def test_a_file_that_ends_elsewhere_is_not_written_over(model, whole, unfinished):
    before = unfinished.read_bytes()
    with pytest.raises(ss.ModelError, match=r"ends at t = 0\.1 s, but this run starts at t = 0\.15 s"):
        ss.simulate(model, until=0.2, start=whole.checkpoint(), out=unfinished)
    assert unfinished.read_bytes() == before


OTHERS = [
    ({"h": 2e-3}, "h is 0.001; here it is 0.002"),
    ({"forces": "solver"}, "forces is least; here it is solver"),
]


@pytest.mark.parametrize(("other", "words"), OTHERS)
def test_a_file_is_not_continued_with_another_step(model, unfinished, other, words):
    before, start = unfinished.read_bytes(), ss.read_trajectory(unfinished).checkpoint()
    with pytest.raises(ss.ModelError, match=words):
        ss.simulate(model, until=0.2, start=start, out=unfinished, **other)
    assert unfinished.read_bytes() == before


def test_a_file_that_ends_with_a_shortened_step_is_not_continued(model, tmp_path):
    path = tmp_path / "run.h5"
    run = ss.simulate(model, until=0.0105, h=H, out=path)
    with pytest.raises(ss.ModelError, match="whose last step was shortened"):
        ss.simulate(model, until=0.02, start=run.checkpoint(), out=path)
    rest = ss.simulate(model, until=0.02, start=run.checkpoint(), out=tmp_path / "rest.h5")
    assert rest.t[0] == run.t[-1] == 0.0105


def test_events_of_a_run_that_goes_on_are_told_once(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "BLOCK", 2000)
    path, how = tmp_path / "run.h5", {"scheme": "event-driven", "h": 0.05}
    first = ss.simulate(system(), until=1.0, out=path, **how)
    assert first.events
    both = ss.simulate(system(), until=2.0, start=first.checkpoint(), out=path)
    assert both.events == ss.simulate(system(), until=2.0, **how).events


def as_recorded(run):
    """With the solver's impulses, which the file has: to choose others takes longer than to read it."""
    return replace(run, choose=None)


def test_files_that_are_cut_off_anywhere_are_the_beginning(unfinished, whole, tmp_path):
    content, draw, lengths = unfinished.read_bytes(), random.Random(1), set()
    refused = set()
    cut = tmp_path / "cut.h5"
    for _ in range(200):
        cut.write_bytes(content[: draw.randrange(1, len(content))])
        try:
            run = ss.read_trajectory(cut)
        except ss.FormatError as error:
            refused.add(str(error).partition("found ")[2])
            continue
        same(as_recorded(run), as_recorded(whole))
        lengths.add(len(run))
        assert not run.complete
    assert len(lengths) > 10
    assert all("cut off" in found or "something else" in found for found in refused)


def test_no_byte_can_change_unseen(unfinished, whole, tmp_path):
    content, draw = bytearray(unfinished.read_bytes()), random.Random(2)
    changed = tmp_path / "changed.h5"
    for _ in range(100):
        at = draw.randrange(len(content))
        spoilt = bytearray(content)
        spoilt[at] ^= 1 << draw.randrange(8)
        changed.write_bytes(spoilt)
        try:
            run = ss.read_trajectory(changed)
            same(as_recorded(run), as_recorded(whole))
            assert run.model.check_same(whole.model) is None
        except (ss.FormatError, ss.ModelError, OSError):
            continue


def test_a_second_writer_is_refused(model, tmp_path):
    path = tmp_path / "run.h5"
    live = ss.live(model, h=H, out=path)
    with pytest.raises(ss.FormatError, match="a run that another process is writing"):
        ss.simulate(model, until=0.1, h=H, out=path)
    assert journal.is_written(path)
    live.end(complete=True)
    assert not journal.is_written(path)
    assert len(ss.read_trajectory(path)) == 1


def test_a_full_disk_loses_nothing(model, whole, tmp_path, monkeypatch):
    room = [100_000 if "bodies" in repr(model) else 20_000]

    class Full:
        def __init__(self, file):
            self._file = file

        def write(self, data):
            part = data[: min(len(data), 5000)]
            room[0] -= len(part)
            if room[0] < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return self._file.write(part)

        def __getattr__(self, name):
            return getattr(self._file, name)

    opened = journal.Journal._open
    monkeypatch.setattr(
        journal.Journal,
        "_open",
        lambda self, tail: (opened(self, tail), setattr(self, "_file", Full(self._file))),
    )
    path = tmp_path / "run.h5"
    with pytest.raises(OSError, match="No space left") as caught:
        ss.simulate(model, until=0.15, h=H, out=path, flush=0.0, watch=lambda record: None)
    done = caught.value.trajectory
    same(done, whole)
    on_disk = ss.read_trajectory(path)
    same(on_disk, whole)
    assert 1 < len(on_disk) <= len(done) <= len(whole)


def test_a_force_that_raises_leaves_the_file(tmp_path):
    def force(t):
        if t > 0.1:
            raise ZeroDivisionError("mine")
        return -9.81

    ball = ss.NonsmoothSystem([ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=force)], [])
    path = tmp_path / "run.h5"
    with pytest.raises(ZeroDivisionError) as caught:
        ss.simulate(ball, until=1.0, h=H, out=path)
    run = ss.read_trajectory(path)
    assert len(run) == len(caught.value.trajectory)
    assert run.t[-1] == pytest.approx(0.1, abs=2 * H)
    assert not run.complete


def test_only_runs_are_opened_and_names_are_checked(model, tmp_path):
    with pytest.raises(ss.FormatError, match=r"one that ends in \.hdf5, \.h5"):
        ss.simulate(model, until=0.1, h=H, out=tmp_path / "run.txt")
    with pytest.raises(FileNotFoundError, match=r"the folder .*none does not exist"):
        ss.simulate(model, until=0.1, h=H, out=tmp_path / "none" / "run.h5")
    (tmp_path / "run.h5").mkdir()
    with pytest.raises(ss.FormatError, match="a regular file or nothing"):
        ss.simulate(model, until=0.1, h=H, out=tmp_path / "run.h5")


def test_large_files_are_read_in_parts(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "WHOLE", 0)
    path = tmp_path / "run.h5"
    whole.save(path)
    run = ss.read_trajectory(path)
    assert isinstance(run.store, run_store.FileStore)
    same(run, whole)
    np.testing.assert_array_equal(run[10:20:3].q, whole.q[10:20:3])
    assert run[-5:].t[-1] == whole.t[-1]
    monkeypatch.setattr("stickslip.simulation.columns.LARGEST", 1000)
    part = ss.read_trajectory(path)
    with pytest.raises(MemoryError, match=r"such as run\[:1000\]\.q"):
        _ = part.q
    np.testing.assert_array_equal(part[7:9].q, whole.q[7:9])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_writers_are_killed_at_a_hundred_random_moments(tmp_path):
    place = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TRIALS.parents[1]), str(TRIALS.parent)])}
    done = subprocess.run(
        [sys.executable, str(TRIALS), str(tmp_path), "100", "7"], capture_output=True, text=True, env=place
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["trials"] == 100
    assert told["least"] < 0.3 * told["whole"] < 0.7 * told["whole"] < told["most"]
