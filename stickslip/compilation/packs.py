"""Machine code shipped with the package: one file (pack) per level of processors, in `stickslip/compiled`.

A pack holds entries only, with the same keys as the store. A key depends on versions, source and level, so an
entry is used only if all of them are equal; otherwise kernels are compiled.
"""

import hashlib
import os
import stat
import struct
from functools import cache
from pathlib import Path

from stickslip.compilation import target
from stickslip.compilation.store import OTHERS_WRITE

FOLDER = Path(__file__).parents[1] / "compiled"
"""Folder of the packs, in wheels that have them."""
_MAGIC = b"stickslip pack 1\n"
_COUNT = struct.Struct("<q")
_ROW = struct.Struct("<32sqq")


class Pack:
    """An open pack: an index of keys, followed by records."""

    def __init__(self, path: Path, level: str):
        self.path, self.level = path, level
        """Level of processors of the code."""
        self._index: dict[bytes, tuple[int, int]] = {}
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_IMODE(status.st_mode) & OTHERS_WRITE:
                raise OSError(f"{path}: others may write to it")
            if file.read(len(_MAGIC)) != _MAGIC:
                raise ValueError(f"{path}: not a pack")
            (count,) = _COUNT.unpack(file.read(_COUNT.size))
            rows = file.read(count * _ROW.size)
        for key, begin, size in _ROW.iter_unpack(rows):
            self._index[key] = begin, size

    def __len__(self) -> int:
        return len(self._index)

    def read(self, key: str) -> bytes | None:
        """Return a record; None if there is none."""
        place = self._index.get(bytes.fromhex(key))
        if place is None:
            return None
        with self.path.open("rb") as file:
            file.seek(place[0])
            record = file.read(place[1])
        digest, content = record[:32], record[32:]
        return content if digest == hashlib.sha256(content).digest() else None


def write(path: Path, records: dict[str, bytes]) -> None:
    """Write a pack; the same records give the same bytes."""
    keys = sorted(records)
    at = len(_MAGIC) + _COUNT.size + len(keys) * _ROW.size
    rows, bodies = [], []
    for key in keys:
        body = hashlib.sha256(records[key]).digest() + records[key]
        rows.append(_ROW.pack(bytes.fromhex(key), at, len(body)))
        bodies.append(body)
        at += len(body)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_MAGIC + _COUNT.pack(len(keys)) + b"".join(rows) + b"".join(bodies))


@cache
def shipped() -> tuple[Pack, ...]:
    """Return the packs of this installation that this processor can use, the highest level first."""
    if target.level_of_build() is not None or os.environ.get("STICKSLIP_SHIPPED", "1") == "0":
        return ()
    packs = []
    for level in target.levels_of_host() if FOLDER.is_dir() else ():
        try:
            packs.append(Pack(FOLDER / f"{level}.pack", level))
        except (OSError, ValueError, struct.error):
            continue
    return tuple(packs)
