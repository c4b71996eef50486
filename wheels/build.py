"""Build the wheel with compiled kernels for each processor level.

    python wheels/build.py [--out dist]

For every level `wheels/workloads.py` runs with an empty store of kernels, and the entries of this store are
written to `build/packs/LEVEL.pack`. Hatchling then builds the wheel with these packs (`wheels/hook.py`).
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEVELS = {"x86_64": ("x86-64-v2", "x86-64-v3"), "aarch64": ("generic",)}
"""Processor levels of a wheel, by LLVM's names, for each machine architecture."""


def main() -> int:
    """Build the wheel; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the wheel")
    out = parser.parse_args().out
    levels = LEVELS.get(platform.machine())
    if levels is None:
        print(f"no levels are known for {platform.machine()}; known: {', '.join(LEVELS)}", file=sys.stderr)
        return 2
    build = ROOT / "build"
    shutil.rmtree(build, ignore_errors=True)
    running = {level: begin(level, build / level) for level in levels}
    for level, process in running.items():
        if process.wait():
            print(f"{level}: the workloads failed", file=sys.stderr)
            return 1
        count, size = gather(build / level / "kernels", build / "packs" / f"{level}.pack")
        print(f"{level}: {count} kernels, {size / 2**20:.1f} MiB")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def begin(level: str, store: Path) -> subprocess.Popen[bytes]:
    """Start the workloads for a level, with a new store."""
    env = {
        **os.environ, "NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": str(store),
        "STICKSLIP_PROGRESS": "0", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
    }  # fmt: skip
    store.mkdir(parents=True)
    store.chmod(0o700)
    return subprocess.Popen([sys.executable, str(ROOT / "wheels" / "workloads.py")], env=env, cwd=store)


def gather(folder: Path, pack: Path) -> tuple[int, int]:
    """Write the kernels of a store that are called from Python to a pack; return their number and its size
    [bytes]."""
    sys.path.insert(0, str(ROOT))
    from stickslip.compilation import packs, record
    from stickslip.compilation.store import Store

    store = Store(folder)
    contents = {path.stem: store.read(path.stem) for _, _, path in store.files()}
    entries = {key: content for key, content in contents.items() if content and record.is_called(content)}
    packs.write(pack, entries)
    return len(entries), pack.stat().st_size


if __name__ == "__main__":
    start = time.monotonic()
    code = main()
    print(f"{time.monotonic() - start:.0f} s")
    sys.exit(code)
