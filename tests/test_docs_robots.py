"""The code of the page on robots prints what is shown, and the statements about the runs hold."""

import numpy as np
import pytest
from shown_pages import check_page


def test_the_robots_of_the_docs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = check_page("robots.md")
    assert names["run"].ok.all()
    assert names["run"].forces_on("box")[-1] == pytest.approx([0.0, 0.0, 2.943], abs=1e-6)
    assert (tmp_path / "hold.h5").exists()
    assert np.ptp(names["waved"].joint("lift").position) > 0.05
    assert abs(names["hard"]) < 1e-9
    assert names["soft"] == pytest.approx(3e-3, rel=0.2)
    height = names["bounce"].body("ball").position[400:, 2].max() - 0.05
    assert height == pytest.approx(0.64 * 0.5, abs=1e-2)
    assert names["slid"].body("brick").position[-1, 2] == pytest.approx(0.35, abs=1e-6)
    assert names["icy"].laws.given
    assert names["live"].data.joint("lift").qpos[0] == names["live"].joint("lift").position
    assert names["live"].residual <= 1e-8
    d = names["d"]
    assert d.exists
    assert d.unique
    assert d.jacobian("v", "ctrl")[0, 0] == pytest.approx(0.005, rel=1e-8)
    assert d.jacobian("v", "friction")[0].reshape(2, 3)[:, 0] == pytest.approx([0.0, -0.0981], rel=1e-6)
    assert d.vjp(v=[1.0, 0.0], by=("mass",))["mass"] == pytest.approx([0.0, -0.0075], rel=1e-6)
