"""`stickslip bench report`: what is written where, what is said, and what is refused."""

import csv
import errno
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from bench.campaigns import campaign

from stickslip.bench.campaigns.results_file import write_results

SAID = {
    ("stack/a", "nsgs"): 0.1 + 0.2,
    ("stack/a", "auto"): 0.5,
    ("stack/a", "ipm:variant=simple"): {"seconds": 2.0, "reason": 'with, commas and "quotes"\nand lines'},
    ("chute/<b>", "nsgs"): "timeout",
    ("chute/<b>", "auto"): 0.25,
    ("chute/<b>", "ipm:variant=simple"): "crashed",
}
MADE = campaign({"stack/a": 4, "chute/<b>": 9}, SAID)


@pytest.fixture
def results(tmp_path):
    path = tmp_path / "results.h5"
    write_results(path, MADE)
    return path


def other_machine(tmp_path):
    """The same problems run by another solver on another machine."""
    place = replace(MADE.conditions.environment, processor="Another processor")
    made = campaign({"stack/a": 4, "chute/<b>": 9}, {("stack/a", "prox"): 1.0})
    path = tmp_path / "other.h5"
    write_results(path, replace(made, conditions=replace(made.conditions, environment=place)))
    return path


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_the_losses_are_those_of_ones_own_solver(run, results, tmp_path):
    def told(path, *more):
        lines = run("bench", "report", path, "--out", tmp_path / "report.md", *more).out.splitlines()
        return {line.split()[3] for line in lines if line.startswith("Losses: at ")}

    own, peer, other = (MADE.with_runs(tuple(
        replace(one, source="2991bb24a14a", solver=name) if one.solver == "nsgs" else one for one in MADE.runs
    )) for name in ("mine", "siconos-nsgs", "clarabel"))  # fmt: skip
    write_results(tmp_path / "own.h5", own)
    write_results(tmp_path / "peer.h5", peer)
    write_results(tmp_path / "other.h5", other)
    assert told(results) == told(tmp_path / "peer.h5") == told(tmp_path / "other.h5") == {"auto"}
    assert told(tmp_path / "own.h5") == {"mine"}
    assert told(tmp_path / "own.h5", "--ours", "auto,mine") == {"auto", "mine"}


def test_a_page(run, results, tmp_path):
    out = tmp_path / "report.html"
    result = run("bench", "report", results, "--out", out)
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"wrote {out}\n")
    html = out.read_text()
    assert html.startswith("<!DOCTYPE html>")
    assert "<b>" not in html
    assert "chute/&lt;b&gt;" in html
    said = result.out.splitlines()[1:]
    assert said
    assert all(sentence.replace("<b>", "&lt;b&gt;").replace("'", "&#x27;") in html for sentence in said)
    assert run("bench", "report", results, "--out", tmp_path / "again.htm").code == 0
    assert (tmp_path / "again.htm").read_text() == html


def test_markdown_with_figures_beside_it_or_without(run, results, tmp_path):
    out = tmp_path / "report.md"
    assert run("bench", "report", results, "--out", out).code == 0
    links = re.findall(r"!\[.*\]\((.*)\)", out.read_text())
    assert links
    for link in links:
        assert (tmp_path / link).read_text().startswith("<?xml")
    result = run("bench", "report", results, "--format", "md")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("# ")
    assert "![" not in result.out


def test_latex_with_figures_beside_it_or_without(run, results, tmp_path):
    out = tmp_path / "report.tex"
    assert run("bench", "report", results, "--out", out).code == 0
    text = out.read_text()
    inputs = re.findall(r"\\input\{(.*?)\}", text)
    assert inputs
    for place in inputs:
        assert "tikzpicture" in (tmp_path / place).read_text()
        assert (tmp_path / place).with_suffix(".csv").exists()
    result = run("bench", "report", results, "--format", "tex")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("\\documentclass")
    run("bench", "report", results, "--format", "pdf").refuses("--out report.pdf")


def test_the_data_of_every_figure_are_written(run, results, tmp_path):
    folder = tmp_path / "data"
    assert run("bench", "report", results, "--out", tmp_path / "report.html", "--data", folder).code == 0
    names = sorted(path.name for path in folder.iterdir())
    assert names[0] == "01-performance-profiles-all-families.csv"
    assert all(rows_of((folder / name).read_text()) for name in names)


def test_two_versions_are_compared(run, results, tmp_path):
    write_results(tmp_path / "old.h5", MADE)
    found = run("bench", "report", tmp_path / "old.h5", results, "--versions", "--format", "md")
    assert (found.code, found.err) == (0, "")
    assert "## Versions" in found.out
    assert "nsgs@old" in found.out
    assert "nsgs@results" in found.out
    found = run(
        "bench", "report", tmp_path / "old.h5", results, "--versions", "--solvers", "nsgs", "--format", "md"
    )
    assert "auto@old" not in found.out
    run("bench", "report", results, "--versions", "--format", "md").refuses("--versions", "at least two")


