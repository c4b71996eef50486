"""`--own file.py:Class`: a solver of one's own in `solve` and `run`; and Siconos's solvers by name."""

import json

import stickslip as ss
from stickslip.solvers import registry

OWN = """
import stickslip as ss


class Mine:
    def __init__(self, iterations=5, tolerance=1e-8):
        self.iterations, self.tolerance = iterations, tolerance

    def solve(self, problem):
        return ss.solve(problem, "nsgs", max_iterations=self.iterations, tolerance=self.tolerance)
"""


def test_a_solver_of_ones_own_solves(run, local_file, tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    place = f"{tmp_path / 'mine.py'}:Mine"
    found = run("solve", local_file, "--own", place, "--option", "iterations=10000")
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith("Mine:iterations=10000: SOLVED")
    said = json.loads(run("solve", local_file, "--own", place, "--option", "iterations=10000", "--json").out)
    assert said["options"] == {"own": place, "iterations": 10000, "tolerance": 1e-8}
    run("solve", local_file, "--own", place, "--solver", "nsgs").refuses("--own and --solver nsgs")
    run("solve", local_file, "--own", f"{tmp_path / 'mine.py'}:Yours").refuses("has no Yours")
    run("solve", local_file, "--own", place, "--option", "iteration=3").refuses("did you mean 'iterations'?")


def test_siconos_solves_by_name_where_it_is(run, local_file):
    found = run("solve", local_file, "--solver", "siconos-nsgs")
    if registry.entry("siconos-nsgs").installed:
        assert (found.code, found.err) == (0, "")
        assert found.out.startswith("siconos-nsgs: SOLVED")
    else:
        assert found.code == 2
        found.says("Siconos was not found")


def test_a_solver_of_ones_own_makes_every_step(run, tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    place = f"{tmp_path / 'mine.py'}:Mine"
    ball = ("run", "bouncing-ball", "--until", 0.5, "--h", 1e-2)
    found = run(*ball, "--own", place, "--solver-option", "iterations=100", "--out", tmp_path / "ball.h5")
    assert found.err == ""
    assert ss.read_trajectory(tmp_path / "ball.h5").solver == "Mine:iterations=100"
    run(*ball, "--own", place, "--solver", "nsgs").refuses("--own and --solver nsgs")
    (tmp_path / "bad.py").write_text("class Bad:\n    def solve(self, problem):\n        return 1 / 0\n")
    found = run(*ball, "--own", f"{tmp_path / 'bad.py'}:Bad")
    assert found.code == 2
    found.says("Bad failed with ZeroDivisionError")
