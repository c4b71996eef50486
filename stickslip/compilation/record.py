"""Records of compiled kernels: code for callers (`Lowered`) and machine code for Python (`Entry`).

Records are pickled, and unpickling can execute code: they are read only from places to which no other user
writes.
"""

import pickle
import zlib
from typing import Any, NamedTuple

from numba.core.serialize import dumps


class Head(NamedTuple):
    """Data of a kernel for both kinds of records."""

    name: str
    """Name of the code."""
    descriptor: Any
    """Numba's descriptor of the function."""
    environment: Any
    """Python objects of the function."""
    signature: Any
    """Numba's signature."""
    writes: tuple[bool, ...]
    """Whether the kernel writes to each argument."""


class Lowered(NamedTuple):
    """Lowered code, to be linked with other kernels."""

    head: Head
    bitcode: bytes
    """LLVM module of the kernel without its callees."""
    environments: list[Any]
    """Python objects of the functions of the module."""
    callees: list[tuple[str, str, tuple[Any, ...]]]
    """Called kernels: module, name, and types of arguments."""


class Entry(NamedTuple):
    """Machine code, and the data needed to load it."""

    head: Head
    code: bytes
    """Object file in the format of the platform."""
    symbols: list[str]
    """Symbols that it defines."""
    expected: list[str]
    """Symbols that must be defined before it is loaded."""
    environments: list[Any]
    """Python objects of all functions of the code."""
    constants: list[Any]
    """Python objects of the kernel and its wrapper."""


_ENTRY, _LOWERED, _PLAIN = b"E", b"L", b"P"


def is_called(content: bytes) -> bool:
    """Return whether a record has code for calls from Python."""
    return content[:1] in (_ENTRY, _PLAIN)


def pack(content: Any) -> bytes:
    """Return an `Entry`, a `Lowered`, or a result of Numba as bytes."""
    kind = _ENTRY if isinstance(content, Entry) else _LOWERED if isinstance(content, Lowered) else _PLAIN
    plain = [tuple(part) if isinstance(part, Head) else part for part in content]
    return kind + zlib.compress(dumps(plain), 3)


def lowered(content: bytes) -> Lowered:
    """Return the `Lowered` of a record."""
    head, *rest = pickle.loads(zlib.decompress(content[1:]))
    return Lowered(Head(*head), *rest)


def entry(content: bytes) -> Entry:
    """Return the `Entry` of a record."""
    head, *rest = pickle.loads(zlib.decompress(content[1:]))
    return Entry(Head(*head), *rest)


def anything(content: bytes) -> Any:
    """Return Numba's own result of a compilation from a record."""
    return pickle.loads(zlib.decompress(content[1:]))
