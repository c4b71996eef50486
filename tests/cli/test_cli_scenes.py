"""`stickslip scenes`: one table of problems and runs, one scene with its parameters, old names."""

import json

import pytest

from stickslip import scenes


def test_one_line_for_every_scene_with_its_kind(run):
    result = run("scenes")
    assert result.code == 0
    lines = [line.split() for line in result.out.splitlines()[2:]]
    listed = {words[0]: words[1] for words in lines if words and words[0] in scenes.SCENES}
    assert listed == {name: scenes.kind_of(name) for name in scenes.names()}
    assert {"problem", "run"} == set(listed.values())


@pytest.mark.parametrize("name", ["wall-problem", "bouncing-ball"])
def test_one_scene_with_all_its_parameters(run, name):
    text = " ".join(run("scenes", name).out.split())
    assert f"kind {scenes.kind_of(name)}" in text
    for key, meaning in scenes.meanings(name).items():
        assert f"--{key.replace('_', '-')}" in text
        assert meaning.split("[")[0].strip() in text


def test_json_has_defaults_and_meanings(run):
    said = json.loads(run("scenes", "incline-problem", "--json").out)
    assert (said["name"], said["kind"]) == ("incline-problem", "problem")
    assert {one["name"]: one["default"] for one in said["parameters"]}.keys() == (
        scenes.parameters("incline-problem").keys()
    )
    assert [one["name"] for one in json.loads(run("scenes", "--json").out)] == scenes.names()


def test_an_unknown_scene(run):
    run("scenes", "wal").refuses("unknown scene 'wal'", "did you mean 'wall-problem'?")


def test_an_old_name_is_understood_and_said_in_a_sentence(run):
    result = run("scenes", "wall")
    assert result.code == 0
    assert result.out.startswith("wall-problem\n")
    assert result.err.startswith(
        "stickslip: the scene 'wall' is now 'wall-problem'; the next version removes the old name"
    )
    assert (
        "moreau-jean-bodies' is now 'moreau-jean-semi-explicit'" in run("schemes", "moreau-jean-bodies").err
    )


def test_a_problem_does_not_run(run):
    run("run", "chute-problem").refuses("chute-problem is a problem and does not run")
