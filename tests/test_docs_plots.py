"""What the page on plots shows runs as it stands."""

import re
import shlex
from pathlib import Path

import numpy as np

from stickslip.cli.main import build

DOCS = Path(__file__).resolve().parents[1] / "docs"
TEXT = (DOCS / "plots.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def test_its_blocks_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code in [text for language, text in BLOCKS if language == "python"]:
        shorter = code.replace("until=200 * period", "until=70 * period")
        exec(compile(shorter, "plots.md", "exec"), names)
    assert {path.name for path in tmp_path.iterdir()} == {"plot-poincare.svg", "residuals.svg"}
    x = names["section"].x
    assert x.size == 41
    assert np.unique(np.round(x, 2)).size > 20  # not one point: the motion is not periodic
    assert all(answer.ok for _, answer in names["answers"])


def test_its_commands_parse_and_name_its_pictures():
    commands = [line for language, text in BLOCKS if not language for line in text.splitlines()]
    drawn = []
    for command in commands:
        function, given, _ = build().parse_args(shlex.split(command)[1:])
        if function.__name__ == "plot" and "out" in given.arguments:
            drawn.append(given.arguments["out"].name)
    pictures = sorted(re.findall(r"\(pictures/([\w.-]+)\)", TEXT))
    assert pictures == sorted([*drawn, "plot-poincare.svg"])
    for name in pictures:
        assert 1000 < (DOCS / "pictures" / name).stat().st_size < 100_000


def test_every_plot_has_a_line():
    from typing import get_args

    from stickslip.cli.plot import What

    assert re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE) == list(get_args(What))
