"""`stickslip bench run`: campaigns from the command line, killed and gone on with."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from io import StringIO

import numpy as np
import pytest
from made_results import Counting, Folder, entry, run_of, table
from rich.console import Console

from stickslip import files
from stickslip.bench.campaigns.campaign import run_campaign
from stickslip.bench.campaigns.contestants import contestants
from stickslip.bench.campaigns.journal import journal_of
from stickslip.bench.campaigns.results_file import read_results
from stickslip.bench.records import Limits, Outcome
from stickslip.bench.running import executors
from stickslip.cli import progress
from stickslip.cli.bench_run import CampaignTable, clock, standings
from stickslip.problem.contact import ContactProblem
from stickslip.problem.sets import coulomb

ENTRY = "import sys; from stickslip.cli.main import main; sys.exit(main())"
SLOW = """
import time
import numpy as np

class Slow:
    def solve(self, problem):
        time.sleep(0.3)
        return np.zeros(problem.size if hasattr(problem, "size") else len(problem.u_free))
"""


def coupled(contacts: int, seed: int = 0) -> ContactProblem:
    """A small problem whose contacts feel each other, well posed (W is definite)."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3 * contacts + 3, 3 * contacts))
    u_free = rng.normal(size=3 * contacts)
    u_free[::3] = -1.0  # so that r = 0 is no answer
    return ContactProblem(A.T @ A / 3.0, u_free, coulomb(np.full(contacts, 0.5)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six small problems in two families."""
    place = tmp_path_factory.mktemp("problems")
    for family in ("pile", "stack"):
        (place / family).mkdir()
        for contacts in (1, 2, 3):
            files.write(
                place / family / f"{family}-{contacts}.hdf5", coupled(contacts, seed=len(family) + contacts)
            )
    return place


@pytest.fixture
def fake(monkeypatch):
    """An executor that makes no process."""
    made = Counting()

    def executor(text, workers=1):
        made.workers = workers
        return made

    monkeypatch.setattr(executors, "executor", executor)
    return made


def test_a_campaign_in_processes(run, folder, tmp_path):
    out = tmp_path / "r.h5"
    command = (
        "bench",
        "run",
        "--problems",
        folder,
        "--solvers",
        "nsgs",
        "--tolerance",
        "1e-4,1e-8",
        "--out",
        out,
    )
    result = run(*command, "--most", 2, "--best-of", 1)
    assert result.code == 0, result
    assert result.err == ""
    lines = [line.split() for line in result.out.splitlines() if line.startswith("nsgs")]
    assert [line[1:3] for line in lines] == [["1e-4", "2"], ["1e-8", "2"]]
    assert str(out) in result.out
    assert "stickslip bench report" in result.out
    results = read_results(out)
    assert [run.outcome for run in results.runs] == [Outcome.SOLVED] * 4
    assert all(run.error <= run.tolerance and run.seconds > 0.0 for run in results.runs)
    assert results.command.startswith("stickslip bench run --problems")
    assert "--most 2" in results.command
    content = out.read_bytes()
    again = run(*command, "--most", 2, "--best-of", 1, "--json")
    assert json.loads(again.out)["runs"] == 4
    assert out.read_bytes() == content


def test_a_killed_campaign_goes_on(run, folder, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    out = tmp_path / "r.h5"
    own = f"slow={tmp_path / 'slow.py'}:Slow"
    command = [
        "bench", "run", "--problems", folder, "--solvers", "slow", "--own", own, "--best-of", 1,
        "--tolerance", "1e-3,1e-6", "--out", out,
    ]  # fmt: skip
    arguments = [sys.executable, "-c", ENTRY, *map(str, command)]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 100.0
        while process.poll() is None and time.monotonic() < end and _lines(out) < 3:
            time.sleep(0.05)
        assert process.poll() is None
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    before = read_results(out)
    assert 2 <= len(before.runs) < 12
    assert run(*command).code == 0
    after = read_results(out)
    assert len(after.runs) == len(after.done) == 12
    assert {run.outcome for run in after.runs} == {Outcome.MISSED}
    kept = {key: record.as_json() for key, record in after.done.items()}
    assert all(kept[record.key] == record.as_json() for record in before.runs)
    assert not journal_of(out).exists()


def _lines(out):
    try:
        return journal_of(out).read_bytes().count(b"\n")
    except FileNotFoundError:
        return 0


def test_ctrl_c_says_how_to_go_on(run, folder, fake, tmp_path):
    fake.stop_after = 5
    out = tmp_path / "r.h5"
    command = ("bench", "run", "--problems", folder, "--solvers", "nsgs,prox", "--out", out)
    result = run(*command)
    assert result.code == 130
    assert result.out == ""
    result.says("interrupted", "5 runs are stored in", str(out), "repeat the command to continue")
    fake.stop_after = None
    assert run(*command).code == 0
    assert len(fake.ran) == len(read_results(out).runs) == 12


def test_choices(run, folder, fake, tmp_path):
    out = tmp_path / "r.h5"
    result = run(
        "bench", "run", "--problems", folder / "pile", "--problems", folder / "stack" / "stack-1.hdf5",
        "--out", out, "--solvers", "nsgs:max_iterations=7,newton", "--families", "pile", "--workers", 3,
        "--timeout", 5, "--memory", 500, "--json",
    )  # fmt: skip
    assert result.code == 0, result
    report = json.loads(result.out, parse_constant=pytest.fail)
    assert report["runs"] == 6
    assert report["problems"] == 3
    assert [line["solver"] for line in report["standings"]] == ["newton-ac", "nsgs:max_iterations=7"]
    assert all(line["solved"] == line["runs"] == 3 for line in report["standings"])
    conditions = read_results(out).conditions
    assert (conditions.workers, conditions.timeout, conditions.memory) == (3, 5.0, 500.0)


def test_limits_that_are_not_given_are_those_of_the_library(run, folder, fake, tmp_path):
    assert (
        run("bench", "run", "--problems", folder, "--solvers", "nsgs", "--out", tmp_path / "r.h5").code == 0
    )
    results = read_results(tmp_path / "r.h5")
    said, usual = results.conditions, Limits()
    assert (said.timeout, said.memory, said.best_of) == (usual.timeout, usual.memory, usual.best_of)
    words = shlex.split(results.command)[3:]
    assert words == ["--problems", str(folder), "--solvers", "nsgs", "--out", str(tmp_path / "r.h5")]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("--solvers", "sngs"), ("unknown solver 'sngs'", "nsgs")),
        (("--solvers", "nsgs:sweeps=3"), ("nsgs has no option 'sweeps'",)),
        (("--own", "mine=nowhere.py:Mine"), ("mine", "nowhere.py")),
        (("--tolerance", "small"), ("--tolerance", "'small'")),
        (("--tolerance", "1e-4,1e-4"), ("--tolerance 1e-4 is given twice",)),
        (("--tolerance", "2"), ("--tolerance must lie in (0, 1)",)),
        (("--timeout", "inf"), ("--timeout must lie in (0, 1e+06], got inf",)),
        (("--best-of", "0"), ("--best-of must lie in [1, inf), got 0",)),
        (("--timeout", "0"), ("timeout", "(0, 1e+06]")),
        (("--memory", "1"), ("memory", "[64")),
        (("--workers", "0"), ("--workers", "at least 1")),
        (("--most", "0"), ("--most", "at least 1")),
        (("--families", "tower"), ("unknown family 'tower'", "pile, stack")),
        (("--executor", "clouds"), ("--executor clouds", "processes")),
        (("--problems", "nowhere"), ("nowhere", "no such file")),
        (("--out", "results.txt"), ("results.txt", ".h5")),
        (("--out", "nowhere/results.h5"), ("no directory",)),
    ],
)
def test_bad_input_is_one_sentence(run, folder, tmp_path, change, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"--problems": folder, "--solvers": "nsgs", "--out": "r.h5"} | {change[0]: change[1]}
    run("bench", "run", *(word for pair in given.items() for word in pair)).refuses(*words)
    assert list(tmp_path.iterdir()) == []


def test_other_conditions_and_other_files_are_refused(run, folder, fake, tmp_path):
    out = tmp_path / "r.h5"
    command = ("bench", "run", "--problems", folder, "--solvers", "nsgs", "--out", out)
    assert run(*command).code == 0
    run(*command, "--timeout", 3).refuses("timeout", "timeout 20 s", "timeout 3 s", "--out")
    out.write_text("a diary")
    run(*command).refuses("r.h5", "HDF5")
    assert out.read_text() == "a diary"


def test_what_a_users_module_prints_stays_out_of_the_json(run, folder, fake, tmp_path):
    (tmp_path / "loud.py").write_text("print('hello')\nclass Loud:\n    def solve(self, problem): ...\n")
    result = run(
        "bench", "run", "--problems", folder, "--own", f"loud={tmp_path / 'loud.py'}:Loud",
        "--solvers", "loud", "--json", "--out", tmp_path / "r.h5",
    )  # fmt: skip
    assert json.loads(result.out)["runs"] == 6
    assert result.err == "hello\n"


def test_files_that_are_no_problems_are_told(run, folder, fake, tmp_path):
    (tmp_path / "p").mkdir()
    files.write(tmp_path / "p" / "good.hdf5", coupled(1))
    (tmp_path / "p" / "bad.hdf5").write_text("nothing")
    result = run(
        "bench", "run", "--problems", tmp_path / "p", "--solvers", "nsgs", "--out", tmp_path / "r.h5"
    )
    assert result.code == 0
    result.says("1 file left out", "bad.hdf5")


def test_the_live_table(run, folder, fake, tmp_path, monkeypatch):
    screen = StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    monkeypatch.setattr(progress, "terminal", lambda: console)
    command = ("bench", "run", "--problems", folder, "--solvers", "nsgs,prox", "--out", tmp_path / "r.h5")
    result = run(*command)
    assert result.code == 0
    assert result.err == ""
    assert "12 of 12 runs" in screen.getvalue()
    assert "12 of 12" not in result.out


def test_the_live_table_counts(tmp_path):
    (one, two) = contestants("nsgs,prox")
    shown, drawn = CampaignTable(), []

    class Drawing(Counting):
        def run(self, jobs, limits, told=None):
            for record in super().run(jobs, limits, told):
                console = Console(file=StringIO(), width=100)
                console.print(shown.drawn())
                drawn.append(console.file.getvalue())
                yield record

    folder = Folder((entry("a", 3), entry("b", 6)))
    run_campaign(folder, (one, two), [1e-4], Limits(), Drawing(), tmp_path / "r.h5", shown)
    assert "now: nsgs on a at 1e-4" in drawn[0]
    assert "0 of 4 runs" in drawn[0]
    assert "now: prox on b at 1e-4" in drawn[-1]
    assert "3 of 4 runs" in drawn[-1]
    assert "left" in drawn[-1]
    assert [line.split()[:3] for line in drawn[-1].splitlines() if line.startswith("nsgs")] == [
        ["nsgs", "2", "2"]
    ]


def test_standings():
    results = table("a", "b", solvers=("nsgs", "prox"), tolerances=(1e-4,))
    late = run_of("hash of b", "ipm", outcome=Outcome.TIMEOUT, seconds=20.0)
    lines = {line["solver"]: line for line in standings(results.with_runs((*results.runs, late)))}
    # Both take equally long, and share the first place; a missing run is not counted against ipm.
    assert lines["nsgs"]["fastest"] == lines["prox"]["fastest"] == lines["nsgs"]["runs"] == 2
    assert lines["ipm"] == {
        "solver": "ipm", "tolerance": 1e-4, "runs": 1, "solved": 0, "missed": 0, "timeout": 1, "crashed": 0,
        "refused": 0, "fastest": 0, "seconds": 20.0,
    }  # fmt: skip


def test_clock():
    assert [clock(s) for s in (0.4, 59.0, 185.0, 7800.0)] == ["0 s", "59 s", "3 min 05 s", "2 h 10 min"]
