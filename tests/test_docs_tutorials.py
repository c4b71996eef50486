"""The tutorials: notebooks that run from their first cell to their last, with outputs that a reader sees."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path

import pytest

TUTORIALS = sorted((Path(__file__).parents[1] / "docs" / "tutorials").glob("*.ipynb"))
NEEDED = ("nbclient", "ipykernel")
ENDS = {"stream", "execute_result", "display_data"}


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs(path, tmp_path):
    for name in NEEDED:
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed: pip install 'stickslip[docs]'")
    folders = {name: str(tmp_path / name) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "MPLCONFIGDIR")}
    command = [sys.executable, "-c", "from nbclient.cli import main; main()", str(path)]
    command += ["--output", str(tmp_path / path.stem)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | folders, cwd=tmp_path, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert kinds(tmp_path / path.name) == kinds(path), "execute the notebook again: make tutorials"


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_outputs_are_shown_and_small(path):
    shown = [kind for cell in kinds(path) for kind, _ in cell]
    assert shown
    assert set(shown) <= ENDS
    assert path.stat().st_size < 200_000


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_pictures_have_alternative_text(path):
    for cell in json.loads(path.read_text())["cells"]:
        if any("image/png" in output.get("data", {}) for output in cell.get("outputs", ())):
            assert len(cell["metadata"]["mystnb"]["image"]["alt"]) > 20


def kinds(path):
    """What each cell of code puts out: kind of each output, and media types. Text that is printed slowly
    comes in several outputs, which count as one."""
    cells = json.loads(path.read_text())["cells"]
    found = [
        [(output["output_type"], tuple(sorted(output.get("data", {})))) for output in cell["outputs"]]
        for cell in cells
        if cell["cell_type"] == "code"
    ]
    return [[kind for kind, _ in groupby(cell)] for cell in found]
