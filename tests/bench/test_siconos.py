"""Siconos as a peer in campaigns: found or absent, well or ill, and judged as ours are."""

import stat
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
from recorded import FOLDER, needs_recorded

from stickslip import ContactProblem, coulomb, read
from stickslip.bench.campaigns.contestants import Contestant
from stickslip.bench.records import Job, Limits, Outcome
from stickslip.bench.siconos import process as siconos_process
from stickslip.bench.siconos.peer import attempt_siconos, find_siconos, methods, total_seconds
from stickslip.files import write
from stickslip.problem.box import lcp, relay
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.fingerprint import fingerprint
from stickslip.problem.residuals import judge

needs_siconos = pytest.mark.skipif(not find_siconos(), reason="Siconos is on none of the usual interpreters")

ONE = ContactProblem(np.eye(3), [-1.0, 0.0, 0.0], coulomb([0.5]))
"""Solved by r = (1, 0, 0)."""

STAND_IN = """#!{python}
import json, os, sys, time
import numpy as np
if "print('siconos'" in sys.argv[-1]:
    print("siconos 9.9")
    sys.exit()
figures = dict.fromkeys(("info", "repetitions", "iterations"), 1)
figures |= dict.fromkeys(("seconds", *{times!r}, "memory"), 1e-3)
print("ready", flush=True)
for line in sys.stdin:
    request = json.loads(line)
    answer = np.array({answer})
    {does}
    with open(request["answer"], "r+b", closefd=False) as file:
        file.seek(0)
        np.save(file, answer)
    print(json.dumps(figures), flush=True)
"""


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """An interpreter in the place of Siconos's, whose solver does as it is told."""

    def make(does="pass", answer="[1.0, 0.0, 0.0]"):
        path = tmp_path / "python"
        path.write_text(
            STAND_IN.format(python=sys.executable, does=does, answer=answer, times=siconos_process.TIMES)
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv(siconos_process.VARIABLE, str(path))
        find_siconos.cache_clear()
        return path

    yield make
    find_siconos.cache_clear()


def run(name, problem=ONE, tolerance=1e-8, timeout=20.0, **options):
    contestant = Contestant(name, tuple(options.items()))
    job = Job(fingerprint(problem), "", None, contestant, find_siconos().source, tolerance)
    return attempt_siconos(job, Limits(timeout=timeout), problem)


def test_an_absent_siconos_is_said_to_be_absent():
    found = find_siconos("/no/such/python")
    assert not found
    assert found.source == ""
    assert "/no/such/python" in found.tried[0]


def test_an_interpreter_without_it_says_what_it_lacks(tmp_path):
    path = tmp_path / "python"
    path.write_text("#!/bin/sh\necho 'No module named siconos' >&2\nexit 1\n")
    path.chmod(0o700)
    assert find_siconos(str(path)).tried == (f"{path}: No module named siconos",)


def test_the_one_that_is_named_comes_first(stand_in):
    path = stand_in()
    found = find_siconos()
    assert (found.python, found.version, found.tried) == (str(path), "9.9", ())
    record = run("siconos-nsgs")
    assert record.solved
    assert record.source == "siconos 9.9"
    assert (record.natural, record.seconds, record.cpu_seconds, record.repetitions) == (0.0, 1e-3, 1e-3, 1)
    assert (record.longest_seconds, record.median_cpu_seconds) == (1e-3, 1e-3)
    wanted = {"solver": "SICONOS_FRICTION_3D_NSGS", "storage": "block", "tolerance": 1e-6, "tries": 2}
    assert record.options == wanted


ILL = {
    "dies": ("os.abort()", Outcome.CRASHED, "SIGABRT"),
    "ends": ("sys.exit(3)", Outcome.CRASHED, "code 3"),
    "hangs": ("time.sleep(60)", Outcome.TIMEOUT, "no answer"),
    "talks": ("print('so', flush=True)", Outcome.RAISED, "invalid reply"),
    "rambles": ("os.write(1, b'x' * 200_000)", Outcome.RAISED, "more than"),
    "is silent": ("os.close(1); time.sleep(60)", Outcome.CRASHED, "closed its pipe"),
    "takes all memory": ("hoard = np.ones(2**24); time.sleep(60)", Outcome.MEMORY, "MiB"),
    "has other shapes": ("answer = np.ones(4)", Outcome.RAISED, "shape"),
    "has other numbers": ("answer = np.ones(3, 'U1')", Outcome.RAISED, "<U1"),
    "is not finite": ("answer = np.full(3, np.nan)", Outcome.RAISED, "not finite"),
    "is far off": ("answer = np.array([1.5, 0.0, 0.0])", Outcome.MISSED, ""),
}


@pytest.mark.parametrize("case", ILL)
def test_whatever_ails_it_is_one_record(stand_in, case):
    does, outcome, reason = ILL[case]
    stand_in(does)
    problem = ContactProblem(np.eye(3), [-1.0, 0.0, 0.0], coulomb([0.5]))
    job = Job("0", "", None, Contestant("siconos-nsgs"), "siconos 9.9", 1e-8)
    timeout = 0.3 if outcome is Outcome.TIMEOUT else 30.0
    record = attempt_siconos(job, Limits(timeout=timeout, memory=64.0), problem)
    assert record.outcome is outcome
    assert reason in record.reason
    assert record.options["solver"] == "SICONOS_FRICTION_3D_NSGS"
    if outcome is Outcome.MISSED:
        assert record.natural == judge(problem, [1.5, 0.0, 0.0]).natural
    else:
        assert np.isnan(record.natural)


def test_another_version_than_the_campaigns_is_not_run(stand_in):
    stand_in("os.abort()")
    job = Job("0", "", None, Contestant("siconos-nsgs"), "siconos 9.8", 1e-8)
    record = attempt_siconos(job, Limits(), ONE)
    assert record.outcome is Outcome.RAISED
    assert record.reason == "siconos 9.9 is here, not siconos 9.8"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("siconos-lemke", ONE),
        ("siconos-cpg", ONE),
        ("siconos-nsgs", relay(np.eye(2), [1.0, 2.0])),
        ("siconos-prox", ContactProblem(np.eye(2), [-1.0, 0.0], coulomb([0.5], dimension=2))),
        ("siconos-nsgs", ContactProblem(np.zeros((0, 0)), np.zeros(0), coulomb([]))),
        (
            "siconos-nsgs",
            GlobalProblem(np.eye(2), [0.0, 0.0], np.eye(2), [-1.0, 0.0], coulomb([0.5], dimension=2)),
        ),
    ],
    ids=["lcp method", "2D method", "relay", "3D method", "no contacts", "global 2D"],
)
def test_methods_that_do_not_exist_for_a_problem_are_refused(stand_in, name, problem):
    stand_in("os.abort()")
    record = run(name, problem)
    assert record.outcome is Outcome.REFUSED
    assert name in record.reason


