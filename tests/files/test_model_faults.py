"""Files of models that are wrong or hostile: every fault has its place and line."""

import json
import os

import pytest

import stickslip as ss
from stickslip.files import ModelFileError
from stickslip.files.model_faults import MOST
from stickslip.files.models import schema

WORLD = """version = 1
model = "world"

[[bodies]]
name = "floor"
shape = {kind = "plane"}
fixed = true

[[bodies]]
name = "ball"
shape = {kind = "sphere", radius = 0.1}
position = [
    0.0,
    0.0,
    1.0,
]

[[joints]]
name = "pin"
kind = "hinge"
first = "ball"
point = [0, 0, 1]
axis = [0, 1, 0]

[[forces]]
kind = "spring"
name = "tether"
first = "ball"
stiffness = 10
second_point = [0, 0, 2]
"""
SYSTEM = """version = 1
model = "system"

[[systems]]
kind = "lagrangian-linear"
name = "ball"
M = 1
q0 = [1.0]
F_ext = -9.81

[[interactions]]
name = "floor"
systems = ["ball"]
relation = {kind = "lagrangian-linear-relation", C = [[1]]}
law = {kind = "newton-impact", e = 0.9}
"""


def faults(tmp_path, text, name="model.toml"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ModelFileError) as error:
        ss.load(path)
    assert str(path) in str(error.value)
    assert len(str(error.value)) < 2000
    return error.value.faults


def loaded(tmp_path, text):
    (tmp_path / "model.toml").write_text(text)
    return ss.load(tmp_path / "model.toml")


def test_the_files_that_are_made_wrong_here_are_right(tmp_path):
    assert loaded(tmp_path, WORLD).names == ("floor", "ball")
    assert loaded(tmp_path, SYSTEM).systems[0].name == "ball"


ONE = {
    "negative radius": (
        "radius = 0.1", "radius = -1", "bodies[1].shape.radius", 11, "is -1.0; it must be positive",
    ),
    "no number": ("radius = 0.1", 'radius = "big"', "bodies[1].shape.radius", 11, "must be a number"),
    "true is no number": ("radius = 0.1", "radius = true", "bodies[1].shape.radius", 11, "must be a number"),
    "nan": ("radius = 0.1", "radius = nan", "bodies[1].shape.radius", 11, "is nan; it must be finite"),
    "infinite": ("[0, 0, 2]", "[0, 0, inf]", "forces[0].second_point[2]", 30, "is inf; it must be finite"),
    "huge": ("radius = 0.1", f"radius = 1{'0' * 400}", "bodies[1].shape.radius", 11, "give real numbers"),
    "unknown key": (
        "radius = 0.1", "radius = 0.1, radus = 1", "bodies[1].shape.radus", 11, "did you mean 'radius'?",
    ),
    "unknown key of the file": ("[[joints]]", "[[jonts]]", "jonts", 18, "did you mean 'joints'?"),
    "missing": (", radius = 0.1", "", "bodies[1].shape.radius", 11, "is missing"),
    "missing in a table": ('name = "pin"\n', "", "joints[0].name", 18, "is missing"),
    "unknown kind": ('"sphere"', '"spere"', "bodies[1].shape", 11, "did you mean 'sphere'?"),
    "kind of no text": ('"sphere"', "[1]", "bodies[1].shape", 11, "its kind is missing"),
    "no kind": ('kind = "sphere", ', "", "bodies[1].shape", 11, "its kind is missing"),
    "unknown kind of joint": ('"hinge"', '"hing"', "joints[0].kind", 20, "must be"),
    "unknown body": (
        'first = "ball"\npoint', 'first = "bal"\npoint', "joints[0]", 18, "did you mean 'ball'?",
    ),
    "unknown body of a force": (
        'first = "ball"\nst', 'first = "bal"\nst', "forces[0]", 25, "did you mean 'ball'?",
    ),
    "unknown shape": ('{kind = "plane"}', '"brick"', "bodies[0].shape", 6, "is 'brick'"),
    "wrong length in several lines": ("    1.0,\n", "", "bodies[1].position", 12, "has shape (2,)"),
    "ragged": ("    1.0,\n", "    [1.0],\n", "bodies[1].position", 12, "give real numbers"),
    "two of a name": ('name = "ball"', 'name = "floor"', "bodies[1]", 9, "used twice"),
    "no axis": ("axis = [0, 1, 0]\n", "", "joints[0]", 18, "needs an axis"),
    "zero axis": ("axis = [0, 1, 0]", "axis = [0, 0, 0]", "joints[0].axis", 23, "is zero"),
    "negative stiffness": (
        "stiffness = 10", "stiffness = -1", "forces[0].stiffness", 29, "cannot be negative",
    ),
    "text in place of keys": ('{kind = "plane"}', "3", "bodies[0].shape", 6, "must be keys"),
    "keys in place of a list": ("[[joints]]", "[joints]", "joints", 18, "must be a list, is keys"),
    "a long name": ('name = "pin"', f'name = "{"x" * 2000}"', "joints[0].name", 19, "a shorter text"),
    "version": ("version = 1", "version = 2", "version", 1, "must be 1, is 2"),
    "no model": ('model = "world"', 'model = "word"', "model", 2, "is 'word'"),
    "keys in place of a model": ('model = "world"', "model = {}", "model", 2, "a file of a model says"),
    "a list in place of a model": ('model = "world"', "model = [1]", "model", 2, "a file of a model says"),
    "too heavy": (
        "fixed = true", "fixed = true\nmass = 1", "bodies[0]", 4, "mass and inertia cannot be given",
    ),
}  # fmt: skip


