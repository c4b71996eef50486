"""Tables and figures of studies as plain data."""

import numpy as np
import pytest

from stickslip import studies
from stickslip.exhibits import NOT_RUN, Column, Table, shown
from stickslip.view.figures import draw
from stickslip.view.style import FORMATS


def test_cells_as_they_are_shown() -> None:
    table = Table(
        "forces", ("solver", Column("N [N]", ".10g"), "iterations", "exact"),
        [("ipm", 8.890879391123, 7, True), ("gams", None, None, False)],
    )  # fmt: skip
    assert table.text() == [("ipm", "8.890879391", "7", "yes"), ("gams", NOT_RUN, NOT_RUN, "no")]
    assert table.headings == ("solver", "N [N]", "iterations", "exact")
    assert table.numeric == ("N [N]", "iterations")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), np.float64("nan")])
def test_what_is_no_number_is_a_dash(number: float) -> None:
    assert shown(number) == "–"


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="forces: a row of 1 cells under 2 columns"):
        Table("forces", ("a", "b"), [(1,)])


def test_studies_by_name() -> None:
    assert "rolling" in studies.names()
    for name in studies.names():
        module = studies.load(name)
        assert name == module.NAME
        assert module.SUMMARY
        assert "\n" not in module.SUMMARY
    with pytest.raises(KeyError, match="unknown study 'sliding'; known: "):
        studies.load("sliding")


@pytest.mark.parametrize("ending", FORMATS)
def test_the_same_figure_gives_the_same_bytes(ending, tmp_path) -> None:
    from stickslip.exhibits import Curve, Figure, Panel

    x = np.arange(1.0, 6.0)
    falling = Curve("falling", x, np.array([1.0, 1e-3, 0.0, np.nan, 1e-9]))
    panels = [
        Panel("errors", "iteration", "error", [falling], log_y=True, level=1e-6),
        Panel("shares", "factor", "share", [Curve("a", x, x / 5.0), falling], log_x=True, steps=True),
        Panel("points", "n", "time [s]", [Curve("a", x, x, "o")]),
    ]
    places = [tmp_path / f"{k}.{ending}" for k in range(2)]
    for place in places:
        draw(Figure("title", panels), place)
    assert places[0].read_bytes() == places[1].read_bytes()
    with pytest.raises(ValueError, match="png"):
        draw(Figure("title", panels), tmp_path / "x.jpg")
