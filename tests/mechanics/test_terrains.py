"""Terrains with places where nothing was measured: refused by number and place, or filled as is asked."""

import numpy as np
import pytest

import stickslip as ss


def hills():
    x, y = np.meshgrid(np.linspace(0, 6, 7), np.linspace(0, 4, 5), indexing="ij")
    return 300.0 + np.sin(x) + np.cos(y)


def spoilt(value, places=((2, 3), (5, 1))):
    heights = hills()
    for place in places:
        heights[place] = value
    return heights


@pytest.mark.parametrize(
    "value",
    [
        -9999.0,
        -32768.0,
        -99999.0,
        3.4028235e38,
        -3.4028235e38,
        -999.0,
        32767.0,
        1e20,
        1e30,
        9.969209968386869e36,
    ],
)
def test_a_usual_nodata_value_is_no_pit_and_no_peak(value):
    with pytest.raises(ss.ModelError, match=r"2 of 35 heights are .* the first at heights\[2, 3\].* NoData"):
        ss.HeightField(spoilt(value), (60, 40))


def test_nan_and_masked_heights_are_counted_and_placed():
    masked = np.ma.masked_less(spoilt(-1.0), 0.0)
    for heights in (spoilt(np.nan), masked):
        with pytest.raises(
            ss.ModelError, match=r"2 of 35 heights are masked or NaN, the first at heights\[2, 3\]"
        ):
            ss.HeightField(heights, (60, 40))


def test_a_named_value_is_refused_until_a_height_is_given():
    with pytest.raises(ss.ModelError, match=r"2 of 35 heights are the NoData value -1.* heights\[2, 3\]"):
        ss.HeightField(spoilt(-1.0), (60, 40), nodata=-1.0)
    for value in (-1.0, np.nan, -9999.0):
        field = ss.HeightField(spoilt(value), (60, 40), nodata=value, fill=299.0)
        assert field.heights[2, 3] == field.heights[5, 1] == 299.0
        whole = np.ones((7, 5), bool)
        whole[[2, 5], [3, 1]] = False
        np.testing.assert_array_equal(field.heights[whole], hills()[whole])
    assert ss.HeightField(np.ma.masked_less(spoilt(-1.0), 0.0), (60, 40), fill=299.0).heights[2, 3] == 299.0


def test_heights_that_only_look_like_a_marker_are_heights():
    """A deep trench whose floor passes -9999 m, and ground that is all of one such height."""
    trench = np.linspace(-11_000.0, 0.0, 23)[:, None] * np.ones(3)
    trench[2] = -9999.0
    assert ss.HeightField(trench, (1e5, 1e4)).heights[2, 1] == -9999.0
    assert ss.HeightField(np.full((3, 3), -9999.0), (1, 1)).heights[1, 1] == -9999.0


@pytest.mark.parametrize("given", [{"fill": np.nan}, {"nodata": "x"}, {"fill": "deep"}])
def test_markers_and_fills_are_numbers(given):
    with pytest.raises(ss.ModelError, match=f"HeightField: {next(iter(given))} is"):
        ss.HeightField(spoilt(np.nan), (60, 40), **({"fill": 0.0} | given))


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (0, 0)])
def test_one_row_is_no_ground(shape):
    with pytest.raises(ss.ModelError, match="HeightField: heights has shape"):
        ss.HeightField(np.zeros(shape), (1, 1))
