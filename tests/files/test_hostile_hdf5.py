"""HDF5 files made to harm: every one is a FormatError, soon and without much memory."""

import os
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from stickslip.files import FormatError, read, write
from stickslip.problem.contact import ContactProblem
from stickslip.problem.sets import coulomb, free

LIMIT = 200_000_000
"""Bytes that reading a small file may take at most: three times what its content may declare."""


@pytest.fixture
def local(tmp_path, samples):
    """A local problem in FCLIB's layout."""
    write(tmp_path / "x.hdf5", samples["coulomb 3D block"])
    return tmp_path / "x.hdf5"


@pytest.fixture
def own(tmp_path, samples):
    """A mixed problem in our own layout."""
    write(tmp_path / "x.hdf5", samples["mixed block"])
    return tmp_path / "x.hdf5"


def refused(path, message="expected"):
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match=message) as caught:
            read(path)
        assert tracemalloc.get_traced_memory()[1] < LIMIT
    finally:
        tracemalloc.stop()
    assert str(path) in str(caught.value)
    assert "expected" in str(caught.value)
    assert "found" in str(caught.value)


def replace(path, name, **options):
    with h5py.File(path, "a") as f:
        del f[name]
        f.create_dataset(name, **options)


def test_a_huge_dataset_that_was_never_written(local):
    replace(
        local, "fclib_local/vectors/q", shape=(10**13,), dtype=np.float64, chunks=(1024,), compression="gzip"
    )
    refused(local, r"/fclib_local/vectors/q: expected a file that holds no more than 64000000 bytes")


def test_a_small_dataset_that_was_never_written(local):
    replace(local, "fclib_local/vectors/q", shape=(12,), dtype=np.float64)
    refused(local, r"/fclib_local/vectors/q: .*declared and never written")


def test_a_compressed_bomb(local):
    options = {"chunks": (10**7,), "compression": "gzip", "compression_opts": 9}
    replace(local, "fclib_local/vectors/q", data=np.zeros(10**7), **options)
    assert local.stat().st_size < 200_000
    refused(local, "no more than 64000000 bytes")


def test_many_datasets_below_the_limit_are_summed(local):
    with h5py.File(local, "a") as f:
        f.create_dataset("zeros", data=np.zeros(2 * 10**6), chunks=True, compression="gzip")
        for name in ("W/p", "W/i", "W/x", "vectors/q", "vectors/mu"):
            del f["fclib_local"][name]
            f["fclib_local"][name] = f["zeros"]
    refused(local)


def test_a_chunk_far_larger_than_its_dataset(local):
    options = {"maxshape": (None,), "chunks": (10**7,), "compression": "gzip", "compression_opts": 1}
    replace(local, "fclib_local/vectors/q", data=np.zeros(12), **options)
    refused(local, "no more than .* bytes, found 80000000 bytes more")


@pytest.mark.parametrize("place", ["fclib_local/vectors/q", "fclib_local/W", "fclib_local"])
@pytest.mark.parametrize("link", ["soft", "external"])
def test_links_to_elsewhere(local, tmp_path, place, link):
    with h5py.File(local) as f, h5py.File(tmp_path / "other.hdf5", "w") as other:
        f.copy(place, other, "thing")
    with h5py.File(local, "a") as f:
        f.move(place, "thing")
        f[place] = h5py.SoftLink("/thing") if link == "soft" else h5py.ExternalLink("other.hdf5", "/thing")
    refused(local, f"/{place}: expected a (group|dataset), found a link to elsewhere")


def test_a_link_that_leads_nowhere(local):
    with h5py.File(local, "a") as f:
        del f["fclib_local/vectors/mu"]
        f["fclib_local/vectors/mu"] = h5py.SoftLink("/fclib_local/vectors/mu")
    refused(local, "a link to elsewhere")


def test_virtual_datasets(local, tmp_path):
    with h5py.File(tmp_path / "other.hdf5", "w") as other:
        other["q"] = np.zeros(12)
    layout = h5py.VirtualLayout((12,), np.float64)
    layout[:] = h5py.VirtualSource(str(tmp_path / "other.hdf5"), "q", (12,))
    with h5py.File(local, "a") as f:
        del f["fclib_local/vectors/q"]
        f.create_virtual_dataset("fclib_local/vectors/q", layout)
    refused(local, "/fclib_local/vectors/q: .*kept in other files")


