"""Trajectories come back bit for bit; a file that holds something else is refused, and says where."""

import json
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

import stickslip as ss
from stickslip.files.runs import is_trajectory, trajectory_content
from stickslip.schemes.step import Event
from stickslip.simulation.store import MemoryStore

ARRAYS = (
    "t", "h", "q", "v", "z", "r", "u", "y", "active", "forecast", "verdicts", "natural", "natural_scaled",
    "iterations", "newton", "index", "kinetic", "potential", "contact_work",
)  # fmt: skip
ROOT = "stickslip_run"
OLD = Path(__file__).parent / "old"


def run(record=1):
    """A point mass with a counter, thrown on a floor with friction; a relay brakes a second one."""
    thrown = ss.Lagrangian(
        "thrown β", M=np.eye(2), q0=[0.0, 0.05], v0=[1.0, 0.0], F_ext=[0.0, -9.81],
        z=[0.0], z_update=lambda z: z + 1.0,
    )  # fmt: skip
    braked = ss.Lagrangian("braked", M=1.0, q0=0.0, v0=1.0)
    touch = ss.Scleronomous(lambda q: np.array([q[1], q[0]]), lambda q: np.array([[0.0, 1.0], [1.0, 0.0]]))
    floor = ss.Interaction("floor", "thrown β", touch, ss.NewtonImpact(e=0.5, mu=0.3, dimension=2))
    brake = ss.Interaction("brake", "braked", ss.Scleronomous(lambda q: q), ss.laws.Relay(2.0))
    return ss.simulate(ss.NonsmoothSystem([thrown, braked], [floor, brake]), until=0.6, h=5e-3, record=record)


@pytest.fixture(scope="module")
def made():
    trajectory = run()
    events = (Event(0.1, "impact", "floor"), Event(0.2, "zeno", ""), Event(0.3, "impact", "floor"))
    rows = trajectory.store.rows(0, len(trajectory))
    rows.columns.update({"measures/speed [m/s]": trajectory.v[:, 0], "measures/a/b": trajectory.t})
    return replace(trajectory, store=MemoryStore(rows), events=events)


@pytest.fixture
def path(made, tmp_path):
    place = tmp_path / "run.h5"
    made.save(place)
    return place


def test_round_trip_is_bit_for_bit(made, path):
    back = ss.read_trajectory(path)
    for name in ARRAYS:
        a, b = getattr(made, name), getattr(back, name)
        assert a.dtype == b.dtype, name
        np.testing.assert_array_equal(a, b, err_msg=name)
    for name in ("memory", "memories", "measures"):
        a, b = getattr(made, name), getattr(back, name)
        assert list(a) == list(b)
        for key in a:
            np.testing.assert_array_equal(a[key], b[key])
    for name in ("events", "scheme", "scheme_options", "solver", "tolerance", "clock", "steps", "missed"):
        assert getattr(made, name) == getattr(back, name), name
    assert str(back) == str(made)
    for name in ("floor", "brake"):
        np.testing.assert_array_equal(made.interaction(name).states, back.interaction(name).states)
    assert set(back.interaction("brake").states[1:, 0]) == {"at lower bound", "inside bounds"}
    assert trajectory_content(back) == trajectory_content(made)


def test_a_trajectory_cannot_be_changed_by_its_reader(path):
    back = ss.read_trajectory(path)
    with pytest.raises(ValueError, match="read-only"):
        back.q[0, 0] = 1.0


def test_files_say_what_they_are(path, tmp_path):
    assert is_trajectory(path)
    assert not is_trajectory(tmp_path / "none.h5")
    (tmp_path / "text.h5").write_text("text")
    assert not is_trajectory(tmp_path / "text.h5")
    with pytest.raises(ss.FormatError, match="expected a problem, found a trajectory: read it with"):
        ss.read(path)
    with h5py.File(path) as file:
        about = json.loads(file[ROOT]["about"][()])
    assert about["scheme"] == "moreau-jean"
    assert [s["name"] for s in about["systems"]] == ["thrown β", "braked"]
    assert about["interactions"][1]["law"] == "Relay(level=2.0, components=1)"


def test_names_of_files(made, tmp_path):
    with pytest.raises(ss.FormatError, match=r"one that ends in .hdf5, .h5, found 'run.npz'"):
        made.save(tmp_path / "run.npz")
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        ss.read_trajectory(tmp_path / "none.h5")
    (tmp_path / "text.h5").write_text("text")
    with pytest.raises(ss.FormatError, match="expected an HDF5 file"):
        ss.read_trajectory(tmp_path / "text.h5")
    ss.write(tmp_path / "problem.h5", ss.problem.lcp([[1.0]], [1.0]))
    with pytest.raises(ss.FormatError, match=f"expected the group {ROOT}"):
        ss.read_trajectory(tmp_path / "problem.h5")


def spoil(path, name, **made):
    with h5py.File(path, "a") as file:
        del file[ROOT][name]
        if made:
            file[ROOT].create_dataset(name, **made)


