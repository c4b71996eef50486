"""`stickslip demo`: a certified run, its file and its page; what is missing or missed is said."""

import re
from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from stickslip.cli import demo
from stickslip.cli.demo import certificates
from stickslip.detection.detector import Detector
from stickslip.files.runs import read_trajectory
from stickslip.scenes.grains import column_collapse

BODIES = 24


@pytest.fixture
def short(monkeypatch):
    """A fifth of a second, and one step before it."""
    monkeypatch.setattr(demo, "UNTIL", 0.2)
    monkeypatch.setattr(demo, "SHORT", demo.STEP)


def column(out: str, claim: str) -> str:
    """What was measured, of the line of a table that begins with these words."""
    (line,) = (line for line in out.splitlines() if line.startswith(claim))
    return re.split(r" {2,}", line)[1]


def test_demo(run, tmp_path, short):
    out = tmp_path / "deep" / "out"
    result = run("demo", "--out", out, "--bodies", BODIES)
    assert (result.code, result.err) == (0, "")
    assert "NO" not in result.out
    page = (out / "demo.html").read_text()
    assert page.lstrip().lower().startswith("<!doctype html")
    assert f"{BODIES} spheres" in page
    trajectory = read_trajectory(out / "demo.h5")
    assert trajectory.model.names[-1] == f"ball {BODIES}"
    assert trajectory.t[-1] == demo.UNTIL
    assert (trajectory.tolerance, trajectory.missed) == (demo.TOLERANCE, 0)
    assert float(column(result.out, "natural residual")) == pytest.approx(trajectory.natural.max(), rel=0.06)
    depth = float(column(result.out, "deepest penetration").removesuffix(" m"))
    assert depth == pytest.approx(trajectory.penetration.max(), rel=0.06)
    given = trajectory.energy[0] - trajectory.energy[-1] + trajectory.lifted[-1]
    assert float(column(result.out, "dissipated by contacts")) == pytest.approx(given, rel=1e-5)
    assert re.search(rf"contacts +{np.diff(trajectory.contacts.offset).max()} at most", result.out)
    for name in ("demo.html", "demo.h5"):
        assert str(out / name) in result.out


def test_no_page(run, tmp_path, short):
    result = run("demo", "--out", tmp_path, "--bodies", 4, "--no-html")
    assert (result.code, result.err) == (0, "")
    assert [path.name for path in tmp_path.iterdir()] == ["demo.h5"]


def test_a_tolerance_that_cannot_be_met_is_exit_code_1(run, tmp_path, short, monkeypatch):
    monkeypatch.setattr(demo, "TOLERANCE", 1e-300)
    monkeypatch.setattr(demo, "UNTIL", 1.0)
    result = run("demo", "--out", tmp_path, "--bodies", 4, "--no-html")
    assert result.code == 1
    result.says("missed its tolerance")
    assert (tmp_path / "demo.h5").exists()


def test_every_certificate_can_be_missed():
    fine = ss.simulate(column_collapse(bodies=4), h=1e-2, until=0.2, solver="nsgs", tolerance=1e-4)
    assert all(one.ok for one in certificates(fine, 0.2))
    late = np.arange(len(fine)) / len(fine)
    spoilt = {
        "missed": 3, "natural": late, "natural_scaled": late, "penetration": late,
        "balance": 1e-6 * fine.energy.max() * late,
    }  # fmt: skip
    for k, (name, values) in enumerate(spoilt.items()):
        worse = replace(fine, missed=values) if name == "missed" else fine.with_columns(**{name: values})
        found = certificates(worse, 0.2)
        assert [one.ok for one in found] == [j != k for j in range(len(spoilt))], name


def test_a_number_that_is_none_is_no_certificate():
    fine = ss.simulate(column_collapse(bodies=1), h=1e-2, until=0.05, solver="nsgs", tolerance=1e-4)
    found = certificates(fine.with_columns(natural=np.full(len(fine), np.nan)), 0.2)
    assert [one.claim for one in found if not one.ok] == ["natural residual, worst step"]


def test_a_place_that_cannot_be_made(run, tmp_path):
    (tmp_path / "file").touch()
    run("demo", "--out", tmp_path / "file").refuses(str(tmp_path / "file"))


def test_a_page_that_cannot_be_written_is_said_before_the_run(run, tmp_path):
    (tmp_path / "demo.html").mkdir()
    run("demo", "--out", tmp_path).refuses("demo.html", "directory")


def test_no_spheres(run, tmp_path):
    run("demo", "--out", tmp_path, "--bodies", 0).refuses("--bodies must be at least 1")
    assert not list(tmp_path.iterdir())


def test_the_column_is_lower_than_wide_and_stands_clear_of_the_boulders():
    world = column_collapse(bodies=200)
    places = world.start.q.reshape(-1, 7)[-200:, :3]
    assert np.ptp(places[:, 2]) < np.ptp(places[:, 1])
    assert not len(Detector(world).find(world.start.q, 0.0))
