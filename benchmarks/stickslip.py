"""Make `python benchmarks/x.py` use the stickslip of its checkout instead of an installed version.

The folder of a script is first on the path, so `import stickslip` finds this file. It puts the checkout
before this folder, for this process and its children, and is replaced by the package.
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
