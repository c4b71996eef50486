"""Meshes from OBJ and STL files: round trips, what the formats say, and files that are cut or hostile."""

import os
import random
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stickslip.files import FormatError
from stickslip.files import meshes as module
from stickslip.files.meshes import Mesh, read_mesh
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.shapes import Cuboid
from stickslip.state import ModelError

SIZE = np.array([1.0, 0.5, 0.25])


def obj(mesh):
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in mesh.points.tolist()]
    return "\n".join(lines + ["f {} {} {}".format(*(t + 1)) for t in mesh.triangles]).encode() + b"\n"


def text_stl(mesh, name="a facet of life"):
    lines = [f"solid {name}"]
    for t in mesh.triangles:
        corners = [f"      vertex {x!r} {y!r} {z!r}" for x, y, z in mesh.points[t].tolist()]
        lines += ["  facet normal nan 0 0", "    outer loop", *corners, "    endloop", "  endfacet"]
    return "\n".join([*lines, f"endsolid {name}", ""]).encode()


def binary_stl(mesh, head=b"", count=None):
    body = b"".join(
        struct.pack("<12fH", 0, 0, float("nan"), *mesh.points[t].ravel(), 0xFFFF) for t in mesh.triangles
    )
    return head.ljust(80, b"\0") + struct.pack("<I", len(mesh.triangles) if count is None else count) + body


@pytest.fixture(scope="module")
def cube():
    """A box of exact floats, its points in the order in which its triangles name them."""
    points = np.array(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5])).reshape(3, 8).T * SIZE
    hull = ConvexHull(points)
    order = list(dict.fromkeys(hull.triangles.ravel().tolist()))
    return Mesh(hull.vertices[order], np.argsort(order)[hull.triangles])


@pytest.fixture
def reading(tmp_path):
    """Read some bytes as a file of some name."""

    def read(content, name):
        path = tmp_path / name
        path.write_bytes(content)
        return read_mesh(path)

    return read


FORMS = {
    "a.obj": obj,
    "a.stl": text_stl,
    "b.STL": binary_stl,
    "c.stl": lambda mesh: binary_stl(mesh, b"solid but binary"),
}


@pytest.mark.parametrize("name", FORMS)
def test_round_trip(reading, cube, name):
    """Also a binary file that begins as a text does."""
    mesh = reading(FORMS[name](cube), name)
    np.testing.assert_array_equal(mesh.points, cube.points)
    np.testing.assert_array_equal(mesh.triangles, cube.triangles)
    hull = ConvexHull(mesh)
    assert hull.volume == pytest.approx(Cuboid(SIZE).volume, rel=1e-14)
    np.testing.assert_allclose(hull.inertia, Cuboid(SIZE).inertia, atol=1e-16)


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(4, 30), st.sampled_from([1e-30, 1.0, 1e20]))
def test_numbers_come_back_to_the_bit(tmp_path_factory, seed, count, scale):
    rng = np.random.default_rng(seed)
    points = scale * rng.normal(size=(count, 3))
    mesh = Mesh(points, rng.integers(count, size=(2 * count, 3)))
    folder = tmp_path_factory.mktemp("meshes")
    (folder / "m.obj").write_bytes(obj(mesh))
    np.testing.assert_array_equal(read_mesh(folder / "m.obj").points, points)
    for write, given_points in ((text_stl, points), (binary_stl, points.astype(np.float32))):
        (folder / "m.stl").write_bytes(write(mesh))
        back = read_mesh(str(folder / "m.stl"))
        np.testing.assert_array_equal(back.points[back.triangles], given_points[mesh.triangles])


def test_obj_as_it_is_found_in_the_wild(reading):
    content = """\ufeff# a comment, and é
mtllib some.mtl
o box
v 0 0 0 1.0
v 1 0 0  0.5 0.5 0.5
vt 0.5 0.5
vn 0 0 1
v 1 1 0 # the corner
v 0 1 0
s off
f 1/1/1 2//1 3/1 -1 # four corners
usemtl none
g top
f -4 \\
  -3 5
v 0 0 +2.5e-1
l 1 2
curv what ever
F is not f
""".encode()
    for text in (content, content.replace(b"\n", b"\r\n"), content.replace(b"\n", b"\r")):
        mesh = reading(text, "wild.obj")
        np.testing.assert_array_equal(mesh.points, [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0.25]])
        np.testing.assert_array_equal(mesh.triangles, [[0, 1, 2], [0, 2, 3], [0, 1, 4]])


