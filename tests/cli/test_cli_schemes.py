"""`stickslip schemes`: the schemes and their options, for people and for machines."""

import json

import pytest

from stickslip.cli.main import main
from stickslip.schemes import registry


def test_every_scheme_has_a_line(capsys):
    assert main(["schemes"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in registry.names())


@pytest.mark.parametrize("name", registry.names())
def test_every_option_is_shown_with_its_meaning(name, capsys):
    assert main(["schemes", name, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [o["name"] for o in told["options"]] == [spec.name for spec in registry.entry(name).options]
    assert all(o["doc"] and o["unit"] for o in told["options"])
    assert main(["schemes", name]) == 0
    shown = capsys.readouterr().out
    assert all(o["name"] in shown for o in told["options"])


def test_an_unknown_scheme_is_one_sentence(capsys):
    assert main(["schemes", "euler"]) == 2
    said = capsys.readouterr().err
    assert "unknown scheme 'euler'" in said
    assert "moreau-jean" in said
    assert "Traceback" not in said


def test_first_order_scenes_are_run_by_euler_moreau(run):
    result = run("run", "rlc-diode", "--until", 1e-4)
    assert "euler-moreau" in result.out
    run("run", "rlc-diode", "--scheme", "moreau-jean").refuses("it can by euler-moreau")
