"""Extras: each brings its packages, nothing else is needed, and absence is one sentence."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import stickslip
from stickslip import extras

ROOT = Path(stickslip.__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
BLOCK = f"""
import sys
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        absent = name.split(".")[0] in {sorted(extras.EXTRA_OF)}
        return None if absent else super().find_spec(name, path, target)

sys.meta_path[:] = [Finder if each is PathFinder else each for each in sys.meta_path]
"""
"""Python in which no package of an extra can be imported."""


def brought(extra):
    """Names of the distributions that an extra installs by itself, in small letters."""
    names = [re.match(r"[\w-]+", line)[0].lower() for line in EXTRAS[extra]]
    return {name for name in names if name != "stickslip"}


def python(code, tmp_path, *arguments):
    command = [sys.executable, "-c", BLOCK + code, *map(str, arguments)]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)


def test_every_package_is_brought_by_its_extra():
    distributions = packages_distributions()
    for package, extra in extras.EXTRA_OF.items():
        names = {name.lower() for name in distributions.get(package, [])}
        if not names:  # not installed here: a licensed solver, or an extra that was left out
            assert extra in EXTRAS
        elif package not in ("gams", "gamspy_base"):  # gamspy brings them
            assert names & brought(extra), package


def test_all_has_everything_that_needs_no_licence():
    def reached(extra):
        inner = [re.match(r"stickslip\[(.*)\]", line) for line in EXTRAS[extra]]
        names = [name for match in inner if match for name in match[1].split(",")]
        return {extra}.union(*(reached(name) for name in names))

    assert set(EXTRAS) - reached("all") == {"gurobi", "mosek", "gams", "docs", "dev", "hooks", "test"}


def test_no_core_dependency_is_an_extra():
    core = {re.match(r"[\w-]+", line)[0].lower() for line in PROJECT["dependencies"]}
    assert not core & set().union(*(brought(extra) for extra in EXTRAS))


def test_solve_and_simulate_need_no_extra(tmp_path):
    code = """
import numpy as np
import stickslip as ss

b = ss.WorldBuilder()
b.body("floor", ss.Plane(), fixed=True)
b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.15), velocity=(1, 0, 0))
run = ss.simulate(b.build(), until=0.05, h=1e-2)
run.save("run.h5")
assert np.array_equal(ss.read_trajectory("run.h5").q, run.q)
assert ss.load("run.h5") is not None and run.source is not None
ss.save(b.build(), "model.json")
assert ss.load("model.json").names == b.build().names
problem = ss.scenes.make("wall-problem")
ss.write("wall.hdf5", problem)
assert ss.solve(ss.read("wall.hdf5")).ok
print("done")
"""
    found = python(code, tmp_path)
    assert (found.stdout, found.stderr) == ("done\n", "")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("from stickslip.view import draw_world", "draw_world needs the package matplotlib"),
        ("import stickslip as ss; ss.view.plot_energy", "plot_energy needs the package matplotlib"),
        ("from stickslip.bench import executor", "executor needs the package psutil"),
        (
            "import stickslip as ss; ss.solve(ss.scenes.make('wall-problem'), 'clarabel')",
            "clarabel needs the package clarabel",
        ),
    ],
)
def test_what_an_absent_package_is_needed_for_is_said(code, words, tmp_path):
    found = python(code, tmp_path)
    last = found.stderr.strip().splitlines()[-1]
    assert found.returncode == 1
    assert words in last
    assert re.search(r'pip install "stickslip\[\w+\]"$', last)


@pytest.mark.parametrize("arguments", [["--version"], ["solve", "x.hdf5"], []])
def test_the_command_line_says_what_it_needs(arguments, tmp_path):
    code = "from stickslip.cli.entry import main; sys.exit(main())"
    found = python(code, tmp_path, *arguments)
    assert (found.returncode, found.stdout, found.stderr.count("\n")) == (2, "", 1)
    assert found.stderr.startswith("stickslip: the command line needs the package cyclopts")
    assert found.stderr.endswith('install it with: pip install "stickslip[cli]"\n')


def test_a_benchmark_runs_the_stickslip_of_its_checkout(tmp_path):
    for folder in ("installed/stickslip", "elsewhere"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "installed/stickslip/__init__.py").write_text("installed = True")
    code = """
import subprocess, sys
sys.path[:0] = [sys.argv[1]]
import stickslip.names
print(stickslip.__file__)
child = "import stickslip; print(stickslip.__file__)"
print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout)
"""
    place = str(ROOT / "stickslip" / "__init__.py")
    found = subprocess.run(
        [sys.executable, "-c", code, str(ROOT / "benchmarks")],
        cwd=tmp_path / "elsewhere", env={"PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True, text=True,
    )  # fmt: skip
    assert found.stdout.split() == [place, place]
