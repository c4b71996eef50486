"""Files of models on the command line: check, run, view, info; runs that go on by their files alone."""

import json

import numpy as np
import pytest

import stickslip as ss
from stickslip import scenes


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.toml"
    ss.save(scenes.make("stack", bodies=2).system, path)
    return path


@pytest.fixture
def equations(tmp_path):
    path = tmp_path / "equations.json"
    ss.save(scenes.make("rlc-diode").system, path)
    return path


def test_check_sums_up_what_is_fine(run, model, equations):
    result = run("check", model, equations)
    assert (result.code, result.err) == (0, "")
    assert f"{model}: fine\nWorld of 3 bodies: 2 dynamic, 1 fixed" in result.out
    assert "NonsmoothSystem(systems: a, b, c, d" in result.out


def test_check_tells_all_faults_by_place(run, model):
    text = model.read_text().replace("kind = ", "knd = ").replace("position = [", "position = [1.0, ")
    model.write_text(text)
    result = run("check", model)
    assert result.code == 2
    lines = result.out.splitlines()
    assert all(line.startswith(f"{model}: line ") for line in lines)
    assert any("bodies[1].position: has shape (4,), expected shape (3,)" in line for line in lines)
    result.says(f"{len(lines)} faults in 1 of 1 files")
    report = json.loads(run("check", model, "--json").out)
    assert report["fine"] is False
    assert len(report["faults"]) == len(lines)
    assert report["faults"][0]["line"] > 0


def test_check_of_what_is_no_file(run, tmp_path):
    run("check").refuses("FILE is missing")
    result = run("check", tmp_path / "gone.toml")
    assert result.code == 2
    assert "no such file" in result.out
    result = run("check", tmp_path)
    assert result.code == 2


def test_the_schema_is_printed(run):
    result = run("check", "--schema")
    assert result.code == 0
    assert json.loads(result.out)["oneOf"]


def test_run_of_a_model_and_on_by_its_file(run, model, tmp_path):
    out, plot = tmp_path / "run.h5", tmp_path / "run.svg"
    result = run("run", model, "--until", 0.01, "--h", 1e-3, "--out", out, "--plot", plot)
    assert (result.code, result.err) == (0, "")
    assert plot.exists()
    assert len(ss.read_trajectory(out)) == 11
    assert run("run", out, "--resume", "--until", 0.02).code == 0
    whole = ss.simulate(ss.load(model), until=0.02, h=1e-3)
    assert np.array_equal(ss.read_trajectory(out).q, whole.q)
    run("run", out, "--resume").refuses("the run is complete, t = 0.02 s", "--until")
    again = tmp_path / "again.h5"
    assert run("run", out, "--out", again).code == 0
    assert np.array_equal(ss.read_trajectory(again).q, whole.q)


def test_a_run_that_was_stopped_goes_on_to_its_end(run, model, tmp_path):
    def stop(record):
        if record.t > 0.005:
            raise RuntimeError("stopped")

    out = tmp_path / "run.h5"
    with pytest.raises(RuntimeError):
        ss.simulate(ss.load(model), until=0.01, h=1e-3, out=out, watch=stop)
    assert run("run", out, "--resume").code == 0
    found = ss.read_trajectory(out)
    assert found.complete
    assert found.t[-1] == 0.01


def test_run_of_equations(run, equations, tmp_path):
    result = run("run", equations, "--until", 1e-5, "--h", 1e-6, "--plot", tmp_path / "x.png")
    assert (result.code, result.err) == (0, "")
    assert "10, 10 recorded" in result.out


def test_run_refuses(run, model, tmp_path):
    run("run", model, "--h", 1e-3).refuses("--until is missing")
    run("run", model, "--until", 1).refuses("--h is missing")
    run("run", model, "--until", 1, "--h", 1e-3, "--mu", 3).refuses("--mu")
    run("run", model, "--resume").refuses("--resume needs the file")
    run("run", tmp_path / "gone.toml", "--until", 1, "--h", 1).refuses("gone.toml", "no such file")
    model.write_text(model.read_text().replace("version = 1", "version = 7"))
    run("run", model, "--until", 1, "--h", 1).refuses("line 1, version: must be 1, is 7")


def test_a_run_of_functions_is_refused_by_their_names_unless_they_are_of_a_scene(run, tmp_path):
    path = tmp_path / "run.h5"
    ss.simulate(scenes.make("moving-wall").system, until=0.01, h=1e-3, out=path)
    assert run("run", path, "--resume", "--until", 0.02).code == 0
    path.unlink()
    ss.simulate(scenes.function("moving-wall")().system, until=0.01, h=1e-3, out=path)
    run("run", path, "--resume", "--until", 1).refuses("does not contain its model", "F_int is the function")


def test_info(run, model, equations):
    result = run("info", model)
    assert result.code == 0
    assert "model of a world" in result.out
    report = json.loads(run("info", equations, "--json").out)
    assert report["kind"] == "system"
    assert list(report["systems"]) == ["a", "b", "c", "d"]
    run("solve", model).refuses("model of stickslip", "stickslip run model.toml")


def test_view(run, model, equations, tmp_path):
    still, page = tmp_path / "model.png", tmp_path / "model.html"
    assert run("view", model, "--still", still, "--export", page).code == 0
    assert still.stat().st_size > 1000
    assert page.stat().st_size > 1000
    run("view", equations).refuses("written equations")
    run("view", model, "--follow").refuses("a model stands still")
