"""Export runs of bodies for ParaView: files in Kitware's VTKHDF format, version 2.0, PolyData over time.

There are two files: surfaces of the bodies, with constant triangles and moving corners, and contacts, a
varying number of points. Another group beside VTKHDF contains names: of bodies by number, and of states by
code.
"""

from pathlib import Path
from typing import Any

import h5py
import numpy as np

from stickslip.export.records import Report, Run, blocks, motion
from stickslip.export.scene import STATES, contacts, instances, surfaces
from stickslip.rotations import turned
from stickslip.state import Array, IntArray

TOPOLOGIES = ("Vertices", "Lines", "Polygons", "Strips")
"""Kinds of cells of PolyData, in the order of the columns of offsets."""
CHUNK = 1 << 16
"""Approximate number of numbers in a compressed chunk."""
NONE = np.zeros(0, np.int64)


class PolyData:
    """PolyData over time in an open file: rows are appended to datasets, and steps store their offsets."""

    def __init__(self, file: Any, names: tuple[str, ...]):
        self._root = file.create_group("VTKHDF")
        self._root.attrs["Version"] = np.array([2, 0], np.int64)
        self._root.attrs["Type"] = np.bytes_("PolyData")
        self._count = 0
        notes = file.create_group("stickslip")
        for key, words in (("bodies", names), ("states", STATES)):
            notes.create_dataset(key, data=list(words), dtype=h5py.string_dtype())

    def add(self, place: str, rows: np.ndarray) -> int:
        """Append rows to a dataset of the group VTKHDF; return the index of the first of them."""
        if place not in self._root:
            width = int(np.prod(rows.shape[1:]))
            self._root.create_dataset(
                place, (0, *rows.shape[1:]), rows.dtype, maxshape=(None, *rows.shape[1:]),
                chunks=(max(1, CHUNK // width), *rows.shape[1:]), compression="gzip", compression_opts=1,
                shuffle=True,
            )  # fmt: skip
        data = self._root[place]
        first = len(data)
        if len(rows):
            data.resize(first + len(rows), axis=0)
            data[first:] = rows
        return int(first)

    def cells(self, kind: str, points: IntArray, counts: IntArray, corners: int, ids: IntArray) -> None:
        """Append cells of one kind with `corners` corners each, and none of the other kinds, for parts with
        `points` points and `counts` cells each; ids: points of the cells of all parts."""
        self.add("NumberOfPoints", points)
        for each in TOPOLOGIES:
            count = counts if each == kind else np.zeros_like(counts)
            self.add(f"{each}/NumberOfCells", count)
            self.add(f"{each}/NumberOfConnectivityIds", corners * count)
            self.add(f"{each}/Connectivity", ids if each == kind else NONE)
            self.add(f"{each}/Offsets", corners * _counted(count + 1))

    def steps(
        self, t: Array, part: IntArray, points: IntArray, kind: str, cells: IntArray, **data: IntArray
    ) -> None:
        """Append time steps: the part of each, and the offsets of its points, vertex cells and data."""
        offsets = np.zeros((t.size, len(TOPOLOGIES)), np.int64)
        offsets[:, TOPOLOGIES.index(kind)] = cells
        for key, rows in {
            "Values": t, "PartOffsets": part, "NumberOfParts": np.ones_like(part), "PointOffsets": points,
            "CellOffsets": offsets, "ConnectivityIdOffsets": offsets, **data,
        }.items():  # fmt: skip
            self.add(f"Steps/{key.replace('Data_', 'DataOffsets/')}", rows)
        self._count += t.size
        self._root["Steps"].attrs["NSteps"] = np.int64(self._count)


def write_bodies(path: Path, run: Run, numbers: IntArray, report: Report | None = None) -> None:
    """Write the surfaces of all bodies over time, with body number, velocity and spin of each triangle."""
    model, _, groups = instances(run)
    of = surfaces(model, groups)
    nv, nt = len(of.vertices), len(of.triangles)
    with h5py.File(path, "w") as file:
        data = PolyData(file, model.names)
        data.cells("Polygons", np.array([nv]), np.array([nt]), 3, of.triangles.reshape(-1))
        data.add("CellData/body", of.triangle_body.astype(np.int32))
        for block in blocks(run, numbers, 24.0 * nv + 12.0 * nt, report):
            moved, k = motion(block), block.rows.size
            x, p = moved.position[:, of.vertex_body], moved.quaternion[:, of.vertex_body]
            places = x + turned(p, np.broadcast_to(of.vertices, x.shape))
            points = data.add("Points", _single(places))
            cells = data.add("CellData/velocity", _single(moved.velocity[:, of.triangle_body]))
            data.add("CellData/spin", _single(moved.spin[:, of.triangle_body]))
            zero, first = np.zeros(k, np.int64), cells + nt * np.arange(k)
            data.steps(
                block.t, zero, points + nv * np.arange(k), "Polygons", zero,
                CellData_body=zero, CellData_velocity=first, CellData_spin=first,
            )  # fmt: skip


def write_contacts(path: Path, run: Run, numbers: IntArray, report: Report | None = None) -> None:
    """Write contact points over time, with force on the first body, normal, gap, state and both bodies."""
    done = 0
    with h5py.File(path, "w") as file:
        data = PolyData(file, run.model.names)
        for block in blocks(run, numbers, 0.0, report):
            points = contacts(block)
            columns: dict[str, np.ndarray] = {
                "force": points.force, "normal": points.normal, "gap": points.gap,
                "state": points.state.astype(np.int32), "body": points.body.astype(np.int32),
            }  # fmt: skip
            first = data.add("Points", _single(points.point)) + np.cumsum(points.count) - points.count
            for name, column in columns.items():
                data.add(f"PointData/{name}", column)
            data.cells("Vertices", points.count, points.count, 1, _counted(points.count))
            part = done + np.arange(block.rows.size)
            offsets = {f"PointData_{name}": first for name in columns}
            data.steps(block.t, part, first, "Vertices", first, **offsets)
            done += block.rows.size


def _counted(counts: IntArray) -> IntArray:
    """Concatenated ranges 0, 1, ... of the lengths `counts`."""
    start = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) - np.repeat(start, counts)


def _single(rows: Array) -> np.ndarray:
    """Vectors of several records as consecutive rows, in single precision."""
    return rows.reshape(-1, 3).astype(np.float32)
