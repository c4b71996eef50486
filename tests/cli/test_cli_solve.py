"""`stickslip solve`: certificates, exit codes, JSON, files written, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from stickslip import files
from stickslip.problem.box import lcp
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.fingerprint import fingerprint
from stickslip.problem.residuals import judge
from stickslip.problem.sets import coulomb, nonnegative
from stickslip.solvers import registry

SCHEMA = {
    "file": str, "fingerprint": str, "contacts": int, "solver": str, "options": dict, "status": str,
    "ok": bool, "reason": str, "residuals": dict, "tolerance": float, "iterations": int, "seconds": float,
    "compile_seconds": float, "states": dict, "out": type(None), "tried": list, "operations": float,
    "selection": str, "unique": type(None),
}  # fmt: skip
RESIDUALS = {
    "natural",
    "natural_scaled",
    "impulse",
    "velocity",
    "work",
    "worst",
    "equilibrium",
    "joints",
    "approach",
    "local",
}


def test_one_file_prints_its_certificate(run, local_file):
    result = run("solve", local_file)
    assert result.code == 0
    assert result.err == ""
    assert "SOLVED" in result.out
    assert "natural_scaled" in result.out


def test_the_least_of_many_impulses_is_selected(run, tmp_path):
    path = tmp_path / "twice.hdf5"
    files.write(path, ContactProblem(np.ones((2, 2)), [-1.0, -1.0], nonnegative(2)))
    result = run("solve", path, "--select", "least")
    assert result.code == 0
    assert "of least norm" in result.out
    assert "unique at 0 of 2" in result.out
    data = json.loads(run("solve", path, "--select", "least", "--json").out)
    assert (data["selection"], data["unique"]) == ("least", 0)
    assert run("solve", path, "--select", "leats").code == 2
    box = tmp_path / "box.hdf5"
    files.write(box, lcp([[1.0]], [-1.0]))
    run("solve", box, "--select", "least").refuses("contact and global problems", "BoxProblem")


def test_several_files_give_one_table(run, local_file, rolling_file, global_file):
    result = run("solve", local_file, rolling_file, global_file)
    assert result.code == 0
    for path in (local_file, rolling_file, global_file):
        assert result.out.count(str(path)) == 1
    assert "3 of 3 solved" in result.out


def test_json_is_the_whole_of_stdout(run, local_file):
    result = run("solve", local_file, "--json", "--tolerance", "1e-9")
    assert result.code == 0
    report = json.loads(result.out, parse_constant=pytest.fail)
    assert {name: type(value) for name, value in report.items()} == SCHEMA
    assert set(report["residuals"]) == RESIDUALS
    assert report["tolerance"] == report["options"]["tolerance"] == 1e-9
    assert report["residuals"]["natural"] <= 1e-9
    assert report["tried"][0]["solver"] == "nsgs"
    assert report["ok"]
    assert report["status"] == "SOLVED"
    assert report["fingerprint"] == fingerprint(files.read(local_file))
    assert sum(report["states"].values()) == report["contacts"] == 5
    assert set(report["options"]) == {spec.name for spec in registry.entry("auto").options}


def test_json_of_several_files_is_a_list_with_errors_in_it(run, local_file, tmp_path):
    result = run("solve", local_file, tmp_path / "missing.hdf5", "--json")
    assert result.code == 2
    result.says("missing.hdf5")
    good, bad = json.loads(result.out)
    assert good["ok"]
    assert set(bad) == {"file", "error"}


def test_a_missed_tolerance_is_exit_code_1_and_the_iterate_is_kept(run, local_file, tmp_path):
    out = tmp_path / "best.hdf5"
    limits = ("--solver", "nsgs", "--tolerance", "1e-13", "--option", "max_iterations=1")
    result = run("solve", local_file, *limits, "--out", out)
    assert result.code == 1
    result.says(str(local_file), "max iterations", "best iterate", str(out))
    assert "MAX_ITERATIONS" in result.out
    record = files.read_record(out)
    assert 1e-13 < judge(record.problem, record.solution.r).natural < 1.0
    assert run("solve", local_file, local_file, *limits).code == 1


def test_out_holds_problem_and_solution(run, record_file, global_file, tmp_path):
    for source in (record_file, global_file):
        out = tmp_path / "out.hdf5"
        assert run("solve", source, "--out", out).code == 0
        before, after = files.read_record(source), files.read_record(out)
        assert fingerprint(after.problem) == fingerprint(before.problem)
        assert after.info == before.info
        assert len(after.guesses) == len(before.guesses)
        stored = after.solution
        assert judge(after.problem, stored.r, stored.v, stored.lam).solved(1e-8)


def test_out_may_be_a_directory(run, local_file, rolling_file, tmp_path):
    (tmp_path / "solved").mkdir()
    result = run("solve", local_file, rolling_file, "--out", tmp_path / "solved", "--json")
    assert result.code == 0
    for path, report in zip((local_file, rolling_file), json.loads(result.out), strict=True):
        assert report["out"] == str(tmp_path / "solved" / path.name)
        record = files.read_record(report["out"])
        assert judge(record.problem, record.solution.r).solved(1e-8)


def test_a_stored_guess_is_used(run, local_file, record_file, tmp_path):
    run("solve", local_file, "--guess", "stored").refuses("contains neither")
    out = tmp_path / "solved.hdf5"
    cold = json.loads(run("solve", record_file, "--out", out, "--json").out)
    record = files.read_record(out)
    files.write(out, files.ProblemRecord(record.problem, {}, record.solution, ()))
    warm = json.loads(run("solve", out, "--guess", "stored", "--json").out)
    assert warm["ok"]
    assert warm["iterations"] < cold["iterations"]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_plot(run, local_file, rolling_file, tmp_path, ending):
    plot = tmp_path / f"convergence.{ending}"
    result = run("solve", local_file, rolling_file, "--plot", plot)
    assert result.code == 0
    assert f"wrote {plot}" in result.out
    assert plot.read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--solver", "magic"], ("magic", "known: ", "nsgs")),
        (["--option", "speed=3"], ("speed", "it has: tolerance, max_iterations")),
        (["--option", "max_iterations=many"], ("max_iterations", "a whole number in [1, inf)", "many")),
        (["--option", "max_iterations=0"], ("max_iterations", "[1, inf)", "0")),
        (["--option", "max_iterations"], ("name=value",)),
        (["--tolerance", "2"], ("tolerance", "(0, 1)")),
        (["--tolerance", "nan"], ("tolerance", "(0, 1)")),
        (["--tolerance", "1e-3", "--option", "tolerance=1e-4"], ("tolerance", "twice")),
        (["--out", "solution.txt"], ("solution.txt", ".hdf5")),
        (["--out", "nowhere/x.hdf5"], ("nowhere",)),
        (["--plot", "x.jpg"], ("x.jpg", ".png", ".svg")),
        (["--plot", "nowhere/x.png"], ("nowhere",)),
        (["--kind", "marbles"], ("marbles", "friction")),
    ],
)
def test_refusals(arguments, words, run, local_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("solve", local_file, *arguments).refuses(*words)
    assert list(tmp_path.iterdir()) == [local_file]


def test_places_that_cannot_be_written(run, local_file, rolling_file, tmp_path):
    run("solve", local_file, "--out", local_file).refuses("overwrite")
    link = tmp_path / "link.hdf5"
    link.symlink_to(local_file)
    run("solve", local_file, "--out", link).refuses("overwrite")
    run("solve", local_file, rolling_file, "--out", tmp_path / "x.hdf5").refuses("directory")
    run("solve", local_file, "--out", local_file / "x.hdf5").refuses("no directory")
    (tmp_path / "directory.hdf5").mkdir()
    run("solve", local_file, "--plot", tmp_path).refuses(str(tmp_path))
    twin = tmp_path / "twin" / "local.hdf5"
    twin.parent.mkdir()
    twin.write_bytes(local_file.read_bytes())
    run("solve", local_file, twin, "--out", tmp_path / "directory.hdf5").refuses("both")


def test_files_that_cannot_be_read(run, local_file, tmp_path):
    run("solve", tmp_path / "missing.hdf5").refuses("missing.hdf5", "no such file")
    run("solve", tmp_path).refuses(str(tmp_path), "directory")
    cut = tmp_path / "cut.hdf5"
    cut.write_bytes(local_file.read_bytes()[:600])
    run("solve", cut).refuses("cut.hdf5")
    text = tmp_path / "cut.dat"
    files.write(text, files.read(local_file))
    text.write_bytes(text.read_bytes()[:200])
    run("solve", text).refuses("cut.dat")
    (tmp_path / "empty.hdf5").touch()
    run("solve", tmp_path / "empty.hdf5").refuses("empty.hdf5")


@pytest.mark.parametrize("verb", [["solve"], ["plot", "energy"]])
def test_a_file_of_another_kind_is_named_by_every_verb(verb, run, tmp_path):
    """Not read as a problem or trajectory that went wrong at its first word."""
    robot = tmp_path / "robot.urdf"
    robot.write_text('<robot name="r"><link name="base"/></robot>')
    run(verb[0], robot, *verb[1:]).refuses("robot.urdf", "URDF robot description", "stickslip run")


def test_a_solver_that_does_not_take_the_blocks(run, local_file, global_file, monkeypatch):
    picky = replace(registry.entry("nsgs"), accepts=frozenset({"nonnegative"}))
    monkeypatch.setitem(registry._TABLE, "nsgs", picky)
    for path in (local_file, global_file):
        run("solve", path, "--solver", "nsgs").refuses(
            str(path), "nsgs does not take coulomb3d blocks", "solvers that do: "
        )


def test_a_solver_whose_package_is_not_installed(run, local_file, monkeypatch):
    find = registry.find_spec
    monkeypatch.setattr(registry, "find_spec", lambda name: None if name == "scs" else find(name))
    run("solve", local_file, "--solver", "scs").refuses(
        "scs needs the package scs, which is not installed", 'pip install "stickslip[scs]"'
    )


def test_a_pyramid_is_not_the_law(run, local_file):
    result = run("solve", local_file, "--solver", "clarabel", "--option", "facets=8")
    assert result.code == 1
    assert "clarabel: APPROXIMATE (pyramids of 8 facets: their law is solved to" in result.out
    result.says("approximate", "pyramids of 8 facets")


def test_rolling_contacts_are_refused_by_the_fischer_burmeister_newton(run, rolling_file):
    run("solve", rolling_file, "--solver", "newton-fb").refuses(
        str(rolling_file), "newton-fb does not take rolling blocks", "auto"
    )


def test_a_form_that_the_problem_does_not_have(run, local_file):
    run("solve", local_file, "--solver", "nsgs", "--option", "form=bodies").refuses(
        str(local_file), "needs a matrix-free problem"
    )


def test_a_problem_without_any_answer(run, tmp_path):
    M, G = np.eye(3), np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    problem = GlobalProblem(M, np.zeros(3), np.eye(3), np.zeros(3), coulomb([0.5]), G, [0.0, 1.0])
    files.write(tmp_path / "torn.hdf5", problem)
    run("solve", tmp_path / "torn.hdf5").refuses("torn.hdf5", "contradict")


def test_an_answer_that_cannot_be_written_is_still_printed(run, local_file, tmp_path, monkeypatch):
    def fails(path, record):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("stickslip.files.write", fails)
    result = run("solve", local_file, "--out", tmp_path / "x.hdf5")
    assert result.code == 2
    assert "SOLVED" in result.out
    result.says("x.hdf5", "no space left")


def test_in_a_process_of_its_own(spawn, local_file, tmp_path):
    result = spawn("solve", local_file, "--out", tmp_path / "x.hdf5")
    assert (result.code, result.err) == (0, "")
    assert "\x1b" not in result.out
    limits = ("--solver", "nsgs", "--tolerance", "1e-14", "--option", "max_iterations=1")
    result = spawn("solve", local_file, local_file, "--json", *limits)
    assert result.code == 1
    assert not any(report["ok"] for report in json.loads(result.out))
    assert "Traceback" not in result.err
    assert all(line.startswith("stickslip: ") for line in result.err.splitlines())


def test_the_same_command_gives_the_same_answer(run, local_file, tmp_path):
    answers = []
    for name in ("a.hdf5", "b.hdf5"):
        run("solve", local_file, "--out", tmp_path / name)
        answers.append(files.read_record(tmp_path / name).solution.r)
    assert np.array_equal(*answers)


def test_names_with_brackets_are_names(run, local_file, tmp_path):
    odd = tmp_path / "[1].hdf5"
    odd.write_bytes(local_file.read_bytes())
    assert run("solve", odd).code == 0
    run("info", tmp_path / "[]").refuses("no such file")
    run("solve", "[]").refuses("no such file")


def test_a_name_that_is_no_text_is_plotted_all_the_same(run, local_file, tmp_path):
    odd = tmp_path / "bad\udcff.hdf5"
    odd.write_bytes(local_file.read_bytes())
    assert run("solve", odd, "--plot", tmp_path / "x.svg").code == 0


def test_an_empty_out_is_refused(run, local_file):
    run("solve", local_file, "--out", "").refuses("--out is empty")


def test_out_through_a_link_writes_what_it_points_to(run, local_file, tmp_path):
    (tmp_path / "link.hdf5").symlink_to(tmp_path / "there.hdf5")
    assert run("solve", local_file, "--out", tmp_path / "link.hdf5").code == 0
    assert (tmp_path / "link.hdf5").is_symlink()
    assert files.read_record(tmp_path / "there.hdf5").solution is not None


def test_the_number_of_threads(run, local_file):
    one, two = (json.loads(run("solve", local_file, "--threads", n, "--json").out) for n in (1, 2))
    assert one["residuals"] == two["residuals"]
    for verb, name in (("solve", local_file), ("run", "bouncing-ball")):
        run(verb, name, "--threads", "0").refuses("threads is 0; expected a whole number from 1 to 1024")
