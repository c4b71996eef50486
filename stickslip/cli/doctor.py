"""`stickslip doctor`: what an installation consists of, whether it works, and what to do if it does not."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import stickslip
from stickslip.cli.errors import ExitCode
from stickslip.cli.parameters import Json
from stickslip.cli.tables import duration, pairs, print_json

CORE = ("numpy", "scipy", "numba", "llvmlite", "qdldl", "threadpoolctl", "mujoco-core", "h5py", "pydantic")
"""Distributions that every installation has."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Variables that bound numbers of threads."""
PROBE = "d0" * 32
"""Key of a record that is written to the store of kernels, read back and removed."""
SPEED, FRICTION, GRAVITY, STEP = 1.0, 0.5, 9.81, 1e-3
"""Of the box that slides in the self-test [m/s], [-], [m/s²], and the time step [s]."""


class Finding(NamedTuple):
    """One line of the report."""

    name: str
    value: str
    fault: bool = False
    """Whether something is broken that `solve` or `simulate` needs."""


Section = Callable[[], list[Finding]]


def doctor(*, json: Json = False) -> int:
    """Report on this installation: versions, extras, compiled kernels, threads, solvers, and a self-test.

    The self-test simulates a box that slides to rest and compares it with the closed
    form. Exit status 0: no faults; 1: a fault, with a line that explains the remedy.
    An extra that is not installed is not a fault.

    For example:
      stickslip doctor
      stickslip doctor --json

    Parameters
    ----------
    json
        Print only JSON.
    """
    sections: dict[str, Section] = {
        "installation": _installation,
        "packages": _packages,
        "extras": _extras,
        "compiled kernels": _kernels,
        "threads": _threads,
        "solvers": _solvers,
        "self-test": _self_test,
    }
    found = {title: _guarded(section) for title, section in sections.items()}
    faults = [each for findings in found.values() for each in findings if each.fault]
    if json:
        said = {title: {each.name: each.value for each in findings} for title, findings in found.items()}
        print_json(said | {"faults": [f"{each.name}: {each.value}" for each in faults]})
    else:
        for title, findings in found.items():
            pairs(
                title,
                [(each.name, f"FAULT: {each.value}" if each.fault else each.value) for each in findings],
            )
            print()
        print(f"faults: {len(faults)}" if faults else "no faults")
    return ExitCode.MISSED if faults else ExitCode.FINE


def _guarded(section: Section) -> list[Finding]:
    """What a section finds, or the error that ended it as a fault."""
    try:
        return section()
    except Exception as error:  # a report about a broken installation does not break
        return [Finding("error", f"{type(error).__name__}: {error}", fault=True)]


def _installation() -> list[Finding]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return [
        Finding("stickslip", f"{stickslip.__version__} in {Path(stickslip.__file__).parent}"),
        Finding(
            "Python", f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
        ),
        Finding("system", f"{platform.system()} {platform.machine()}, {cores} cores"),
    ]


def _packages() -> list[Finding]:
    findings = []
    for name in CORE:
        found = _version(name)
        absent = f'not installed: pip install "{name}"'
        findings.append(Finding(name, found or absent, fault=not found))
    from stickslip.detection.mujoco_library import MujocoError, load_mujoco

    try:
        load_mujoco()
    except MujocoError as error:  # a mixture of its two packages
        findings.append(Finding("MuJoCo", str(error), fault=True))
    return findings


def _extras() -> list[Finding]:
    """For each extra that is no solver's, the versions of its packages or the command that installs them."""
    from importlib.metadata import packages_distributions
    from importlib.util import find_spec

    from stickslip.extras import EXTRA_OF, pip_command
    from stickslip.solvers import registry

    solvers = {registry.entry(name).package for name in registry.names()}
    distributions = packages_distributions()
    findings: dict[str, list[str]] = {}
    absent: dict[str, str] = {}
    for package, extra in EXTRA_OF.items():
        if package in solvers or extra == "gams":
            continue
        if find_spec(package) is None:
            absent[extra] = f"not installed: {pip_command(package)}"
        else:
            name = distributions.get(package, [package])[0]
            findings.setdefault(extra, []).append(f"{name} {_version(name)}".strip())
    order = dict.fromkeys((*EXTRA_OF.values(),))
    return [
        Finding(extra, absent.get(extra) or ", ".join(findings[extra]))
        for extra in order
        if extra in absent or extra in findings
    ]


