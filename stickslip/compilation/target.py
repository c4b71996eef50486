"""Inputs of machine code other than its source: versions, settings, and the processor."""

import hashlib
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding
import numba
from numba.core import config, types
from numba.core.registry import cpu_target

from stickslip.compilation import source

FORMAT = 12
"""Version of the format of records; a change invalidates all stored ones."""
SETTINGS = (
    "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "FULL_TRACEBACKS",
    "USING_SVML", "LLVM_REFPRUNE_PASS",
)  # fmt: skip
"""Numba's settings that change machine code. `ENABLE_AVX` is not among them: it acts through the features in
`host`, and keys of a level must not depend on it."""
LEVELS = {
    "x86-64-v3": "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sse3 sse4.1 sse4.2 ssse3 xsave",
    "x86-64-v2": "cx16 popcnt sse3 sse4.1 sse4.2 ssse3",
    "generic": "",
}
"""Levels of processors of wheels, by LLVM's name, the highest first, and the features that each requires.

Those of x86-64 are the levels of its ABI supplement; `generic` is any processor of the architecture.
"""


@cache
def toolchain() -> tuple[Any, ...]:
    """Return versions and settings of all tools of the compilation."""
    settings = tuple(f"{name}={getattr(config, name, None)}" for name in SETTINGS)
    versions = sys.implementation.cache_tag, numba.__version__, llvmlite.__version__
    return FORMAT, *versions, sys.platform, platform.machine().lower(), *settings


@cache
def host() -> str:
    """Return the name and features of this processor, as Numba compiles for it."""
    return " ".join(str(part) for part in cpu_target.target_context.codegen().magic_tuple())


def levels_of_host() -> list[str]:
    """Return the names of the levels that this processor supports, the highest first.

    Processors on which Numba does not use AVX (`NUMBA_ENABLE_AVX`) support no level with AVX.
    """
    features = llvmlite.binding.get_host_cpu_features()
    if not config.ENABLE_AVX:
        features = {name: has and not name.startswith("avx") for name, has in features.items()}
    return [
        name
        for name, needed in LEVELS.items()
        if all(features.get(feature, False) for feature in needed.split())
        and (platform.machine().lower() in ("x86_64", "amd64")) == name.startswith("x86")
    ]


def level_of_build() -> str | None:
    """Return the level set by `NUMBA_CPU_NAME`; None if kernels are compiled for this processor."""
    name = str(config.CPU_NAME or "")
    return name if name in LEVELS and not config.CPU_FEATURES else None


def number(function: Any) -> int | None:
    """Return a number from the source of a function, the same in every process; None if it has no digest."""
    digest = _digest(function)
    return None if digest is None else int(digest[:12], 16)


def processor() -> str:
    """Return the target of compilation in this process: a level, or this processor."""
    return level_of_build() or host()


def key(function: Any, arguments: tuple[Any, ...], options: str, processor: str) -> str | None:
    """Return the key of the machine code of a kernel; None if no key would be valid in other processes."""
    digest = _digest(function)
    if digest is None:
        return None
    spelled = [_spelling(argument) for argument in arguments]
    if None in spelled:
        return None
    parts = (
        *toolchain(), processor, function.__module__, function.__qualname__, options, digest, *spelled,
    )  # fmt: skip
    return hashlib.sha256("\n".join(str(part) for part in parts).encode()).hexdigest()


def _digest(function: Any) -> str | None:
    """Return the source digest of a function that is importable by module and name; None for others."""
    return source.digest(Path(function.__code__.co_filename)) if is_importable(function) else None


def is_importable(function: Any) -> bool:
    """Return whether a function can be imported by module and name."""
    path = Path(function.__code__.co_filename)
    return "<locals>" not in function.__qualname__ and not function.__closure__ and path.is_file()


def _spelling(kind: Any) -> str | None:
    """Return a name of a type that is the same in every process; None if there is none."""
    if isinstance(kind, types.Dispatcher):
        function = kind.dispatcher.py_func
        digest = None if " at 0x" in str(kind) else _digest(function)
        return None if digest is None else f"{function.__module__}.{function.__qualname__} {digest}"
    if isinstance(kind, types.BaseTuple):  # type: ignore[attr-defined]
        parts = [_spelling(part) for part in kind]
        tuple_class = getattr(kind, "instance_class", tuple)
        return (
            None
            if None in parts
            else f"{tuple_class.__module__}.{tuple_class.__qualname__}({', '.join(map(str, parts))})"
        )
    text = str(kind)
    return None if " at 0x" in text else text
