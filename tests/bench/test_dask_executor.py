"""Runs on Dask: the same table as processes give, whatever becomes of solvers and workers."""

import contextlib
import dataclasses
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from stickslip import ContactProblem, coulomb, read
from stickslip.bench.campaigns.contestants import Contestant, source_of
from stickslip.bench.environment import here
from stickslip.bench.records import Job, Limits, Outcome
from stickslip.bench.running import dask_executor
from stickslip.bench.running.attempt import JobError
from stickslip.bench.running.dask_executor import Dask, DaskError, local_cluster
from stickslip.bench.running.executors import Processes, executor
from stickslip.files import write
from stickslip.problem.fingerprint import fingerprint

pytest.importorskip("distributed", reason="Dask is not installed")

OWN = Path(__file__).with_name("dask_solvers.py")
LIMITS = Limits(timeout=60.0, best_of=1)
TIMES = {
    "seconds", "median_seconds", "longest_seconds", "cpu_seconds", "median_cpu_seconds",
    "longest_cpu_seconds", "compile_seconds", "memory", "environment",
}  # fmt: skip


@pytest.fixture(scope="module")
def scheduler():
    with socket.socket() as other:
        with contextlib.suppress(OSError):  # somebody else's cluster has the usual port
            other.bind(("127.0.0.1", 8787))
            other.listen()
        with local_cluster(2) as cluster:
            yield cluster.scheduler_address


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two problems of one contact: at rest, and sliding."""
    folder = tmp_path_factory.mktemp("problems")
    for name, u_free in {"rests": [-1.0, 0.1, 0.0], "slides": [-1.0, 3.0, 0.0]}.items():
        write(folder / f"{name}.dat", ContactProblem(np.eye(3), u_free, coulomb([0.5])))
    return folder


def job(path, contestant):
    return Job(fingerprint(read(path)), str(path), None, contestant, source_of(contestant), 1e-8)


def own(name, **options):
    return Contestant(name.lower(), tuple(options.items()), f"{OWN}:{name}")


def facts(records):
    """What two tables have in common: everything but times."""
    rows = {}
    for record in records:
        assert record.key not in rows, "a run stands in the table twice"
        rows[record.key] = {key: value for key, value in record.as_json().items() if key not in TIMES}
    return rows


def test_the_same_jobs_give_the_same_table_as_processes(scheduler, files):
    capped = Contestant("nsgs", (("max_iterations", 1),))
    jobs = [
        job(files / "rests.dat", own("Aborts")),
        job(files / "rests.dat", Contestant("nsgs")),
        job(files / "slides.dat", capped),
    ]
    told = []
    dask = Dask(scheduler)
    found = list(dask.run(jobs, LIMITS, lambda name, job: told.append(job)))
    assert facts(found) == facts(Processes(1).run(jobs, LIMITS))
    assert sorted(told, key=jobs.index) == jobs
    assert dask.workers == 2
    outcomes = {record.solver: record.outcome for record in found}
    assert outcomes["aborts"] is Outcome.CRASHED
    assert outcomes["nsgs"] is Outcome.SOLVED
    assert all(record.environment == here() == dask.environment for record in found)


def test_only_this_machine_reaches_the_cluster(scheduler):
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    open_ports = [
        connection.laddr.ip
        for process in family
        for connection in process.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(open_ports) >= 3
    assert set(open_ports) == {"127.0.0.1"}


def test_a_file_that_workers_do_not_find_is_sent_to_them(scheduler, files, monkeypatch):
    whole = job(files / "rests.dat", Contestant("nsgs"))
    monkeypatch.chdir(files)  # here, and not there
    gone, found, changed = (
        dataclasses.replace(whole, path=name) for name in ("gone.dat", "rests.dat", "slides.dat")
    )
    records = []
    runs = Dask(scheduler).run([gone, found, changed], LIMITS)
    with pytest.raises(JobError, match=r"gone\.dat.*1 more"):
        records.extend(runs)
    assert [(record.problem, record.solved) for record in records] == [(whole.problem, True)]


def waited_for(flag, lines):
    """The lines of a file, once there are so many."""
    end = time.monotonic() + 60.0
    while not flag.exists() or len(flag.read_text().split()) < lines:
        assert time.monotonic() < end, "the solver is not called"
        time.sleep(0.05)
    return [int(line) for line in flag.read_text().split()]


def wait_until_gone(pid):
    """A process whose worker was killed or closed notices that a moment later."""
    end = time.monotonic() + 30.0
    while psutil.pid_exists(pid):
        assert time.monotonic() < end, "the solver still runs"
        time.sleep(0.05)


def parent_of(pid):
    return psutil.Process(pid).ppid()


def test_a_worker_of_dask_that_is_killed_does_not_lose_its_job(scheduler, files, tmp_path):
    flag = tmp_path / "flag"
    jobs = [job(files / "rests.dat", own("SlowAtFirst", flag=str(flag)))]
    killed = []

    def kill(name, job):
        def when_it_runs():
            worker = parent_of(waited_for(flag, 1)[0])
            killed.append(worker)
            os.kill(worker, signal.SIGKILL)

        threading.Thread(target=when_it_runs).start()

    records = list(Dask(scheduler).run(jobs, LIMITS, kill))
    assert [record.outcome for record in records] == [Outcome.SOLVED]
    first, *others = waited_for(flag, 2)
    wait_until_gone(first)
    assert len(set(others) - {first}) == 1
    assert len(killed) == 1


def test_closing_ends_what_runs(scheduler, files, tmp_path):
    flag = tmp_path / "flag"
    jobs = [
        job(files / "rests.dat", Contestant("nsgs")),
        job(files / "rests.dat", own("SlowAtFirst", flag=str(flag))),
    ]
    runs = Dask(scheduler).run(jobs, LIMITS)
    assert next(runs).solved
    pid = waited_for(flag, 1)[0]
    runs.close()
    wait_until_gone(pid)


def test_a_scheduler_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(dask_executor, "REACHED", 0.3)
    with pytest.raises(DaskError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        executor("dask://127.0.0.1:9", 1)


def test_without_dask_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(DaskError, match=r'pip install "stickslip\[dask\]"'):
        executor("dask", 1)


def test_workers_that_do_not_start_name_the_guard_of_scripts(files, monkeypatch):
    def fail(**_):
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr("distributed.LocalCluster", fail)
    with pytest.raises(DaskError, match=r'Nanny failed to start.*if __name__ == "__main__"'):
        next(executor("dask", 1).run([job(files / "rests.dat", own("Sweeps"))], LIMITS))


@pytest.mark.parametrize(
    "text", ["", "threads", "dask:", "dask://", "dask://here", "tcp://here:x", "tcp://h:0"]
)
def test_an_executor_that_is_none_is_refused_with_those_that_are(text):
    with pytest.raises(ValueError, match=r"processes, dask, dask://HOST:PORT"):
        executor(text, 1)


def test_processes_are_an_executor():
    assert executor("processes", 3).workers == 3
    assert executor("dask", 2).workers == 2