def test_external_storage(local, tmp_path):
    (tmp_path / "raw").write_bytes(bytes(96))
    external = [(str(tmp_path / "raw"), 0, 96)]
    replace(local, "fclib_local/vectors/q", shape=(12,), dtype=np.float64, external=external)
    refused(local, "kept in other files")


def test_checksums_are_not_worth_the_risk(local):
    """The library that checks them reads beyond short chunks."""
    replace(local, "fclib_local/vectors/q", data=np.zeros(12), chunks=(12,), fletcher32=True)
    refused(local, "each of deflate and shuffle once at most")


def test_a_stream_that_grows_beyond_its_chunk(local):
    """A chunk of 96 bytes whose stream unpacks to 10^8: declared sizes say nothing about it."""
    replace(local, "fclib_local/vectors/q", shape=(12,), dtype=np.float64, chunks=(12,), compression="gzip")
    with h5py.File(local, "a") as f:
        f["fclib_local/vectors/q"].id.write_direct_chunk((0,), zlib.compress(bytes(10**8), 9))
    refused(local, "/fclib_local/vectors/q: expected chunks of 96 bytes, found more")
    with h5py.File(local, "a") as f:
        f["fclib_local/vectors/q"].id.write_direct_chunk((0,), zlib.compress(bytes(95), 9))
    refused(local, "expected chunks of 96 bytes, found 95")
    with h5py.File(local, "a") as f:
        f["fclib_local/vectors/q"].id.write_direct_chunk((0,), b"no stream at all")
    refused(local, "/fclib_local/vectors/q: expected sound HDF5")


def test_chunks_that_are_not_all_there(local):
    replace(local, "fclib_local/vectors/q", shape=(12,), dtype=np.float64, chunks=(5,))
    with h5py.File(local, "a") as f:
        f["fclib_local/vectors/q"][:5] = 1.0
    refused(local, "/fclib_local/vectors/q: expected 3 chunks, found 1: the dataset was declared and never")


def test_filters_that_load_plugins(local):
    replace(local, "fclib_local/vectors/q", data=np.zeros(12), chunks=(12,), compression="lzf")
    refused(local, r"expected each of deflate and shuffle once at most, found filters \[32000\]")


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (np.array([b"1.0"] * 12), "text of 3 bytes"),
        (np.array(["1.0"] * 12, h5py.string_dtype()), "text"),
        (np.zeros(12, [("a", np.float64), ("b", np.int8)]), "a compound type"),
        (np.zeros(12, bool), "an enumeration"),
        (np.zeros(12, np.complex128), "a compound type|another type"),
        (np.zeros(12, np.longdouble), "reals of 16 bytes"),
        (np.zeros(12, np.void(b"xyz").dtype), "opaque"),
        (np.zeros((3, 4)), r"one of shape \(3, 4\)"),
        (np.float64(3.0), r"one of shape \(\)"),
        (h5py.Empty(np.float64), "one of shape None"),
        (
            np.array([np.ones(1), np.ones(3)], dtype=object).astype(h5py.vlen_dtype(float)),
            "arrays of any length",
        ),
    ],
    ids=["bytes", "texts", "compound", "bool", "complex", "long", "opaque", "2D", "scalar", "null", "vlen"],
)
def test_types_and_shapes_that_are_no_vector(local, data, found):
    with h5py.File(local, "a") as f:
        del f["fclib_local/vectors/q"]
        f["fclib_local/vectors/q"] = data
    refused(local, rf"/fclib_local/vectors/q: expected .*found {found}")


def test_references_where_numbers_are_expected(local):
    replace(local, "fclib_local/vectors/q", shape=(12,), dtype=h5py.ref_dtype)
    refused(local, "/fclib_local/vectors/q: expected")
    with h5py.File(local, "a") as f:
        f["fclib_local/vectors/q"][...] = f["fclib_local"].ref
    refused(local, "/fclib_local/vectors/q: expected numbers of at most 8 bytes, found references")


def test_reals_where_integers_are_expected(local):
    with h5py.File(local, "a") as f:
        p = f["fclib_local/W/p"][()]
        del f["fclib_local/W/p"]
        f["fclib_local/W/p"] = p.astype(float)
    refused(local, "/fclib_local/W/p: expected integers of at most 8 bytes, found reals of 8 bytes")


