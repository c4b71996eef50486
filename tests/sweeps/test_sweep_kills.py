"""Whatever is killed while a sweep runs, no row is lost and none is there twice."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest
from sweeps.test_sweep import content, without_times

import stickslip as ss
from stickslip.bench.campaigns.journal import journal_of
from stickslip.bench.running.dask_executor import DaskError, local_cluster

FILE = Path(__file__).with_name("swept.py")
SLOW = f"{FILE}:slow"
RUNS = 40
HEIGHTS = [1.0 + k for k in range(RUNS)]
HOW = {"until": 0.1, "h": 0.01, "workers": 2}


def swept(out, note="", **how):
    return ss.sweep(SLOW, {"height": HEIGHTS, "note": str(note)}, f"{FILE}:lowest", out=out, **HOW | how)


@pytest.fixture(scope="module")
def whole():
    return ss.sweep(SLOW, {"height": HEIGHTS, "note": ""}, f"{FILE}:lowest", executor="here", **HOW)


def rows_safe(out):
    """How many rows are in the journal or the file."""
    with contextlib.suppress(OSError, ValueError):
        return len(ss.read(out))
    return 0


def wait_for(true):
    end = time.monotonic() + 120.0
    while not true():
        assert time.monotonic() < end, "nothing happens"
        time.sleep(0.02)


def same(result, whole):
    """Equal but for the name of the file of notes, which is fixed."""
    return content(result) == content(whole)


def test_a_client_that_is_killed_loses_nothing(tmp_path, whole):
    out, note = tmp_path / "s.h5", tmp_path / "note"
    code = f"""
        import sys
        sys.path.insert(0, {str(FILE.parents[1])!r})
        from sweeps.test_sweep_kills import swept
        swept({str(out)!r}, {str(note)!r})
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)]) as client:
        wait_for(lambda: rows_safe(out) >= 5)
        client.send_signal(signal.SIGKILL)
    kept = rows_safe(out)
    assert 5 <= kept < RUNS
    assert journal_of(out).exists()
    begun = len(note.read_text().split())
    result = swept(out, note)
    assert same(result, whole)
    # What was safe is not run again; what was under way, at most one run on each process, is.
    assert len(note.read_text().split()) <= begun + RUNS - kept
    assert begun - kept <= 2 + 1  # one may have been made and not been written yet


def test_a_process_that_is_killed_costs_one_row_at_most(tmp_path):
    out = tmp_path / "s.h5"

    def kill():
        wait_for(lambda: rows_safe(out) >= 3)
        for child in psutil.Process().children():
            with contextlib.suppress(psutil.Error):
                if "stickslip.bench.running.worker" in " ".join(child.cmdline()):
                    child.kill()
                    return

    killer = threading.Thread(target=kill)
    killer.start()
    result = swept(out)
    killer.join()
    assert result.number.tolist() == list(range(RUNS))
    assert (~result.solved).sum() <= 1
    assert all("SIGKILL" in reason for reason in result.reasons if reason)


@pytest.fixture
def cluster():
    pytest.importorskip("distributed", reason="Dask is not installed")
    with local_cluster(2) as cluster:
        yield cluster


def workers_of(cluster):
    return [worker.process.pid for worker in cluster.workers.values()]


def test_dask_gives_the_same_file_and_survives_the_death_of_a_worker(tmp_path, cluster, whole):
    address = cluster.scheduler_address.replace("tcp", "dask")
    processes = swept(tmp_path / "processes.h5")
    out = tmp_path / "dask.h5"
    result = swept(out, executor=address)
    assert same(result, whole)
    assert same(processes, whole)
    assert without_times(out, tmp_path / "a") == without_times(tmp_path / "processes.h5", tmp_path / "b")

    def kill():
        wait_for(lambda: rows_safe(tmp_path / "killed.h5") >= 3)
        os.kill(workers_of(cluster)[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    after = swept(tmp_path / "killed.h5", executor=address)
    killer.join()
    assert same(after, whole)


def test_a_scheduler_that_dies_ends_the_sweep_which_goes_on_elsewhere(tmp_path, cluster, whole, capfd):
    out = tmp_path / "s.h5"
    address = cluster.scheduler_address.replace("tcp", "dask")

    def close():
        wait_for(lambda: rows_safe(out) >= 3)
        cluster.close()

    closer = threading.Thread(target=close)
    closer.start()
    with pytest.raises(DaskError):
        swept(out, executor=address)
    closer.join()
    assert not capfd.readouterr().err  # Dask logs nothing of its own
    assert 3 <= rows_safe(out) < RUNS
    assert same(swept(out), whole)


def test_a_run_that_ends_every_worker_of_dask_is_a_row(tmp_path, cluster):
    address = cluster.scheduler_address.replace("tcp", "dask")
    result = ss.sweep(
        f"{FILE}:bad", {"what": ["fine", "parent", "raises"]}, f"{FILE}:lowest", executor=address,
        out=tmp_path / "s.h5", until=0.1, h=0.01,
    )  # fmt: skip
    assert [one.name for one in result.outcomes] == ["SOLVED", "CRASHED", "RAISED"]
    assert "worker of Dask ended under it" in result.reasons[1]
