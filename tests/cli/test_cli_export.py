"""`stickslip export`: files for other programs, and one sentence where there are none."""

import csv
import typing

import pytest

import stickslip as ss
from stickslip import export
from stickslip.cli import export as verb
from tests.world_runs import Drop, balls


@pytest.fixture(scope="module")
def ball(tmp_path_factory):
    """The file of a ball that bounces."""
    body = ss.Lagrangian("ball", M=1.0, q0=0.1, F_ext=-9.81)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.5))
    path = tmp_path_factory.mktemp("runs") / "ball.h5"
    ss.simulate(ss.NonsmoothSystem([body], [floor]), until=0.3, h=1e-3).save(path)
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The file of two balls that fall."""
    path = tmp_path_factory.mktemp("runs") / "world.h5"
    ss.simulate(balls(2), until=0.3, h=5e-3, scheme=Drop()).save(path)
    return path


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_what_the_help_lists_is_what_there_is():
    from stickslip.export import tables, writer

    assert writer.ENDINGS == verb.ENDINGS
    assert tuple(tables.MAKERS) == typing.get_args(verb.Table)


def test_without_a_table_there_is_a_file_for_each(run, ball, world, tmp_path):
    result = run("export", ball, tmp_path / "ball.csv")
    assert (result.code, result.err) == (0, "")
    names = ["ball-states.csv", "ball-interactions.csv", "ball-energies.csv"]
    assert [line.split()[1] for line in result.out.splitlines()] == [str(tmp_path / name) for name in names]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert len(rows(tmp_path / "ball-energies.csv")) == 301
    assert run("export", world, tmp_path / "world.csv").out.count("wrote ") == 3


def test_one_table_goes_to_the_file_that_is_named_thinned(run, world, tmp_path):
    out = tmp_path / "forces.csv"
    chosen = ("--table", "states", "--from", "0.1", "--until", "0.2", "--every", "10")
    result = run("export", world, out, *chosen)
    assert result.out.startswith(f"wrote {out} (")
    assert [path.name for path in tmp_path.iterdir()] == ["forces.csv"]
    assert [(row["t [s]"], row["body"]) for row in rows(out)] == [
        (t, body) for t in ("0.1", "0.15", "0.2") for body in ("floor", "ball 0", "ball 1")
    ]


@pytest.mark.parametrize("name", ["x.parquet", "x.vtkhdf", "x.usda", "x.usdc", "x.usd", "x.rrd"])
def test_every_ending_is_written(run, world, tmp_path, name):
    packages = {"parquet": "pyarrow", "rrd": "rerun", "vtkhdf": "h5py"}
    pytest.importorskip(packages.get(name.split(".")[1], "pxr"))
    result = run("export", world, tmp_path / name)
    assert (result.code, result.err) == (0, "")
    places = [line.split()[1] for line in result.out.splitlines()]
    assert places == [str(path) for path in export.write(ss.read_trajectory(world), tmp_path / name)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x.xlsx"], ["x.xlsx", ".csv or .parquet or .vtkhdf", ".rrd"]),
        (["x"], ["the name must end in .csv"]),
        (
            ["x.csv", "--table", "interactions"],
            ["has no table 'interactions'", "states, contacts, energies"],
        ),
        (["x.csv", "--table", "forces"], ["forces", "contacts"]),
        (["x.vtkhdf", "--table", "states"], ["a table is written to .csv or .parquet"]),
        (["x.csv", "--from", "1"], ["no record from 1 to 0.3 s"]),
        (["x.csv", "--until", "nan"], ["no record"]),
        (["x.csv", "--every", "-2"], ["every -2"]),
        (["no/x.csv"], ["no directory"]),
    ],
)
def test_what_cannot_be_exported_is_said_in_a_sentence(run, world, tmp_path, arguments, words):
    run("export", world, tmp_path / arguments[0], *arguments[1:]).refuses(*words)
    assert not list(tmp_path.iterdir())


def test_bad_files_are_said_in_a_sentence(run, ball, local_file, tmp_path):
    run("export", tmp_path / "none.h5", tmp_path / "x.csv").refuses("none.h5: no such file")
    run("export", local_file, tmp_path / "x.csv").refuses("local.hdf5")
    run("export", ball, tmp_path / "x.usda").refuses("written equations", "tables")
    (tmp_path / "x-states.csv").mkdir()
    run("export", ball, tmp_path / "x.csv").refuses("x-states.csv: is a directory")


def test_the_file_that_is_read_is_not_written_over(run, ball, tmp_path):
    link = tmp_path / "x.csv"
    link.symlink_to(ball)
    run("export", ball, link, "--table", "states").refuses("would overwrite the input")


def test_a_package_that_is_missing_is_named(run, world, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    run("export", world, tmp_path / "x.parquet").refuses("pyarrow", 'pip install "stickslip[tables]"')
    assert not list(tmp_path.iterdir())
