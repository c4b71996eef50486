"""docs/variational.md: its code runs and says what is written; its table is whole."""

import re
from pathlib import Path

import numpy as np
import pytest
from shown_pages import check_page

from stickslip.problem.step_problem import MODELS

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "variational.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def names():
    """The variables of the page after its code has run and printed what is shown."""
    return check_page("variational.md")


def test_its_runs_are_certified_and_do_not_penetrate(names):
    for run in (names["run"], names["swing"]):
        assert run.ok.all()
        assert np.max(run.penetration) < 1e-8
    energy = names["swing"].measures["energy over the step [J]"]
    before = names["swing"].t < 0.3
    assert names["swing"].r.any()
    assert np.ptp(energy[before][1:]) < 0.05


def test_its_derivatives_are_those_of_a_sliding_box(names):
    """After the first step of 0.01 s, half of whose forces count."""
    d, slope = names["d"], 0.5 * 0.01**2
    assert not d.exists
    assert "changes of velocities depend on them" in d.notes[0]
    assert d.jacobian("q", "wrench")[6, 6] == pytest.approx(slope, rel=1e-2)
    np.testing.assert_allclose(names["forward"][:2] / -np.linalg.norm(names["forward"][:2]),
                               np.array([1.0, 0.5]) / np.sqrt(1.25), atol=1e-2)  # fmt: skip
    assert names["backward"][6] == pytest.approx(0.01, rel=1e-2)
    assert names["smooth"].kappa == 1e-4
    assert names["smooth"].jacobian("q", "wrench")[6, 6] == pytest.approx(slope, rel=0.05)


def test_the_gradient_of_its_run(names):
    """x = v t - mu g t² / 2 along the way: by v about t, by mu of the pair against it."""
    g = names["g"]
    assert g.gradient["v"][6] == pytest.approx(0.1, rel=0.05)
    assert g.gradient["mu"].min() == pytest.approx(-0.5 * 9.81 * 0.1**2 / np.sqrt(1.25), rel=0.05)


def test_its_table_has_every_model_of_every_world():
    rows = re.findall(r"^\| ([\w ,]+) \| (cone|pyramid|impact) \| ([\d.]+) \| (\d+) \|", PAGE, re.MULTILINE)
    worlds = {name for name, *_ in rows}
    assert len(rows) == 3 * len(worlds) == 9
    for world in worlds:
        size = {model: int(variables) for name, model, _, variables in rows if name == world}
        assert set(size) == set(MODELS)
        assert size["impact"] < size["cone"] < size["pyramid"]
