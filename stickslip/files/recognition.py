"""Recognise files of other formats than those of stickslip, by their beginning and size.

Files are not executed or unpacked: pickles are not loaded, archives are not opened, and XML with declarations
of entities is rejected (external entities, and nested entities that exhaust the memory).
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from stickslip.files.errors import FormatError, shown
from stickslip.files.meshes import is_binary_stl, read_mesh
from stickslip.files.problems import GDX, JOURNAL, SIGNATURE

HEAD = 65_536
"""Number of bytes that are read, except for XML and meshes."""
MOST_XML = 16 * 1024 * 1024
"""Largest number of bytes of an XML file that are read."""

UNPACK = "unpack it, and give the files in it"
MAGIC = (
    (b"\x1f\x8b", "gzip archive", UNPACK),
    (b"BZh", "bzip2 archive", UNPACK),
    (b"\xfd7zXZ\x00", "xz archive", UNPACK),
    (b"\x28\xb5\x2f\xfd", "Zstandard archive", UNPACK),
    (b"PK\x03\x04", "ZIP archive (.npz files are such)", UNPACK),
    (b"\x93NUMPY", "NumPy array", "load it by numpy.load, and make a ContactProblem of its arrays"),
    (b"MATLAB 5.0 MAT-file", "MATLAB file", "load it by scipy.io.loadmat, and make a ContactProblem of it"),
    (b"\x89PNG\r\n", "PNG picture", "open it in a viewer of pictures"),
    (b"\xff\xd8\xff", "JPEG picture", "open it in a viewer of pictures"),
    (b"%PDF-", "PDF document", "open it in a reader"),
    (b"\x7fELF", "ELF program or library", "stickslip cannot read it"),
)
"""First bytes of formats, their names, and advice."""
PICKLE = (
    "stickslip does not load pickles, because they can run any program; write problems with stickslip.write"
)
ROBOT = "stickslip run FILE simulates it, stickslip view FILE shows it, ss.Robot.load(FILE) loads it"
SDF = "stickslip loads robots as MJCF and URDF; convert it to one of them"
MESH = "the shape of a body: ConvexHull(read_mesh(file))"
MODEL = re.compile(r"""^[\s{]*"?model"?\s*[=:]\s*["'](?:world|system)["']""", re.MULTILINE)
"""Pattern near the beginning of model files, in TOML and JSON."""
MODEL_FILE = "model of stickslip"
ROBOT_FILES = ("URDF robot description", "MJCF model of MuJoCo")
"""Formats of robots that can be loaded."""
XML_ROOTS: dict[str, tuple[str, dict[str, str], str]] = {
    "robot": (ROBOT_FILES[0], {"link": "links", "joint": "joints"}, ROBOT),
    "mujoco": (ROBOT_FILES[1], {"body": "bodies", "joint": "joints", "geom": "geoms"}, ROBOT),
    "sdf": ("SDF model", {"link": "links", "joint": "joints"}, SDF),
    "svg": ("SVG picture", {}, "open it in a browser"),
}
"""Root elements of XML formats: name of the format, counted elements with their plurals, and advice."""


@dataclass(frozen=True)
class Recognised:
    """A file of a known format that is not a data format of stickslip."""

    what: str
    """Name of the format."""
    use: str
    """Advice on how to use the file."""
    name: str = ""
    """Name of the content, if the file has one."""
    counts: dict[str, int] = field(default_factory=dict)
    """Numbers of its parts, by name."""
    note: str = ""
    """Error, or what was not read; empty if there is none."""


def recognised(path: Path) -> Recognised | None:
    """Recognise the format of a file; None if it may be a format of stickslip.

    Raises a FormatError for empty files and unknown formats.
    """
    with path.open("rb") as file:
        head = file.read(HEAD)
    size = path.stat().st_size
    if not head:
        raise FormatError.at(path, "the file", "a problem, a trajectory or results", "an empty file")
    if head.startswith((SIGNATURE, JOURNAL)) or GDX in head[:64]:
        return None
    if is_binary_stl(head, size) or path.suffix.lower() in (".stl", ".obj"):
        return _mesh(path)
    for magic, format_name, use in MAGIC:
        if head.startswith(magic):
            return Recognised(format_name, use)
    protocol = head[1] if len(head) > 1 and head[0] == 0x80 else 0  # the opcode PROTO and its version
    if 2 <= protocol <= 5 or path.suffix.lower() in (".pkl", ".pickle"):
        return Recognised("Python pickle", PICKLE)
    text = _text(head)
    if text is None:
        content = f"{size} bytes of an unknown format, beginning with {shown(head[:16], 60)}"
        raise FormatError.at(path, "the file", "a problem, a trajectory or results", content)
    found_text = _recognised_text(path, text)
    if found_text is None and size > MOST_XML and not text.lstrip()[:1].isdigit():
        content = f"{size} bytes of text, beginning with {shown(text[:40])}"
        raise FormatError.at(path, "the file", "a problem, which begins with a number", content)
    return found_text


def _text(head: bytes) -> str | None:
    """Decode the beginning of a text, without its byte order mark; None for binary files."""
    for mark, code in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if head.startswith(mark):
            return head[len(mark) :].decode(code, "replace")
    return None if b"\0" in head else head.decode("utf-8", "replace")


def _recognised_text(path: Path, text: str) -> Recognised | None:
    start, ending = text.lstrip(), path.suffix.lower()
    if start[:15].lower().startswith(("<!doctype html", "<html")):
        return Recognised("HTML page", "open it in a browser")
    if start.startswith("<"):
        return _xml(path)
    if start.startswith("solid") and "facet" in start:
        return _mesh(path)
    if ending == ".csv":
        columns = [column.strip().strip('"') for column in start.partition("\n")[0].split(",")]
        use = "stickslip reads no CSV; load it by numpy.loadtxt, and make a ContactProblem of its arrays"
        return Recognised("table of comma-separated values", use, ", ".join(columns)[:200])
    if MODEL.search(text) and ending in (".toml", ".json"):
        use = f"stickslip check {path.name} checks it, stickslip run {path.name} simulates it"
        return Recognised(MODEL_FILE, use)
    if start[:1] in ("{", "["):
        use = (
            "stickslip reads JSON as the collection.json of a collection only: stickslip bench run --problems"
        )
        return Recognised("JSON text", use)
    if ending == ".py":
        return Recognised("Python program", "run it: python " + path.name)
    if ending in (".yaml", ".yml", ".toml", ".md", ".rst", ".ini"):
        return Recognised(f"text in {ending[1:].upper()}", "stickslip cannot read it")
    return None


def _mesh(path: Path) -> Recognised:
    label = f"{path.suffix[1:].upper() or 'STL'} mesh"
    try:
        mesh = read_mesh(path)
    except ValueError as error:
        return Recognised(label, MESH, note=f"it cannot be read: {error}")
    return Recognised(label, MESH, counts={"points": len(mesh.points), "triangles": len(mesh.triangles)})


class _Refused(Exception):  # noqa: N818
    """XML that is rejected; the message names the reason."""


def _xml(path: Path) -> Recognised:
    """Recognise an XML file by its root element, and count its elements."""
    root: list[tuple[str, str]] = []
    counts: Counter[str] = Counter()

    def start(name: str, attributes: dict[str, str]) -> None:
        if not root:
            title = attributes.get("name") or attributes.get("model") or ""
            root.append((name.rpartition(":")[2].lower(), title))
        counts[name] += 1

    def refuse(*_: object) -> None:
        raise _Refused("it declares XML entities, which are rejected")

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.EntityDeclHandler = refuse
    note = ""
    with path.open("rb") as file:
        data = file.read(MOST_XML + 1)
    try:
        parser.Parse(data[:MOST_XML], len(data) <= MOST_XML)
    except _Refused as refused:
        note = str(refused)
    except expat.ExpatError as error:
        note = f"it is damaged: {error}"
    if len(data) > MOST_XML and not note:
        note = f"counted in its first {MOST_XML} bytes"
    name, title = root[0] if root else ("", "")
    unknown = f"XML text with the root {shown(name)}" if name else "XML text"
    label, elements, use = XML_ROOTS.get(name, (unknown, {}, "stickslip cannot read it"))
    return Recognised(label, use, title[:200], {many: counts[one] for one, many in elements.items()}, note)
