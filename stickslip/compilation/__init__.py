"""How kernels become machine code: compiled once, kept by content, shipped in wheels.

`kernels/jit.py` is the door; nothing else of the package calls these modules, except for `timing`.
"""

import os

JIT = os.environ.get("STICKSLIP_JIT", "1") != "0"
"""Whether kernels are compiled; with `STICKSLIP_JIT=0` they run as plain Python."""
