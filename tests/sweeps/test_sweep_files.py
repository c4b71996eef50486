"""Files of sweeps: whatever is wrong with one is said with its place, and nothing of it is believed."""

import contextlib
import json
from pathlib import Path

import h5py
import numpy as np
import pytest

import stickslip as ss
from stickslip.bench.campaigns.journal import journal_of
from stickslip.files.errors import FormatError
from stickslip.files.hdf5_write import put_text
from stickslip.sweeps.sweep_file import HEAD, ROOT

FILE = Path(__file__).with_name("swept.py")


@pytest.fixture
def made(tmp_path):
    """A file of four runs."""
    out = tmp_path / "s.h5"
    given = {"height": [1.0, 2.0], "e": [0.0, 0.5]}
    ss.sweep(f"{FILE}:drop", given, f"{FILE}:several", executor="here", until=0.1, h=0.01, out=out)
    return out


def changed(path, change):
    with h5py.File(path, "r+") as file:
        change(file[ROOT])


def text(group, name, value):
    del group[name]
    put_text(group, name, value)


def said(group, **fields):
    """The definition with other fields."""
    data = json.loads(group["sweep"][()].decode().rstrip("\0")) | fields
    text(group, "sweep", json.dumps(data))


def column(part, name, value):
    def change(group):
        del group[part][name]
        group[part][name] = value

    return change


def design(**fields):
    def change(group):
        data = json.loads(group["sweep"][()].decode().rstrip("\0"))
        data["design"] |= fields
        text(group, "sweep", json.dumps(data))

    return change


HUGE = {"name": "x", "how": "grid", "values": list(range(5000))}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda g: column(".", "version", [2])(g), "version 1"),
        (lambda g: text(g, "sweep", "{"), "sweep: expected JSON"),
        (lambda g: text(g, "sweep", "[1]"), "sweep: expected an object"),
        (lambda g: said(g, make=3), "sweep, make"),
        (lambda g: said(g, more=3), "sweep: expected one of make"),
        (design(repeat=0), "repeat is 0"),
        (design(repeat=10**9), "at most 10000000"),
        (design(method="magic"), "magic"),
        (design(parameters=[HUGE, HUGE | {"name": "y"}]), "at most 10000000"),
        (design(parameters=[HUGE]), "5000 numbers, one for each run|nothing"),
        (design(parameters=[{"name": "../runs", "how": "grid", "values": [1.0, 2.0]}] * 2), "given twice"),
        (lambda g: text(g, "environment", "{}"), "environment"),
        (lambda g: text(g, "names", '["a", "a"]'), "names"),
        (lambda g: text(g, "names", "[1, 2]"), "names"),
        (lambda g: text(g, "names", '["other", "where it began [m]"]'), "measures"),
        (column("runs", "outcome", np.zeros(3, np.int8)), "4 numbers, one for each run"),
        (column("runs", "outcome", np.full(4, 7, np.int8)), "numbers from -1 to 6"),
        (column("runs", "outcome", np.array([b"a"] * 4)), "runs/outcome"),
        (column("runs", "t", h5py.SoftLink("/elsewhere")), "a link to elsewhere"),
        (column("parameters", "height", h5py.ExternalLink("/etc/passwd", "/")), "a link to elsewhere"),
        (column("measures", "height at the end [m]", np.zeros(10**6)), "4 numbers"),
        (lambda g: g["runs"].__delitem__("residual"), "runs/residual: expected a dataset, found nothing"),
        (lambda g: g.__delitem__("failures"), "failures"),
        (column("failures", "number", np.array([9])), "failures/number"),
        (column(".", "first", np.array([[9, 0], [0, 1]])), "first"),
    ],
)
def test_hostile_files_are_refused(made, change, words):
    changed(made, change)
    with pytest.raises(FormatError, match=words):
        ss.read(made)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"format": "a diary"}, "line 1: expected the format"),
        ({"version": 2}, "line 1: expected version 1"),
        ({"sweep": {}}, "line 1, sweep, make"),
        ({"more": 1}, "line 1: expected an object of"),
    ],
)
def test_hostile_first_lines_of_journals_are_refused(made, line, words):
    with h5py.File(made) as file:
        group = file[ROOT]
        head = {name: json.loads(group[name][()].decode().rstrip("\0")) for name in ("sweep", "environment")}
    head = {"format": HEAD["format"], "version": 1, "command": ""} | head | line
    journal_of(made).write_text(json.dumps(head) + "\n")
    with pytest.raises(FormatError, match=words):
        ss.read(made)


@pytest.mark.parametrize(
    "row",
    [
        {"number": 4, "outcome": "SOLVED"},
        {"number": -1, "outcome": "SOLVED"},
        {"number": 0, "outcome": "WON"},
        {"number": 0, "outcome": "SOLVED", "names": ["a"], "values": []},
        {"number": 0, "outcome": "SOLVED", "names": [""], "values": [1.0]},
        {"number": 0, "outcome": "SOLVED", "steps": 1e300},
        [1],
        "x",
    ],
)
def test_hostile_rows_of_journals_are_refused(made, row):
    with h5py.File(made) as file:
        group = file[ROOT]
        head = {name: json.loads(group[name][()].decode().rstrip("\0")) for name in ("sweep", "environment")}
    head = {"format": HEAD["format"], "version": 1, "command": ""} | head
    journal_of(made).write_text(f"{json.dumps(head)}\n{json.dumps(row)}\n")
    with pytest.raises(FormatError, match="line 2"):
        ss.read(made)


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9])
def test_a_torn_file_is_refused(made, cut):
    content = made.read_bytes()
    made.write_bytes(content[: int(cut * len(content))])
    with pytest.raises((FormatError, ValueError)):
        ss.read(made)


@pytest.mark.parametrize("seed", range(20))
def test_a_file_with_wrong_bytes_is_read_or_refused(made, seed):
    rng = np.random.default_rng(seed)
    content = np.frombuffer(made.read_bytes(), np.uint8).copy()
    content[rng.integers(0, content.size, 30)] = rng.integers(0, 256, 30)
    made.write_bytes(content.tobytes())
    with contextlib.suppress(ValueError):
        ss.read(made)
