"""Build the source distribution and the wheel, and test them in clean environments.

    python wheels/release.py [--out dist] [--python PATH ...]

The wheel is built from the source distribution. For each installed Python from 3.11 to 3.13, the wheel is
installed with the pinned versions of its dependencies into a virtual environment:

- without extras, `solve` and `simulate` work, and the command line names the missing extra;
- with the extra `standard`, `stickslip doctor` reports no faults, and a model is checked, run and drawn;
- pip finds compatible versions of all packages of the extra `all` (without installing them);
- the oldest Python also installs the source distribution.

All environments share one store of compiled kernels. The sizes of the environments and the times of
installation are printed. The exit code is 1 if anything fails, and 2 if no Python is found.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13")
"""Supported Python versions."""
PINS = ("-c", str(ROOT / "constraints.txt"))
"""Arguments of pip for the pinned versions."""
CORE = """
import numpy as np, stickslip as ss
b = ss.WorldBuilder()
b.body("floor", ss.Plane(), fixed=True)
b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.15), velocity=(1, 0, 0))
run = ss.simulate(b.build(), until=0.2, h=1e-2)
run.save("run.h5")
ss.write("wall.hdf5", ss.scenes.make("wall-problem"))
assert run.ok.all() and ss.solve(ss.read("wall.hdf5")).ok
assert np.array_equal(ss.read_trajectory("run.h5").q, run.q)
ss.save(b.build(), "model.json")
print("stickslip", ss.__version__)
"""
"""Script that needs no extra."""
COMMANDS = (
    "--version",
    "doctor",
    "solve wall.hdf5",
    "check model.json",
    "run model.json --until 0.1 --h 0.01 --out again.h5",
    "info again.h5",
    "plot again.h5 energy --out energy.pdf",
    "view again.h5 --export again.gif --fps 10",
    "view again.h5 --export again.html",
)
"""Arguments of `stickslip` with the extra `standard`."""


def main() -> int:
    """Build and test the distributions; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the distributions")
    parser.add_argument(
        "--python", type=Path, action="append", help="an interpreter, instead of the installed ones"
    )
    given = parser.parse_args()
    pythons = {version_of(path): path for path in given.python} if given.python else found_pythons()
    if not pythons:
        print(f"no Python of {', '.join(VERSIONS)} was found; name one with --python", file=sys.stderr)
        return 2
    source, wheel = build(given.out.resolve())
    for path in (source, wheel):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB", flush=True)
    faults = []
    with tempfile.TemporaryDirectory() as store:
        for k, (version, python) in enumerate(sorted(pythons.items())):
            for dist in (wheel, source)[: 2 if k == 0 else 1]:
                try:
                    test(dist, python, version, Path(store))
                except subprocess.CalledProcessError as error:
                    command = " ".join(map(str, error.cmd))
                    faults.append(f"Python {version}, {dist.name}: {command}\n{error.output}")
    for version in VERSIONS:
        if version not in pythons:
            print(f"Python {version} is not on this machine: not tested")
    print("\n".join(faults), file=sys.stderr)
    return 1 if faults else 0


def found_pythons() -> dict[str, Path]:
    """Return interpreters of the supported versions, from the path or from pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    interpreters: dict[str, Path] = {}
    for version in VERSIONS:
        named = shutil.which(f"python{version}")
        for path in ([Path(named)] if named else []) + sorted(pyenv.glob(f"{version}.*/bin/python")):
            if version_of(path) == version:
                interpreters[version] = path
                break
    return interpreters


def version_of(python: Path) -> str:
    """Version of an interpreter, such as 3.12; empty if it does not run or cannot make environments."""
    code = "import ensurepip, sys, venv; print('{}.{}'.format(*sys.version_info))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def build(out: Path) -> tuple[Path, Path]:
    """Build the source distribution of this checkout, and the wheel from it; return their paths in `out`."""
    with tempfile.TemporaryDirectory() as folder:
        run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder], ROOT)
        source = next(Path(folder).glob("*.tar.gz"))
        shutil.unpack_archive(source, folder)
        unpacked = Path(folder) / source.name.removesuffix(".tar.gz")
        run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], unpacked)
        wheel = next(Path(folder).glob("*.whl"))
        out.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(source, out)), Path(shutil.copy(wheel, out))


def test(dist: Path, python: Path, version: str, store: Path) -> None:
    """Install a distribution into a clean environment and use it; raise CalledProcessError for failures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run([python, "-m", "venv", folder / "venv"], folder)
        interpreter, work = folder / "venv" / "bin" / "python", folder / "work"
        work.mkdir()
        pip = [interpreter, "-m", "pip", "--disable-pip-version-check", "install", "-q", *PINS]
        plain, began = size(folder / "venv"), time.monotonic()
        run([*pip, dist], work)
        print(f"Python {version}, {dist.name}", flush=True)
        print(
            f"  core: {size(folder / 'venv') - plain:.0f} MB in {time.monotonic() - began:.0f} s", flush=True
        )
        env = clean(store)
        run([interpreter, "-c", CORE], work, env)
        refused = subprocess.run(
            [interpreter, "-m", "stickslip"], cwd=work, env=env, capture_output=True, text=True, check=False
        )
        if (
            refused.returncode != 2
            or "stickslip[cli]" not in refused.stderr
            or refused.stderr.count("\n") != 1
        ):
            raise subprocess.CalledProcessError(refused.returncode, refused.args, refused.stderr)
        began = time.monotonic()
        run([*pip, f"stickslip[standard] @ {dist.as_uri()}"], work)
        print(
            f"  standard: {size(folder / 'venv') - plain:.0f} MB, {time.monotonic() - began:.0f} s more",
            flush=True,
        )
        began = time.monotonic()
        for command in COMMANDS:
            run([interpreter.with_name("stickslip"), *command.split()], work, env)
        print(f"  {len(COMMANDS)} commands: {time.monotonic() - began:.0f} s", flush=True)
        if dist.suffix == ".whl":
            run([*pip, "--dry-run", f"stickslip[all] @ {dist.as_uri()}"], work)
            print("  all: versions of all packages are found", flush=True)


def clean(store: Path) -> dict[str, str]:
    """Environment variables of a process without access to this checkout, with a store of kernels."""
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return env | {"NUMBA_CACHE_DIR": str(store), "OMP_NUM_THREADS": "1", "STICKSLIP_PROGRESS": "0"}


def run(command: list[object], folder: Path, env: dict[str, str] | None = None) -> None:
    """Run a command; raise CalledProcessError with its output if it fails."""
    subprocess.run(
        list(map(str, command)), cwd=folder, env=env, check=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def size(folder: Path) -> float:
    """Size of all files in a folder [MB]."""
    return (
        sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
        / 1e6
    )


if __name__ == "__main__":
    sys.exit(main())
