"""Convert the journal of a complete run to HDF5.

HDF5 allocates all datasets. The operating system then copies the arrays of the frames, which have the same
types, to the offsets of the datasets.
"""

import os
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from stickslip.files import runs
from stickslip.files.frames import TYPES
from stickslip.files.journal_read import Frames, JournalStore
from stickslip.files.problems import draft_of
from stickslip.files.runs import ROOT
from stickslip.simulation.trajectory import Trajectory

PIECE = 2**24
"""Size of blocks if the system cannot copy between files [bytes]."""


def copy_frames(path: Path, run: Trajectory, others: int) -> None:
    """Replace the journal at `path` by the HDF5 file of its run.

    others: arrays before this byte were written by another process and are checked against their CRC.
    """
    assert isinstance(run.store, JournalStore)
    frames = run.store.frames
    with draft_of(path, durable=True) as draft:
        with h5py.File(draft, "w") as root:
            datasets = runs.declare(root.create_group(ROOT), run, chosen=False)
            places = {f"columns/{x}" if x in run.store.names else x: y for x, y in datasets.items()}
            if not _fits(frames, places):
                runs.fill(datasets, run, chosen=False)
                return
            starts = {name: dataset.id.get_offset() for name, dataset in places.items() if dataset.size}
        with draft.open("r+b", buffering=0) as file:
            _copy(frames, file.fileno(), starts, others)


def _fits(frames: Frames, places: dict[str, Any]) -> bool:
    """Whether the frames contain the rows of all datasets in the same types and shapes."""
    if sys.byteorder != "little":
        return False
    rows = dict.fromkeys(places, 0)
    for arrays in frames.arrays:
        if "columns/t" not in arrays:
            continue
        for name, dataset in places.items():
            array, tail = arrays.get(name), dataset.shape[1:]
            if array is None or array.kind != dataset.dtype or array.kind not in TYPES.values():
                return False
            if (int(np.prod(array.shape[1:])),) != (tail or (1,)):
                return False
            rows[name] += array.shape[0]
    return all(rows[name] == dataset.shape[0] for name, dataset in places.items())


def _copy(frames: Frames, target: int, starts: dict[str, int], others: int) -> None:
    """Copy the arrays of all frames to a file; arrays of the same name are concatenated."""
    ends = dict(starts)
    for arrays in frames.arrays:
        for name, array in arrays.items():
            size = array.size
            if name not in ends or not size:
                continue
            if array.place < others:
                os.pwrite(target, frames.read(name, array).tobytes(), ends[name])
            else:
                _copy_bytes(frames.file, array.place, target, ends[name], size)
            ends[name] += size


def _copy_bytes(source: int, start: int, target: int, place: int, size: int) -> None:
    """Copy bytes from one file to another."""
    done = 0
    while done < size:
        try:
            count = os.copy_file_range(source, target, size - done, start + done, place + done)
        except (AttributeError, OSError):  # not supported, or a full disk, which the write below reports
            count = os.pwrite(target, os.pread(source, min(PIECE, size - done), start + done), place + done)
        if not count:
            raise OSError(f"byte {start + done} of the journal is missing")
        done += count
