"""Recovery from MuJoCo's errors in compiled code, which otherwise end the process.

A function that calls MuJoCo saves its execution context (`mark`). MuJoCo's error handler, one per thread,
jumps back there, as in MuJoCo's Python bindings. MuJoCo's message is stored in the frame of the guard. The
handler finds the frame of its thread by a thread-specific key (POSIX). On other systems `mark` does nothing.

    before = arm(guard)
    if mark(guard.frame) != 0:
        disarm(guard, before)
        ...                      # MuJoCo's data is as the error left it
        return
    ...                          # calls of MuJoCo's functions
    disarm(guard, before)
"""

import ctypes
import os
from functools import cache
from typing import Any, NamedTuple

from stickslip.compilation import JIT
from stickslip.kernels.jit import jit
from stickslip.kernels.steps.addresses import call_for_address, call_for_number, read_int

WARNING, ERROR = 2, 3
"""MuJoCo's levels of messages."""
LEVEL, TEXT, MESSAGE = 512, 520, 1024
"""Offsets of the level and of the text of the message in a frame, and the size of the text [bytes]. The saved
registers come first (`jmp_buf`: at most 312 bytes on the systems that wheels are built for)."""
FRAME = TEXT + MESSAGE
"""Size of a frame [bytes]."""
POSIX = os.name == "posix"
"""Whether the system has POSIX threads."""


class Guard(NamedTuple):
    """Data that kernels need to recover from MuJoCo's errors."""

    frame: int
    """Address of FRAME bytes, which one thread at a time uses."""
    handler: int
    """Address of the function that MuJoCo calls with its messages; 0 for none."""
    set_handler: int
    """Address of MuJoCo's function that sets the handler of a thread and returns the previous one."""
    key: int
    """Key under which a thread stores the address of its frame."""
    get_frame: int
    """Address of the function that returns the value of a thread under a key."""
    set_frame: int
    """Address of the function that sets this value."""


def guard_at(frame: int, set_handler: int) -> Guard:
    """Return the guard of a frame.   set_handler: address of MuJoCo's function of this name, 0 for none."""
    if not (JIT and POSIX and set_handler):
        return Guard(frame, 0, 0, 0, 0, 0)
    key, get_frame, set_frame, handler = _of_process()
    return Guard(frame, handler, set_handler, key, get_frame, set_frame)


@cache
def _of_process() -> tuple[int, int, int, int]:
    """Return the key of threads, and the addresses of the functions that get and set its value.

    The last one is the address of the handler.
    """
    library, key = ctypes.CDLL(None), ctypes.c_size_t(0)
    if library.pthread_key_create(ctypes.byref(key), None):
        raise OSError("no key of threads is left for MuJoCo's errors")
    entry = [
        int(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0)
        for name in ("pthread_getspecific", "pthread_setspecific", "longjmp", "memcpy")
    ]
    return int(key.value), entry[0], entry[1], _handler(int(key.value), entry[0], entry[2], entry[3])


_ENGINES: list[Any] = []
"""The compiled code of the handler, which lives as long as the process."""


def _handler(key: int, get_frame: int, longjmp: int, memcpy: int) -> int:
    """Return the address of a compiled handler, which stores the first message of the highest level and jumps
    to the mark on errors."""
    import llvmlite.binding as llvm

    from stickslip.compilation import kernel  # noqa: F401  LLVM is ready after this import

    text = f"""
define void @handle(ptr %message) {{
  %get = inttoptr i64 {get_frame} to ptr
  %frame = call ptr %get(i64 {key})
  %level = load i32, ptr %message
  %place = getelementptr i8, ptr %frame, i64 {LEVEL}
  %before = load i32, ptr %place
  %is_grave = icmp sge i32 %level, {WARNING}
  %is_worse = icmp sgt i32 %level, %before
  %is_kept = and i1 %is_grave, %is_worse
  br i1 %is_kept, label %keep, label %leave
keep:
  store i32 %level, ptr %place
  %to = getelementptr i8, ptr %frame, i64 {TEXT}
  %from = getelementptr i8, ptr %message, i64 8
  %copy = inttoptr i64 {memcpy} to ptr
  %unused = call ptr %copy(ptr %to, ptr %from, i64 {MESSAGE})
  br label %leave
leave:
  %is_error = icmp sge i32 %level, {ERROR}
  br i1 %is_error, label %jump, label %back
jump:
  %far = inttoptr i64 {longjmp} to ptr
  call void %far(ptr %frame, i32 1)
  unreachable
back:
  ret void
}}
"""
    module = llvm.parse_assembly(text)
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _ENGINES.append(engine)
    return int(engine.get_function_address("handle"))


def message_in(frame: Any) -> tuple[int, str]:
    """Return (level, text) of the message in a frame (FRAME,) of bytes, and clear it; level 0 for none."""
    level = int(frame[LEVEL : LEVEL + 4].view("int32")[0])
    if not level:
        return 0, ""
    frame[LEVEL : LEVEL + 4] = 0
    text = bytes(frame[TEXT:]).split(b"\0", 1)[0].decode(errors="replace")
    return level, " ".join(text.split())


if JIT and POSIX:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def mark(typingctx, frame):  # type: ignore[no-untyped-def]
        """Save the execution context: return 0, or another number after a jump from the handler."""

        def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
            pointer = ir.IntType(8).as_pointer()
            form = ir.FunctionType(ir.IntType(32), [pointer])
            function = cgutils.get_or_insert_function(builder.module, form, "_setjmp")
            function.attributes.add("returns_twice")
            return builder.call(function, [builder.inttoptr(values[0], pointer)])

        return types.int32(types.int64), generate

else:

    @jit
    def mark(frame):  # type: ignore[no-untyped-def]
        """Return 0: nothing is saved."""
        return 0


@jit
def arm(guard):
    """Set the handler and the frame of this thread to those of the guard; return the previous ones."""
    if guard.handler == 0:
        return 0, 0
    outer = call_for_address(guard.get_frame, guard.key)
    call_for_number(guard.set_frame, guard.key, guard.frame)
    return call_for_address(guard.set_handler, guard.handler), outer


@jit
def disarm(guard, before):
    """Restore the handler and the frame of this thread.   before: result of `arm`."""
    if guard.handler != 0:
        call_for_address(guard.set_handler, before[0])
        call_for_number(guard.set_frame, guard.key, before[1])


@jit
def has_failed(guard):
    """Return whether MuJoCo raised an error or a warning since the message was last read."""
    return read_int(guard.frame + LEVEL) >= WARNING
