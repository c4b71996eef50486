"""What docs/export.md shows runs as it stands, and gives what mechanics says."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "export.md"


def test_the_tables_of_the_page():
    pytest.importorskip("pandas", reason="the extra stickslip[tables] is not installed")
    names: dict = {}
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(code, PAGE.name, "exec"), names)
    assert names["lifted"].to_numpy() == pytest.approx(500.0 * 0.2**3 * 9.81, rel=1e-6)  # its weight
    mu = names["run"].contacts.law[0, 0]
    way = names["box"]["position_x [m]"].iloc[-1]
    assert way == pytest.approx(1.0 / (2.0 * mu * 9.81), rel=0.05)  # v² / (2 mu g), to first order in h


def test_the_endings_of_the_page_are_those_there_are():
    from stickslip.export.writer import ENDINGS

    table = PAGE.read_text().split("| ending |")[1].split("\n\n")[0]
    assert tuple(re.findall(r"`(\.\w+)`", table)) == ENDINGS
