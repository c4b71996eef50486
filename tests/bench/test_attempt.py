"""One run in this process: what is timed, what is judged, and what each way to fail is called."""

import json
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
from bench.run_jobs import BAD, job, stored
from closed_forms import block_on_slope, two_masses_on_a_rod
from numba.core.compiler_lock import global_compiler_lock

from stickslip import judge, solve
from stickslip.bench.campaigns.contestants import source_of
from stickslip.bench.records import Limits, Outcome, RunRecord
from stickslip.bench.running import attempt as attempts
from stickslip.bench.running.answers import LONGEST, ROWS, answer_of, one_line
from stickslip.bench.running.attempt import JobError, attempt
from stickslip.bench.running.calls import Compiling
from stickslip.bench.running.memory import Peak
from stickslip.extras import MissingPackage

LIMITS = Limits(timeout=20.0)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("attempt") / "slope.hdf5"
    stored(path, block_on_slope(0.2, 0.5).problem)
    return path


@pytest.fixture(scope="module")
def rod(tmp_path_factory):
    path = tmp_path_factory.mktemp("attempt") / "rod.hdf5"
    stored(path, two_masses_on_a_rod().problem)
    return path


def own_module():
    """The module that runs in this process have made of bad_solvers.py."""
    return next(m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == str(BAD))


def test_a_record_says_what_the_judge_says_and_all_options(path):
    record = attempt(job(path, "nsgs", max_iterations=77), LIMITS)
    problem = stored(path, block_on_slope(0.2, 0.5).problem)
    expected = judge(problem, solve(problem, "nsgs", max_iterations=77).r)
    assert record.outcome is Outcome.SOLVED
    assert record.status == "SOLVED"
    assert record.reason == ""
    assert (record.natural, record.natural_scaled, record.error) == (
        expected.natural, expected.natural_scaled, expected.error,
    )  # fmt: skip
    assert record.options["max_iterations"] == 77
    assert record.options["tolerance"] == 1e-8
    assert record.repetitions == LIMITS.best_of
    assert record.iterations >= 1
    assert 0.0 < record.seconds <= record.median_seconds <= record.longest_seconds
    assert 0.0 <= record.cpu_seconds <= record.median_cpu_seconds <= record.longest_cpu_seconds
    assert RunRecord.from_json(json.loads(json.dumps(record.as_json()))).key == record.key


def test_a_global_problem_is_judged_with_its_velocities_and_is_fresh_at_every_call(rod):
    record = attempt(job(rod, "Counts", own=True), replace_limits(best_of=4, patience=60.0))
    assert record.outcome is Outcome.SOLVED, record.reason
    assert own_module().Counts.calls == 4 + (record.compile_seconds > 0.0)
    assert record.repetitions == 4


def test_every_call_begins_without_what_an_earlier_one_has_learnt(path):
    record = attempt(job(path, "Remembers", own=True), replace_limits(best_of=3, patience=60.0))
    assert (record.outcome, record.repetitions) == (Outcome.SOLVED, 3)
    assert record.seconds >= 0.02


def replace_limits(**changes):
    return replace(LIMITS, **changes)


@pytest.mark.parametrize(
    ("name", "outcome", "words"),
    [
        ("Good", Outcome.SOLVED, ""),
        ("Liar", Outcome.MISSED, "it reports a solution, but the judge finds an error of"),
        ("Modest", Outcome.SOLVED, "the judge accepts it, the solver itself says STALLED: no idea"),
        ("NotNumbers", Outcome.RAISED, "its r holds NaN or inf"),
        ("WrongShape", Outcome.RAISED, "its r has shape (4,), expected (3,)"),
        ("Nothing", Outcome.RAISED, "it returned a NoneType, which is neither a Solution nor an array r"),
        ("Raises", Outcome.RAISED, "RuntimeError: this is not my day"),
        ("RaisesUnspeakably", Outcome.RAISED, "UnspeakableError"),
        ("Leaves", Outcome.RAISED, "SystemExit: goodbye"),
        ("Picky", Outcome.REFUSED, "NotImplementedError: I take nothing"),
        ("Fickle", Outcome.SOLVED, "calls gave different answers"),
        ("Forger", Outcome.RAISED, "it has changed the problem it was given"),
    ],
)
def test_what_a_solver_gives_back_is_judged_or_named(path, name, outcome, words):
    record = attempt(job(path, name, own=True), LIMITS)
    assert record.outcome is outcome
    assert record.reason.startswith(words)
    if not words:
        assert record.reason == ""


def test_a_solver_that_does_not_take_the_problem_refuses(path):
    record = attempt(job(path, "lemke"), LIMITS)
    assert record.outcome is Outcome.REFUSED
    assert "lemke does not take coulomb3d" in record.reason


