"""Facts of the text format: orders, storages, comments, and which kind of problem a file holds."""

import numpy as np
import pytest
import scipy.sparse as sp

from stickslip.files import KINDS, FormatError, read, read_record, write
from stickslip.problem.box import BoxProblem
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.fingerprint import fingerprint
from stickslip.problem.operator import BlockDelassus, DenseDelassus

BANNER = "CSparse Version 3.1.9, May 4, 2016.  Copyright (c) Timothy A. Davis, 2006-2016\n"
W3 = np.array([[15.0, -1, -2], [-1.5, 14, 1], [-2.5, 1.5, 16]])
Q3 = "-1 2 3\n0.1\n"


@pytest.fixture
def text(tmp_path):
    """Read a text as a file of some name."""

    def reader(content, name="x.dat", **options):
        (tmp_path / name).write_text(content)
        return read(tmp_path / name, **options)

    return reader


def same_w(problem, expected=W3):
    assert isinstance(problem, ContactProblem)
    np.testing.assert_array_equal(problem.W.dense(), expected)
    np.testing.assert_array_equal(problem.u_free, [-1.0, 2.0, 3.0])
    np.testing.assert_array_equal(problem.K.friction(), [0.1])


def test_dense_is_column_by_column(text):
    problem = text("3\n1\n\n0\n3 3\n3\t3\n15 -1.5 -2.5\n-1 14 1.5\n-2 1 16\n" + Q3)
    same_w(problem)
    assert isinstance(problem.W, DenseDelassus)


def test_blocks_of_different_sizes_column_by_column_inside(text):
    """Two block rows (2 and 1 rows), one block left out."""
    content = "3 1\n1 3 3\n3\n2\n2\n2 3\n2 3\n3\n3\n0 2 3\n0 1 1\n"
    content += "0\n15 -1.5 -1 14\n1\n-2 1\n2\n16\n" + Q3
    problem = text(content)
    same_w(problem, np.array([[15.0, -1, -2], [-1.5, 14, 1], [0, 0, 16]]))
    assert isinstance(problem.W, BlockDelassus)


def test_block_rows_after_the_last_filled_one_are_empty(text):
    content = "3 1\n1 3 3\n1\n3\n3\n1 2 3\n1 2 3\n2\n1\n0 1\n2\n0\n7.5\n" + Q3
    same_w(text(content), np.array([[0, 0, 7.5], [0, 0, 0], [0, 0, 0]]))


def test_no_block_at_all(text):
    same_w(text("3 1\n1 3 3\n0\n" + Q3), np.zeros((3, 3)))


def test_triplets_with_duplicates_are_summed(text):
    content = "3 1\n2 3 3\n1\n" + BANNER + "triplet: 3-by-3, nzmax: 9 nnz: 4\n"
    content += "    0 0 : 1.5\n    2 1 : 4\n    0 0 : 2\n    1 1 : -1e-3\n" + Q3
    same_w(text(content), np.array([[3.5, 0, 0], [0, -1e-3, 0], [0, 4, 0]]))


LINES = (
    "    {0} 0 : locations 0 to 1\n      0 : 1.5\n      2 : 2.5\n"
    "    {0} 1 : locations 2 to 1\n"
    "    {0} 2 : locations 2 to 2\n      1 : 7\n"
)
BY_COLUMNS = np.array([[1.5, 0, 0], [0, 0, 7], [2.5, 0, 0]])


def test_columns_with_an_empty_one(text):
    content = "3 1\n2 3 3\n2\n" + BANNER + "3-by-3, nzmax: 12 nnz: 3, 1-norm: 7\n"
    same_w(text(content + LINES.format("col") + Q3), BY_COLUMNS)


def test_columns_with_duplicates(text):
    content = "2\n2 2 2\n2\n" + BANNER + "2-by-2, nzmax: 3 nnz: 3, 1-norm: 7\n"
    content += "col 0 : locations 0 to -1\ncol 1 : locations 0 to 2\n 1 : 1.5\n 0 : 4\n 1 : 2\n-1 -2\n"
    A = text(content).A
    assert A.nnz == 2
    np.testing.assert_array_equal(A.toarray(), [[0, 4], [0, 3.5]])


@pytest.mark.parametrize("head", ["csr: ", ""])
@pytest.mark.parametrize("word", ["col", "row"])
def test_rows(text, head, word):
    content = "3 1\n2 3 3\n3\n" + BANNER + head + "3-by-3, nzmax: 3 nnz: 3, 1-norm: 7\n"
    same_w(text(content + LINES.format(word) + Q3), BY_COLUMNS.T)


