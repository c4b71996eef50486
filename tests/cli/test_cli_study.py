"""`stickslip study`: the list, one study in short, its files, and what it refuses."""

import csv
import json
import sys
from types import ModuleType

import numpy as np
import pytest

from stickslip import studies
from stickslip.cli.study import slug
from stickslip.exhibits import Column, Curve, Figure, Panel, Table
from stickslip.studies.study import Study


@pytest.fixture
def tiny(monkeypatch):
    """A study of the tests, named tiny; the list of how it was called."""
    module, calls = ModuleType("tiny_study"), []

    def run(quick, progress):
        calls.append(quick)
        if progress is not None:
            progress("half", 1, 2)
        rows = [("one", np.float64(9.80665000001), 3), ("two", None, float("nan"))]
        table = Table("Table 1: forces", ("cell", Column("N [N]", ".10g"), "error"), rows, "a note")
        x = np.array([1.0, 2.0])
        figure = Figure("a figure", [Panel("p", "x", "y", [Curve("c", x, x)])])
        return Study("tiny", [table, table], {"fig": figure}, {"values": [np.float64(1.0), float("inf")]})

    module.NAME, module.SUMMARY, module.run = "tiny", "a study of the tests", run
    monkeypatch.setitem(sys.modules, "tiny_study", module)
    monkeypatch.setitem(studies.STUDIES, "tiny", "tiny_study")
    return calls


def test_the_list(run, tiny):
    result = run("study")
    assert (result.code, result.err) == (0, "")
    for name in studies.names():
        assert name in result.out
        assert studies.load(name).SUMMARY in result.out
    assert tiny == []


def test_tables_are_printed(run, tiny):
    result = run("study", "tiny", "--quick")
    assert (result.code, result.err) == (0, "")
    assert tiny == [True]
    assert result.out.count("Table 1: forces") == 2
    for text in ("9.80665", "not run", "–", "a note"):
        assert text in result.out
    assert "wrote" not in result.out


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "pgf"])
def test_files(run, tiny, tmp_path, ending):
    out = tmp_path / "deep" / "out"
    result = run("study", "tiny", "--out", out, "--plot", ending)
    assert (result.code, result.err) == (0, "")
    assert tiny == [False]
    names = {
        "tiny-table-1-forces.csv",
        "tiny-table-1-forces-2.csv",
        f"tiny-fig.{ending}",
        "tiny-fig.csv",
        "tiny.json",
    }
    assert {path.name for path in out.iterdir()} == names
    assert all(str(out / name) in result.out for name in names)
    with (out / "tiny-table-1-forces.csv").open(newline="") as file:
        head, one, two = csv.reader(file)
    assert head == ["cell", "N [N]", "error"]
    assert float(one[1]) == 9.80665000001
    assert two[1] == ""
    held = json.loads((out / "tiny.json").read_text())
    assert held["tables"][0]["rows"][1] == ["two", None, None]
    assert held["data"]["values"] == [1.0, None]


def test_what_is_refused(run, tiny, tmp_path):
    run("study", "sliding").refuses("sliding", "rolling", "tiny")
    (tmp_path / "file").touch()
    run("study", "tiny", "--out", tmp_path / "file").refuses(str(tmp_path / "file"))
    run("study", "tiny", "--plot", "gif").refuses("gif", "png")
    assert tiny == []


def test_slugs():
    assert slug("Table 2.2: the four algorithms, at 1e-12") == "table-2.2-the-four-algorithms-at-1e-12"
    assert slug("…") == "table"
    assert len(slug("word " * 40)) <= 60


def test_rolling_in_short(run, tmp_path):
    result = run("study", "rolling", "--quick", "--out", tmp_path)
    assert (result.code, result.err) == (0, "")
    parts = ("Table 2.1", "Table 2.2", "Table 2.3", "Table 2.4", "2.5 to 2.8", "LU against", "The jump")
    for text in (*parts, "8358", "3808", "4801", "4795"):
        assert text in result.out
    held = json.loads((tmp_path / "rolling.json").read_text())
    assert held["study"] == "rolling"
    totals = next(table for table in held["tables"] if "Table 2.2" in table["title"])
    assert [row[0] for row in totals["rows"]] == ["simple", "mehrotra", "nt-qp", "nt-f"]
    problems = len({(r["problem"]) for r in held["data"]["runs"]})
    assert all(row[1] + row[2] == problems for row in totals["rows"])
    for figure in ("2.1", "2.2", "2.3", "2.4", "2.5-2.8", "2.5-2.8-judge", "2.9-2.11"):
        assert (tmp_path / f"rolling-fig-{figure}.png").read_bytes().startswith(b"\x89PNG")


def test_options_are_for_studies_that_take_them(run, tiny, tmp_path):
    run("study", "tiny", "--data", tmp_path / "x.npz").refuses("tiny takes no --data", "tosses")
    run("study", "rolling", "--train", "3").refuses("rolling takes no --train", "tosses")
    run("study", "tosses", "--trian", "3").refuses("--trian")
    run("study", "tosses", "--train", "few").refuses("few", "--train")
    assert tiny == []


def test_tosses_that_cannot_be_used(run, tmp_path):
    run("study", "tosses", "--data", tmp_path / "none.npz").refuses(
        str(tmp_path / "none.npz"), "no such file"
    )
    run("study", "tosses", "--data", tmp_path).refuses(str(tmp_path), "directory")
    (tmp_path / "text.npz").write_text("rows")
    run("study", "tosses", "--data", tmp_path / "text.npz").refuses("archive of arrays")
    np.savez(tmp_path / "pickled.npz", rows=np.array([{}], dtype=object), start=np.array([0, 1]))
    run("study", "tosses", "--data", tmp_path / "pickled.npz").refuses("pickle")
    np.savez(tmp_path / "few.npz", rows=np.tile(np.eye(1, 13, 3), (9, 1)), start=np.array([0, 9]))
    run("study", "tosses", "--data", tmp_path / "few.npz").refuses("0 different tosses", "64")
    run("study", "tosses", "--predict", tmp_path / "few.npz").refuses("needs data", "rows")
    run("study", "tosses", "--quick", "--train", "1").refuses("train is 1")


def test_tosses_in_short(run, tmp_path):
    result = run("study", "tosses", "--quick", "--out", tmp_path)
    assert (result.code, result.err) == (0, "")
    for text in ("2 tosses, predicted", "stickslip", "MuJoCo", "restitution", "Made with known numbers"):
        assert text in result.out
    assert (tmp_path / "tosses-errors.png").read_bytes().startswith(b"\x89PNG")


def test_a_full_disk_loses_no_table(run, tiny, tmp_path, full_disk):
    full_disk()
    result = run("study", "tiny", "--out", tmp_path)
    assert result.code == 2
    result.says(str(tmp_path), "no space left on device")
    assert result.out.count("Table 1: forces") == 2
    assert list(tmp_path.iterdir()) == []
