"""Addresses in MuJoCo's structures that compiled steps read and write.

Offsets are computed from MuJoCo's own description of its structures, and verified against addresses known
from its Python objects. If a verification fails, steps call MuJoCo's Python functions instead.
"""

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from stickslip.kernels.steps.detection import MujocoMemory
from stickslip.kernels.steps.guard import Guard, guard_at

SIZES = {"int": 4, "mjtNum": 8, "double": 8, "float": 4, "mjtSize": 8, "size_t": 8, "uintptr_t": 8,
         "uint64_t": 8, "int64_t": 8, "mjtBool": 1, "mjtByte": 1, "char": 1}  # fmt: skip
"""Sizes of the scalar types in MuJoCo's structures [bytes]."""
PROBE = 0.12345678901234567
"""Value of the margin by which its address is verified; no other field has this value."""


def memory_of(mujoco: Any, model: Any, data: Any) -> MujocoMemory | None:
    """Return addresses in `model` and `data`; None if the layout is not as MuJoCo describes it."""
    try:
        option = _offset("mjModel", "opt")
        contact = {name: _offset("mjContact", name) for name in ("dist", "pos", "frame", "geom")}
        memory = MujocoMemory(
            function=function_of(mujoco, "mj_collision"),
            model=int(model._address),
            data=int(data._address),
            margin=int(model._address) + option + _offset("mjOption", "o_margin"),
            flags=int(model._address) + option + _offset("mjOption", "disableflags"),
            contacts=int(data._address) + _offset("mjData", "ncon"),
            contact=int(data._address) + _offset("mjData", "contact"),
            stride=_size("mjContact")[0],
            dist=contact["dist"],
            pos=contact["pos"],
            normal=contact["frame"],
            geom=contact["geom"],
        )
    except (ImportError, KeyError, AttributeError, OSError, StopIteration):
        return None
    return memory if _is_true(model, data, memory) else None


def addresses_of(
    model: Any, data: Any, fields: Sequence[str], contact: Sequence[str]
) -> dict[str, int] | None:
    """Return addresses of fields of the data, offsets within a contact and, as `stride`, the size of a
    contact.

    `flags` is the address of MuJoCo's flags of quantities that are up to date. Return None if the layout is
    not as MuJoCo describes it.
    """
    try:
        base = int(data._address)
        names = {"flags": "flg_energypos"}
        addresses = {name: base + _offset("mjData", names.get(name, name)) for name in fields}
        for name in contact:
            is_size = name == "stride"
            addresses[name] = _size("mjContact")[0] if is_size else _offset("mjContact", name)
        known = {name: base + _offset("mjData", name) for name in ("qpos", "qvel", "qacc", "M")}
    except (ImportError, KeyError, AttributeError):
        return None
    same = (
        ctypes.c_size_t.from_address(at).value == getattr(data, name).ctypes.data
        for name, at in known.items()
    )
    return addresses if all(same) else None


def set_arena(mujoco: Any, model: Any, size: int) -> None:
    """Set the memory for contacts and constraints of data that are created from the model [bytes]."""
    np.empty(size, np.uint8)  # raises a MemoryError if it is not available; MuJoCo would end the process
    place = ctypes.c_int64.from_address(int(model._address) + _offset("mjModel", "narena"))
    if place.value != model.narena:
        raise RuntimeError(f"MuJoCo {mujoco.__version__} has an unexpected layout of its models")
    place.value = size


def _is_true(model: Any, data: Any, memory: MujocoMemory) -> bool:
    """Whether the values at the addresses agree with those of MuJoCo's Python objects."""
    before = model.opt.o_margin
    model.opt.o_margin = PROBE
    margin = ctypes.c_double.from_address(memory.margin).value
    model.opt.o_margin = before
    flags = ctypes.c_int.from_address(memory.flags).value
    count = ctypes.c_int.from_address(memory.contacts).value
    if margin != PROBE or flags != int(model.opt.disableflags) or count != int(data.ncon):
        return False
    if not count:  # no contacts: their layout is not read
        return True
    first = ctypes.c_size_t.from_address(memory.contact).value
    seen = data.contact
    return bool(
        seen.dist.ctypes.data == first + memory.dist
        and seen.pos.ctypes.data == first + memory.pos
        and seen.frame.ctypes.data == first + memory.normal
        and seen.geom.ctypes.data == first + memory.geom
        and seen.dist.strides[0] == memory.stride
    )


def function_of(mujoco: Any, name: str) -> int:
    """Return the address of a C function of MuJoCo's library."""
    return int(ctypes.cast(getattr(_library(mujoco), name), ctypes.c_void_p).value or 0)


def guard_of(mujoco: Any, frame: Any) -> Guard:
    """Return the guard by which compiled code returns from MuJoCo's errors, with a frame of FRAME bytes.

    The guard does nothing if MuJoCo has no thread-local message handlers.
    """
    try:
        set_handler = function_of(mujoco, "_mjPRIVATE_setTlsLogHandler")
    except AttributeError:
        set_handler = 0
    return guard_at(int(frame.ctypes.data), set_handler)


@cache
def _library(mujoco: Any) -> Any:
    """Return MuJoCo's library, which the module has loaded."""
    return ctypes.CDLL(str(next(Path(mujoco.__file__).parent.glob("libmujoco.*"))))


@cache
def _offset(name: str, field: str) -> int:
    """Return the offset of a field of a structure [bytes]."""
    at = 0
    for each in _structs()[name].fields:
        size, align = _size_of(each.type)
        at = -(-at // align) * align
        if each.name == field:
            return at
        at += size
    raise KeyError(f"{name}.{field}")


@cache
def _size(name: str) -> tuple[int, int]:
    """Return (size, alignment) of a structure [bytes]."""
    at, widest = 0, 1
    for each in _structs()[name].fields:
        size, align = _size_of(each.type)
        at, widest = -(-at // align) * align + size, max(widest, align)
    return -(-at // widest) * widest, widest


def _size_of(kind: Any) -> tuple[int, int]:
    """Return (size, alignment) of a type in MuJoCo's description [bytes]."""
    kind_name = type(kind).__name__
    if kind_name == "PointerType":
        return 8, 8
    if kind_name == "ArrayType":
        size, align = _size_of(kind.inner_type)
        return size * int(np.prod(kind.extents)), align
    if kind.name in SIZES:
        return SIZES[kind.name], SIZES[kind.name]
    return _size(kind.name)


def _structs() -> Any:
    """Return MuJoCo's description of its structures."""
    from mujoco.introspect.structs import STRUCTS

    return STRUCTS