def test_a_line_per_run(run, results, tmp_path):
    result = run("bench", "report", results, "--format", "csv")
    assert (result.code, result.err) == (0, "")
    rows = rows_of(result.out)
    assert len(rows) == len(SAID)
    found = {(row["problem"], row["solver"]): row for row in rows}
    assert float(found["stack/a", "nsgs"]["wall [s]"]) == 0.1 + 0.2
    assert found["stack/a", "ipm:variant=simple"]["reason"] == 'with, commas and "quotes"\nand lines'
    assert found["chute/<b>", "nsgs"]["natural"] == ""
    assert run("bench", "report", results, "--out", tmp_path / "runs.csv").code == 0
    assert b"\r\n" in (tmp_path / "runs.csv").read_bytes()
    assert rows_of((tmp_path / "runs.csv").read_bytes().decode()) == rows


def test_findings_are_strict_json(run, results, tmp_path):
    def refuse(word):
        raise AssertionError(word)

    result = run("bench", "report", results, "--format", "json")
    assert (result.code, result.err) == (0, "")
    found = json.loads(result.out, parse_constant=refuse)
    assert found["conditions"]["timeout"] == MADE.conditions.timeout
    assert run("bench", "report", results, "--out", tmp_path / "x.json", "--time", "cpu").code == 0
    assert json.loads((tmp_path / "x.json").read_text())["time"] == "cpu"


def test_some_solvers_and_families(run, results):
    result = run(
        "bench", "report", results, "--format", "csv", "--solvers", "ipm, auto", "--families", "stack"
    )
    found = [(row["problem"], row["solver"]) for row in rows_of(result.out)]
    assert sorted(found) == [("stack/a", "auto"), ("stack/a", "ipm:variant=simple")]
    page = run("bench", "report", results, "--format", "md", "--solvers", "auto").out
    assert "Only some solvers are compared here: auto of 3" in page


def test_several_files(run, results, tmp_path):
    other = other_machine(tmp_path)
    run("bench", "report", results, other, "--format", "csv").refuses(
        "machine", "Another processor", "other.h5"
    )
    result = run("bench", "report", results, other, "--format", "csv", "--allow", "machine")
    assert result.code == 0
    assert len(rows_of(result.out)) == len(SAID) + 1
    same = run("bench", "report", results, results, "--format", "csv")
    assert len(rows_of(same.out)) == len(SAID)


def test_what_is_refused(run, results, tmp_path, local_file, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))  # without a TeX
    out = tmp_path / "x.html"
    run("bench", "report", results).refuses("--out report.html")
    run("bench", "report", tmp_path / "none.h5", "--out", out).refuses("none.h5", "no such file")
    run("bench", "report", tmp_path, "--out", out).refuses("directory")
    run("bench", "report", local_file, "--out", out).refuses(local_file.name)
    (tmp_path / "text.h5").write_text("not one")
    run("bench", "report", tmp_path / "text.h5", "--out", out).refuses("text.h5")
    run("bench", "report", results, "--out", tmp_path / "x.pdf").refuses("x.pdf", "pdflatex")
    run("bench", "report", results, "--out", tmp_path / "no" / "x.html").refuses("no directory")
    run("bench", "report", results, "--out", tmp_path).refuses(str(tmp_path))
    run("bench", "report", results, "--format", "csv", "--out", results).refuses("would overwrite the input")
    run("bench", "report", results, "--solvers", "admm", "--out", out).refuses("admm", "nsgs", "auto", "ipm")
    run("bench", "report", results, "--ours", "admm", "--out", out).refuses("--ours admm", "nsgs")
    run("bench", "report", results, "--out", "").refuses("--out is empty")
    run("bench", "report", results, "--families", "soup", "--out", out).refuses("soup", "stack", "chute")
    run("bench", "report", results, "--allow", "luck", "--out", out).refuses("luck", "machine", "timeout")
    empty = tmp_path / "empty.h5"
    write_results(empty, MADE.with_runs(()))
    run("bench", "report", empty, "--out", out).refuses("empty.h5", "no runs")
    assert not out.exists()


def test_info_of_results(run, results):
    result = run("info", results)
    assert (result.code, result.err) == (0, "")
    for text in ("results of a campaign", "stack, chute", "6: 4 solved", "A processor", "auto", "2 of 2"):
        assert text in result.out
    found = json.loads(run("info", results, "--json").out)
    assert found["solvers"]["nsgs"] == {"runs": 2, "solved": 1}
    results.write_bytes(results.read_bytes().replace(b'"timeout"', b'"timeoux"'))
    run("info", results).refuses("results.h5")


def test_a_full_disk_leaves_the_report_that_was_there(run, results, tmp_path, monkeypatch):
    out = tmp_path / "runs.csv"
    out.write_text("the last one")

    def full(path, content):
        with path.open("wb"):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    run("bench", "report", results, "--out", out).refuses("runs.csv: no space left on device")
    assert out.read_text() == "the last one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.h5", "runs.csv"]