def test_points_alone_will_do(reading):
    mesh = reading(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n", "cloud.obj")
    assert mesh.triangles.shape == (0, 3)
    assert ConvexHull(mesh).volume == pytest.approx(1 / 6, rel=1e-14)


def test_stl_of_two_solids_in_capitals(reading, cube):
    mesh = reading(2 * text_stl(cube).upper(), "two.stl")
    np.testing.assert_array_equal(mesh.points, cube.points)
    assert len(mesh.triangles) == 24


def test_a_flat_mesh_has_no_hull(reading):
    mesh = reading(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3 4\n", "flat.obj")
    with pytest.raises(ModelError, match="in a plane"):
        ConvexHull(mesh)


FACET = b"facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
HEAD = b"x".ljust(80, b"\0")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.obj", b"", "the file: expected a mesh, found an empty file"),
        ("a.stl", b"", "the file: expected a mesh, found an empty file"),
        ("a.stl", b" \n", "nothing but blanks"),
        ("a.ply", b"ply", "one that ends in .obj or .stl, found 'a.ply'"),
        ("a", b"v 0 0 0", "one that ends in"),
        ("a.obj", b"# nothing\n", "vertices (lines that begin with v), found none"),
        ("a.obj", b"v 0 0\n", "line 1: expected x, y and z of a vertex, found 2 numbers"),
        ("a.obj", b"\nv 0 nan 0\n", "line 2: expected a finite number, found 'nan'"),
        ("a.obj", b"v 0 0 1e999\n", "line 1: expected a finite number, found '1e999'"),
        ("a.obj", b"v 0 0 1_0\n", "line 1: expected a number, found '1_0'"),
        ("a.obj", b"v 0 0 0x1\n", "line 1: expected a number, found '0x1'"),
        ("a.obj", "v 0 0 ٣\n".encode(), "line 1: expected a number"),
        ("a.obj", b"v 0 0 0\nf 1 1 2\n", "line 2: expected vertices 1 to 1, found vertex 2"),
        ("a.obj", b"v 0 0 0\nf 1 1 -2\nv 0 0 0\n", "line 2: expected one of the 1 vertices so far"),
        ("a.obj", b"v 0 0 0\nf 0 1 1\n", "line 2: expected the number of a vertex"),
        ("a.obj", b"v 0 0 0\nf 1 1 1.0\n", "line 2: expected the number of a vertex"),
        ("a.obj", b"v 0 0 0\nf 1 1 " + b"9" * 30 + b"\n", "line 2: expected the number of a vertex"),
        ("a.obj", b"v 0 0 0\nf /1 1 1\n", "line 2: expected the number of a vertex"),
        ("a.obj", b"v 0 0 0\nf 1 1 # 1\n", "line 2: expected a face of at least 3 vertices, found 2"),
        ("a.obj", b"v 0 0 0\n# caf\xe9\n", "line 2, byte 13: expected text in UTF-8, found byte 0xe9"),
        ("a.obj", b"v 0 0 0\nf " + 60_000 * b"1 ", "line 2: expected at most 100000 bytes"),
        ("a.obj", b"v 0 0 0\nf " + 60_000 * b"1 1 \\\n", "line 2 and those joined to it"),
        ("a.stl", b"solid x\nendsolid x\n", "at least one triangle, found none"),
        ("a.stl", HEAD + bytes(4), "at least one triangle, found none"),
        ("a.stl", b"solid x\n" + FACET, "the end, after line 8: expected facet normal or endsolid"),
        ("a.stl", b"solid x\n" + FACET[:43], "the end, after line 4: expected vertex"),
        ("a.stl", b"solid x\n" + FACET + b"end", "line 9: expected facet normal or endsolid, found 'end'"),
        ("a.stl", b"solid x\n" + FACET.replace(b"1 0 0\n", b"1 0\n", 1), "line 5: expected 3 numbers"),
        ("a.stl", b"solid x\n" + FACET.replace(b"x 1", b"x inf"), "line 5: expected a finite number"),
        ("a.stl", b"solid x\n" + FACET.replace(b"x 1", b"x one"), "line 5: expected a number, found 'one'"),
        ("a.stl", b"solid \xff\n" + FACET, "line 1, byte 6: expected text in UTF-8"),
        ("a.stl", b"v 0 0 0\n", "expected the word solid, or the 84 bytes"),
        ("a.stl", 20 * b"v 0 0 0\n", "read as binary STL: expected"),
        ("a.stl", HEAD + b"\1", "expected the word solid, or the 84 bytes"),
        ("a.stl", HEAD + b"\xff\xff\xff\xff", "expected 214748364834 bytes for the 4294967295 triangles"),
    ],
)
def test_what_is_wrong_is_named(reading, name, content, message):
    with pytest.raises(FormatError) as caught:
        reading(content, name)
    assert message in str(caught.value)
    assert name in str(caught.value)
    assert len(str(caught.value)) < 600


def test_binary_stl_cut_lengthened_or_with_a_wrong_count(reading, cube):
    for head in (b"made by a program", b"solid as it were"):
        content = binary_stl(cube, head)
        for wrong in (content[:-1], content[:300], content[:84], content + b"\0"):
            with pytest.raises(FormatError, match="expected 684 bytes for the 12 triangles"):
                reading(wrong, "cut.stl")
        for count in (0, 11, 13, 2**32 - 1):
            with pytest.raises(FormatError, match=f"for the {count} triangles that bytes 80 to 83 say"):
                reading(binary_stl(cube, head, count), "count.stl")


