"""Compilation of kernels to machine code: compiled once, cached by content, shipped in wheels.

`kernels/jit.py` is the interface for kernels; other parts of the package mainly use `JIT` and `timing`.
"""

import os

JIT = os.environ.get("STICKSLIP_JIT", "1") != "0"
"""Whether kernels are compiled; with `STICKSLIP_JIT=0` they run as plain Python."""
