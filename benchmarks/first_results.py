"""Processor time to a first result, with an empty and with a full store of kernels.

    python benchmarks/first_results.py [--tree PATH ...]

The box of the README, a world with joints and the solve of the README run in two processes each that share a
store: the first compiles, the second loads. With `--tree` other checkouts are measured in the same run, one
after the other, with the same interpreter. The bytecode of modules is in a separate folder and exists before
the measurement.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
BOX = """
b = ss.WorldBuilder()
b.body("floor", ss.Plane(), fixed=True)
b.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), velocity=(2, 0, 0))
ss.simulate(b.build(), until=1.0, h=1e-3)
"""
JOINTS = """
b = ss.WorldBuilder()
b.body("rod", ss.Capsule(0.05, 0.4), position=(0, 0, 1))
b.body("bob", ss.Sphere(0.1), position=(0, 0, 0.5))
b.joint("pivot", "hinge", "rod", point=(0, 0, 1.3), axis=(0, 1, 0))
b.joint("link", "ball", "rod", "bob", point=(0, 0, 0.7))
ss.simulate(b.build(), until=0.1, h=1e-3)
"""
SOLVE = """
import numpy as np
ss.solve(ss.ContactProblem(np.eye(3) / 2.0, np.array([-0.07, 0.07, 0.0]), ss.coulomb([0.5])))
"""
WORK = {"README's box": BOX, "two bodies with joints": JOINTS, "README's solve": SOLVE}
HEAD = "import time\nimport stickslip as ss\n"
TAIL = "print(time.process_time())\n"


def seconds(tree: Path, script: str, store: Path, bytecode: Path) -> float:
    """Run a script in a new process; return its processor time [s]."""
    env = {
        **os.environ, "PYTHONPATH": str(tree), "NUMBA_CACHE_DIR": str(store), "STICKSLIP_PROGRESS": "0",
        "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(bytecode), "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    command = [sys.executable, "-c", HEAD + script + TAIL]
    done = subprocess.run(command, env=env, cwd=store, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tree", type=Path, action="append", default=[], help="another checkout")
    trees = [*parser.parse_args().tree, ROOT]
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; processor time [s]")
    print(f"{'first result':24} {'tree':16} {'empty store':>12} {'full store':>11}")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for number, tree in enumerate(trees):
            bytecode = place / f"bytecode{number}"
            for k, (name, script) in enumerate(WORK.items()):
                store = place / f"store{number}{k}"
                store.mkdir(mode=0o700)
                if not bytecode.exists():
                    seconds(tree, script, store, bytecode)
                    store = place / f"again{number}"
                    store.mkdir(mode=0o700)
                empty, full = (seconds(tree, script, store, bytecode) for _ in range(2))
                print(f"{name:24} {tree.resolve().name:16} {empty:12.1f} {full:11.1f}", flush=True)


if __name__ == "__main__":
    main()
