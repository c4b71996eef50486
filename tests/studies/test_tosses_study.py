"""The study of tosses: what flights tell, derivatives of predictions, fits, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from stickslip import studies
from stickslip.rotations import (
    between,
    conjugate,
    exponential,
    exponential_slope,
    logarithm,
    matrices,
    product,
)
from stickslip.studies import tosses, tosses_fit
from stickslip.studies import tosses_records as records
from stickslip.studies.study import StudyInputError
from stickslip.studies.tosses_cube import CENTRE, KNOWN, SITE, Cube, made
from stickslip.studies.tosses_models import SHAPE, SoftCube, column

MEASURED = Path(__file__).resolve().parents[3] / "shared" / "data" / "cube_tosses.npz"


@pytest.fixture(scope="module")
def rows():
    return made(5, 30)


@pytest.fixture(scope="module")
def some(rows):
    return records.tosses_of(*rows)


def soft(theta):
    """MuJoCo's numbers for a shape of ours."""
    return np.concatenate([theta[:2], np.log([0.004, 0.5, 0.05]), theta[-len(SHAPE) :]])


def test_turns():
    r = np.array([[0.3, -0.2, 0.5], [0.0, 0.0, 0.0], [1.0, 2.0, -2.0]])
    p = exponential(r)
    np.testing.assert_allclose(logarithm(p), r, atol=1e-12)
    np.testing.assert_allclose(logarithm(-p), r, atol=1e-12)
    np.testing.assert_allclose(matrices(product(p, p)), matrices(p) @ matrices(p), atol=1e-12)
    np.testing.assert_allclose(product(p, conjugate(p))[:, 1:], 0.0, atol=1e-12)
    np.testing.assert_allclose(between(p[:1], product(p[:1], p)), r, atol=1e-12)


@pytest.mark.parametrize("r", [(0.3, -0.2, 0.5), (2e-4, 1e-4, 0.0), (0.0, 0.0, 0.0)])
def test_exponential_slope(r):
    r, d = np.array(r), 1e-6
    ends = [between(exponential(r - d * e), exponential(r + d * e)) for e in np.eye(3)]
    np.testing.assert_allclose(exponential_slope(r).T, np.array(ends) / (2.0 * d), atol=1e-8)


def test_a_flight_is_fitted_whatever_the_direction_of_the_throw(rows, some):
    angle = 2.1
    turn = np.array([np.cos(angle / 2.0), 0.0, 0.0, np.sin(angle / 2.0)])
    turned = rows[0].copy()
    turned[:, :3] = turned[:, :3] @ matrices(turn).T
    turned[:, 3:7] = product(turn, turned[:, 3:7])
    for one, other in zip(some, records.tosses_of(turned, rows[1]), strict=True):
        np.testing.assert_allclose(one.place, other.place, atol=1e-12)
        np.testing.assert_allclose(one.fit, other.fit, atol=1e-9)
        np.testing.assert_allclose(one.spin, other.spin, atol=1e-9)
        assert one.key == other.key
    assert len(records.without_copies([*some, *records.tosses_of(turned, rows[1])])) == len(some)
    assert records.without_copies(some, but=some[1:]) == some[:1]


def test_flights_tell_centre_of_mass_and_gravity():
    some = records.tosses_of(*made(12, 20))
    centre, gravity = records.flown(some)
    np.testing.assert_allclose(gravity, SITE.gravity, atol=0.05)
    np.testing.assert_allclose(centre, KNOWN[CENTRE], atol=1.5e-3)


def test_resting_cubes_tell_the_tilt(some):
    level = records.Site.of(some)
    assert not any(toss.rests for toss in some)
    np.testing.assert_array_equal(level.tilt, 0.0)
    lying = []
    for k, toss in enumerate(some):
        up = exponential(0.5 * np.pi * np.eye(3)[k % 3])
        turn = np.tile(product(SITE.turn(np.zeros(2)), up), (8, 1))
        place = np.tile(toss.place[-1], (8, 1))
        lying.append(records.Toss(place, turn, toss.flight, toss.flight_turn, *(np.zeros(1),) * 5))
    np.testing.assert_allclose(records.Site.of(lying).tilt, SITE.tilt, atol=1e-4)


def test_a_prediction_and_its_derivatives(some):
    toss = some[0]
    ride = Cube(SITE, KNOWN).ride(toss, 6, sensitive=True)
    assert records.errors(toss, ride.place, ride.turn).mean() < 1.0
    for k, number in enumerate(Cube.numbers):
        change = np.zeros(KNOWN.size)
        change[k] = 1e-5 * number.scale
        up, down = (Cube(SITE, KNOWN + s * change).ride(toss, 6) for s in (1.0, -1.0))
        moved = np.concatenate([up.place - down.place, between(down.turn, up.turn)], axis=1)
        expected = moved[-1] / (2.0 * change[k])
        np.testing.assert_allclose(
            ride.by[-1, :, k], expected, rtol=2e-5, atol=1e-9 + 1e-5 * abs(expected).max()
        )


