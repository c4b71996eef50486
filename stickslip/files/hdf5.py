"""Safe reading of HDF5: only numbers and texts that are stored in the file itself.

HDF5 files may contain links to other files, datasets assembled from other files and arbitrary types, and a
few bytes may declare terabytes. Readers of problems do not need these features. Every access goes through
`Source`, which refuses

- soft and external links, virtual and externally stored datasets;
- every type but integers and reals of usual sizes, and texts;
- filters other than deflate and shuffle, which are decoded here (others would load plug-ins);
- datasets that were declared and never written;
- more than max(64 MB, 200 times the size of the file) in total: declared sizes are summed before anything is
  read, and chunks count with their full size.

The file is read from memory, so it cannot change between check and use; runs that are too large for that are
read from the file, some rows at a time. Chunks are decompressed here, because the HDF5 library trusts their
content: a stream may grow far beyond its chunk, and a chunk with a wrong size can crash the process. The raw
bytes of a chunk must not exceed the file, and must decompress to exactly the size of a chunk. Every chunk
must exist.
"""

import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import h5py
import numpy as np
from h5py import h5d, h5f, h5l, h5t, h5z

from stickslip.files.errors import FormatError, shown
from stickslip.problem.checks import Array, IntArray

SMALLEST_BUDGET, EXPANSION = 64_000_000, 200
"""Largest declared size of a file [bytes], or as a multiple of its own size [-], whichever is larger."""
FILTERS = {h5z.FILTER_DEFLATE: "deflate", h5z.FILTER_SHUFFLE: "shuffle"}
"""Allowed filters of chunks; other filters would load plug-ins."""

Fail = Callable[[str, str], NoReturn]
"""Function that refuses a dataset; arguments: what was expected, what was found."""


