"""docs/reference: the example of every page runs."""

import re
import textwrap
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).resolve().parents[1] / "docs" / "reference").glob("*.rst"))
WITHOUT = {"index", "commands"}


@pytest.mark.parametrize("page", [p for p in PAGES if p.stem not in WITHOUT], ids=lambda p: p.stem)
def test_its_example_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"\.\. code-block:: python\n\n((?:(?:    .*)?\n)+)", page.read_text())
    exec(compile(textwrap.dedent(code), page.name, "exec"), {})
