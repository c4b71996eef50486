"""Tables of runs: what the run itself says, the same whatever the size of blocks, and back from files."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pandas", reason="the extra stickslip[tables] is not installed")

import pandas

import stickslip as ss
from stickslip.export import ExportError, frame, records, write
from stickslip.export.tables import tables
from stickslip.export.writer import ENDINGS
from stickslip.problem.solution import Verdict
from stickslip.state import ModelError

WORLD, SYSTEM = ("states", "contacts", "energies", "sensors"), ("states", "interactions", "energies")

PACKAGES = {".csv": "pandas", ".parquet": "pyarrow", ".vtkhdf": "h5py", ".rrd": "rerun"}
"""What endings need, others than USD's."""


def columns(found, start):
    return found[[name for name in found if name.startswith(start)]].to_numpy()


def test_states_of_bodies_are_those_of_their_views(world):
    found = frame(world)
    assert len(found) == len(world) * len(world.model)
    for name in world.model.names:
        rows, view = found[found["body"] == name], world.body(name)
        assert np.array_equal(rows["t [s]"], world.t)
        for what in ("position", "quaternion", "velocity", "spin"):
            np.testing.assert_array_equal(columns(rows, what), getattr(view, what))


def test_contacts_are_the_contact_table(world, tmp_path):
    world.contact_table().write_csv(tmp_path / "own.csv")
    write(world, tmp_path / "table.csv", table="contacts")
    assert (tmp_path / "table.csv").read_bytes() == (tmp_path / "own.csv").read_bytes()
    found = frame(world, "contacts")
    total = found[found["body"] == "ball"].groupby("t [s]")[["force_x [N]", "force_z [N]"]].sum()
    at = np.searchsorted(world.t, total.index)
    np.testing.assert_allclose(total, world.forces_on("ball")[at][:, [0, 2]], rtol=0, atol=1e-12)


def test_sensors_have_a_row_per_number(world):
    found = frame(world, "sensors")
    eye = found[found["sensor"] == "eye"]
    np.testing.assert_array_equal(eye["value"].to_numpy().reshape(-1, 3), world.sensors["eye"])
    assert eye["component"].tolist() == [0, 1, 2] * len(world)
    np.testing.assert_array_equal(found[found["sensor"] == "tilt"]["value"], world.sensors["tilt"])


def test_states_of_systems_are_those_of_their_views(system):
    found = frame(system)
    ball = found[found["system"] == "ball"]
    np.testing.assert_array_equal(ball["q_0"], system.system("ball").q[:, 0])
    assert ball["q_1"].isna().all()
    block = found[found["system"] == "block"]
    np.testing.assert_array_equal(columns(block, "v_"), system.system("block").v)


def test_interactions_are_those_of_their_views(system):
    found = frame(system, "interactions")
    for name in ("ground", "floor"):
        rows, view = found[found["interaction"] == name], system.interaction(name)
        for what in ("r", "u", "y"):
            np.testing.assert_array_equal(rows[what], getattr(view, what).reshape(-1))
        first = rows[rows["component"] == 0]
        assert first["state"].tolist() == view.states[:, 0].tolist()
        assert first["active"].tolist() == view.active[:, 0].tolist()


def test_joints_have_a_row_each(monkeypatch):
    """As `run.joint(name)` tells them; what a joint does not leave free is None there, and NaN here."""
    builder = ss.WorldBuilder()
    builder.body("rod", ss.Capsule(0.05, 0.5), density=500.0)
    builder.joint("pin", "hinge", "rod", None, point=(0.0, 0.0, 0.3), axis=(0.0, 1.0, 0.0))
    builder.joint("rope", "distance", "rod", None, point=(0.0, 0.0, -0.2), second_point=(0.0, 0.0, -1.0))
    run = ss.simulate(builder.build(), until=0.02, h=2e-3)
    vectors = np.arange(3.0 * len(run)).reshape(-1, 3)
    none = {"position": None, "angle": None, "turn_speed": None, "turn_effort": None}
    told = {"speed": 2.0 * run.t, "effort": 0.0 * run.t, "force": vectors, "moment": -vectors}
    views = {
        "pin": SimpleNamespace(**none | told | {"angle": run.t}),
        "rope": SimpleNamespace(**none | told | {"position": 1.0 + run.t}),
    }
    monkeypatch.setattr(type(run), "joint", lambda self, name: views[name], raising=False)
    found = frame(run, "joints", every=2)
    pin, rope = (found[found["joint"] == name] for name in ("pin", "rope"))
    np.testing.assert_array_equal(pin["angle [rad]"], run.t[::2])
    np.testing.assert_array_equal(rope["position [m]"], 1.0 + run.t[::2])
    assert pin["position [m]"].isna().all()
    np.testing.assert_array_equal(pin["speed [m/s or rad/s]"], 2.0 * run.t[::2])
    np.testing.assert_array_equal(columns(rope, "moment_"), -vectors[::2])

    def untold(self, name):
        raise ModelError("it is from before they were kept")

    monkeypatch.setattr(type(run), "joint", untold)
    assert tables(run) == ("states", "contacts", "energies")


@pytest.mark.parametrize("kind", ["world", "system"])
def test_energies_add_up(kind, request):
    run = request.getfixturevalue(kind)
    found = frame(run, "energies")
    np.testing.assert_array_equal(found["kinetic [J]"] + found["potential [J]"], found["energy [J]"])
    np.testing.assert_array_equal(found["natural [-]"], run.natural)
    assert set(found["verdict"]) == {"certified"}


