"""Environment of runs: versions of software, and the machine."""

import hashlib
import os
import platform
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import stickslip
from stickslip.bench.json_data import Stored

PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "qdldl", "clarabel", "mujoco-core")
"""Packages whose versions are part of every environment; versions of other solvers are in their records."""


@dataclass(frozen=True)
class Environment(Stored):
    """Versions and machine; times of equal environments are comparable."""

    python: str
    """Implementation and version: `CPython 3.11.7`."""
    stickslip: str
    """Version of stickslip."""
    code: str
    """First twelve digits of the hash of all Python files of stickslip; it identifies states of a version."""
    packages: tuple[tuple[str, str], ...]
    """Names and versions of numerical packages, in alphabetical order."""
    system: str
    """Operating system and architecture: `Linux x86_64`."""
    processor: str
    """Model of the processor, as the system names it."""
    cores: int
    """Number of cores that processes may use [-]."""
    memory: float
    """Memory of the machine, rounded [GiB]."""


@cache
def here() -> Environment:
    """The environment of this process."""
    import psutil

    digest, root = hashlib.sha256(), Path(stickslip.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    named = None
    with suppress(OSError):
        named = re.search(r"^model name\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return Environment(
        python=f"{platform.python_implementation()} {platform.python_version()}",
        stickslip=stickslip.__version__,
        code=digest.hexdigest()[:12],
        packages=tuple(sorted((name, version_of(name)) for name in PACKAGES)),
        system=f"{platform.system()} {platform.machine()}",
        processor=" ".join(named[1].split()) if named else platform.processor() or "unknown",
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory=float(round(psutil.virtual_memory().total / 2**30)),
    )


def version_of(package: str) -> str:
    """Version of an installed distribution; empty if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