def test_attributes_of_any_type(local):
    with h5py.File(local, "a") as f:
        f["fclib_local/W"].attrs["x"] = f["fclib_local"].ref
    refused(local, "/fclib_local/W, attribute 'x': expected a number or a text, found references")


def test_groups_and_datasets_in_each_others_place(local):
    with h5py.File(local, "a") as f:
        del f["fclib_local/W/x"]
        f.create_group("fclib_local/W/x")
    refused(local, "/fclib_local/W/x: expected a dataset, found a group")
    with h5py.File(local, "a") as f:
        del f["fclib_local/vectors"]
        f["fclib_local/vectors"] = [1.0]
    refused(local, "/fclib_local/vectors: expected a group, found a dataset")


def test_a_named_type_instead_of_a_dataset(local):
    with h5py.File(local, "a") as f:
        del f["fclib_local/vectors/q"]
        f["fclib_local/vectors/q"] = np.dtype("f8")
    refused(local, "/fclib_local/vectors/q: expected a dataset, found a datatype")


def test_a_group_that_holds_itself_under_two_names(local):
    with h5py.File(local, "a") as f:
        f["fclib_local/W/again"] = f["fclib_local"]
        f["alias"] = f["fclib_local"]
    assert isinstance(read(local), ContactProblem)


def test_no_root_and_two_roots(local):
    with h5py.File(local, "a") as f:
        f["fclib_global"] = f["fclib_local"]
    refused(local, "/: expected one of the groups fclib_local.*found fclib_local and fclib_global")
    with h5py.File(local, "w") as f:
        f["x"] = 1
    refused(local, "found none of them")


INT = np.iinfo(np.int32)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("W/nz", -3, "W/nz: expected a count of triplets, -1"),
        ("W/nz", INT.max, "W/p: expected 2147483647 entries"),
        ("W/nz", 14, "W/p: expected 14 entries, as nz has it, found 13"),
        ("W/m", INT.max, r"W: expected a matrix of shape \(12, 12\)"),
        ("W/n", -1, r"W: expected a matrix of shape \(12, 12\)"),
        ("W/p", lambda p: p * 0 - 1, "W/p: expected 13 numbers that rise from 0"),
        ("W/p", lambda p: p[::-1], "W/p: expected 13 numbers that rise from 0"),
        ("W/p", lambda p: p * (INT.max // p.max()), "W/i: expected .* entries, as p has it"),
        ("W/p", lambda p: np.concatenate([[0, p[-1]], p[2:]]), "W/p: expected 13"),
        ("W/p", lambda p: p[:-1], "W/p: expected 13 numbers that rise from 0, found 12 numbers"),
        ("W/p", lambda p: p[:0], "W/p: expected 13 numbers that rise from 0, found 0 numbers"),
        ("W/i", lambda i: i - 1, "W/i: expected indices from 0 to below 12, found -1"),
        ("W/i", lambda i: i + 1, "W/i: expected indices from 0 to below 12, found 12"),
        ("W/i", lambda i: i[:-1], "W/i: expected"),
        ("W/x", lambda x: x[:-1], "W/x: expected"),
        ("W/x", lambda x: x * np.nan, "/fclib_local: expected well-posed data, found this: W is not finite"),
        ("vectors/q", lambda q: q * np.inf, "u_free is not finite"),
        ("vectors/q", lambda q: q[:-1], "vectors/mu: expected 11/3 numbers"),
        ("vectors/mu", lambda mu: -1 - mu, "mu of contact 0"),
        ("vectors/mu", lambda mu: mu[:-1], "vectors/mu: expected 12/3 numbers, one per contact, found 3"),
        ("spacedim", 7, "spacedim: expected 2 or 3 components per contact, found 7"),
        ("spacedim", 2, "vectors/mu: expected 12/2 numbers"),
    ],
)
def test_numbers_that_do_not_fit(local, name, change, message):
    with h5py.File(local, "a") as f:
        root = f["fclib_local"]
        value = root[name][()]
        del root[name]
        root[name] = change(value) if callable(change) else np.array([change], value.dtype)
    refused(local, message)


