"""Text files cut, changed and made to harm: success or FormatError, soon and without much memory."""

import random
import tracemalloc
from pathlib import Path

import pytest

from stickslip.files import KINDS, FormatError, ProblemRecord, read
from stickslip.files.dat import STORAGES, read_dat, write_dat
from stickslip.problem.fingerprint import fingerprint

PATH = Path("x.dat")
SMALL = ("one contact", "coulomb 2D block", "rolling dense", "global 2D", "lcp sparse", "mlcp dense")
GARBAGE = [
    b"1000000000", b"999999999999999999", b"1" * 19, b"9" * 5000, b"-1", b"0", b"1", b"2", b"3", b"nan",
    b"-inf", b"1e308", b"-1e308", b"1e-320", b"1e999", b"garbage", b":", b"col", b"to", b"CSparse",
    b"triplet:", b"3-by-3,", b"1000000000-by-1000000000,", b"1_0", b"1D3", b"0x10", b"\xff\xfe", b"\x00", b"",
    "²".encode(), "٣".encode(),
]  # fmt: skip


@pytest.fixture(scope="module")
def files(samples):
    """Small files of every kind in every storage, by the name of the problem."""
    return [
        (name, write_dat(PATH, ProblemRecord(samples[name]), storage))
        for name in SMALL
        for storage in STORAGES
    ]


def outcome(content, kind=None, path=PATH):
    """Whether a file is read; anything but success and FormatError is an error of the test."""
    try:
        return read_dat(path, content, kind).problem
    except FormatError as error:
        message = str(error)
        assert message.startswith(f"{path}: ")
        assert "expected" in message
        assert "found" in message
        assert len(message) < 1000
        return None


@pytest.fixture
def bounded():
    """Check that the peak of memory stays in proportion to the small files of these tests."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


NAMES = {
    "one contact": "FC3D.dat", "coulomb 2D block": "fc2d.dat", "rolling dense": "RFC3D.dat",
    "global 2D": "gfc2d.dat", "lcp sparse": "lcp.dat", "mlcp dense": "mlcp.dat",
}  # fmt: skip


def test_cut_after_every_word(files, bounded):
    """A file that lost its end is refused, whether or not its name tells the kind."""
    for name, content in files:
        words = content.split(b" ")
        for cut in range(len(words)):
            path = Path(NAMES[name]) if cut % 3 == 0 else PATH
            assert outcome(b" ".join(words[:cut]), path=path) is None


def test_words_replaced(files, bounded):
    rng = random.Random(7)
    for _ in range(1500):
        words = rng.choice(files)[1].split()
        for _ in range(rng.choice((1, 1, 2, 3))):
            words[rng.randrange(min(len(words), rng.choice((8, 40, 10_000))))] = rng.choice(GARBAGE)
        outcome(b" ".join(words), rng.choice((None, None, *KINDS)))


def test_every_word_of_the_head_replaced_by_every_garbage(files, bounded):
    for _, content in files[::2]:
        words = content.split()
        for k in range(min(len(words), 14)):
            for word in GARBAGE:
                outcome(b" ".join([*words[:k], word, *words[k + 1 :]]))


def test_words_lost_and_doubled(files, bounded):
    rng = random.Random(8)
    for _ in range(600):
        words = rng.choice(files)[1].split()
        at = rng.randrange(len(words))
        words[at : at + rng.randrange(3)] = rng.choices(words, k=rng.randrange(3))
        outcome(b" ".join(words))


def test_bytes_changed(files, bounded):
    rng = random.Random(9)
    for _ in range(800):
        content = bytearray(rng.choice(files)[1])
        for _ in range(rng.choice((1, 2, 8))):
            content[rng.randrange(len(content))] = rng.randrange(256)
        outcome(bytes(content))


def test_random_bytes(bounded):
    rng = random.Random(10)
    for _ in range(500):
        outcome(rng.randbytes(rng.randrange(1, 300)))
        outcome(bytes(rng.choice(b"0123456789 .-e\n") for _ in range(rng.randrange(1, 300))))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "content",
    [
        b"3 1000000000 0 3000000000 3000000000 3000000000 3000000000",
        b"1000000000 0 1000000000 1000000000 1000000000 1000000000 1",
        b"3 1 0 1000000 1000000 1000000 1000000 1 2 3",
        b"5 1 2 1000000000 1000000000 1 CSparse x 1000000000-by-1000000000, nzmax: 0 nnz: 0",
        b"3 1 2 1000000000 1000000000 2 CSparse x 1000000000-by-1000000000, nzmax: 0 nnz: 0",
        b"1 0 500000000 500000000 0 1000000000 0 0 1000000000 1000000000",
        b"0 1 1000000000 1000000000 1 2 3",
        b"3 1 1 3 3 1 1000000000 1000000000 3 3",
        b"3 1 1 3 3 1000000000 1 1 3 3",
        b"2 1 " * 50 + b"0",
    ],
)
def test_sizes_that_the_file_cannot_hold(tmp_path, content, kind):
    """10^9 in a file of 50 bytes is refused before anything is made."""
    (tmp_path / "x.dat").write_bytes(content)
    tracemalloc.start()
    try:
        for asked in (kind, None):
            with pytest.raises(FormatError):
                read(tmp_path / "x.dat", asked)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_blocks_that_all_lie_in_one_place(bounded):
    """Many block rows of one row each, and blocks as large as the matrix: 30 words, 10^8 numbers."""
    head = b"3 1 1 3 3 4 1 1 3 3 2 4 0 4 0 0 0 0 "
    assert outcome(head + b"1 " * 20, "friction") is None


def test_memory_in_proportion_to_the_file(samples):
    """A file of many small numbers costs less than two hundred times its size."""
    n = 20_000
    content = f"{n} 2 {n} {n} 1 CSparse x {n}-by-{n}, nzmax: 1 nnz: 0 " + "1 " * n
    tracemalloc.start()
    problem = read_dat(PATH, content.encode(), None).problem
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert problem.size == n
    assert peak < 200 * len(content)


def test_what_is_not_changed_is_read(files, samples):
    for name, content in files:
        assert fingerprint(outcome(content)) == fingerprint(samples[name])


def test_a_comment_may_be_anything(samples):
    content = write_dat(PATH, ProblemRecord(samples["one contact"]), None)
    for comment in (b"\xff\xfe\x00", b"\n\n", b"7 7 7", b"nan", b"x" * 10_000):
        record = read_dat(PATH, content + comment, None)
        assert fingerprint(record.problem) == fingerprint(samples["one contact"])
        assert all(c.isprintable() or c in "\n\0" for c in record.info.get("comment", ""))


@pytest.mark.parametrize("sign", ["", "-"])
def test_numbers_that_overflow_in_the_checks(sign):
    """M near the largest double: its sums are infinite, and that is no warning and no other error."""
    content = "3 1 0 3 3 3 3 " + f"{sign}1.7e308 " * 9 + "0 3 3 3 3 " + "1 " * 15 + "0.5"
    outcome(content.encode(), "global")
