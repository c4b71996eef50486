"""Facts of FCLIB's layout: matrices in three forms, equations, texts, attributes, stored answers."""

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from h5py import h5t

from stickslip.files import FormatError, ProblemRecord, read, read_record, write
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.fingerprint import fingerprint
from stickslip.problem.operator import BlockDelassus
from stickslip.problem.sets import coulomb

W = np.array([[3.5, 0, 0], [0, -1e-3, 4], [0, 4, 7.0]])


def put(group, name, value, dtype=np.float64):
    if name in group:
        del group[name]
    group[name] = np.asarray(value, dtype)


def put_matrix(root, name, shape, nz, p, i, x, nzmax=99):
    if name in root:
        del root[name]
    group = root.create_group(name)
    for key, value in (("m", shape[0]), ("n", shape[1]), ("nz", nz), ("nzmax", nzmax)):
        put(group, key, [value], np.int32)
    put(group, "p", p, np.int32)
    put(group, "i", i, np.int32)
    put(group, "x", x)


@pytest.fixture
def file(tmp_path):
    """A small local problem as FCLIB writes it, open for changes, and its reader."""
    path = tmp_path / "x.hdf5"
    with h5py.File(path, "w") as f:
        root = f.create_group("fclib_local")
        put(root, "spacedim", [3], np.int32)
        put_matrix(root, "W", (3, 3), -2, [0, 1, 3, 5], [0, 1, 2, 1, 2], [3.5, -1e-3, 4, 4, 7])
        vectors = root.create_group("vectors")
        put(vectors, "q", [-1, 2, 3])
        put(vectors, "mu", [0.5])
    return path


@pytest.fixture
def global_file(tmp_path):
    """A small global problem by triplets."""
    path = tmp_path / "g.hdf5"
    with h5py.File(path, "w") as f:
        root = f.create_group("fclib_global")
        put(root, "spacedim", [2], np.int32)
        put_matrix(root, "M", (3, 3), 3, [0, 1, 2], [0, 1, 2], [2, 3, 4])
        put_matrix(root, "H", (3, 2), 2, [1, 0], [2, 0], [5, 6], nzmax=2000)
        vectors = root.create_group("vectors")
        put(vectors, "f", [1, 2, 3])
        put(vectors, "w", [4, 5])
        put(vectors, "mu", [0.25])
    return path


def test_compressed_rows(file):
    problem = read(file)
    assert isinstance(problem, ContactProblem)
    assert isinstance(problem.W, BlockDelassus)
    np.testing.assert_array_equal(problem.W.dense(), W)
    np.testing.assert_array_equal(problem.u_free, [-1, 2, 3])
    assert problem.K[0].coefficients == (0.5,)


@pytest.mark.parametrize(
    "matrix",
    [
        # rows in i, columns in p; a duplicate; more stored than nz says
        (5, [0, 1, 2, 1, 2, 0, 7], [0, 1, 1, 2, 2, 0, 7], [3.0, -1e-3, 4, 4, 7, 0.5, 9]),
        (6, [0, 1, 2, 1, 2, 0], [0, 1, 1, 2, 2, 0], [3.0, -1e-3, 4, 4, 7, 0.5]),
        (-1, [0, 1, 3, 5], [0, 1, 2, 1, 2], [3.5, -1e-3, 4, 4, 7]),
        (-1, [0, 1, 3, 5], [0, 2, 1, 2, 1, 8], [3.5, 4, -1e-3, 7, 4, 9]),
        (-2, [0, 2, 4, 6], [0, 0, 1, 2, 1, 2], [3.25, 0.25, -1e-3, 4, 4, 7]),
    ],
    ids=["triplets, room left", "triplets, duplicate", "columns", "columns, not sorted", "rows, duplicate"],
)
def test_forms_of_matrices(file, matrix):
    with h5py.File(file, "a") as f:
        put_matrix(f["fclib_local"], "W", (3, 3), *matrix)
    expected = W.copy()
    if matrix[0] == 5:
        expected[0, 0] = 3.0
    np.testing.assert_array_equal(read(file).W.dense(), expected)


def test_an_empty_column(global_file):
    with h5py.File(global_file, "a") as f:
        put_matrix(f["fclib_global"], "H", (3, 2), -1, [0, 0, 1], [2], [5.0])
    np.testing.assert_array_equal(read(global_file).H_sparse().toarray(), [[0, 0], [0, 0], [0, 5]])


