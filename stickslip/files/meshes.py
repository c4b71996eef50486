"""Read triangle meshes: Wavefront OBJ, and STL as text and binary.

OBJ: vertices (`v`) and faces (`f`) are read; polygons become fans of triangles, negative numbers count back
from the last vertex so far, and numbers after a slash (texture, normal) and other statements are ignored.
STL: the corners of the triangles are read, and equal corners are merged; normals are ignored, as they follow
from the order of the corners. Meshes need not be closed or convex; `ConvexHull`, which uses them, reports
meshes that are not.
"""

import math
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from os import PathLike
from pathlib import Path

import numpy as np

from stickslip.files.errors import FormatError, shown
from stickslip.files.problems import file_content
from stickslip.files.tokens import is_number, plain_integer
from stickslip.mechanics.given import numbers
from stickslip.state import Array, IntArray, ModelError

LARGEST = 64 * 1024 * 1024
"""Largest size of a file [bytes]: more than a million triangles in binary, a quarter of that in text."""
LONGEST = 100_000
"""Largest length of a line [bytes], and of a statement [words]; it bounds the memory of the parser."""
MOST = 2_000_000
"""Largest numbers of triangles and vertices of an OBJ file; two bytes of text may need 24 of memory."""

HEAD, TRIANGLE = 84, 50
"""Size of the header of a binary STL file, and of a triangle [bytes]."""

RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
"""A triangle of a binary STL file."""

FACET = (("facet", "normal"), ("outer", "loop"), *3 * (("vertex",),), ("endloop",), ("endfacet",))
"""First words of the lines of a facet of an STL text, in order."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Points and triangles of a mesh."""

    points: Array
    """Vertices [m], shape (m, 3)."""
    triangles: IntArray
    """Rows of `points`, counter-clockwise seen from outside [-], shape (k, 3)."""

    def __post_init__(self) -> None:
        points = numbers("Mesh", "points", self.points, (None, 3))
        try:
            triangles = np.array(self.triangles)
        except ValueError:
            raise ModelError("Mesh: triangles are not rows of three integers") from None
        if not triangles.size:
            triangles = np.zeros((0, 3), np.int64)
        if triangles.ndim != 2 or triangles.shape[1] != 3 or triangles.dtype.kind not in "iu":
            content = f"shape {triangles.shape} of {triangles.dtype}"
            raise ModelError(f"Mesh: triangles has {content}, expected integers of shape (any, 3)")
        wrong = ((triangles < 0) | (triangles >= len(points))).any(axis=1)
        if wrong.any():
            k = int(np.argmax(wrong))
            raise ModelError(f"Mesh: triangles[{k}] is {triangles[k]}, but there are {len(points)} points")
        triangles = triangles.astype(np.int64)
        triangles.flags.writeable = False
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "triangles", triangles)

    def __repr__(self) -> str:
        return f"Mesh({len(self.points)} points, {len(self.triangles)} triangles)"


def read_mesh(path: str | PathLike[str]) -> Mesh:
    """Return the mesh in an `.obj` or `.stl` file. Raises a FormatError for a malformed file."""
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in (".obj", ".stl"):
        raise FormatError.at(path, "the name of the file", "one that ends in .obj or .stl", shown(path.name))
    data = _content(path)
    if ending == ".obj":
        return _read_obj(path, data)
    if _is_binary(data):
        return _read_binary_stl(path, data)
    return _read_text_stl(path, data)


def obj_content(points: Iterable[Iterable[float]], triangles: Iterable[Iterable[int]] = ()) -> bytes:
    """The bytes of an OBJ file, which `read_mesh` reads back bit for bit.

    points [m], shape (m, 3); triangles: rows of them [-], shape (k, 3).
    """
    lines = [" ".join(["v", *map(repr, map(float, point))]) for point in points]
    lines += [" ".join(["f", *(str(corner + 1) for corner in triangle)]) for triangle in triangles]
    return ("\n".join(lines) + "\n").encode()


def _content(path: Path) -> bytes:
    try:
        size = path.stat().st_size
    except (OSError, ValueError):
        size = 0  # `file_content` reports the error
    if size > LARGEST:
        raise FormatError.at(path, "the file", f"at most {LARGEST} bytes; thin the mesh out", f"{size}")
    data = file_content(path)
    if not data.strip():
        content = "nothing but blanks" if data else "an empty file"
        raise FormatError.at(path, "the file", "a mesh", content)
    return data