def test_binary_stl_with_nan_names_triangle_and_vertex(reading, cube):
    content = bytearray(binary_stl(cube))
    place = 84 + 50 * 3 + 12 * 2 + 4  # triangle 4, vertex 2, y
    content[place : place + 4] = struct.pack("<f", float("nan"))
    with pytest.raises(
        FormatError, match=r"triangle 4, vertex 2 \(byte 258\): expected a finite y, found nan"
    ):
        reading(bytes(content), "nan.stl")


def test_text_cut_anywhere_is_refused_or_shorter(reading, cube):
    """A text STL without its end is refused; of an OBJ file, a line that lost its end may still be one."""
    content = text_stl(cube)
    for cut in range(0, content.rindex(b"endsolid"), 7):
        with pytest.raises(FormatError):
            reading(content[:cut], "cut.stl")
    content = obj(cube)
    for cut in range(0, len(content), 5):
        try:
            mesh = reading(content[:cut], "cut.obj")
        except FormatError:
            continue
        assert len(mesh.points) <= 8


def test_too_large_a_file_is_not_read(tmp_path):
    path = tmp_path / "huge.stl"
    with open(path, "wb") as file:
        os.truncate(file.fileno(), 2**33)  # a hole: no disk is used
    tracemalloc.start()
    with pytest.raises(FormatError, match="at most 67108864 bytes"):
        read_mesh(path)
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_more_triangles_than_memory_is_for(reading, monkeypatch):
    monkeypatch.setattr(module, "MOST", 100)
    with pytest.raises(FormatError, match="line 2: expected at most 100 vertices and triangles"):
        reading(b"v 0 0 0\nf " + 103 * b"1 ", "fan.obj")
    with pytest.raises(FormatError, match="line 101: expected at most 100 vertices"):
        reading(101 * b"v 0 0 0\n", "cloud.obj")


def test_what_is_not_a_file(tmp_path):
    (tmp_path / "folder.obj").mkdir()
    with pytest.raises(FormatError, match="a folder"):
        read_mesh(tmp_path / "folder.obj")
    os.mkfifo(tmp_path / "pipe.stl")
    with pytest.raises(FormatError, match="a pipe"):
        read_mesh(tmp_path / "pipe.stl")
    with pytest.raises(FileNotFoundError, match=r"none\.stl"):
        read_mesh(tmp_path / "none.stl")
    with pytest.raises(FormatError):
        read_mesh("a\0.stl")


WORDS = [
    b"v", b"f", b"solid", b"facet", b"normal", b"outer", b"loop", b"vertex", b"endloop", b"endfacet",
    b"endsolid", b"1", b"-1", b"0", b"2.5", b"nan", b"1/2", b"//", b"\\", b"\n", b"\n", b"#", b"\xff", b"\0",
]  # fmt: skip
BYTES = st.one_of(
    st.binary(max_size=300),
    st.lists(st.sampled_from(WORDS), max_size=60).map(b" ".join),
    st.tuples(st.binary(min_size=84, max_size=84), st.binary(max_size=200)).map(b"".join),
)


@given(BYTES, st.sampled_from(["g.obj", "g.stl"]))
@example(b"solid" + bytes(79), "g.stl")
@example(b"\\", "g.obj")
@example(b"v 1 2 3 \\", "g.obj")
@example(b"f \\", "g.obj")
def test_garbage_is_a_mesh_or_a_format_error(tmp_path_factory, content, name):
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(content)
    message = ""
    try:
        points = read_mesh(path).points
    except FormatError as error:
        message = str(error)
    assert message.startswith(f"{path}: ") if message else np.isfinite(points).all()


def test_files_with_changed_words_and_bytes(reading, cube):
    rng = random.Random(5)
    for _ in range(400):
        name, write = rng.choice(list(FORMS.items()))
        content = bytearray(write(cube))
        for _ in range(rng.choice((1, 2, 5))):
            at = rng.randrange(len(content))
            content[at : at + rng.choice((0, 1, 1, 4))] = rng.choice(WORDS)
        try:
            mesh = reading(bytes(content), name)
        except FormatError:
            continue
        try:
            ConvexHull(mesh)
        except ModelError:
            continue


@pytest.mark.parametrize(
    ("points", "triangles", "message"),
    [
        ([[0, 0, 0]], [[0, 0, 1]], r"triangles\[0\] is \[0 0 1\], but there are 1 points"),
        ([[0, 0, 0]], [[0, 0, -1]], r"triangles\[0\]"),
        ([[0, 0, 0]], [[0.0, 0, 0]], "expected integers"),
        ([[0, 0, 0]], [0, 0, 0], "expected integers of shape"),
        ([[0, 0, 0]], [[0, 0], [0]], "three integers"),
        ([[0, np.inf, 0]], [], r"points\[0, 1\] is inf"),
        ([[0, 0]], [], r"points has shape \(1, 2\)"),
    ],
)
def test_a_mesh_made_by_hand_is_checked(points, triangles, message):
    with pytest.raises(ModelError, match=f"Mesh: .*{message}"):
        Mesh(points, triangles)
