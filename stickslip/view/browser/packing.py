"""Arrays as a page of the viewer holds them: rounded to what is seen, then compressed.

Each array is a reference in the page's JSON and a range of one run of bytes. Numbers are stored byte by byte,
all first bytes before all second ones, because equal bytes side by side compress. Places and orientations are
whole multiples of a step, as differences from frame to frame.
"""

import zlib
from base64 import b64encode
from typing import Any

import numpy as np

from stickslip.state import Array

Reference = dict[str, Any]
"""Where an array is: `k` its kind, `n` its shape, `o` where its bytes begin, `s` its step."""
MANTISSA = 23
"""Bits of the mantissa of a 32-bit float."""
SINGLE = 1e38
"""The largest number that is written; with 32 bits there are some larger ones, to round up to."""


class Pack:
    """Arrays one after another, and their references."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def real(self, x: Any, bits: int = MANTISSA) -> Reference:
        """Real numbers of 32 bits, with so many bits of the mantissa."""
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
        """Real numbers of 64 bits."""
        return self._add("d", np.asarray(x, np.float64), np.shape(x))

    def rounded(self, x: Any, step: float) -> Reference:
        """Multiples of a step of 2 to a whole power, each row as its difference from the row before."""
        whole = np.round(np.nan_to_num(np.asarray(x, np.float64)) / step)
        whole = np.clip(whole, -(2.0**31), 2.0**31 - 1.0).astype(np.int64)
        changes = np.diff(whole, axis=0, prepend=np.zeros((1, *whole.shape[1:]), np.int64))
        return self._add("i", changes.astype(np.int32), np.shape(x)) | {"s": step}

    def whole(self, x: Any) -> Reference:
        """Whole numbers of 32 bits, each column as differences from row to row."""
        numbers = np.asarray(x, np.int64)
        changes = np.diff(numbers, axis=0, prepend=np.zeros((1, *numbers.shape[1:]), np.int64))
        return self._add("w", changes.astype(np.int32), np.shape(x))

    def small(self, x: Any) -> Reference:
        """Whole numbers from 0 to 255."""
        return self._add("b", np.asarray(x, np.uint8), np.shape(x))

    def _add(self, kind: str, numbers: Any, shape: tuple[int, ...]) -> Reference:
        little = np.ascontiguousarray(numbers.reshape(-1)).astype(numbers.dtype.newbyteorder("<"), copy=False)
        planes = little.view(np.uint8).reshape(-1, little.dtype.itemsize).T.tobytes()
        reference = {"k": kind, "n": list(shape), "o": self._size}
        self._parts.append(planes)
        self._size += len(planes)
        return reference

    def compressed(self, level: int = 9) -> bytes:
        """All bytes as one zlib stream."""
        return zlib.compress(b"".join(self._parts), level)

    def text(self) -> str:
        """All bytes, compressed, as text."""
        return b64encode(self.compressed()).decode("ascii")


def unit_step(reach: Array | float, finest: float) -> float:
    """The step of the components of a quaternion so that no point at a distance `reach` from the middle moves
    by more than `finest`, a whole power of 2 from 2^-7 to 2^-14 [-]."""
    ratio = max(float(np.max(reach, initial=0.0)) / finest, 1.0)
    return 2.0 ** -min(max(int(np.ceil(np.log2(ratio))), 7), 14)
