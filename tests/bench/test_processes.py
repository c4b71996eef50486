"""Runs in processes: whatever a solver does costs one record, and the next run is as good as ever."""

import math
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest
from bench.run_jobs import BAD, job, stored
from closed_forms import block_on_slope

from stickslip.bench.records import Limits, Outcome
from stickslip.bench.running import executors as processes_module
from stickslip.bench.running import process as clocks_module
from stickslip.bench.running.attempt import JobError, attempt
from stickslip.bench.running.child import Garbled, understood
from stickslip.bench.running.executors import Processes, Shares
from stickslip.bench.running.process import APART, GRACE, SHARE, Clocks, Closed, WarmProcess

LIMITS = Limits(timeout=0.5, memory=96.0, compile_timeout=120.0)
CASES = {
    "Segfault": (Outcome.CRASHED, "SIGSEGV"),
    "Spins": (Outcome.TIMEOUT, "stopped after"),
    "HoldsTheInterpreter": (Outcome.TIMEOUT, "stopped after"),
    "Absurd": (Outcome.MEMORY, "Unable to allocate 8.00 TiB"),
    "Floods": (Outcome.SOLVED, ""),
    "NotNumbers": (Outcome.RAISED, "NaN"),
    "Liar": (Outcome.MISSED, "it reports a solution, but the judge finds an error"),
    "Raises": (Outcome.RAISED, "this is not my day"),
    "Leaves": (Outcome.RAISED, "goodbye"),
    "Parent": (Outcome.CRASHED, "ended by itself with code 4"),
    "Nurse": (Outcome.SOLVED, ""),
    "Twin": (Outcome.SOLVED, ""),
    "Vandal": (Outcome.CRASHED, "its answer does not end"),
    "Closes": (Outcome.CRASHED, "has closed its pipe"),
    "Wanders": (Outcome.SOLVED, ""),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("processes") / "slope.hdf5"
    stored(path, block_on_slope(0.2, 0.5).problem)
    return path


@pytest.fixture
def token(tmp_path, monkeypatch):
    """A folder; the variable that names it tells the processes of one test from all others."""
    monkeypatch.setenv("STICKSLIP_TEST_TOKEN", str(tmp_path))
    return str(tmp_path)


def alive(token):
    """Numbers of all processes that the test has started, wherever they have gone."""
    found = []
    for process in psutil.process_iter():
        try:
            mine = process.environ().get("STICKSLIP_TEST_TOKEN") == token
            if mine and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return found


def emptied(token, seconds=20.0):
    """Whether all of them are gone, now or soon: the system takes a moment to bury what was killed."""
    end = time.monotonic() + seconds
    while alive(token) and time.monotonic() < end:
        time.sleep(0.05)
    return not alive(token)


@pytest.fixture(scope="module")
def records(path, tmp_path_factory):
    """Each of the cases, and after each a solver of ours, by one executor."""
    jobs = []
    for name in CASES:
        jobs += [job(path, name, own=True), job(path, "nsgs")]
    told, token = [], str(tmp_path_factory.mktemp("token"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STICKSLIP_TEST_TOKEN", token)
        found = list(Processes().run(jobs, LIMITS, lambda worker, begun: told.append((worker, begun))))
    assert told == [("process 1", each) for each in jobs]
    assert len(found) == len(jobs)
    assert emptied(token)
    return {name: (found[2 * k], found[2 * k + 1]) for k, name in enumerate(CASES)}


@pytest.mark.parametrize("name", CASES)
def test_a_bad_solver_costs_one_record(records, name):
    record, after = records[name]
    outcome, words = CASES[name]
    assert record.solver == name
    assert record.outcome is outcome, record.reason
    assert words in record.reason
    assert (after.solver, after.outcome) == ("nsgs", Outcome.SOLVED), after.reason
    assert after.repetitions == LIMITS.best_of


def test_a_hang_is_stopped_soon_after_the_limit(records):
    for name in ("Spins", "HoldsTheInterpreter"):
        assert records[name][0].seconds > LIMITS.timeout


def test_a_small_problem_takes_little_memory(records):
    assert 0.0 <= records["Liar"][1].memory < 16.0


@pytest.fixture(scope="module")
def warm():
    with WarmProcess("warm", leak=64.0) as process:
        yield process


def test_a_process_stays_while_it_is_well(warm, path):
    limits = Limits(timeout=0.5)
    assert warm.run(job(path, "nsgs"), limits).solved
    first = warm.pid
    late = warm.run(job(path, "Told", own=True, steps=10_000), limits)
    assert late.outcome is Outcome.TIMEOUT
    assert "iterations" in late.reason
    assert warm.run(job(path, "Compiles", own=True), limits).compile_seconds >= 0.5
    heavy = warm.run(job(path, "Heavy", own=True), Limits(timeout=20.0))
    assert heavy.solved
    assert 99.0 < heavy.memory < 130.0
    with pytest.raises(JobError, match="nowhere"):
        warm.run(job_elsewhere(path), limits)
    assert warm.run(job(path, "nsgs"), limits).options == warm.run(job(path, "nsgs"), limits).options
    assert warm.pid == first is not None


def job_elsewhere(path):
    asked = job(path, "nsgs")
    return type(asked)(**{**vars(asked), "path": str(path.with_name("nowhere.hdf5"))})


def test_a_leak_costs_the_process_and_no_record(warm, path):
    warm.run(job(path, "nsgs"), LIMITS)
    before = warm.pid
    assert warm.run(job(path, "Leaks", own=True), Limits(timeout=20.0, best_of=1, patience=0.0)).solved
    assert warm.pid is None
    assert warm.run(job(path, "nsgs"), LIMITS).solved
    assert warm.pid not in (None, before)


def test_of_several_items_in_one_message_each_has_its_record(warm, path):
    names = ["nsgs", "Raises", "Segfault", "nsgs", "Spins", "Threads", "prox"]
    jobs = [job(path, name, own=name[0].isupper()) for name in names]
    jobs.insert(3, job_elsewhere(path))
    said = list(warm.runs(jobs, LIMITS))
    assert isinstance(said.pop(3), JobError)
    assert [record.solver for record in said] == names
    assert [record.outcome.name for record in said] == [
        "SOLVED", "RAISED", "CRASHED", "SOLVED", "TIMEOUT", "SOLVED", "SOLVED"
    ]  # fmt: skip


def test_a_process_that_ends_between_two_runs_costs_nothing(warm, path):
    assert warm.run(job(path, "nsgs"), LIMITS).solved
    os.kill(warm.pid, signal.SIGKILL)
    assert warm.run(job(path, "nsgs"), LIMITS).solved


def test_a_thread_that_is_left_behind_costs_the_process(warm, path):
    assert warm.run(job(path, "Threads", own=True), Limits(timeout=20.0)).solved
    assert warm.pid is None


def test_memory_that_grows_is_stopped_at_the_limit(warm, path):
    record = warm.run(job(path, "Grows", own=True), Limits(timeout=600.0, memory=64.0))
    assert record.outcome is Outcome.MEMORY
    assert "more than the 64 MiB allowed" in record.reason
    assert record.memory > 64.0


def test_compilation_has_a_limit_of_its_own(warm, path):
    limits = Limits(timeout=600.0, compile_timeout=1.0)
    record = warm.run(job(path, "CompilesForever", own=True), limits)
    assert record.outcome is Outcome.TIMEOUT
    assert record.reason == "stopped: compilation took more than 1 s"
    assert record.compile_seconds > 0.5
    assert math.isnan(record.error)


def test_a_campaign_that_is_left_takes_its_processes_along(path, tmp_path, token):
    other = tmp_path / "other.hdf5"
    stored(other, block_on_slope(0.3, 0.5).problem)
    jobs = [job(path, "nsgs"), job(other, "HoldsTheInterpreter", own=True)]
    begun = []
    runs = Processes(2).run(jobs, Limits(timeout=600.0), lambda worker, each: begun.append(worker))
    assert next(runs).solver == "nsgs"
    assert sorted(begun) == ["process 1", "process 2"]
    assert alive(token)
    runs.close()
    assert emptied(token)


def test_a_worker_ends_with_a_parent_that_is_killed(path, token):
    """Even while its solver never lets go of the interpreter."""
    holding = Path(token, "holding")
    code = f"""
        import sys
        sys.path.insert(0, {str(BAD.parents[1])!r})
        from bench.run_jobs import job
        from stickslip.bench.records import Limits
        from stickslip.bench.running.executors import Processes

        def told(worker, job):
            print(worker, flush=True)

        jobs = [job({str(path)!r}, "HoldsTheInterpreter", own=True)]
        list(Processes().run(jobs, Limits(timeout=600.0), told))
    """
    parent = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE)
    with parent:
        assert parent.stdout.readline() == b"process 1\n"
        end = time.monotonic() + 60.0
        while not holding.exists() and time.monotonic() < end:
            time.sleep(0.05)
        assert len(alive(token)) == 2
        parent.send_signal(signal.SIGKILL)
    assert emptied(token)


class InThisProcess(WarmProcess):
    """No process at all."""

    def runs(self, jobs, limits):
        for each in jobs:
            try:
                yield attempt(each, limits)
            except JobError as error:
                yield error


def test_jobs_that_cannot_be_run_are_told_after_all_others(path, monkeypatch):
    monkeypatch.setattr(processes_module, "WarmProcess", InThisProcess)
    jobs = [job_elsewhere(path), job(path, "nsgs"), job_elsewhere(path)]
    runs = Processes().run(jobs, LIMITS)
    assert next(runs).solver == "nsgs"
    with pytest.raises(JobError, match=r"nowhere\.hdf5.*and 1 more"):
        next(runs)


def test_nothing_runs_in_a_closed_process(path):
    process = WarmProcess("old")
    process.close()
    with pytest.raises(Closed, match="old was closed"):
        process.run(job(path, "nsgs"), LIMITS)


def test_problems_stay_together_and_the_idle_help_at_the_end(path, tmp_path):
    other = tmp_path / "other.hdf5"
    stored(other, block_on_slope(0.3, 0.5).problem)
    first = [job(path, name) for name in ("nsgs", "auto", "prox", "admm")]
    second = [job(other, name) for name in ("nsgs", "auto")]
    shares = Shares([first[0], second[0], *first[1:], second[1]], workers=2)
    assert shares.next(0) == first[0]
    assert [shares.next(1) for _ in range(3)] == [*second, first[3]]
    assert [shares.next(0), shares.next(1), shares.next(0)] == [first[1], first[2], None]
    with pytest.raises(ValueError, match="at least 1"):
        Processes(0)


def test_the_clock_of_a_call_stands_still_while_something_is_compiled(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(clocks_module.time, "monotonic", lambda: now[0])
    limits = Limits(timeout=10.0, compile_timeout=100.0)
    clocks = Clocks(limits)
    for event, seconds in (("begun", 5.0), ("calling", 4.0), ("compiling", 50.0), ("compiled", 6.0)):
        clocks.hear(event)
        now[0] += seconds
    assert clocks.calling == pytest.approx(10.0)
    assert clocks.compiling == pytest.approx(50.0)
    assert clocks.late() == ""
    now[0] += GRACE + SHARE * 10.0 + 0.1
    assert clocks.late().startswith("stopped after 11.6 s")
    clocks.hear("called")
    clocks.hear("calling")
    assert clocks.calling == 0.0
    clocks.hear("compiling")
    now[0] += 50.1
    assert clocks.late() == "stopped: compilation took more than 100 s"
    idle = Clocks(limits)
    now[0] += APART + 1.0
    assert idle.late() == "stopped: reading, importing and judging took more than 600 s"


@pytest.mark.parametrize("line", [b"rubbish", b"[1]", b"[" * 100_000, b"\xff", b""])
def test_garbled_lines_are_refused(line):
    with pytest.raises(Garbled):
        understood(line)
