"""Trials of Siconos: what a peer that crashes, hangs or errs does to a run."""

import stat
import sys

import numpy as np
import pytest

from stickslip import ContactProblem, coulomb
from stickslip.bench.siconos.peer import Peer
from stickslip.bench.siconos.process import TIMES

WORKER = """#!{python}
import json, os, sys, time
import numpy as np
figures = dict.fromkeys(("info", "repetitions", "iterations"), 1)
figures |= dict.fromkeys(("seconds", *{times!r}, "memory"), 1e-3)
print("ready", flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if request["solver"].endswith("NSN_AC"):
        os.abort()
    if request["solver"].endswith("NSGS"):
        time.sleep(60)
    if request["solver"].endswith("ADMM"):
        print(json.dumps({{"failed": "it says so"}}), flush=True)
        continue
    good = request["tolerance"] < 1e-8
    answer = open(request["answer"], "r+b", closefd=False)
    answer.seek(0)
    np.save(answer, np.array([1.0 if good else 1.1, 0.0, 0.0]))
    answer.close()
    print(json.dumps(figures), flush=True)
"""


def test_a_crash_a_hang_and_an_error_cost_one_cell_each(tmp_path):
    """The stand-in solves by PROX only, and only when asked for more than the judge wants."""
    stand_in = tmp_path / "stand-in"
    stand_in.write_text(WORKER.format(python=sys.executable, times=TIMES))
    stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
    problem = ContactProblem(np.eye(3), [-1.0, 0.0, 0.0], coulomb([0.5]))
    with Peer(str(stand_in), problem) as peer:
        runs = {run.name: run for run in peer.search(tolerance=1e-8, timeout=0.5)}
    assert {run.storage for run in runs.values()} == {"dense", "block"}
    for storage in ("dense", "block"):
        assert "SIGABRT" in runs[f"NSN_AC/{storage}"].failed
        assert "no answer" in runs[f"NSGS/{storage}"].failed
        assert runs[f"ADMM/{storage}"].failed == "it says so"
        prox = runs[f"PROX/{storage}"]
        assert prox.passed
        assert prox.tolerance == pytest.approx(1e-9)
        assert prox.residuals.natural == 0.0