@pytest.mark.parametrize(
    ("name", "instead", "words"),
    [
        ("version", {"data": [3]}, "expected 2, the version that this program knows, found 3"),
        ("columns/t", {}, "columns/t: expected a dataset, found nothing"),
        ("columns/t", {"data": np.zeros(0)}, "at least one time"),
        ("columns/t", {"data": np.full(121, np.nan)}, "all finite"),
        ("columns/t", {"data": -np.arange(121)}, "times that do not go back, found -1 s after 0 s"),
        ("columns/q", {"data": np.zeros((121, 4))}, r"shape \(121, 3\), found shape \(121, 4\)"),
        ("columns/q", {"data": np.zeros((120, 3))}, r"shape \(121, 3\), found shape \(120, 3\)"),
        ("columns/q", {"shape": (10**9, 3), "dtype": "f8"}, "declared and never written"),
        ("columns/q", {"data": np.full((121, 3), "x", "S1")}, "numbers of at most 8 bytes"),
        ("columns/verdict", {"data": np.full(121, 3, np.int8)}, "from 0 to 2"),
        ("columns/index", {"data": np.full(121, -7)}, "numbers from -1 to"),
        ("memory/0", {"data": np.zeros((121, 9))}, "memory/0: expected numbers of shape"),
        ("events/kind", {"data": [0, 1, 2]}, "numbers from 0 to 1"),
        ("events/kind", {"data": [0, 1]}, r"shape \(3,\)"),
        ("laws/0/kind", {"data": [9]}, "numbers from 0 to 3"),
        ("laws", {}, "laws: expected a group"),
    ],
)
def test_what_does_not_fit_is_refused(path, name, instead, words):
    spoil(path, name, **instead)
    with pytest.raises(ss.FormatError, match=words):
        ss.read_trajectory(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"systems": None}, "a list of objects as systems"),
        ({"systems": [3]}, "a list of objects as systems"),
        ({"scheme": 1}, "a text as scheme"),
        ({"scheme_options": []}, "an object as scheme_options"),
        ({"steps": -1}, "a count up to"),
        ({"steps": 1.5}, "a count up to"),
        ({"steps": 10**30}, "a count up to"),
        ({"h": 0}, "a positive h"),
        ({"h": float("nan")}, "a finite number as h"),
        ({"origin": float("inf")}, "a finite number as origin"),
        ({"origin": 10**400}, "a finite number as origin"),
        ({"tolerance": True}, "a finite number as tolerance"),
        ({"measures": [1]}, "a list of objects"),
        ({"memory": [{"name": "r", "shape": [1] * 9}]}, "at most 8 counts"),
        ({"memory": [{"name": "r", "shape": [2**31, 2**31]}]}, "memory/0: expected numbers of shape"),
        ({"grid": [0.0, "a"]}, "a list of finite numbers as grid"),
        ({"grid": [0.0, 2.0, 1.0]}, "times must increase"),
        ({"grid": [0.5, 1.0]}, "a grid from 0 s on"),
        ({"adaptive": {"tol": 1.0}}, "Adaptive has no option 'tol'"),
        ({"adaptive": {"tolerance": -1.0}}, "tolerance must lie in"),
    ],
)
def test_what_a_file_says_about_itself_is_checked(path, change, words):
    with h5py.File(path, "a") as file:
        about = json.loads(file[ROOT]["about"][()]) | change
        del file[ROOT]["about"]
        file[ROOT]["about"] = np.bytes_(json.dumps(about))
    with pytest.raises(ss.FormatError, match=words):
        ss.read_trajectory(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, '{"systems": [' + '{"a":' * 50_000])
def test_text_that_is_no_description(path, text):
    spoil(path, "about", data=np.bytes_(text.encode() + b"\0"))
    with pytest.raises(ss.FormatError, match="about"):
        ss.read_trajectory(path)


@pytest.mark.parametrize("name", ["systems", "interactions"])
def test_two_of_the_same_name(path, name):
    with h5py.File(path, "a") as file:
        about = json.loads(file[ROOT]["about"][()])
        about[name] = [about[name][0], about[name][0]]
        del file[ROOT]["about"]
        file[ROOT]["about"] = np.bytes_(json.dumps(about))
    with pytest.raises(ss.FormatError, match=f"{name} with names of their own"):
        ss.read_trajectory(path)


def test_a_file_from_elsewhere_does_not_resume_another_model(path):
    start = ss.read_trajectory(path).checkpoint(3)
    other = ss.NonsmoothSystem([ss.Lagrangian("ball", M=1.0, q0=0.0)])
    with pytest.raises(ss.ModelError, match="its systems are thrown β, braked; here they are ball"):
        ss.simulate(other, until=9.0, start=start)


def test_files_of_version_1_are_read_and_go_on():
    back = ss.read_trajectory(OLD / "systems.h5")
    again = run()
    n = len(back)
    for name in ARRAYS:
        np.testing.assert_allclose(getattr(back, name), getattr(again, name)[:n], rtol=1e-12, atol=1e-15)
    assert back.system("thrown β").z[-1, 0] == n - 1
    assert back.checkpoint(3).memory.keys() == back.memory.keys()
