"""Pages whose code runs, block after block, and prints what is shown beneath it."""

import re

import pytest
from shown_pages import ROOT, check_page


@pytest.mark.parametrize(
    "name",
    [
        "choose",
        "limits",
        "view",
        "rolling",
        "house",
        "files",
        "from-mujoco",
        "from-drake",
        "from-siconos",
        "from-chrono",
    ],
)
def test_the_code_of_a_page_prints_what_is_shown(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_page(f"{name}.md")


def test_every_recipe_prints_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = check_page("recipes.md")
    assert names["run"].ok.all()
    for made in ("run.html", "run.webp", "end.png", "energy.svg", "run.vtkhdf"):
        assert (tmp_path / made).stat().st_size > 1000


def test_there_are_thirty_recipes_with_code():
    page = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
    recipes = page.split("\n### ")[1:]
    assert len(recipes) >= 30
    assert all("```python\n" in recipe for recipe in recipes)
    count = re.search(r"for each of (\d+) tasks", page)
    assert count is not None
    assert int(count.group(1)) == len(recipes)
