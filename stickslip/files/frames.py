"""How frames of journals are laid out."""

import struct
from typing import Any

import numpy as np

MAGIC = b"SSF2"
HEAD = struct.Struct("<4sIQI")
"""Magic, bytes of the text, bytes of the arrays, CRC-32 of the text."""
LONGEST_TEXT = 2**28
"""Of a frame [bytes]."""
TYPES: dict[str, np.dtype[Any]] = {"f8": np.dtype("<f8"), "i8": np.dtype("<i8"), "i1": np.dtype("i1")}