def test_global(global_file):
    problem = read(global_file)
    assert isinstance(problem, GlobalProblem)
    np.testing.assert_array_equal(problem.M.sparse.toarray(), np.diag([2.0, 3, 4]))
    np.testing.assert_array_equal(problem.H_sparse().toarray(), [[6, 0], [0, 0], [0, 5]])
    np.testing.assert_array_equal(problem.f, [1, 2, 3])
    np.testing.assert_array_equal(problem.u_bias, [4, 5])
    assert problem.G is None
    assert problem.K.dimension == 2


def test_equations_of_global_problems(global_file):
    """M v = f + H r + G l and G' v + b = 0, with l in the solution."""
    with h5py.File(global_file, "a") as f:
        put_matrix(f["fclib_global"], "G", (3, 1), 1, [0], [1], [8.0])
        put(f["fclib_global/vectors"], "b", [-0.5])
        for name, value in (("r", [1, 0.1]), ("u", [0, 0]), ("v", [1, 2, 3]), ("l", [9])):
            put(f.require_group("solution"), name, value)
    record = read_record(global_file)
    np.testing.assert_array_equal(record.problem.G_sparse().toarray(), [[0], [8], [0]])
    np.testing.assert_array_equal(record.problem.g_bias, [-0.5])
    np.testing.assert_array_equal(record.solution.lam, [9])
    np.testing.assert_array_equal(record.solution.v, [1, 2, 3])


def test_the_equations_of_a_written_file_are_those_of_fclib(tmp_path, samples):
    """Residual of the answer computed from the datasets by name, with FCLIB's equations."""
    problem = samples["global with joints"]
    rng = np.random.default_rng(3)
    r, lam = rng.normal(size=problem.size), rng.normal(size=4)
    v = problem.M.solve(problem.f + problem.H_sparse() @ r + problem.G_sparse() @ lam)
    write(tmp_path / "x.hdf5", problem)
    with h5py.File(tmp_path / "x.hdf5") as f:
        matrices = {}
        for name in "MHG":
            g = f[f"fclib_global/{name}"]
            assert g["nz"][0] == len(g["x"])
            shape = (g["m"][0], g["n"][0])
            matrices[name] = sp.coo_array((g["x"][()], (g["i"][()], g["p"][()])), shape=shape).toarray()
        fclib = f["fclib_global/vectors"]
        left = matrices["M"] @ v
        right = matrices["H"] @ r + matrices["G"] @ lam + fclib["f"][()]
        np.testing.assert_allclose(left, right, atol=1e-12)
        np.testing.assert_array_equal(fclib["b"], problem.g_bias)
        np.testing.assert_array_equal(fclib["w"], problem.u_bias)


@pytest.mark.parametrize("name", ["V", "R", "vectors/s"])
def test_local_problems_with_equations_are_refused(file, name):
    with h5py.File(file, "a") as f:
        f[f"fclib_local/{name}"] = [1.0]
    with pytest.raises(FormatError, match=rf"x\.hdf5: /fclib_local/{name}: expected a local problem without"):
        read(file)


def test_rolling_needs_five_components_and_mu_r(tmp_path, samples):
    path = tmp_path / "x.hdf5"
    write(path, samples["rolling block"])
    with h5py.File(path, "a") as f:
        assert list(f) == ["fclib_local_rolling"]
        f["fclib_local_rolling/spacedim"][0] = 3
    with pytest.raises(FormatError, match=r"/fclib_local_rolling/spacedim: expected 5 components.*found 3"):
        read(path)
    with h5py.File(path, "a") as f:
        f["fclib_local_rolling/spacedim"][0] = 5
        del f["fclib_local_rolling/vectors/mu_r"]
    with pytest.raises(
        FormatError, match="/fclib_local_rolling/vectors/mu_r: expected a dataset, found nothing"
    ):
        read(path)