def test_sparse_h_that_is_not_square(text):
    content = "2 1\n2 3 3\n1\n" + BANNER + "triplet: 3-by-3, nzmax: 3 nnz: 3\n0 0 : 2\n1 1 : 3\n2 2 : 4\n"
    content += "2 3 2\n2\n" + BANNER + "3-by-2, nzmax: 1 nnz: 1, 1-norm: 5\n"
    content += "col 0 : locations 0 to -1\ncol 1 : locations 0 to 0\n 2 : 5\n"
    problem = text(content + "1 2 3\n4 5\n0.5\n")
    assert isinstance(problem, GlobalProblem)
    np.testing.assert_array_equal(problem.H_sparse().toarray(), [[0, 0], [0, 0], [0, 5]])
    np.testing.assert_array_equal(problem.f, [1, 2, 3])
    np.testing.assert_array_equal(problem.u_bias, [4, 5])
    assert problem.K.dimension == 2


def test_rolling_reads_mu_then_mu_r(text):
    content = "5 1\n0 5 5 5 5\n" + " ".join(map(str, np.eye(5).ravel())) + "\n1 2 3 4 5\n0.25\n0.125\n"
    problem = text(content)
    assert problem.K[0].coefficients == (0.25, 0.125)
    assert problem.K[0].kind == "rolling"


def test_lcp(text):
    problem = text("2\n0 2 2\n2 2\n1 2\n3 4\n-5 -6\n")
    assert isinstance(problem, BoxProblem)
    assert problem.kind == "lcp"
    np.testing.assert_array_equal(problem.A, [[1, 3], [2, 4]])
    np.testing.assert_array_equal(problem.b, [-5, -6])


M5 = np.arange(25.0).reshape(5, 5)
ROWS5 = "0 5 5 5 5\n" + " ".join(map(str, M5.T.ravel())) + "\n10 11 12 13 14\n"


def parts(order, n):
    """A, B, C, D, a, b of M5 with the unknowns in that order, the first n of them free."""
    M, q = M5[np.ix_(order, order)], np.arange(10.0, 15.0)[order]
    blocks = (M[:n, :n], M[n:, n:], M[:n, n:], M[n:, :n], q[:n], q[n:])
    return "\n".join(" ".join(map(str, block.ravel())) for block in blocks) + "\n"


def test_mlcp_honours_the_order_of_the_blocks(text):
    """Blocks of 1, 2 and 2 rows: complementarity, equations, complementarity."""
    problem = text("1 0 2 3\n0 1 3 5\n1 0 1\n" + ROWS5)
    assert problem.kind == "mlcp"
    np.testing.assert_array_equal(problem.A, M5)
    np.testing.assert_array_equal(problem.b, [10, 11, 12, 13, 14])
    np.testing.assert_array_equal(problem.lower, [0, -np.inf, -np.inf, 0, 0])
    np.testing.assert_array_equal(problem.upper, np.inf)


def test_mlcp_by_parts_has_the_equations_first(text):
    problem = text("0 1 2 3\n" + parts([0, 1, 2, 3, 4], 2))
    np.testing.assert_array_equal(problem.A, M5)
    np.testing.assert_array_equal(problem.lower, [-np.inf, -np.inf, 0, 0, 0])


def test_mlcp_in_both_storages(text):
    both = "1 1 2 3\n0 1 3 5\n1 0 1\n" + ROWS5
    problem = text(both + parts([1, 2, 0, 3, 4], 2))
    np.testing.assert_array_equal(problem.A, M5)
    with pytest.raises(FormatError, match=r"expected A, B, C, D to agree with M, found 0\.0 for 6\.0"):
        text(both + parts([0, 1, 2, 3, 4], 2))


def test_a_rectangular_mlcp_is_refused(text):
    content = "1 0 1 1\n0 1 2\n0 1\n0 3 2 3 2\n1 2 3 4 5 6\n1 2\n"
    with pytest.raises(FormatError, match=r"expected 2 rows of M.*rectangular.*found 3 rows"):
        text(content)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1 0 2 1\n0 1 3\n0 1\n0 3 3 3 3\n1 2 3 4 5 6 7 8 9\n1 2 3\n", "blocks of equations with 2 rows"),
        ("1 0 1 1\n0 1 1 2\n0 1\n", "a block end, an integer, 2, found '1'"),
        ("1 0 1 1\n1 2\n0 1\n", "the first block end"),
        ("0 0 1 1\n", "whether A, B, C and D are given"),
    ],
)
def test_mlcp_whose_blocks_contradict_it(text, content, expected):
    with pytest.raises(FormatError, match=expected):
        text(content, kind="mlcp")