@pytest.mark.parametrize(("name", "count"), [("M/i", 9), ("M/p", 9), ("H/i", 9), ("H/p", 12)])
@pytest.mark.parametrize("index", [-1, INT.min, INT.max, None])
def test_triplets_outside_the_matrix(tmp_path, samples, name, count, index):
    path = tmp_path / "x.hdf5"
    write(path, samples["global"])
    with h5py.File(path, "a") as f:
        f[f"fclib_global/{name}"][3] = count if index is None else index
    refused(path, f"/fclib_global/{name}: expected indices from 0 to below {count}, found -?[0-9]+ at 3")


def test_unsigned_integers_beyond_all_bounds(local):
    with h5py.File(local, "a") as f:
        i = f["fclib_local/W/i"][()].astype(np.uint64)
        i[0] = 2**64 - 1
        del f["fclib_local/W/i"]
        f["fclib_local/W/i"] = i
    refused(local, r"/fclib_local/W/i: expected integers below 2\^63")


def test_a_mass_matrix_that_is_none(tmp_path, samples):
    path = tmp_path / "x.hdf5"
    write(path, samples["global"])
    with h5py.File(path, "a") as f:
        f["fclib_global/M/x"][...] *= -1
    refused(path, "/fclib_global: expected well-posed data, found this: M is not positive definite")
    with h5py.File(path, "a") as f:
        f["fclib_global/M/x"][...] *= -1e306
    read(path)  # the checks of M overflow and come to no harm


BIG = 2**62


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("version", 2, "version: expected 1, the version that this program knows, found 2"),
        ("kind", b"cone", "kind: expected one of contact, global, box, found 'cone'"),
        ("level", b"", "level: expected one of velocity"),
        ("set/kind", lambda k: k + 1, "set/kind: expected numbers from 0 to 3"),
        ("set/kind", lambda k: -k, "set/kind: expected numbers from 0 to 3"),
        ("set/kind", lambda k: k * 0, "set/group_offset: expected groups for friction and for nothing else"),
        ("set/kind", lambda k: k[:-1], "set/offset: expected .* numbers"),
        ("set/offset", lambda o: o * BIG, "set/offset: expected numbers that rise from 0 to"),
        ("set/offset", lambda o: np.sort(-o), "set/offset: expected numbers that rise"),
        ("set/offset", lambda o: np.where(o == 3, 4, o), "set/offset: expected blocks as large as their"),
        ("set/group_size", lambda g: g * BIG, "set/group_size: expected sizes from 1 to"),
        ("set/group_size", lambda g: g * 0, "set/group_size: expected sizes from 1"),
        ("set/group_size", lambda g: g + 1, "set/offset: expected blocks as large as their groups"),
        ("set/group_size", lambda g: g[1:], "set/coefficient: expected"),
        ("set/group_offset", lambda g: g * BIG, "set/group_offset: expected numbers that rise"),
        ("set/group_offset", lambda g: g[::-1], "set/group_offset: expected numbers that rise"),
        ("set/coefficient", lambda c: c * np.nan, "set/coefficient: expected numbers that are finite"),
        ("set/coefficient", lambda c: -1 - c, "set/coefficient: expected numbers that are finite"),
        ("set/lower", lambda x: x + 10, "set/lower: expected the lower bound"),
        ("set/lower", lambda x: np.where(x == -1, 100, x), "set/lower: expected bounds with lower <= upper"),
        ("set/upper", lambda x: np.zeros_like(x), "set/upper: expected the upper bound"),
        ("u_free", lambda u: u[:-1], "set/offset: expected numbers that rise from 0 to"),
        ("W/m", BIG, r"W: expected a matrix of shape"),
        ("W/form", b"bodies", "W/bodies: expected a dataset, found nothing"),
        ("W/form", b"pickle", "W/form: expected one of dense, rows, bodies"),
    ],
)
def test_our_own_layout_with_numbers_that_do_not_fit(own, name, change, message):
    with h5py.File(own, "a") as f:
        root = f["stickslip_problem"]
        value = root[name][()]
        del root[name]
        root[name] = change(value) if callable(change) else change
    refused(own, message)


