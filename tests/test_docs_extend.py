"""docs/extend.md: each of its files stands there whole, and its three tests pass, are linted and typed."""

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.solvers import registry

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "extend.md").read_text()
FILES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.DOTALL))
OWN = ("given_step", "threshold_impact", "midpoint")
TESTS = re.findall(r"^# test_(\w+)\.py$|^def (test_\w+)\(", PAGE, re.MULTILINE)


def cases():
    """(file, test) of the page, in its order."""
    file = ""
    for begins, test in TESTS:
        file = begins or file
        if test:
            yield file, test


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files of the page, importable."""
    place = tmp_path_factory.mktemp("extend")
    for name, text in FILES.items():
        (place / name).write_text(text)
    sys.path.insert(0, str(place))
    yield place
    sys.path.remove(str(place))
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


def test_there_are_three_files_with_three_tests_each():
    assert set(FILES) == {f"{prefix}{name}.py" for name in OWN for prefix in ("", "test_")}
    found = list(cases())
    assert [sum(file == name for file, _ in found) for name in OWN] == [3, 3, 3]


@pytest.mark.parametrize(("file", "test"), list(cases()), ids=lambda word: word)
def test_of_the_page(file, test, folder, tmp_path):
    function = getattr(import_module(f"test_{file}"), test)
    marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
    given = [{mark.args[0]: value} for mark in marks for value in mark.args[1]] or [{}]
    if "tmp_path" in inspect.signature(function).parameters:
        given = [{"tmp_path": tmp_path} | one for one in given]
    for one in given:
        function(**one)


def test_the_files_are_linted_and_typed(folder):
    config = ROOT / "pyproject.toml"
    own = [folder / f"{name}.py" for name in OWN]
    for tool in (
        ["ruff", "check", "--ignore", "D1", "--config", config, folder],
        ["ruff", "format", "--check", "--config", config, folder],
        ["mypy", "--config-file", config, *own],
    ):
        done = subprocess.run([sys.executable, "-m", *tool], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stdout + done.stderr


def test_one_line_makes_the_solver_known(folder, monkeypatch):
    line = re.search(r"^ +(Entry\(.*\)),$", PAGE, re.MULTILINE).group(1)
    names = {"Entry": registry.Entry, "_SOLVERS": "", "_ALL": frozenset({"coulomb3d"})}
    entry = eval(line, names)
    monkeypatch.setitem(registry._TABLE, entry.name, entry)
    problem = ss.ContactProblem(np.eye(6), [-1.0, 0.2, 0.0, -0.5, 0.0, 0.9], ss.coulomb([0.5, 0.3]))
    solution = ss.solve(problem, "given-step", tolerance=1e-10).or_raise()
    np.testing.assert_allclose(solution.r, ss.solve(problem, tolerance=1e-12).r, atol=1e-9)
    assert entry.summary.startswith("De Saxcé's fixed point")
    flat = ss.ContactProblem(np.eye(2), [-1.0, 0.2], ss.coulomb([0.5], 2))
    with pytest.raises(ss.ProblemError, match="given-step does not take coulomb2d blocks; solvers that do: "):
        ss.solve(flat, "given-step")


def test_a_solver_that_is_not_one_is_refused(folder):
    problem = ss.ContactProblem(np.eye(3), [-1.0, 0.2, 0.0], ss.coulomb([0.5]))
    own = import_module("given_step").GivenStep
    with pytest.raises(TypeError, match="expected a name, such as 'auto', or a solver"):
        ss.solve(problem, own)
    with pytest.raises(TypeError, match="expected a name"):
        ss.solve(problem, 3.0)
    with pytest.raises(TypeError, match="GivenStep has its options already; set tolerance when you make it"):
        ss.solve(problem, own(), tolerance=1e-3)


def test_damping_does_not_follow_from_a_bias(folder):
    """Compliant contact takes damping from a constant e; where a law has none, it asks for one."""
    system = import_module("test_threshold_impact").dropped()
    with pytest.raises(ss.ModelError, match=r"'floor': ThresholdImpact says itself .* take damping='ratio'"):
        ss.simulate(system, until=0.1, h=1e-2, scheme="compliant")
    run = ss.simulate(system, until=0.1, h=1e-2, scheme=ss.schemes.Compliant(damping="ratio"))
    assert run.q[-1, 0] == pytest.approx(1.0 - 0.5 * 9.81 * 0.01, abs=1e-6)
