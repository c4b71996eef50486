"""Encode arrays for a page of the viewer: rounded to the visible precision, then compressed.

Each array is a reference in the JSON of the page and a range of one byte string. Numbers are stored in byte
planes, all first bytes before all second ones, which compresses better. Positions and orientations are
integer multiples of a step, stored as differences from frame to frame.
"""

import zlib
from base64 import b64encode
from typing import Any

import numpy as np

from stickslip.state import Array

Reference = dict[str, Any]
"""Reference to an array: `k` kind, `n` shape, `o` offset of its bytes, `s` step."""
MANTISSA = 23
"""Bits of the mantissa of a 32-bit float."""
SINGLE = 1e38
"""Largest number that is written; larger 32-bit floats are left as room for rounding up."""


class Pack:
    """Byte string of consecutive arrays."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def real(self, x: Any, bits: int = MANTISSA) -> Reference:
        """Append 32-bit floats, rounded to `bits` bits of the mantissa."""
        numbers = np.clip(np.asarray(x, np.float64), -SINGLE, SINGLE).astype(np.float32)
        if bits < MANTISSA:
            cut = np.uint32(MANTISSA - bits)
            codes = numbers.view(np.uint32) if numbers.ndim else numbers.reshape(1).view(np.uint32)
            half = np.uint32(1 << (MANTISSA - bits - 1))
            finite = np.isfinite(numbers)
            codes = np.where(finite, (codes + half) >> cut << cut, codes)
            numbers = codes.astype(np.uint32).view(np.float32)
        return self._add("f", numbers, np.shape(x))

    def double(self, x: Any) -> Reference:
        """Append 64-bit floats."""
        return self._add("d", np.asarray(x, np.float64), np.shape(x))

    def rounded(self, x: Any, step: float) -> Reference:
        """Append multiples of a step, a power of 2; each row as its difference from the previous row."""
        integers = np.round(np.nan_to_num(np.asarray(x, np.float64)) / step)
        integers = np.clip(integers, -(2.0**31), 2.0**31 - 1.0).astype(np.int64)
        changes = np.diff(integers, axis=0, prepend=np.zeros((1, *integers.shape[1:]), np.int64))
        return self._add("i", changes.astype(np.int32), np.shape(x)) | {"s": step}

    def whole(self, x: Any) -> Reference:
        """Append 32-bit integers; each row as its difference from the previous row."""
        numbers = np.asarray(x, np.int64)
        changes = np.diff(numbers, axis=0, prepend=np.zeros((1, *numbers.shape[1:]), np.int64))
        return self._add("w", changes.astype(np.int32), np.shape(x))

    def small(self, x: Any) -> Reference:
        """Append integers from 0 to 255."""
        return self._add("b", np.asarray(x, np.uint8), np.shape(x))

    def _add(self, kind: str, numbers: Any, shape: tuple[int, ...]) -> Reference:
        little = np.ascontiguousarray(numbers.reshape(-1)).astype(numbers.dtype.newbyteorder("<"), copy=False)
        planes = little.view(np.uint8).reshape(-1, little.dtype.itemsize).T.tobytes()
        reference = {"k": kind, "n": list(shape), "o": self._size}
        self._parts.append(planes)
        self._size += len(planes)
        return reference

    def compressed(self, level: int = 9) -> bytes:
        """Return all bytes as one zlib stream."""
        return zlib.compress(b"".join(self._parts), level)

    def text(self) -> str:
        """Return all bytes, compressed, in base 64."""
        return b64encode(self.compressed()).decode("ascii")


def unit_step(reach: Array | float, finest: float) -> float:
    """Rounding step of the components of a quaternion, a power of 2 from 2^-7 to 2^-14 [-]: points at the
    distance `reach` from the centre move by at most `finest`."""
    ratio = max(float(np.max(reach, initial=0.0)) / finest, 1.0)
    return 2.0 ** -min(max(int(np.ceil(np.log2(ratio))), 7), 14)
