"""`stickslip solvers`: the registry as a table and as JSON."""

import json

import pytest

from stickslip.solvers import registry


def test_every_solver_is_listed(run):
    result = run("solvers")
    assert result.code == 0
    for name in registry.names():
        assert name in result.out
        assert registry.entry(name).summary in result.out
    assert "auto is used where none is named" in result.out
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