def test_texts_and_attributes(file):
    """Bytes that are not UTF-8, texts of any length, numbers of any type."""
    with h5py.File(file, "a") as f:
        info = f.create_group("fclib_local/info")
        info["title"] = np.bytes_(b"\xa8Box\nstacks")
        info["description"] = "texte à longueur variable"
        info["math_info"] = h5py.Empty("S1")
        info.attrs["numberOfDegreeOfFreedom"] = np.array([606], np.int32)
        info.attrs["text"] = b"bad \xff byte"
        info.attrs["several"] = [1.5, 2.5]
        f["fclib_local/W"].attrs["cond"] = 1034784.6584039549
        put(f["fclib_local/W"], "conditioning", [12.5])
        f["fclib_local/W/comment"] = np.bytes_(b"nearly singular")
    assert read_record(file).info == {
        "title": "\\xa8Box\nstacks",
        "description": "texte à longueur variable",
        "math_info": "",
        "numberOfDegreeOfFreedom": "606",
        "text": "bad \\xff byte",
        "several": "1.5 2.5",
        "W.cond": "1034784.6584039549",
        "W.conditioning": "12.5",
        "W.comment": "nearly singular",
    }


def test_texts_are_written_for_c_libraries(tmp_path, samples):
    """Fixed length, scalar, closed by a zero byte, as H5LTmake_dataset_string does."""
    record = ProblemRecord(
        samples["one contact"],
        {"title": "stones", "math_info": "", "description": "a\0b\ud800", "n\0\udcff": "x"},
    )
    write(tmp_path / "x.hdf5", record)
    with h5py.File(tmp_path / "x.hdf5") as f:
        title = f["fclib_local/info/title"]
        assert title.shape == ()
        assert title.id.get_type().get_strpad() == h5t.STR_NULLTERM
        assert title.id.get_type().get_size() == 7
        assert title[()] == b"stones"
    info = read_record(tmp_path / "x.hdf5").info
    assert info["description"] == "a\\x00b\\ud800"
    assert info["n\\x00\\udcff"] == "x"


def test_the_layout_is_that_of_fclib(tmp_path, fclib_sample):
    """Types and shapes that the C library and others' scripts expect."""
    write(tmp_path / "x.hdf5", fclib_sample)
    local = isinstance(fclib_sample, ContactProblem)
    rolling = fclib_sample.K.family == (2, 2)
    with h5py.File(tmp_path / "x.hdf5") as f:
        name = ("fclib_local" if local else "fclib_global") + "_rolling" * rolling
        assert list(f) == [name]
        root = f[name]
        assert root["spacedim"][()].tolist() == [fclib_sample.K.dimension or 3]
        vectors = ({"q", "mu"} if local else {"f", "w", "mu"}) | ({"mu_r"} if rolling else set())
        if not local and fclib_sample.G is not None:
            vectors |= {"b"}
        assert set(root["vectors"]) == vectors
        assert all(v.dtype == np.float64 and v.ndim == 1 for v in root["vectors"].values())
        for matrix in "W" if local else "MH":
            group = root[matrix]
            assert set(group) == {"m", "n", "nz", "nzmax", "p", "i", "x"}
            for key in ("m", "n", "nz", "nzmax"):
                assert (group[key].dtype, group[key].shape) == (np.int32, (1,))
            assert group["p"].dtype == group["i"].dtype == np.int32
            assert group["nz"][0] == (-2 if local else len(group["x"]))
            assert group["nzmax"][0] == len(group["x"])


def test_other_problems_go_into_our_own_group(tmp_path, sample_beyond_fclib):
    write(tmp_path / "x.hdf5", sample_beyond_fclib)
    with h5py.File(tmp_path / "x.hdf5") as f:
        assert list(f) == ["stickslip_problem"]


def test_answers(file):
    with h5py.File(file, "a") as f:
        for place, value in (("solution", 1.0), ("guesses/1", 2.0), ("guesses/2", 3.0)):
            put(f.require_group(place), "r", [value] * 3)
            put(f.require_group(place), "u", [-value] * 3)
        put(f["guesses"], "number_of_guesses", [2], np.int32)
        put(f["solution"], "v", np.zeros(7))  # a local problem has no v: not looked at
    record = read_record(file)
    np.testing.assert_array_equal(record.solution.r, [1, 1, 1])
    np.testing.assert_array_equal(record.solution.u, [-1, -1, -1])
    assert record.solution.v is None
    assert [guess.r[0] for guess in record.guesses] == [2, 3]


