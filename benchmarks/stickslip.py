"""Gives `python benchmarks/x.py` the stickslip of its checkout, whichever one is installed.

The folder of a script comes first on the path, so that `import stickslip` finds this file. It puts the
checkout before it, for this process and those that it starts, and gives its place to the package.
"""

import importlib
import os
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[1])

del sys.modules["stickslip"]
sys.path.insert(0, ROOT)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))
importlib.import_module("stickslip")
