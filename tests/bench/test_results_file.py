"""The file of results: everything comes back, plain h5py reads it, and hostile ones are refused."""

import errno
import json
import math
import os
from dataclasses import replace

import h5py
import numpy as np
import pytest
from made_results import CONDITIONS, PLACE, entry, run_of, same, table

from stickslip.bench.campaigns.journal import Journal, journal_of
from stickslip.bench.campaigns.results_file import (
    ADDED,
    ROOT,
    journal_head,
    read_results,
    results_content,
    write_results,
)
from stickslip.bench.collections.features import Features
from stickslip.bench.records import Outcome
from stickslip.bench.results import Mixed, Results
from stickslip.files.errors import FormatError

THERE = replace(PLACE, processor="Chip \N{GREEK SMALL LETTER MU} 7", cores=64)


def odd_table() -> Results:
    """A table with everything that is hard to keep."""
    features = Features("global", 2, 0, 6, 12, 1, True, math.inf, 5, math.nan, True)
    problems = (
        entry("plain"),
        replace(entry("odd/näme \N{SNOWMAN}"), features=features, title="a\ntitle \x1b[31m", recipe='x "y"'),
        entry("never run"),
    )
    runs = (
        run_of(problems[0].hash, "nsgs", history=np.zeros((0, 3))),
        run_of(problems[0].hash, "nsgs", 1e-8, outcome=Outcome.TIMEOUT, seconds=20.0, natural=math.nan),
        run_of(problems[0].hash, "\N{GREEK SMALL LETTER LAMDA}-solver:a=1", natural=math.inf, work=-math.inf),
        run_of(problems[1].hash, "clarabel", source="clarabel 0.11.1", options={}, status="SOLVED"),
        run_of(problems[1].hash, "clarabel", 1e-8, source="clarabel 0.11.1", options={"x": [1, {"y": "z"}]},
               outcome=Outcome.CRASHED, reason="signal 11,\nit said \x00 and \ud800"),
        run_of(problems[1].hash, "nsgs", environment=THERE, history=np.arange(30.0).reshape(10, 3) / 7.0),
        run_of(problems[1].hash, "prox", 5e-324, iterations=2**62, memory=1e308, outcome=Outcome.REFUSED),
    )  # fmt: skip
    return Results(CONDITIONS, problems, runs, "stickslip bench run --out 'ü'").in_order()


@pytest.mark.parametrize(
    "results", [odd_table(), table("a"), Results(CONDITIONS, ())], ids=["odd", "a", "empty"]
)
def test_what_is_written_comes_back(tmp_path, results):
    write_results(tmp_path / "r.h5", results)
    back = read_results(tmp_path / "r.h5")
    assert repr(back.problems) == repr(results.problems)  # NaN is not equal to itself
    assert same(replace(back, problems=()), replace(results, problems=()))
    for mine, theirs in zip(results.runs, back.runs, strict=True):
        assert mine.history.tobytes() == theirs.history.tobytes()
        assert theirs.history.shape == mine.history.shape
    assert results_content(back) == results_content(results)


def test_equal_tables_are_equal_bytes_and_no_draft_is_left(tmp_path):
    for name in ("a.h5", "b.h5"):
        write_results(tmp_path / name, odd_table())
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.h5", "b.h5"]


def test_plain_h5py_reads_it(tmp_path):
    results = odd_table()
    write_results(tmp_path / "r.h5", results)
    with h5py.File(tmp_path / "r.h5") as file:
        group = file[ROOT]
        problems = json.loads(group["problems"][()])
        runs = group["runs"]
        columns = zip(runs["problem"][:], runs["solver"].asstr()[:], runs["outcome"].asstr()[:], strict=True)
        found = [(problems[k]["hash"], solver, outcome) for k, solver, outcome in columns]
        assert found == [(run.problem, run.solver, run.outcome.name) for run in results.runs]
        np.testing.assert_array_equal(runs["seconds"][:], [run.seconds for run in results.runs])
        start, end = runs["offset"][-3:-1]
        longest = max(results.runs, key=lambda run: len(run.history))
        assert len(longest.history) == end - start == 10
        np.testing.assert_array_equal(runs["history"][start:end], longest.history)
        assert json.loads(group["conditions"][()])["timeout"] == 20.0


def test_files_without_median_and_longest_times_are_read(tmp_path):
    def older(group):
        for name in ADDED:
            del group["runs"][name]

    back = read_results(changed(tmp_path, older))
    assert same(replace(back, problems=()), replace(odd_table(), problems=()))
    assert math.isnan(back.runs[0].longest_seconds)


def test_many_runs_of_long_histories(tmp_path):
    history = np.zeros((400_000, 3))  # packs so well that readers would suspect it
    runs = tuple(run_of("hash of a", f"solver{k}", history=history) for k in range(4))
    results = Results(CONDITIONS, (entry("a"),), runs)
    write_results(tmp_path / "r.h5", results)
    assert [len(run.history) for run in read_results(tmp_path / "r.h5").runs] == [400_000] * 4


