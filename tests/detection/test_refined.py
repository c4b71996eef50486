"""Contacts that are found again by their features: as exact as the gaps of these, wherever shapes stand."""

import numpy as np
import pytest
from pair_worlds import ENDLESS, SHAPES, about_to_touch

from stickslip.detection.detector import Detector
from stickslip.detection.pair_gaps import smooth_gaps

ROUND = ("cylinder", "ellipsoid")
PAIRS = [
    (a, b) for a in (*ROUND, "hull") for b in SHAPES
    if not (a == "hull" and b in ROUND) and (b != "plane" or a == "hull")
]  # fmt: skip


@pytest.mark.parametrize(("upper", "lower"), PAIRS)
@pytest.mark.parametrize("gap", [1e-3, 1e-8, -1e-9])
def test_gaps_and_normals_are_those_of_the_features(upper, lower, gap):
    """Of single contacts; where they have borders, features have other gaps beside them."""
    exact = 0
    for seed in range(4):
        world = about_to_touch(upper, lower, seed, gap)
        q = world.start.q.reshape(-1, 7)
        found = Detector(world).find(world.start.q, 2e-3)
        gaps = smooth_gaps(world, "lower", "upper", within=2e-3)
        if len(found) != 1 or len(gaps) != 1 or gaps[0].border:
            continue
        value, gradient, _ = gaps[0](*q)
        assert found.gap[0] == pytest.approx(value, abs=1e-13)
        np.testing.assert_allclose(found.frame[0, 0], gradient[:3], atol=1e-12)
        exact += 1
    assert exact >= 2 or lower in ENDLESS


@pytest.mark.parametrize(
    ("upper", "lower"), [("ellipsoid", "box"), ("ellipsoid", "hull"), ("cylinder", "hull")]
)
def test_shapes_that_all_but_touch_keep_their_contact(upper, lower):
    """From a millimetre apart to one overlapping, normal and place change as little as the shapes moved."""
    for seed in range(4):
        far = about_to_touch(upper, lower, seed, 1e-5)
        detector, q = Detector(far), np.array(far.start.q)
        first = detector.find(q, 1e-3)
        n = first.frame[0, 0]
        for gap in (1e-7, 1e-9, 1e-12, 0.0, -1e-12, -1e-9, -1e-7):
            q[7:10] = far.start.q[7:10] + (first.gap[0] - gap) * n
            (found,) = (detector.find(q, 1e-3),)
            assert len(found) == 1
            assert found.gap[0] == pytest.approx(gap, abs=1e-9)
            np.testing.assert_allclose(found.frame[0, 0], n, atol=2e-3)
            assert np.abs(found.point[0] - first.point[0]).max() < 1e-4