def _kernels() -> list[Finding]:
    from stickslip.compilation import JIT

    if not JIT:
        return [Finding("compilation", "off: STICKSLIP_JIT=0 runs kernels as plain Python")]
    from stickslip.compilation import target
    from stickslip.compilation.packs import shipped
    from stickslip.compilation.store import user_store

    store = user_store()
    store.write(PROBE, b"probe")
    kept = store.read(PROBE) == b"probe"
    for _, _, path in store.files():
        if path.stem == PROBE:
            with suppress(OSError):
                path.unlink()
    files = store.files()
    size = sum(each for _, each, _ in files) / 2**20
    usable = (
        "" if kept else "; the folder cannot be written, so that every process compiles; set NUMBA_CACHE_DIR"
    )
    packs = ", ".join(f"{len(pack)} for {pack.level}" for pack in shipped())
    levels = ", ".join(target.levels_of_host()) or "no level"
    processor = " ".join(target.processor().split()[:2])  # without its features
    return [
        Finding("folder", f"{store.folder}{usable}"),
        Finding("kept", f"{len(files):,} files, {size:.1f} MiB"),
        Finding("shipped", packs or "none: kernels are compiled when they are first used"),
        Finding("processor", f"{processor}; it can use packs for {levels}"),
    ]


def _threads() -> list[Finding]:
    import scipy.linalg  # noqa: F401 (its library is loaded with it)
    from threadpoolctl import ThreadpoolController

    bounds = [f"{name}={os.environ[name]}" for name in THREADS if name in os.environ]
    libraries = [
        f"{each.internal_api} {each.version or ''}: {each.num_threads}"
        for each in ThreadpoolController().lib_controllers
    ]
    return [
        Finding("libraries", "; ".join(libraries) or "none found"),
        Finding("bounds", ", ".join(bounds) or "none set; OMP_NUM_THREADS=1 makes timings reproducible"),
    ]


def _solvers() -> list[Finding]:
    from stickslip.solvers import registry

    entries = [registry.entry(name) for name in registry.names()]
    others = [entry for entry in entries if entry.package]
    peer = registry.entry(f"{registry.PEER}nsgs")
    return [
        Finding("own", ", ".join(entry.name for entry in entries if not entry.package)),
        *(Finding(entry.name, entry.availability) for entry in others),
        Finding("siconos", peer.availability),
    ]


def _self_test() -> list[Finding]:
    """A box slides to rest: it takes v / (mu g), and the way v² / (2 mu g) up to half of a step's."""
    import numpy as np

    begun = time.perf_counter()
    b = stickslip.WorldBuilder()
    b.material("default", mu=FRICTION)
    b.body("floor", stickslip.Plane(), fixed=True)
    b.body("box", stickslip.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.1), velocity=(SPEED, 0, 0))
    run = stickslip.simulate(b.build(), until=0.3, h=STEP)
    seconds = time.perf_counter() - begun
    way, speed = float(run.q[-1, 7] - run.q[0, 7]), float(np.abs(run.v[-1, 6:]).max())
    exact, residual = SPEED**2 / (2.0 * FRICTION * GRAVITY), float(np.max(run.natural_scaled))
    right = bool(run.ok.all()) and abs(way - exact) <= SPEED * STEP and speed <= 1e-6
    return [
        Finding(
            "sliding box",
            f"stops after {1e3 * way:.2f} mm, {1e3 * exact:.2f} by the closed form",
            fault=not right,
        ),
        Finding("residual", f"{residual:.1e} at most, tolerance {run.tolerance:g}", fault=not run.ok.all()),
        Finding("time", f"{duration(seconds)} for {run.steps} steps, including compilation"),
    ]


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