def check_fault(folder, text, old, new, place, line, words):
    """The file with `new` in place of `old` has one fault, at that place and line, said in these words."""
    assert text.count(old) == 1
    (fault,) = faults(folder, text.replace(old, new))
    assert (fault.place, fault.line) == (place, line), fault
    assert words in fault.sentence, fault


@pytest.mark.parametrize("what", ONE)
def test_every_fault_has_its_place_and_line(what, tmp_path):
    check_fault(tmp_path, WORLD, *ONE[what])


SYSTEM_FAULTS = {
    "unknown system": ('["ball"]', '["bal"]', "interactions[0]", 11, "did you mean 'ball'?"),
    "no mass": ("M = 1", "M = 0", "systems[0]", 4, "M is singular"),
    "shape": ("[[1]]", "[[1, 2]]", "interactions[0]", 11, "C has shape"),
    "restitution": ("e = 0.9", "e = 2", "interactions[0].law.e", 15, "restitution must lie in [0, 1]"),
    "many components": ("e = 0.9", "contacts = 1000000000", "interactions[0].law.contacts", 15, "at most"),
    "law of another size": (
        '"newton-impact", e = 0.9', '"equality", components = 2', "interactions[0]", 11, "shape",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", SYSTEM_FAULTS)
def test_faults_of_systems(what, tmp_path):
    check_fault(tmp_path, SYSTEM, *SYSTEM_FAULTS[what])


def test_all_faults_are_told_at_once(tmp_path):
    text = WORLD.replace("radius = 0.1", "radius = -1").replace("stiffness = 10", "stifness = 10")
    found = faults(tmp_path, text.replace('"hinge"', "5"))
    assert [fault.place for fault in found] == [
        "bodies[1].shape.radius", "joints[0].kind", "forces[0].stiffness", "forces[0].stifness",
    ]  # fmt: skip
    assert str(found[0]) == "line 11, bodies[1].shape.radius: is -1.0; it must be positive"


def test_lines_of_json(tmp_path):
    path = tmp_path / "good.json"
    (tmp_path / "model.toml").write_text(WORLD)
    ss.save(ss.load(tmp_path / "model.toml"), path)
    text = path.read_text()
    lines = text.split("\n")
    (fault,) = faults(tmp_path, text.replace('"radius": 0.1', '"radius": -1'), "model.json")
    assert fault.place == "bodies[1].shape.radius"
    assert '"radius"' in lines[fault.line - 1]
    (fault,) = faults(
        tmp_path, text.replace('"stiffness"', '"stifness"', 1).replace("10.0", '"x"'), "model.json"
    )[:1]
    assert '"stiffness"' in lines[fault.line - 1]


BROKEN = {
    "empty": (b"", "model.toml", "is missing"),
    "no TOML": (b"a = = 2\n", "model.toml", "is no TOML"),
    "no JSON": (b'{"version": 1,\n}', "model.json", "is not valid JSON"),
    "a list": (b"[1, 2]", "model.json", "is missing"),
    "no text": (b"\xff\xfe\x00\x01", "model.toml", "must be text in UTF-8"),
    "twice": (b'{"version": 1, "version": 1, "model": "world"}', "model.json", "'version' is given twice"),
    "NaN": (b'{"version": 1, "model": "world", "gravity": [0, 0, NaN]}', "model.json", "not a JSON number"),
    "inf": (b'{"version": 1, "model": "world", "gravity": [0, 0, 1e999]}', "model.json", "must be finite"),
    "digits": (b'{"version": ' + b"1" * 10_000 + b"}", "model.json", ""),
    "digits in TOML": (b"version = " + b"1" * 10_000, "model.toml", ""),
    "half a character": (
        b'{"version": 1, "model": "world", "bodies": [{"name": "\\ud800"}]}', "model.json", "",
    ),
    "depth": (b"[" * 200_000, "model.json", "nested too deeply"),
    "depth of objects": (b'{"a":' * 200_000, "model.json", "nested too deeply"),
    "depth in TOML": (b"a = " + b"[" * 100_000, "model.toml", "nested too deeply"),
    "deep keys": (b"version = 1\nmodel = 'world'\n" + b"a." * 3000 + b"a = 1", "model.toml", "unknown key"),
    "numbers in numbers": (
        b'{"version": 1, "model": "world", "gravity": ' + b"[" * 500 + b"]" * 500 + b"}", "model.json", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_files_that_are_broken_or_bombs(what, tmp_path):
    content, name, words = BROKEN[what]
    found = faults(tmp_path, content, name)
    assert words in found[0].sentence, found


def test_what_is_no_toml_at_its_end_has_the_last_line(tmp_path):
    (fault,) = faults(tmp_path, 'version = 1\nmodel = "world"\ngravity = [0, 0,\n')
    assert fault.line == 3
    assert "is no TOML" in fault.sentence


def test_a_short_file_cannot_ask_for_much_memory(tmp_path):
    zeros = "[" + "0.0," * 5001 + "]"
    found = faults(tmp_path, SYSTEM.replace("[1.0]", zeros))
    assert "mass matrices have" in found[0].sentence
    many = SYSTEM + "".join(
        f'[[interactions]]\nname = "{k}"\nsystems = ["ball"]\n'
        'relation = {kind = "lagrangian-linear-relation", C = 1}\n'
        'law = {kind = "complementarity", components = 1000}\n'
        for k in range(26)
    )
    assert "its matrices have" in faults(tmp_path, many)[0].sentence


def test_large_files_are_refused_unread(tmp_path, monkeypatch):
    path = tmp_path / "model.toml"
    with path.open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    with pytest.raises(ss.FormatError, match=r"at most 8388608 bytes; write it as \.json"):
        ss.load(path)


def test_a_million_faults_are_not_told(tmp_path):
    bodies = ", ".join('{"nam": 1}' for _ in range(1000))
    found = faults(tmp_path, f'{{"version": 1, "model": "world", "bodies": [{bodies}]}}', "model.json")
    assert len(found) == MOST


HULL = WORLD.replace('{kind = "sphere", radius = 0.1}', '{kind = "convex-hull", mesh = "MESH"}')
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def test_meshes_stay_in_the_folder_of_the_model(tmp_path):
    folder, outside = tmp_path / "model", tmp_path / "secret.obj"
    (folder / "parts").mkdir(parents=True)
    outside.write_text(TETRAHEDRON)
    (folder / "parts" / "stone.obj").write_text(TETRAHEDRON)
    os.symlink(outside, folder / "link.obj")
    os.symlink(tmp_path, folder / "up")
    os.symlink(folder / "parts" / "stone.obj", folder / "good.obj")
    for good in ("parts/stone.obj", "./parts/stone.obj", "good.obj"):
        assert loaded(folder, HULL.replace("MESH", good)).mass[1] > 0.0
    for bad in (
        "../secret.obj", str(outside), "link.obj", "up/secret.obj", "parts/../../secret.obj", "gone.obj",
        "parts", "parts\\\\..\\\\..\\\\secret.obj", "~/x.obj", "model.toml", "http://example.org/x.obj",
    ):  # fmt: skip
        (fault,) = faults(folder, HULL.replace("MESH", bad))
        assert fault.place.startswith("bodies[1].shape"), fault
        assert fault.line == 11
    (fault,) = faults(folder, HULL.replace('mesh = "MESH"', 'mesh = "good.obj", points = [[0, 0, 0]]'))
    assert "give its points or a mesh" in fault.sentence


def test_a_mesh_that_is_not_convex_is_taken_by_its_hull(tmp_path):
    (tmp_path / "open.obj").write_text(TETRAHEDRON.replace("f 2 3 4\n", ""))
    text = HULL.replace("MESH", "open.obj")
    (fault,) = faults(tmp_path, text)
    assert "not the surface of a convex body" in fault.sentence
    assert loaded(tmp_path, text.replace('"open.obj"', '"open.obj", hull = true')).mass[1] > 0.0


def test_a_run_with_a_hostile_model_is_read_and_its_model_refused(tmp_path):
    import h5py

    from stickslip.files.hdf5_write import put_text

    path = tmp_path / "run.h5"
    world = loaded(tmp_path, WORLD)
    ss.simulate(world, until=2e-3, h=1e-3).save(path)
    for text in ("[" * 100_000, '{"model": "world", "bodies": 3}', json.dumps({
        "version": 1, "model": "world",
        "bodies": [{"name": "a", "shape": {"kind": "convex-hull", "mesh": "model.obj"}}],
    })):  # fmt: skip
        with h5py.File(path, "r+") as file:
            del file["stickslip_run/model"]
            put_text(file["stickslip_run"], "model", text)
        run = ss.read_trajectory(path)
        assert len(run) == 3
        with pytest.raises(ModelFileError):
            _ = run.source


def test_the_schema_knows_what_files_say(tmp_path):
    made = schema()
    bodies = made["$defs"]["body"]["properties"]
    assert set(bodies) >= {"name", "shape", "position", "mass", "motion"}
    assert made["$defs"]["Sphere"]["required"] == ["kind", "radius"]
    assert made["$defs"]["Spring"]["properties"]["stiffness"]["description"] == "Stiffness [N/m], >= 0."
    assert made["$defs"]["Spring"]["properties"]["first_point"]["maxItems"] == 3
    assert not made["$defs"]["NewtonImpact"]["additionalProperties"]
    json.dumps(made, allow_nan=False)


def test_names_of_files(tmp_path):
    world = loaded(tmp_path, WORLD)
    for verb in (lambda path: ss.save(world, path), ss.load):
        with pytest.raises(ss.FormatError, match=r"one that ends in \.toml, \.json"):
            verb(tmp_path / "model.yaml")
    with pytest.raises(FileNotFoundError):
        ss.load(tmp_path / "gone.toml")
    with pytest.raises(ss.ModelError, match="expected a World or a NonsmoothSystem"):
        ss.save(3, tmp_path / "model.toml")
