"""What is kept of a compiled kernel: code for callers (`Lowered`), machine code for Python (`Entry`).

Records are pickled, and pickle runs what it reads: they are read from places only that nobody else writes to.
"""

import pickle
import zlib
from typing import Any, NamedTuple

from numba.core.serialize import dumps


class Head(NamedTuple):
    """What any use of a kernel needs to know."""

    name: str
    """Of its code."""
    descriptor: Any
    """Numba's descriptor of the function."""
    environment: Any
    """Python objects that it uses."""
    signature: Any
    """Numba's signature."""
    writes: tuple[bool, ...]
    """Of each argument, whether the kernel writes to it."""


class Lowered(NamedTuple):
    """Code that other kernels are linked with."""

    head: Head
    bitcode: bytes
    """LLVM module of the kernel alone."""
    environments: list[Any]
    """Python objects of the functions in it."""
    callees: list[tuple[str, str, tuple[Any, ...]]]
    """Kernels that it calls: module, name, and types of arguments."""


class Entry(NamedTuple):
    """Machine code, and what loading it needs."""

    head: Head
    code: bytes
    """Object file in the format of the platform."""
    symbols: list[str]
    """Names that it defines."""
    expected: list[str]
    """Names that must be known before it is loaded."""
    environments: list[Any]
    """Python objects of all functions in it."""
    constants: list[Any]
    """Python objects of the kernel and its wrapper."""


_ENTRY, _LOWERED, _PLAIN = b"E", b"L", b"P"


def is_called(content: bytes) -> bool:
    """Whether a record is of what Python calls, not of code for callers alone."""
    return content[:1] in (_ENTRY, _PLAIN)


def pack(content: Any) -> bytes:
    """Anything of the above as bytes."""
    kind = _ENTRY if isinstance(content, Entry) else _LOWERED if isinstance(content, Lowered) else _PLAIN
    plain = [tuple(part) if isinstance(part, Head) else part for part in content]
    return kind + zlib.compress(dumps(plain), 3)


def lowered(content: bytes) -> Lowered:
    """`Lowered` from bytes."""
    head, *rest = pickle.loads(zlib.decompress(content[1:]))
    return Lowered(Head(*head), *rest)


def entry(content: bytes) -> Entry:
    """`Entry` from bytes."""
    head, *rest = pickle.loads(zlib.decompress(content[1:]))
    return Entry(Head(*head), *rest)


def anything(content: bytes) -> Any:
    """What Numba itself makes of a function, from bytes."""
    return pickle.loads(zlib.decompress(content[1:]))
