"""What the page on many runs shows runs as it stands, and what it says of the runs holds."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[1] / "docs" / "many-runs.md"


def test_the_batches_of_the_docs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch", reason="the extra torch is not installed")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text().split("\n## Sweeps")[0], re.DOTALL):
        exec(compile(code, PAGE.name, "exec"), names)
    way = 1.5**2 / (2 * 9.81 * names["mu"])
    stopped = 1.5 / (9.81 * names["mu"]) < 0.8
    assert names["state"].q[stopped, 7] == pytest.approx(way[stopped], rel=5e-3)
    batch = names["batch"]
    assert batch.t.tolist() == [0.1, 0.0, 0.1, 0.0]
    assert batch.parameters["mu"][:, -1].tolist() == [0.4, 0.9, 0.4, 0.9]
    assert not np.count_nonzero(batch.status)
    assert float(names["slope"][-1]) == pytest.approx(-3 * 9.81 * 0.2**2 / 2, rel=1e-9)


def test_the_sweeps_of_the_docs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text().split("\n## Sweeps")[1], re.DOTALL):
        exec(compile(code, PAGE.name, "exec"), names)
    found = names["found"]
    assert found.complete
    assert found.solved.all()
    assert len(names["frame"]) == 16
    # All that the ball had is gone when it rests.
    assert names["lost"] == pytest.approx(9.81 * found.parameters["height"], rel=1e-3)