class Source:
    """An HDF5 file open for reading, with a budget of bytes."""

    def __init__(self, path: Path, content: bytes | None):
        """content: the bytes of the file; None to read from the file on demand."""
        self.path, self.large = path, content is None
        self.size = path.stat().st_size if content is None else len(content)
        self.budget = max(SMALLEST_BUDGET, EXPANSION * self.size)
        self.limit = self.budget
        try:
            self.root = h5py.File(path if content is None else h5f.open_file_image(content), "r")
        except Exception:  # messages of HDF5 describe its handles, not the file
            fault = "a truncated or damaged one"
            raise FormatError.at(path, "the file", "a whole HDF5 file", fault) from None

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *_: object) -> None:
        with self._guard("the file"):
            self.root.close()

    def fail(self, place: str, expected: str, found: str) -> NoReturn:
        """Raise a FormatError at an HDF5 path."""
        raise FormatError.at(self.path, place, expected, found)

    def charge(self, place: str, size: int) -> None:
        """Subtract `size` bytes from the budget; refuse the file if it is exhausted."""
        self.budget -= size
        if self.budget < 0:
            self.fail(place, f"a file that holds no more than {self.limit} bytes", f"{size} bytes more")

    def has(self, group: Any, name: str) -> bool:
        """Whether an object of this name exists, including links."""
        with self._guard(_place(group, name)):
            return bool(group.id.links.exists(name.encode()))

    def is_written(self, group: Any, name: str) -> bool:
        """Whether a dataset of this name exists and has been written."""
        if not self.has(group, name):
            return False
        item = self._open(group, name, "a dataset")
        with self._guard(_place(group, name)):
            return isinstance(item, h5py.Dataset) and bool(item.id.get_storage_size() or not item.size)

    def group(self, parent: Any, name: str) -> Any:
        """Return the group of this name."""
        item = self._open(parent, name, "a group")
        if not isinstance(item, h5py.Group):
            self.fail(_place(parent, name), "a group", f"a {type(item).__name__.lower()}")
        return item

    def integer(self, group: Any, name: str) -> int:
        """Read a single integer: a scalar, or an array of one element."""
        value = self.integers(group, name, None)
        if value.size != 1:
            self.fail(_place(group, name), "one integer", f"an array of shape {value.shape}")
        return int(value.reshape(-1)[0])

    def integers(self, group: Any, name: str, dimensions: int | None = 1) -> IntArray:
        """Read an array of integers with this number of dimensions (None: any)."""
        array = self._numbers(group, name, dimensions, (h5t.INTEGER,))
        if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
            self.fail(_place(group, name), "integers below 2^63", f"{array.max()}")
        return array.astype(np.int64)

    def rows(self, group: Any, name: str, start: int, stop: int) -> np.ndarray:
        """Read some rows of an array of numbers of any type."""
        return self._numbers(group, name, None, (h5t.FLOAT, h5t.INTEGER), slice(start, stop))

    def shape(self, group: Any, name: str) -> tuple[int, ...]:
        """Return the shape of an array."""
        return tuple(self._dataset(group, name, slice(0, 0)).shape or ())

    def reals(self, group: Any, name: str, dimensions: int = 1) -> Array:
        """Read an array of numbers with this number of dimensions."""
        return self._numbers(group, name, dimensions, (h5t.FLOAT, h5t.INTEGER)).astype(np.float64)

    def shaped(self, group: Any, name: str, value: Any, shape: tuple[int, ...]) -> Any:
        """Return `value`, which was read from this dataset; refuse the file if it has another shape."""
        if value.shape != shape:
            self.fail(_place(group, name), f"numbers of shape {shape}", f"shape {value.shape}")
        return value

    def text(self, group: Any, name: str) -> str:
        """Read a single text; bytes that are not UTF-8 become \\xNN."""
        place, dataset = _place(group, name), self._dataset(group, name)
        with self._guard(place):
            kind, shape = dataset.id.get_type(), dataset.shape
            if shape is None:
                return ""
            if kind.get_class() != h5t.STRING or math.prod(shape) != 1 or dataset.chunks is not None:
                self.fail(place, "one text, not in chunks", f"{_type_name(kind)} of shape {shape}")
            value = dataset[()]
        return _decoded(value if isinstance(value, bytes) else np.asarray(value).reshape(-1)[0])

    def texts(self, group: Any, name: str) -> list[str]:
        """Read a column of texts of fixed length."""
        place, dataset = _place(group, name), self._dataset(group, name)
        with self._guard(place):
            kind, shape = dataset.id.get_type(), dataset.shape
            fixed = kind.get_class() == h5t.STRING and not kind.is_variable_str()
            if not fixed or shape is None or len(shape) != 1 or dataset.chunks is not None:
                self.fail(place, "texts of one length, not in chunks", f"{_type_name(kind)} of shape {shape}")
            return [_decoded(bytes(value)) for value in dataset[()]]

    def attributes(self, group: Any) -> dict[str, str]:
        """Read the attributes of a group as texts."""
        result = {}
        with self._guard(_place(group)):
            names = list(group.attrs)
        for name in names:
            place = f"{_place(group)}, attribute {shown(name)}"
            with self._guard(place):
                value = self._attribute(group, name, place)
            result[_decoded(name)] = value
        return result

    def _attribute(self, group: Any, name: str, place: str) -> str:
        attribute = group.attrs.get_id(name)
        kind, shape = attribute.get_type(), attribute.shape
        if kind.get_class() not in (h5t.STRING, h5t.INTEGER, h5t.FLOAT):
            self.fail(place, "a number or a text", _type_name(kind))
        if shape is None:
            return ""
        self.charge(place, math.prod(shape) * kind.get_size())
        value = group.attrs[name]
        items = [value] if isinstance(value, str | bytes) else np.asarray(value).reshape(-1).tolist()
        return " ".join(_decoded(x) if isinstance(x, str | bytes) else str(x) for x in items)

    def _numbers(
        self, group: Any, name: str, dimensions: int | None, classes: tuple[int, ...],
        rows: slice | None = None,
    ) -> np.ndarray:  # fmt: skip
        position, dataset = _place(group, name), self._dataset(group, name, rows)
        with self._guard(position):
            kind, shape = dataset.id.get_type(), dataset.shape
            expected_kind = "integers" if h5t.FLOAT not in classes else "numbers"
            if kind.get_class() not in classes or kind.get_size() > 8 or dataset.dtype.kind not in "iuf":
                self.fail(position, f"{expected_kind} of at most 8 bytes", _type_name(kind))
            if shape is None or (dimensions is not None and len(shape) != dimensions):
                self.fail(position, f"an array of {dimensions} dimension(s)", f"one of shape {shape}")
            if dataset.chunks is None:
                return np.asarray(dataset[()] if rows is None else dataset[rows])
            array = _read_chunks(
                dataset, self.size, rows, lambda expected, what: self.fail(position, expected, what)
            )
            return array

    def _dataset(self, group: Any, name: str, rows: slice | None = None) -> Any:
        """Open a dataset that is stored in this file, within the budget, and readable without plug-ins.

        If only some rows are read, only these are charged.
        """
        place = _place(group, name)
        item = self._open(group, name, "a dataset")
        if not isinstance(item, h5py.Dataset):
            self.fail(place, "a dataset", f"a {type(item).__name__.lower()}")
        with self._guard(place):
            plan = item.id.get_create_plist()
            layout = plan.get_layout()
            if layout == h5d.VIRTUAL or plan.get_external_count():
                self.fail(place, "numbers stored in this file", "a dataset that is kept in other files")
            size = math.prod(item.shape or (0,)) * item.id.get_type().get_size()
            chunk = math.prod(plan.get_chunk()) if layout == h5d.CHUNKED else 0
            cost = max(size, chunk * item.id.get_type().get_size())
            if rows is not None:  # large files are not held in memory: their rows are not charged
                share = (rows.stop - rows.start) / max(1, (item.shape or (1,))[0])
                cost = 0 if self.large else math.ceil(cost * share)
            self.charge(place, cost)
            if size and not item.id.get_storage_size():
                self.fail(place, f"{size} bytes of data", "a dataset that was declared and never written")
        return item

    def _open(self, group: Any, name: str, what: str) -> Any:
        place = _place(group, name)
        with self._guard(place):
            if not group.id.links.exists(name.encode()):
                self.fail(place, what, "nothing")
            if group.id.links.get_info(name.encode()).type != h5l.TYPE_HARD:
                self.fail(place, what, "a link to elsewhere")
            return group[name]

    @contextmanager
    def _guard(self, place: str) -> Iterator[None]:
        """Convert exceptions of any class, which HDF5 raises for broken files, to a FormatError."""
        try:
            yield
        except FormatError:
            raise
        except Exception as error:
            content = f"what HDF5 refuses: {type(error).__name__}: {error}"
            raise FormatError.at(self.path, place, "sound HDF5", content) from None


