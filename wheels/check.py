"""A wheel in a clean environment: nothing of what a new user does first may be compiled.

    python wheels/check.py dist/stickslip-*.whl

Makes a virtual environment, installs the wheel with the pinned versions, and runs README's first box, its
solve and the first steps of the demo, each in a process of its own with an empty store. What is compiled is
kept, so a store that is empty afterwards shows that nothing was. The exit code is 1 if something was.
"""

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
DEMO = """
import tempfile
from stickslip.cli.main import main
with tempfile.TemporaryDirectory() as folder:
    main(["demo", "--bodies", "20", "--no-html", "--out", folder])
"""
WORK = {"README's box": BLOCKS[0], "README's solve": "import stickslip as ss\n" + BLOCKS[2], "demo": DEMO}
TIME = "\nimport time\nprint('seconds', time.process_time())\n"


def main() -> int:
    """Install and run; the exit code."""
    wheel = Path(sys.argv[1]).resolve()
    print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB")
    compiled = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        venv.create(place / "venv", with_pip=True)
        python = place / "venv" / "bin" / "python"
        pins = ["-c", str(ROOT / "constraints.txt")]
        subprocess.run([python, "-m", "pip", "install", "-q", *pins, str(wheel)], check=True)
        for name, script in WORK.items():
            for run in ("first", "second"):
                store = place / name.replace(" ", "-") / run
                env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
                env |= {"NUMBA_CACHE_DIR": str(store), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
                command = [python, "-c", script + TIME]
                done = subprocess.run(command, env=env, cwd=place, capture_output=True, text=True, check=True)
                seconds = float(done.stdout.split()[-1])
                kept = len(list(store.rglob("*.kernel")))
                compiled += kept
                print(f"{name}, {run} run: {seconds:.1f} s of processor time, {kept} kernels compiled")
    return 1 if compiled else 0


if __name__ == "__main__":
    sys.exit(main())