def changed(tmp_path, change):
    """The odd table in a file after `change` was made to its group."""
    path = tmp_path / "r.h5"
    write_results(path, odd_table())
    with h5py.File(path, "r+") as file:
        change(file[ROOT])
    return path


def put(group, name, value):
    del group[name]
    group[name] = value


def said(group, name, change):
    """Change what a JSON text says."""
    data = json.loads(group[name][()])
    put(group, name, np.bytes_(json.dumps(change(data))))


def shorter(group, name):
    put(group, name, group[name][:-1])


HOSTILE = {
    "another version": (lambda g: put(g, "version", [2]), "version 1"),
    "no version": (lambda g: g.__delitem__("version"), "version"),
    "no runs": (lambda g: g.__delitem__("runs"), "runs"),
    "no solver": (lambda g: g["runs"].__delitem__("solver"), "solver"),
    "no JSON": (lambda g: put(g, "conditions", np.bytes_(b"{")), "JSON"),
    "NaN in JSON": (lambda g: put(g, "conditions", np.bytes_(b'{"timeout": NaN}')), "JSON"),
    "deep JSON": (lambda g: put(g, "options", np.bytes_(b"[" * 100_000)), "JSON"),
    "deep options": (
        lambda g: put(
            g, "options", np.bytes_(b'[{"a":' + b"[" * 50 + b"]" * 50 + b"}," + b"{}," * 9 + b"{}]")
        ),
        "at most 6 levels",
    ),
    "a list of conditions": (lambda g: put(g, "conditions", np.bytes_(b"[]")), "an object"),
    "conditions without timeout": (
        lambda g: said(g, "conditions", lambda c: {k: v for k, v in c.items() if k != "timeout"}),
        "timeout",
    ),
    "an unknown condition": (lambda g: said(g, "conditions", lambda c: c | {"mood": "good"}), "'mood'"),
    "workers in words": (lambda g: said(g, "conditions", lambda c: c | {"workers": "two"}), "workers"),
    "workers of many digits": (lambda g: said(g, "conditions", lambda c: c | {"workers": 10**30}), "workers"),
    "a tolerance too large": (
        lambda g: said(g, "conditions", lambda c: c | {"tolerances": [10**400]}),
        "tolerances",
    ),
    "tolerances in words": (
        lambda g: said(g, "conditions", lambda c: c | {"tolerances": ["low"]}),
        "tolerances",
    ),
    "an environment of nothing": (
        lambda g: said(g, "conditions", lambda c: c | {"environment": None}),
        "environment",
    ),
    "packages of numbers": (
        lambda g: said(
            g, "conditions", lambda c: c | {"environment": c["environment"] | {"packages": {"a": 1}}}
        ),
        "packages",
    ),
    "a problem twice": (lambda g: said(g, "problems", lambda p: [*p, p[0]]), "twice"),
    "problems in words": (lambda g: put(g, "problems", np.bytes_(b'["a"]')), "an object"),
    "a problem without hash": (lambda g: said(g, "problems", lambda p: [*p, {"name": "a"}]), "family"),
    "a problem too few": (lambda g: said(g, "problems", lambda p: p[:1]), "integers in [0, 1)"),
    "a long name": (
        lambda g: said(g, "problems", lambda p: [p[0] | {"name": "a" * 200_000}, *p[1:]]),
        "name",
    ),
    "an unknown feature": (
        lambda g: said(g, "problems", lambda p: [p[0] | {"features": p[0]["features"] | {"x": 1}}, *p[1:]]),
        "'x'",
    ),
    "an unknown outcome": (lambda g: put(g["runs"], "outcome", np.full(7, b"WON")), "'WON'"),
    "solvers of any length": (
        lambda g: put(g["runs"], "solver", np.array(["a"] * 7, h5py.string_dtype())),
        "texts of one length",
    ),
    "solvers in numbers": (lambda g: put(g["runs"], "solver", np.arange(7)), "texts of one length"),
    "seconds too few": (lambda g: shorter(g["runs"], "seconds"), "7 rows"),
    "reasons too few": (lambda g: put(g["runs"], "reason", np.bytes_(b"[]")), "7 rows"),
    "reasons in numbers": (lambda g: put(g["runs"], "reason", np.bytes_(b"[1,2,3,4,5,6,7]")), "reason"),
    "seconds in words": (lambda g: put(g["runs"], "seconds", np.full(7, b"long")), "numbers"),
    "seconds in a square": (lambda g: put(g["runs"], "seconds", np.zeros((7, 7))), "dimension"),
    "iterations in reals": (lambda g: put(g["runs"], "iterations", np.full(7, 0.5)), "integers"),
    "another environment": (lambda g: put(g["runs"], "environment", np.full(7, 5)), "integers in [-1, 1)"),
    "negative options": (lambda g: put(g["runs"], "options", np.full(7, -1)), "integers in [0"),
    "a history of two columns": (lambda g: put(g["runs"], "history", np.zeros((22, 2))), "shape"),
    "a history too short": (lambda g: shorter(g["runs"], "history"), "offset"),
    "offsets that fall": (
        lambda g: put(g["runs"], "offset", np.array([0, 5, 3, 22, 22, 22, 22, 22])),
        "offset",
    ),
    "offsets too few": (lambda g: shorter(g["runs"], "offset"), "shape"),
    "one run twice": (
        lambda g: [
            put(g["runs"], name, np.repeat(g["runs"][name][:1], 7))
            for name in ("problem", "solver", "source", "tolerance")
        ],
        "one of them twice",
    ),
    "terabytes": (
        lambda g: (g["runs"].__delitem__("seconds"), g["runs"].create_dataset("seconds", (2**37,), "f8")),
        "bytes",
    ),
    "a link": (lambda g: (g.__delitem__("runs"), g.__setitem__("runs", h5py.SoftLink("/"))), "link"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(tmp_path, name):
    change, word = HOSTILE[name]
    path = changed(tmp_path, change)
    with pytest.raises(FormatError) as refusal:
        read_results(path)
    assert str(refusal.value).startswith(f"{path}: ")
    assert word in str(refusal.value)
    assert len(str(refusal.value)) < 1000


@pytest.mark.parametrize("content", [b"", b"hello", b"\x89HDF\r\n\x1a\n" + b"x" * 100])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "r.h5").write_bytes(content)
    with pytest.raises(FormatError):
        read_results(tmp_path / "r.h5")
    with pytest.raises(FormatError, match="regular file"):
        read_results(tmp_path)
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_results(tmp_path / "nothing.h5")


def test_a_damaged_file_is_refused_or_read(tmp_path):
    """Whatever a flipped byte does, it is no traceback of another kind."""
    write_results(tmp_path / "r.h5", table("a"))
    content = bytearray((tmp_path / "r.h5").read_bytes())
    for place in np.random.default_rng(0).integers(len(content), size=60).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        (tmp_path / "r.h5").write_bytes(damaged)
        try:
            read_results(tmp_path / "r.h5")
        except FormatError:
            continue


@pytest.fixture
def journal(tmp_path):
    """The lines of a journal of four runs beside no file yet."""
    results = table("a", "b")
    book = Journal(tmp_path / "r.h5")
    book.begin(journal_head(results))
    for run in results.runs:
        book.add(run)
    book.close(keep=True)
    path = journal_of(tmp_path / "r.h5")
    return path, path.read_bytes().splitlines(keepends=True)


def test_a_journal_alone_is_a_table(tmp_path, journal):
    assert same(read_results(tmp_path / "r.h5"), table("a", "b"))


def test_a_journal_adds_to_its_file(tmp_path, journal):
    write_results(tmp_path / "r.h5", table("b", "c"))
    both = read_results(tmp_path / "r.h5")
    assert [e.name for e in both.problems] == ["b", "c", "a"]
    assert len(both.runs) == 6


def test_a_journal_of_other_conditions_is_refused(tmp_path, journal):
    write_results(tmp_path / "r.h5", table("a", timeout=1.0))
    with pytest.raises(Mixed, match=r"timeout.*r\.h5 has timeout 1 s.*r\.h5\.journal has timeout 20 s"):
        read_results(tmp_path / "r.h5")


@pytest.mark.parametrize("torn", [b"{", b"x\n", b"[]\n", b"\n", b"[" * 100_000 + b"\n", b'{"problem": 3}\n'])
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_torn_line_in_the_middle_is_an_error(tmp_path, journal, place, torn):
    path, lines = journal
    cut = lines[place][:50] + b"\n" if torn == b"{" else torn
    path.write_bytes(b"".join([*lines[:place], cut, *lines[place + 1 :]]))
    with pytest.raises(FormatError, match=rf"r\.h5\.journal: line {place + 1}"):
        read_results(tmp_path / "r.h5")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"version": 2}, "version 1"),
        ({"format": "diary"}, "format"),
        ({"problems": {}}, "an object of"),
        ({"mood": 1}, "an object of"),
        ({"problems": []}, "line 2, problem"),
        ({"conditions": {}}, "tolerances"),
    ],
)
def test_hostile_journals_are_refused(tmp_path, journal, change, word):
    path, lines = journal
    head = json.dumps(json.loads(lines[0]) | change).encode() + b"\n"
    path.write_bytes(b"".join([head, *lines[1:]]))
    with pytest.raises(FormatError, match=word):
        read_results(tmp_path / "r.h5")


def test_a_full_disk_is_told_with_the_name_of_the_journal(tmp_path, monkeypatch):
    def full(file, line):
        raise OSError(errno.ENOSPC, "No space left on device")

    book = Journal(tmp_path / "r.h5")
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left") as failure:
        book.add(run_of("hash of a", "nsgs"))
    monkeypatch.undo()
    book.close(keep=False)
    assert failure.value.filename == str(journal_of(tmp_path / "r.h5"))


def test_a_journal_that_was_removed_takes_no_successor_along(tmp_path):
    first = Journal(tmp_path / "r.h5")
    first.path.unlink()
    second = Journal(tmp_path / "r.h5")
    first.close(keep=False)
    assert second.path.exists()
    second.close(keep=False)
    assert not second.path.exists()
