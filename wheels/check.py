"""A wheel in a clean environment: nothing of what a new user does first may be compiled.

    python wheels/check.py dist/stickslip-*.whl

Makes a virtual environment, installs the wheel with the pinned versions, and runs README's first box, its
solve and the demo, each in processes of their own with an empty store. What is compiled is kept, so a store
that is empty afterwards shows that nothing was. The same then runs from this checkout, compiled for this very
processor: results must be equal bit for bit, and times of repeated runs, taken in turns, are printed. Last,
the packs are damaged: kernels are then compiled, and a terminal says so. The exit code is 1 if any of this
fails, a first result takes too long, or the wheel is too large.
"""

import os
import pty
import re
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_MIB = 60.0
"""Size of a wheel at most."""
MOST_SECONDS = 5.0
"""Processor time to a first result at most."""
TURNS = 5
"""In which the speed of wheel and checkout is compared."""
LINE = "compiling kernels, once for this version and processor"
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
DEMO = """
import tempfile
from pathlib import Path
import stickslip as ss
from stickslip.cli.main import main
with tempfile.TemporaryDirectory() as folder:
    main(["demo", "--bodies", "20", "--no-html", "--out", folder])
    run = ss.read_trajectory(next(Path(folder).glob("*.h5")))
"""
END = """
import hashlib, time
seconds = time.process_time()
import numpy as np
digest = hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in ({parts})))
print("result", seconds, digest.hexdigest())
"""
WORK = {
    "README's box": BLOCKS[0] + END.format(parts="run.q, run.v"),
    "README's solve": "import stickslip as ss\n" + BLOCKS[2] + END.format(parts="solution.r, solution.u"),
    "demo": DEMO + END.format(parts="run.q, run.v"),
}
SPEED = (
    BLOCKS[0]
    + """
import time
world, passed = b.build(), []
for _ in range(10):
    start = time.process_time()
    ss.simulate(world, until=1.0, h=1e-3)
    passed.append(time.process_time() - start)
print("result", min(passed), 0)
"""
)


class Place:
    """Where the wheel is installed, and where processes keep what they compile."""

    def __init__(self, folder: Path, wheel: Path):
        self.folder = folder
        venv.create(folder / "venv", with_pip=True)
        self.python = folder / "venv" / "bin" / "python"
        pins = ["-c", str(ROOT / "constraints.txt")]
        subprocess.run([self.python, "-m", "pip", "install", "-q", *pins, str(wheel)], check=True)

    def env(self, store: str, checkout: bool) -> dict[str, str]:
        """Of a process that uses the wheel, or this checkout with the same packages."""
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        path = {"PYTHONPATH": str(ROOT)} if checkout else {}
        kept = {"NUMBA_CACHE_DIR": str(self.folder / store)}
        return env | kept | path | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    def run(self, script: str, store: str, *, checkout: bool = False) -> tuple[float, str, int]:
        """(seconds, digest, kernels in the store afterwards) of a script in a process of its own."""
        command = [str(self.python), "-c", script]
        env = self.env(store, checkout)
        done = subprocess.run(command, env=env, cwd=self.folder, capture_output=True, text=True, check=True)
        _, seconds, digest = done.stdout.splitlines()[-1].split()
        return float(seconds), digest, self.kept(store)

    def kept(self, store: str) -> int:
        """Kernels in a store: those that were compiled."""
        return len(list((self.folder / store).rglob("*.kernel")))

    def run_on_terminal(self, script: str, store: str) -> str:
        """What a terminal shows of a script."""
        ours, theirs = pty.openpty()
        command = [str(self.python), "-c", script]
        with subprocess.Popen(
            command, env=self.env(store, False), cwd=self.folder, stdout=theirs, stderr=theirs
        ) as process:
            os.close(theirs)
            shown = b""
            try:
                while part := os.read(ours, 65536):
                    shown += part
            except OSError:  # the other end is closed
                pass
        os.close(ours)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command, shown)
        return shown.decode()

    def packs(self) -> Iterator[Path]:
        """Files of compiled kernels in the environment."""
        return (self.folder / "venv").glob("lib/*/site-packages/stickslip/compiled/*.pack")


def main() -> int:
    """Install and run; the exit code."""
    wheel = Path(sys.argv[1]).resolve()
    size = wheel.stat().st_size / 2**20
    print(f"{wheel.name}: {size:.1f} MiB")
    faults = [f"the wheel has {size:.0f} MiB, more than {MOST_MIB:.0f}"] if size > MOST_MIB else []
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), wheel)
        for name, script in WORK.items():
            faults += first_results(place, name, script)
        compare_speed(place)
        faults += damaged(place)
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def first_results(place: Place, name: str, script: str) -> list[str]:
    """Run from the wheel twice, and from the checkout; what is wrong with it."""
    faults = []
    digests = set()
    for run in ("first", "second"):
        seconds, digest, kept = place.run(script, f"{name}-{run}".replace(" ", "-"))
        print(f"{name}, {run} run: {seconds:.1f} s of processor time, {kept} kernels compiled", flush=True)
        digests.add(digest)
        if kept:
            faults.append(f"{name}: {kept} kernels were compiled")
        if seconds > MOST_SECONDS:
            faults.append(f"{name}: {seconds:.1f} s to a first result, more than {MOST_SECONDS:.0f}")
    seconds, digest, kept = place.run(script, "checkout", checkout=True)
    equal = digests == {digest}
    print(
        f"{name}, compiled here: {seconds:.1f} s, {kept} kernels kept, same bits: {'yes' if equal else 'no'}"
    )
    return faults if equal else [*faults, f"{name}: results differ from those of kernels compiled here"]


def compare_speed(place: Place) -> None:
    """Print times of a box that slides, compiled for a level and for this processor, taken in turns."""
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(TURNS):
        for checkout, found in times.items():
            found.append(place.run(SPEED, "checkout" if checkout else "speed", checkout=checkout)[0])
    wheel, here = (statistics.median(found) for found in times.values())
    print(f"1,000 steps of README's box: {1e3 * wheel:.1f} ms from the wheel, {1e3 * here:.1f} compiled here")


def damaged(place: Place) -> list[str]:
    """With damaged packs kernels are compiled, and a terminal says so; what is wrong with it."""
    for pack in place.packs():
        content = bytearray(pack.read_bytes())
        content[len(content) // 50 :: 97] = bytes(len(content[len(content) // 50 :: 97]))
        pack.write_bytes(content)
    script = WORK["README's solve"]
    shown = place.run_on_terminal(script, "damaged")
    kept = place.kept("damaged")
    print(f"README's solve, packs damaged: {kept} kernels compiled")
    _, digest, _ = place.run(script, "checkout", checkout=True)
    faults = [] if LINE in shown else ["the terminal was not told that kernels are compiled"]
    faults += [] if kept else ["damaged packs were used"]
    return faults if digest in shown else [*faults, "damaged packs change the answer"]


if __name__ == "__main__":
    sys.exit(main())
