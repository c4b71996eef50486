"""Meshes of triangles: Wavefront OBJ, and STL in text and in binary.

Of an OBJ file the vertices (`v`) and faces (`f`) are read: polygons become fans of triangles, negative
numbers count back from the last vertex so far, and what stands behind a slash (texture, normal) is left out,
as is every other statement. Of an STL file the corners of the triangles are read; equal ones become one
point. Its normals are left out, for the order of the corners says the same. A mesh need not be closed or
convex to be read; `ConvexHull`, its use here, says where it is not.
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
"""Bytes of the largest file read: more than a million triangles in binary, a quarter of that in text."""
LONGEST = 100_000
"""Bytes of the longest line, and words of the longest statement: memory is taken line by line."""
MOST = 2_000_000
"""Triangles of an OBJ file, and vertices: a byte or two of text can ask for another 24 of memory."""

HEAD, TRIANGLE = 84, 50
"""Bytes of a binary STL file before its triangles, and of each of them."""

RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])

FACET = (("facet", "normal"), ("outer", "loop"), *3 * (("vertex",),), ("endloop",), ("endfacet",))
"""How the lines of a facet of an STL text begin, in their order."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Points and triangles of a mesh."""

    points: Array
    """[m], shape (m, 3)."""
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
            found = f"shape {triangles.shape} of {triangles.dtype}"
            raise ModelError(f"Mesh: triangles has {found}, expected integers of shape (any, 3)")
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
        size = 0  # what is wrong is said below
    if size > LARGEST:
        raise FormatError.at(path, "the file", f"at most {LARGEST} bytes; thin the mesh out", f"{size}")
    data = file_content(path)
    if not data.strip():
        found = "nothing but blanks" if data else "an empty file"
        raise FormatError.at(path, "the file", "a mesh", found)
    return data


