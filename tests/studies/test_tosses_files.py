"""Files of tosses: what is read, and one sentence for everything that is not."""

import numpy as np
import pytest

from stickslip.files.errors import FormatError
from stickslip.studies.tosses_records import read_arrays

ROWS = np.zeros((6, 13))
ROWS[:, 3] = 1.0
START = np.array([0, 2, 6])


def changed(row, column, value):
    rows = ROWS.copy()
    rows[row, column] = value
    return rows


def test_what_was_written_is_read(tmp_path):
    np.savez(tmp_path / "tosses.npz", rows=ROWS, start=START, toss_id=np.arange(2))
    rows, start = read_arrays(tmp_path / "tosses.npz")
    np.testing.assert_array_equal(rows, ROWS)
    np.testing.assert_array_equal(start, START)


def test_velocities_are_not_looked_at(tmp_path):
    np.savez(tmp_path / "tosses.npz", rows=changed(0, 8, np.nan), start=START)
    assert np.isnan(read_arrays(tmp_path / "tosses.npz")[0][0, 8])


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"start": START}, "no rows"),
        ({"rows": ROWS}, "no start"),
        ({}, "nothing"),
        ({"rows": ROWS[:, :7], "start": START}, r"shape \(6, 7\)"),
        ({"rows": ROWS.astype(str), "start": START}, "rows: expected numbers"),
        ({"rows": ROWS, "start": START + 0.5}, "whole numbers"),
        ({"rows": ROWS, "start": np.array([0, 4, 2, 6])}, "not growing"),
        ({"rows": ROWS, "start": np.array([0, 7])}, "from 0 to 6"),
        ({"rows": ROWS, "start": np.array([0])}, "start"),
        ({"rows": changed(3, 2, np.inf), "start": START}, "row 3: expected finite places"),
        ({"rows": changed(2, 4, np.nan), "start": START}, "row 2: expected finite quaternions"),
        ({"rows": changed(2, 3, 0.0), "start": START}, "row 2: expected a quaternion of length 1"),
        ({"rows": np.array([{}, []], dtype=object), "start": START}, "pickle"),
    ],
)
def test_one_sentence_for_what_is_wrong(tmp_path, arrays, words):
    np.savez(tmp_path / "tosses.npz", **arrays)
    with pytest.raises(FormatError, match=words) as caught:
        read_arrays(tmp_path / "tosses.npz")
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "tosses.npz") in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"rows", b"PK\x03\x04 but no archive", b"\x80\x04pickled"])
def test_what_is_no_archive(tmp_path, content):
    (tmp_path / "tosses.npz").write_bytes(content)
    with pytest.raises(FormatError, match="archive of arrays"):
        read_arrays(tmp_path / "tosses.npz")


def test_a_plain_array_is_no_archive(tmp_path):
    np.save(tmp_path / "tosses.npy", ROWS)
    with pytest.raises(FormatError, match="archive of arrays"):
        read_arrays(tmp_path / "tosses.npy")


def test_broken_archives(tmp_path):
    place = tmp_path / "tosses.npz"
    np.savez_compressed(place, rows=ROWS, start=START)
    whole = place.read_bytes()
    for k in range(20, len(whole), 37):
        place.write_bytes(whole[:k] + bytes([whole[k] ^ 0xFF]) + whole[k + 1 :])
        try:
            read_arrays(place)
        except FormatError as error:
            assert "\n" not in str(error)  # noqa: PT017


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_arrays(tmp_path / "none.npz")