def test_options_are_refused(stand_in):
    stand_in()
    assert run("siconos-nsgs", rho=1.0).outcome is Outcome.REFUSED


def test_names_and_the_time_it_takes():
    assert {"siconos-nsgs", "siconos-prox", "siconos-admm", "siconos-nsn-ac", "siconos-cpg"} < set(methods())
    assert len(set(methods())) == len(methods())
    assert total_seconds(Limits(timeout=100.0)) >= 200.0


@needs_siconos
def test_one_contact_is_solved_and_timed():
    record = run("siconos-nsgs")
    assert record.solved
    assert record.error <= 1e-8
    assert 0.0 < record.seconds < 20.0
    assert record.cpu_seconds > 0.0
    assert record.repetitions == Limits().best_of
    assert record.source.startswith("siconos ")


@needs_siconos
def test_a_global_problem_is_judged_with_the_velocities_given():
    problem = GlobalProblem(np.eye(3), [-1.0, 0.2, 0.0], np.eye(3), [0.0, 0.0, 0.0], coulomb([0.5]))
    record = run("siconos-nsgs", problem)
    assert record.solved
    assert record.options["solver"].startswith("SICONOS_GLOBAL_FRICTION_3D_NSGS")


@needs_siconos
def test_complementarity_problems_have_methods_too():
    record = run("siconos-lemke", lcp([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]))
    assert record.solved
    assert record.options["storage"] == "dense"


@needs_siconos
def test_it_leaves_no_process_and_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = psutil.Process().children(recursive=True)
    assert run("siconos-admm").solved
    assert not list(tmp_path.iterdir())
    assert not set(psutil.Process().children(recursive=True)) - set(before)


@needs_siconos
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends a process with its parent")
def test_it_ends_with_its_parent_in_the_middle_of_a_solve(tmp_path):
    """An enumeration of 2^40 cases does not hear that its input has ended."""
    file = tmp_path / "lcp_long.dat"
    n = 40
    write(file, lcp(-np.eye(n), np.full(n, -1.0)))
    code = (
        "from pathlib import Path; from stickslip import read\n"
        "from stickslip.bench.siconos.peer import find_siconos\n"
        "from stickslip.bench.siconos.peer import Peer, Run\n"
        f"peer = Peer(find_siconos().python, read({str(file)!r}))\n"
        "method = next(m for m in peer.methods if m.name == 'ENUM')\n"
        "peer.time(Run(method, 'dense'), 1e-8, 0.0, 1, 60.0)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        try:
            child = _busy_child(parent, "SIGALRM")
        finally:
            parent.kill()
    child.wait(10.0)


def _busy_child(parent: subprocess.Popen, word: str) -> psutil.Process:
    """A child with a word in its command that has computed for half a second. Other children come and go
    meanwhile: one that is gone when it is asked is not the one."""
    end = time.monotonic() + 60.0
    while time.monotonic() < end and parent.poll() is None:
        for one in psutil.Process(parent.pid).children():
            try:
                if word in " ".join(one.cmdline()) and one.cpu_times().user >= 0.5:
                    return one
            except psutil.Error:
                continue
        time.sleep(0.05)
    raise AssertionError(f"no child of {parent.pid} with {word} in its command was busy within a minute")


@needs_siconos
@needs_recorded
@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("friction/Rover1039.dat", "siconos-nsn-ac"),
        ("friction/FC2D_SliderCrankLagrangian00000.dat", "siconos-cpg"),
        ("rolling/RFC3D_cube_1.dat", "siconos-admm"),
        ("mlcp/PD_mlcp.dat", "siconos-newton-fb"),
    ],
)
def test_recorded_problems_of_each_kind_are_solved(file, name):
    record = run(name, read(FOLDER / file), tolerance=1e-6)
    assert record.outcome is Outcome.SOLVED, record.reason
    assert max(record.natural, record.natural_scaled) <= 1e-6
