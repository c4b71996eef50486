"""The journal of a run that came to its end becomes HDF5.

HDF5 is asked for the places of all datasets. The operating system copies the numbers there as they stand in
the frames, which have them in the same types.
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
"""Copied at a time where the system does not copy between files by itself [bytes]."""


def copy_frames(path: Path, run: Trajectory, others: int) -> None:
    """Put the HDF5 file of a run, which is in the journal at `path`, in the place of the journal. Arrays
    before byte `others`, which another process wrote, are checked against their CRC."""
    assert isinstance(run.store, JournalStore)
    frames = run.store.frames
    with draft_of(path, durable=True) as draft:
        with h5py.File(draft, "w") as root:
            datasets = runs.declare(root.create_group(ROOT), run, told=False)
            places = {f"columns/{x}" if x in run.store.names else x: y for x, y in datasets.items()}
            if not _fits(frames, places):
                runs.fill(datasets, run, told=False)
                return
            starts = {name: dataset.id.get_offset() for name, dataset in places.items() if dataset.size}
        with draft.open("r+b", buffering=0) as file:
            _copy(frames, file.fileno(), starts, others)


def _fits(frames: Frames, places: dict[str, Any]) -> bool:
    """Whether the frames have the arrays of all datasets, row by row as these have them."""
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
    """Copy arrays of all frames to a file, behind those of the same name before."""
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
        except (AttributeError, OSError):  # a system or a file system without it, or a full disk: seen below
            count = os.pwrite(target, os.pread(source, min(PIECE, size - done), start + done), place + done)
        if not count:
            raise OSError(f"byte {start + done} of the journal is missing")
        done += count
