"""Real cube tosses: both impact laws predict the first bounce; it takes friction and restitution."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("tosses", ROOT / "benchmarks" / "tosses.py")
tosses = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tosses)

pytestmark = pytest.mark.skipif(
    not tosses.DATA.is_file(), reason="the cube tosses are not beside this checkout (../shared/data)"
)


@pytest.fixture(scope="module")
def some():
    return tosses.read()[:4]


def error(some, law, mu, e):
    """Mean distance [half-widths] plus mean angle [rad] over the first 20 frames."""
    return float(tosses.score(some, law, mu, e, frames=20).sum(axis=1).mean())


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_a_bounce_is_predicted_and_neither_without_friction_nor_without_restitution(some, law):
    best = error(some, law, 0.18, 0.2)
    assert best < 0.2
    assert error(some, law, 0.0, 0.2) > 1.2 * best
    assert error(some, law, 0.18, 0.8) > 1.5 * best


def test_rotations_between_quaternions():
    p, q = np.array([1.0, 0.0, 0.0, 0.0]), np.array([np.cos(0.2), 0.0, np.sin(0.2), 0.0])
    np.testing.assert_allclose(tosses.turn(p, q), [0.0, 0.4, 0.0], atol=1e-12)
    np.testing.assert_allclose(tosses.turn(q, -p), [0.0, -0.4, 0.0], atol=1e-12)