def test_mujoco_predicts_too(some):
    ride = SoftCube(SITE, soft(KNOWN)).ride(some[0], 6, sensitive=True)
    assert records.errors(some[0], ride.place, ride.turn).mean() < 5.0
    assert np.isfinite(ride.by).all()
    assert ride.by.shape == (6, 6, len(SoftCube.numbers))


def test_a_fit_finds_what_the_tosses_were_made_with(some):
    start = KNOWN.copy()
    start[[1, 2]] = 0.2, 0.2
    names = ("friction of impacts", "restitution")
    with tosses_fit.workers() as share:
        found = tosses_fit.fit(share, Cube, SITE, some, [tosses_fit.Stage(6, 4, len(some), names, 0)], start)
    np.testing.assert_allclose(found[[1, 2]], KNOWN[[1, 2]], atol=0.005)
    np.testing.assert_array_equal(np.delete(found, [1, 2]), np.delete(KNOWN, [1, 2]))


def test_processes_find_the_same(some):
    given = [(Cube, SITE, KNOWN, toss, 2) for toss in some[:2]]
    with tosses_fit.workers(2) as share:
        assert share(tosses_fit._loss, given) == [tosses_fit._loss(one) for one in given]


def test_the_quick_part():
    told = []
    study = studies.load("tosses").run(quick=True, progress=lambda *words: told.append(words))
    rows = study.tables[0].rows
    assert [row[:2] for row in rows] == [
        ("stickslip", True), ("stickslip", False), ("MuJoCo", True), ("MuJoCo", False)
    ]  # fmt: skip
    assert rows[0][2] < 10.0 < rows[1][2]
    assert rows[0][3] < 10.0 < rows[1][3]
    assert rows[0][6] < rows[2][6] < rows[3][6]  # rigid contacts overlap by a step's way at most
    assert "known" in study.tables[1].headings
    done = [each for _, each, _ in told]
    assert done == sorted(done)
    assert told[-1][1] == told[-1][2]
    assert [len(panel.curves) for panel in study.figures["errors"].panels] == [4] * 4


def test_no_toss_is_both_fitted_on_and_predicted(rows, tmp_path):
    values, start = rows
    np.savez(tmp_path / "all.npz", rows=np.vstack([values, values[:30]]), start=np.append(start, 180))
    np.savez(tmp_path / "other.npz", rows=values[:60], start=start[:3])
    plan = tosses.Plan()
    chosen, asked, _ = tosses.tosses_to_use(plan, tmp_path / "all.npz", 3, 0, None)
    assert (len(chosen), len(asked)) == (3, 2)
    chosen, asked, _ = tosses.tosses_to_use(plan, tmp_path / "all.npz", 3, 0, tmp_path / "other.npz")
    assert (len(chosen), len(asked)) == (3, 2)
    assert not {toss.key for toss in chosen} & {toss.key for toss in asked}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"train": 1}, "train is 1"),
        ({"train": 60}, "60 are to be fitted on"),
        ({"predict": "other.npz"}, "needs data"),
        ({"processes": 0}, "processes is 0"),
    ],
)
def test_what_is_refused(given, words):
    with pytest.raises(StudyInputError, match=words):
        tosses.run(quick=True, **given)


@pytest.fixture(scope="module")
def measured():
    if not MEASURED.is_file():
        pytest.skip("the cube tosses are not beside this checkout (../shared/data)")
    return records.read(MEASURED)


def test_all_measured_tosses_are_read_and_six_are_copies(measured):
    assert len(measured) == 190
    assert len(records.without_copies(measured)) == 184


def test_what_measured_flights_and_resting_cubes_tell(measured):
    centre, gravity = records.flown(measured)
    np.testing.assert_allclose(centre / records.UNIT, (0.0, 0.0, 0.105), atol=0.015)
    np.testing.assert_allclose(gravity[2], -records.GRAVITY, rtol=1e-3)
    assert 1.0 < np.hypot(*gravity[:2]) / records.UNIT < 4.0  # the tracker's axis is not vertical
    np.testing.assert_allclose(np.degrees(records.Site.of(measured).tilt), (0.49, -0.22), atol=0.1)


def test_first_impacts_of_measured_tosses_are_predicted(measured):
    cube, nominal = Cube(records.Site.of(measured), KNOWN), column(Cube.numbers, "nominal")
    means = []
    for one in (cube, Cube(records.Site.nominal(), nominal)):
        rides = [(toss, one.ride(toss, 12)) for toss in measured[:4]]
        means.append(np.mean([records.errors(toss, r.place, r.turn).mean() for toss, r in rides]))
    assert means[0] < 2.0 < means[1]