def test_text_after_the_numbers_is_a_comment(tmp_path):
    (tmp_path / "x.dat").write_text("1 0 1 1 1 1\n2\n-1\n\nRemark 4.1.14 CPS 2009\n  set µ of solutions\n")
    record = read_record(tmp_path / "x.dat")
    assert record.problem.kind == "lcp"
    assert record.info == {"comment": "Remark 4.1.14 CPS 2009\n  set µ of solutions"}
    assert record.solution is None
    assert record.guesses == ()


def test_windows_lines_and_tabs_are_blanks(text):
    problem = text("3\r\n1\r\n0\t3 3\r\n3\t3\r\n15 -1.5 -2.5 -1 14 1.5 -2 1 16\r\n-1\r\n2\r\n3\r\n0.1\r\n")
    same_w(problem)


LOCAL = "3 1\n0 3 3 3 3\n1 0 0 0 1 0 0 0 1\n"
TWO_KINDS = LOCAL + "0 3 3\n3 3\n1 0 0 0 1 0 0 0 1\n1 2 3\n4 5 6\n0.5\n0\n"
"""A global problem with a number after it, which is also a local one with q = (0, 3, 3), mu = 3."""


def test_the_kind_is_seen_in_the_content(tmp_path, text_sample):
    """Also when the name says something else."""
    for name in ("x.dat", "GRFC3D.dat", "lcp.dat", "fc3d.dat"):
        write(tmp_path / name, text_sample)
        assert fingerprint(read(tmp_path / name)) == fingerprint(text_sample)


def test_a_file_of_two_kinds_is_refused(text):
    with pytest.raises(FormatError, match=r"read as 'friction' and as 'global'; pass kind="):
        text(TWO_KINDS)


@pytest.mark.parametrize(("name", "kind"), [("GFC3D_a.dat", GlobalProblem), ("FC3D_a.dat", ContactProblem)])
def test_the_name_decides_between_two_kinds(text, name, kind):
    assert isinstance(text(TWO_KINDS, name), kind)


def test_the_kind_may_be_given(text):
    local = text(TWO_KINDS, "GFC3D.dat", kind="friction")
    assert isinstance(local, ContactProblem)
    np.testing.assert_array_equal(local.u_free, [0, 3, 3])
    assert isinstance(text(TWO_KINDS, kind="global"), GlobalProblem)
    with pytest.raises(FormatError, match=r"line 1, word 1, read as a problem of kind 'rolling': expected"):
        text(TWO_KINDS, kind="rolling")


def test_a_name_that_is_wrong_does_not_decide(text):
    """Like GFC3D_TwoRods1-condensed.dat, which is local."""
    same_w(text("3 1\n0 3 3 3 3\n15 -1.5 -2.5 -1 14 1.5 -2 1 16\n" + Q3, "GFC3D_condensed.dat"))


def test_a_global_file_cut_short_is_not_taken_for_a_local_one(tmp_path, samples):
    """With 12 velocities for 12 components, q could begin where H begins."""
    whole = tmp_path / "whole.dat"
    for storage in ("dense", "block", "sparse"):
        write(whole, samples["global square"], storage=storage)
        words = whole.read_bytes().split(b"\n")
        for cut in range(40, len(words) - 2):
            (tmp_path / "cut.dat").write_bytes(b"\n".join(words[:cut]))
            with pytest.raises(FormatError):
                read(tmp_path / "cut.dat")


def test_a_global_file_cut_where_a_local_one_would_end(text):
    """Only the name can tell."""
    content = LOCAL + "0 3 3\n3"
    assert isinstance(text(content), ContactProblem)
    with pytest.raises(FormatError, match="read as a problem of kind 'global'"):
        text(content, "GFC3D_a.dat")


