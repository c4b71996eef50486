"""The study of measured tosses: what flights tell, and derivatives of predictions against differences."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2] / "benchmarks"


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


records = loaded("toss_records")
toss_mujoco = loaded("toss_mujoco")
study = loaded("identify_tosses")
pytestmark = pytest.mark.skipif(
    not records.DATA.is_file(), reason="the cube tosses are not beside this checkout (../shared/data)"
)


@pytest.fixture(scope="module")
def seen():
    tosses, flights = records.read()
    centre, gravity = records.flown(flights)
    return tosses, centre, gravity


@pytest.fixture(scope="module")
def theta(seen):
    U = records.UNIT
    shape = (0.95 * U**2, 0.94 * U**2, 0.88 * U**2, *seen[1], records.HALF, 0.07 * U, 8e-3, -2e-3)
    return np.array([0.2, 0.16, 0.27, *shape])


def test_flights_tell_centre_of_mass_and_gravity(seen):
    tosses, centre, gravity = seen
    assert len(tosses) > 180
    np.testing.assert_allclose(centre / records.UNIT, (0.0, 0.0, 0.105), atol=0.015)
    np.testing.assert_allclose(gravity[2], -records.GRAVITY, rtol=1e-3)
    assert 1.0 < np.hypot(*gravity[:2]) / records.UNIT < 4.0  # the tracker's axis is not vertical


def test_a_prediction_and_its_derivatives(seen, theta):
    tosses, _, gravity = seen
    ride = study.Cube(gravity, theta).ride(tosses[0], 5, sensitive=True)
    assert records.errors(tosses[0], ride.place, ride.turn).mean() < 2.0
    for k in (1, 2, 3, 8):
        change = np.zeros(theta.size)
        change[k] = 1e-5 * study.Cube.scale[k]
        up, down = (study.Cube(gravity, theta + s * change).ride(tosses[0], 5) for s in (1.0, -1.0))
        turned = records.logarithm(records.product(records.conjugate(down.turn), up.turn))
        expected = np.concatenate([up.place - down.place, turned], axis=1) / (2.0 * change[k])
        np.testing.assert_allclose(
            ride.by[-1, :, k], expected[-1], rtol=1e-5, atol=1e-6 * abs(expected).max()
        )


def test_mujoco_predicts_too(seen, theta):
    tosses, _, gravity = seen
    soft = toss_mujoco.SoftCube(gravity, np.array([*theta[:2], np.log(0.008), np.log(0.3), *theta[3:]]))
    ride = soft.ride(tosses[0], 4, sensitive=True)
    assert records.errors(tosses[0], ride.place, ride.turn).mean() < 5.0
    assert np.isfinite(ride.by).all()
