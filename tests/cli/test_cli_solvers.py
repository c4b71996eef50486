"""`stickslip solvers`: the registry as a table and as JSON."""

import json
import subprocess
import sys

import pytest

from stickslip.solvers import registry


def test_every_solver_is_listed(run):
    result = run("solvers")
    assert result.code == 0
    for name in registry.names():
        assert name in result.out
        assert registry.entry(name).summary in result.out
    assert "auto is the default" in result.out
    assert "\x1b" not in result.out


@pytest.mark.parametrize("name", registry.names())
def test_one_solver_shows_all_its_options(name, run):
    shown = run("solvers", name).out
    for spec in registry.entry(name).options:
        assert spec.name in shown
        assert spec.metadata["doc"] in shown


def test_a_solver_says_which_law_it_solves(run):
    assert "solves   Coulomb's law" in run("solvers", "auto").out
    assert "the convex relaxation of Coulomb's law" in run("solvers", "apgd").out


def test_json(run):
    everything = json.loads(run("solvers", "--json").out, parse_constant=pytest.fail)
    assert [each["name"] for each in everything] == registry.names()
    nsgs = json.loads(run("solvers", "nsgs", "--json").out)
    assert nsgs in everything
    tolerance = next(each for each in nsgs["options"] if each["name"] == "tolerance")
    assert tolerance["type"] == "float"
    assert (tolerance["low"], tolerance["high"], tolerance["open_low"]) == (0.0, 1.0, True)
    assert all(each["doc"] and each["unit"] for each in nsgs["options"])


def test_an_unknown_solver_is_refused_with_the_known_ones(run):
    run("solvers", "magic").refuses("magic", *registry.names())


def test_what_can_be_run_here_is_shown(run, monkeypatch):
    find = registry.find_spec
    monkeypatch.setattr(registry, "find_spec", lambda name: None if name == "scs" else find(name))
    lines = {line.split()[0]: line for line in run("solvers").out.splitlines() if line}
    assert 'not installed: pip install "stickslip[scs]"' in lines["scs"]
    assert "available" in lines["nsgs"]
    assert 'here     not installed: pip install "stickslip[scs]"' in run("solvers", "scs").out
    scs = json.loads(run("solvers", "scs", "--json").out)
    assert scs["here"] == 'not installed: pip install "stickslip[scs]"'
    assert "pyramids" in run("solvers", "piqp").out


def test_listing_the_solvers_imports_none_of_the_others():
    code = "import sys; from stickslip.cli.main import main; main(['solvers']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {registry.entry(name).package for name in registry.names()} - {""}
    assert not packages & set(done.stdout.splitlines()[-1].split())
