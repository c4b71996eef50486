"""Layout of the frames of journals."""

import struct
from typing import Any

import numpy as np

MAGIC = b"SSF2"
HEAD = struct.Struct("<4sIQI")
"""Header of a frame: magic, length of the text, length of the arrays, CRC-32 of the text."""
LONGEST_TEXT = 2**28
"""Largest length of the text of a frame [bytes]."""
TYPES: dict[str, np.dtype[Any]] = {"f8": np.dtype("<f8"), "i8": np.dtype("<i8"), "i1": np.dtype("i1")}
