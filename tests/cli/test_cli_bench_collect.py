"""`stickslip bench collect`: what it says, and what it refuses."""

from pathlib import Path

import pytest

from stickslip.bench.collections import standard
from stickslip.bench.collections.standard_recipes import Recipe

ONE = standard.select(["kapla"], small=True)


def test_list_shows_recipes_and_makes_nothing(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("bench", "collect", "--list")
    assert result.code == 0
    for recipe in standard.RECIPES:
        assert recipe.place in result.out
    assert f"{sum(recipe.most for recipe in standard.RECIPES)} problems by" in result.out
    small = run("bench", "collect", "--list", "--small", "--families", "kapla, stack")
    assert "kapla/" in small.out
    assert "chute/" not in small.out
    assert not list(tmp_path.iterdir())


def test_collect_twice(run, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "small"
    first = run("bench", "collect", "--families", "kapla", "--small", "--out", out)
    assert first.code == 0
    assert first.err == ""
    assert f"{sum(r.most for r in ONE)} problems in {out}\n" in first.out
    assert "identity " in first.out
    assert (out / "collection.json").exists()
    again = run("bench", "collect", "--families", "kapla", "--small", "--out", out)
    assert again.code == 0
    assert "of them existed already" in again.out
    assert [line for line in again.out.splitlines() if "identity" in line] == [
        line for line in first.out.splitlines() if "identity" in line
    ]


def test_what_differs_and_what_fails_is_said(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    falls = Recipe("kapla", "falls", "small", "kapla", {"courses": 0})
    monkeypatch.setattr(standard, "select", lambda families, small: (*ONE, falls))
    wrong = {r.place: (r.as_json(), {f"{r.place}-0001": "0" * 64}) for r in ONE}
    monkeypatch.setattr(standard, "read_published", lambda: wrong)
    result = run("bench", "collect", "--out", tmp_path)
    assert result.code == 1
    assert "differ from the published ones" in result.out
    assert "kapla/tower" in result.out
    result.says("kapla/falls", "courses is 0")


def test_input_that_cannot_be_used(run, tmp_path: Path) -> None:
    run("bench", "collect", "--families", "tower", "--out", tmp_path).refuses(
        "unknown family 'tower'", "kapla"
    )
    run("bench", "collect", "--families", ",", "--out", tmp_path).refuses("no family is named")
    run("bench", "collect", "--out", "").refuses("--out is empty")
    file = tmp_path / "file"
    file.touch()
    run("bench", "collect", "--out", file).refuses("is a file")
    run("bench", "collect", "--out", file / "below").refuses("file")
    assert list(tmp_path.iterdir()) == [file]
