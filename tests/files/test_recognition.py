"""Files of others are named by what they are; nothing in them is executed, unpacked or followed."""

import os
import pickle
import struct

import numpy as np
import pytest

from stickslip import files
from stickslip.files import FormatError
from stickslip.files.recognition import MOST_XML, recognised
from stickslip.problem.box import lcp

URDF = b"""<?xml version="1.0"?>
<robot name="arm"><link name="base"/><link name="tip"/>
<joint name="hinge" type="revolute"><parent link="base"/><child link="tip"/></joint></robot>"""
MJCF = b'<mujoco model="box"><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>'
OBJ = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
STL = bytes(80) + struct.pack("<I", 1) + struct.pack("<12fH", 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0)


def put(folder, name, content):
    (folder / name).write_bytes(content)
    return folder / name


def test_robots_are_counted_and_not_loaded(tmp_path):
    arm = recognised(put(tmp_path, "arm.urdf", URDF))
    assert (arm.what, arm.name) == ("URDF robot description", "arm")
    assert arm.counts == {"links": 2, "joints": 1}
    assert "stickslip run" in arm.use
    box = recognised(put(tmp_path, "box.xml", MJCF))
    assert (box.what, box.name) == ("MJCF model of MuJoCo", "box")
    assert box.counts == {"bodies": 1, "joints": 1, "geoms": 1}


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.obj", OBJ, "OBJ mesh"),
        ("a.stl", STL, "STL mesh"),
        ("no_ending", STL, "STL mesh"),
        ("a.csv", b"t [s],x [m]\n0,1\n", "table of comma-separated values"),
        ("a.pkl", pickle.dumps({"a": 1}), "Python pickle"),
        ("a.npy", b"\x93NUMPY\x01\x00", "NumPy array"),
        ("a.npz", b"PK\x03\x04", "ZIP archive (.npz files are such)"),
        ("a.gz", b"\x1f\x8b\x08", "gzip archive"),
        ("a.svg", b'<svg xmlns="http://www.w3.org/2000/svg"/>', "SVG picture"),
        ("a.html", b"<!DOCTYPE html>\n<p>no <br> xml", "HTML page"),
        ("a.json", b'{"a": 1}', "JSON text"),
        ("a.xml", b"<recipe/>", "XML text with the root 'recipe'"),
        ("a.xml", b"<rob", "XML text"),
    ],
)
def test_formats_by_their_first_bytes(tmp_path, name, content, what):
    found = recognised(put(tmp_path, name, content))
    assert found.what == what
    assert found.use


def test_meshes_are_counted(tmp_path):
    assert recognised(put(tmp_path, "a.stl", STL)).counts == {"points": 3, "triangles": 1}
    assert "ends in" in recognised(put(tmp_path, "no_ending", STL)).note
    broken = recognised(put(tmp_path, "b.obj", b"v 0 zero 0\n"))
    assert "it cannot be read" in broken.note


def test_the_way_from_a_mesh_to_a_body_takes_its_faces_along(tmp_path):
    """A hull of the points alone would not notice that a mesh is not convex."""
    assert "ConvexHull(read_mesh(file))" in recognised(put(tmp_path, "a.obj", OBJ)).use


def test_what_may_be_ours_is_left_to_its_readers(tmp_path):
    for name in ("p.hdf5", "p.dat"):
        files.write(tmp_path / name, lcp(np.eye(1), [-1.0]))
        assert recognised(tmp_path / name) is None


@pytest.mark.parametrize("content", [b"", b"\0\1\2junk", b"\xf3\x17\0\x91"])
def test_nothing_and_junk_are_refused(tmp_path, content):
    with pytest.raises(
        FormatError, match=r"junk: the file: expected a problem, a trajectory or results, found"
    ):
        recognised(put(tmp_path, "junk", content))


def test_entities_are_not_followed(tmp_path):
    secret = put(tmp_path, "secret", b"secret")
    outside = f'<!DOCTYPE r [<!ENTITY x SYSTEM "file://{secret}">]><robot name="&x;"><link/></robot>'
    laughs = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><robot name="&b;"/>'
    for text in (outside, laughs):
        found = recognised(put(tmp_path, "evil.urdf", text.encode()))
        assert found.note == "it declares XML entities, which are rejected"
        assert "secret" not in str(found)


def test_a_pickle_is_not_loaded(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    assert recognised(put(tmp_path, "trap.bin", pickle.dumps(Trap()))).what == "Python pickle"
    assert not (tmp_path / "sprung").exists()


def test_of_a_huge_file_the_beginning_is_enough(tmp_path):
    place = tmp_path / "huge"
    for start, words in (
        (b"", "of an unknown format"),
        (b"word " * 20_000, "which begins with a number"),
    ):
        with place.open("wb") as file:
            file.write(start)
            file.truncate(2**40)  # no memory holds it, and no disk either
        with pytest.raises(FormatError, match=words):
            recognised(place)
    robot = put(tmp_path, "long.urdf", b'<robot name="r">' + b"<link/>" * (MOST_XML // 7))
    assert "counted in its first" in recognised(robot).note
