"""`stickslip info`: what it says of every kind of file, for people and for programs."""

import json
from dataclasses import asdict

import numpy as np

from stickslip import files
from stickslip.cli import info as facts
from stickslip.problem.box import lcp, mlcp, relay
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.fingerprint import fingerprint
from stickslip.problem.residuals import judge
from stickslip.problem.sets import coulomb, friction, nonnegative, torsional


def test_a_local_problem(run, local_file):
    result = run("info", local_file)
    assert result.code == 0
    assert result.err == ""
    problem = files.read(local_file)
    for text in (
        str(local_file),
        "5 coulomb3d",
        "15 components",
        "W ",
        "0.5",
        "velocity",
        fingerprint(problem),
    ):
        assert text in result.out
    assert "\x1b" not in result.out


def test_json_says_the_same(run, local_file):
    result = run("info", local_file, "--json")
    report = json.loads(result.out)
    assert report["file"] == str(local_file)
    assert report["kind"] == "contact"
    assert report["blocks"] == {"coulomb3d": 5}
    assert report["contacts"] == 5
    assert report["size"] == 15
    assert report["friction"] == {"mu": [0.5, 0.5]}
    assert 0.0 <= report["symmetry_defect"] < 1e-14
    assert report["solution"] is None
    assert report["guesses"] == 0
    assert report["fingerprint"] == fingerprint(files.read(local_file))


def test_stored_answers_are_judged(run, record_file):
    report = json.loads(run("info", record_file, "--json").out)
    assert report["info"]["title"] == "five [bold]contacts[/bold]"
    assert report["guesses"] == 2
    record = files.read_record(record_file)
    assert report["solution"] == asdict(judge(record.problem, record.solution.r))
    assert report["solution"]["natural"] > 1e-2
    shown = run("info", record_file).out
    assert f"natural {report['solution']['natural']:.2e}" in shown
    assert "five [bold]contacts[/bold]" in shown
    assert "\x1b" not in shown


def test_rolling_and_global(run, rolling_file, global_file):
    reports = json.loads(run("info", rolling_file, global_file, "--json").out)
    assert reports[0]["friction"] == {"mu": [0.3, 0.5], "mu_roll": [0.01, 0.02]}
    assert reports[1]["kind"] == "global"
    assert reports[1]["velocities"] == 6
    assert reports[1]["joint_rows"] == 0
    assert set(reports[1]["storage"]) == {"M", "H"}
    shown = run("info", rolling_file, global_file).out
    assert "0.01 to 0.02 m" in shown
    assert "6 velocities" in shown


def test_box_problems(run, tmp_path):
    for name, problem in (
        ("a_lcp.dat", lcp(np.eye(3), -np.ones(3))),
        ("b_mlcp.dat", mlcp(np.eye(2), [1, -1], [True, False])),
    ):
        files.write(tmp_path / name, problem)
        report = json.loads(run("info", tmp_path / name, "--json").out)
        assert report["kind"] == problem.kind
        assert report["size"] == problem.size
        assert f"{problem.size} unknowns" in run("info", tmp_path / name).out


def test_existence_on_request(run, local_file, global_file, tmp_path):
    assert "a solution exists" not in run("info", local_file).out
    assert "a solution exists: a motion opens every contact" in run("info", local_file, "--existence").out
    reports = json.loads(run("info", local_file, global_file, "--existence", "--json").out)
    for report in reports:
        assert report["existence"]["holds"] is True
        assert report["existence"]["margin"] > 1e-6
        assert report["existence"]["self_stress"] == []
    H, K = np.array([[1.0, 0, 0, -1.0, 0, 0]]), coulomb([0.3, 0.3])
    files.write(tmp_path / "walls.hdf5", GlobalProblem(np.eye(1), [0.0], H, [-1.0, 0, 0, -1.0, 0, 0], K))
    assert "contacts 0, 1 carry a self-stress" in run("info", tmp_path / "walls.hdf5", "--existence").out
    files.write(tmp_path / "a_lcp.dat", lcp(np.eye(3), -np.ones(3)))
    report = json.loads(run("info", tmp_path / "a_lcp.dat", "--existence", "--json").out)
    assert report["existence"]["holds"] is None


def test_bad_files_do_not_stop_the_others(run, local_file, tmp_path):
    result = run("info", tmp_path / "missing.hdf5", local_file)
    assert result.code == 2
    result.says("missing.hdf5", "no such file")
    assert "5 coulomb3d" in result.out
    reports = json.loads(run("info", tmp_path / "missing.hdf5", local_file, "--json").out)
    assert "no such file" in reports[0]["error"]
    assert reports[1]["contacts"] == 5


def test_facts_of_problems_that_files_do_not_hold():
    K = (
        torsional([0.5, 0.7], 0.01)
        + nonnegative(1)
        + coulomb([0.1], 2)
        + friction((2, 2, 1), [[0.2, 0.3, 0.4]])
    )
    assert facts.friction(K) == {
        "mu": [0.1, 0.7],
        "mu_spin": [0.01, 0.01],
        "mu_roll": [0.3, 0.3],
        "mu_2": [0.4, 0.4],
    }
    W = np.eye(3)
    W[0, 1] = 0.5
    assert facts.symmetry_defect(ContactProblem(W, np.ones(3), coulomb([0.5]))) == 0.5
    empty = ContactProblem(np.zeros((0, 0)), np.zeros(0), coulomb([]))
    assert facts.symmetry_defect(empty) == 0.0
    assert facts.friction(empty.K) == {}
    assert facts.storage(relay(np.eye(2), [1.0, 2.0])) == {"A": "dense"}


def test_files_of_others_are_said_to_be_what_they_are(run, tmp_path):
    robot = tmp_path / "robot.urdf"
    robot.write_text('<robot name="arm"><link name="base"/></robot>')
    result = run("info", robot)
    assert (result.code, result.err) == (0, "")
    for text in ("URDF robot description", "arm", "1 links, 0 joints", "the model has no degrees of freedom"):
        assert text in result.out
    report = json.loads(run("info", robot, "--json").out)
    assert (report["kind"], report["name"], report["counts"]["links"]) == ("other", "arm", 1)


def test_what_is_nothing_is_refused_in_one_line(run, tmp_path):
    (tmp_path / "empty.h5").touch()
    (tmp_path / "junk.bin").write_bytes(b"\0\1\2")
    (tmp_path / "words.txt").write_text("some words")
    run("info", tmp_path / "empty.h5").refuses("empty.h5: the file: expected a problem")
    run("info", tmp_path / "junk.bin").refuses("junk.bin: the file: expected a problem")
    run("info", tmp_path / "words.txt").refuses("words.txt")
    run("info", tmp_path).refuses("is a directory; give the files in it")
    (tmp_path / "collection.json").write_text("{}")
    run("info", tmp_path).refuses("bench run --problems")
