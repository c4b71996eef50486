"""Chunked HDF5 datasets, unpacked here and not by the HDF5 library.

The library trusts what it unpacks: a stream may grow far beyond its chunk, and a chunk with a
false size can bring the process down. Here a chunk is asked for its raw bytes, of a size the file
can hold, and has to unpack to exactly the bytes of a chunk. Every chunk must be there.
"""

import math
import zlib
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from h5py import h5z

FILTERS = {h5z.FILTER_DEFLATE: "deflate", h5z.FILTER_SHUFFLE: "shuffle"}
"""What chunks may have gone through; other filters would load plug-ins, or are not worth a risk."""

Fail = Callable[[str, str], NoReturn]
"""Refuses the dataset: what was expected, what was found."""


def read_chunks(dataset: Any, file_size: int, fail: Fail) -> np.ndarray:
    """The numbers of a chunked dataset, whose size has been agreed to."""
    plan, shape, dtype = dataset.id.get_create_plist(), dataset.shape, dataset.dtype
    chunk = plan.get_chunk()
    filters = [plan.get_filter(k)[0] for k in range(plan.get_nfilters())]
    if not set(filters) <= FILTERS.keys() or len(set(filters)) != len(filters):
        fail("each of deflate and shuffle once at most", f"filters {filters}")
    array = np.empty(shape, dtype)
    starts = _chunk_starts(dataset, shape, chunk, file_size, fail)
    for start in starts:
        _, raw = dataset.id.read_direct_chunk(start)
        values = _unpacked(raw, filters, chunk, dtype, fail)
        place = tuple(slice(a, a + c) for a, c in zip(start, chunk, strict=True))
        target = array[place]
        target[...] = values[tuple(slice(0, n) for n in target.shape)]
    return array


def _chunk_starts(
    dataset: Any, shape: tuple[int, ...], chunk: tuple[int, ...], file_size: int, fail: Fail
) -> set[tuple[int, ...]]:
    """First index of every chunk, once each."""
    wanted = math.prod(-(-n // c) for n, c in zip(shape, chunk, strict=True))
    starts: set[tuple[int, ...]] = set()

    def take(info: Any) -> bool | None:
        start = tuple(info.chunk_offset)
        inside = all(0 <= a < n and a % c == 0 for a, n, c in zip(start, shape, chunk, strict=True))
        if not inside or start in starts or info.filter_mask or info.size > file_size:
            fail("chunks that fill the dataset and fit the file", f"one of {info.size} bytes at {start}")
        starts.add(start)
        return None

    if wanted:
        dataset.id.chunk_iter(take)
    if len(starts) != wanted:
        fail(f"{wanted} chunks", f"{len(starts)}: the dataset was declared and never written in full")
    return starts


def _unpacked(raw: bytes, filters: list[int], chunk: tuple[int, ...], dtype: Any, fail: Fail) -> np.ndarray:
    size = math.prod(chunk) * dtype.itemsize
    for code in reversed(filters):
        if code == h5z.FILTER_DEFLATE:
            raw = zlib.decompressobj().decompress(raw, size + 1)
        elif len(raw) == size:
            raw = np.frombuffer(raw, np.uint8).reshape(dtype.itemsize, -1).T.tobytes()
    if len(raw) != size:
        found = "more" if len(raw) > size else f"{len(raw)}"
        fail(f"chunks of {size} bytes", found)
    return np.frombuffer(raw, dtype).reshape(chunk)
