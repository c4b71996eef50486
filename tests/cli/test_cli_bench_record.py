"""`stickslip bench record`: files and a table, and one sentence for whatever cannot be recorded."""

import os

import pytest

from stickslip.bench.collections import recording
from stickslip.bench.collections.features import Features
from stickslip.files import read_record

RECORD = ("bench", "record")


def test_a_table_of_what_was_written(run, tmp_path):
    out = tmp_path / "new" / "stacks"
    done = run(*RECORD, "stack", "--every", 5, "--bodies", 2, "--until", 0.02, "--out", out)
    assert done.code == 0
    assert done.err == ""
    lines = done.out.splitlines()
    assert lines[0].split()[:3] == ["file", "t", "[s]"]
    assert lines[2].split() == ["stack-bodies2-000001.hdf5", "0", "8", "1", "12", lines[2].split()[-1]]
    assert f"wrote 2 files into {out}" in done.out
    assert [path.name for path in sorted(out.iterdir())] == [line.split()[0] for line in lines[2:4]]


def test_what_a_file_calls_its_recipe_makes_it_again(run, tmp_path):
    given = (
        "stack",
        "--every",
        2,
        "--set",
        "h=0.004",
        "--mu",
        0.3,
        "--from",
        0.01,
        "--most",
        2,
        "--until",
        1,
    )
    assert run(*RECORD, *given, "--bodies", 2, "--out", tmp_path / "a").code == 0
    first = sorted((tmp_path / "a").iterdir())
    words = read_record(first[0]).info["recipe"].split()
    assert words[:3] == ["stickslip", "bench", "record"]
    assert run(*words[1:], "--out", tmp_path / "b").code == 0
    again = sorted((tmp_path / "b").iterdir())
    assert [path.name for path in first] == [path.name for path in again]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]


def test_scenes_of_one_problem(run, tmp_path):
    assert (
        run(*RECORD, "wall-problem", "--rows", 2, "--columns", 2, "--h", 0.002, "--out", tmp_path).code == 0
    )
    record = read_record(tmp_path / "wall-problem-columns2-h0.002-rows2.hdf5")
    assert record.info["recipe"].endswith("wall-problem --set h=0.002 --rows 2 --columns 2")
    assert Features.of(record.problem).contacts == int(record.info["contacts"])
    run(*RECORD, "wall-problem", "--until", 1, "--out", tmp_path).refuses("wall-problem is a single problem")


def test_no_contact_at_all(run, tmp_path):
    done = run(*RECORD, "bouncing-ball", "--every", 1, "--until", 0.1, "--out", tmp_path / "none")
    assert done.code == 1
    done.says("no step until 0.1 s had a contact")
    assert not (tmp_path / "none").exists()


def test_a_scene_that_fails_half_way_says_so(run, tmp_path, monkeypatch):
    record = recording.record

    def short(scene, parameters, folder, **how):
        from stickslip.state import ModelError

        record(scene, parameters, folder, **how)
        error = ModelError("body 'top': at t = 0.1 s, q is not finite")
        error.trajectory = object()  # as a run that had begun leaves it
        raise error

    monkeypatch.setattr(recording, "record", short)
    done = run(*RECORD, "stack", "--every", 1, "--bodies", 2, "--most", 2, "--out", tmp_path)
    assert done.code == 1
    assert "wrote 2 files" in done.out
    done.says("q is not finite", "the 2 problems before that are kept")
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("stcak", "--every", 1), ("unknown scene 'stcak'", "wall", "stack")),
        (("stack",), ("--every is missing",)),
        (("stack", "--every", 0), ("every is 0", "at least 1")),
        (("stack", "--every", "often"), ("often",)),
        (("stack", "--every", 1, "--most", 0), ("most is 0",)),
        (("stack", "--every", 1, "--from", -1), ("--from is -1",)),
        (("stack", "--every", 1, "--from", "nan"), ("--from is nan",)),
        (("stack", "--every", 1, "--until", 0), ("until is 0",)),
        (("stack", "--every", 1, "--h", -1), ("h is -1",)),
        (("stack", "--every", 1, "--solver", "sledge"), ("unknown solver 'sledge'",)),
        (("stack", "--every", 1, "--bodeis", 3), ("--bodeis", "bodies, mu")),
        (("stack", "--every", 1, "--bodies", "few"), ("bodies takes a whole number",)),
        (("stack", "--every", 1, "--bodies", -1), ("bodies is -1",)),
        (("stack", "--every", 1, "--bodies", 2, "--set", "bodies=3"), ("bodies is given twice",)),
    ],
)
def test_what_cannot_be_recorded_is_one_sentence(run, tmp_path, given, words):
    run(*RECORD, *given, "--out", tmp_path / "x").refuses(*words)
    assert not (tmp_path / "x").exists()


def test_a_function_that_fails_is_named(run, tmp_path):
    file = tmp_path / "models.py"
    file.write_text("def heavy():\n    raise ValueError('too heavy')\n")
    done = run(*RECORD, f"{file}:heavy", "--every", 1, "--out", tmp_path / "x")
    done.refuses("models.py:heavy fails with ValueError: too heavy")


def test_a_place_that_cannot_be_written(run, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    run(*RECORD, "stack", "--every", 1, "--out", file).refuses(
        f"{file}: this is a file; --out takes the name of a folder"
    )
    run(*RECORD, "stack", "--every", 1, "--out", file / "below").refuses(
        "this is a file; --out takes the name of a folder"
    )
    if os.geteuid():
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o500)
        run(*RECORD, "stack", "--every", 1, "--out", closed).refuses("permission denied")
