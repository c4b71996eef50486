"""What is written and read again is the same problem, bit for bit, in every format and storage."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from stickslip.files import FormatError, ProblemRecord, StoredSolution, read, read_record, write
from stickslip.problem.box import BoxProblem, lcp
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.fingerprint import fingerprint
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.operator import BodyDelassus
from stickslip.problem.sets import coulomb, rolling


def same(a, b):
    """The same numbers, the same set, the same level."""
    assert type(a) is type(b)
    assert fingerprint(a) == fingerprint(b)
    if not isinstance(a, BoxProblem):
        assert a.level is b.level
        for x, y in zip(a.K.arrays, b.K.arrays, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y)


def same_form(a, b):
    """Also stored in the same way."""
    if isinstance(a, ContactProblem):
        assert type(a.W) is type(b.W)
        if isinstance(a.W, BodyDelassus):
            for name in ("offset", "bodies", "rows", "count"):
                np.testing.assert_array_equal(getattr(a.W, name), getattr(b.W, name))
        elif hasattr(a.W, "arrays"):
            for x, y in zip(a.W.arrays, b.W.arrays, strict=True):
                np.testing.assert_array_equal(x, y)
    elif isinstance(a, GlobalProblem):
        assert np.shape(a.M.matrix) == np.shape(b.M.matrix)
        assert sp.issparse(a.M.matrix) == sp.issparse(b.M.matrix)
        for x, y in ((a.H, b.H), (a.G, b.G)):
            assert isinstance(x, ContactBlocks) == isinstance(y, ContactBlocks)
        assert a.is_matrix_free == b.is_matrix_free
    else:
        assert sp.issparse(a.A) == sp.issparse(b.A)


@pytest.mark.parametrize("ending", [".hdf5", ".h5"])
def test_hdf5_holds_every_problem(tmp_path, sample, ending):
    write(tmp_path / f"x{ending}", sample)
    same(read(tmp_path / f"x{ending}"), sample)


def test_our_own_layout_keeps_the_form(tmp_path, sample_beyond_fclib):
    write(tmp_path / "x.hdf5", sample_beyond_fclib)
    again = read(tmp_path / "x.hdf5")
    same(again, sample_beyond_fclib)
    same_form(again, sample_beyond_fclib)


@pytest.mark.parametrize("storage", [None, "dense", "block", "sparse"])
def test_text_holds_problems_in_every_storage(tmp_path, text_sample, storage):
    write(tmp_path / "x.dat", text_sample, storage=storage)
    again = read(tmp_path / "x.dat")
    same(again, text_sample)
    if isinstance(text_sample, GlobalProblem):
        assert sp.issparse(again.M.matrix) == (storage in ("block", "sparse") or (storage is None and (
            sp.issparse(text_sample.M.matrix) or text_sample.M.is_body_blocks)))  # fmt: skip
    elif storage is None and text_sample.size:
        same_form(again, text_sample)


def test_text_says_what_it_cannot_hold(tmp_path, sample_beyond_text):
    with pytest.raises(FormatError, match=r"x\.dat: what is to be written: expected .*hdf5"):
        write(tmp_path / "x.dat", sample_beyond_text)
    assert not list(tmp_path.iterdir())


def test_a_matrix_free_problem_is_written_in_text_only_when_forming_w_is_asked_for(tmp_path, samples):
    problem = samples["matrix-free"]
    for storage in ("dense", "block", "sparse"):
        write(tmp_path / "x.dat", problem, storage=storage)
        np.testing.assert_allclose(read(tmp_path / "x.dat").W.dense(), problem.W.dense(), rtol=1e-14)


floats = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=60)
@given(st.data(), st.sampled_from([2, 3, 5]), st.integers(1, 3), st.booleans())
def test_numbers_come_back_bit_for_bit(tmp_path_factory, data, d, nc, is_sparse):
    """Subnormal numbers, negative zero, 17 digits: whatever a double is."""
    n = d * nc
    W = data.draw(arrays(np.float64, (n, n), elements=floats))
    q = data.draw(arrays(np.float64, n, elements=floats))
    mu = data.draw(arrays(np.float64, nc, elements=st.floats(0, 1e300)))
    K = rolling(mu, mu[::-1]) if d == 5 else coulomb(mu, d)
    problem = ContactProblem(sp.csr_array(W) if is_sparse else W, q, K)
    folder = tmp_path_factory.mktemp("numbers")
    for name, storage in (("x.hdf5", None), ("x.dat", None), ("x.dat", "sparse"), ("x.dat", "block")):
        write(folder / name, problem, storage=storage)
        again = read(folder / name)
        same(again, problem)
        assert again.u_free.tobytes() == q.tobytes()


def test_seventeen_digits_in_text(tmp_path):
    write(tmp_path / "x.dat", lcp([[0.1]], [1 / 3]))
    assert b"1.0000000000000001e-01" in (tmp_path / "x.dat").read_bytes()
    assert b"3.3333333333333331e-01" in (tmp_path / "x.dat").read_bytes()


def answer(problem, seed=0):
    rng = np.random.default_rng(seed)
    nv, p = (problem.M.size, problem.g_bias.size) if isinstance(problem, GlobalProblem) else (None, None)
    parts = [None if size is None else rng.normal(size=size) for size in (problem.size, problem.size, nv, p)]
    return StoredSolution(*parts)


def same_answer(a, b):
    for name in ("r", "u", "v", "lam"):
        x, y = getattr(a, name), getattr(b, name)
        assert (x is None) == (y is None)
        if x is not None:
            assert x.tobytes() == y.tobytes()


def test_records_keep_answers_and_what_is_said(tmp_path, sample):
    info = {
        "title": "A tower", "description": "of\nstones µ", "math_info": "", "made by": "hand",
        "rank": "72", "cond": "1.5e-07", "W.rank": "3", "M.cond": "12.25", "A.n": "x", "q.r": "none",
    }  # fmt: skip
    guesses = (answer(sample, 1), answer(sample, 2))
    record = ProblemRecord(sample, info, answer(sample), guesses)
    write(tmp_path / "x.hdf5", record)
    again = read_record(tmp_path / "x.hdf5")
    same(again.problem, sample)
    assert again.info == info
    same_answer(again.solution, record.solution)
    assert len(again.guesses) == 2
    for a, b in zip(again.guesses, guesses, strict=True):
        same_answer(a, b)


def test_answers_of_the_wrong_size_are_not_written(tmp_path, samples):
    problem = samples["global with joints"]
    good = answer(problem)
    for wrong in (
        StoredSolution(good.r[1:], good.u),
        StoredSolution(good.r, good.u, good.v[1:]),
        StoredSolution(good.r, good.u * np.nan),
    ):
        with pytest.raises(FormatError, match=r"/solution/\w: expected \d+ finite numbers"):
            write(tmp_path / "x.hdf5", ProblemRecord(problem, {}, wrong))
    local = samples["coulomb 3D dense"]
    with pytest.raises(FormatError, match="/guesses/1/v: expected None"):
        write(
            tmp_path / "x.hdf5",
            ProblemRecord(local, {}, None, (StoredSolution(local.u_free, local.u_free, good.v),)),
        )


@pytest.mark.parametrize(
    "comment", ["0", "1 2.5 nan", "Remark 4.1.14\n  two lines", "comment: a: 1", "comment: 7"]
)
def test_comments_in_text(tmp_path, text_sample, comment):
    """What follows the numbers stays, whatever it is, and does not hide the kind of the problem."""
    record = ProblemRecord(text_sample, {"comment": comment})
    write(tmp_path / "x.dat", record)
    again = read_record(tmp_path / "x.dat")
    same(again.problem, text_sample)
    assert again.info == {"comment": comment}


def test_what_is_said_becomes_a_comment_in_text(tmp_path, samples):
    record = ProblemRecord(samples["one contact"], {"title": "7 stones", "comment": "x", "rank": "3"})
    write(tmp_path / "x.dat", record)
    assert read_record(tmp_path / "x.dat").info == {"comment": "x\ntitle: 7 stones\nrank: 3"}


def test_text_has_no_place_for_answers(tmp_path, samples):
    problem = samples["one contact"]
    with pytest.raises(FormatError, match="a solution or guesses; write the problem alone"):
        write(tmp_path / "x.dat", ProblemRecord(problem, {}, answer(problem)))