def test_one_number_in_a_large_block_costs_the_block(tmp_path):
    """A free block of 10^5 components and an empty W would make 10^10 numbers."""
    path = tmp_path / "x.hdf5"
    write(path, ContactProblem(np.eye(2), np.zeros(2), free(2)))
    n = 10**5
    with h5py.File(path, "a") as f:
        root = f["stickslip_problem"]
        for name in ("W/x", "W/form", "set/offset", "u_free"):
            del root[name]
        root["W/form"] = b"rows"
        root["W/m"], root["W/n"] = [n], [n]
        root["W/p"], root["W/i"], root["W/x"] = np.zeros(n + 1, int), np.zeros(1, int), np.zeros(1)
        root["set/offset"], root["u_free"] = [0, n], np.zeros(n)
    refused(
        path, "/stickslip_problem/W: expected a file that holds no more than .* found 80000000000 bytes more"
    )


def test_velocities_that_are_coupled_cost_their_square(tmp_path, samples):
    """M is checked in dense blocks of coupled velocities: chains of 256 in a small file are too much."""
    path = tmp_path / "x.hdf5"
    write(path, samples["global no contact"])
    n = 256 * 256
    i = np.arange(n)
    chain = i[i % 256 != 255]
    with h5py.File(path, "a") as f:
        root = f["fclib_global"]
        row, column = np.concatenate([i, chain, chain + 1]), np.concatenate([i, chain + 1, chain])
        value = np.where(row == column, 4.0, 1.0)
        arrays = {"M/i": row, "M/p": column, "M/x": value, "vectors/f": np.zeros(n)}
        for name, data in arrays.items():
            del root[name]
            root.create_dataset(name, data=data, chunks=data.shape, compression="gzip", compression_opts=1)
        root["M/m"][0] = root["M/n"][0] = root["H/m"][0] = n
        root["M/nz"][0] = row.size
    assert path.stat().st_size < 700_000
    refused(path, "/fclib_global/M: expected a file that holds no more than")


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("W/count", 10**15, "W/count: expected a file that holds no more than"),
        ("W/count", 0, "W/count: expected a count above every body"),
        ("W/count", -1, "W/count: expected a count above every body"),
        ("W/bodies", lambda b: b[:, ::-1] * 0, "joins body 0 to itself"),
        ("W/bodies", lambda b: b + BIG, "W/count: expected a count above every body"),
        ("W/bodies", lambda b: b[:1], "bodies has shape"),
        ("W/rows", lambda r: r * np.nan, "rows is not finite"),
        ("W/rows", lambda r: r[:-1], "W/rows: expected 12 rows"),
        ("W/rows", lambda r: r[:, :1], "rows has shape"),
        ("W/offset", lambda o: o[:-1], "W/offset: expected numbers that rise from 0 to 12"),
        ("W/offset", lambda o: o[[0, 1, 4]], "W/offset: expected the offset of the product set"),
        ("W/offset", lambda o: o[:0], "W/offset: expected numbers that rise"),
    ],
)
def test_matrix_free_with_numbers_that_do_not_fit(tmp_path, samples, name, change, message):
    path = tmp_path / "x.hdf5"
    write(path, samples["matrix-free"])
    with h5py.File(path, "a") as f:
        root = f["stickslip_problem"]
        value = root[name][()]
        del root[name]
        root[name] = change(value) if callable(change) else change
    refused(path, message)


def test_a_file_cut_anywhere(local):
    data = local.read_bytes()
    for cut in range(8, len(data), 97):
        local.write_bytes(data[:cut])
        refused(local)


def test_bytes_changed_anywhere():
    """In a process of its own, for what may break here is a library in C."""
    script = Path(__file__).with_name("change_bytes.py")
    plain = {**os.environ, "STICKSLIP_JIT": "0"}  # readers need no compiled kernels
    done = subprocess.run(
        [sys.executable, str(script), "500"], capture_output=True, text=True, timeout=300, env=plain
    )
    assert done.returncode == 0, done.stderr[-2000:]
    read_well, refused, peak = map(int, done.stdout.split())
    assert refused > 100
    assert read_well > 100
    assert peak < LIMIT


def test_more_coulomb_contacts_than_the_file_can_hold(tmp_path):
    """mu of 10^9 contacts, declared and not there."""
    path = tmp_path / "x.hdf5"
    write(path, ContactProblem(np.eye(3), np.zeros(3), coulomb([0.5])))
    replace(path, "fclib_local/vectors/mu", shape=(10**9,), dtype=np.float64, chunks=(1024,))
    refused(path, "no more than 64000000 bytes")