def _statements(path: Path, data: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Number (from 1) and words of every line that has some, in a text without comments."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{data[error.start]:02x}"
        raise FormatError.at(path, f"line {line}, byte {error.start}", "text in UTF-8", found) from None
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
    last, named = -1, 0  # the last vertex that a face names, and the line that names it first
    for line, words in _joined(path, _statements(path, data)):
        if words[0] == b"v":
            if len(words) < 4:
                found = f"{len(words) - 1} number{'s' * (len(words) != 2)}"
                raise FormatError.at(path, f"line {line}", "x, y and z of a vertex", found)
            points.extend(_reals(path, line, words[1:4]))
        elif words[0] == b"f":
            face = _face(path, line, words[1:], len(points) // 3)
            for second, third in pairwise(face[1:]):
                triangles.extend((face[0], second, third))
            farthest = max(face)
            if farthest > last:
                last, named = farthest, line
        if max(len(points), len(triangles)) > 3 * MOST:
            wanted = f"at most {MOST} vertices and triangles; thin the mesh out"
            raise FormatError.at(path, f"line {line}", wanted, "more")
    if not points:
        raise FormatError.at(path, "the whole file", "vertices (lines that begin with v)", "none")
    count = len(points) // 3
    if last >= count:  # only now: a face may name vertices that come after it
        raise FormatError.at(path, f"line {named}", f"vertices 1 to {count}", f"vertex {last + 1}")
    return Mesh(np.array(points).reshape(-1, 3), np.array(triangles).reshape(-1, 3))


def _joined(path: Path, statements: Iterator[tuple[int, list[bytes]]]) -> Iterator[tuple[int, list[bytes]]]:
    """Statements of OBJ: comments left out, and lines that end in a backslash joined to the next."""
    begun, held = 0, list[bytes]()
    for line, words in statements:
        if words[0].startswith(b"#") and not held:
            continue
        begun = begun if held else line
        held += words
        if len(held) > LONGEST:
            wanted = f"a statement of at most {LONGEST} words"
            raise FormatError.at(path, f"line {begun} and those joined to it", wanted, "more")
        if not held[-1].endswith(b"\\"):
            yield begun, held
            held = []
        elif held[-1] == b"\\":
            held.pop()
        else:
            held[-1] = held[-1][:-1]
    if held:
        yield begun, held


def _face(path: Path, line: int, words: list[bytes], count: int) -> list[int]:
    """Rows of the vertices of a face, which stands after `count` vertices."""
    rows = []
    for word in words:
        if word.startswith(b"#"):
            break
        number = plain_integer(word.partition(b"/")[0])
        if number is None or number == 0:
            wanted = "the number of a vertex, from 1, or from -1 backwards"
            raise FormatError.at(path, f"line {line}", wanted, shown(word))
        if number < -count:
            wanted = f"one of the {count} vertices so far"
            raise FormatError.at(path, f"line {line}", wanted, f"vertex {number}")
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
    """Whether an STL file is binary: its length says so, or it does not begin as a text.

    Binary files may begin with the word solid too. A text never has a length that fits, for its bytes 80 to
    83 read as a count ask for gigabytes.
    """
    if is_binary_stl(data, len(data)):
        return True
    first = data[:256].removeprefix(b"\xef\xbb\xbf").split(maxsplit=1)
    return not first or first[0].lower() != b"solid" or b"\0" in data[:HEAD]


def is_binary_stl(head: bytes, size: int) -> bool:
    """Whether a file of that size [bytes] is as long as the number of triangles in its beginning says."""
    return len(head) >= HEAD and size == HEAD + TRIANGLE * _count(head)


def _count(data: bytes) -> int:
    return int.from_bytes(data[HEAD - 4 : HEAD], "little")


def _read_binary_stl(path: Path, data: bytes) -> Mesh:
    if len(data) < HEAD:
        wanted = f"the word solid, or the {HEAD} bytes before the triangles of a binary STL"
        raise FormatError.at(path, "the beginning", wanted, f"{len(data)} bytes, {shown(data)}")
    count = _count(data)
    if len(data) != HEAD + TRIANGLE * count:
        wanted = f"{HEAD + TRIANGLE * count} bytes for the {count} triangles that bytes 80 to 83 say"
        raise FormatError.at(path, "the whole file, read as binary STL", wanted, f"{len(data)}")
    corners = np.frombuffer(data, RECORD, count, HEAD)["corners"].astype(np.float64)
    wrong = ~np.isfinite(corners)
    if wrong.any():
        k, corner, axis = (int(i) for i in np.argwhere(wrong)[0])
        place = f"triangle {k + 1}, vertex {corner + 1} (byte {HEAD + TRIANGLE * k + 12 * (corner + 1)})"
        raise FormatError.at(path, place, f"a finite {'xyz'[axis]}", str(corners[k, corner, axis]))
    return _shared(path, corners.reshape(-1, 3))


def _read_text_stl(path: Path, data: bytes) -> Mesh:
    corners = array("d")
    inside, at, line = False, 0, 0  # in a solid or not, and how many lines of a facet are behind
    for line, words in _statements(path, data):
        first = words[0].lower()
        if not inside:
            if first != b"solid":
                raise FormatError.at(path, f"line {line}", "solid, or the end of the file", shown(words[0]))
            inside = True
        elif at == 0 and first == b"endsolid":
            inside = False
        else:
            wanted = " ".join(FACET[at])
            if b" ".join(words[: len(FACET[at])]).lower() != wanted.encode():
                wanted = f"{wanted} or endsolid" if at == 0 else wanted
                raise FormatError.at(path, f"line {line}", wanted, shown(b" ".join(words[:4])))
            if first == b"vertex":
                if len(words) != 4:
                    raise FormatError.at(path, f"line {line}", "3 numbers of a vertex", f"{len(words) - 1}")
                corners.extend(_reals(path, line, words[1:]))
            at = (at + 1) % len(FACET)
    if inside:
        wanted = " ".join(FACET[at]) if at else "facet normal or endsolid"
        raise FormatError.at(path, f"the end, after line {line}", wanted, "nothing")
    return _shared(path, np.array(corners).reshape(-1, 3))


def _shared(path: Path, corners: Array) -> Mesh:
    """The mesh of triangles given corner by corner, shape (3 k, 3): equal corners are one point, in order."""
    if not len(corners):
        raise FormatError.at(path, "the whole file", "at least one triangle", "none")
    corners = corners + 0.0  # -0 is 0
    order = np.lexsort(corners.T)  # stable: of equal corners the first in the file comes first
    new = np.ones(len(corners), bool)
    new[1:] = (corners[order[1:]] != corners[order[:-1]]).any(axis=1)
    first = np.empty(len(corners), np.int64)  # of each corner, the first that equals it
    first[order] = order[new][np.cumsum(new) - 1]
    points = np.sort(order[new])
    return Mesh(corners[points], np.searchsorted(points, first).reshape(-1, 3))
