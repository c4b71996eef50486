"""Signals and full disks: what was done is shown, and kept where it can be."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from interrupt_trials import rows

import stickslip as ss
from stickslip import scenes

pytestmark = pytest.mark.usefixtures("no_collection")
BOTH = [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]


@pytest.mark.parametrize(("number", "code", "word"), BOTH)
@pytest.mark.parametrize("delay", [0.0, 0.2])
def test_a_signal_ends_a_run_of_equations_and_keeps_it(run, tmp_path, monkeypatch, number, code, word, delay):
    """In the report of progress, or, a moment later, in the compiled march."""
    out, sent = tmp_path / "ball.h5", []

    @contextmanager
    def watch_time(what):
        def progress(t, until):
            if not sent:
                sent.append(t)
                threading.Timer(delay, os.kill, (os.getpid(), number)).start()

        yield progress

    monkeypatch.setattr("stickslip.cli.run.watch_time", watch_time)
    result = run("run", "bouncing-ball", "--until", 3000, "--h", 0.0001, "--out", out)
    assert result.code == code
    result.says(f"{word} at t = ", "kept")
    assert f"wrote {out}" in result.out
    done = ss.read_trajectory(out)
    assert sent[0] <= done.t[-1] < 3000.0
    scene = scenes.make("bouncing-ball")
    first = ss.simulate(scene.system, until=0.5, h=1e-4, scheme=scenes.scheme_of(scene, None))
    count = min(len(done), len(first))
    assert rows(done, count) == rows(first, count)
    assert np.isfinite(done.q).all()


def test_the_second_signal_ends_the_process():
    code = """
import signal
from stickslip.cli.errors import Terminated, stoppable
with stoppable():
    try:
        signal.raise_signal(signal.SIGTERM)
    except Terminated:
        print("asked", flush=True)
    signal.raise_signal(signal.SIGINT)
    print("alive")
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (-signal.SIGINT, "asked\n")


def test_signals_are_as_before_after_a_command(run):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    run("schemes")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_run_stays_a_journal_where_there_is_no_room_for_hdf5(run, tmp_path, full_disk):
    place = tmp_path / "ball.h5"
    full_disk()
    result = run("run", "bouncing-ball", "--until", 0.01, "--out", place)
    assert result.code == 0
    assert "ball.h5 remains a journal, which stickslip can read: no space left on device" in result.out
    back = ss.read_trajectory(place)
    assert (len(back), back.complete) == (11, True)
    assert list(tmp_path.iterdir()) == [place]


def test_a_full_disk_loses_neither_the_summary_nor_the_earlier_file(run, tmp_path, full_disk):
    place = tmp_path / "ball.png"
    place.write_bytes(b"earlier")
    full_disk()
    result = run("run", "bouncing-ball", "--until", 0.01, "--plot", place)
    assert result.code == 2
    assert f"stickslip: {place}: no space left on device; the file was not written\n" in result.err
    assert "moreau-jean" in result.out
    assert place.read_bytes() == b"earlier"
    assert list(tmp_path.iterdir()) == [place]


def test_a_run_that_cannot_be_saved_is_still_there(tmp_path, full_disk, monkeypatch):
    place = tmp_path / "ball.h5"
    trajectory = ss.simulate(
        scenes.make("bouncing-ball").system, until=0.01, h=1e-3, scheme="schatzman-paoli"
    )
    full_disk()
    with pytest.raises(OSError, match="No space left") as caught:
        trajectory.save(place)
    assert caught.value.filename == str(place)
    monkeypatch.undo()
    trajectory.save(place)
    assert rows(ss.read_trajectory(place), 11) == rows(trajectory, 11)
