"""Write HDF5: arrays, texts and attributes, without time stamps, so that equal content gives equal bytes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import h5py
import numpy as np
from h5py import h5d, h5p, h5s, h5t

from stickslip.files.errors import FormatError, shown
from stickslip.files.hdf5 import EXPANSION, SMALLEST_BUDGET

LARGEST_ATTRIBUTE = 60_000
"""Largest size of an attribute [bytes]; HDF5 stores attributes in object headers of at most 64 kB."""

WORTH_PACKING, CHUNK = 1_000_000, 1_000_000
"""Size from which arrays are compressed, and approximate size of chunks [bytes]; heuristic."""


def hdf5_content(fill: Callable[[Any], None]) -> bytes:
    """Return the bytes of an HDF5 file made in memory and filled by `fill`."""
    # HDF5 identifies open files by name, also files in memory; the name is unique per thread.
    with h5py.File(uuid4().hex, "w", driver="core", backing_store=False) as root:
        fill(root)
        root.flush()
        return bytes(root.id.get_file_image())


def packed_content(root: str, fill: Callable[[Any, Any], None], stored: int) -> bytes:
    """Return the bytes of a file with a group `root`, filled by `fill(group, put)`.

    Large tables are compressed, unless the `stored` bytes compress so well that readers would refuse the file
    (see `EXPANSION`).
    """
    content = hdf5_content(lambda file: fill(file.create_group(root), put_packed))
    if 2 * stored > max(SMALLEST_BUDGET, EXPANSION * len(content)):
        return hdf5_content(lambda file: fill(file.create_group(root), put_array))
    return content


def put_array(group: Any, name: str, value: Any, dtype: Any) -> None:
    """Write a dataset of numbers."""
    group.create_dataset(name, data=np.ascontiguousarray(value, dtype), track_times=False)


def put_place(group: Any, name: str, rows: int, like: np.ndarray) -> Any:
    """Allocate a dataset with `rows` flattened rows like those of an array; its numbers are written later."""
    plan = h5p.create(h5p.DATASET_CREATE)
    plan.set_obj_track_times(False)
    plan.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    plan.set_fill_time(h5d.FILL_TIME_NEVER)
    shape = (rows,) if like.ndim == 1 else (rows, int(np.prod(like.shape[1:])))
    return group.create_dataset(name, shape, np.int8 if like.dtype == np.bool_ else like.dtype, dcpl=plan)


def put_packed(group: Any, name: str, value: Any, dtype: Any) -> None:
    """Write a dataset of numbers; large ones are compressed in chunks of whole rows."""
    array = np.ascontiguousarray(value, dtype)
    if array.nbytes < WORTH_PACKING:
        put_array(group, name, array, dtype)
        return
    row = array.nbytes // array.shape[0]
    chunk = (max(1, min(array.shape[0], CHUNK // row)), *array.shape[1:])
    group.create_dataset(
        name,
        data=array,
        chunks=chunk,
        compression="gzip",
        compression_opts=1,
        shuffle=True,
        track_times=False,
    )


def put_text(group: Any, name: str, text: str) -> None:
    """Write a text as C libraries do: of fixed length, terminated by a zero byte."""
    data, kind = _terminated(text)
    plan = h5p.create(h5p.DATASET_CREATE)
    plan.set_obj_track_times(False)
    space = h5s.create(h5s.SCALAR)
    h5d.create(group.id, name.encode(), kind, space, plan).write(space, space, data, mtype=kind)


def put_texts(group: Any, name: str, texts: Sequence[str]) -> None:
    """Write a column of UTF-8 texts, all with the length of the longest."""
    data = [_escaped(text) for text in texts]
    width = max(map(len, data), default=0) or 1
    kind = h5py.string_dtype("utf-8", width)
    group.create_dataset(name, data=np.array(data, kind), track_times=False)


def put_attribute(path: Path, group: Any, name: str, text: str) -> None:
    """Write an attribute: a number if `text` is exactly the representation of that number, else a text."""
    value: Any = _number(text)
    if value is None:
        value, _ = _terminated(text)
        if value.nbytes > LARGEST_ATTRIBUTE:
            raise FormatError.at(path, f"{group.name}, attribute {shown(name)}",
                                 f"at most {LARGEST_ATTRIBUTE} bytes (long texts go into `description`)",
                                 f"{value.nbytes} bytes")  # fmt: skip
    try:
        group.attrs.create(_escaped(name), value)
    except (ValueError, TypeError, OSError, RuntimeError) as error:
        place = f"{group.name}, attribute {shown(name)}"
        raise FormatError.at(path, place, "a name that HDF5 takes", f"this: {error}") from None


def _number(text: str) -> np.int64 | np.float64 | None:
    for shown_as, plain, store in ((str, int, np.int64), (repr, float, np.float64)):
        try:
            if shown_as(plain(text)) == text:
                return store(plain(text))
        except (ValueError, OverflowError):
            continue
    return None


def _escaped(text: str) -> bytes:
    """Encode a text in UTF-8; zero bytes and lone surrogates, which C libraries cannot read, are escaped."""
    return text.encode("utf-8", "backslashreplace").replace(b"\0", b"\\x00")


def _terminated(text: str) -> tuple[np.ndarray, Any]:
    data = _escaped(text) + b"\0"
    kind = h5t.C_S1.copy()
    kind.set_size(len(data))
    return np.array(data, f"S{len(data)}"), kind
