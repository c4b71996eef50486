"""Curves of long runs have few points, and lose no spike, no gap and no bend."""

import numpy as np
import pytest

from stickslip.view.plots.curves import POINTS, cloud, history, orbit


def test_a_short_history_is_drawn_as_it_is():
    t = np.linspace(0.0, 1.0, 7)
    curve = history("y", t, t**2)
    np.testing.assert_array_equal(curve.x, t)
    np.testing.assert_array_equal(curve.y, t**2)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_spike_among_a_million_points_is_kept(sign):
    t = np.linspace(0.0, 5.0, 1_000_000)
    y = 0.1 * np.sin(1e4 * t)
    y[654_321] = 7.0 * sign
    curve = history("y", t, y)
    assert len(curve.x) <= POINTS
    assert sign * np.nanmax(sign * curve.y) == 7.0 * sign
    assert (curve.x[0], curve.x[-1]) == (0.0, 5.0)
    assert (np.diff(curve.x) > 0.0).all()
    # What is between two pixels is as thick as it was: the least and largest of each are there.
    assert curve.y.min() == y.min()
    assert curve.y.max() == y.max()


def test_gaps_stay_gaps_and_infinity_is_one():
    t = np.linspace(0.0, 1.0, 50_000)
    y = np.where((t > 0.3) & (t < 0.5), np.nan, t)
    y[40_000] = np.inf
    curve = history("y", t, y)
    inside = (curve.x > 0.31) & (curve.x < 0.49)
    assert inside.any()
    assert np.isnan(curve.y[inside]).all()
    assert np.isnan(curve.y[curve.x == t[40_000]]).all()
    assert not np.isinf(curve.y).any()
    assert np.nanmax(curve.y) == 1.0


@pytest.mark.parametrize(
    "y", [np.full(9000, np.nan), np.zeros(9000), np.full(9000, 1e308)], ids=["unknown", "zero", "huge"]
)
def test_dull_histories_are_drawn(y):
    for curve in (history("y", np.arange(9000.0), y), orbit("y", y, y), cloud("y", y, y)):
        assert len(curve.x) <= POINTS
        assert len(curve.x) == len(curve.y)


def test_an_orbit_keeps_its_shape():
    angle = np.linspace(0.0, 2.0 * np.pi, 300_000)
    x, y = 3.0 * np.cos(angle), 0.01 * np.sin(angle)
    curve = orbit("ellipse", x, y)
    assert 50 <= len(curve.x) <= POINTS
    assert (curve.x.min(), curve.x.max()) == (x.min(), x.max())
    assert (curve.y.min(), curve.y.max()) == (y.min(), y.max())
    # Every chord stays near the ellipse: its middle is within a pixel, a 500th of the picture.
    middle = (curve.x[1:] + curve.x[:-1]) / 2.0, (curve.y[1:] + curve.y[:-1]) / 2.0
    radius = np.hypot(middle[0] / 3.0, middle[1] / 0.01)
    np.testing.assert_allclose(radius, 1.0, atol=2.0 / 500.0)


def test_an_orbit_that_fills_the_plane_is_bounded_and_keeps_its_gaps():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 30_000))
    x[[100, 200]] = np.nan
    curve = orbit("noise", x, y)
    assert len(curve.x) <= POINTS
    assert np.isnan(curve.x).sum() == 2
    assert np.nanmax(curve.x) == np.nanmax(x)


def test_points_that_hide_each_other_are_drawn_once():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 100_000))
    curve = cloud("points", x, y)
    assert len(curve.x) <= POINTS
    assert (curve.x.min(), curve.x.max()) == (x.min(), x.max())
    assert (curve.y.min(), curve.y.max()) == (y.min(), y.max())
    assert np.isin(curve.x, x).all()
