"""Which arguments a kernel writes to, read off Numba's intermediate code.

Kernels have one signature for arrays that may be written and for those that may not: machine code is the
same for both. So it is checked here, once a kernel, that no kernel writes to an array that is read-only.
"""

from typing import Any

from numba.core import ir, types

_VIEWS = ("getitem", "static_getitem", "getattr", "cast", "exhaust_iter")
"""Expressions whose value may share the memory of their operand."""


def arguments_written(code: Any, kinds: dict[str, Any]) -> tuple[bool, ...]:
    """Of each argument, whether it, or a view of it, is assigned to, here or in a kernel that is called.

    code: Numba's, with types (`kinds`) of all variables. Arrays inside tuples are not followed.
    """
    sources: dict[str, set[int]] = {}  # of each variable: the arguments whose memory it may share
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
    """What one assignment says."""
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
