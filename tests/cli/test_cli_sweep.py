"""`stickslip sweep` and `sweep-report`: files, what is printed, and what is refused."""

import csv
import json
from pathlib import Path

import pytest

import stickslip as ss

OWN = Path(__file__).parents[1] / "sweeps" / "swept.py"
DROP = (f"{OWN}:drop", "--until", 0.2, "--h", 0.01, "--executor", "here", "--measure", f"{OWN}:lowest")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A file of a sweep of 3 x 2 runs with 2 repetitions."""
    out = tmp_path_factory.mktemp("sweep") / "s.h5"
    given = {"height": [1.0, 1.5, 2.0], "e": [0.0, 0.5]}
    ss.sweep(f"{OWN}:drop", given, f"{OWN}:lowest", executor="here", repeat=2, until=0.2, h=0.01, out=out)
    return out


def test_a_grid_is_run_printed_and_gone_on_with(run, tmp_path):
    out = tmp_path / "s.h5"
    given = ("sweep", *DROP, "--vary", "height=1:2:3", "--vary", "e=0,0.5", "--out", out)
    result = run(*given)
    assert (result.code, result.err) == (0, "")
    assert "6 of 6: 6 solved" in result.out
    assert f"stickslip sweep-report {out}" in result.out
    found = ss.read(out)
    assert found.parameters["height"].tolist() == [1.0, 1.0, 1.5, 1.5, 2.0, 2.0]
    assert found.head.command.startswith("stickslip sweep ")
    assert "--vary height=1:2:3 --vary e=0,0.5" in found.head.command
    before = out.read_bytes()
    assert run(*given).code == 0
    assert out.read_bytes() == before
    run("sweep", *DROP, "--vary", "height=1:2:4", "--vary", "e=0,0.5", "--out", out).refuses(
        "another sweep", "the parameter height is height=1,1.5,2 there"
    )


def test_samples_repetitions_and_fixed_parameters(run, tmp_path):
    out = tmp_path / "s.h5"
    result = run(
        "sweep", *DROP, "--vary", "height=uniform:1:2", "--samples", 4, "--method", "sobol", "--repeat", 2,
        "--seed", 3, "--e", 0.25, "--out", out, "--json",
    )  # fmt: skip
    assert result.code == 0
    said = json.loads(result.out)
    assert (said["runs"], said["outcomes"]) == (8, {"solved": 8})
    assert said["parameters"] == ["height", "seed"]


def test_points_of_a_file(run, tmp_path):
    points, out = tmp_path / "p.csv", tmp_path / "s.h5"
    points.write_text("height,e\n1,0.1\n2,0.9\n")
    assert run("sweep", *DROP, "--points", points, "--out", out).code == 0
    assert ss.read(out).parameters["e"].tolist() == [0.1, 0.9]
    points.write_text("height,e\n1\n")
    run("sweep", *DROP, "--points", points, "--out", tmp_path / "t.h5").refuses("row 2 has 1 cells")
    points.write_text("e,e\n0.1,0.2\n")
    run("sweep", *DROP, "--points", points, "--out", tmp_path / "t.h5").refuses("two columns are named e")
    none = tmp_path / "none.csv"
    run("sweep", *DROP, "--points", none, "--out", tmp_path / "t.h5").refuses("no such file or directory")
    points.write_bytes("\ufeffheight,e\n1,0.5\n".encode())  # as spreadsheets write it
    assert run("sweep", *DROP, "--points", points, "--out", tmp_path / "t.h5").code == 0


def test_failed_runs_are_told(run, tmp_path):
    out = tmp_path / "s.h5"
    given = ("bouncing-ball", "--vary", "e=0.5,2", "--h", 0.01, "--executor", "here", "--out", out)
    result = run("sweep", *given)
    assert result.code == 0
    assert result.err.startswith("stickslip: run 1: e is 2.0; it must be")
    assert "1 solved, 1 refused" in result.out


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("bouncing-ball", "--vary", "q=1:2:3"), ("no parameter 'q'",)),
        (("bouncing-ball", "--vary", "e"), ("is not of the form",)),
        (("bouncing-ball", "--vary", "e=1:2"), ("--vary 'e=1:2'", "neither first:last:count nor numbers")),
        (("bouncing-ball", "--vary", "e=0:1:0"), ("0 values; the number must lie in",)),
        (("bouncing-ball", "--vary", "e=unifrm:0:1"), ("distributions are uniform, log-uniform",)),
        (("bouncing-ball", "--vary", "e=0.1", "--e", "0.5"), ("e is given twice",)),
        (("bouncing-ball", "--vary", "e=0.1", "--heigth", "1"), ("did you mean 'height'",)),
        (("bouncing-ball", "--vary", "e=uniform:0:1"), ("samples is 0",)),
        (("rockfall", "--vary", "bodies=1.5,2"), ("whole numbers",)),
        (("bouncing-ball", "--vary", "e=0.1", "--repeat", "3"), ("no parameter seed",)),
        (("wall-problem", "--vary", "rows=1,2"), ("is a problem and does not run",)),
        (("bouncing-bal", "--vary", "e=0.1"), ("did you mean 'bouncing-ball'",)),
        (("bouncing-ball", "--vary", "e=0.1", "--measure", "speeed"), ("no measure 'speeed'",)),
        (("bouncing-ball", "--vary", "e=0.1", "--executor", "cloud"), ("unknown executor 'cloud'",)),
        (("bouncing-ball", "--vary", "e=0.1", "--timeout", "-1"), ("timeout must lie in",)),
        (("bouncing-ball", "--vary", "e=uniform:a:1", "--samples", "2"), ("takes a number, got 'a'",)),
        (("rockfall", "--vary", "bodies=integers:1.5:3", "--samples", "2"), ("takes a whole number",)),
        (("bouncing-ball", "--vary", "e=0.1", "--solver", "nsgz"), ("unknown solver 'nsgz'",)),
        (("bouncing-ball", "--vary", "e=0.1", "--scheme", "moreau"), ("unknown scheme 'moreau'",)),
        (("bouncing-ball", "--vary", "e=0.1", "--until", "nan"), ("until is nan",)),
        (("bouncing-ball", "--vary", "e=0.1", "--h", "0"), ("h is 0.0",)),
        (("cart.py", "--vary", "e=0.1"), ("cart.py is a file; name a function of it, cart.py:function",)),
        (("nowhere.py:make", "--vary", "e=0.1"), ("the file nowhere.py does not exist",)),
    ],
)
def test_what_is_wrong_is_named(run, tmp_path, given, words):
    run("sweep", *given, "--out", tmp_path / "s.h5").refuses(*words)
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_refused(run, tmp_path):
    run("sweep", *DROP, "--vary", "e=0", "--out", tmp_path / "s.txt").refuses("must end in .hdf5 or .h5")
    run("sweep", *DROP, "--vary", "e=0", "--out", tmp_path / "no" / "s.h5").refuses("there is no directory")


def test_a_report_is_one_offline_page(run, done, tmp_path):
    out = tmp_path / "s.html"
    result = run("sweep-report", done, "--out", out)
    assert (result.code, result.out) == (0, f"wrote {out}\n")
    page = out.read_text()
    for word in ("Response curves", "Heat maps", "Histograms", "Exceedance curves", "All runs", "lowest"):
        assert word in page
    for word in ("http://", "https://", "<image", "src="):
        assert word not in page.replace("http://www.w3.org", "")
    again = tmp_path / "again.html"
    run("sweep-report", done, "--out", again)
    assert again.read_bytes() == out.read_bytes()


def test_info_describes_a_sweep(run, done):
    result = run("info", done)
    assert result.code == 0
    assert "kind" in result.out
    assert "sweep" in result.out
    found = json.loads(run("info", done, "--json").out)
    assert found["kind"] == "sweep"
    assert found["runs"] == found["planned"]


def test_a_report_as_text_and_as_a_table(run, done, tmp_path):
    assert run("sweep-report", done, "--out", tmp_path / "s.md").code == 0
    assert (tmp_path / "s.md").read_text().startswith("# Sweep of drop: 12 runs")
    assert run("sweep-report", done, "--out", tmp_path / "s.csv").code == 0
    rows = list(csv.DictReader((tmp_path / "s.csv").read_text().splitlines()))
    assert len(rows) == 12
    assert [float(row["lowest"]) for row in rows] == ss.read(done).measures["lowest"].tolist()


def test_figures_of_a_report_for_papers(run, done, tmp_path):
    folders = tmp_path / "data", tmp_path / "figures"
    given = "--out", tmp_path / "s.tex", "--data", folders[0], "--figures", folders[1]
    assert run("sweep-report", done, *given).code == 0
    assert r"\input{s-figures/figure-1.pgf}" in (tmp_path / "s.tex").read_text()
    data, figures = (sorted(path.name for path in folder.iterdir()) for folder in folders)
    names = [name.removesuffix(".csv") for name in data]
    assert names
    assert figures == sorted(f"{name}.{ending}" for name in names for ending in ("pdf", "pgf"))


def test_what_a_report_refuses(run, done, tmp_path):
    other = tmp_path / "other.h5"
    other.write_text("no")
    run("sweep-report", other, "--out", tmp_path / "s.html").refuses("this is not the file of a sweep")
    run("sweep-report", tmp_path / "none.h5", "--out", tmp_path / "s.html").refuses("no such file")
    run("sweep-report", done, "--out", tmp_path / "s.gif").refuses(".html")
    run("sweep-report", done, "--out", tmp_path / "s.html", "--measures", "lowst").refuses(
        "no column 'lowst'"
    )
    run("sweep-report", done, "--out", done).refuses(".html")
