"""The convergence plot: same bytes every time, nobody's settings touched, any history drawn."""

from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest

from stickslip.view.plots.histories import plot_residuals


def answer(history, tolerance=1e-8):
    """The two fields of a Solution that are drawn."""
    return SimpleNamespace(history=np.array(history, float).reshape(-1, 3), tolerance=tolerance)


FALLING = answer([[k, 10.0 ** (-k / 10), 3 * 10.0 ** (-k / 9)] for k in range(0, 100, 5)])


@pytest.mark.parametrize("ending", ["png", "svg", "SVG"])
def test_the_same_solutions_give_the_same_bytes(ending, tmp_path, monkeypatch):
    plot_residuals([("one", FALLING)], tmp_path / f"a.{ending}")
    with matplotlib.rc_context({"font.size": 20.0, "lines.linewidth": 9.0, "svg.hashsalt": "mine"}):
        before = dict(matplotlib.rcParams)
        plot_residuals([("one", FALLING)], str(tmp_path / f"b.{ending}"))
        assert dict(matplotlib.rcParams) == before
    a, b = ((tmp_path / f"{name}.{ending}").read_bytes() for name in "ab")
    assert a == b
    assert a[:5] in (b"\x89PNG\r", b"<?xml")


@pytest.mark.parametrize(
    "history",
    [[], [[0, 1e-9, 1e-10]], [[0, 1, 1], [10, 0, 0]], [[0, np.nan, np.inf], [5, 1.0, 1e-3]], [[0, 0, 0]]],
    ids=["empty", "one check", "exact", "not finite", "exact at once"],
)
def test_any_history_is_drawn(history, tmp_path):
    plot_residuals([("case", answer(history))], tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_names_are_text_whatever_they_hold(tmp_path):
    names = ["$x_1^2.dat", "_hidden", "a" * 200, "$\\frac{", "%", "ümlaut", "漢字"]
    plot_residuals([(name, FALLING) for name in names * 5], tmp_path / "x.svg")
    assert (tmp_path / "x.svg").stat().st_size > 1000


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"x\.jpg.*\.png"):
        plot_residuals([("one", FALLING)], tmp_path / "x.jpg")
    assert not list(tmp_path.iterdir())
