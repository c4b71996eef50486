"""`stickslip demo`: certified, close to what is known, and drawn."""

import re

import pytest

from stickslip.cli import demo


def test_demo(run, tmp_path):
    out = tmp_path / "deep" / "out"
    result = run("demo", "--out", out)
    assert (result.code, result.err) == (0, "")
    assert result.out.count("SOLVED") == 2
    pairs = re.findall(r"([\d.]+) N +([\d.]+) N", result.out)
    assert len(pairs) == 3
    for solved, known in pairs:
        assert float(solved) == pytest.approx(float(known), rel=1e-6)
    assert pairs[0][1] == "8.890879391"
    assert pairs[1][1] == "4.145885148"
    assert (out / "convergence.png").read_bytes().startswith(b"\x89PNG")
    assert str(out / "convergence.png") in result.out


def test_a_missed_tolerance_is_exit_code_1(run, tmp_path, monkeypatch):
    monkeypatch.setattr(demo, "TOLERANCE", 1e-300)
    result = run("demo", "--out", tmp_path)
    assert result.code == 1
    assert "Traceback" not in result.err
    assert all(line.startswith("stickslip: ") for line in result.err.splitlines())


def test_a_place_that_cannot_be_made(run, tmp_path):
    (tmp_path / "file").touch()
    run("demo", "--out", tmp_path / "file").refuses(str(tmp_path / "file"))