def _statements(path: Path, data: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Yield number (from 1) and words of every line that is not blank."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        content = f"byte 0x{data[error.start]:02x}"
        raise FormatError.at(path, f"line {line}, byte {error.start}", "text in UTF-8", content) from None
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    for line, text in enumerate(BytesIO(data.removeprefix(b"\xef\xbb\xbf")), start=1):
        if len(text) > LONGEST:
            raise FormatError.at(path, f"line {line}", f"at most {LONGEST} bytes", f"{len(text)}")
        words = text.split()
        if words:
            yield line, words


def _read_obj(path: Path, data: bytes) -> Mesh:
    points, triangles = array("d"), array("q")
    last, named = -1, 0  # largest vertex of all faces, and the line of its first use
    for line, words in _joined(path, _statements(path, data)):
        if words[0] == b"v":
            if len(words) < 4:
                content = f"{len(words) - 1} number{'s' * (len(words) != 2)}"
                raise FormatError.at(path, f"line {line}", "x, y and z of a vertex", content)
            points.extend(_reals(path, line, words[1:4]))
        elif words[0] == b"f":
            face = _face(path, line, words[1:], len(points) // 3)
            for second, third in pairwise(face[1:]):
                triangles.extend((face[0], second, third))
            farthest = max(face)
            if farthest > last:
                last, named = farthest, line
        if max(len(points), len(triangles)) > 3 * MOST:
            expectation = f"at most {MOST} vertices and triangles; thin the mesh out"
            raise FormatError.at(path, f"line {line}", expectation, "more")
    if not points:
        raise FormatError.at(path, "the whole file", "vertices (lines that begin with v)", "none")
    count = len(points) // 3
    if last >= count:  # checked at the end, as faces may precede their vertices
        raise FormatError.at(path, f"line {named}", f"vertices 1 to {count}", f"vertex {last + 1}")
    return Mesh(np.array(points).reshape(-1, 3), np.array(triangles).reshape(-1, 3))


def _joined(path: Path, statements: Iterator[tuple[int, list[bytes]]]) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the statements of OBJ: without comments, and with lines joined that end in a backslash."""
    first_line, pending = 0, list[bytes]()
    for line, words in statements:
        if words[0].startswith(b"#") and not pending:
            continue
        first_line = first_line if pending else line
        pending += words
        if len(pending) > LONGEST:
            expectation = f"a statement of at most {LONGEST} words"
            raise FormatError.at(path, f"line {first_line} and those joined to it", expectation, "more")
        if not pending[-1].endswith(b"\\"):
            yield first_line, pending
            pending = []
        elif pending[-1] == b"\\":
            pending.pop()
        else:
            pending[-1] = pending[-1][:-1]
    if pending:
        yield first_line, pending


def _face(path: Path, line: int, words: list[bytes], count: int) -> list[int]:
    """Indices of the vertices of a face, which follows `count` vertices."""
    rows = []
    for word in words:
        if word.startswith(b"#"):
            break
        number = plain_integer(word.partition(b"/")[0])
        if number is None or number == 0:
            expectation = "the number of a vertex, from 1, or from -1 backwards"
            raise FormatError.at(path, f"line {line}", expectation, shown(word))
        if number < -count:
            expectation = f"one of the {count} vertices so far"
            raise FormatError.at(path, f"line {line}", expectation, f"vertex {number}")
        rows.append(number - 1 if number > 0 else count + number)
    if len(rows) < 3:
        raise FormatError.at(path, f"line {line}", "a face of at least 3 vertices", f"{len(rows)}")
    return rows


def _reals(path: Path, line: int, words: list[bytes]) -> list[float]:
    try:
        values = [float(word) for word in words]
    except ValueError:
        values = []
    if not values or any(b"_" in word for word in words):
        bad = next(word for word in words if not is_number(word))
        raise FormatError.at(path, f"line {line}", "a number", shown(bad))
    if not all(map(math.isfinite, values)):
        bad = next(word for word, value in zip(words, values, strict=True) if not math.isfinite(value))
        raise FormatError.at(path, f"line {line}", "a finite number", shown(bad))
    return values


def _is_binary(data: bytes) -> bool:
    """Whether an STL file is binary: its length fits the number of triangles, or it does not begin as text.

    Binary files may begin with the word solid, too. The length of a text never fits, because its bytes 80 to
    83, read as a count, are a number of gigabytes.
    """
    if is_binary_stl(data, len(data)):
        return True
    first = data[:256].removeprefix(b"\xef\xbb\xbf").split(maxsplit=1)
    return not first or first[0].lower() != b"solid" or b"\0" in data[:HEAD]


def is_binary_stl(head: bytes, size: int) -> bool:
    """Whether the size of a file [bytes] fits the number of triangles in its header."""
    return len(head) >= HEAD and size == HEAD + TRIANGLE * _count(head)


def _count(data: bytes) -> int:
    return int.from_bytes(data[HEAD - 4 : HEAD], "little")


def _read_binary_stl(path: Path, data: bytes) -> Mesh:
    if len(data) < HEAD:
        expectation = f"the word solid, or the {HEAD} bytes before the triangles of a binary STL"
        raise FormatError.at(path, "the beginning", expectation, f"{len(data)} bytes, {shown(data)}")
    count = _count(data)
    if len(data) != HEAD + TRIANGLE * count:
        expectation = f"{HEAD + TRIANGLE * count} bytes for the {count} triangles that bytes 80 to 83 say"
        raise FormatError.at(path, "the whole file, read as binary STL", expectation, f"{len(data)}")
    corners = np.frombuffer(data, RECORD, count, HEAD)["corners"].astype(np.float64)
    wrong = ~np.isfinite(corners)
    if wrong.any():
        k, corner, axis = (int(i) for i in np.argwhere(wrong)[0])
        place = f"triangle {k + 1}, vertex {corner + 1} (byte {HEAD + TRIANGLE * k + 12 * (corner + 1)})"
        raise FormatError.at(path, place, f"a finite {'xyz'[axis]}", str(corners[k, corner, axis]))
    return _shared(path, corners.reshape(-1, 3))


def _read_text_stl(path: Path, data: bytes) -> Mesh:
    corners = array("d")
    inside, at, line = False, 0, 0  # whether within a solid, and the number of lines read of a facet
    for line, words in _statements(path, data):
        first = words[0].lower()
        if not inside:
            if first != b"solid":
                raise FormatError.at(path, f"line {line}", "solid, or the end of the file", shown(words[0]))
            inside = True
        elif at == 0 and first == b"endsolid":
            inside = False
        else:
            expectation = " ".join(FACET[at])
            if b" ".join(words[: len(FACET[at])]).lower() != expectation.encode():
                expectation = f"{expectation} or endsolid" if at == 0 else expectation
                raise FormatError.at(path, f"line {line}", expectation, shown(b" ".join(words[:4])))
            if first == b"vertex":
                if len(words) != 4:
                    raise FormatError.at(path, f"line {line}", "3 numbers of a vertex", f"{len(words) - 1}")
                corners.extend(_reals(path, line, words[1:]))
            at = (at + 1) % len(FACET)
    if inside:
        expectation = " ".join(FACET[at]) if at else "facet normal or endsolid"
        raise FormatError.at(path, f"the end, after line {line}", expectation, "nothing")
    return _shared(path, np.array(corners).reshape(-1, 3))


def _shared(path: Path, corners: Array) -> Mesh:
    """Make a mesh from the corners of its triangles, shape (3 k, 3); equal corners are merged, in order."""
    if not len(corners):
        raise FormatError.at(path, "the whole file", "at least one triangle", "none")
    corners = corners + 0.0  # -0 is 0
    order = np.lexsort(corners.T)  # stable: equal corners stay in the order of the file
    new = np.ones(len(corners), bool)
    new[1:] = (corners[order[1:]] != corners[order[:-1]]).any(axis=1)
    first = np.empty(len(corners), np.int64)  # index of the first equal corner
    first[order] = order[new][np.cumsum(new) - 1]
    points = np.sort(order[new])
    return Mesh(corners[points], np.searchsorted(points, first).reshape(-1, 3))
