"""LLVM code of kernels without reference counts for arguments and their parts.

An argument lives longer than the call. Numba still counts a reference for it, for every copy of it and for
every field of a named tuple, and releases it at the end. For tuples of many arrays this is most of the code,
which LLVM then removes. Here variables that only hold arguments or parts of them are borrowed: their
references are not counted.
"""

from typing import Any

from numba.core import ir, types
from numba.core.lowering import Lower


class BorrowingLower(Lower):  # type: ignore[misc]
    """Numba's lowering, with borrowed variables."""

    _borrowed: frozenset[str] = frozenset()
    _owns = True

    def lower_function_body(self) -> Any:
        """Lower all blocks."""
        self._find_borrowed()
        return super().lower_function_body()

    def _find_borrowed(self) -> None:
        if self.generator_info is None:
            self._borrowed = borrowed(self.func_ir, self.fndesc.typemap)

    def lower_inst(self, inst: Any) -> Any:
        """Lower one statement."""
        if isinstance(inst, ir.Assign):
            self._owns = inst.target.name not in self._borrowed
        else:
            self._owns = not (isinstance(inst, ir.Del) and inst.value in self._borrowed)
        return super().lower_inst(inst)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """Lower one expression."""
        if self._owns or expr.op not in ("getattr", "static_getitem"):
            return super().lower_expr(resty, expr)
        place = _place(expr, self.typeof(expr.value.name))
        if place is None:  # a view of a row
            return super().lower_expr(resty, expr)
        return self.builder.extract_value(self.loadvar(expr.value.name), place)

    def incref(self, typ: Any, val: Any) -> None:
        """Count a reference, unless the variable is borrowed."""
        if self._owns:
            super().incref(typ, val)

    def decref(self, typ: Any, val: Any) -> None:
        """Release a reference, unless the variable is borrowed."""
        if self._owns:
            super().decref(typ, val)


def borrowed(code: Any, kinds: dict[str, Any]) -> frozenset[str]:
    """Return the variables that are only assigned arguments, other borrowed variables, or parts of these.

    Parts are elements of tuples and rows of arrays.
    """
    assignments = [each for block in code.blocks.values() for each in block.find_insts(ir.Assign)]
    names = {each.target.name for each in assignments}
    while True:
        owners = {each.target.name for each in assignments if not _is_borrowed(each, kinds, names)}
        if not owners & names:
            return frozenset(names)
        names -= owners


def _is_borrowed(assignment: Any, kinds: dict[str, Any], names: set[str]) -> bool:
    """Return whether an assignment borrows its value, if the variables in `names` are borrowed."""
    value, kind = assignment.value, kinds[assignment.target.name]
    if isinstance(value, ir.Arg):
        return bool(kinds[f"arg.{value.name}"] == kind)
    if isinstance(value, ir.Var):
        return value.name in names and bool(kinds[value.name] == kind)
    if not isinstance(value, ir.Expr) or value.op not in ("getattr", "static_getitem", "getitem"):
        return False
    if value.value.name not in names:
        return False
    of = kinds[value.value.name]
    if getattr(of, "owns_nothing", False):
        return value.op == "getattr"
    if isinstance(of, types.Array) and value.op != "getattr":
        index = value.index if value.op == "getitem" else value.index_var
        return index is not None and takes_elements(of, kinds[index.name])
    place = _place(value, of)
    return place is not None and bool(of.types[place] == kind)


def takes_elements(kind: Any, index: Any) -> bool:
    """Return whether an index consists of integers along the first axes of an array: an element, or a row."""
    each = tuple(index) if isinstance(index, types.BaseTuple) else (index,)  # type: ignore[attr-defined]
    return (
        isinstance(kind, types.Array)
        and kind.layout in "CA"
        and isinstance(kind.dtype, types.Number | types.Boolean)  # type: ignore[attr-defined]
        and 0 < len(each) <= kind.ndim
        and all(isinstance(part, types.Integer) for part in each)  # type: ignore[attr-defined]
    )


def _place(expression: Any, kind: Any) -> int | None:
    """Return the index of the tuple element that an expression reads; None for other expressions."""
    if expression.op == "getitem":
        return None
    if expression.op == "getattr":
        if isinstance(kind, types.BaseNamedTuple) and expression.attr in kind.fields:  # type: ignore[attr-defined]
            return int(kind.fields.index(expression.attr))
        return None
    index = expression.index
    if isinstance(kind, types.BaseTuple) and isinstance(index, int) and 0 <= index < len(kind.types):  # type: ignore[attr-defined]
        return index
    return None
