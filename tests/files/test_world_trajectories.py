"""Trajectories of worlds come back bit for bit; a file that holds something else is refused."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from world_runs import CONTACTS, Drop, balls, equal

import stickslip as ss
from stickslip.files import runs
from stickslip.files.runs import is_trajectory, trajectory_content
from stickslip.simulation.world_model import ShapeRecord

ROOT = runs.ROOT


def sensed():
    return balls(sensor=ss.sensors.PositionSensor("place β", "ball 0"), joint=True)


@pytest.fixture(scope="module")
def made():
    return ss.simulate(sensed(), until=0.405, h=1e-2, scheme=Drop())


@pytest.fixture
def path(made, tmp_path):
    place = tmp_path / "run.h5"
    made.save(place)
    return place


def same(a, b):
    equal(a, b)
    for name in ("offset", *CONTACTS):
        x, y = getattr(a.contacts, name), getattr(b.contacts, name)
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y, err_msg=name)
    for name in ("joint_offset", "joint_r", "joint_id"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for name in ("sensors", "memory"):
        x, y = getattr(a, name), getattr(b, name)
        assert list(x) == list(y)
        for key in x:
            np.testing.assert_array_equal(x[key], y[key])
            assert x[key].shape == y[key].shape
    for name in ("scheme", "scheme_options", "solver", "tolerance", "clock", "steps", "missed"):
        assert getattr(a, name) == getattr(b, name), name
    a.model.check_same(b.model)
    assert str(a) == str(b)


def test_round_trip_is_bit_for_bit_and_the_same_run_gives_the_same_bytes(made, path):
    back = ss.read_trajectory(path)
    same(made, back)
    again = ss.simulate(sensed(), until=0.405, h=1e-2, scheme=Drop())
    assert trajectory_content(again) == trajectory_content(made) == trajectory_content(back)
    with pytest.raises(ValueError, match="read-only"):
        back.q[0, 0] = 1.0


def test_files_say_what_they_are(path):
    assert is_trajectory(path)
    with pytest.raises(ss.FormatError, match="found a trajectory: read it with"):
        ss.read(path)


def test_shapes_are_kept_as_numbers():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    records = [
        ShapeRecord.of(shape)
        for shape in (
            ss.Sphere(0.5), ss.Plane(), ss.Cuboid((1, 2, 3)), ss.Capsule(0.1, 2), ss.Cylinder(0.2, 3),
            ss.shapes.Ellipsoid((1, 2, 3)), ss.ConvexHull(points), ss.HeightField(np.zeros((2, 3)), (4, 5)),
        )
    ]  # fmt: skip
    assert [(one.kind, one.numbers) for one in records] == [
        ("sphere", (0.5,)), ("plane", ()), ("cuboid", (1.0, 2.0, 3.0)), ("capsule", (0.1, 2.0)),
        ("cylinder", (0.2, 3.0)), ("ellipsoid", (1.0, 2.0, 3.0)), ("convex-hull", ()),
        ("height-field", (4.0, 5.0)),
    ]  # fmt: skip
    assert sorted(map(tuple, records[6].points)) == sorted(map(tuple, points))
    assert records[7].points.shape == (2, 3)


def spoil(path, name, **made):
    with h5py.File(path, "a") as file:
        del file[ROOT][name]
        if made:
            file[ROOT].create_dataset(name, **made)


N = 42


@pytest.mark.parametrize(
    ("name", "instead", "words"),
    [
        ("version", {"data": [3]}, "expected 2, the version that this program knows, found 3"),
        ("columns/t", {"data": np.zeros(0)}, "at least one time"),
        ("columns/t", {"data": np.full(N, np.inf)}, "all finite"),
        ("columns/t", {"data": 1.7e308 * np.linspace(-1.0, 1.0, N)}, "all finite"),
        ("columns/t", {"data": -np.arange(N)}, "times that do not go back, found -1 s after 0 s"),
        ("columns/q", {"data": np.zeros((N, 20))}, rf"shape \({N}, 21\), found shape \({N}, 20\)"),
        ("columns/v", {"shape": (10**9, 3), "dtype": "f8"}, "declared and never written"),
        ("columns/verdict", {"data": np.full(N, 3, np.int8)}, "from 0 to 2"),
        ("columns/balance", {}, "columns/balance: expected a dataset"),
        ("contacts/offset", {"data": np.zeros(N, int)}, rf"shape \({N + 1},\)"),
        ("contacts/offset", {"data": np.full(N + 1, -1)}, "numbers that grow from 0"),
        ("contacts/body", {"data": np.full((1, 2), 7)}, "contacts/body"),
        ("contacts/r", {"data": np.zeros((3, 6))}, "contacts/r: expected numbers of shape"),
        ("joints/offset", {"data": np.arange(N + 1) * 5}, "numbers that grow from 0"),
        ("world/kind", {"data": [0, 1, 9]}, "world/kind: expected numbers from 0 to 2"),
        ("world/kind", {"data": [0, 1]}, r"shape \(3,\)"),
        ("world/shape", {"data": [0, 1, 9]}, "world/shape: expected numbers from 0 to"),
        ("world/shape_body", {"data": [0, 1, -1]}, "world/shape_body: expected numbers from 0 to 2"),
        ("world/joint_body", {"data": [[1, 5]]}, "world/joint_body: expected numbers from -1 to 2"),
        ("world/inertia", {"data": np.zeros((3, 8))}, r"shape \(3, 9\)"),
        ("points/0", {"data": np.zeros(3)}, "an array of 2 dimension"),
        ("sensors/0", {"data": np.zeros((N, 4))}, r"sensors/0: expected numbers of shape \(42, 3\)"),
        ("memory/1", {"data": np.zeros((1, 99))}, "memory/1: expected numbers of shape"),
        ("world", {}, "world: expected a group"),
    ],
)
def test_what_does_not_fit_is_refused(path, name, instead, words):
    spoil(path, name, **instead)
    with pytest.raises(ss.FormatError, match=words):
        ss.read_trajectory(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"bodies": ["a", "a", "b"]}, "bodies with names of their own"),
        ({"bodies": [1]}, "a list of texts as bodies"),
        ({"shapes": 3}, "a list of objects as shapes"),
        ({"shapes": [{"kind": "sphere", "numbers": ["x"]}] * 2}, "a list of finite numbers"),
        ({"h": 0}, "a positive h"),
        ({"complete": 1}, "true or false"),
        ({"memory": [{"name": "r", "shape": [2**31, 2**31]}]}, "memory/0: expected numbers of shape"),
        ({"sensors": [{"name": "r", "shape": [1] * 9}]}, "at most 8 counts"),
    ],
)
def test_what_a_file_says_about_itself_is_checked(path, change, words):
    with h5py.File(path, "a") as file:
        about = json.loads(file[ROOT]["about"][()]) | change
        del file[ROOT]["about"]
        file[ROOT]["about"] = np.bytes_(json.dumps(about))
    with pytest.raises(ss.FormatError, match=words):
        ss.read_trajectory(path)


def test_a_strange_memory_does_not_resume(path):
    world = sensed()
    with h5py.File(path, "a") as file:
        about = json.loads(file[ROOT]["about"][()])
        about["memory"][0]["name"] = "other"
        del file[ROOT]["about"]
        file[ROOT]["about"] = np.bytes_(json.dumps(about))
    start = ss.read_trajectory(path).checkpoint()
    with pytest.raises(ss.ModelError, match="the memory of the start does not come from Drop"):
        ss.simulate(world, until=1.0, start=start, scheme=Drop())
    spoil(path, "memory/0", data=[[np.nan]])
    with pytest.raises(ss.ModelError, match="'other' is not finite"):
        ss.simulate(world, until=1.0, start=ss.read_trajectory(path).checkpoint(), scheme=Drop())


def test_files_of_version_1_are_read():
    back = ss.read_trajectory(Path(__file__).parent / "old" / "world.h5")
    assert (len(back), back.steps, back.forces, back.scheme) == (21, 20, "least", "moreau-jean-semi-explicit")
    np.testing.assert_allclose(back.body("box").position[-1], [0.0390190, 0, 0.5], atol=1e-7)
    assert list(back.sensors) == ["place β"]
    assert back.sensors["place β"].shape == (21, 3)
    assert back.contacts.offset[-1] == 80
    assert set(back.contact_states) == {"slipping"}
    assert back.checkpoint().clock.index == 20