def test_kinds_are_named(tmp_path):
    assert KINDS == ("friction", "global", "rolling", "global-rolling", "lcp", "mlcp")
    (tmp_path / "x.dat").write_text(LOCAL + Q3)
    with pytest.raises(FormatError, match=r"the argument kind: expected one of friction, global.*'cone'"):
        read(tmp_path / "x.dat", kind="cone")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("3 2\n0 3 3\n", r"line 2, word 4, .*'friction': expected rows of M to be 6, found 3"),
        (LOCAL + "1 2 x\n0.1", r"line 4, word 19, .*expected q, a number, found 'x'"),
        (LOCAL + "1 2 3\n", r"end of file, after word 19, .*expected 1 word for mu, found only 0 left"),
        (LOCAL + "1 2 3\n-0.1", r"the friction problem in it: .*mu of contact 0 is -0.1"),
        (LOCAL + "1 nan 3\n0.1", r"u_free is not finite: contact 0, component 1"),
        (LOCAL + "1 1e999 3\n0.1", r"u_free is not finite"),
        (LOCAL + "1 1_0 3\n0.1", r"expected q, a number, found '1_0'"),
        (LOCAL + "1 1D0 3\n0.1", r"expected q, a number, found '1D0'"),
        (LOCAL + "1 0x1p3 3\n0.1", r"expected q, a number"),
        ("4 1\n0 4 4", r"expected components per contact, an integer, 2 to 3, found '4'"),
        ("3 1\n3 3 3", r"expected storage of M .*found '3'"),
        ("3 1\n0 3 3 3 4", r"expected columns of M, said again to be 3, found 4"),
    ],
)
def test_messages_say_where_and_what(text, content, message):
    with pytest.raises(FormatError, match=r"x\.dat: " + "(?s:.*)" + message):
        text(content, kind="friction")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 1\n3\n3\n3\n1\n0 1\n0\n0\n", "filled block rows of M, plus one, an integer, 1 to 2, found '3'"),
        ("1 1\n2\n1\n2\n1\n0 1\n0\n0\n", "row ends of the blocks of M to rise from above 0 to 3"),
        ("1 1\n3\n0\n", "column ends|block columns"),
        ("1 1\n3\n3\n2\n1\n0 1\n1\n0 1 2 3 4 5 6 7 8 9\n", "block column of M, an integer below 1"),
        ("1 1\n3\n3\n2\n1\n1 1\n0\n0 1 2 3 4 5 6 7 8 9\n", "block row pointer of M to rise"),
        ("1 1\n3\n3\n2\n1\n0 1\n0\n5 1 2 3 4 5 6 7 8 9\n", "0, the number of the next block of M, found 5"),
    ],
)
def test_blocks_that_contradict_each_other(text, content, message):
    with pytest.raises(FormatError, match=message):
        text("3 1\n1 3 3\n1\n" + content + Q3 * 4, kind="friction")


@pytest.mark.parametrize(
    ("origin", "header", "body", "message"),
    [
        (1, "triplet: 3-by-4, nzmax: 1 nnz: 0", "", "M to be 3-by-3, found '3-by-4,'"),
        (1, "triplet: 3-by-3, nzmax: 1 nnz: 1", "0 3 : 1", "column of an entry of M, an integer below 3"),
        (1, "triplet: 3-by-3, nzmax: 1 nnz: 1", "-1 0 : 1", "row of an entry of M, an integer that is not"),
        (1, "triplet: 3-by-3, nzmax: 1 nnz: 1", "0 0 ; 1", "the colon of row column : value"),
        (1, "triplet: 3-by-3, nzmax: 1 nnz: -1", "", "nnz of M"),
        (2, "3-by-3, nzmax: 1 nnz: 2, 1-norm: 1", LINES.format("col"), "nnz of M to be the sum"),
        (2, "3-by-3, nzmax: 1 nnz: 3, 1-norm: 1", LINES.format("tab"), "the word 'col' or 'row'"),
        (2, "3-by-3, nzmax: 1 nnz: 3, 1-norm: 1", LINES.format("col").replace("1 : 7", "3 : 7"), "below 3"),
        (2, "3-by-3, nzmax: 1 nnz: 3", LINES.format("col").replace("2 to 1", "2 to 0"), "at least 1"),
        (4, "", "", "storage of sparse M"),
    ],
)
def test_sparse_matrices_that_contradict_themselves(text, origin, header, body, message):
    with pytest.raises(FormatError, match=message):
        text(f"3 1\n2 3 3\n{origin}\n{BANNER}{header}\n{body}\n{Q3 * 3}", kind="friction")


def test_sparse_without_a_banner(text):
    with pytest.raises(FormatError, match="'CSparse' of the banner of M, found 'triplet:'"):
        text("3 1\n2 3 3\n1\ntriplet: 3-by-3, nzmax: 1 nnz: 0\n" + Q3, kind="friction")


def test_matrices_keep_their_kind_of_storage(text):
    """Dense ones are arrays, the others SciPy matrices."""
    for storage, kind in (("0 2 2 2 2 1 0 0 1", np.ndarray), ("1 2 2 0", sp.csr_array)):
        assert isinstance(text(f"2 {storage} 1 1").A, kind)