def test_of_records_left_out_the_worst_is_kept(world):
    verdicts, natural = np.array(world.verdicts), np.array(world.natural)
    verdicts[7], natural[13] = Verdict.MISSED.code, 0.5
    found = frame(world.with_columns(verdicts=verdicts, natural=natural), "energies", every=10)
    np.testing.assert_array_equal(found["t [s]"], world.t[::10])
    assert (found["verdict"] == "missed").tolist() == [False, True, False, False, False]
    assert (found["natural [-]"] == 0.5).tolist() == [False, False, True, False, False]
    assert found["iterations"].sum() == world.iterations.sum()


@pytest.mark.parametrize(
    ("kind", "what"), [("world", what) for what in WORLD] + [("system", what) for what in SYSTEM]
)
def test_the_size_of_blocks_changes_nothing(kind, what, request, monkeypatch):
    run = request.getfixturevalue(kind)
    chosen = {"start": 0.02, "until": 0.15, "every": 3}
    whole = frame(run, what, **chosen)
    every = frame(run, what)
    some = every[every["t [s]"].isin(run.t[(run.t > 0.019) & (run.t < 0.151)][::3])]
    if what != "energies":  # which tell of the records in between, too
        pandas.testing.assert_frame_equal(whole, some.reset_index(drop=True))
    for size in (0.0, 2e4):
        monkeypatch.setattr(records, "BLOCK", size)
        pandas.testing.assert_frame_equal(frame(run, what, **chosen), whole)


@pytest.mark.parametrize(("kind", "names"), [("world", WORLD), ("system", SYSTEM)])
def test_files_hold_the_tables(kind, names, request, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(records, "BLOCK", 2e4)  # several row groups
    run = request.getfixturevalue(kind)
    assert [path.name for path in write(run, tmp_path / "x.csv")] == [f"x-{name}.csv" for name in names]
    assert len(write(run, tmp_path / "x.parquet")) == len(names)
    assert len(list(tmp_path.iterdir())) == 2 * len(names)
    for name in names:
        found = frame(run, name)
        pandas.testing.assert_frame_equal(pandas.read_parquet(tmp_path / f"x-{name}.parquet"), found)
        text = pandas.read_csv(tmp_path / f"x-{name}.csv", float_precision="round_trip")
        pandas.testing.assert_frame_equal(text, found, check_exact=True)


def test_a_run_without_contacts_has_an_empty_table(world, tmp_path):
    pytest.importorskip("pyarrow")
    for ending in ("csv", "parquet"):
        write(world, tmp_path / f"x.{ending}", table="contacts", until=0.0)
    assert len(pandas.read_csv(tmp_path / "x.csv")) == 0
    assert pandas.read_parquet(tmp_path / "x.parquet").columns[1] == "body"


def test_what_is_not_there_is_said(world, system, tmp_path):
    with pytest.raises(ExportError, match=r"unknown table 'sates'; .*states"):
        frame(world, "sates")
    with pytest.raises(ExportError, match="of bodies, has no table 'interactions'; its tables: states"):
        frame(world, "interactions")
    with pytest.raises(ExportError, match="written equations, has no table 'contacts'"):
        frame(system, "contacts")
    with pytest.raises(ExportError, match=r"no record from 3 to 0.2 s; .* from 0 to 0.2 s"):
        frame(world, start=3.0)
    with pytest.raises(ExportError, match="every 0"):
        frame(world, every=0)
    with pytest.raises(ExportError, match=r"x.xlsx: the name must end in .csv, .* or .rrd"):
        write(world, tmp_path / "x.xlsx")
    with pytest.raises(ExportError, match=r"a table is written to .csv or .parquet"):
        write(world, tmp_path / "x.usda", table="states")
    for ending in ("vtkhdf", "usda"):
        with pytest.raises(ExportError, match="has no bodies; export its tables"):
            write(system, tmp_path / f"x.{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("package", "ending", "extra"),
    [("pyarrow", "parquet", "tables"), ("pxr", "usda", "usd"), ("rerun", "rrd", "rerun")],
)
def test_a_package_that_is_missing_is_named(world, tmp_path, monkeypatch, package, ending, extra):
    place = tmp_path / f"x-states.{ending}" if ending == "parquet" else tmp_path / f"x.{ending}"
    place.write_text("kept")
    for name in (package, f"{package}.parquet", f"{package}.Gf"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf'package {package}.*pip install "stickslip\[{extra}\]"'):
        write(world, tmp_path / f"x.{ending}")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["kept"]


def test_a_write_that_fails_leaves_what_was_there(world, tmp_path):
    place = tmp_path / "x.csv"
    place.write_text("kept")

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(world, place, table="states", report=stop)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_run_that_blew_up_is_exported_all_the_same(ending, tmp_path):
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("ball", ss.Sphere(0.1), position=(0.0, 0.0, 0.1), density=1.0)
    run = ss.simulate(builder.build(), until=0.05, h=0.01)
    q, v = np.array(run.q), np.array(run.v)
    q[3:, 7:], v[3:], q[5, 10:] = np.nan, np.inf, 0.0
    pytest.importorskip(PACKAGES.get(ending, "pxr"))
    for place in write(run.with_columns(q=q, v=v), tmp_path / f"x{ending}"):
        assert place.stat().st_size > 0