def test_an_answer_that_was_declared_and_never_written_is_none(global_file):
    """FCLIB makes the datasets of an answer before it has one; they would read as zeros."""
    with h5py.File(global_file, "a") as f:
        put(f.require_group("solution"), "u", [1, 2])
        f["solution"].create_dataset("r", (2,), np.float64)
        for k in (1, 2):
            put(f.require_group(f"guesses/{k}"), "u", [1, 2])
            f[f"guesses/{k}"].create_dataset("v", (3,), np.float64)
        f["guesses/1"].create_dataset("r", (2,), np.float64)
        put(f["guesses/2"], "r", [5, 6])
        put(f["guesses"], "number_of_guesses", [2], np.int32)
    record = read_record(global_file)
    assert record.solution is None
    assert [guess.r.tolist() for guess in record.guesses] == [[5, 6]]
    assert record.guesses[0].v is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("r", [1.0, 2]), "/solution/r: expected 3 numbers, found 2"),
        (("r", [1.0, 2, np.inf]), "/solution/r: expected finite numbers, found inf at 2"),
        (("u", None), "/solution/u: expected a dataset, found nothing"),
    ],
)
def test_answers_that_do_not_fit(file, change, message):
    name, value = change
    with h5py.File(file, "a") as f:
        for key in "ru":
            put(f.require_group("solution"), key, [1, 2, 3])
        del f["solution"][name]
        if value is not None:
            f["solution"][name] = value
    with pytest.raises(FormatError, match=message):
        read(file)


def test_missing_guesses(file):
    with h5py.File(file, "a") as f:
        put(f.create_group("guesses"), "number_of_guesses", [2_000_000_000], np.int32)
    with pytest.raises(FormatError, match="/guesses/1: expected a group, found nothing"):
        read(file)
    with h5py.File(file, "a") as f:
        f["guesses/number_of_guesses"][0] = -1
    with pytest.raises(FormatError, match="number_of_guesses: expected a number that is not negative"):
        read(file)


def test_the_kind_in_an_hdf5_file_must_be_the_one_asked_for(file):
    assert fingerprint(read(file, kind="friction")) == fingerprint(read(file))
    with pytest.raises(FormatError, match="expected a problem of kind 'lcp', as asked for, found friction"):
        read(file, kind="lcp")


def test_numbers_of_other_widths_and_byte_orders(file):
    with h5py.File(file, "a") as f:
        put(f["fclib_local/vectors"], "q", [-1, 2, 3], ">f4")
        put(f["fclib_local/vectors"], "mu", [1], np.uint8)
        put(f["fclib_local/W"], "p", [0, 1, 3, 5], ">u8")
    problem = read(file)
    np.testing.assert_array_equal(problem.u_free, [-1, 2, 3])
    assert problem.K[0].coefficients == (1.0,)


@pytest.mark.parametrize("chunk", [1, 2, 3, 4, 5, 7, 12, 100])
@pytest.mark.parametrize("packing", ["none", "deflate", "shuffle", "both"])
def test_chunks_of_every_size(tmp_path, samples, chunk, packing):
    options = {"compression": "gzip"} if packing in ("deflate", "both") else {}
    write(tmp_path / "x.hdf5", samples["mixed dense"])
    with h5py.File(tmp_path / "x.hdf5", "a") as f:
        root = f["stickslip_problem"]
        for name, dtype in (("u_free", ">f8"), ("W/x", "f8"), ("set/offset", ">i4"), ("set/kind", "u1")):
            value = root[name][()].astype(dtype)
            del root[name]
            options |= {"chunks": (chunk,) * value.ndim, "maxshape": (None,) * value.ndim}
            root.create_dataset(name, data=value, shuffle=packing in ("shuffle", "both"), **options)
    assert fingerprint(read(tmp_path / "x.hdf5")) == fingerprint(samples["mixed dense"])


def test_long_attributes_are_refused_and_long_descriptions_are_not(tmp_path):
    problem = ContactProblem(np.eye(3), np.ones(3), coulomb([0.5]))
    with pytest.raises(FormatError, match=r"attribute 'x': expected at most 60000 bytes"):
        write(tmp_path / "x.hdf5", ProblemRecord(problem, {"x": "y" * 60_001}))
    with pytest.raises(FormatError, match="attribute '': expected a name that HDF5 takes"):
        write(tmp_path / "x.hdf5", ProblemRecord(problem, {"": "y"}))
    write(tmp_path / "x.hdf5", ProblemRecord(problem, {"description": "y" * 200_000}))
    assert len(read_record(tmp_path / "x.hdf5").info["description"]) == 200_000
