"""docs/seeds.md: every row names modules and tests that are there, or says why there is none."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "seeds.md").read_text()
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| section")
]
PATH = re.compile(r"`((?:\w+/)*[\w.-]+(?:\.py|\.md|\.json|/))(?:::(\w+))?`")


@cache
def functions(path):
    return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}


def test_it_has_all_five_seeds_and_every_row_three_cells():
    assert re.findall(r"^## Seed (\d+)", PAGE, re.MULTILINE) == ["000", "001", "002", "003", "004"]
    assert len(ROWS) > 90
    assert {len(row) for row in ROWS} == {3}
    assert len({row[0] for row in ROWS}) > 85


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_a_row_names_is_there(row):
    _, where, shown = row
    for path, _ in PATH.findall(where):
        assert (ROOT / path).exists() or (ROOT / "stickslip" / path).exists(), path
    tests = PATH.findall(shown)
    if where.startswith("not taken, because "):
        assert shown == "–"
        return
    assert tests, "a row needs a test, or the words «not taken, because»"
    for path, name in tests:
        assert path.startswith("tests/"), path
        assert (ROOT / path).exists(), path
        assert not name or name in functions(ROOT / path), f"{path} has no {name}"
    assert "TODO" not in where, "nothing is open"


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("002_4d1d955ae9310279.txt", r"^#+ (\d\.\d\.\d)"),
        ("004_c19fec3beed35870.txt", r"^(\d+\.\d+(?:\.\d+)?)\t"),
        ("004_c19fec3beed35870.txt", r"^(1[2-6]\.\d+(?:\.\d+)?) "),
    ],
)
def test_no_numbered_section_is_left_out(file, pattern):
    """Where the documents are at hand; a row may name a first and a last section, or a chapter."""
    place = ROOT.parent / "shared" / "seeds" / file
    if not place.exists():
        pytest.skip("the documents are not at hand")
    text = PAGE.split(f"## Seed {file[:3]}")[1].split("\n## ")[0]
    numbers = re.findall(r"\d+(?:\.\d+)+", "\n".join(re.findall(r"^\| ([^|]*)\|", text, re.MULTILINE)))
    for number in re.findall(pattern, place.read_text(errors="replace"), re.MULTILINE):
        covered = any(one.startswith(number) or number.startswith(one) for one in numbers)
        between = [one for one in numbers if one.rpartition(".")[0] == number.rpartition(".")[0]]
        assert covered or len(between) > 1, f"section {number} has no row"
