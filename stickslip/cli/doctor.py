"""`stickslip doctor`: report on an installation, test it, and name the remedies of faults."""

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
"""Distributions that every installation requires."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
"""Environment variables that limit numbers of threads."""
PROBE = "d0" * 32
"""Key of a test record that is written to the store of kernels, read back and removed."""
SPEED, FRICTION, GRAVITY, STEP = 1.0, 0.5, 9.81, 1e-3
"""Initial speed [m/s], coefficient of friction [-], gravity [m/s²] and time step [s] of the self-test."""


class Finding(NamedTuple):
    """One line of the report."""

    name: str
    value: str
    fault: bool = False
    """Whether the finding prevents `solve` or `simulate` from working."""


Section = Callable[[], list[Finding]]
"""A section of the report: a function that returns its lines."""


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
    report = {title: _guarded(section) for title, section in sections.items()}
    faults = [finding for findings in report.values() for finding in findings if finding.fault]
    if json:
        data = {
            title: {finding.name: finding.value for finding in findings} for title, findings in report.items()
        }
        print_json(data | {"faults": [f"{finding.name}: {finding.value}" for finding in faults]})
    else:
        for title, findings in report.items():
            pairs(
                title,
                [
                    (finding.name, f"FAULT: {finding.value}" if finding.fault else finding.value)
                    for finding in findings
                ],
            )
            print()
        print(f"faults: {len(faults)}" if faults else "no faults")
    return ExitCode.MISSED if faults else ExitCode.FINE


def _guarded(section: Section) -> list[Finding]:
    """Evaluate a section; an exception becomes a fault."""
    try:
        return section()
    except Exception as error:  # a broken installation must still give a report
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
        installed = _version(name)
        absent = f'not installed: pip install "{name}"'
        findings.append(Finding(name, installed or absent, fault=not installed))
    from stickslip.detection.mujoco_library import MujocoError, load_mujoco

    try:
        load_mujoco()
    except MujocoError as error:  # for example a mixture of its two packages
        findings.append(Finding("MuJoCo", str(error), fault=True))
    return findings


def _extras() -> list[Finding]:
    """For each extra but those of solvers, the versions of its packages or the command that installs them."""
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
    writable = store.read(PROBE) == b"probe"
    for _, _, path in store.files():
        if path.stem == PROBE:
            with suppress(OSError):
                path.unlink()
    files = store.files()
    size = sum(each for _, each, _ in files) / 2**20
    remedy = (
        ""
        if writable
        else "; the folder cannot be written, so that every process compiles; set NUMBA_CACHE_DIR"
    )
    packs = ", ".join(f"{len(pack)} for {pack.level}" for pack in shipped())
    levels = ", ".join(target.levels_of_host()) or "no level"
    processor = " ".join(target.processor().split()[:2])  # without the list of its features
    return [
        Finding("folder", f"{store.folder}{remedy}"),
        Finding("kept", f"{len(files):,} files, {size:.1f} MiB"),
        Finding("shipped", packs or "none: kernels are compiled when they are first used"),
        Finding("processor", f"{processor}; it can use packs for {levels}"),
    ]


def _threads() -> list[Finding]:
    import scipy.linalg  # noqa: F401 (loads its BLAS library)
    from threadpoolctl import ThreadpoolController

    bounds = [f"{name}={os.environ[name]}" for name in THREADS if name in os.environ]
    libraries = [
        f"{library.internal_api} {library.version or ''}: {library.num_threads}"
        for library in ThreadpoolController().lib_controllers
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
    """Compare a box that slides to rest with the closed form: the stopping distance is v² / (2 mu g)."""
    import numpy as np

    start = time.perf_counter()
    b = stickslip.WorldBuilder()
    b.material("default", mu=FRICTION)
    b.body("floor", stickslip.Plane(), fixed=True)
    b.body("box", stickslip.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.1), velocity=(SPEED, 0, 0))
    run = stickslip.simulate(b.build(), until=0.3, h=STEP)
    seconds = time.perf_counter() - start
    distance, speed = float(run.q[-1, 7] - run.q[0, 7]), float(np.abs(run.v[-1, 6:]).max())
    exact, residual = SPEED**2 / (2.0 * FRICTION * GRAVITY), float(np.max(run.natural_scaled))
    passed = bool(run.ok.all()) and abs(distance - exact) <= SPEED * STEP and speed <= 1e-6
    return [
        Finding(
            "sliding box",
            f"stops after {1e3 * distance:.2f} mm, {1e3 * exact:.2f} by the closed form",
            fault=not passed,
        ),
        Finding("residual", f"{residual:.1e} at most, tolerance {run.tolerance:g}", fault=not run.ok.all()),
        Finding("time", f"{duration(seconds)} for {run.steps} steps, including compilation"),
    ]


def _version(distribution: str) -> str:
    """Version of an installed distribution; empty if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
