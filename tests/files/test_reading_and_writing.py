"""The verbs: which format, which files, what happens when there is none, and the same bytes each time."""

import os
import subprocess
import sys
import time
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

import stickslip.files
from stickslip.files import FormatError, ProblemRecord, StoredSolution, read, read_record, write
from stickslip.problem.fingerprint import fingerprint


def test_public_names():
    assert set(stickslip.files.__all__) == {
        "KINDS", "Fault", "FormatError", "ModelFileError", "ProblemRecord", "StoredSolution", "load", "read",
        "read_record", "read_trajectory", "save", "write", "write_gams", "read_gdx_answer",
    }  # fmt: skip
    for name in stickslip.files.__all__:
        assert getattr(stickslip.files, name).__doc__


def test_h5py_is_imported_only_when_an_hdf5_file_is_touched(tmp_path, samples):
    write(tmp_path / "x.dat", samples["one contact"])
    write(tmp_path / "x.hdf5", samples["one contact"])
    code = (
        "import sys; from stickslip.files import read, write\n"
        f"p = read({str(tmp_path / 'x.dat')!r}); write({str(tmp_path / 'y.dat')!r}, p)\n"
        "assert 'h5py' not in sys.modules\n"
        f"read({str(tmp_path / 'x.hdf5')!r}); assert 'h5py' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_format_is_in_the_content(tmp_path, samples):
    """Whatever the file is called."""
    for ending in (".dat", ".hdf5"):
        write(tmp_path / f"x{ending}", samples["one contact"])
        (tmp_path / f"x{ending}").rename(tmp_path / "unnamed")
        assert fingerprint(read(str(tmp_path / "unnamed"))) == fingerprint(samples["one contact"])


def test_the_ending_names_the_format_to_write(tmp_path, samples):
    for name, start in (("a.hdf5", b"\x89HDF"), ("a.H5", b"\x89HDF"), ("a.hdf5.dat", b"3\n1\n")):
        write(tmp_path / name, samples["one contact"])
        assert (tmp_path / name).read_bytes().startswith(start)
    for name in ("a.txt", "a", "dat"):
        with pytest.raises(FormatError, match=rf"{name}: the name of the file: expected one that ends in"):
            write(tmp_path / name, samples["one contact"])


def test_storage_is_for_text(tmp_path, samples):
    with pytest.raises(
        FormatError, match="argument storage: expected one of dense, block, sparse, found 'csr'"
    ):
        write(tmp_path / "x.dat", samples["one contact"], storage="csr")
    with pytest.raises(FormatError, match="argument storage: expected None"):
        write(tmp_path / "x.hdf5", samples["one contact"], storage="dense")


def test_only_problems_are_written(tmp_path):
    with pytest.raises(FormatError, match="expected a problem or a ProblemRecord, found list"):
        write(tmp_path / "x.dat", [1, 2])


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.dat: there is no such file"):
        read(tmp_path / "nowhere.dat")


def test_a_folder(tmp_path):
    with pytest.raises(FormatError, match="the file: expected a regular file, found a folder"):
        read(tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="expected a regular file, found a pipe"):
        read(tmp_path / "pipe")
    with pytest.raises(FormatError, match="a device"):
        read("/dev/zero")


@pytest.mark.parametrize(("content", "found"), [(b"", "an empty file"), (b" \n\t", "nothing but blanks")])
def test_empty_files(tmp_path, content, found):
    (tmp_path / "x.dat").write_bytes(content)
    with pytest.raises(FormatError, match=rf"x\.dat: the file: expected a problem, found {found}"):
        read(tmp_path / "x.dat")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "x.dat").write_text("1")
    monkeypatch.setattr(Path, "read_bytes", refuse)  # root may read everything
    with pytest.raises(FormatError, match="expected a readable file"):
        read(tmp_path / "x.dat")


def test_a_name_that_is_none(tmp_path):
    with pytest.raises(FormatError, match="expected a readable file"):
        read("a\0b")
    with pytest.raises(FormatError, match="expected a readable file"):
        read(tmp_path / ("x" * 300))


def test_only_the_signature_of_hdf5(tmp_path):
    (tmp_path / "x").write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(FormatError, match="expected a whole HDF5 file, found a truncated or damaged one"):
        read(tmp_path / "x")


def test_the_same_problem_gives_the_same_bytes(tmp_path, samples):
    """In another second, and in another order of life: nothing in a file tells when it was written."""
    answer = StoredSolution(np.ones(3), np.ones(3))
    info = {"title": "x", "rank": "3", "W.cond": "1.5", "said": "so"}
    things = dict(samples, record=ProblemRecord(samples["one contact"], info, answer, (answer, answer)))
    contents = []
    for attempt in range(2):
        for name, thing in things.items():
            write(tmp_path / "x.hdf5", thing)
            contents.append((name, (tmp_path / "x.hdf5").read_bytes()))
        if not attempt:
            time.sleep(1.1)
    half = len(contents) // 2
    for (name, first), (_, second) in zip(contents[:half], contents[half:], strict=True):
        assert first == second, name


def test_reading_and_writing_again_gives_the_same_bytes(tmp_path, text_sample):
    write(tmp_path / "x.dat", text_sample)
    first = (tmp_path / "x.dat").read_bytes()
    write(tmp_path / "x.dat", read(tmp_path / "x.dat"))
    again = read(tmp_path / "x.dat")
    assert fingerprint(again) == fingerprint(text_sample)
    write(tmp_path / "y.dat", text_sample)
    assert (tmp_path / "y.dat").read_bytes() == first


@pytest.mark.parametrize("name", ["x.dat", "x.hdf5"])
def test_a_write_that_fails_leaves_the_old_file(tmp_path, samples, name):
    write(tmp_path / name, samples["one contact"])
    before = (tmp_path / name).read_bytes()
    bad = ProblemRecord(samples["one contact"], {}, StoredSolution(np.ones(1), np.ones(1)))
    with pytest.raises(FormatError):
        write(tmp_path / name, bad)
    assert (tmp_path / name).read_bytes() == before
    assert os.listdir(tmp_path) == [name]


def test_a_disk_that_fills_up_destroys_nothing(tmp_path, samples, monkeypatch):
    write(tmp_path / "x.dat", samples["one contact"])
    before = (tmp_path / "x.dat").read_bytes()

    def write_half(path, content):
        with path.open("wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_half)
    with pytest.raises(OSError, match="no space left"):
        write(tmp_path / "x.dat", samples["lcp dense"])
    assert (tmp_path / "x.dat").read_bytes() == before
    assert os.listdir(tmp_path) == ["x.dat"]


def test_writing_into_no_folder(tmp_path, samples):
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "nowhere" / "x.hdf5", samples["one contact"])


def test_records_are_frozen_and_copy_their_arrays(samples):
    r = np.ones((1, 3))
    stored = StoredSolution(r, r)
    r[0, 0] = 7
    assert stored.r.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="read-only"):
        stored.r[0] = 2
    with pytest.raises(FrozenInstanceError):
        stored.r = r
    record = ProblemRecord(samples["one contact"])
    assert (record.info, record.solution, record.guesses) == ({}, None, ())
    with pytest.raises(FrozenInstanceError):
        record.info = {}


def test_two_threads_write_at_once(tmp_path, samples):
    from concurrent.futures import ThreadPoolExecutor

    def round_trip(k):
        path = Path(tmp_path / f"{k}.hdf5")
        write(path, samples["mixed block"])
        return fingerprint(read_record(path).problem)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(round_trip, range(8))) == {fingerprint(samples["mixed block"])}
