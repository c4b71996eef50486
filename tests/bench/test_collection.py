"""Collections: every problem once, under a name of its own, whatever else lies in the folder."""

from pathlib import Path

import numpy as np
import pytest
from closed_forms import column_of_blocks, small_lcp, table_with_four_legs
from recorded import FOLDER, needs_recorded, recorded

from stickslip.bench.collections.collection import Collection
from stickslip.files import ProblemRecord, write
from stickslip.problem.contact import ContactProblem
from stickslip.problem.fingerprint import fingerprint
from stickslip.problem.sets import coulomb

TABLE, COLUMN, LCP = table_with_four_legs().problem, column_of_blocks().problem, small_lcp().problem


def put(path: Path, problem, **info: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, ProblemRecord(problem, info))
    return path


def test_names_families_and_hashes(tmp_path: Path) -> None:
    put(tmp_path / "zoo" / "legs" / "table.hdf5", TABLE, title="Four legs", recipe="make it", rank="6")
    put(tmp_path / "zoo" / "column.h5", COLUMN, family="stacks")
    put(tmp_path / "zoo" / "murty_lcp.dat", LCP)
    collection = Collection.of([tmp_path / "zoo"])
    found = [(one.name, one.family) for one in collection.entries]
    assert found == [("column", "stacks"), ("legs/table", "legs"), ("murty_lcp", "zoo")]
    table = collection.entries[1]
    assert (table.hash, table.title, table.recipe) == (fingerprint(TABLE), "Four legs", "make it")
    assert (table.features.contacts, table.features.rank) == (4, 6)
    assert collection.path(table) == tmp_path / "zoo" / "legs" / "table.hdf5"
    assert collection.kind(table) is None
    assert collection.skipped == ()


def test_what_is_no_problem_is_told_and_not_fatal(tmp_path: Path) -> None:
    put(tmp_path / "good.hdf5", TABLE)
    put(tmp_path / ".hidden.hdf5", COLUMN)
    (tmp_path / "broken.h5").write_bytes(b"\x89HDF\r\n\x1a\n and no more")
    (tmp_path / "words.dat").write_text("not a problem")
    (tmp_path / "notes.txt").write_text("not looked at")
    collection = Collection.of([tmp_path])
    assert [one.name for one in collection.entries] == ["good"]
    assert [one.path.name for one in collection.skipped] == ["broken.h5", "words.dat"]
    for one in collection.skipped:
        assert one.reason.startswith(str(one.path))


def test_the_same_numbers_count_once(tmp_path: Path) -> None:
    put(tmp_path / "a.hdf5", LCP)
    put(tmp_path / "b_lcp.dat", LCP)
    collection = Collection.of([tmp_path])
    assert [one.name for one in collection.entries] == ["a"]
    assert collection.skipped[0].path.name == "b_lcp.dat"
    assert "the same problem as a" in collection.skipped[0].reason


def test_two_endings_of_one_name_are_two_names(tmp_path: Path) -> None:
    put(tmp_path / "x.hdf5", TABLE)
    put(tmp_path / "x.h5", COLUMN)
    assert [one.name for one in Collection.of([tmp_path]).entries] == ["x.h5", "x.hdf5"]


def test_a_clash_between_places_names_both(tmp_path: Path) -> None:
    first, second = put(tmp_path / "one" / "x.h5", TABLE), put(tmp_path / "two" / "x.h5", COLUMN)
    with pytest.raises(ValueError, match=f"{second} and {first}"):
        Collection.of([first.parent, second.parent])
    # The folder above tells them apart, and a file given twice is one.
    both = Collection.of([tmp_path, first])
    assert [one.name for one in both.entries] == ["one/x", "two/x"]


def test_nothing_found_names_the_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{tmp_path}: no problem found"):
        Collection.of([tmp_path])
    (tmp_path / "words.dat").write_text("not a problem")
    with pytest.raises(ValueError, match=r"no problem found.*words\.dat"):
        Collection.of([tmp_path])
    with pytest.raises(FileNotFoundError, match="no such file or folder"):
        Collection.of([tmp_path / "missing"])


def test_a_kind_settles_what_a_file_leaves_open(tmp_path: Path) -> None:
    # A global problem with a number after it, which is also a local one with q = (0, 3, 3), mu = 3.
    matrix = "0 3 3\n3 3\n1 0 0 0 1 0 0 0 1\n"
    (tmp_path / "open.dat").write_text(f"3 1\n{matrix}{matrix}1 2 3\n4 5 6\n0.5\n0\n")
    put(tmp_path / "clear.h5", LCP)
    (doubtful,) = Collection.of([tmp_path]).skipped
    assert "pass kind=" in doubtful.reason
    for kind, form in (("global", "global"), ("friction", "local")):
        collection = Collection.of([tmp_path], kind=kind)
        clear, settled = collection.entries
        assert (collection.kind(settled), settled.features.kind) == (kind, form)
        assert (collection.kind(clear), clear.features.kind) == (None, "box")


def test_progress_is_told(tmp_path: Path) -> None:
    put(tmp_path / "a.h5", TABLE)
    put(tmp_path / "b.h5", ContactProblem(np.eye(3), np.zeros(3), coulomb([0.5])))
    seen: list[tuple[str, int, int]] = []
    Collection.of([tmp_path], progress=lambda *said: seen.append(said))
    assert seen == [("a.h5", 0, 2), ("b.h5", 1, 2)]


@needs_recorded
def test_all_recorded_files_are_read() -> None:
    collection = Collection.of([FOLDER])
    assert len(collection.entries) + len(collection.skipped) == len(recorded())
    assert all("the same problem as" in one.reason for one in collection.skipped)
    assert {one.family for one in collection.entries} == {"friction", "rolling", "lcp", "mlcp"}
