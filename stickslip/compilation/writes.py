"""Analysis of the arguments that a kernel writes to, from Numba's intermediate code.

Kernels have one signature for writable and for read-only arrays, since the machine code is the same. This
analysis, made once per kernel, allows writes to read-only arrays to be rejected.
"""

from typing import Any

from numba.core import ir, types

_VIEWS = ("getitem", "static_getitem", "getattr", "cast", "exhaust_iter")
"""Expressions whose value may share the memory of their operand."""


def arguments_written(code: Any, kinds: dict[str, Any]) -> tuple[bool, ...]:
    """Return for each argument whether the kernel, or one that it calls, assigns to it or to a view of it.

    code: Numba's intermediate code; kinds: types of all variables. Arrays inside tuples are not followed.
    """
    sources: dict[str, set[int]] = {}  # variable -> arguments whose memory it may share
    written: set[int] = set()
    called: dict[str, Any] = {}  # variables that hold kernels
    statements = [each for block in code.blocks.values() for each in block.body]
    while True:
        before = sum(map(len, sources.values())), len(written)
        for each in statements:
            if isinstance(each, ir.Assign):
                _follow(each, kinds, sources, called, written)
            elif isinstance(each, ir.SetItem | ir.StaticSetItem):
                written |= sources.get(each.target.name, set())
        if before == (sum(map(len, sources.values())), len(written)):
            return tuple(k in written for k in range(code.arg_count))


def _follow(
    assignment: Any,
    kinds: dict[str, Any],
    sources: dict[str, set[int]],
    called: dict[str, Any],
    written: set[int],
) -> None:
    """Update sources, called and written with one assignment."""
    name, value = assignment.target.name, assignment.value
    kind = kinds.get(name)
    if isinstance(kind, types.Dispatcher):
        called[name] = kind.dispatcher
    if isinstance(value, ir.Arg):
        if isinstance(kind, types.Array):
            sources.setdefault(name, set()).add(value.index)
        return
    if isinstance(value, ir.Var):
        origin = {value.name}
    elif isinstance(value, ir.Expr) and value.op in _VIEWS:
        origin = {value.value.name}
    elif isinstance(value, ir.Expr) and value.op == "phi":
        origin = {each.name for each in value.incoming_values if isinstance(each, ir.Var)}
    elif isinstance(value, ir.Expr) and value.op == "call":
        kernel = called.get(value.func.name)
        if kernel is not None:
            flags = getattr(kernel, "writes", lambda _: ())(tuple(kinds[each.name] for each in value.args))
            for argument, is_written in zip(value.args, flags, strict=False):
                if is_written:
                    written |= sources.get(argument.name, set())
        origin = {each.name for each in value.args}
    elif isinstance(value, ir.Expr) and value.op == "inplace_binop":
        if isinstance(kinds.get(value.lhs.name), types.Array):
            written |= sources.get(value.lhs.name, set())
        origin = {value.lhs.name}
    else:
        return
    if isinstance(kind, types.Array):
        for each in origin:
            sources.setdefault(name, set()).update(sources.get(each, set()))