def _place(group: Any, name: str = "") -> str:
    parent = str(group.name or "/")
    return f"{parent.rstrip('/')}/{name}" if name else parent


def _type_name(kind: Any) -> str:
    names = {h5t.INTEGER: "integers", h5t.FLOAT: "reals", h5t.STRING: "text", h5t.COMPOUND: "a compound type",
             h5t.REFERENCE: "references", h5t.ENUM: "an enumeration", h5t.VLEN: "arrays of any length",
             h5t.OPAQUE: "opaque bytes", h5t.BITFIELD: "bits", h5t.ARRAY: "arrays"}  # fmt: skip
    return f"{names.get(kind.get_class(), 'another type')} of {kind.get_size()} bytes"


def _decoded(value: str | bytes) -> str:
    """Decode a text of h5py, which may be bytes or contain surrogate escapes."""
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
    return data.rstrip(b"\0").decode("utf-8", "backslashreplace")


def _read_chunks(dataset: Any, file_size: int, rows: slice | None, fail: Fail) -> np.ndarray:
    """Read a chunked dataset, or some of its rows; its size has been charged before."""
    plan, shape, dtype = dataset.id.get_create_plist(), dataset.shape, dataset.dtype
    chunk = plan.get_chunk()
    filters = [plan.get_filter(k)[0] for k in range(plan.get_nfilters())]
    if not set(filters) <= FILTERS.keys() or len(set(filters)) != len(filters):
        fail("each of deflate and shuffle once at most", f"filters {filters}")
    first, last, _ = slice(None).indices(shape[0]) if rows is None else rows.indices(shape[0])
    array = np.empty((max(0, last - first), *shape[1:]), dtype)
    if math.prod(chunk) * dtype.itemsize > max(SMALLEST_BUDGET, EXPANSION * file_size):
        fail("chunks that the file can hold", f"chunks of shape {chunk}")
    starts = _chunk_starts(dataset, shape, chunk, file_size, fail)
    for start in starts:
        if start[0] >= last or start[0] + chunk[0] <= first:
            continue
        _, raw = dataset.id.read_direct_chunk(start)
        values = _unpacked(raw, filters, chunk, dtype, fail)
        skip = max(0, first - start[0])
        place = [slice(a, a + c) for a, c in zip(start, chunk, strict=True)]
        place[0] = slice(start[0] + skip - first, min(start[0] + chunk[0], last) - first)
        target = array[tuple(place)]
        cut = [slice(0, n) for n in target.shape]
        cut[0] = slice(skip, skip + len(target))
        target[...] = values[tuple(cut)]
    return array


def _chunk_starts(
    dataset: Any, shape: tuple[int, ...], chunk: tuple[int, ...], file_size: int, fail: Fail
) -> set[tuple[int, ...]]:
    """First indices of all chunks; every chunk must exist exactly once."""
    count = math.prod(-(-n // c) for n, c in zip(shape, chunk, strict=True))
    starts: set[tuple[int, ...]] = set()

    def take(info: Any) -> bool | None:
        start = tuple(info.chunk_offset)
        inside = all(0 <= a < n and a % c == 0 for a, n, c in zip(start, shape, chunk, strict=True))
        if not inside or start in starts or info.filter_mask or info.size > file_size:
            fail("chunks that fill the dataset and fit the file", f"one of {info.size} bytes at {start}")
        starts.add(start)
        return None

    if count:
        dataset.id.chunk_iter(take)
    if len(starts) != count:
        fail(f"{count} chunks", f"{len(starts)}: the dataset was declared and never written in full")
    return starts


def _unpacked(raw: bytes, filters: list[int], chunk: tuple[int, ...], dtype: Any, fail: Fail) -> np.ndarray:
    """Decode the raw bytes of a chunk."""
    size = math.prod(chunk) * dtype.itemsize
    for code in reversed(filters):
        if code == h5z.FILTER_DEFLATE:
            raw = zlib.decompressobj().decompress(raw, size + 1)
        elif len(raw) == size:
            raw = np.frombuffer(raw, np.uint8).reshape(dtype.itemsize, -1).T.tobytes()
    if len(raw) != size:
        content = "more" if len(raw) > size else f"{len(raw)}"
        fail(f"chunks of {size} bytes", content)
    return np.frombuffer(raw, dtype).reshape(chunk)
