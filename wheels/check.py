"""Check a wheel in a clean environment: the first programs of a new user must not compile kernels.

    python wheels/check.py dist/stickslip-*.whl

1. Install the wheel with the pinned versions into a new virtual environment.
2. Run README's programs, the first batch of the documentation and the demo, each in a new process with an
   empty store. Compiled kernels are written to the store, so it must be empty afterwards.
3. Run the same programs from this checkout, with kernels compiled for this processor. Results must be equal
   bit for bit. Times of repeated alternating runs of both are printed.
4. Damage the packs. Kernels must then be compiled, and the terminal must show a message.

The exit code is 1 if any check fails, a first result takes too long, or the wheel is too large.
"""

import os
import pty
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

from workloads import ROOT, blocks

MOST_MIB = 60.0
"""Largest allowed size of the wheel [MiB]."""
MOST_SECONDS = 5.0
"""Largest allowed processor time to a first result [s]."""
TURNS = 5
"""Number of alternating runs that compare the speed of wheel and checkout."""
IMPORT = "import stickslip as ss\n"
LINE = "compiling kernels, once for this version and processor"
"""Message of the terminal during compilation."""
README = blocks("README.md")
SOLVE = next(block for block in README if "ss.solve(" in block)
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
    "README's box": README[0] + END.format(parts="run.q, run.v"),
    "README's robot": IMPORT + README[1] + END.format(parts="falls.q, falls.v"),
    "README's equations": IMPORT + README[2] + END.format(parts="bounces.q, bounces.v"),
    "README's solve": IMPORT + SOLVE + END.format(parts="solution.r, solution.u"),
    "batch": blocks("docs/many-runs.md")[0] + END.format(parts="state.q, state.v"),
    "demo": DEMO + END.format(parts="run.q, run.v"),
}
SPEED = (
    README[0]
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
    """Virtual environment with the wheel, and folder of the stores of kernels."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.python = str(folder / "venv" / "bin" / "python")

    def install(self, wheel: Path) -> None:
        """Make the environment, and install the wheel with the pinned versions of its dependencies."""
        venv.create(self.folder / "venv", with_pip=True)
        pins = ["-c", str(ROOT / "constraints.txt")]
        requirement = f"stickslip[standard] @ {wheel.as_uri()}"
        subprocess.run([self.python, "-m", "pip", "install", "-q", *pins, requirement], check=True)

    def env(self, store: str) -> dict[str, str]:
        """Environment variables of a process that writes compiled kernels to a store."""
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        cache = {"NUMBA_CACHE_DIR": str(self.folder / store)}
        return env | cache | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    def begin(self, script: str, store: str, *, checkout: bool = False) -> subprocess.Popen[str]:
        """Start a script with the wheel, or with this checkout in the environment of this process."""
        command = [sys.executable if checkout else self.python, "-c", script]
        env = self.env(store) | ({"PYTHONPATH": str(ROOT)} if checkout else {})
        return subprocess.Popen(command, env=env, cwd=self.folder, stdout=subprocess.PIPE, text=True)

    def run(self, script: str, store: str, *, checkout: bool = False) -> tuple[float, str]:
        """Run a script; return its seconds and digest."""
        return result(self.begin(script, store, checkout=checkout))

    def compiled(self, store: str) -> int:
        """Number of kernels in a store, which are those that were compiled."""
        return len(list((self.folder / store).rglob("*.kernel")))

    def run_on_terminal(self, script: str, store: str) -> str:
        """Run a script on a terminal; return its output."""
        ours, theirs = pty.openpty()
        command = [self.python, "-c", script]
        env = self.env(store)
        with subprocess.Popen(command, env=env, cwd=self.folder, stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            output = b""
            try:
                while part := os.read(ours, 65536):
                    output += part
            except OSError:  # the other end is closed
                pass
        os.close(ours)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command, output)
        return output.decode()

    def packs(self) -> Iterator[Path]:
        """Files of compiled kernels in the environment."""
        return (self.folder / "venv").glob("lib/*/site-packages/stickslip/compiled/*.pack")


def result(process: subprocess.Popen[str]) -> tuple[float, str]:
    """Wait for a process; return the seconds and the digest that it prints at its end."""
    out, _ = process.communicate()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    _, seconds, digest = out.splitlines()[-1].split()
    return float(seconds), digest


def main() -> int:
    """Check the wheel of the command line; return the exit code."""
    wheel = Path(sys.argv[1]).resolve()
    size = wheel.stat().st_size / 2**20
    print(f"{wheel.name}: {size:.1f} MiB", flush=True)
    faults = [f"the wheel has {size:.0f} MiB, more than {MOST_MIB:.0f}"] if size > MOST_MIB else []
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        compiling = {name: place.begin(script, "checkout", checkout=True) for name, script in WORK.items()}
        digests = {}
        try:
            place.install(wheel)
            for name, process in compiling.items():
                seconds, digests[name] = result(process)
                print(f"{name}, compiled here: {seconds:.1f} s of processor time", flush=True)
        finally:
            for process in compiling.values():
                process.kill()
        for name, script in WORK.items():
            faults += first_results(place, name, script, digests[name])
        compare_speed(place)
        faults += damaged(place, digests["README's solve"])
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def first_results(place: Place, name: str, script: str, digest: str) -> list[str]:
    """Run a script twice with the wheel; return the faults."""
    faults = []
    for run in ("first", "second"):
        store = f"{name}-{run}".replace(" ", "-")
        seconds, actual = place.run(script, store)
        compiled, same = place.compiled(store), "same bits" if actual == digest else "other bits"
        text = f"{seconds:.1f} s of processor time, {compiled} kernels compiled, {same}"
        print(f"{name}, {run} run: {text}", flush=True)
        if actual != digest:
            faults.append(f"{name}: results differ from those of kernels compiled here")
        if compiled:
            faults.append(f"{name}: {compiled} kernels were compiled")
        if seconds > MOST_SECONDS:
            faults.append(f"{name}: {seconds:.1f} s to a first result, more than {MOST_SECONDS:.0f}")
    return faults


def compare_speed(place: Place) -> None:
    """Print times of README's box with the wheel and with kernels compiled for this processor."""
    times: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(TURNS):
        for checkout, seconds in times.items():
            seconds.append(place.run(SPEED, "checkout" if checkout else "speed", checkout=checkout)[0])
    wheel, here = (statistics.median(seconds) for seconds in times.values())
    print(f"1,000 steps of README's box: {1e3 * wheel:.1f} ms from the wheel, {1e3 * here:.1f} compiled here")


def damaged(place: Place, digest: str) -> list[str]:
    """Damage the packs, and check that kernels are compiled with a message; return the faults."""
    for pack in place.packs():
        content = bytearray(pack.read_bytes())
        content[len(content) // 50 :: 97] = bytes(len(content[len(content) // 50 :: 97]))
        pack.write_bytes(content)
    output = place.run_on_terminal(WORK["README's solve"], "damaged")
    compiled = place.compiled("damaged")
    print(f"README's solve, packs damaged: {compiled} kernels compiled")
    faults = [] if LINE in output else ["the terminal showed no message about compilation"]
    faults += [] if compiled else ["damaged packs were used"]
    return faults if digest in output else [*faults, "damaged packs change the answer"]


if __name__ == "__main__":
    sys.exit(main())
