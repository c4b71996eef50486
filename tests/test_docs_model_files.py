"""What docs/model-files.md shows runs and loads as it stands."""

import re
from pathlib import Path

import stickslip as ss
from stickslip.cli.main import main

PAGE = (Path(__file__).parent.parent / "docs" / "model-files.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in blocks("python"):
        exec(code, names)
    assert names["run"].source.names == ("floor", "ball")
    assert names["more"].t[-1] == 0.4
    for command in ("check model.toml", "info model.toml", "run run.h5 --resume --until 0.45"):
        assert main(command.split()) == 0


def test_the_files_load(tmp_path):
    world, system, equations, scene = blocks("toml")
    (tmp_path / "stone.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n")
    for name, text in (("world", world), ("system", system), ("scene", scene)):
        (tmp_path / f"{name}.toml").write_text(text)
    found = ss.load(tmp_path / "world.toml")
    assert found.names == ("floor", "brick 1", "stone")
    assert list(found.inputs) == ["motor"]
    assert ss.load(tmp_path / "system.toml").interactions[0].law == ss.NewtonImpact(e=0.9)
    assert [one.name for one in ss.load(tmp_path / "scene.toml").systems] == ["pendulum"]
    wheel = """
[[world.bodies]]
name = "wheel"
shape = {kind = "sphere", radius = 0.1}

[[world.joints]]
name = "axle"
kind = "hinge"
first = "wheel"
point = [0.0, 0.0, 0.0]
axis = [0.0, 0.0, 1.0]
"""
    (tmp_path / "equations.toml").write_text(equations + wheel)
    motor = {"motor": lambda v: [-v[1], v[0]]}
    assert "coil" in ss.load(tmp_path / "equations.toml", functions=motor).members