def test_a_licence_that_is_missing_is_no_failure_of_the_method(path, monkeypatch):
    def make(contestant, tolerance):
        raise MissingPackage("gurobi is installed but has no valid licence")

    monkeypatch.setattr(attempts, "entrant", make)
    record = attempt(job(path, "gurobi"), LIMITS)
    assert record.outcome is Outcome.REFUSED
    assert record.reason == "gurobi is installed but has no valid licence"


def test_a_file_that_has_changed_or_is_gone_is_nobodys_failure(tmp_path):
    path = tmp_path / "slope.hdf5"
    stored(path, block_on_slope(0.2, 0.5).problem)
    asked = job(path, "nsgs")
    stored(path, block_on_slope(0.3, 0.5).problem)
    with pytest.raises(JobError, match=r"slope\.hdf5 has changed"):
        attempt(asked, LIMITS)
    path.write_bytes(b"\x89HDF\r\n\x1a\nrubbish")
    with pytest.raises(JobError, match=r"slope\.hdf5"):
        attempt(asked, LIMITS)
    path.unlink()
    with pytest.raises(JobError, match=r"slope\.hdf5"):
        attempt(asked, LIMITS)


def test_a_solver_whose_file_has_changed_is_not_run(path, tmp_path):
    mine = tmp_path / "mine.py"
    shutil.copy(BAD, mine)
    asked = job(path, "Good", own=True)
    asked = replace(asked, contestant=replace(asked.contestant, place=f"{mine}:Good"))
    asked = replace(asked, source=source_of(asked.contestant))
    assert attempt(asked, LIMITS).solved
    mine.write_text(mine.read_text() + "\n")
    with pytest.raises(JobError, match=r"mine\.py:Good has changed"):
        attempt(asked, LIMITS)


@pytest.mark.parametrize(("patience", "repetitions"), [(60.0, 3), (0.0, 1)])
def test_compilation_is_kept_apart(path, patience, repetitions):
    """It compiles for half a second of wall and processor time at its first call only."""
    attempt(job(path, "Good", own=True), LIMITS)
    own_module().Compiles.done = False
    record = attempt(job(path, "Compiles", own=True), replace_limits(patience=patience))
    assert record.solved
    assert record.repetitions == repetitions
    assert record.compile_seconds >= 0.5
    assert 0.02 <= record.seconds < 0.5
    assert record.cpu_seconds < 0.4


def test_calls_end_with_best_of_or_with_patience(path):
    assert attempt(job(path, "Good", own=True), replace_limits(best_of=5, patience=60.0)).repetitions == 5
    assert attempt(job(path, "Good", own=True), replace_limits(best_of=5, patience=0.0)).repetitions == 1


def test_a_solver_that_tells_its_progress_is_stopped_by_it(path):
    record = attempt(job(path, "Told", own=True, steps=10_000), replace_limits(timeout=0.1))
    assert record.outcome is Outcome.TIMEOUT
    assert record.seconds > 0.1
    assert record.iterations >= 1
    assert f"after {record.iterations} iterations" in record.reason
    assert np.isnan(record.error)


def test_the_run_is_told_as_it_goes(path):
    heard = []

    def hear(event, **more):
        heard.append((event, more["options"]["steps"]) if more else event)

    attempt(job(path, "Told", own=True), replace_limits(best_of=1, patience=0.0), tell=hear)
    assert heard == [("made", 1), "calling", "called"]


def test_what_is_compiled_inside_a_compilation_counts_once():
    heard = []
    with Compiling(heard.append) as compiling:
        assert not compiling.met
        with global_compiler_lock, global_compiler_lock:
            pass
        once = compiling.seconds
    assert compiling.met
    assert heard == ["compiling", "compiled"]
    assert 0.0 < once == compiling.seconds
    with global_compiler_lock:
        pass
    assert compiling.seconds == once


def test_long_texts_and_histories_are_cut():
    assert one_line("a\n\x1b b\t") == "a b"
    assert len(one_line("x" * 10_000_000)) == LONGEST
    problem = block_on_slope(0.2, 0.5).problem
    solution = solve(problem, "nsgs").with_(history=np.arange(30_000.0).reshape(-1, 3), iterations=-3)
    answer = answer_of(solution)
    assert answer.history.shape == (ROWS, 3)
    assert answer.history[-1, 2] == 29_999.0
    assert answer.iterations == 0
    assert answer_of(solution.with_(history="none")).history.shape == (0, 3)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not say")
def test_the_peak_of_memory_is_that_of_the_block():
    np.ones(64 << 17)
    with Peak() as peak:
        np.ones(32 << 17)
    assert 31.0 < peak.above < 48.0
